"""Attacks and audits: leakage of a run's releases, compared with the proven bounds."""
