"""The exponential mechanism: a choice, each with probability by the exponential of its score."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpacct.declare.record import Parameter
from dpacct.mechanisms.mechanism import Mechanism
from dpacct.mechanisms.staircase import EPS0
from dpacct.vocabulary import Adjacency, Assumption

if TYPE_CHECKING:
    from dpacct.mechanisms.opaque import ZCDP
    from dpacct.pld.pair import Pair, PairMoments, Pairs, Stated


class ExponentialMechanism(Mechanism, kind="exponential"):
    """A choice with probability proportional to e^{eps0 score / (2 sensitivity of the score)}.

    Its privacy losses lie in an interval of length eps0, which is less than what eps0-DP allows;
    anything of that bounded range is covered: where every score can only grow (or only shrink),
    e^{eps0 score / sensitivity}, and report-noisy-max with exponential or Gumbel noise. eps0 in
    (0, 500]. Of several releases the answer is the worst sequence, each chosen after the outcomes of
    the ones before; `docs/mechanisms.md` says how it is bracketed. Raises `InvalidArgument`.

    >>> step = ExponentialMechanism(eps0="0.1")
    >>> step, step.zcdp()
    (ExponentialMechanism(eps0=0.1), ZCDP(rho=0.00125))
    """

    label = "the exponential mechanism"
    sought, between = "eps0", (1e-6, 500.0)
    trust = "one {unit} moves each score by at most the score's sensitivity"
    eps0: Parameter[Fraction] = Parameter(EPS0, "range of one choice's losses", "L", kw_only=False)
    references = ("mcsherry2007mechanism", "dong2020optimal", "cesar2021bounding")

    def zcdp(self) -> ZCDP:
        """The mechanism as (eps0^2/8)-zCDP (Cesar, Rogers 2021), an upper bound."""
        from dpacct.mechanisms.opaque import ZCDP

        return ZCDP(rho=self.eps0**2 / 8)

    def pure_epsilon(self, adjacency: Adjacency) -> Fraction:
        """The epsilon that was stated: every adjacency has the same."""
        return self.eps0

    def stated(self, adjacency: Adjacency) -> Stated:
        """The pair that dominates every mechanism of range eps0, and a pair that some mechanism attains."""
        from dpacct.mechanisms.laws.bounded_range import bounded_range_loss
        from dpacct.pld.pair import Stated, guarantee

        middle = Stated(guarantee, (self.eps0 / 2,), unit=self.eps0 / 2)
        return Stated(bounded_range_loss, (self.eps0,), near=middle, below=middle)

    def pair(self, adjacency: Adjacency) -> Pair:
        """The pair in floats."""
        from dpacct.mechanisms.laws.bounded_range import bounded_range_pair

        return bounded_range_pair(float(self.eps0))

    def repeated(self, count: int, adjacency: Adjacency) -> Sequence[tuple[Pairs, int]]:
        """The worst sequence of such choices, each made adaptively."""
        from dpacct.mechanisms.laws.adaptive_range import adaptive_pairs

        return adaptive_pairs(float(self.eps0), count)

    def moments(self, adjacency: Adjacency) -> tuple[PairMoments, ...]:
        """The largest moments of any single choice, which multiply under adaptive composition."""
        from dpacct.mechanisms.laws.bounded_range import log_worst_moment
        from dpacct.pld.pair import PairMoments

        eta = float(self.eps0)
        return (PairMoments(lambda tilts: log_worst_moment(eta, tilts), ceiling=eta),)

    def assumptions(self, adjacency: Adjacency) -> tuple[Assumption, ...]:
        """The score's sensitivity, which the accountant cannot see."""
        return (
            Assumption(
                f"the losses of each choice span at most eps0 under {adjacency}", id="sensitivity"
            ),
        )
