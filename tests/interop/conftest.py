"""Imports the libraries once, deaf to the warnings that they raise about each other."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import flwr.serverapp
    import opacus

LIBRARIES = (flwr.serverapp, opacus)
