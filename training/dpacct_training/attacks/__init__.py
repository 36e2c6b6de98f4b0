"""Attacks and audits: what leaks from what a run releases, beside what is proved of it."""
