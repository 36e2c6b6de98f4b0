"""One file per command; each defines `command`, and `dpacct.cli.main` finds it by its file."""
