"""One file per paper: each formula with its independent oracle and its proofs, in the order of the paper."""
