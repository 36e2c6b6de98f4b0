"""Private training loops whose executed steps are what dpacct accounts.

One `Plan` gives the sampler, the clip, the noise, the denominators, the ledger's events and the
accounted tree. See ``training/README.md``; the command is ``dpacct-train``.
"""
