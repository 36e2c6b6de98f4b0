"""Private training loops that execute exactly the steps that dpacct accounts for.

One `Plan` gives the sampler, the clip, the noise, the denominators, the ledger's events and the
accounted tree. See ``training/README.md``; the command is ``dpacct-train``.
"""
