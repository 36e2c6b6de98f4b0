"""Sweeps: a grid of questions, a journal that survives a kill, parallel processes, a table."""
