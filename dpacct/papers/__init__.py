"""The papers' statements: a page for each, and for each paper a file of formulas, oracles and proofs."""
