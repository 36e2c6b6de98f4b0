"""Loss distributions of mechanisms that take more than a few lines to state."""
