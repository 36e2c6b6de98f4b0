"""Truths for the statements of DP-FedSAM, and of the composition theorem it uses."""
