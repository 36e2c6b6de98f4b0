"""Machine-checked proofs, one file per paper: sympy, or ball arithmetic over a whole range."""
