"""What a person reads: statements, cards, citations, pictures."""
