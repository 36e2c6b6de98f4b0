"""Truths, one file per paper: what the statements of `dpacct.theorems` are compared with."""
