"""All citations of answers: each has an id, the works it cites, and its wording.

An id is that of a statement of the papers (`dpacct theorems show canonne2020.proposition12`), else a work
of the bibliography and the place in it, else "dpacct." and a word for what is derived in the docs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Self


class Citation(str):
    """One entry of an answer's basis: text with an id and the works it cites.

    Attributes:
        id: see above; "" for words of somebody else's that have none.
        works: keys of the bibliography, or of papers of the registry.
        link: the page that derives it, which the words name, too.

    >>> print(BRACKET.id, BRACKET.works, BRACKET.link)
    dpacct.bracket ('doroshenko2022connect',) docs/theory/bracket.md
    """

    id: str
    works: tuple[str, ...]
    link: str

    def __new__(
        cls, text: str, id: str = "", works: Iterable[str] | None = None, link: str = ""
    ) -> Self:
        """The text with its works: by default the work whose key begins the id."""
        made = super().__new__(cls, f"{text} ({link})" if link else text)
        first = id.partition(".")[0]
        made.id, made.link = id, link
        made.works = (
            tuple(works) if works is not None else () if first in ("", "dpacct") else (first,)
        )
        return made


def statement(name: str) -> Citation:
    """The citation of a statement of a paper, by its id."""
    return Citation(name, name)


@cache
def by_id() -> dict[str, Citation]:
    """All citations of this module by their ids."""
    every = [each for each in globals().values() if isinstance(each, Citation)]
    return {each.id: each for each in every}


# --- the laws of single releases

GAUSSIAN = Citation("Gaussian loss law, closed form", "dpacct.gaussian")
LAPLACE = Citation("Laplace loss law, closed form", "dpacct.laplace")
TWO_ANSWERS = Citation(
    "randomised response: the two answers, and all others alike", "dpacct.two_answers"
)
STAIRCASE = Citation(
    "Geng, Viswanath 2014: staircase noise; its pair at the full shift dominates every smaller one",
    "geng2014.full_shift",
    link="docs/mechanisms.md",
)
STAIRCASE_TWICE = Citation(
    "Geng, Viswanath 2014: staircase noise moved by two of its steps, which dominates every smaller move",
    "geng2014.two_steps",
    link="docs/mechanisms.md",
)
DISCRETE_LAPLACE = Citation(
    "discrete Laplace noise at the full shift: among log-concave noises the largest shift is the worst"
    " (Dong, Roth, Su 2022, Appendix A)",
    "dong2022gaussian.appendix_a.laplace",
)
DISCRETE_GAUSSIAN = Citation(
    "discrete Gaussian loss law, summed; among log-concave noises the largest shift is the worst"
    " (Dong, Roth, Su 2022, Appendix A)",
    "dong2022gaussian.appendix_a.gaussian",
)
WIDE_DISCRETE_GAUSSIAN = Citation(
    "discrete Gaussian noise of scale s: a post-processing of continuous Gaussian noise of variance s^2 - 4,"
    " of which that of variance s^2 + 4 is one (Poisson summation)",
    "dpacct.poisson_summation",
)
BOUNDED_RANGE = Citation(
    "Dong, Durfee, Rogers 2020: losses of a bounded-range step; the two-point pairs' largest"
    " profile is one pair (upper), a two-point pair repeated (lower)",
    "dong2020optimal.bounded_range",
)
ADAPTIVE_RANGE = Citation(
    "Dong, Durfee, Rogers 2020: steps of bounded range chosen adaptively, by the recursion on a"
    " lattice (above by chords, below by what is chosen on it)",
    "dong2020optimal.adaptive",
)
BLOCKS = Citation(
    "blocks of such steps composed, each with its largest profile; below, one step repeated",
    "dpacct.blocks",
)
STEP = Citation(
    "Kairouz, Oh, Viswanath 2015, Theorem 3.3: every (epsilon, delta)-DP step is post-processed"
    " randomised response",
    "kairouz2015.theorem3_3",
)
TABLES = Citation("the given tables, outcome by outcome", "dpacct.tables")
BOTH_WAYS = Citation(
    "the larger of both directions' profiles, which is one pair", "dpacct.both_ways"
)
DENSITIES = Citation("the given densities, integrated", "dpacct.densities")


def worst_pair(what: str) -> Citation:
    """The citation for the pair of a profile or of a trade-off function."""
    words = f"the worst pair that the given {what} allows (Dong, Roth, Su 2022, Proposition 2.12)"
    return Citation(words, "dong2022gaussian.proposition2_12")


# --- samples

POISSON = Citation(
    "Zhu, Dong, Wang 2022, Theorem 11: Poisson sampling of a dominating pair",
    "zhu2022optimal.theorem11",
)
TRUNCATED = Citation(
    "a batch that is full exchanges a record at random: joint convexity over the others' sample",
    "dpacct.truncated_batches",
    works=("chua2024scalable", "ganesh2025tighter"),
)
POISSON_EXCHANGED = Citation(
    "one record exchanged under Poisson sampling: (1-q) R + q A against (1-q) R + q B",
    "dpacct.poisson_exchanged",
)
APART = Citation("add and remove composed apart, the worse reported", "dpacct.apart")
FIXED_SIZE = Citation(
    "Dong, Roth, Su 2022, Theorem 4.2: C_rate of the trade-off function", "dong2019.theorem4_2"
)
REALISABLE = Citation(
    "the realisable pair ((1-q) N(0) + q N(1), N(0)), composed exactly (lower)",
    "dpacct.realisable",
)
BINS = Citation(
    "Chua et al. 2025; Feldman, Shenfeld 2025: a mean of lognormals, over the bin that the unit is in",
    "chua2025balls",
    works=("chua2025balls", "feldman2025privacy"),
)
RECORDS = Citation(
    "Ganesh 2024: a mixture of Gaussians, over how many of the user's records are sampled",
    "ganesh2024tight",
)
MIXTURE = Citation(
    "a unit that moves the sum by a random amount: sum_j w_j N(m_j, sigma^2) against N(0, sigma^2)",
    "dpacct.gaussian_mixture",
    works=("choquette2024privacy", "ganesh2024tight"),
)
SELECTION = Citation(
    "the best of a random number of runs: Papernot, Steinke 2022, Theorems 2 and 6",
    "papernot2022hyperparameter.selection",
    works=("papernot2022hyperparameter",),
)
COIN = Citation("joint convexity: one coin for both neighbours, in the open or not", "dpacct.coin")
ON_THE_SAMPLE = Citation(
    "the plan on the sample composed as one pair, bounded from both sides", "dpacct.on_the_sample"
)

# --- compositions and their questions

CONVERSION = Citation("Canonne, Kamath, Steinke 2020, Proposition 12", "canonne2020.proposition12")
MIRONOV = Citation("Mironov 2017, Proposition 3", "mironov2017.proposition3")
INVERSION = Citation(
    "Alghamdi et al. 2023, Theorem 3.1: delta(eps) as a contour integral of the moments",
    "alghamdi2023saddle.theorem3_1",
)
BRACKET = Citation(
    "losses discretised above and below: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022",
    "dpacct.bracket",
    works=("doroshenko2022connect",),
    link="docs/theory/bracket.md",
)
CLOSED_FORM = Citation("Balle, Wang 2018, Theorem 8", "balle_wang.theorem8")
LIMIT = Citation(
    "central limit: mu-GDP with the limit's mu (Dong, Roth, Su 2022; Bu, Dong, Long, Su 2020)",
    "bu2020deep",
    works=("dong2022gaussian", "bu2020deep"),
)
BALLS = Citation(
    "enclosed in balls, every truncation bounded",
    "dpacct.balls",
    works=("johansson2017arb",),
    link="docs/theory/certificate.md",
)
PURE = Citation(
    "Dwork, McSherry, Nissim, Smith 2006: the largest losses of single releases",
    "dwork2006calibrating.largest_losses",
)
ADDED = Citation("largest losses add up under composition", "dpacct.losses_add_up")
GROUP_PROFILE = Citation(
    "group privacy of a profile: delta_k(eps) <= (e^eps - 1)/(e^{eps/k} - 1) delta(eps/k) (Vadhan,"
    " The Complexity of Differential Privacy, 2017, Lemma 2.2)",
    "vadhan2017complexity.lemma2_2",
)
GROUP_SAMPLED = Citation(
    "the units of a group sampled by coins: j of one data set against k - j of the other, the worst j",
    "dpacct.group_sampled",
)
GROUP_GDP = Citation(
    "mu-GDP of one unit is k mu-GDP of k (Dong, Roth, Su 2022, Theorem 2.14), and attained",
    "dong2022gaussian.theorem2_14",
)
GROUP_ZCDP = Citation(
    "rho-zCDP of one unit is k^2 rho of k (Bun, Steinke 2016, Proposition 1.9)",
    "bun2016concentrated.proposition1_9",
)
PARALLEL = Citation(
    "McSherry. Privacy Integrated Queries. SIGMOD 2009: on disjoint data the worst part counts,"
    " since a unit is in one part only",
    "mcsherry2009privacy",
)
LIANG_UNIFORM = Citation("Liang, Wang, Gu, Osher, Yao 2020, Theorem 1", "dp_fed_ls.theorem1")
LIANG_POISSON = Citation("Liang, Wang, Gu, Osher, Yao 2020, Theorem 2", "dp_fed_ls.theorem2")

# --- what is decided while it runs

RENYI_FILTER = Citation(
    "Feldman, Zrnic. Individual Privacy Accounting via a Renyi Filter. NeurIPS 2021: fully"
    " adaptive composition at a fixed order; a share of delta for each order used",
    "feldman2021individual.filter",
)
OPEN_FAILURES = Citation(
    "Whitehouse, Ramdas, Rogers, Wu. Fully-Adaptive Composition in Differential Privacy. ICML"
    " 2023: open failures count apart",
    "whitehouse2023fully.failures",
)
DECLARED_PLAN = Citation(
    "the releases are part of a plan declared before the first of them (decision 0008)",
    "dpacct.declared_plan",
)
FILTER_RULE = Citation(
    "privacy filter over Renyi orders fixed in advance",
    "dpacct.filter",
    works=("feldman2021individual",),
    link="docs/theory/adaptive.md",
)

# --- shuffles

CLONES = Citation(
    "Feldman, McMillan, Talwar 2022: a response among Bin(n-1, 2/(e^eps0+1)) fair coins",
    "feldman2022.clones",
    link="docs/theory/shuffling.md",
)
FEWER_CLONES = Citation(
    "Feldman, McMillan, Talwar 2020: a response among Bin(n-1, e^-eps0) fair coins",
    "feldman2020.clones",
)
BLANKET = Citation(
    "privacy blanket (Balle, Bell, Gascon, Nissim 2019) of randomised response, its telling answers"
    " counted exactly",
    "balle2019.blanket",
    link="docs/theory/shuffling.md",
)
REALISED = Citation(
    "below: shuffled randomised response, the others' answers fixed", "dpacct.shuffled_responses"
)
COUNTED = Citation(
    "the count of ones at the worst of all inputs of the others, both directions",
    "dpacct.counted",
    link="docs/theory/shuffling.md",
)
NOT_COUNTED_ON = Citation(
    "no bound is below the randomiser's own eps0: shuffling is not counted on",
    "dpacct.shuffling_unused",
)
UNSPANNED = Citation("no lattice spans this composition", "dpacct.unspanned")
ALONE = Citation("no amplification: the messages of one client, composed", "dpacct.alone")
UNAMPLIFIED = Citation("no amplification: each message is eps0-DP by itself", "dpacct.unamplified")
GIRGIS = Citation(
    "Girgis et al. 2021, simplified bound, with its condition; Canonne, Kamath, Steinke 2020",
    "girgis2021.upper",
    works=("girgis2021", "canonne2020"),
)
GIRGIS_ROUNDS = Citation(
    "Girgis et al. 2021, simplified bound, composed; Canonne, Kamath, Steinke 2020",
    "girgis2021.upper.composed",
    works=("girgis2021", "canonne2020"),
)
FELDMAN_2022 = Citation("Feldman, McMillan, Talwar 2022, closed form", "feldman2022.closed")
FELDMAN_2020 = Citation("Feldman, McMillan, Talwar 2020, Theorem 3.1", "feldman2020.theorem3_1")
ERLINGSSON = Citation("Erlingsson et al. 2019, closed form", "erlingsson2019.closed")
BENNETT = Citation("Balle, Bell, Gascon, Nissim 2019, Bennett", "balle2019.bennett")
HOEFFDING = Citation("Balle, Bell, Gascon, Nissim 2019, Hoeffding", "balle2019.hoeffding")

# --- votes and federated plans

LABELS = Citation(
    "probabilities of each label by quadrature, at the votes and at every neighbour",
    "dpacct.labels",
    link="docs/theory/voting.md",
)
COUNTS = Citation("the noisy counts, which the labels are computed from", "dpacct.noisy_counts")
MEAN_OF_ROUNDS = Citation(
    "the mean over the number of rounds that took place, each delta enclosed in balls",
    "dpacct.mean_of_rounds",
    works=("johansson2017arb",),
)

# --- attacks, trade-off curves, audits

TRADEOFF = Citation(
    "Dong, Roth, Su 2022, Proposition 2.13: the trade-off function from delta(epsilon)",
    "dong2022gaussian.proposition2_13",
)
BAYES = Citation(
    "the least error of any test at prior p is min(p, 1-p) (1 - delta(|log((1-p)/p)|))",
    "dpacct.least_error",
)
RECONSTRUCTION = Citation(
    "Hayes, Mahloujifar, Balle 2023, Theorem 2: success at most 1 - f(baseline)",
    "hayes2023bounding.theorem2",
)
GDP = Citation(
    "Dong, Roth, Su 2022: G_mu <= f is delta_f <= delta_mu at every epsilon; chords of delta_f"
    " against delta_mu, both convex in e^epsilon",
    "dong2022gaussian.gdp",
)
CLOPPER_PEARSON = Citation(
    "Clopper and Pearson 1934: both error rates; 1 - beta <= e^epsilon alpha + delta",
    "clopper1934use",
)
NASR = Citation(
    "Nasr et al. 2023, Tight Auditing: mu from the bounds of both error rates", "nasr2023tight"
)
STEINKE = Citation(
    "Steinke, Nasr, Jagielski 2023, Theorem 5.2, with the delta term of docs/theory/auditing.md",
    "steinke2023privacy.theorem5_2",
)
MAHLOUJIFAR = Citation(
    "Mahloujifar, Melis, Chaudhuri 2025, with the curves of mu-GDP", "mahloujifar2025auditing"
)
