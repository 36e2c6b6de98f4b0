"""Imports Flower once, deaf to the warnings that its libraries raise about each other."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import flwr.serverapp.strategy

LIBRARIES = (flwr.serverapp.strategy,)
