"""Who notices the twenty planted bugs: `python -m tests.training.plant_verdicts`.

Writes the table between the marks in docs/attacks.md. Each bug is planted into a fresh run with canaries;
what a run checks of itself may refuse it first. The law is the one of `test_plants.py`.
"""

import time
from collections.abc import Callable
from typing import Any

import pytest

import dpacct as dp
from dpacct_training.attacks.canaries import Auditing, audit
from tests.structure.project import ROOT
from tests.training import laws, test_plants
from tests.training.experiments import replaced

PAGE = ROOT / "docs" / "attacks.md"
MARKS = ("<!-- planted bugs -->\n", "<!-- end of planted bugs -->\n")
BUGS = (
    ("server noise a tenth", test_plants.PLANTS[0][0]),
    ("noise times 0.97", test_plants.PLANTS[2][0]),
    ("denominator by realised size", test_plants.denominator_of_who_came),
    ("clip after the noise", test_plants.clip_after_the_noise),
    ("no clip of a client", test_plants.no_clip),
    ("same noise every round", test_plants.same_noise_every_round),
    ("same coins every round", test_plants.same_coins_every_round),
    ("noise on half of the coordinates", test_plants.half_of_the_coordinates),
    ("clip by the largest number", test_plants.largest_norm),
    ("shares of std / m", test_plants.shares_are_too_small),
    ("shares said, not drawn", test_plants.shares_are_not_drawn),
    ("clients do not clip and say so", test_plants.clients_do_not_clip),
    ("server believes clients' clips", test_plants.clients_are_believed),
    ("uniform accounted as Poisson", test_plants.uniform_accounted_as_poisson),
    ("coins at twice the rate", test_plants.coins_at_twice_the_rate),
    ("empty round without noise", test_plants.empty_round_silent),
    ("weights by samples", test_plants.weights_by_samples),
    ("no clip at each local step", test_plants.no_pull_back),
    ("noise of the round number", test_plants.noise_of_the_round_number),
    ("noise rounded to float32", test_plants.single_precision),
)
SHARES = (
    test_plants.shares_are_too_small,
    test_plants.shares_are_not_drawn,
    test_plants.clients_do_not_clip,
)
PLAN: dict[str, Any] = {
    "data__side": 28,
    "data__classes": 10,
    "data__samples": 1000,
    "data__clients": 1000,
    "local__epochs": 1,
    "privacy__delta": 1e-5,
    "privacy__rate": 0.1,
    "privacy__rounds": 20,
    "privacy__noise": 0.3,
}


def timed(action: Callable[[], str]) -> str:
    start = time.process_time()
    word = action()
    seconds = time.process_time() - start
    return f"{word}, {seconds:.1f} s" if seconds >= 0.05 else f"{word}, < 0.1 s"


def audited(bug: Callable[[pytest.MonkeyPatch], None]) -> str:
    name = "dp_fedavg_clients" if bug in SHARES else "dp_fedavg"
    uniform = bug is test_plants.uniform_accounted_as_poisson
    scheme = {"privacy__scheme": "uniform"} if uniform else {}
    try:
        result = audit(replaced("algorithm", {"name": name}, **PLAN, **scheme), Auditing())
    except dp.AssumptionViolated:
        return "**the run stops**"
    return "**alarm**" if result.alarm else f"no ({result.epsilon:.2f} shown)"


def lawful(bug: Callable[[pytest.MonkeyPatch], None]) -> str:
    law = next(law for plant, law in test_plants.PLANTS if plant is bug)
    try:
        law()
    except laws.REFUSED:
        return "**caught**"
    return "no"


def table() -> str:
    lines = ["| planted bug | a run with canaries | its law |", "|---|---|---|"]
    for name, bug in BUGS:
        cells = []
        for look in (audited, lawful):
            with pytest.MonkeyPatch.context() as patch:
                bug(patch)
                cells.append(timed(lambda look=look, bug=bug: look(bug)))  # type: ignore[misc]
        lines.append(f"| {name} | {cells[0]} | {cells[1]} |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    PAGE.write_text(before + MARKS[0] + table() + MARKS[1] + after, encoding="utf-8")
