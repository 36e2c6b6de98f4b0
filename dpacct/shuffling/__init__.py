"""Shuffling: what many randomised messages tell when nobody knows who sent which."""
