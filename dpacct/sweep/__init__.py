"""Grids of questions: axes, a journal that survives a kill, processes side by side, a table."""
