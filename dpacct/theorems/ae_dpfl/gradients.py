"""Proposition 10: what E local steps of FedAvg are worth as one step of gradient descent."""

from __future__ import annotations

from dpacct.domain import Integer, Real, Where
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_RATE = Real(0, typical=(0.001, 1))
_SLOPE = Real(0, typical=(0.1, 10))
_STEPS = Integer(1, 1000, typical=(1, 40))


@theorem(
    Entry(
        id="ae_dpfl.proposition10_a",
        locus="Proposition 10 (a)",
        claim="At distance nu from every kink, all E < nu/(eta G) local steps use the gradient at the start.",
        maths=r"g=\nabla F(\theta),\quad E<\nu/(\eta G)",
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.LOWER,
        domain=Where(distance=Real(0, typical=(0.01, 5)), rate=_RATE, slope=_SLOPE),
        reason="E - 1 steps of length at most eta G stay within the region, where all gradients agree.",
        vectors=(
            Vector(at(distance=1, rate="0.1", slope=2), 5.0, 5.0, source="by hand"),
            Vector(at(distance="1.05", rate="0.1", slope=2), 5.25, 6.0, source="by hand"),
        ),
    )
)
def proposition10_a(distance: float, rate: float, slope: float) -> float:
    """Below this many local steps the update is the gradient's; `distance` = nu, `slope` = G.

    >>> proposition10_a(1.0, 0.125, 2.0)
    4.0
    """
    return distance / (rate * slope)


@theorem(
    Entry(
        id="ae_dpfl.proposition10_b",
        locus="Proposition 10 (b)",
        claim="On a kink, g lies in the Clarke subdifferential of F (its distance from it is 0).",
        maths=r"g\in\partial F(\theta)",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(rate=_RATE, slope=_SLOPE),
        reason=(
            "True for convex f_i only. With f_1 = G|x|, f_2 = -G|x| the mean F is 0 and its"
            " subdifferential {0},"
            " but at x = 0 both agents may step with subgradient G, so that g = G. In general g lies"
            " in the mean"
            " of the subdifferentials of the f_i, which is larger than that of F."
        ),
        witness=Witness(at(rate="0.1", slope=1), "f_1 = |x|, f_2 = -|x|, E = 1: g = 1, F = 0."),
        vectors=(Vector(at(rate="0.1", slope=1), 0.0, 1.0),),
    )
)
def proposition10_b(rate: float, slope: float) -> float:
    """The printed distance of g from the subdifferential of F.

    >>> proposition10_b(0.1, 1.0)
    0.0
    """
    return 0.0 * rate * slope


@theorem(
    Entry(
        id="ae_dpfl.proposition10_c",
        locus="Proposition 10 (c)",
        claim="For Lipschitz f_i, |g - grad F| <= E eta G.",
        maths=r"\|g-\nabla F(\theta)\|_2\le E\eta G",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(steps=Integer(2, 1000, typical=(2, 40)), rate=_RATE, slope=_SLOPE),
        reason=(
            "A bound on the gradient says nothing about how fast it changes. For F = G|x| just right of 0 the"
            " second local step has gradient -G: the mean of two differs from G by G, whatever eta is."
            " Smoothness is needed, as in proposition10_c_corrected."
        ),
        corrected_by="ae_dpfl.proposition10_c_corrected",
        witness=Witness(
            at(steps=2, rate="0.1", slope=1), "F = |x|, theta = 0.01: g = 0, grad F = 1, bound 0.2."
        ),
        vectors=(Vector(at(steps=2, rate="0.1", slope=1), 0.2, 1.0),),
    )
)
def proposition10_c(steps: int, rate: float, slope: float) -> float:
    """The printed bound; `steps` = E, `rate` = eta, `slope` = G.

    >>> proposition10_c(2, 0.1, 1.0)
    0.2
    """
    return steps * rate * slope


@theorem(
    Entry(
        id="ae_dpfl.proposition10_c_corrected",
        locus="Proposition 10 (c), corrected",
        claim="For f_i that are G-Lipschitz and beta-smooth, |g - grad F| <= beta eta G (E - 1)/2.",
        maths=r"\|g-\nabla F(\theta)\|_2\le\tfrac12\beta\eta G(E-1)",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=Where(
            steps=Integer(1, 1000, typical=(1, 40)),
            rate=_RATE,
            slope=_SLOPE,
            smoothness=Real(0, typical=(0.01, 10)),
        ),
        derivation=(
            r"After $k$ steps an agent is at most $k\eta G$ away, so its gradient has moved by at most"
            r" $\beta k\eta G$; the mean over $k=0,\dots,E-1$ is $\beta\eta G(E-1)/2$, and the mean"
            r" over agents"
            r" is no larger."
        ),
        vectors=(
            Vector(at(steps=3, rate="0.1", slope=1, smoothness=2), 0.2, source="by hand"),
            Vector(at(steps=1, rate="0.1", slope=1, smoothness=2), 0.0, 0.0, source="by hand"),
        ),
        refuses=(at(steps=0, rate="0.1", slope=1, smoothness=1),),
    )
)
def proposition10_c_corrected(steps: int, rate: float, slope: float, smoothness: float) -> float:
    """The bound; `smoothness` = beta, the Lipschitz constant of the gradients.

    >>> proposition10_c_corrected(3, 0.125, 1.0, 2.0)
    0.25
    """
    return smoothness * rate * slope * (steps - 1) / 2.0
