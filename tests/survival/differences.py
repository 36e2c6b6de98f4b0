"""Where today's dpacct differs from the stored one on purpose; each with its reason.

The key says where: `("code", LINE)`, `("error", LINE)`, `("key", PATH)` for a JSON key that is
gone, `("number", LINE)` for an answer that is another one, `("option", COMMAND)`, `("name", NAME)`,
`("plan", NAME)`. The value is what holds today, and why. An entry that no longer differs fails.
"""

from __future__ import annotations

from typing import Any

_PROVED = "the note 'not proven' stood beside answers of discrete plans, which are proved now"

DELIBERATE: dict[tuple[str, str], tuple[Any, str]] = {
    ("key", ".notes"): (None, _PROVED),
    ("key", ".notes[]"): (None, _PROVED),
    ("code", "verify balle2019.bennett --draws 5 --json"): (
        10,
        "five points that no oracle can judge were reported as a counter-example",
    ),
    ("code", "report dp_fedsam.toml --quiet"): (
        0,
        "a report of a plan in which the clients add the noise died of a KeyError",
    ),
    ("code", "ledger show torn.ledger --json"): (
        0,
        "a reader of a ledger whose last line is half written called it damaged at its second question",
    ),
    ("code", "ledger check clean.ledger --mark 0000 --json"): (
        9,
        "evidence that was put back has the exit code of what was changed",
    ),
    ("code", "ledger check damaged.ledger --json"): (
        9,
        "evidence that was damaged or changed has an exit code of its own",
    ),
}
