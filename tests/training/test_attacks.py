"""Attacks: they reach what they must without noise, never more than is proved, and see what they say."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dpacct as dp
from dpacct_training.attacks.canaries import Auditing, audit
from dpacct_training.attacks.inference import KINDS, Shadows, attribute, membership
from dpacct_training.attacks.inversion import inversion, invert
from dpacct_training.attacks.worlds import AttackedUnits, coins
from dpacct_training.cli.main import main
from dpacct_training.data import sources
from dpacct_training.experiment import Prepared
from dpacct_training.keys import Keys
from dpacct_training.models import Module
from dpacct_training.models.linear import Linear
from dpacct_training.noise import Gaussian
from tests.training.experiments import replaced, small
from tests.training.systems import SYSTEMS, TEXT, system

KEYS = Keys.from_seed(3)
MEMBER = {"epsilon": 1.6, "noise": {"name": "gaussian", "clip": 1.0, "multiplier": 2.0}}


def attacked(name: str, **changes: Any) -> Prepared:
    """A system; of UDP-FL the mean of the models, whatever their loss on public data."""
    if name == "udp_fl":
        steps = {"name": "udp_fl", "steps": 2, "sample_rate": 0.25}
        return system(name, algorithm=steps, clients=(MEMBER,), **changes)
    return system(name, **changes)


# --- worlds


@pytest.mark.parametrize("name", sorted(SYSTEMS.keys() - {"knn_fl"}))
def test_who_is_not_there_changes_nothing(name: str) -> None:
    """A world's model is the same whatever the data of those who are not in it."""
    prepared = attacked(name)
    target = AttackedUnits(prepared)
    present = np.ones((1, len(target.rows)), bool)
    present[0, ::2] = False
    setting = prepared.setting
    train = setting.federation.train
    x = train.x.copy()
    absent = np.concatenate(target.rows[::2])
    x[absent] = 255 - x[absent]
    other = replace(setting.federation, train=replace(train, x=x), read={})
    changed = replace(prepared, setting=replace(setting, federation=other))
    first, second = (AttackedUnits(each).worlds(present, KEYS) for each in (prepared, changed))
    assert np.array_equal(first, second)
    everyone = AttackedUnits(changed).worlds(np.ones_like(present), KEYS)
    assert not np.array_equal(first, everyone)


def test_all_worlds_have_the_same_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose models nobody sees and no release changes: each trains once."""
    from dpacct_training.algorithms import voting

    trained: list[int] = []
    fit = voting.fit

    def counted(site: Any, *rest: Any, **more: Any) -> Any:
        trained.extend(site.clients)
        return fit(site, *rest, **more)

    monkeypatch.setattr(voting, "fit", counted)
    target = AttackedUnits(attacked("pate_fl"))
    present = coins(6, len(target.rows), KEYS)
    models = target.worlds(present, KEYS)
    assert sorted(trained) == list(range(len(target.rows)))
    assert np.array_equal(models[:1], target.worlds(present[:1], KEYS))
    assert len({model.tobytes() for model in models}) == 6


def test_a_target_is_a_client_that_takes_part() -> None:
    with pytest.raises(
        dp.InvalidArgument, match="client must be a whole number from 0 to 39, got 40"
    ):
        AttackedUnits(system("udp_fl"), 40)
    member = {"epsilon": 0.01, "noise": {"name": "gaussian", "clip": 1.0, "multiplier": 2.0}}
    with pytest.raises(dp.InvalidArgument, match="whose budget allows a round, got 2"):
        AttackedUnits(system("udp_fl", clients=(member,)), 2)


# --- membership


@pytest.fixture(scope="module")
def gaussian() -> tuple[Shadows, Any, Any, Any]:
    """Confidences of which everything is known: N(unit's own, 1), and one more for members."""
    rng = np.random.default_rng(0)
    present = rng.random((60, 400)) < 0.5
    scores = rng.normal(size=400) * 3
    signals = scores + present + rng.normal(size=present.shape)
    return Shadows(signals[:40], present[:40]), signals[40:], present[40:]


@pytest.mark.parametrize(
    ("kind", "least"),
    [("loss", 0.53), ("lira-online", 0.72), ("lira-offline", 0.65)],
)
def test_attacks_find_a_known_shift(kind: str, least: float, gaussian: Any) -> None:
    """Phi(1 / sqrt 2) = 0.760 is what anyone can reach; hardly less than that with 20 shadows a side."""
    fit, signals, truth = gaussian
    scores = KINDS[kind](fit, signals)
    ranks = scores.ravel().argsort().argsort()[truth.ravel()]
    members = int(truth.sum())
    others = truth.size - members
    area = (ranks.sum() - members * (members - 1) / 2) / (members * others)
    assert least < area < 0.78


def test_lira_is_the_likelihood_ratio(gaussian: Any) -> None:
    fit, signals, _ = gaussian
    (inside, wide), (outside, broad) = fit.side(True), fit.side(False)
    log_ratio = dp_normal(signals, inside, wide) - dp_normal(signals, outside, broad)
    np.testing.assert_allclose(fit.lira_online(signals), log_ratio, atol=1e-9)
    np.testing.assert_allclose(inside - outside, 1.0, atol=1.5)


def dp_normal(x: Any, mean: Any, variance: Any) -> Any:
    return (
        torch.distributions.Normal(torch.from_numpy(mean), torch.from_numpy(variance).sqrt())
        .log_prob(torch.from_numpy(x))
        .numpy()
    )


LOUD = {"local__epochs": 20, "local__learning_rate": 1.0, "data__side": 16, "data__noise": 80.0}


def test_members_are_found_without_noise_and_hidden_with_it() -> None:
    bare = system("dp_fedavg", privacy__noise="none", privacy__clip=10.0, **LOUD)
    hidden = system("dp_fedavg", **LOUD)
    seen = [
        membership(AttackedUnits(p), "lira-online", worlds=24, keys=KEYS) for p in (bare, hidden)
    ]
    assert seen[0].auc > 0.6 and not seen[0].alarm and seen[0].curve is None
    assert seen[1].auc < 0.6 and not seen[1].alarm
    for rate in seen[1].rates:
        assert rate.least <= rate.hits and rate.false_alarms <= rate.most <= rate.bound
        assert rate.least < rate.bound
    assert min(seen[1].p_values) > 0.01


def test_too_good_an_attack_is_an_alarm(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Far less noise than is accounted: records of a client are told beyond the bound, which exits 5."""
    member = {"epsilon": 5.0, "noise": {"name": "gaussian", "clip": 1.0, "multiplier": 30.0}}
    steps = {"name": "udp_fl", "steps": 12, "sample_rate": 1}
    prepared = system(
        "udp_fl",
        algorithm=steps,
        clients=(member,),
        data__side=28,
        data__noise=120.0,
        local__learning_rate=1.0,
        privacy__rounds=1,
    )
    records = prepared.plan.records[0]
    weak = replace(records, noise=replace(records.noise, multiplier=0.01), epsilon=None)
    target = AttackedUnits(prepared)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "dpacct_training.attacks.worlds.runs",
            _over(replace(prepared.plan, records={0: weak})),
        )
        result = membership(target, "lira-online", worlds=32, keys=KEYS)
        patch.setattr("dpacct_training.experiment.prepare", lambda experiment: prepared)
        assert main(["attack", str(toml), "--shadows", "32", "--quiet"]) == 5
    assert result.alarm, result.p_values
    assert not membership(target, "lira-online", worlds=16, keys=KEYS).alarm
    assert "attack on system reaches what is proved impossible" in capsys.readouterr().err


def _over(plan: Any) -> Any:
    from dpacct_training.attacks import worlds

    real = worlds.runs

    def weaker(target: AttackedUnits, *rest: Any) -> Any:
        return real(replace(target, prepared=replace(target.prepared, plan=plan)), *rest)

    return weaker


# --- inversion


def test_a_linear_model_gives_its_sample_away() -> None:
    """The gradient of one sample is (x, 1) times an error: in closed form, to the last digits."""
    model = Linear(inputs=(1, 5, 5), classes=3)
    rng = np.random.default_rng(0)
    start, x = rng.normal(size=model.dimension), rng.random((1, 1, 5, 5))
    w = torch.from_numpy(start.astype(np.float32))[None]
    update = -model.gradient(w, torch.from_numpy(x.astype(np.float32))[None], torch.tensor([[1]]))
    drawn = invert(model, start, update[0].double().numpy(), np.zeros(25))
    np.testing.assert_allclose(drawn, x.ravel(), atol=1e-5)


def test_a_convolution_gives_its_image_away() -> None:
    """An MNIST digit from one gradient: nearer than the mean image by far."""
    sources.fetch("mnist")
    images = sources.load("mnist").train.x[:64] / 255.0
    keywords = {"channels": (4,), "hidden": (16,), "pool": (1,)}
    model = Module((1, 28, 28), 10, function="cnn", keywords=keywords)
    start = model.initial(np.random.default_rng(0))
    w = torch.from_numpy(start.astype(np.float32))[None]
    x = torch.from_numpy(images[:1].astype(np.float32))
    update = -model.gradient(w, x[None], torch.tensor([[5]]))[0].double().numpy()
    mean = images.mean(axis=0).ravel()
    drawn = invert(model, start, update, mean).clip(0, 1)
    error, without = (float(((z - images[0].ravel()) ** 2).mean()) for z in (drawn, mean))
    assert error < without / 3


@pytest.mark.parametrize("name", ["dp_fedavg", "shares", "prifedsync", "udp_fl"])
def test_inversion_stays_below_its_bound(name: str) -> None:
    result = inversion(AttackedUnits(attacked(name)), 8, keys=KEYS)
    alone, release, releases = result.seen
    assert alone.picked == 1.0 and alone.error < 1e-3 < result.mean_error and alone.bound == 1.0
    assert release.error > result.mean_error  # noise says less than the mean image
    assert not result.alarm
    assert 1 / 8 < release.bound < 1 and releases.least <= releases.bound < 1


@pytest.mark.parametrize("name", ["fed_smp", "pate_fl", "nbafl"])
def test_what_is_no_model_is_not_inverted(name: str) -> None:
    """Votes, masked updates: one sentence before anything is trained."""
    target = AttackedUnits(system(name))
    with pytest.raises(dp.InvalidArgument, match=r"clients send models or whole updates, got"):
        inversion(target, 10, keys=KEYS)


# --- attributes


def test_the_model_adds_little_to_imputation() -> None:
    sources.fetch("adult")
    prepared = system("dp_fedavg", **ADULT)
    result = attribute(AttackedUnits(prepared), "sex", people=1000, keys=KEYS)
    assert 0.6 < result.majority < 0.7 < result.imputed < 0.9
    assert abs(result.model - result.imputed) < 0.05
    with pytest.raises(dp.InvalidArgument, match=r"attribute must be one of marriage, race"):
        attribute(AttackedUnits(prepared), "sx", keys=KEYS)
    with pytest.raises(dp.InvalidArgument, match="data must be one with attributes"):
        attribute(AttackedUnits(system("dp_fedavg")), "sex", keys=KEYS)


ADULT = {"data": {"name": "adult", "clients": 40, "train": 4000}}


# --- the command


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "attacked.toml"
    path.write_text(TEXT + '[algorithm]\nname = "dp_fedavg"\n', encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["loss", "inversion"])
def test_the_command(kind: str, toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = toml.parent / "out"
    words = ["attack", str(toml), "--kind", kind, "--shadows", "16", "--images", "4"]
    assert main([*words, "--out", str(out)]) == 0
    shown = capsys.readouterr()
    assert "guessing" in shown.out.lower() and "epsilon 4 at 0.001" in shown.out
    page = (out / "attack.html").read_text(encoding="utf-8")
    assert ("<svg" in page) == (kind == "loss")
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1 and document["kind"] == kind and len(document["results"]) == 1


def test_variants_are_attacked_one_by_one(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    variants = (
        '[[variant]]\nname = "bare"\n"privacy.noise" = "none"\n[[variant]]\nname = "hidden"\n'
    )
    toml.write_text(toml.read_text() + variants + '"privacy.epsilon" = 2.0\n')
    assert main(["attack", str(toml), "--shadows", "8", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "bare: clients: nothing" in out and "hidden: clients: epsilon 2 at 0.001" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--kind", "lira"], "kind must be one of loss, lira-online"),
        (["--shadows", "3"], "shadows must be a whole number from 8"),
        (["--confidence", "2"], "confidence must be from 0.5 to 1, got 2"),
        (["--kind", "inversion", "--images", "1"], "images must be a whole number from 2 to 40"),
        (["--client", "-1"], "client must be a whole number from 0 to 39"),
        (["--set", "privacy.clp=1"], "did you mean 'clip'?"),
        (["--set", "privacy.noise=nan"], "noise must be a finite number, got nan"),
    ],
)
def test_wrong_input_is_one_sentence(
    words: list[str], says: str, toml: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attack", str(toml), *words]) == 2
    out, err = capsys.readouterr()
    assert says in err and out == "" and err.count("\n") == 1


# --- The audit: that it sounds the alarm where it must, and only there.


WIDE: dict[str, Any] = {
    "data__side": 28,
    "data__classes": 10,
    "data__samples": 1000,
    "data__clients": 1000,
    "local__epochs": 1,
    "privacy__delta": 1e-5,
}
ONE_ROUND = {"privacy__scheme": "none", "privacy__rate": 1, "privacy__rounds": 1}
SAMPLED = {"privacy__rate": 0.05, "privacy__rounds": 30}
FINE, WEAK = Auditing(), Auditing(weaken=10.0)


def proven(result: dp.Audit) -> float:
    assert result.proven is not None
    return float(result.proven)


@pytest.mark.parametrize("name", ["dp_fed_ls", "dp_fedavg_clients"])
def test_one_round(name: str) -> None:
    """Noise 1.0 of the clip: proven 4.38; a tenth of the noise is noticed."""
    prepared = replaced("algorithm", {"name": name}, **WIDE, **ONE_ROUND, privacy__noise=0.3)
    fine, weak = audit(prepared, FINE), audit(prepared, WEAK)
    assert proven(fine) == proven(weak) == pytest.approx(4.38, abs=0.01)
    assert 0.5 < fine.epsilon < proven(fine) and not fine.alarm
    assert weak.alarm and weak.epsilon > fine.epsilon


def test_sampled_rounds() -> None:
    prepared = small(**WIDE, **SAMPLED, privacy__noise=0.8)
    fine, weak = audit(prepared, FINE), audit(prepared, WEAK)
    assert not fine.alarm and weak.alarm
    assert weak.epsilon > proven(weak) > fine.epsilon


def test_samples_of_a_fixed_size() -> None:
    """Replace-one proves more than leaving out can show; a tenth of the noise is noticed all the same."""
    weak = audit(small(**WIDE, **SAMPLED, privacy__scheme="uniform", privacy__noise=0.8), WEAK)
    assert weak.alarm and weak.epsilon > proven(weak)


def test_a_tenth_of_the_noise_over_a_hundred_rounds() -> None:
    """Rate 0.1, noise multiplier 1: proven 4.78, which epsilon alone would not refute."""
    plan = {"privacy__rate": 0.1, "privacy__rounds": 100, "privacy__noise": 0.3}
    wide = WIDE | {"privacy__delta": 1e-3}
    weak = audit(replaced("algorithm", {"name": "dp_fedavg"}, **wide, **plan), WEAK)
    assert proven(weak) == pytest.approx(4.78, abs=0.01)
    assert weak.alarm and weak.epsilon < proven(weak)


def test_a_clip_that_does_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = small(**WIDE, **ONE_ROUND, privacy__noise=0.3)
    monkeypatch.setattr(Gaussian, "bound", lambda self, rows: rows)
    assert audit(prepared, FINE).alarm


LARGE_BUDGET = {"epsilon": 100.0, "noise": {"name": "gaussian", "clip": 1.0, "multiplier": 4.0}}
STAIRCASE = {"epsilon": 5.0, "noise": {"name": "staircase", "clip": 1.0, "eps0": 0.01}}
STEPS = {"name": "udp_fl", "steps": 4, "sample_rate": 0.5}


def test_records() -> None:
    """Canaries among a client's records are as hidden as the plan says, and not with less noise."""
    prepared = system(
        "udp_fl",
        algorithm=STEPS,
        clients=(LARGE_BUDGET,),
        data__side=28,
        data__clients=4,
        local__learning_rate=0.5,
    )
    fine, weak = (audit(prepared, Auditing(canaries=200, weaken=w)) for w in (1.0, 40.0))
    assert not fine.alarm and fine.epsilon <= proven(fine) == proven(weak)
    assert weak.alarm and weak.epsilon >= fine.epsilon


def test_there_is_nothing_to_audit_without_privacy() -> None:
    with pytest.raises(dp.InvalidArgument, match=r"must be a private one .* got fedavg"):
        audit(
            replaced("algorithm", {"name": "fedavg"}, privacy__noise="none"), Auditing(canaries=10)
        )
    with pytest.raises(dp.InvalidArgument, match="canaries must be a whole number from 2 to 40"):
        audit(small(), Auditing(canaries=41))
    with pytest.raises(dp.InvalidArgument, match=r"confidence must be from 0\.5 to 1, got 2"):
        Auditing(confidence=2)
    with pytest.raises(dp.InvalidArgument, match="clients send models or whole updates"):
        audit(system("fed_smp"), Auditing(canaries=10))
    with pytest.raises(
        dp.InvalidArgument, match="weaken must be 1 where the noise is not Gaussian"
    ):
        audit(system("udp_fl", clients=(STAIRCASE,)), Auditing(canaries=10, weaken=2.0))
