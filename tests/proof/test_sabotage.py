"""Each bound is needed: without it, on a plan where it matters, the interval misses the truth."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb

from dpacct.proof.balls import precision
from dpacct.proof.branches import PanelRule, PreparedBranches
from dpacct.proof.laplace import PLAIN, LaplaceStep
from dpacct.proof.lattice_line import LatticeLine
from dpacct.proof.line import Contour, Line
from dpacct.proof.sampled_gaussian import PreparedGaussian, SampledGaussian
from tests.proof.plans import FINE, fine

LAW = SampledGaussian(Fraction(121, 100), Fraction(1, 100), True)
STEPS, EPSILON, TILT = 1000, Fraction(3, 2), 8.0
# mpmath, 30 digits, trapezoid on the real axis at two abscissae
TRUTH = "0.00001153786734563273811802852884659580"
GOOD = Contour(TILT, 0.2, 240, 1.0, 1.0, 3)


def enclosure(contour: Contour, prepared: PreparedGaussian) -> arb:
    return Line([(prepared, STEPS)], contour).delta(arb(1.5))


def test_sound_to_begin_with() -> None:
    with precision(160):
        found = enclosure(GOOD, fine(LAW, TILT))
        assert found.contains(arb(TRUTH))
        assert found.rad() < 1e-15


def test_without_the_aliasing_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(160):
        wide = replace(GOOD, step=0.5, count=90)
        assert enclosure(wide, fine(LAW, TILT)).contains(arb(TRUTH))
        monkeypatch.setattr(Line, "_alias_factors", lambda self: (arb(0), arb(0)))
        assert not enclosure(wide, fine(LAW, TILT)).contains(arb(TRUTH))


def test_without_the_tail_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(160):
        short = replace(GOOD, count=12)
        assert enclosure(short, fine(LAW, TILT)).contains(arb(TRUTH))
        monkeypatch.setattr(Line, "_tail_factor", lambda self: arb(0))
        assert not enclosure(short, fine(LAW, TILT)).contains(arb(TRUTH))


def test_without_the_inner_step_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(160):
        rule = replace(fine(LAW, TILT).rule, shift=1.2, step=0.75, first=-28, last=46)
        assert enclosure(GOOD, LAW.prepare(arb(TILT), rule)).contains(arb(TRUTH))
        monkeypatch.setattr(PreparedGaussian, "_step_error", lambda self, y: (arb(0), arb(0)))
        assert not enclosure(GOOD, LAW.prepare(arb(TILT), rule)).contains(arb(TRUTH))


@pytest.mark.parametrize("side", ["left", "right"])
def test_without_the_cut_off_bound(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(160):
        whole = fine(LAW, TILT).rule
        short = (
            replace(whole, first=int(0.25 * whole.first))
            if side == "left"
            else replace(whole, last=int(0.47 * whole.last))
        )
        assert enclosure(GOOD, LAW.prepare(arb(TILT), short)).contains(arb(TRUTH))
        monkeypatch.setattr(PreparedGaussian, "_cut", lambda self, y: arb(0))
        assert not enclosure(GOOD, LAW.prepare(arb(TILT), short)).contains(arb(TRUTH))


@pytest.mark.parametrize("factor", [2.0, 4.0])
def test_a_taller_envelope_is_false(factor: float) -> None:
    """The layers' deficit is within a factor of 4 of the truth, so it cannot be claimed larger."""
    with precision(160):
        rule = replace(fine(LAW, TILT).rule, cells=(replace(FINE, step=0.1, count=150),))
        one = LAW.prepare(arb(TILT), rule)
        t = arb(20)
        true = -(abs(one.row(t, 1)[1]) / one.at_c).log()
        proven = one.layers.deficit(t)
        assert proven <= true
        if factor == 4.0:
            assert proven * factor > true


LAPLACE = LaplaceStep(Fraction(2), Fraction(1), PLAIN)
PANELS = PanelRule((40,), (0.0,), 40, 3.0, 40, (0.0,))


def test_without_the_atoms_part(monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(120):
        exact = LAPLACE.repeated(6, arb(1.3))
        assert exact is not None
        one = LAPLACE.prepare(arb(3), PANELS)
        contour = Contour(3.0, 0.3, 400, 2.0, 2.0, 0)
        assert LatticeLine([(one, 6)], contour, law=LAPLACE).delta(arb(1.3)).overlaps(exact)
        monkeypatch.setattr(LatticeLine, "closed", lambda self, epsilon: arb(0))
        assert not LatticeLine([(one, 6)], contour, law=LAPLACE).delta(arb(1.3)).overlaps(exact)


def test_without_the_tail_of_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(120):
        exact = LAPLACE.repeated(6, arb(1.3))
        assert exact is not None
        one = LAPLACE.prepare(arb(3), PANELS)
        contour = Contour(3.0, 0.05, 60, 2.0, 2.0, 0)
        assert LatticeLine([(one, 6)], contour, law=LAPLACE).delta(arb(1.3)).overlaps(exact)
        monkeypatch.setattr(LatticeLine, "_tail_factor", lambda self: arb(0))
        assert not LatticeLine([(one, 6)], contour, law=LAPLACE).delta(arb(1.3)).overlaps(exact)


def test_without_the_panels_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    with precision(120):
        exact = LAPLACE.repeated(6, arb(1.3))
        assert exact is not None
        rule = replace(PANELS, panels=(2,), nodes=12, rho=4.0)
        contour = Contour(3.0, 0.3, 100, 2.0, 2.0, 0)
        one = LAPLACE.prepare(arb(3), rule)
        assert LatticeLine([(one, 6)], contour, law=LAPLACE).delta(arb(1.3)).overlaps(exact)
        monkeypatch.setattr(PreparedBranches, "slack", lambda self, y: (arb(0), arb(0)))
        monkeypatch.setattr(LatticeLine, "_tail_factor", lambda self: arb(0))
        monkeypatch.setattr(Line, "_alias_factors", lambda self: (arb(0), arb(0)))
        one = LAPLACE.prepare(arb(3), rule)
        assert not LatticeLine([(one, 6)], contour, law=LAPLACE).delta(arb(1.3)).overlaps(exact)
