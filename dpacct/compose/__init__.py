"""From a plan to its composed curves, and from those to answers."""
