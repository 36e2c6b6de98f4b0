"""`dpacct noise --method dp_fed_ls.theorem1`: the paper's nu, and what it is worth."""

from __future__ import annotations

import pytest

import dpacct as dp
from dpacct.errors import Unsupported
from tests.cli.runner import line

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
            assert done.json["delivered_epsilon"] == pytest.approx(DELIVERED[epsilon], rel=1e-6)


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
