"""Truths for the statements of AE-DPFL, and of PATE."""
