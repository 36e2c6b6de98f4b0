"""Shuffling: the privacy of randomised messages whose senders are hidden."""
