"""Mechanisms: one per file. Importing this package imports every file here, and plug-ins.

Each file registers its node kinds by defining them, so adding a mechanism is adding a file. A
package outside dpacct adds one through the entry-point group "dpacct.mechanisms".
"""

from __future__ import annotations

import os
from importlib import import_module

for _folder in __path__:
    for _file in sorted({name.partition(".")[0] for name in os.listdir(_folder) if ".py" in name}):
        if not _file.startswith("_"):  # of sources, or of compiled files alone
            import_module(f"{__name__}.{_file}")


def load_plugins() -> None:
    """Import what other installed packages offer under the entry-point group."""
    from importlib import metadata  # 10 ms that few need

    for point in metadata.entry_points(group="dpacct.mechanisms"):
        point.load()
