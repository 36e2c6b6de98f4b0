"""From a dominating pair of distributions to the curves of its privacy loss."""
