"""Truths for the statements of DP-Fed-LS."""
