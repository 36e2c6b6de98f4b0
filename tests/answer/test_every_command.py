"""Law: a command's answer is what Python answers to the same words, in all bits, for every command.

For each command a seeded set of words and the call that says the same; all numbers of the JSON are compared.
The catalogue of mechanisms and samplings is in test_one_answer.py.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpacct as dp
from dpacct.cli.main import COMMANDS
from dpacct.federated import DPFed, DPFedAvg, DPFedLS, DPFedSAM, PriFedSync
from tests.cli.runner import run

SEED = 16
VOTES = [[75, 0, 3, 22], [4, 77, 19, 0], [99, 0, 0, 1], [30, 40, 20, 10]]
TIMES = ("seconds",)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def plain(value: Any) -> Any:
    """As JSON reads it, without what differs between two runs."""
    if isinstance(value, dp.Answer):
        return plain(value.to_dict())
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items() if key not in TIMES}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return json.loads(json.dumps(value))


def same(document: Any, answer: Any, *, but: tuple[str, ...] = ("plan", "alternatives")) -> None:
    """Whatever the API says of the answer, the document says too; keys of the document alone are words."""
    body, shown = plain(answer), plain(document)
    kept = {key: body[key] for key in body if key not in (*but, "schema")}
    assert {key: shown[key] for key in kept} == kept


def ask(words: str) -> Any:
    done = run(*words.split(), "--json")
    assert done.code in (0, 5), done.stderr + done.stdout
    return done.json


def drawn(count: int = 3) -> Iterator[tuple[str, Callable[[Any], dp.Node], str]]:
    """Words of a plan without its mechanism, and what they make of a release; and a delta."""
    source = random.Random(SEED)
    for _ in range(count):
        steps, rate = source.randint(1, 40), f"0.{source.randint(2, 30):02d}"
        delta = f"{source.randint(1, 9)}e-{source.randint(4, 9)}"
        kind = source.choice(["poisson", "uniform", "none"])
        words = f"--steps {steps}" + ("" if kind == "none" else f" --sampling {kind} --rate {rate}")
        made = {"poisson": dp.Poisson(rate), "uniform": dp.WithoutReplacement(rate)}.get(kind)

        def plan(release: Any, made: Any = made, steps: int = steps) -> dp.Node:
            return (release if made is None else made(release)) * steps

        yield words, plan, delta


PLANS = [*drawn(2)]


NOISES: dict[str, dp.Node] = {
    "--b 4": dp.Laplace(4),
    "--sigma 2.5": dp.Gaussian("2.5"),
    "--noise-multiplier 1.3 --clip 0.7": dp.Gaussian(noise_multiplier="1.3", clip="0.7"),
    "--mechanism randomized-response --eps0 0.3 --k 4": dp.RandomizedResponse("0.3", k=4),
}


def cases() -> Iterator[tuple[str, dp.Node, str, str]]:
    """Each noise in one of the plans: its words, the plan, the plan's words, and a delta."""
    for (noise, made), (words, plan, delta) in zip(NOISES.items(), [*PLANS, *PLANS], strict=True):
        yield noise, plan(made), words, delta


# --- one answer


def test_eps_and_delta() -> None:
    for words, plan, delta in PLANS:
        node = plan(dp.Gaussian("1.3"))
        document = ask(f"eps --sigma 1.3 {words} --delta {delta}")
        same(document, node.epsilon(delta))
        for other in document["alternatives"]:
            same(other, node.epsilon(delta, method=other["method"]), but=EACH)
        same(ask(f"delta --sigma 1.3 {words} --eps 0.8"), node.delta("0.8"))
        for method in ("exact", "rdp", "rdp-mironov", "clt"):
            document = ask(f"eps --sigma 1.3 {words} --delta {delta} --method {method}")
            same(document, node.epsilon(delta, method=method))
    same(ask("eps --b 3 --steps 2 --delta 0"), (dp.Laplace(3) * 2).epsilon(0))


EACH = (
    "plan",
    "alternatives",
    "assumptions",
    "assumption_ids",
    "adjacency",
    "unit",
    "quantity",
    "tree",
)


def test_noise_and_steps() -> None:
    words, plan, delta = PLANS[0]
    document = ask(f"noise {words} --eps 1.5 --delta {delta}")
    about = {"epsilon": "1.5", "delta": delta, "name": "sigma", "bounds": dp.Gaussian.between}
    same(document, dp.calibrate(lambda s: plan(dp.Gaussian(s)), **about))
    for other in document["alternatives"]:
        how = {**about, "method": other["method"]}
        same(other, dp.calibrate(lambda s: plan(dp.Gaussian(s)), **how), but=EACH)
    document = ask("steps --b 8 --eps 1.5 --delta 1e-6 --method exact")
    how = {"epsilon": "1.5", "delta": "1e-6", "integer": True, "name": "steps", "method": "exact"}
    same(document, dp.calibrate(lambda n: dp.Laplace(8) * int(n), **how))
    same(
        ask("noise --steps 9 --eps 0 --delta 0.2"),
        dp.calibrate(lambda s: dp.Gaussian(s) * 9, epsilon=0, delta="0.2", name="sigma"),
    )


# --- many answers


def test_compare() -> None:
    for noise, node, words, delta in cases():
        for quantity, target in (("delta", delta), ("epsilon", "0.7")):
            document = ask(f"compare {noise} {words} --{quantity} {target}")
            answers = node.compare(**{quantity: target})
            finite = [answer for answer in answers if np.isfinite(float(answer))]
            assert len(document["answers"]) == len(finite)
            for row, answer in zip(document["answers"], finite, strict=True):
                same(row, answer)
    rows = ask("compare --steps 5 --eps 2 --delta 1e-5")["answers"]
    for row in rows:
        how = {"epsilon": 2, "delta": "1e-5", "name": "sigma", "bounds": dp.Gaussian.between}
        same(row, dp.calibrate(lambda s: dp.Gaussian(s) * 5, method=row["method"], **how))


def test_risk() -> None:
    for noise, node, words, _ in cases():
        risk = dp.Risk(node)
        document = ask(f"risk {noise} {words} --fpr 0.02 --prior 0.2 --baseline 1e-4")
        same(document["advantage"], risk.advantage())
        same(document["accuracy"], risk.accuracy("0.2"))
        same(document["reconstruction"], risk.reconstruction("1e-4"))
        (rate,) = document["rates"]
        same(rate["true_positive_rate"], risk.true_positive_rate("0.02"))
        same(rate["precision"], risk.precision("0.02", "0.2"))


def test_curve() -> None:
    """A column of the chart holds the values that the plan gives, whatever the chart calls it."""

    def holds(words: str, values: Callable[[Any], Any]) -> None:
        columns = {name: np.array(each) for name, each in ask(words)["columns"].items()}
        first, *others = columns.values()
        wanted = np.asarray(values(first), dtype=float)
        assert any(np.array_equal(each, wanted) for each in others), (words, columns, wanted)

    words, plan, _ = PLANS[0]
    node, words_of_curve = plan(dp.Gaussian("1.7")), f"curve --sigma 1.7 {words} --points 4"
    title = [0.01, 0.2]  # is asked with the points: neighbours may sharpen a bound in its last bits
    holds(f"{words_of_curve} --kind tradeoff", lambda at: node.tradeoff([*at, *title])[:-2])
    holds(f"{words_of_curve} --kind rdp --from 2 --to 32", node.rdp)
    exact = {"method": "exact"}
    holds(f"{words_of_curve} --from 0.1 --to 2 --method exact", lambda at: node.delta(at, **exact))


def test_compose_report_and_check() -> None:
    Path("plan.toml").write_text(
        'delta = 1e-6\nunit = "user"\nadjacency = "add-remove"\n'
        "[[step]]\nsigma = 2.1\nrate = 0.1\nrepeat = 12\n"
        '[[step]]\nmechanism = "laplace"\nb = 9\n'
    )
    node = dp.Poisson("0.1")(dp.Gaussian("2.1")) * 12 + dp.Laplace(9)
    node = node.under("add-remove", unit="user")
    same(ask("compose plan.toml"), node.epsilon("1e-6"))
    same(ask("compose plan.toml --eps 0.3"), node.delta("0.3"))
    document, report = ask("report plan.toml"), dp.Report.of(node, delta="1e-6")
    assert plain(document) | {"reproduce": 0} == plain(report.to_dict()) | {"reproduce": 0}
    same(ask("check plan.toml --max-eps 9")["epsilon"], node.epsilon("1e-6"))
    cited = ask("cite plan.toml")
    basis = {*node.epsilon("1e-6").basis, *node.citations()}
    assert {each["id"] for each in cited["used"]} == {each.id for each in basis}


# --- calculators

SHUFFLES = {
    "--eps0 2 --clients 3000": {"eps0": 2, "clients": 3000},
    "--eps0 1 --clients 900 --mechanism rr --k 3": {"eps0": 1, "clients": 900, "k": 3},
    "--eps0 0.5 --clients 2": {"eps0": "0.5", "clients": 2},
}


@pytest.mark.parametrize("words", SHUFFLES)
@pytest.mark.parametrize("rounds", [1, 3])
def test_shuffle(words: str, rounds: int) -> None:
    node = dp.Shuffle(**SHUFFLES[words]) * rounds
    document, answer = ask(f"shuffle {words} --rounds {rounds} --delta 1e-6"), node.epsilon("1e-6")
    same(document, answer)
    methods = [other["method"] for other in document["alternatives"]]
    assert len({*methods, answer.method}) == len(methods) + 1
    same(ask(f"shuffle {words} --rounds {rounds} --eps 0.2"), node.delta("0.2"))


FEDERATED: dict[str, tuple[str, Any]] = {
    "prifedsync": (
        "--clients 9 --batch-size 8 --records 80 --local-steps 3 --rounds 5 --sigma 2",
        lambda: PriFedSync(clients=9, batch_size=8, records=80, local_steps=3, rounds=5, sigma=2),
    ),
    **{
        name: (
            "--clients 90 --client-rate 0.1 --rounds 2 --noise-multiplier 1.5",
            lambda kind=kind: kind(clients=90, client_rate="0.1", rounds=2, noise_multiplier="1.5"),
        )
        for name, kind in (
            ("dp-fed", DPFed),
            ("dp-fed-ls", DPFedLS),
            ("dp-fedavg", DPFedAvg),
            ("dp-fedsam", DPFedSAM),
        )
    },
}


@pytest.mark.parametrize("algorithm", FEDERATED)
def test_federated(algorithm: str) -> None:
    words, make = FEDERATED[algorithm]
    document = ask(f"federated --algorithm {algorithm} {words} --delta 1e-5")
    plan = make()
    rows = [*plan.rows(delta="1e-5")]
    for route, row in zip(document["routes"], rows, strict=True):
        assert (route["name"], route["notion"]) == (row.name, row.notion)
        same(route["epsilon"], row.answer)
    first = next(row for row in rows if row.notion in ("strong", "client"))
    same({**first.answer.to_dict(), **document}, plan.epsilon(delta="1e-5"), but=LEAD)


LEAD = ("plan", "alternatives", "assumptions", "assumption_ids", "basis", "basis_ids")


def test_pate() -> None:
    Path("votes.csv").write_text("\n".join(",".join(map(str, row)) for row in VOTES))
    for words, made in (
        ("--sigma 20", dp.GNMax(sigma=20)),
        ("--sigma 20 --level agent --threshold 60 --threshold-sigma 30",
         dp.GNMax(sigma=20, level="agent", threshold=60, threshold_sigma=30)),
        ("--mechanism laplace --b 10", dp.LNMax(b=10)),
    ):  # fmt: skip
        document, cost = ask(f"pate votes.csv {words} --delta 1e-5"), made.cost(VOTES, "1e-5")
        for name in ("data_independent", "data_dependent", "exact"):
            answer = getattr(cost, name)
            assert (document[name] is None) == (answer is None)
            if answer is not None:
                same(document[name], answer)
        for method, line in zip(document["methods"], cost.lines, strict=True):
            same(method["epsilon"], line.answer)


def test_ledger() -> None:
    step = dp.Poisson("0.1")(dp.Gaussian("2"))
    with dp.Ledger("run.ledger", budget=(2, 1e-5), plan=step * 9) as ledger:
        ledger.spend(step * 4)
        same(ask("ledger show run.ledger")["spent"], ledger.spent())
        document = ask("ledger show run.ledger")
        assert document["left"] == ledger.room(step)
        same(ask("ledger report run.ledger")["guarantee"], ledger.guarantee())
        assert ask("ledger check run.ledger")["head"] == ledger.head


def test_audit() -> None:
    source = np.random.default_rng(SEED)
    included = source.integers(0, 2, 200)
    scores = source.normal(included, 1.0).round(6)
    lines = ["score,included", *(f"{s},{i}" for s, i in zip(scores, included, strict=True))]
    Path("scores.csv").write_text("\n".join(lines))
    result = dp.audit(scores, included=included, delta="1e-6")
    assert plain(ask("audit scores.csv --delta 1e-6")) == {
        "schema": 1,
        "command": "audit",
    } | plain(result.to_dict())


def test_theorems_and_tables() -> None:
    from dpacct.papers.registry import get
    from dpacct.papers.tables import cells

    body = ask("theorems eval dp_fed_ls.lemma2 tau=1/20 nu2=9 alpha=3/2")
    values = {name: Fraction(value) for name, value in body["inputs"].items()}
    assert body["value"] == get("dp_fed_ls.lemma2").evaluate(values)
    for row, cell in zip(ask("tables dp_fed_ls --no-truth"), cells("dp_fed_ls"), strict=True):
        assert row["computed"] == cell.computed()


def test_certificates() -> None:
    node = dp.Gaussian("1.1") * 3
    document = ask("eps --sigma 1.1 --steps 3 --delta 1e-5 --certificate out.json")
    made = dp.certificate(node, delta="1e-5")
    assert json.loads(Path("out.json").read_text()) == plain(made.contents)
    body = ask("verify --certificate out.json")
    assert body["holds"] and float(body["upper"]) >= document["upper"] * (1 - 1e-12)


def test_every_command_is_asked() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert not {name for name in COMMANDS if f'"{name} ' not in text}
