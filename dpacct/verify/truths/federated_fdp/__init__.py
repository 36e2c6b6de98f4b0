"""Truths for the statements of Federated f-DP, and of Gaussian differential privacy."""
