"""Remark 1, the sensitivity, post-processing, and the constant inside Theorem 2's proof."""

from __future__ import annotations

from dpacct.domain import POSITIVE, Integer, Where
from dpacct.theorems.dp_fed_ls.subsampled import lemma3, orders
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side


@theorem(
    Entry(
        id="dp_fed_ls.remark1",
        locus="Remark 1",
        claim="The older bound 5 tau^2 alpha/nu^2 of Wang et al. (2019) holds where Lemma 2 does, and is "
        "weaker; so is 6 tau^2 alpha/nu^2 of Bun et al. (2018).",
        maths=r"D_\alpha\le 3.5\tau^2\alpha/\nu^2\le5\tau^2\alpha/\nu^2",
        verdict=Verdict.GAP,
        status=Status.SEARCHED,
        side=Side.UPPER,
        domain=orders("0.67"),
        reason="Implied by Lemma 2 on its own domain, so it has that lemma's gap.",
        looseness="at least 2.4",
        relies_on=("dp_fed_ls.lemma2",),
        vectors=(Vector(at(tau="0.05", nu2=1, alpha=2), 0.025, 0.006306250967114),),
        refuses=(at(tau="0.05", nu2="0.6699", alpha="1.1"),),
    )
)
def remark1(tau: float, nu2: float, alpha: float) -> float:
    """The bound with constant 5.

    >>> round(remark1(0.05, 1.0, 2.0), 12)
    0.025
    """
    return 5.0 * tau * tau * alpha / nu2


@theorem(
    Entry(
        id="dp_fed_ls.theorem2_proof",
        locus="Proof of Theorem 2 (Appendix D)",
        claim="Lemma 3 needs only nu^2 >= 0.43, as the proof of Theorem 2 says.",
        maths=r"D_\alpha\le\frac{2\,\tau^2\alpha}{\nu^2},\qquad \nu^2\ge0.43",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=orders("0.43"),
        reason="The statement of Theorem 2 says 0.53; at 0.43 the bound of Lemma 3 is false by 2 percent.",
        corrected_by="dp_fed_ls.lemma3",
        witness=Witness(
            at(tau="0.0031477005241", nu2="0.43", alpha="2.30908033"),
            "The exact divergence is 1.08726e-4, the bound 1.06411e-4.",
        ),
        vectors=(
            Vector(
                at(tau="0.0031477005241", nu2="0.43", alpha="2.3090803377"),
                1.06411213537e-4,
                1.08725823590e-4,
            ),
        ),
    )
)
def theorem2_proof(tau: float, nu2: float, alpha: float) -> float:
    """Lemma 3's bound, on the larger domain.

    >>> round(theorem2_proof(0.05, 1.0, 2.0), 12)
    0.01
    """
    return lemma3(tau, nu2, alpha)


@theorem(
    Entry(
        id="dp_fed_ls.sensitivity",
        locus="Proof of Theorem 1 (Appendix B)",
        claim="Exchanging one client moves the mean of m clipped updates by at most 2G/m.",
        maths=r"\|w_j-w_j'\|\le2G,\quad\Delta q\le2G/m",
        verdict=Verdict.CONDITIONAL,
        status=Status.SEARCHED,
        side=Side.TWO_SIDED,
        domain=Where(clip=POSITIVE, m=Integer(1, 10**6)),
        reason=(
            "Right for replace-one, so for uniform sampling. Poisson sampling comes with add/remove, where"
            " the sum changes by one vector of norm G: see dp_fed_ls.theorem2_corrected."
        ),
        vectors=(Vector(at(clip="0.3", m=50), 0.012, source="by hand"),),
    )
)
def sensitivity(clip: float, m: int) -> float:
    """l2 sensitivity of the mean under replace-one.

    >>> sensitivity(0.5, 10)
    0.1
    """
    return 2.0 * clip / m


POST_PROCESSING = Entry(
    id="dp_fed_ls.post_processing",
    locus="Section 3, proofs of Theorems 1 and 2",
    claim="DP-Fed-LS has the guarantee of DP-Fed: smoothing is post-processing of the noisy sum.",
    verdict=Verdict.HOLDS,
    status=Status.TRANSCRIBED,
    reason=(
        "A_sigma^{-1} is applied to the noisy sum, and sigma does not depend on the data, so it is a"
        " function of what was released; there is no number to evaluate."
    ),
)
