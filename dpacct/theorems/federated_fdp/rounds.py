"""Lemmas 3.7 and 3.8 and Theorem 1: what sampling the clients does to one round, and to all of them."""

from __future__ import annotations

import math

from dpacct.domain import Integer, Real, Where
from dpacct.theorems import balle_wang2018, dong2019
from dpacct.theorems.entry import Entry, Vector, Witness, at, theorem
from dpacct.theorems.grade import Status, Verdict
from dpacct.vocabulary import Side

_MPMATH = "mpmath, 50 digits"
_MU = Real(0, typical=(0.05, 5))
_RATE = Real(0, 1, "right", typical=(0.02, 1))


@theorem(
    Entry(
        id="federated_fdp.lemma3_7",
        locus="Lemma 3.7, for f_j = G_mu",
        claim="Within one round every other client learns at most what w_j itself says: f_j.",
        maths=r"T(\tilde H_i(\mathbf S),\tilde H_i(\mathbf S'^j))\ge f_j",
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.LOWER,
        domain=Where(mu=_MU, clients=Integer(1, 200), alpha=Real(0, 1, typical=(1e-4, 1 - 1e-4))),
        reason="Post-processing of w_j by the server, with the other clients' models held fixed.",
        looseness="the noise in the other clients' models hides w_j further",
        relies_on=("dong2019.definition2_6",),
        vectors=(
            Vector(at(mu=1, clients=1, alpha="0.05"), 0.74048897715855593, source=_MPMATH),
            Vector(at(mu=2, clients=4, alpha="0.05"), None, 0.74048897715855593, source=_MPMATH),
        ),
    )
)
def lemma3_7(mu: float, clients: int, alpha: float) -> float:
    """The type II error that no test beats, whatever the number of sampled clients.

    >>> round(lemma3_7(1.0, 100, 0.05), 9)
    0.740488977
    """
    return dong2019.gaussian_tradeoff(mu, alpha)


@theorem(
    Entry(
        id="federated_fdp.lemma3_8",
        locus="Lemma 3.8, for f_j = G_mu",
        claim="One round with clients sampled at rate p satisfies max(f_j, 1 - alpha - p^2).",
        maths=r"g_{p,j}(\alpha)=\max(f_j(\alpha),\,1-\alpha-p^2)",
        verdict=Verdict.HOLDS,
        status=Status.SEARCHED,
        side=Side.LOWER,
        domain=Where(mu=_MU, rate=_RATE, alpha=Real(0, 1, typical=(1e-3, 1 - 1e-3))),
        reason="Both i and j are sampled with probability p^2; otherwise nothing about j arrives.",
        looseness="lemma3_8_tight is the exact profile: 0.0957 against 0.25 at mu = 1, p = 1/2, eps = 0",
        relies_on=("federated_fdp.lemma3_7",),
        vectors=(
            Vector(at(mu=1, rate="0.5", alpha="0.3"), 0.45, source="by hand"),
            Vector(at(mu=1, rate=1, alpha="0.05"), 0.74048897715855593, source=_MPMATH),
        ),
    )
)
def lemma3_8(mu: float, rate: float, alpha: float) -> float:
    """The type II error that no test beats in one round.

    >>> round(lemma3_8(1.0, 0.5, 0.3), 9)
    0.45
    """
    return max(dong2019.gaussian_tradeoff(mu, alpha), 1.0 - alpha - rate**2)


@theorem(
    Entry(
        id="federated_fdp.lemma3_8_tight",
        locus="Lemma 3.8, sharpened",
        claim="One round has delta(eps) = p^2 delta_{f_j}(eps) exactly, for a server without memory.",
        maths=r"\delta(\varepsilon)=p^2\,\delta_{f_j}(\varepsilon),\quad\varepsilon\ge0",
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.UPPER,
        domain=Where(mu=_MU, rate=_RATE, epsilon=Real(0, closed="left", typical=(0, 12))),
        derivation=(
            r"With probability $1-p^2$ both laws are one and the same, with $p^2$ they are those of"
            r" $\tilde H_i$ given that $i$ and $j$ are sampled. The hockey-stick divergence of mixtures is"
            r" at most the mixture of the divergences, with equality if the participation shows."
        ),
        relies_on=("federated_fdp.lemma3_7", "balle_wang.theorem8"),
        vectors=(
            Vector(at(mu=1, rate="0.5", epsilon=0), 0.0957312306370, 0.0957312306370, within=1e-11),
        ),
        refuses=(at(mu=1, rate="1.01", epsilon=0),),
    )
)
def lemma3_8_tight(mu: float, rate: float, epsilon: float) -> float:
    """Delta of one round; `mu` that of the local training, `rate` that of the clients.

    >>> round(lemma3_8_tight(1.0, 0.5, 0.0), 9)
    0.095731231
    """
    return rate**2 * balle_wang2018.theorem8(mu, epsilon)


@theorem(
    Entry(
        id="federated_fdp.theorem1",
        locus="Theorem 1, weak, for clients that release exactly (f_j = 0)",
        claim="R rounds satisfy g_p tensor-R: here, the total variation is at most 1 - (1 - p^2)^R.",
        maths=r"T(M_i(\mathbf S),M_i(\mathbf S'^j))\ge g_{p,j}^{\otimes R}",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(rate=_RATE, rounds=Integer(1, 5)),
        reason=(
            "The server has a memory. With eta < 1 the global model still holds w_j when client i is sampled"
            " in a later round, so i and j need not be sampled in the same round: with two clients and R = 2"
            " the truth is 3 p^2 - 2 p^3, the bound 2 p^2 - p^4. With eta = 1 a third client that was"
            " sampled with j carries w_j on. The rounds are no independent mechanisms H_i o Sample_p."
        ),
        corrected_by="federated_fdp.theorem1_corrected",
        relies_on=("federated_fdp.lemma3_8", "federated_fdp.lemma3_3"),
        witness=Witness(
            at(rate="0.5", rounds=2),
            "Two clients, eta = 1/2, F_i = id, w_j published as it is: of the 16 outcomes of the four coins"
            " half show w_j to client i, and the bound is 0.4375.",
        ),
        vectors=(Vector(at(rate="0.5", rounds=2), 0.4375, 0.5),),
    )
)
def theorem1(rate: float, rounds: int) -> float:
    """Total variation by the theorem, for local training that hides nothing.

    >>> theorem1(0.5, 2)
    0.4375
    """
    return 1.0 - (1.0 - rate**2) ** rounds


@theorem(
    Entry(
        id="federated_fdp.theorem1_corrected",
        locus="Theorem 1, corrected, for clients that release exactly (f_j = 0)",
        claim="Whoever looks on, and whatever the server remembers: at most 1 - (1 - p)^R, weak and strong.",
        maths=r"T\ge\left[(1-p)\,\mathrm{Id}+p\,f_j\right]^{\otimes R}\ \text{(the coin of $j$ is public)}",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=Where(rate=_RATE, rounds=Integer(1, 5)),
        derivation=(
            r"Everything that leaves client $j$ is $w_j$ of the rounds in which $j$ was sampled. The helper"
            r" models of all others, in all rounds, are functions of these and of what does not depend on"
            r" $S^{(j)}$. So they are post-processing of R independent releases, each of them empty with"
            r" probability $1-p$ and $f_j$-DP otherwise. The same holds for all others together."
        ),
        vectors=(
            Vector(at(rate="0.5", rounds=2), 0.75, source="by hand"),
            Vector(at(rate="0.25", rounds=1), 0.25, source="by hand"),
        ),
        refuses=(at(rate="1.01", rounds=2),),
    )
)
def theorem1_corrected(rate: float, rounds: int) -> float:
    """Total variation, for local training that hides nothing.

    >>> theorem1_corrected(0.5, 2)
    0.75
    """
    return 1.0 - (1.0 - rate) ** rounds


@theorem(
    Entry(
        id="federated_fdp.theorem1_strong",
        locus="Theorem 1, strong, for clients that release exactly (f_j = 0)",
        claim="All m - 1 other clients together: g_p tensor-(m-1)R, so at most 1 - (1 - p^2)^{(m-1)R}.",
        maths=r"T(M_{-j}(\mathbf S),M_{-j}(\mathbf S'^j))\ge g_{p,j_{\min}}^{\otimes(m-1)R}",
        verdict=Verdict.FALSE,
        status=Status.REFUTED,
        side=Side.UPPER,
        domain=Where(rate=_RATE, clients=Integer(2, 4), rounds=Integer(1, 3)),
        reason=(
            "The server remembers, as in the weak statement, which for two clients is the same. For a single"
            " round it holds, and so it does for p = 1, but there it is loose: the m - 1 observers hang on"
            " the one coin of j and on the same w_j, and their view is post-processing of R releases."
        ),
        looseness="at p = 1 the exponent R is enough: mu instead of sqrt(m-1) mu",
        corrected_by="federated_fdp.theorem1_strong_corrected",
        relies_on=("federated_fdp.theorem1", "federated_fdp.definition3_6"),
        witness=Witness(
            at(rate="0.5", clients=2, rounds=2),
            "With two clients it is the weak statement: 0.5 against 0.4375.",
        ),
        vectors=(
            Vector(at(rate="0.5", clients=2, rounds=2), 0.4375, 0.5),
            Vector(at(rate="0.5", clients=3, rounds=1), 0.4375, 0.375, source="by hand"),
        ),
    )
)
def theorem1_strong(rate: float, clients: int, rounds: int) -> float:
    """Total variation by the theorem, for local training that hides nothing.

    >>> theorem1_strong(0.5, 3, 1)
    0.4375
    """
    return 1.0 - (1.0 - rate**2) ** ((clients - 1) * rounds)


@theorem(
    Entry(
        id="federated_fdp.theorem1_strong_corrected",
        locus="Theorem 1, strong, corrected, for clients that release exactly (f_j = 0)",
        claim="Strong is as cheap as weak: at most 1 - (1 - p)^R for any number of observers.",
        maths=r"T(M_{-j}(\mathbf S),M_{-j}(\mathbf S'^j))\ge[(1-p)\,\mathrm{Id}+p\,f_j]^{\otimes R}",
        verdict=Verdict.HOLDS,
        status=Status.CORRECTED,
        side=Side.UPPER,
        domain=Where(rate=_RATE, clients=Integer(2, 4), rounds=Integer(1, 3)),
        derivation=(
            r"As for `federated_fdp.theorem1_corrected`: the helper models of all clients but $j$, taken"
            r" together, are still a function of the R releases of $w_j$ and of what is independent of"
            r" $S^{(j)}$, so nothing is paid for a second observer."
        ),
        relies_on=("federated_fdp.theorem1_corrected",),
        vectors=(
            Vector(at(rate="0.5", clients=3, rounds=1), 0.5, source="by hand"),
            Vector(at(rate="0.5", clients=4, rounds=2), 0.75, source="by hand"),
        ),
        refuses=(at(rate="1.01", clients=3, rounds=2),),
    )
)
def theorem1_strong_corrected(rate: float, clients: int, rounds: int) -> float:
    """Total variation, for local training that hides nothing; `clients` plays no part.

    >>> theorem1_strong_corrected(0.5, 4, 2)
    0.75
    """
    return theorem1_corrected(rate, rounds)


@theorem(
    Entry(
        id="federated_fdp.theorem1_gaussian",
        locus="Theorem 1, corrected, for f_j = G_mu",
        claim="R rounds whose local training is mu-GDP, under public coins of rate p: the exact delta.",
        maths=(
            r"\delta(\varepsilon)=\sum_{k=1}^R\binom Rkp^k(1-p)^{R-k}\,"
            r"\delta_{G_{\mu\sqrt k}}(\varepsilon)"
        ),
        verdict=Verdict.HOLDS,
        status=Status.DERIVED,
        side=Side.TWO_SIDED,
        domain=Where(
            mu=Real(0, typical=(0.05, 3)),
            rate=_RATE,
            rounds=Integer(1, 400),
            epsilon=Real(0, closed="left", typical=(0.05, 12)),
        ),
        derivation=(
            r"In `federated_fdp.theorem1_corrected` the coins are public, so the observer knows that $j$ took"
            r" part $k$ times, and then sees $k$ Gaussian shifts of $\mu$, which are one of $\mu\sqrt k$."
            r" A public mixture has the mean of the deltas. It is the same for weak and strong, and a"
            r" bound for any other $f_j$ above $G_\mu$."
        ),
        relies_on=("federated_fdp.theorem1_corrected", "federated_fdp.lemma3_4"),
        vectors=(
            Vector(at(mu=1, rate=1, rounds=1, epsilon=1), 0.12693673750664395, source=_MPMATH),
            Vector(at(mu=1, rate="0.5", rounds=2, epsilon=1), 0.1350204217338461, source=_MPMATH),
        ),
        refuses=(at(mu=1, rate="1.01", rounds=2, epsilon=1),),
    )
)
def theorem1_gaussian(mu: float, rate: float, rounds: int, epsilon: float) -> float:
    """Delta after all rounds, towards one client or all; `mu` that of one round of local training.

    >>> round(theorem1_gaussian(1.0, 1.0, 1, 1.0), 9)
    0.126936738
    """
    terms = []
    for k in range(1, rounds + 1):
        log_weight = math.lgamma(rounds + 1) - math.lgamma(k + 1) - math.lgamma(rounds - k + 1)
        log_weight += k * math.log(rate)
        if k < rounds:
            log_weight += (rounds - k) * math.log1p(-rate) if rate < 1.0 else -math.inf
        if log_weight > -745.0:
            terms.append(math.exp(log_weight) * balle_wang2018.theorem8(mu * math.sqrt(k), epsilon))
    return math.fsum(terms)


g_min = Entry(
    id="federated_fdp.theorem1_minimum",
    locus="Theorem 1, g_{p,j_min}",
    claim="The trade-off function of all clients together is the minimum of theirs.",
    maths=r"g_{p,j_{\min}}=\min\{g_{p,1},\dots,g_{p,m}\}",
    verdict=Verdict.ILL_POSED,
    status=Status.TRANSCRIBED,
    reason=(
        "A minimum of convex functions is not convex, so it is no trade-off function and has no tensor"
        " power: G_1 and 1 - alpha - 0.3 cross, and their minimum has a concave corner. Meant is its"
        " convex envelope (min)**, whose profile is the maximum of the profiles: delta = max_j delta_j."
    ),
)
