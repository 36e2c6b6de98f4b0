"""docs/benchmarks.md says what results.json says, and results.json answers the cases of today."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import make_table

from bench.peers import ours  # isort: skip  (make_table puts it on the path)

RESULTS = make_table.read()


@pytest.mark.parametrize("path", [make_table.PAGE, make_table.README], ids=lambda path: path.name)
def test_the_page_is_up_to_date(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert make_table.BLOCK.search(page)
    assert make_table.render(page, RESULTS) == page, "run tests/benchmarks/make_table.py"


def test_every_block_is_on_the_page() -> None:
    page = make_table.PAGE.read_text(encoding="utf-8")
    assert {item[2] for item in make_table.BLOCK.finditer(page)} == set(make_table.BLOCKS)


def test_every_case_was_run_and_has_a_truth() -> None:
    ids = {case.id for case in make_table.cases()}
    assert {row["case"] for row in RESULTS["rows"]} == ids
    assert set(make_table.truths()) == ids


def test_every_case_has_proven_lower_ends_just_below_the_truth() -> None:
    """The truths were computed without dpacct, in 80-bit floats."""
    lowers, truths = make_table.proven(), make_table.truths()
    assert set(lowers) == set(truths)
    for case, proved in lowers.items():
        for lower, truth in zip(proved["lower"], truths[case], strict=True):
            assert truth * (1 - 1e-9) <= float(lower) <= truth * (1 + 1e-12), case


def test_no_proven_lower_end_is_out_of_date() -> None:
    """Some of them again, through the public names."""
    for case in make_table.cases():
        if case.quick and case.question.want == "epsilon":
            node = ours.plan(case.question)
            again = node.epsilon(delta=case.question.target_delta, method="certified")
            stored = float(make_table.proven()[case.id]["lower"][0])
            assert again.lower is not None
            assert again.upper is not None
            assert again.lower * (1 - 2e-12) <= stored <= again.upper


def mine() -> list[make_table.Row]:
    """The answers of dpacct, by each of its methods that took part."""
    chosen = [r for r in RESULTS["rows"] if make_table.PEERS[r["peer"]].package == "dpacct"]
    assert chosen
    return chosen


def test_dpacct_answered_all_and_never_below_the_truth() -> None:
    for row in mine():
        assert row["status"] == "ok", row
        assert not row["below"], row


def test_dpacct_agrees_with_the_independent_truths() -> None:
    """To nine digits; calibration may sit on the safe side by 1e-6. W6 and W7 hold hard plans."""
    for row in mine():
        if row["case"][:2] not in ("W6", "W7"):
            limit = 1e-6 if row["case"].startswith("W4") else 1e-9
            assert max(row["gap"]) <= limit, row


def test_gaps_read_well() -> None:
    shown = {0.0: "0", 5.4e-6: "+5e-06", -0.0008: "-8e-04", 0.131: "+13.1 %", -0.5: "-50.0 %"}
    shown |= {2.4: "×3.4", float("inf"): "inf", -1.2: "negative"}
    assert {gap: make_table.one_gap(gap) for gap in shown} == shown
