"""Samplers: one per file. Importing this package imports every file here."""

from __future__ import annotations

import os
from importlib import import_module

for _folder in __path__:
    for _file in sorted(os.listdir(_folder)):
        if _file.endswith(".py") and not _file.startswith("_"):
            import_module(f"{__name__}.{_file[:-3]}")
