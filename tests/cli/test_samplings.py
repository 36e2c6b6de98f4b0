"""Words for how samples are drawn: each sampler brings its own, and every command takes them."""

import pytest

import dpacct as dp
from tests.cli.runner import line

BINS = "--sigma 2 --rate 0.1 --sampling balls-in-bins --epochs 1"
USER = "--sigma 1.1 --rate 0.01 --steps 1000 --records-per-user 2"
PLANS = {
    BINS: dp.BallsInBins(10)(dp.Gaussian(sigma=2)),
    USER: dp.RecordsPerUser(2, "0.01")(dp.Gaussian(sigma="1.1")) * 1000,
}


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
