"""Declarations: the number language, what a value may be, and records of parameters."""
