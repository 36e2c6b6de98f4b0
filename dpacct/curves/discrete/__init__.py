"""What the lattice engine is fed: laws cut into pieces, with exact masses under both distributions."""
