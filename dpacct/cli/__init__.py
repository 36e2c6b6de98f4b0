"""The command line: one file per command in `commands`; what they share is here."""
