"""Mechanisms: one per file. Importing this package imports every file here, and plug-ins.

Each file registers its node kinds by defining them, so adding a mechanism is adding a file. A
package outside dpacct adds one through the entry-point group "dpacct.mechanisms".
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")


def load_plugins() -> None:
    """Import what other installed packages offer under the entry-point group."""
    from importlib import metadata  # 10 ms that few need

    for point in metadata.entry_points(group="dpacct.mechanisms"):
        point.load()
