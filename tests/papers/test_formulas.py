"""DP-FedSAM: budgets against each other, composition against the optimum, and Table 2."""

import math

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.errors import OutsideDomain, Unsupported
from dpacct.papers.formulas import kairouz2015, mironov2019
from dpacct.papers.formulas.ae_dpfl import (
    theorem11_agent,
    theorem11_instance,
    theorem11_knn_tight,
    theorem14_corrected,
    theorem14_corrected_instance,
    theorem14_corrected_knn,
)
from dpacct.papers.formulas.dong2019 import c_p_renyi
from dpacct.papers.formulas.dp_fedsam import (
    best_order,
    eq17_corrected,
    lemma5_corrected,
    lemma5_epsilon,
    rounds_within,
    spent,
    theorem2_corrected,
    theorem2_without_replacement,
    within_budget,
)
from dpacct.papers.formulas.federated_fdp import (
    equivalent_mu,
    theorem1,
    theorem1_gaussian,
    theorem1_strong,
    theorem2,
    theorem2_thinned,
)
from dpacct.papers.registry import get
from dpacct.papers.tables import Cell, cells
from dpacct.voting.published import event_bound, gaussian_votes, voting_rdp
from tests.cli.runner import line


@given(st.integers(2, 60), st.floats(0.01, 1.0), st.floats(0.4, 10.0))
def test_the_integral_is_the_binomial_sum(alpha: int, rate: float, sigma: float) -> None:
    wanted = mironov2019.integer(alpha, rate, sigma)
    assert eq17_corrected(float(alpha), rate, sigma, 1) == pytest.approx(
        wanted, rel=1e-9, abs=1e-15
    )


@given(st.floats(1.1, 60.0), st.floats(0.3, 10.0))
def test_everyone_sampled_is_the_plain_gaussian(alpha: float, sigma: float) -> None:
    wanted = alpha / (2.0 * sigma**2)
    assert eq17_corrected(alpha, 1.0, sigma, 1) == pytest.approx(wanted, rel=1e-9)
    assert c_p_renyi(1.0 / sigma, 1.0, alpha) == pytest.approx(wanted, rel=1e-9)


@given(st.floats(1.1, 60.0), st.floats(0.01, 1.0), st.floats(0.4, 10.0))
def test_a_fixed_size_costs_more_than_coins(alpha: float, rate: float, sigma: float) -> None:
    fixed = c_p_renyi(1.0 / sigma, rate, alpha)
    assert eq17_corrected(alpha, rate, sigma, 1) <= fixed * (1.0 + 1e-9) + 1e-15
    assert fixed <= alpha / (2.0 * sigma**2) * (1.0 + 1e-9)


@given(st.integers(1, 150), st.floats(0.01, 2.0), st.floats(0.0, 0.01), st.floats(1e-9, 0.9))
def test_no_bound_beats_the_optimum(steps: int, epsilon: float, delta: float, slack: float) -> None:
    total = lemma5_epsilon(steps, epsilon, delta, slack)
    best = kairouz2015.theorem3_3(epsilon, delta, steps, total)
    bound = lemma5_corrected(steps, epsilon, delta, slack)
    allowed = 1.0 - (1.0 - delta) ** steps * (1.0 - slack)
    assert best <= bound * (1.0 + 1e-9) + 1e-15
    assert bound <= allowed * (1.0 + 1e-9) + 1e-15


def test_more_rounds_cost_more() -> None:
    for account in (theorem2_corrected, theorem2_without_replacement):
        costs = [account(0.1, 0.95, rounds, 0.002) for rounds in (20, 100, 300)]
        assert costs == sorted(costs)


def test_the_best_order_is_the_best_of_many() -> None:
    def height(alpha: float) -> float:
        return 0.3 * alpha + 7.0 / (alpha - 1.0)

    tried = min(height(1.0 + 0.01 * k) for k in range(1, 3000))
    assert best_order(height) == pytest.approx(tried, rel=1e-5)


@pytest.mark.parametrize("cell", list(cells("dp_fedsam")), ids=lambda cell: cell.cell)
def test_a_budget_is_spent_and_not_more(cell: Cell) -> None:
    budget = float(cell.inputs["budget"])
    after = theorem2_corrected(0.1, 0.95, rounds_within(budget) + 1, 0.002)
    assert spent(budget) <= budget < after


def test_the_budgets_are_passed_several_times_over() -> None:
    lower, upper = within_budget(8.0)
    assert 4.0 * 8.0 < lower < upper


# --- `dpacct noise --method dp_fed_ls.theorem1`: the paper's nu, and what it is worth.

MNIST = "--delta 1000^-1.1 --rate 0.05 --steps 30 --clip 0.3"
UNIFORM = {6: 0.80803, 7: 0.66365, 8: 0.58212, 9: 0.52570}
SAMPLED = {6: 0.77706, 7: 0.64357, 8: 0.56617, 9: 0.51222}
# delivered by that noise: the dominating pair's epsilon (Theorem 1: upper ends)
DELIVERED = {6: 0.8190432, 9: 2.0277291}


@pytest.mark.parametrize(
    ("sampling", "method", "nus"),
    [
        ("uniform", "dp_fed_ls.theorem1", UNIFORM),
        ("poisson", "dp_fed_ls.theorem2", SAMPLED),
    ],
)
def test_the_noise_of_table_1(sampling: str, method: str, nus: dict[int, float]) -> None:
    for epsilon, nu in nus.items():
        asked = f"noise --eps {epsilon} {MNIST} --sampling {sampling} --method {method}"
        if epsilon not in DELIVERED:  # the alternatives of the rest are not looked for
            done = line(f"{asked} -q")
            assert (done.code, 0.3 * float(done.stdout)) == (0, pytest.approx(nu, rel=1e-5))
            continue
        done = line(f"{asked} --json")
        assert done.code == 0
        assert done.json["noise_std"] == pytest.approx(nu, rel=1e-5)
        assert (done.json["side"], done.json["strength"]) == ("upper", "published")
        needed = {other["method"]: other["value"] for other in done.json["alternatives"]}["exact"]
        assert needed < 0.6 * done.json["value"]
        if sampling == "uniform":
            assert done.json["delivered_epsilon"] == pytest.approx(DELIVERED[epsilon], rel=1e-4)


def test_no_lambda_names_the_least_epsilon() -> None:
    done = line(f"noise --eps 5.49 {MNIST} --sampling uniform --method dp_fed_ls.theorem1 --json")
    assert done.code == 4
    assert "5.499331891151" in done.json["error"]["message"]
    above = line(f"noise --eps 5.49934 {MNIST} --sampling uniform --method dp_fed_ls.theorem1 -q")
    assert above.code == 0


def test_a_plan_that_the_theorem_is_not_about() -> None:
    for command in (
        f"noise --eps 7 {MNIST} --method dp_fed_ls.theorem1",
        "eps --sigma 1 --delta 1e-5 --method dp_fed_ls.theorem2",
    ):
        done = line(command)
        assert done.code == 2 and "applies to repeated Gaussian releases" in done.stderr


def test_both_questions_agree() -> None:
    """Epsilon at the delta that the route gives for an epsilon is that epsilon."""
    plan = dp.WithoutReplacement(0.05)(dp.Gaussian(sigma=1.1)) * 30
    answer = plan.delta(epsilon=7, method="dp_fed_ls.theorem1")
    back = plan.epsilon(delta=float(answer), method="dp_fed_ls.theorem1")
    assert float(back) == pytest.approx(7, rel=1e-9)
    assert float(plan.epsilon(delta=float(answer), method="exact")) < 2


def test_it_is_never_compared_or_chosen() -> None:
    plan = dp.WithoutReplacement(0.05)(dp.Gaussian(sigma=1.1)) * 30
    assert all("dp_fed_ls" not in answer.method for answer in plan.compare(delta="1e-3"))
    with pytest.raises(Unsupported):
        (plan + dp.Laplace(b=2)).epsilon(delta="1e-3", method="dp_fed_ls.theorem1")


# --- Federated f-DP: the tables, and what the corrected forms must agree on.

CELLS = list(cells("federated_fdp"))
MU = [cell for cell in CELLS if cell.cell.endswith("mu_max")]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.table}, {cell.cell}")
def test_the_printed_digits_come_out(cell: Cell) -> None:
    assert cell.matches(cell.computed())


def test_all_twenty_one_privacy_parameters_are_there() -> None:
    assert len(MU) == 21
    assert len(CELLS) == 21 + 12 + 3


def test_the_limit_over_reports_on_every_printed_row() -> None:
    for cell in MU[:9]:
        lower, upper = equivalent_mu(**cell.arguments())
        assert lower < upper < cell.computed()


@given(st.floats(0.01, 1.0), st.integers(1, 5))
def test_clients_that_hide_nothing_give_the_closed_form(rate: float, rounds: int) -> None:
    exact = 1.0 - (1.0 - rate**2) ** rounds
    assert theorem1(rate, rounds, (1.0, 0.0)) == pytest.approx(exact, rel=1e-9)
    assert theorem1(rate, rounds, (0.0, 0.0, 1.0)) == pytest.approx(exact, rel=1e-9)


LAWS = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=5)


@given(st.floats(0.01, 1.0), LAWS)
def test_one_round_hides_by_sampling_or_by_training(rate: float, law: list[float]) -> None:
    """At the largest alpha + beta, max(f, 1 - alpha - p^2) is the one that hides more."""
    apart = sum(abs(a - b) for a, b in zip(law, reversed(law), strict=True)) / (2.0 * sum(law))
    assert theorem1(rate, 1, law) == pytest.approx(min(apart, rate**2), abs=1e-12)


@given(st.integers(1, 4), LAWS)
def test_all_clients_in_all_rounds_are_plain_composition(rounds: int, law: list[float]) -> None:
    first, second = [1.0], [1.0]
    for _ in range(rounds):
        first = [a * b for a in first for b in law]
        second = [a * b for a in second for b in reversed(law)]
    apart = sum(abs(a - b) for a, b in zip(first, second, strict=True)) / (2.0 * sum(first))
    assert theorem1(1.0, rounds, law) == pytest.approx(apart, abs=1e-12)
    assert theorem1_strong(1.0, 2, rounds, law) == pytest.approx(apart, abs=1e-12)


def test_a_law_of_nothing_is_refused() -> None:
    point = {"rate": 0.5, "rounds": 2, "law": [0, 0]}
    with pytest.raises(OutsideDomain, match="law must have a positive number in it, got"):
        get("federated_fdp.theorem1").evaluate(point, as_printed=True)


@given(st.floats(0.1, 2.0), st.integers(1, 30), st.floats(0.1, 4.0))
def test_more_coins_cost_more(mu: float, rounds: int, epsilon: float) -> None:
    rates = [theorem1_gaussian(mu, rate, rounds, epsilon) for rate in (0.1, 0.5, 1.0)]
    assert rates == sorted(rates)


def test_a_certain_client_is_the_plain_composition() -> None:
    assert theorem2_thinned(1.0, 0.1, 1.0, 5, 8, 1.0) == pytest.approx(theorem2(0.1, 1.0, 40, 1.0))


# --- AE-DPFL: the corrected data-dependent bounds against each other and against the plain ones.

VOTES = st.lists(st.integers(0, 80), min_size=2, max_size=6)
SIGMA = st.floats(0.2, 20.0)
ALPHA = st.floats(1.1, 60.0)


@given(VOTES, SIGMA, ALPHA)
def test_never_above_the_plain_cost(votes: list[int], sigma: float, alpha: float) -> None:
    agent = theorem14_corrected(votes, sigma, alpha)
    instance = theorem14_corrected_instance(votes, sigma, alpha)
    assert 0.0 <= agent <= theorem11_agent(alpha, 1, sigma) * (1 + 1e-12)
    assert agent <= instance <= theorem11_instance(alpha, 1, sigma) * (1 + 1e-12)


@given(VOTES, SIGMA, ALPHA)
def test_the_order_of_the_classes_does_not_matter(
    votes: list[int], sigma: float, alpha: float
) -> None:
    same = {theorem14_corrected(v, sigma, alpha) for v in (votes, votes[::-1])}
    assert max(same) == pytest.approx(min(same), rel=1e-12)


@given(VOTES, SIGMA, ALPHA)
def test_a_class_far_behind_costs_nothing(votes: list[int], sigma: float, alpha: float) -> None:
    """The bound for three classes is that for two, where nobody votes for the third."""
    far = [v + 10_000 for v in votes]
    fewer, more = (theorem14_corrected(v, sigma, alpha) for v in (far, [*far, 0]))
    assert more == pytest.approx(fewer, rel=1e-12)


@given(VOTES, st.integers(1, 20), SIGMA, ALPHA)
def test_more_neighbours_cost_less(votes: list[int], k: int, sigma: float, alpha: float) -> None:
    each, all_k = (theorem14_corrected_knn([n * v for v in votes], n, sigma, alpha) for n in (1, k))
    assert all_k <= each * (1 + 1e-12)
    assert all_k <= theorem11_knn_tight(alpha, 1, sigma, k) * (1 + 1e-12)


@given(st.floats(-2000.0, -1e-3), ALPHA, SIGMA)
def test_no_log_q_breaks_it(log_q: float, alpha: float, sigma: float) -> None:
    ours = voting_rdp(log_q, alpha, sigma, math.sqrt(2.0))
    theirs = gaussian_votes(log_q, alpha, sigma, math.sqrt(2.0))
    for value in (ours, theirs):
        assert 0.0 <= value <= alpha / sigma**2 * (1 + 1e-12)


@pytest.mark.parametrize("alpha", [1.5, 4.0, 30.0])
def test_q_below_the_range_of_floats(alpha: float) -> None:
    """The bound goes on falling as the logarithm of q does, far below 1e-308."""
    values = [event_bound(log_q, alpha, 0.5) for log_q in (-50.0, -200.0, -700.0, -900.0)]
    assert values == sorted(values, reverse=True) and values[0] > values[1] > 0.0


# --- The two readings of "Theorem 9" for the Gaussian mechanism: as DP-Fed-LS prints it, and sharpened.

POINTS = [
    (7, "0.04", "2.3"),
    (2, "0.05", "1"),
    (3, "0.5", "1.2"),
    (64, "0.001", "5"),
    (2, "0.1", "0.02"),  # e^{rho(2)} is no double
    (9, "0.3", "0.01"),
    (2, "0.5", "1e8"),  # e^{rho(2)} - 1 cancels
]


def as_printed(alpha: int, tau: str, sigma: str) -> float:
    """Appendix A of DP-Fed-LS, term by term, at 50 digits."""
    with mp.workdps(50):
        rate, doubled = mp.mpf(tau), 2 * mp.mpf(sigma) ** 2
        second = mp.exp(2 / doubled)
        terms = [rate**2 * mp.binomial(alpha, 2) * min(4 * (second - 1), 2 * second)]
        for j in range(3, alpha + 1):
            terms.append(rate**j * mp.binomial(alpha, j) * 2 * mp.exp((j - 1) * j / doubled))
        return float(mp.log(1 + mp.fsum(terms)) / (alpha - 1))


@pytest.mark.parametrize(("alpha", "tau", "sigma"), POINTS)
def test_the_formula_of_appendix_a(alpha: int, tau: str, sigma: str) -> None:
    value = get("dp_fed_ls.appendix_a").evaluate({"alpha": alpha, "tau": tau, "sigma": sigma})
    assert value == pytest.approx(as_printed(alpha, tau, sigma), rel=1e-12, abs=0)


@pytest.mark.parametrize(("alpha", "tau", "sigma"), POINTS)
def test_the_sharpened_bound_is_never_larger(alpha: int, tau: str, sigma: str) -> None:
    point = {"alpha": alpha, "tau": tau, "sigma": sigma}
    sharpened = get("wang2018.theorem9").evaluate(point)
    assert sharpened <= get("dp_fed_ls.appendix_a").evaluate(point)
    if alpha == 2:  # there is nothing to sharpen
        assert sharpened == pytest.approx(as_printed(alpha, tau, sigma), rel=1e-12, abs=0)


@pytest.mark.parametrize("name", ["dp_fed_ls.appendix_a", "wang2018.theorem9"])
def test_no_double_is_too_small(name: str) -> None:
    """A divergence beyond the doubles is an infinite bound, not an error."""
    assert get(name).evaluate({"alpha": 3, "tau": "0.1", "sigma": "1e-200"}) == math.inf
