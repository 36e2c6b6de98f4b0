"""Each bound is needed: without it, on a plan where it matters, the interval misses the truth."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from flint import arb

from dpacct.proof import moments
from dpacct.proof.balls import precision
from dpacct.proof.law import add, remove
from dpacct.proof.line import Contour, TabulatedLine
from dpacct.proof.moments import ProofMoments
from dpacct.proof.rule import LineRule
from tests.proof.plans import (
    fine,
    fine_rule,
    grid,
    nodes,
    normal,
    prepared,
)

STEP = normal(Fraction(121, 100), Fraction(1, 100))
STEPS, EPSILON, TILT = 1000, Fraction(3, 2), 8.0
# mpmath, 30 digits, trapezoid on the real axis at two abscissae
TRUTH = "0.00001153786734563273811802852884659580"
GOOD = Contour(TILT, 0.2, 240, 1.0, 1.0, 3)


def enclosure(contour: Contour, moments: ProofMoments) -> arb:
    return TabulatedLine([(moments, STEPS)], contour).delta(arb(1.5))


def with_line(line: LineRule) -> ProofMoments:
    rule = fine_rule(STEP, TILT)
    return prepared(STEP, TILT, replace(rule, branches=(replace(rule.branches[0], nodes=line),)))


def test_sound_to_begin_with() -> None:
    with precision(160):
        result = enclosure(GOOD, fine(STEP, TILT))
        assert result.contains(arb(TRUTH))
        assert result.rad() < 1e-15


def test_without_the_aliasing_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(160):
        wide = replace(GOOD, step=0.5, count=90)
        assert enclosure(wide, fine(STEP, TILT)).contains(arb(TRUTH))
        monkeypatch.setattr(TabulatedLine, "_alias_factors", lambda self: (arb(0), arb(0)))
        assert not enclosure(wide, fine(STEP, TILT)).contains(arb(TRUTH))


def test_without_the_tail_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(160):
        short = replace(GOOD, count=12)
        assert enclosure(short, fine(STEP, TILT)).contains(arb(TRUTH))
        monkeypatch.setattr(TabulatedLine, "_tail_factor", lambda self: arb(0))
        assert not enclosure(short, fine(STEP, TILT)).contains(arb(TRUTH))


def test_without_the_inner_step_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(160):
        coarse = nodes(STEP, 1.2, 0.75, -21.0, 34.5)
        assert enclosure(GOOD, with_line(coarse)).contains(arb(TRUTH))
        monkeypatch.setattr(ProofMoments, "step_error", lambda *_: (arb(0), arb(0)))
        assert not enclosure(GOOD, with_line(coarse)).contains(arb(TRUTH))


@pytest.mark.parametrize("width", [1.0, 1.5])
def test_without_the_inner_step_bound_of_the_add_direction(
    width: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment itself, on nodes so far apart that the bound is most of what is known."""
    step = normal(Fraction(1), Fraction(3, 10), add)
    rule = fine_rule(step, 2.0)
    coarse = nodes(step, 0.5, width, -22.0, 22.0)
    spoilt = replace(rule, branches=(replace(rule.branches[0], nodes=coarse),))
    with precision(160):
        truth = prepared(step, 2.0, rule).at_c
        assert prepared(step, 2.0, spoilt).at_c.contains(truth)
        monkeypatch.setattr(ProofMoments, "step_error", lambda *_: (arb(0), arb(0)))
        assert not prepared(step, 2.0, spoilt).at_c.overlaps(truth)


@pytest.mark.parametrize("side", ["left", "right"])
def test_without_the_cut_off_bound(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(160):
        whole = fine_rule(STEP, TILT).branches[0].nodes
        assert isinstance(whole, LineRule)
        short = (
            replace(whole, first=int(0.25 * whole.first))
            if side == "left"
            else replace(whole, last=int(0.47 * whole.last))
        )
        assert enclosure(GOOD, with_line(short)).contains(arb(TRUTH))
        monkeypatch.setattr(moments, "beyond", lambda *_: arb(0))
        assert not enclosure(GOOD, with_line(short)).contains(arb(TRUTH))


def test_a_cell_s_top_needs_the_chord_of_its_neighbour() -> None:
    """A concave function may be highest within a cell: its ends alone are below it."""
    with precision(100):
        for centre in (0.3, 0.5, 0.9):
            values = [-((arb(k) - 1 - centre) ** 2) for k in range(4)]
            (top,) = moments.cell_tops(values)
            assert top >= 0  # the true top, at 1 + centre, between the second value and the third
            assert max(values[1], values[2]) < 0
            assert top <= 0.75


def test_damping_without_its_neighbours_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide cells: with the values at their ends in the place of their tops, |M| is claimed too small."""
    step = normal(Fraction(4), Fraction(9, 10), remove)
    rule = replace(fine_rule(step, 0.5), lift=0.02, damped=(grid(step, -9.0, 1.9, 12),))
    with precision(160):
        t = arb(1) / 1000
        step_moments = prepared(step, 0.5, rule)
        true = -(abs(fine(step, 0.5).row(t, 1)[1]) / step_moments.at_c).log()
        assert step_moments.damped(t) <= true
        monkeypatch.setattr(
            moments,
            "cell_tops",
            lambda v: [a.min(b) for a, b in pairwise(v[1:-1])],
        )
        spoilt = prepared(step, 0.5, rule)
        assert spoilt.damped(t) > true


@pytest.mark.parametrize("factor", [2.0, 4.0])
def test_a_taller_envelope_is_false(factor: float) -> None:
    """The layers' deficit is within a factor of 4 of the truth, so it cannot be claimed larger."""
    with precision(160):
        rule = fine_rule(STEP, TILT)
        cells = (grid(STEP, -6.0, 0.1, 150),)
        rule = replace(rule, branches=(replace(rule.branches[0], cells=cells),))
        step_moments = prepared(STEP, TILT, rule)
        t = arb(20)
        true = -(abs(step_moments.row(t, 1)[1]) / step_moments.at_c).log()
        proven = step_moments.layers.deficit(t)
        assert proven <= true
        if factor == 4.0:
            assert proven * factor > true
