"""Pictures: one style, one file for each kind, and titles that state what was found."""
