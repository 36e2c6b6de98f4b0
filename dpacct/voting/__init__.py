"""Voting: the privacy cost of noisy argmaxes of the votes of teachers, agents or neighbours."""
