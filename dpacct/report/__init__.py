"""Reports for people: statements, cards, citations and pictures."""
