"""Truths for the statements of UDP-FL."""
