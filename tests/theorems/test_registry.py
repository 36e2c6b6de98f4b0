"""Statuses are kept true: no claim without its evidence, no entry away from its paper."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace

import pytest

from dpacct.errors import DpacctError, OutsideDomain, Unsupported
from dpacct.theorems.entry import Entry, Vector, Witness, at
from dpacct.theorems.grade import Status, Verdict
from dpacct.theorems.registry import entries, get, papers
from dpacct.verify import evidence, examine
from dpacct.verify.truth import proofs, truths
from tests.structure.project import modules, relative

ALL = list(entries().values())
IDS = [entry.id for entry in ALL]


@pytest.mark.parametrize("entry", ALL, ids=IDS)
def test_the_status_has_its_evidence(entry: Entry) -> None:
    assert evidence.missing(entry) == []


@pytest.mark.parametrize("entry", [e for e in ALL if e.vectors or e.refuses], ids=lambda e: e.id)
def test_the_numbers_come_out(entry: Entry) -> None:
    assert examine.vectors(entry) == []


@pytest.mark.parametrize("entry", [e for e in ALL if e.witness], ids=lambda e: e.id)
def test_the_witness_still_violates(entry: Entry) -> None:
    assert examine.witness(entry) == []


@pytest.mark.parametrize("entry", [e for e in ALL if e.id in proofs()], ids=lambda e: e.id)
def test_the_proofs_hold(entry: Entry) -> None:
    assert examine.proven(entry) == []


@pytest.mark.parametrize("entry", [e for e in ALL if e.formula], ids=lambda e: e.id)
def test_the_formula_stands_in_the_file_of_its_paper(entry: Entry) -> None:
    assert entry.formula is not None
    room = entry.formula.__module__.removeprefix("dpacct.theorems.")
    assert room != entry.formula.__module__ and room.startswith(entry.paper)


@pytest.mark.parametrize("entry", [e for e in ALL if e.formula], ids=lambda e: e.id)
def test_what_is_not_to_be_used_is_refused(entry: Entry) -> None:
    points = [v.inputs for v in entry.vectors] + ([entry.witness.inputs] if entry.witness else [])
    for inputs in points[:1]:
        assert isinstance(entry.evaluate(inputs, as_printed=True), float)
        if not entry.is_answer and entry.verdict is not Verdict.ASYMPTOTIC:
            with pytest.raises(Unsupported, match="as printed"):
                entry.evaluate(inputs)


def test_every_truth_and_proof_belongs_to_an_entry() -> None:
    assert not (truths().keys() | proofs().keys()) - entries().keys()


def test_every_paper_has_entries() -> None:
    assert {entry.paper for entry in ALL} == set(papers())


def skeleton(node: ast.expr) -> str:
    """An expression without its names: what is left when variables are renamed."""
    copy = ast.parse(ast.unparse(node), mode="eval")
    for part in ast.walk(copy):
        if isinstance(part, ast.Name):
            part.id = "x"
    return ast.dump(copy)


def large_expressions(source: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Return | ast.Assign) and isinstance(node.value, ast.BinOp):
            constants = [n for n in ast.walk(node.value) if isinstance(n, ast.Constant)]
            if len(list(ast.walk(node.value))) >= 40 and len(constants) >= 2:
                found.add(skeleton(node.value))
    return found


def test_no_formula_is_written_twice() -> None:
    """Neither a calculator nor a truth may hold a copy of what a paper's file says."""
    published = {
        text: entry.id
        for entry in ALL
        if entry.formula is not None
        for text in large_expressions(inspect.cleandoc(inspect.getsource(entry.formula)))
    }
    for name, path in modules():
        if name.startswith("dpacct.theorems"):
            continue
        copies = large_expressions(path.read_text(encoding="utf-8")) & published.keys()
        assert not copies, f"{relative(path)} copies {[published[c] for c in copies]}"


# --- the tests above can fail


def test_a_status_without_evidence_is_seen() -> None:
    good = get("dp_fed_ls.eq14")
    assert evidence.missing(replace(good, id="dp_fed_ls.none", status=Status.PROVED))
    assert evidence.missing(replace(good, id="dp_fed_ls.none", status=Status.SEARCHED))
    assert evidence.missing(replace(good, status=Status.DERIVED, derivation=""))
    assert evidence.missing(replace(good, status=Status.REPRODUCED))
    assert evidence.missing(replace(good, status=Status.REFUTED))
    assert evidence.missing(replace(good, verdict=Verdict.FALSE))
    assert evidence.missing(replace(good, relies_on=("dp_fed_ls.nothing",)))


def test_a_witness_that_violates_nothing_is_seen() -> None:
    entry = get("dp_fed_ls.eq15")
    assert examine.witness(replace(entry, witness=Witness(at(nu2=1))))
    assert examine.witness(entry) == []


def test_a_wrong_number_is_seen() -> None:
    entry = get("dp_fed_ls.lemma2")
    assert examine.vectors(
        replace(entry, vectors=(Vector(at(tau="0.05", nu2=1, alpha=2), 0.0176),))
    )
    wrong = Vector(at(tau="0.05", nu2=1, alpha=2), None, 0.0064)
    assert examine.vectors(replace(entry, vectors=(wrong,)))
    assert examine.vectors(replace(entry, refuses=(at(tau="0.05", nu2=1, alpha=2),)))


def test_outside_the_domain_is_refused() -> None:
    with pytest.raises(OutsideDomain, match="nu2 must be a number of at least"):
        get("dp_fed_ls.lemma2").evaluate(at(tau="0.05", nu2="0.5", alpha=2))
    with pytest.raises(DpacctError, match=r"did you mean 'dp_fed_ls\.lemma2'"):
        get("dp_fed_ls.lema2")
