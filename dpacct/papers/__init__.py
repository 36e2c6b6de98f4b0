"""What the papers state: a page for each statement, a file of formulas, oracles and proofs for each paper."""
