"""The command `dpacct-train`."""
