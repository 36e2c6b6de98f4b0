"""The papers' claims, run over seeds and judged: for a checkout, not installed (`dpacct-train replicate`)."""
