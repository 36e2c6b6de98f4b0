"""The ledger: a file that knows what was spent before the noise is released."""
