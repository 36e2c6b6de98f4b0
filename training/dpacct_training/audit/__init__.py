"""Audits: an empirical lower bound on epsilon, from what a run really released."""
