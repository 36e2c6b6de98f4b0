"""The command line: one file per command under `commands`, everything they share beside them."""
