"""Tables 1 to 3 of the paper: every mu_max to the printed digit, and beside it what is true."""

from __future__ import annotations

import csv
import math

import pytest

from tests.federated import mu_max
from tests.federated.mu_max import PrintedRun, printed_runs

RUNS = list(printed_runs())
PRINTED = [
    *("2.71", "3.10", "3.96", "3.92", "4.51", "5.58", "5.52", "6.13", "7.75"),  # Table 1
    *("3.24", "3.92", "3.64", "4.51", "4.84", "5.58"),  # Table 2
    *("6.70", "9.77", "26.81", "9.31", "14.13", "37.51"),  # Table 3
]
# exact epsilons at delta = 1e-5 of rows that were computed without dpacct (FFT and contour)
KNOWN = {93: 13.8772257341, 194: 22.2765590954343, 245: 52.0273599841, 207: 168.74512}
KNOWN_TWO_LEVEL = {194: 14.5237655291328, 245: 21.3871119365}


def test_they_are_the_papers() -> None:
    assert [run.printed for run in RUNS] == PRINTED


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.table}-{run.cell.cell}")
def test_mu_max_to_the_printed_digit(run: PrintedRun) -> None:
    digits = len(run.printed.partition(".")[2])
    # Theorem 2 typed in once more, with the normal distribution as an error function
    plan, s = run.plan, 1.0 / float(run.plan.sigma)
    c = plan.batch_size / plan.records * math.sqrt(plan.local_steps * plan.rounds)
    normal = [0.5 * math.erfc(-x / math.sqrt(2.0)) for x in (1.5 * s, -0.5 * s)]
    mu = math.sqrt(2.0) * c * math.sqrt(math.exp(s * s) * normal[0] + 3.0 * normal[1] - 2.0)
    assert run.mu == pytest.approx(mu, rel=1e-9)
    assert f"{mu:.{digits}f}" == run.printed
    assert run.matches


def test_the_epsilons_are_those_of_the_errata() -> None:
    for run in RUNS:
        rounds = run.plan.rounds
        if (run.table, rounds) == ("Table 2", 194):
            continue
        if rounds in KNOWN:
            assert mu_max.answers(run)[1].upper == pytest.approx(KNOWN[rounds], rel=2e-8)
        if rounds in KNOWN_TWO_LEVEL:
            assert mu_max.answers(run)[2].upper == pytest.approx(KNOWN_TWO_LEVEL[rounds], rel=1e-9)


def test_the_stored_table_is_todays() -> None:
    with mu_max.CSV.open(encoding="utf-8", newline="") as file:
        header, *stored = list(csv.reader(file))
    assert tuple(header) == mu_max.HEADER
    fresh = mu_max.rows()
    assert [row[:8] for row in fresh] == [tuple(row[:8]) for row in stored]
    for computed, kept in zip(fresh, stored, strict=True):
        for number, held in zip(computed[8:], kept[8:], strict=True):
            assert float(number) == pytest.approx(float(held), rel=1e-8)


def test_the_page_shows_it() -> None:
    result = mu_max.block().search(mu_max.PAGE.read_text(encoding="utf-8"))
    assert result is not None
    assert result.group(1).strip() == mu_max.as_markdown(mu_max.rows()).strip()


def test_the_limit_is_above_the_truth_in_every_row_and_the_coin_below_both() -> None:
    for run in RUNS:
        limit, exact, two = mu_max.answers(run)
        assert exact.lower is not None and exact.upper is not None and two.upper is not None
        assert limit > exact.upper
        if run.plan.client_rate == 1:
            assert two.upper == pytest.approx(exact.upper, rel=1e-12)
        else:
            assert two.upper < exact.upper


def test_the_limit_is_below_the_truth_with_few_hits() -> None:
    """Federated f-DP, Theorem 2: B/n = 0.01, sigma = 0.6, K R = 31; a pair of data sets loses 3.0948."""
    from dpacct.federated import PriFedSync

    plan = PriFedSync(clients=2, batch_size=1, records=100, local_steps=31, rounds=1, sigma="0.6")
    rows = list(plan.rows(delta="1e-5"))
    limit = next(row for row in rows if row.name == "clt")
    printed = next(row.printed for row in rows if row.printed and "gdp" in row.printed.theorem)
    assert limit.answer.value == pytest.approx(1.1349557793, rel=1e-9)
    assert printed.status == "refuted" and printed.value == pytest.approx(1.1349557793, rel=1e-9)
    assert rows[0].answer.lower == pytest.approx(3.09495, rel=1e-4)
    at_limit = plan.tree().delta(epsilon="1.1349557793", method="exact").lower
    assert at_limit == pytest.approx(1.15505e-3, rel=1e-3)  # 115 times 1e-5
