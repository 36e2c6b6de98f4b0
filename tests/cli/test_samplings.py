"""Words for how samples are drawn: each sampler brings its own, and every command takes them."""

import json
from pathlib import Path

import pytest

import dpacct as dp
from tests.cli.runner import line

BINS = "--sigma 2 --rate 0.1 --sampling balls-in-bins --epochs 1"
USER = "--sigma 1.1 --rate 0.01 --steps 1000 --records-per-user 2"
PLANS = {
    BINS: dp.BallsInBins(10)(dp.Gaussian(sigma=2)),
    USER: dp.RecordsPerUser(2, "0.01")(dp.Gaussian(sigma="1.1")) * 1000,
}


@pytest.mark.parametrize("words", PLANS)
def test_each_command_answers_about_the_same_plan(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (
        words == BINS
    ):  # of which each other method takes seconds to find a noise, beside the one that is asked
        monkeypatch.setattr("dpacct.answer.ask.alternatives", lambda *_, **__: ())
    plan = PLANS[words]
    delta = "1e-6" if words == BINS else "1e-5"
    file = tmp_path / "plan.toml"
    shown = json.loads(
        line(f"eps {words} --delta {delta} --method exact --save {file} --json").stdout
    )
    epsilon = plan.epsilon(delta=delta, method="exact")
    assert shown["upper"] == epsilon.upper
    again = line(f"compose {file} --delta {delta} --method exact --quiet").stdout
    assert again == line(f"eps {words} --delta {delta} --method exact --quiet").stdout
    back = json.loads(line(f"delta {words} --eps 1 --method exact --json").stdout)
    assert back["upper"] == plan.delta(1, method="exact").upper
    asked = [f"risk {words}", f"compare {words} --delta {delta}"]
    if words == USER:  # of bins a report takes seconds
        asked.append(f"report {words} --delta {delta} --unit user --adjacency add-remove")
    assert [line(command).code for command in asked] == [0] * len(asked)
    noise = words.split(maxsplit=2)[2]
    least = json.loads(line(f"noise {noise} --eps 1 --delta {delta} --method exact --json").stdout)
    assert least["upper"] > 0.5


def test_steps_of_bins_are_whole_epochs() -> None:
    words = "--sigma 2 --rate 0.1 --sampling balls-in-bins --eps 2 --delta 1e-6 --method exact"
    count = int(line(f"steps {words} --quiet").stdout)
    epoch = dp.BallsInBins(10)(dp.Gaussian(sigma=2))
    within = (epoch * (count // 10)).epsilon(delta="1e-6", method="exact").upper
    beyond = (epoch * (count // 10 + 1)).epsilon(delta="1e-6", method="exact").lower
    assert count % 10 == 0 and within is not None and beyond is not None and within <= 2 < beyond


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--rate 0.03 --sampling balls-in-bins --steps 3", "--rate must be 1 / the steps of an"),
        ("--rate 0.01 --sampling balls-in-bins --steps 150", "whole epochs of 100 steps"),
        ("--sampling balls-in-bins --steps 100", "balls-in-bins needs --rate"),
        ("--rate 0.01 --sampling records-per-user --steps 3", "needs --records-per-user"),
        ("--rate 0.01 --sampling uniform --records-per-user 3 --steps 3", "belongs to --sampling"),
        ("--records-per-user 3 --steps 3", "records-per-user needs --rate"),
        ("--rate 1 --records-per-user 3 --steps 3", "--rate must be below 1"),
        ("--rate 0.1 --records-per-user 3 --steps 3 --adjacency replace-one", "add-remove"),
    ],
)
def test_what_does_not_fit_is_said(words: str, sentence: str) -> None:
    refused = line(f"eps --sigma 1 --delta 1e-6 {words}")
    assert refused.code == 2 and sentence in refused.stderr


def test_the_unit_of_several_records_is_a_user() -> None:
    shown = line(f"eps {USER} --delta 1e-5 --method exact").stdout
    assert "2 records of each user" in shown and "one user, added or removed" in shown
    assert "each record's contribution is clipped" in " ".join(shown.split())
    assert "one client" in line(f"eps {USER} --delta 1e-5 --unit client").stdout


def test_a_sampler_of_one_file_has_its_word_everywhere() -> None:
    from dpacct.plan.samplers.steps import SAMPLING, Sampler

    words = Sampler.by_word
    assert set(words) | {"none"} == set(SAMPLING.choices)
    helped = "".join(line("eps --help").stdout.split())
    meant = [f"{word}: {sampler.means}".replace(" ", "") for word, sampler in words.items()]
    assert all(text in helped for text in meant)
