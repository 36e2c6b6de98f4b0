"""Samplers: one per file. Importing this package imports every file here."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
