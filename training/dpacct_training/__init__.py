"""Private training loops whose executed steps are what dpacct accounts.

The algorithms come with a later release; this release ships the empty package so that its name,
place and packaging are settled. See ``training/README.md``.
"""
