"""Every accountant that the benchmark knows, by name; a module is imported only when its peer is
asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from bench.questions import Question

#: An accountant: takes a question, returns one number per thing asked (NotOffered when it has no
#: way to).
Answerer = Callable[[Question], list[float]]


@dataclass(frozen=True)
class Peer:
    """One accountant in one setting."""

    name: str
    package: str
    module: str
    setting: str
    promises: str
    imports: str


OURS = "dpacct"

PEERS = {
    peer.name: peer
    for peer in (
        Peer(OURS, "dpacct", "ours", "method exact", "two-sided", "dpacct"),
        Peer("dpacct@auto", "dpacct", "ours", "proved (default)", "two-sided", "dpacct"),
        Peer(
            "dpa_pld",
            "dp-accounting",
            "google",
            "PLD, grid 1e-4 (default)",
            "upper",
            "dp_accounting.pld",
        ),
        Peer(
            "dpa_pld@1e-5",
            "dp-accounting",
            "google",
            "PLD, grid 1e-5",
            "upper",
            "dp_accounting.pld",
        ),
        Peer("dpa_rdp", "dp-accounting", "google", "RDP", "upper", "dp_accounting.rdp"),
        Peer(
            "prv", "prv-accountant", "prv", "eps_error 0.01, upper end", "upper", "prv_accountant"
        ),
        Peer(
            "prv@0.1", "prv-accountant", "prv", "eps_error 0.1 (default)", "upper", "prv_accountant"
        ),
        Peer("opacus_prv", "opacus", "opacus", "PRV (default)", "upper", "opacus.accountants"),
        Peer("opacus_rdp", "opacus", "opacus", "RDP (default)", "upper", "opacus.accountants"),
        Peer(
            "opacus_gdp",
            "opacus",
            "opacus",
            "central limit theorem",
            "estimate",
            "opacus.accountants",
        ),
        Peer("autodp_rdp", "autodp", "autodp", "RDP", "upper", "autodp.transformer_zoo"),
        Peer(
            "autodp_afa",
            "autodp",
            "autodp",
            "Fourier accountant",
            "upper",
            "autodp.transformer_zoo",
        ),
        Peer(
            "riskcal_ctd",
            "riskcal",
            "riskcal",
            "connect the dots (default)",
            "upper",
            "riskcal.accountants",
        ),
    )
}


def answerer(name: str) -> Answerer:
    """Import the peer ``name`` and return the function that answers for it."""
    peer = PEERS[name]
    module = importlib.import_module(f"bench.peers.{peer.module}")
    chosen: Answerer = module.answerer(name)
    return chosen
