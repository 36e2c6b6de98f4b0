"""Claims as data: verdicts, the runs behind them, and the page that is made from what is stored."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from studies.claims import HELD, NOT_HELD, UNDECIDED, VariantClaim, interval
from studies.measures import measured
from studies.replicate import Study, Trial, jobs, keep, page, read, replicate, run, studies

import dpacct as dp
from dpacct.proof import effort
from dpacct_training.cli.main import main
from dpacct_training.cli.run import change
from dpacct_training.engines import InProcess
from dpacct_training.experiment import Experiment, prepare
from dpacct_training.run import Session
from tests.structure.project import ROOT
from tests.training.systems import system

RESULTS = ROOT / "training" / "experiments" / "results"
TEXT = """
name = "small claims"
paper = "nobody"
seeds = 3
[data]
name = "synth"
samples = 400
clients = 20
[model]
name = "linear"
[algorithm]
name = "dp_fedavg"
[local]
batch_size = 5
learning_rate = 0.1
[privacy]
rate = 0.5
rounds = 2
clip = 0.1
delta = 1e-3
[[variant]]
name = "much noise"
"privacy.epsilon" = 0.05
[[variant]]
name = "little noise"
"privacy.epsilon" = 50
[[claim]]
says = "less noise is more accurate"
greater = "little noise"
than = "much noise"
[[claim]]
says = "updates are as long"
greater = "little noise"
than = "much noise"
measure = "norm"
"""


def study(text: str = TEXT) -> Study:
    return Study.of_experiment("small_claims", Experiment.from_text(text, "small_claims"))


# --- verdicts


@pytest.mark.parametrize(
    ("count", "quantile"), [(3, 4.302653), (5, 2.776445), (10, 2.262157), (31, 2.042272)]
)
def test_the_interval_is_student_s(count: int, quantile: float) -> None:
    """By printed tables of the 97.5 % quantile, with count - 1 degrees of freedom."""
    values = np.arange(count, dtype=float)
    mean, low, high = interval(values.tolist())
    half = quantile * values.std(ddof=1) / count**0.5
    assert (mean, low, high) == pytest.approx((values.mean(), mean - half, mean + half), rel=1e-5)


def test_one_verdict_in_twenty_is_wrong_where_nothing_differs() -> None:
    rng, claim = np.random.default_rng(5), VariantClaim("a beats b", "a", "b")
    draws = rng.normal(80.0, 1.0, (2000, 2, 4))
    words = [claim.judged(a.tolist(), b.tolist()).word for a, b in draws]
    wrong = sum(word != UNDECIDED for word in words) / len(words)
    assert abs(wrong - 0.05) < 5 * (0.05 * 0.95 / 2000) ** 0.5
    assert {HELD, NOT_HELD, UNDECIDED} == set(words)


@pytest.mark.parametrize(
    ("differences", "by", "word"),
    [
        ([1.0, 1.1, 0.9], 0.0, HELD),
        ([1.0, 1.1, 0.9], 2.0, NOT_HELD),
        ([1.0, 1.1, 0.9], 1.0, UNDECIDED),
        ([-1.0, -1.1, -0.9], -2.0, HELD),
        ([50.0], 0.0, UNDECIDED),
        ([50.0, 50.0], 0.0, UNDECIDED),
        ([], 0.0, UNDECIDED),
    ],
)
def test_few_seeds_decide_nothing(differences: list[float], by: float, word: str) -> None:
    claim = VariantClaim("a beats b", "a", "b", by)
    assert claim.judged(differences, [0.0] * len(differences)).word == word


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('than = "much noise"', 'than = "much nois"', "variant must be one of .*did you mean"),
        ('measure = "norm"', 'measure = "norms"', "measure must be one of .*got 'norms'"),
        ('measure = "norm"', "by = nan", "by must be"),
        ('measure = "norm"', "bye = 1", r"\[\[claim\]\] takes .*got 'bye'"),
        ('measure = "norm"', 'at = { "run.seed" = 1 }', r"\[\[claim\]\] at takes"),
        ("seeds = 3", "seeds = 0", "seeds must be a whole number from 1"),
        ('than = "much noise"', 'than = "little noise"', "greater and than must differ"),
    ],
)
def test_a_wrong_claim_is_one_sentence(old: str, new: str, says: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=says):
        study(TEXT.replace(old, new))


# --- measures


def test_sharpness_is_the_largest_eigenvalue() -> None:
    """Against the whole Hessian of logistic regression, mean of (diag p - p p^T) x (x, 1)(x, 1)^T."""
    prepared = system("dp_fedavg", data__side=4, data__test=60)
    session = Session(prepared)
    result = session.finish()
    setting = prepared.setting
    x, _ = setting.samples(setting.federation.test)
    scores = setting.model.scores(torch.from_numpy(result.weights).float(), x).double().numpy()
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    p = odds / odds.sum(axis=1, keepdims=True)
    inputs = np.hstack([x.flatten(1).numpy(), np.ones((len(x), 1))])
    spread = np.einsum("ni,ij->nij", p, np.eye(p.shape[1])) - np.einsum("ni,nj->nij", p, p)
    size = p.shape[1] * inputs.shape[1]
    hessian = np.einsum("nij,nk,nl->ikjl", spread, inputs, inputs).reshape(size, size) / len(x)
    largest = float(np.linalg.eigvalsh(hessian)[-1])
    assert measured(session, {"sharpness"})["sharpness"] == pytest.approx(largest, rel=0.01)


def test_measures_of_personal_models_and_updates() -> None:
    session = Session(system("prifedsync", data__partition="shards", algorithm__alpha=1.0))
    session.finish()
    seen = measured(session, {"personal", "shared"})
    assert seen["personal"] == seen["shared"]  # with alpha 1 each starts from the mean
    session = Session(system("dp_fedavg", privacy__clip=1e-3))
    result = session.finish()
    seen = measured(session, {"norm", "gap", "accuracy"})
    assert seen["norm"] > 1e-3  # before the clip
    assert seen["accuracy"] == pytest.approx(100 * result.test_accuracy)
    with pytest.raises(dp.Unsupported, match="trains no personal models"):
        measured(session, {"personal"})


def test_a_run_ends_where_its_goal_is_reached(tmp_path: Path) -> None:
    """The first round that is good enough, which a run without a goal passes with the same accuracy."""
    text = TEXT.replace("rounds = 2", "rounds = 9").replace("seeds = 3", "seeds = 1")
    text = text.replace("[data]", 'measures = ["rounds", "weights", "learned"]\n[data]', 1)
    whole = run(jobs(study(text), 1)[1])
    accuracies = dict(whole.curve)
    goal = (min(accuracies.values()) + max(accuracies.values())) / 2
    first = next(round for round, accuracy in whole.curve if accuracy >= goal)
    aimed = study(text.replace("[data]", f"[until]\naccuracy = {goal}\n[data]", 1))
    trial = run(jobs(aimed, 1)[1])
    assert trial.measures["rounds"] == first < 9 == whole.measures["rounds"]
    assert trial.measures["accuracy"] == accuracies[first] and trial.digest != whole.digest
    assert trial.epsilon is not None and whole.epsilon is not None and trial.epsilon < whole.epsilon
    assert trial.measures["weights"] == 4 * 65 and whole.measures["learned"] > 0
    with pytest.raises(dp.InvalidArgument, match=r"rounds must be enough for .*got 9 in 'little"):
        run(jobs(study(text.replace("[data]", "[until]\naccuracy = 101\n[data]", 1)), 1)[1])
    with pytest.raises(dp.InvalidArgument, match=r"measures must be one of .*got 'acuracy'"):
        study(TEXT.replace("[data]", "[until]\nacuracy = 3\n[data]", 1))


def test_mu_is_the_paper_s_for_as_many_rounds() -> None:
    session = Session(system("prifedsync", data__partition="shards"))
    session.finish(enough=lambda: session.run.state.round == 3)
    paper = dp.federated.PriFedSync(
        clients=40, client_rate=0.5, batch_size=5, records=30, local_steps=3, rounds=3, sigma=1
    )
    assert measured(session, {"mu", "rounds"}) == {"mu": round(float(paper.mu_clt), 6), "rounds": 3}
    with pytest.raises(dp.Unsupported, match="measures privacy by no mu"):
        other = Session(system("dp_fedavg"))
        measured(other, {"mu"})


# --- runs, kept and continued


def test_runs_are_kept_and_not_repeated(tmp_path: Path) -> None:
    seen: list[Trial] = []

    def watch(trial: Trial, of: int) -> None:
        seen.append(trial)

    done = replicate(study(), tmp_path, watch=watch)
    assert len(seen) == len(done.trials) == 6
    little = [t for t in done.trials if t.variant == "little noise"]
    assert [v.greater for v in done.verdicts()] == [
        tuple(t.measures[name] for t in little) for name in ("accuracy", "norm")
    ]
    assert [t.seed for t in little] == [0, 1, 2] and len({t.digest for t in little}) == 3
    assert all(49 < (t.epsilon or 0) <= 50 and t.unit == "client" for t in little)
    assert set(little[0].measures) == {"accuracy", "norm"} and len(little[0].curve) == 2

    path = tmp_path / "small_claims.json"
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(whole[:2] + whole[3:]))
    again = replicate(study(), tmp_path, watch=watch)
    assert len(seen) == 7  # the one that was lost
    bits = [[(t.digest, t.measures, t.epsilon, t.curve) for t in s.trials] for s in (done, again)]
    assert bits[0] == bits[1]
    more = study(TEXT.replace("seeds = 3", "seeds = 4"))
    beyond = replace(jobs(more, 4)[-1][0], measures={"accuracy": 1.0, "norm": 1.0})
    keep(replace(more, trials=(*again.trials[1:], beyond)), tmp_path)
    quick = replicate(more, tmp_path, quick=True, watch=watch)
    digests = [[t.digest for t in trials] for trials in (quick.trials, (*again.trials, beyond))]
    assert len(seen) == 8 and digests[0] == digests[1]  # none is thrown away
    replicate(study(TEXT.replace("rounds = 2", "rounds = 3")), tmp_path, quick=True, watch=watch)
    assert len(seen) == 14  # other settings are other runs
    path.write_text("[{}]")
    with pytest.raises(dp.InvalidArgument, match="cannot be read"):
        read(study(), tmp_path)


def test_the_command_runs_and_judges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = tmp_path / "experiments", tmp_path / "out"
    folder.mkdir()
    (folder / "small.toml").write_text(TEXT.replace("seeds = 3", "seeds = 2"))
    monkeypatch.setattr("studies.replicate.studies.__defaults__", ((), folder))
    assert main(["replicate", "nobody", "--out", str(out)]) == 0
    output = capsys.readouterr().out
    assert "1 of 4: much noise" in output and "undecided: less noise is more accurate" in output
    assert "| nobody | less noise is more accurate | undecided |" in (
        out / "replication.md"
    ).read_text(encoding="utf-8")
    assert main(["replicate", "nobdy", "--out", str(out)]) == 2
    assert "must be one of nobody, small, got 'nobdy' (did you mean" in capsys.readouterr().err


def test_outside_a_checkout_there_are_no_studies(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpacct_training.__file__", "/nowhere/dpacct_training/__init__.py")
    assert main(["replicate"]) == 7
    assert "the studies are not installed" in capsys.readouterr().err


# --- what is stored


def stored() -> list[Study]:
    return [s for s in (read(study, RESULTS) for study in studies()) if s.trials]


def test_the_page_is_made_from_what_is_stored() -> None:
    """`dpacct-train replicate` makes it; three seeds or more for each verdict."""
    text = (ROOT / "docs" / "replication.md").read_text(encoding="utf-8")
    assert text == page(stored())
    rows = re.findall(rf"^\|[^|]*\|[^|]*\| ({HELD}|{NOT_HELD}|{UNDECIDED}) \|", text, re.MULTILINE)
    verdicts = [v for s in stored() for v in s.verdicts()]
    assert rows == [v.word for v in verdicts] and len(rows) >= 12
    assert all(len(v.greater) >= 3 for v in verdicts)


def test_what_is_stored_ran_with_these_settings() -> None:
    """A changed experiment leaves runs behind that are not its own."""
    for kept in stored():
        digests: dict[str, Any] = {job[0].digest: job[2] for job in jobs(kept, kept.seeds)}
        assert {t.digest for t in kept.trials} <= set(digests), kept.name
        for trial in kept.trials:
            assert digests[trial.digest] <= set(trial.measures)


FULL = [
    (study.name, words)
    for study in studies()
    for words in re.findall(r"`dpacct-train run ([^`]*)`", " ".join(study.full.split()))
]


SAMPLES = {"mnist": 60_000, "cifar10": 50_000}
"""Training samples of what the commands name and registries have."""


class AtItsFirstRoundError(Exception):
    pass


class Waiting(InProcess):
    """Ends a run where its clients would begin to train."""

    def __init__(self) -> None:
        pass

    def ask(self, tasks: Any) -> Any:
        raise AtItsFirstRoundError

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("name", "words"), FULL)
def test_the_full_size_commands_run_to_their_first_round(
    name: str, words: str, tmp_path: Path
) -> None:
    """On made-up data of the same shape: nothing that a ledger refuses, no more samples than there are."""
    path, *options = shlex.split(words)
    changes = dict(change(word) for word in options if word != "--set")
    assert options.count("--set") == len(changes) == len(options) / 2
    experiment = Experiment.read(ROOT / path)
    variant = next(iter(experiment.variants.values()), {})
    first = experiment.changed({**variant, **changes})
    data = first.sections["data"]
    if data["name"] in SAMPLES:
        taken = data.get("train", 0) + data.get("validation", 0)
        assert max(taken, data["clients"]) <= SAMPLES[data["name"]], taken
    made = {k: data[k] for k in ("clients", "partition", "concentration", "public") if k in data}
    side = 32 if data["name"] in ("cifar10", "svhn") else 28
    made |= {"name": "synth", "samples": 4 * data["clients"] + 600, "validation": 500}
    made |= {"side": side, "classes": 10}
    with effort.allowance(0.0):
        prepared = prepare(replace(first, sections={**first.sections, "data": made}))
        assert prepared.cohort.clients == data["clients"]
        assert prepared.setting.model.dimension > 7000
        with pytest.raises(AtItsFirstRoundError):
            Session(prepared, tmp_path, engine=Waiting()).finish()


def test_every_paper_says_what_does_not_fit() -> None:
    papers = {study.paper for study in studies()}
    assert {"dp_fed_ls", "federated_fdp", "udp_fl", "ae_dpfl", "dp_fedsam"} <= papers
    assert all(study.full for study in studies() if study.claims)
    assert {name for name, _ in FULL} >= {f"{n}_claims" for n in ("dp_fed_ls", "udp_fl", "ae_dpfl")}
