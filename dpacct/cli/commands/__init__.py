"""One file per command; each defines `command`, and `dpacct.cli.root` finds it by its file."""
