"""Whatever is typed: an answer or a sentence, never a traceback, never a number for nonsense."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from dpacct.declare.number import number as read
from tests.cli.runner import run

CODES = {0, 2, 3, 4, 8}
sane = st.sampled_from(["1", "0.5", "2", "1e-5", "0.01", "1/3", "2^-10", "100", "1e-6", "3.7"])
odd = st.sampled_from(
    ["0", "-1", "nan", "inf", "1e308", "1e-308", "1e-300", "1e15", "1e16", "--json", "9^9^9", ""]
)
anything = st.text(max_size=12)
floats = st.floats().map(repr)
value = st.one_of(sane, sane, odd, floats, anything)
words_of = {
    "--adjacency": st.sampled_from(["add-remove", "replace-one", "zero-out", "remove"]),
    "--sampling": st.sampled_from(
        ["poisson", "uniform", "balls-in-bins", "records-per-user", "none", "x"]
    ),
    "--mechanism": st.sampled_from(["gaussian", "laplace", "staircase", "discrete-gaussian"]),
    "--unit": st.sampled_from(["record", "client", ""]),
    "--method": st.sampled_from(["auto", "exact", "rdp", "rdp-mironov", "clt", "certified"]),
}
NUMBERS = ["--sigma", "--noise-multiplier", "--clip", "--b", "--rate", "--batch-size"]
NUMBERS += ["--dataset-size", "--steps", "--epochs", "--eps", "--delta"]
NUMBERS += ["--eps0", "--nu", "--scale", "--sensitivity", "--k"]
option = st.sampled_from([*NUMBERS, *words_of])
command = st.sampled_from(["eps", "delta", "noise", "steps", "compare", "curve"])


def checked(*words: str) -> None:
    done = run(*words)
    assert done.code in CODES, (words, done)
    assert "Traceback" not in done.stderr
    if done.code:
        assert done.stdout == "" or "--json" in words
        assert "--json" in words or done.stderr.startswith("error: ")
    else:
        assert "nan" not in done.stdout.lower().split() and "inf" not in done.stdout.lower().split()


@settings(max_examples=150)
@given(command, st.lists(st.tuples(option, value), max_size=7), st.data())
def test_any_options(name: str, pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    words = [name]
    for key, text in pairs:
        words += [key, data.draw(words_of[key]) if key in words_of else text]
    checked(*words)


@settings(max_examples=150)
@given(
    st.one_of(floats, anything, odd), st.sampled_from(["--sigma", "--rate", "--steps", "--delta"])
)
def test_one_value_of_a_good_command(text: str, which: str) -> None:
    good = {"--sigma": "1.1", "--rate": "0.01", "--steps": "1000", "--delta": "1e-5"}
    words = [word for pair in (good | {which: text}).items() for word in pair]
    done = run("eps", *words, "--quiet", "--method", "exact")
    assert done.code in CODES
    if done.code == 0:
        assert math.isfinite(float(done.stdout)) and float(done.stdout) >= 0
        inside = {
            "--sigma": lambda x: x > 0,
            "--rate": lambda x: 0 < x <= 1,
            "--steps": lambda x: x >= 1 and x.denominator == 1,
            "--delta": lambda x: 0 < x < 1,
        }
        assert inside[which](read(text))
    else:
        assert done.stdout == "" or "--json" in words


@given(st.text(max_size=60))
def test_any_words(text: str) -> None:
    checked(*text.split())
