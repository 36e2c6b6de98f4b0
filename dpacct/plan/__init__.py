"""Plans: the algebra of mechanisms and samples, what they compose to, adaptive use, trade-off functions."""
