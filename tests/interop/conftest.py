"""Imports the libraries once, deaf to the warnings that they raise about each other."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import flwr.serverapp
    import opacus

LIBRARIES = (flwr.serverapp, opacus)
