"""Theorem 3 and Lemmas 2, 3, 7 and 8 behind it, and the energy of the noise that top-k keeps."""

from __future__ import annotations

from dpacct.domain import Bound, Integer, Real, Where
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_STEPS = Integer(1, 1000, typical=(1, 30))
_SMOOTH = Real(0, typical=(0.1, 10))
_RHO = Real(0, closed="left", typical=(0, 1))


def _small(factor: float) -> Real:
    return Real(
        0,
        Bound(f"1/({factor:g} K L)", lambda steps, smoothness: 1.0 / (factor * steps * smoothness)),
        "right",
    )


theorem3 = Entry(
    id="dp_fedsam.theorem3",
    locus="Theorem 3",
    claim="The mean squared gradient falls like this with the rounds.",
    maths=(
        r"\frac1T\sum_t\mathbb E\left[\overline\alpha^t\|\nabla f(w^t)\|^2\right]\le\mathcal O\left("
        r"\frac{2L(f(w^1)-f^*)}{\sqrt{KT}}+\dots+\frac{L^2\sqrt T\sigma^2C^2pd}{m^2\sqrt K}\right)"
    ),
    verdict=Verdict.ASYMPTOTIC,
    status=Status.ASYMPTOTIC,
    reason=(
        "A rate without constants, so nothing can be evaluated. Its last term grows with T, so it is no"
        " convergence for fixed noise; and its proof uses Lemmas 2, 3 and 8 and a top-k noise of energy p d,"
        " each of which is false (dp_fedsam.lemma2, lemma3, lemma8, eq24_topk)."
    ),
)


@theorem(
    Entry(
        id="dp_fedsam.lemma2",
        locus="Lemma 2",
        claim="The clients' SAM perturbations differ from the global one by at most this, mean square.",
        maths=r"\frac1M\sum_i\mathbb E\|\delta_{i,k}-\delta\|^2\le2K^2L^2\eta^2\rho^2",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(
            steps=_STEPS, eta=_small(4.0), smoothness=_SMOOTH, rho=Real(0, typical=(0.01, 1))
        ),
        reason=(
            "The perturbations are unit vectors along gradients, times rho. Nothing makes the"
            " clients' gradients"
            " parallel to the mean: with F_1 = w, F_2 = -w/2 one of them points against it, at"
            " distance 2 rho,"
            " for every eta and every L. (Quoted from FedSAM, where delta is the client's own.)"
        ),
        witness=Witness(
            at(steps=1, eta="0.25", smoothness=1, rho=1), "Gradients 1 and -1/2: 2 against 0.125."
        ),
        vectors=(Vector(at(steps=1, eta="0.25", smoothness=1, rho=1), 0.125, 2.0),),
    )
)
def lemma2(steps: int, eta: float, smoothness: float, rho: float) -> float:
    """The printed bound; `steps` = K.

    >>> lemma2(1, 0.25, 1.0, 1.0)
    0.125
    """
    return 2.0 * (steps * smoothness * eta * rho) ** 2


@theorem(
    Entry(
        id="dp_fedsam.lemma3",
        locus="Lemma 3",
        claim="The local models drift from the global one by at most this, mean square.",
        maths=(
            r"\frac1M\sum_i\mathbb E\|w^{t,k}(i)-w^t\|^2\le5K\eta^2\left(2L^2\rho^2\sigma_l^2+6K(3\sigma_g^2"
            r"+6L^2\rho^2)+6K\|\nabla f(w^t)\|^2\right)+24K^3\eta^4L^4\rho^2"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(
            steps=Integer(2, 1000, typical=(2, 30)),
            eta=_small(10.0),
            smoothness=_SMOOTH,
            rho=_RHO,
            local=Real(0, closed="left", typical=(0, 5)),
            across=_RHO,
            gradient=_RHO,
        ),
        reason=(
            "The variance of the sample gradients enters only times L^2 rho^2. With rho = sigma_g ="
            " 0 and a flat"
            " f the bound is 0, but K - 1 noisy steps drift by (K - 1) eta^2 sigma_l^2. The term should read"
            " 2 sigma_l^2 or so, without L^2 rho^2."
        ),
        witness=Witness(
            at(steps=2, eta="0.05", smoothness=1, rho=0, local=1, across=0, gradient=0),
            "Gradients 1 or -1 by a fair coin: 0.0025 against 0.",
        ),
        vectors=(
            Vector(
                at(steps=2, eta="0.05", smoothness=1, rho=0, local=1, across=0, gradient=0),
                0.0,
                0.0025,
                source="by hand",
            ),
        ),
    )
)
def lemma3(
    steps: int,
    eta: float,
    smoothness: float,
    rho: float,
    local: float,
    across: float,
    gradient: float,
) -> float:
    """The printed bound; `local` = sigma_l, `across` = sigma_g, `gradient` = |grad f(w^t)|.

    >>> lemma3(2, 0.05, 1.0, 0.0, 1.0, 0.0, 0.0)
    0.0
    """
    shift = (smoothness * rho) ** 2
    spread = 6.0 * steps * (3.0 * across**2 + 6.0 * shift + gradient**2)
    first = 5.0 * steps * eta**2 * (2.0 * shift * local**2 + spread)
    return first + 24.0 * steps**3 * eta**4 * smoothness**2 * shift


@theorem(
    Entry(
        id="dp_fedsam.lemma7",
        locus="Lemma 7",
        claim="The distances along two runs on neighbouring data are bounded by that of their updates.",
        maths=(
            r"\sum_{k=0}^{K-1}\|y^{t,k}(i)-x^{t,k}(i)\|_2^2\le2K\max\|\Delta_i^t(y)-\Delta_i^t(x)\|_2^2"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(
            steps=Integer(2, 1000, typical=(2, 12)), step=Real(0, 2, "right", typical=(0.01, 2))
        ),
        reason=(
            "Runs can part and meet again. F = L (w - z)^2/2 with z = 1 or -1 and eta L = 2 jumps to"
            " 2z and back"
            " to 0: after K = 2 steps the updates are equal, and in between the models are 4 apart."
        ),
        witness=Witness(at(steps=2, step=2), "16 against 0."),
        vectors=(Vector(at(steps=2, step=2), 0.0, 16.0),),
    )
)
def lemma7(steps: int, step: float) -> float:
    """The printed bound for two quadratics; `steps` = K, `step` = eta L.

    >>> lemma7(2, 2.0)
    0.0
    """
    apart = 2.0 * (1.0 - (1.0 - step) ** steps)
    return 2.0 * steps * apart**2


@theorem(
    Entry(
        id="dp_fedsam.lemma8",
        locus="Lemma 8",
        claim="The mean of the clipped updates is at most this, squared, in expectation.",
        maths=(
            r"\mathbb E\Big\|\frac1m\sum_{i\in\mathcal W^t}\tilde\Delta_i^t\Big\|^2\le3K\eta^2(L^2\rho^2+B^2)"
        ),
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(
            steps=_STEPS,
            eta=Real(0, typical=(0.001, 1)),
            smoothness=_SMOOTH,
            rho=Real(0, closed="left", typical=(0, 0.1)),
            gradient=Real(0, typical=(0.1, 10)),
        ),
        reason=(
            "The square of a sum of K terms is at most K times the sum of their squares; the K is"
            " lost. K steps"
            " along a constant gradient of norm B, not clipped, make K eta B, squared K^2 eta^2 B^2."
        ),
        corrected_by="dp_fedsam.lemma8_corrected",
        witness=Witness(at(steps=10, eta="0.1", smoothness=1, rho=0, gradient=1), "1 against 0.3."),
        vectors=(Vector(at(steps=10, eta="0.1", smoothness=1, rho=0, gradient=1), 0.3, 1.0),),
    )
)
def lemma8(steps: int, eta: float, smoothness: float, rho: float, gradient: float) -> float:
    """The printed bound; `gradient` = B.

    >>> round(lemma8(10, 0.1, 1.0, 0.0, 1.0), 12)
    0.3
    """
    return 3.0 * steps * eta**2 * ((smoothness * rho) ** 2 + gradient**2)


@theorem(
    Entry(
        id="dp_fedsam.lemma8_corrected",
        locus="Lemma 8, corrected",
        claim="With gradients of norm at most B and sample variance sigma_l^2: K^2 eta^2 (B^2 + sigma_l^2).",
        maths=r"\mathbb E\Big\|\frac1m\sum\tilde\Delta_i^t\Big\|^2\le K^2\eta^2(B^2+\sigma_l^2)",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=Where(
            steps=_STEPS,
            eta=Real(0, typical=(0.001, 1)),
            gradient=Real(0, typical=(0.1, 10)),
            local=Real(0, closed="left", typical=(0, 10)),
        ),
        derivation=(
            r"Clipping shortens, and Jensen twice: $\|\frac1m\sum_i\eta\sum_k\tilde g\|^2\le\frac{\eta^2K}m"
            r"\sum_{i,k}\|\tilde g^{t,k}(i)\|^2$. Assumption 3 bounds the full gradient by B"
            r" everywhere, so at"
            r" the perturbed point too, and the sample adds its variance: $B^2+\sigma_l^2$ each."
        ),
        vectors=(
            Vector(at(steps=10, eta="0.1", gradient=1, local=2), 5.0, source="by hand"),
            Vector(at(steps=10, eta="0.1", gradient=1, local=0), 1.0, 1.0, source="by hand"),
        ),
        refuses=(at(steps=0, eta="0.1", gradient=1, local=0),),
    )
)
def lemma8_corrected(steps: int, eta: float, gradient: float, local: float) -> float:
    """The bound; `gradient` = B, `local` = sigma_l.

    >>> round(lemma8_corrected(10, 0.1, 1.0, 2.0), 12)
    5.0
    """
    return (steps * eta) ** 2 * (gradient**2 + local**2)


@theorem(
    Entry(
        id="dp_fedsam.eq24_topk",
        locus="Eq. (24), the noise term with sparsity p = k/d",
        claim="Keeping the k largest of d noisy coordinates keeps k units of noise energy.",
        maths=r"\mathbb E\|\mathrm{top}_k(z)\|^2\le pd=k,\quad z\sim N(0,I_d)",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(d=Integer(2, 500, typical=(2, 60)), k=Integer(1, Bound("d", lambda d: d))),
        reason=(
            "The mask is chosen after the noise was added, so it picks the coordinates in which the noise is"
            " large: k = 1 of d = 2 keeps 1 + 2/pi = 1.637 units, not 1. It is right for a mask that does not"
            " depend on the noise."
        ),
        witness=Witness(at(k=1, d=2), "1 + 2/pi against 1."),
        vectors=(Vector(at(k=1, d=2), 1.0, 1.636619772368, within=1e-10),),
    )
)
def eq24_topk(d: int, k: int) -> float:
    """The printed energy in units of the noise variance.

    >>> eq24_topk(2, 1)
    1.0
    """
    return float(k)
