"""Laplacian smoothing: Eq. (2), the matrix of the text, and the risk of Proposition 1."""

from __future__ import annotations

import math

from dpacct.domain import Number, Real, Where
from dpacct.theorems.entry import Entry, Vector, Witness, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_V = {f"v{i}": Real(-10, 10, "both") for i in range(1, 6)}
_SIGMA = Real(0, 100, "left", typical=(0, 10))
_POINT: dict[str, Number] = {"v1": 1, "v2": "0.5", "v3": "-0.25", "v4": 2, "v5": 0, "sigma": 1}
_WHERE = Where(**_V, sigma=_SIGMA)
_RISK = Where(**_V, sigma=_SIGMA, nu=Real(0, 10, "both"))


def periodic(v: list[float], sigma: float) -> list[float]:
    """Eq. (2) as computed: ifft(fft(v) / (1 - sigma fft(d))), d = [-2, 1, 0, ..., 0, 1].

    >>> [round(x, 4) for x in periodic([1, 0, 0], 1.0)]
    [0.5, 0.25, 0.25]
    """
    import numpy as np

    kernel = np.zeros(len(v))
    kernel[0], kernel[1], kernel[-1] = -2.0, 1.0, 1.0
    smooth = np.fft.ifft(np.fft.fft(v) / (1.0 - sigma * np.fft.fft(kernel)))
    return [float(x) for x in smooth.real]


@theorem(
    Entry(
        id="dp_fed_ls.eq2",
        locus="Section 4 and Eq. (2)",
        claim="The fast Fourier transform of Eq. (2) multiplies by the inverse of the text's A_sigma "
        "(diagonal 1 + 2 sigma, beside it -sigma, else 0). First entry, d = 5.",
        maths=(
            r"A_\sigma^{-1}v=\mathrm{ifft}\left(\frac{\mathrm{fft}(v)}{1-\sigma\,\mathrm{fft}(d)}\right),"
            r"\quad d=[-2,1,0,\dots,0,1]^T"
        ),
        verdict=Verdict.ILL_POSED,
        status=Status.REFUTED,
        side=Side.TWO_SIDED,
        domain=_WHERE,
        reason=(
            "Three matrices are in use: the text's tridiagonal one (Dirichlet ends), the one of"
            " Proposition 1 with eigenvalue 0 for the constant vector (Neumann ends, a path's Laplacian)"
            " and the circulant one of Eq. (2) (periodic ends). They differ at the ends of the vector."
        ),
        corrected_by="dp_fed_ls.eq2_corrected",
        witness=Witness(
            _POINT,
            "The first entry is 0.7045 by Eq. (2), 0.4826 by the text's matrix, 0.7864 by Proposition 1's.",
        ),
        vectors=(Vector(_POINT, 0.7045454545455, 0.4826388888889, within=1e-12),),
    )
)
def eq2(v1: float, v2: float, v3: float, v4: float, v5: float, sigma: float) -> float:
    """First entry of the smoothed vector.

    >>> round(eq2(1.0, 0.5, -0.25, 2.0, 0.0, 1.0), 6)
    0.704545
    """
    return periodic([v1, v2, v3, v4, v5], sigma)[0]


@theorem(
    Entry(
        id="dp_fed_ls.eq2_corrected",
        locus="Eq. (2), with periodic ends",
        claim="Eq. (2) multiplies by the inverse of I + sigma L, L the Laplacian of a cycle, d >= 3.",
        maths=r"A_\sigma=I+\sigma L_{cycle},\quad L_{ii}=2,\ L_{i,i\pm1\bmod d}=-1",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.TWO_SIDED,
        domain=_WHERE,
        derivation=(
            r"A circulant matrix with first column $c$ is diagonal in the Fourier basis with eigenvalues"
            r" $\mathrm{fft}(c)$; $I+\sigma L_{cycle}$ has $c=e_1-\sigma d$, so its eigenvalues are"
            r" $1-\sigma\,\mathrm{fft}(d)=1+\sigma(2-2\cos(2\pi k/d))$. For $d=2$ both neighbours are the"
            r" same entry and $d=[-2,1]$ is no Laplacian, hence $d\ge3$."
        ),
        vectors=(Vector(_POINT, 0.7045454545455, 0.7045454545455, within=1e-12),),
        refuses=({**_POINT, "sigma": "-0.001"},),
    )
)
def eq2_corrected(v1: float, v2: float, v3: float, v4: float, v5: float, sigma: float) -> float:
    """First entry of the smoothed vector.

    >>> round(eq2_corrected(1.0, 0.5, -0.25, 2.0, 0.0, 1.0), 6)
    0.704545
    """
    return periodic([v1, v2, v3, v4, v5], sigma)[0]


def risk(v: list[float], sigma: float, nu: float, eigen: list[tuple[float, list[float]]]) -> float:
    """Proposition 1's sum over eigenpairs (lambda_i, e_i): squared bias plus variance.

    >>> risk([1.0], 1.0, 1.0, [(1.0, [1.0])])
    0.5
    """
    total = 0.0
    for value, vector in eigen:
        along = math.fsum(x * e for x, e in zip(v, vector, strict=True))
        total += ((sigma * value * along) ** 2 + nu * nu) / (1.0 + sigma * value) ** 2
    return total


def path(d: int) -> list[tuple[float, list[float]]]:
    """Eigenpairs of a path's Laplacian (Neumann ends): cosines, the first of them constant.

    >>> round(path(2)[1][0], 12)
    2.0
    """
    pairs = []
    for k in range(d):
        wave = [math.cos(math.pi * k * (2 * i + 1) / (2 * d)) for i in range(d)]
        size = math.sqrt(math.fsum(x * x for x in wave))
        value = 2.0 - 2.0 * math.cos(math.pi * k / d)
        pairs.append((value, [x / size for x in wave]))
    return pairs


def cycle(d: int) -> list[tuple[float, list[float]]]:
    """Eigenpairs of a cycle's Laplacian (periodic ends): a sine and a cosine for each frequency.

    >>> [round(value, 12) for value, _ in cycle(3)]
    [0.0, 3.0, 3.0]
    """
    pairs = []
    for k in range(d):
        turn = math.sin if 2 * k > d else math.cos
        wave = [turn(2.0 * math.pi * k * i / d) for i in range(d)]
        size = math.sqrt(math.fsum(x * x for x in wave))
        value = 2.0 - 2.0 * math.cos(2.0 * math.pi * k / d)
        pairs.append((value, [x / size for x in wave]))
    return pairs


@theorem(
    Entry(
        id="dp_fed_ls.proposition1",
        locus="Proposition 1, Neumann ends",
        claim="The risk of the smoothed estimate: squared bias plus variance over eigenpairs (d = 5).",
        maths=(
            r"E\|\hat v-v\|^2=\sum_i\frac{\sigma^2\lambda_i^2}{(1+\sigma\lambda_i)^2}"
            r"\langle v,e_i\rangle^2+\sum_i\frac{\nu^2}{(1+\sigma\lambda_i)^2}"
        ),
        verdict=Verdict.CONDITIONAL,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=_RISK,
        reason=(
            "lambda_1 = 0 with a constant eigenvector holds for the Laplacian of a path or a cycle, not"
            " for the tridiagonal matrix of the text, whose smallest eigenvalue is positive."
        ),
        derivation=(
            r"$\hat v-v=(A_\sigma^{-1}-I)v+A_\sigma^{-1}n$; both matrices are diagonal in the eigenbasis of"
            r" the Laplacian, with entries $-\sigma\lambda_i/(1+\sigma\lambda_i)$ and"
            r" $1/(1+\sigma\lambda_i)$, and the noise has mean 0 and covariance $\nu^2I$."
        ),
        vectors=(Vector({**_POINT, "nu": "0.3"}, 1.9717272727273, 1.9717272727273, within=1e-12),),
    )
)
def proposition1(
    v1: float, v2: float, v3: float, v4: float, v5: float, sigma: float, nu: float
) -> float:
    """The mean squared error; `nu` is the standard deviation of the noise.

    >>> round(proposition1(1.0, 0.5, -0.25, 2.0, 0.0, 1.0, 0.3), 6)
    1.971727
    """
    return risk([v1, v2, v3, v4, v5], sigma, nu, path(5))


@theorem(
    Entry(
        id="dp_fed_ls.proposition1_periodic",
        locus="Proposition 1, periodic ends",
        claim="The same risk for the matrix that Eq. (2) inverts (d = 5).",
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=_RISK,
        derivation=(
            r"As Proposition 1, with the eigenpairs of a cycle: $\lambda_k=2-2\cos(2\pi k/d)$ and the"
            r" sine and cosine of each frequency, the first of them constant."
        ),
        vectors=(Vector({**_POINT, "nu": "0.3"}, 2.0072314049587, 2.0072314049587, within=1e-12),),
    )
)
def proposition1_periodic(
    v1: float, v2: float, v3: float, v4: float, v5: float, sigma: float, nu: float
) -> float:
    """The mean squared error; `nu` is the standard deviation of the noise.

    >>> round(proposition1_periodic(1.0, 0.5, -0.25, 2.0, 0.0, 1.0, 0.3), 6)
    2.007231
    """
    return risk([v1, v2, v3, v4, v5], sigma, nu, cycle(5))
