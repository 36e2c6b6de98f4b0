"""Samplers: one per file. Importing this package imports every file here."""

from __future__ import annotations

import os
from importlib import import_module

for _folder in __path__:
    for _file in sorted({name.partition(".")[0] for name in os.listdir(_folder) if ".py" in name}):
        if not _file.startswith("_"):  # of sources, or of compiled files alone
            import_module(f"{__name__}.{_file}")
