"""Losses on a lattice: brackets from below and above for any law that can be cut into pieces."""
