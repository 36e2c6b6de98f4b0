"""Laws of `dp.audit`: covered, monotone, blind to order and scale, and loud where a plan is broken."""

from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import beta, binom

import dpacct as dp
from dpacct.auditing.scores import (
    Scores,
    at_ranks,
    at_values,
)
from tests.cli.runner import Run, run
from tests.structure.project import ROOT

DELTA = 1e-5
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, NDArray[np.bool_]], Floats]


def gaussian(mu: float) -> Draw:
    return lambda rng, inside: rng.normal(size=inside.size) + mu * inside


def sampled(rng: np.random.Generator, inside: NDArray[np.bool_]) -> Floats:
    """A release in which a canary is with chance 0.3."""
    return rng.normal(size=inside.size) * 0.8 + (rng.random(inside.size) < 0.3) * inside


def laplace(rng: np.random.Generator, inside: NDArray[np.bool_]) -> Floats:
    seen = rng.laplace(size=inside.size) + inside
    return np.clip(seen, -0.0, 1.0)  # the log-likelihood ratio, up to scale


RUNS: dict[str, tuple[dp.Node, Draw]] = {
    "gaussian": (dp.Gaussian(sigma=1), gaussian(1.0)),
    "sampled": (dp.Poisson("0.3")(dp.Gaussian(sigma="0.8")), sampled),
    "laplace": (dp.Laplace(b=1), laplace),
}
HOW: list[dict[str, Any]] = [
    {"design": "two-worlds"},
    {"design": "two-worlds", "thresholds": [0.9, 0.2]},
    {"design": "one-run"},
    {"design": "one-run", "thresholds": 0.5},
]


def coins(seed: int, size: int = 2000) -> tuple[np.random.Generator, NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    return rng, rng.random(size) < 0.5


@pytest.mark.parametrize(
    ("name", "how"),
    [*product(("gaussian", "laplace"), HOW), ("sampled", HOW[0]), ("sampled", HOW[2])],
    ids=str,
)
def test_scores_of_the_plans_own_pair_raise_no_alarm(name: str, how: dict[str, Any]) -> None:
    plan, draw = RUNS[name]
    rng, inside = coins(1)
    result = dp.audit(draw(rng, inside), included=inside, delta=DELTA, against=plan, **how)
    assert result.proven is not None and not result.alarm
    assert 0.0 <= result.epsilon <= float(result.proven)
    assert result.adjacency == "add-remove"


@pytest.mark.parametrize("how", HOW, ids=str)
def test_a_third_of_the_noise_is_noticed(how: dict[str, Any]) -> None:
    rng, inside = coins(2)
    scores = gaussian(3.0)(rng, inside) / (3.0 if "thresholds" in how else 1.0)
    result = dp.audit(scores, included=inside, delta=DELTA, against=dp.Gaussian(sigma=3), **how)
    assert result.alarm and result.findings


@pytest.mark.parametrize("how", [HOW[1], HOW[2]], ids=str)
def test_the_stated_confidence_is_kept(how: dict[str, Any]) -> None:
    """Scores whose true epsilon is that of their curve at delta; audits that say more are counted."""
    truth = dp.Gaussian(sigma=1).epsilon(DELTA, method="exact").value
    wrong, audits = 0, 20
    for seed in range(audits):
        rng, inside = coins(seed, 300)
        result = dp.audit(
            gaussian(1.0)(rng, inside), included=inside, delta=DELTA, confidence=0.8, **how
        )
        wrong += result.epsilon > truth or (result["gdp"].mu or 0.0) > 1.0
    assert wrong <= binom.isf(1e-6, audits, 0.2)


def test_ranks_cover_as_often_as_they_say() -> None:
    """The rate of false positives beyond a fixed rank, which is where Clopper and Pearson are not told."""
    outside, audits = 0, 400
    for seed in range(audits):
        rng = np.random.default_rng(seed)
        outs, ins = rng.random(50), rng.random(50)
        above, _ = at_ranks(Scores.of_worlds(ins, outs), (0.1,), 0.2)
        outside += 1.0 - np.sort(outs)[-5] > above.alpha
    # a quarter of the error belongs to this rate: two looks, two rates each
    assert binom.ppf(1e-6, audits, 0.05) <= outside <= binom.isf(1e-6, audits, 0.05)


def test_thresholds_take_their_share_of_the_error() -> None:
    """Upper ends from Beta quantiles: at the fifth largest of 100, at a number, and for all at once."""
    made = Scores.of_worlds(np.arange(100) + 30.5, np.arange(100))
    above, below = at_ranks(made, (0.05,), 0.2)
    assert above.alpha == pytest.approx(beta.isf(0.05, 5, 96), rel=1e-6)
    assert above.beta == pytest.approx(beta.isf(0.05, 66, 35), rel=1e-6)  # 30.5 to 94.5 are missed
    assert (below.beta, below.alpha) == (above.alpha, above.beta)
    first, second = at_values(made, (95.0, 50.0), 0.2)
    assert first.alpha == pytest.approx(beta.isf(0.05, 5, 96), rel=1e-6)
    assert second.beta == pytest.approx(beta.isf(0.05, 21, 80), rel=1e-6)


@pytest.mark.parametrize("design", ["one-run", "two-worlds"])
def test_looks_divide_the_error(design: str) -> None:
    rng, inside = coins(10)
    scores, plan = gaussian(1.5)(rng, inside), dp.Gaussian(sigma=1)
    how = {"included": inside, "delta": DELTA, "design": design, "against": plan}
    both = dp.audit(scores, confidence="0.9", shares=(0.2, 0.02), **how)
    alone = [dp.audit(scores, confidence="0.95", shares=(share,), **how) for share in (0.2, 0.02)]
    for bound in both.bounds:
        most = max(each[bound.method].epsilon for each in alone)
        assert bound.epsilon == pytest.approx(most, rel=1e-6), bound.method
    chances = [each.p_value for each in alone if each.p_value is not None]
    assert both.p_value == (min(1.0, 2 * min(chances)) if chances else None)


def test_a_curve_finds_what_one_epsilon_does_not() -> None:
    rng, inside = coins(11, 20_000)
    for design, mu in (("two-worlds", 1.3), ("one-run", 1.6)):
        result = dp.audit(
            gaussian(mu)(rng, inside),
            included=inside,
            delta=DELTA,
            design=design,
            shares=(0.1,),
            against=dp.Gaussian(sigma=1),
        )
        assert result.epsilon < float(result.proven or 0.0) and len(result.findings) == 1
        assert ("error rates" if result.points else "right guesses") in result.findings[0]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_more_confidence_is_a_smaller_bound(how: dict[str, Any]) -> None:
    rng, inside = coins(3)
    scores = gaussian(2.0)(rng, inside)
    audits = [
        dp.audit(scores, included=inside, delta=DELTA, confidence=sure, **how)
        for sure in (0.5, 0.9, 0.99, 0.999999)
    ]
    for less, more in pairwise(audits):
        for looser, stricter in zip(less.bounds, more.bounds, strict=True):
            assert looser.epsilon >= stricter.epsilon, looser.method
    assert audits[0].epsilon > audits[-1].epsilon


@pytest.mark.parametrize("design", ["one-run", "two-worlds"])
def test_only_the_order_of_scores_counts(design: str) -> None:
    rng, inside = coins(4)
    scores = gaussian(1.5)(rng, inside).round(1)  # with ties
    first = dp.audit(scores, included=inside, delta=DELTA, design=design)
    again = rng.permutation(scores.size)
    other = dp.audit(scores[again], included=inside[again], delta=DELTA, design=design)
    scaled = dp.audit(ndtr(scores), included=inside, delta=DELTA, design=design)
    by_kind = dp.audit(scores[inside], scores[~inside], delta=DELTA, design=design)
    assert first.bounds == other.bounds == scaled.bounds == by_kind.bounds


def test_guesses_are_scores_at_a_threshold() -> None:
    rng, inside = coins(5)
    scores = gaussian(2.0)(rng, inside)
    guesses = np.where(scores > 1.0, 1, -1)
    said = dp.audit(guesses=guesses, included=inside, delta=DELTA)
    fixed = dp.audit(scores, included=inside, delta=DELTA, thresholds=1.0)
    assert said["one-run"].epsilon == fixed["one-run"].epsilon
    assert "fixed before" in said["one-run"].assumptions[-1].text
    kept = np.where(abs(scores - 1.0) > 1.5, guesses, 0)
    few = dp.audit(guesses=kept, included=inside, delta=DELTA)
    assert few["one-run"].counts["guesses"] == int((kept != 0).sum()) < scores.size
    assert few.epsilon > said.epsilon
    worlds = dp.audit(guesses=kept, included=inside, delta=DELTA, design="two-worlds")
    assert len(worlds.points) == 2 and worlds.epsilon > 0


def test_points_lie_above_the_curve_and_mu_below() -> None:
    rng, inside = coins(6, 10_000)
    result = dp.audit(gaussian(1.0)(rng, inside), included=inside, delta=DELTA, design="two-worlds")
    assert all(b > ndtr(-ndtri(a) - 1.0) for a, b in result.points)
    assert 0.85 < (result["gdp"].mu or 0.0) < 1.0
    assert result["gdp"].epsilon > result["clopper-pearson"].epsilon > 1.5
    assert [bound.method for bound in result.bounds] == ["clopper-pearson", "gdp"]


def test_a_large_file_of_scores_takes_little_work() -> None:
    rng, inside = coins(7, 10**6)
    scores = gaussian(1.0)(rng, inside)
    for how in HOW[:1] + HOW[2:3]:
        assert dp.audit(scores, included=inside, delta=DELTA, **how).epsilon > 2.0


def test_a_pure_guarantee_is_compared_at_delta_0() -> None:
    rng, inside = coins(8)
    fine = dp.audit(laplace(rng, inside), included=inside, delta=0, against=dp.Laplace(b=1))
    assert float(fine.proven or 0.0) == 1.0 and not fine.alarm
    loud = dp.audit(inside * 1.0, included=inside, delta=0, against=dp.Laplace(b=1))
    assert loud.alarm and [bound.method for bound in loud.bounds] == ["one-run"]
    nothing = dp.audit(inside * 1.0, included=inside, delta=0, against=dp.Gaussian(sigma=1))
    assert nothing.proven is None and nothing.alarm  # by the curve


def test_a_replace_one_plan_is_asked_under_its_adjacency() -> None:
    rng, inside = coins(9)
    plan = dp.WithoutReplacement("0.5")(dp.Gaussian(sigma=1))
    result = dp.audit(gaussian(0.2)(rng, inside), included=inside, delta=DELTA, against=plan)
    assert result.adjacency == "replace-one" and not result.alarm


@pytest.mark.parametrize("thresholds", ["ranks", 0.5])
@pytest.mark.parametrize("design", ["one-run", "two-worlds"])
@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_equal_scores_tells_nothing(order: int, design: str, thresholds: Any) -> None:
    """A file may well have all that were included first, or last."""
    inside = (np.arange(1000) < 500)[::order]
    for scores in (np.zeros(1000), np.round(np.random.default_rng(0).random(1000))):
        how = {"design": design, "thresholds": thresholds}
        result = dp.audit(scores, included=inside, delta=DELTA, **how)
        assert result.epsilon < 0.05
        assert max(bound.epsilon for bound in result.bounds) < 0.25


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"scores_in": [1, np.nan], "scores_out": [1, 2]},
            "scores must be numbers, got nan in row 2",
        ),
        ({"scores_in": [], "scores_out": [1]}, "scores_in must be a list of one number or more"),
        (
            {"scores_in": [1, 2], "included": [1, 1]},
            "canaries of both kinds, but none was left out",
        ),
        (
            {"scores_in": [1, 2], "included": [0, 0]},
            "canaries of both kinds, but none was included",
        ),
        ({"scores_in": [1, 2], "included": [0, 2]}, "included must be 0 or 1, got 2 in row 2"),
        (
            {"scores_in": [1, 2], "included": [0, np.nan]},
            "included must be 0 or 1, got nan in row 2",
        ),
        (
            {"scores_in": [1, 2], "included": [0]},
            "scores and included must be equally long, got 2 and 1",
        ),
        ({"scores_in": ["a"], "scores_out": [1]}, "scores_in must be an array of numbers"),
        ({"scores_in": [[1]], "scores_out": [1]}, "scores_in must be a list of one number or more"),
        ({"scores_in": [1]}, "audit takes scores_in and scores_out, or scores_in and included"),
        (
            {"guesses": [1, 2], "included": [0, 1]},
            "guesses must be 1 (in), -1 (out) or 0 (no guess), got 2",
        ),
        ({"guesses": [0, 0], "included": [0, 1]}, "guesses must not all be 0"),
        ({"delta": 1}, "delta must be a number of at least 0 and below 1, got 1"),
        ({"delta": -0.1}, "delta must be a number of at least 0 and below 1, got -0.1"),
        ({"delta": float("nan")}, "delta must be a number of at least 0 and below 1, got nan"),
        ({"confidence": 1}, "confidence must be a number strictly between 0 and 1, got 1"),
        ({"confidence": 0}, "confidence must be a number strictly between 0 and 1, got 0"),
        (
            {"design": "two-world"},
            "must be one of one-run or two-worlds, got 'two-world'; did you mean two-worlds?",
        ),
        (
            {"thresholds": "best"},
            "thresholds must be ranks, or finite numbers, got 'best'",
        ),
        ({"thresholds": [np.inf]}, "or finite numbers, got [inf]"),
        ({"thresholds": 0.5, "shares": [0.1]}, "they are for thresholds = ranks, not for fixed"),
        ({"shares": [2]}, "shares must be a number above 0 and at most 1, got 2"),
        (
            {"shares": [0.1], "design": "two-worlds"},
            "shares must leave a score beyond the threshold, got 0.1",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_nonsense_is_refused(how: dict[str, Any], message: str) -> None:
    data = {"scores_in": [1, 2, 3], "scores_out": [1, 2]}
    arguments = how if how.keys() & {"scores_in", "guesses"} else data | how
    with pytest.raises(dp.InvalidArgument) as refused:
        dp.audit(**{"delta": DELTA, **arguments})
    assert message in refused.value.message


def test_unfair_coins_are_no_single_run() -> None:
    with pytest.raises(dp.AssumptionViolated, match="10 of 1000 canaries were included"):
        dp.audit(np.zeros(1000), included=np.arange(1000) < 10, delta=DELTA)
    result = dp.audit(
        np.zeros(1000), included=np.arange(1000) < 10, delta=DELTA, design="two-worlds"
    )
    assert result.epsilon == 0.0
    with pytest.raises(dp.InvalidArgument, match="method must be one of clopper-pearson"):
        result["one-run"]


def test_it_says_what_it_found() -> None:
    rng, inside = coins(2)
    result = dp.audit(
        gaussian(3.0)(rng, inside), included=inside, delta=DELTA, against=dp.Gaussian(sigma=3)
    )
    assert str(result).startswith(
        f"epsilon at least {result.epsilon:.4g} at delta 1e-05 (confidence 0.95, 2000"
    )
    assert "one-run shows an epsilon of at least" in str(result)
    body = result.to_dict()
    assert body["alarm"] and body["epsilon"] == result.epsilon and body["proven"]["strength"]
    assert body["included"] + body["left_out"] == 2000


# --- `dpacct audit`: the same as in Python, a picture, and one sentence for what is wrong with a file.

SCORES = str(ROOT / "docs" / "examples" / "scores.csv")
TABLE = np.loadtxt(SCORES, delimiter=",", skiprows=1)


@pytest.fixture
def plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.toml"
    path.write_text("delta = 1e-6\n[[step]]\nsigma = 50\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("design", ["one-run", "two-worlds"])
def test_python_and_the_command_line_agree(design: str, plan: str) -> None:
    output = run("audit", SCORES, "--against", plan, "--design", design, "--json")
    result = dp.audit(
        TABLE[:, 0],
        included=TABLE[:, 1],
        delta="1e-6",
        design=design,
        against=dp.Gaussian(sigma=50),
    )
    body = output.json
    assert output.code == 5 and result.alarm and body["alarm"] and body["command"] == "audit"
    assert [each["epsilon"] for each in body["bounds"]] == [b.epsilon for b in result.bounds]
    assert body["epsilon"] == result.epsilon and body["findings"] == [*result.findings]
    assert body["proven"]["upper"] == result.proven.upper if result.proven else False
    assert body["plan"] == dp.Gaussian(sigma=50).to_dict()


def test_words_state_confidence_assumptions_and_the_alarm(plan: str) -> None:
    output = run("audit", SCORES, "--against", plan)
    assert output.code == 5
    assert output.stdout.startswith("epsilon is at least 0.")
    for words in ("with 95 % confidence", "one-run", "fair coin", "ALARM", "proved"):
        assert words in output.stdout
    quiet = run("audit", SCORES, "--delta", "1e-5")
    assert quiet.code == 0 and "ALARM" not in quiet.stdout and "proved" not in quiet.stdout
    assert "no contradiction" not in quiet.stdout


def test_what_is_not_contradicted_is_not_proven(tmp_path: Path) -> None:
    path = tmp_path / "weak.toml"
    path.write_text("[[step]]\nsigma = 0.5\n", encoding="utf-8")
    output = run("audit", SCORES, "--against", str(path))
    assert output.code == 0 and "no contradiction was found; that proves nothing" in output.stdout


@pytest.mark.parametrize(
    ("suffix", "design"),
    [(".png", "one-run"), (".csv", "one-run"), (".csv", "two-worlds"), (".json", "two-worlds")],
)
def test_a_picture(suffix: str, design: str, plan: str, tmp_path: Path) -> None:
    path = tmp_path / f"audit{suffix}"
    output = run("audit", SCORES, "--against", plan, "--design", design, "--save", str(path))
    assert output.code == 5 and path.stat().st_size > 1000
    if suffix == ".csv":
        table = np.genfromtxt(path, delimiter=",", names=True)
        assert table.dtype.names == ("alpha", "reached", "shown", "proven")
        assert (table["shown"] >= 0).all() and (np.diff(table["proven"]) <= 0).all()


def test_guesses_and_columns_of_other_names(tmp_path: Path) -> None:
    path = tmp_path / "guesses.csv"
    guesses = np.where(TABLE[:, 0] > 0.75, 1, -1)
    rows = "".join(f"{g:g},{i:g},x\n" for g, i in zip(guesses, TABLE[:, 1], strict=True))
    path.write_text("guess, member,name\n" + rows, encoding="utf-8")
    output = run("audit", str(path), "--included", "member", "--json")
    same = run("audit", SCORES, "--thresholds", "0.75", "--json")
    assert output.json["epsilon"] == same.json["epsilon"] > 0


def refusal(done: Run) -> str:
    assert done.code == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("score,included\n", "scores must have one row or more, got none"),
        ("", "scores must have the columns score and included, got ''"),
        ("scores,included\n1,1\n", "got 'scores,included'; did you mean scores?"),
        ("score,member\n1,1\n", "scores must have the columns score and included"),
        ("score,included\n1,1\nnan,0\n", "score must be numbers, got nan in row 2"),
        ("score,included\n1,1\n2,1\n", "none was left out"),
        ("score,included\n1,1\n2,0.5\n", "included must be 0 or 1, got 0.5 in row 2"),
        (
            "score,included\n1,1\ntwo,0\n",
            "scores must be numbers with commas between them, got 'two' in line 3",
        ),
        ("score,included\n1,1\n2\n", "got '' in line 3"),
        ("guess,included\n1,1\n3,0\n", "guesses must be 1 (in), -1 (out) or 0 (no guess), got 3"),
    ],
)
def test_a_bad_file(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(content, encoding="utf-8")
    assert message in refusal(run("audit", str(path)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.csv"], "scores cannot be read from 'nowhere.csv': no such file or directory"),
        ([], "SCORES must be given: dpacct audit SCORES"),
        ([SCORES, "--against", "nowhere.toml"], "nowhere.toml"),
        ([SCORES, "--thresholds", "held-ot"], "thresholds must be ranks, or"),
        (
            [SCORES, "--thresholds", "1,x"],
            "--thresholds must be ranks, or finite",
        ),
        ([SCORES, "--thresholds", "0.5", "--share", "0.5"], "they are for thresholds = ranks"),
        ([SCORES, "--score", "scor"], "did you mean score?"),
        ([SCORES, "--save", "a.gif"], "must end in"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_bad_words(words: list[str], message: str) -> None:
    assert message in refusal(run("audit", *words))


def test_unfair_coins_exit_with_6(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("score,included\n" + "1,1\n" * 300 + "0,0\n" * 3, encoding="utf-8")
    output = run("audit", str(path))
    assert output.code == 6 and "300 of 303 canaries were included" in output.stderr
