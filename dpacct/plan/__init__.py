"""Plans: mechanisms and samplers combined, their composition, adaptive use, trade-off functions."""
