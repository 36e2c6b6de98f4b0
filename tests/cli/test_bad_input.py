"""Nonsense is answered by one sentence that names option, value and range; never by a number."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.runner import Run, line, run

EPS = "eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5"
HUGE = "9" * 10**5
UNIFORM = "eps --sigma 1 --sampling uniform --rate .1 --steps 2 --delta .1"


def is_one_sentence(failed: Run) -> None:
    """Nothing on stdout, one line on stderr, no trace of Python."""
    assert failed.stdout == ""
    assert failed.stderr.startswith("error: ") and failed.stderr.count("\n") == 1, failed.stderr
    assert failed.stderr.rstrip()[-1] in ".?" and len(failed.stderr) < 300
    assert "Traceback" not in failed.stderr and "Error" not in failed.stderr


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (
            "eps --sigma 1 --steps 9 --delta 1e-5 --dataset-size 100 --batch-size 101",
            "--batch-size",
        ),
        ("eps --sigma 1 --delta 1e-5 --rate 0.1 --epochs 1e300", "--epochs"),
        ("steps --sigma 1.1 --rate 0.01 --eps 2 --delta 1e-4001", "--delta"),
    ],
)
def test_values_that_are_good_by_themselves(command: str, option: str) -> None:
    """All others are a law's: tests/laws/test_bad_input.py."""
    failed = line(command)
    assert failed.code == 2 and f"{option} must " in failed.stderr
    is_one_sentence(failed)
    assert line(f"{command} --json").json["error"]["argument"] == option


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("eps --sigma 1 --noise-multiplier 1 --delta 1e-5", "--sigma"),
        ("eps --delta 1e-5", "--sigma"),
        ("eps --sigma 1 --clip 1 --delta 1e-5", "--clip"),
        ("eps --sigma 1 --rate 0.1 --delta 1e-5", "--steps"),
        ("eps --sigma 1 --rate 0.1 --steps 10 --epochs 1 --delta 1e-5", "--steps"),
        ("eps --sigma 1 --epochs 1 --delta 1e-5", "--epochs"),
        (
            "eps --sigma 1 --steps 3 --rate 0.1 --batch-size 1 --dataset-size 9 --delta 1e-5",
            "--rate",
        ),
        ("eps --sigma 1 --steps 3 --batch-size 1 --delta 1e-5", "--dataset-size"),
        ("eps --sigma 1 --steps 3 --dataset-size 9 --delta 1e-5", "--batch-size"),
        ("eps --sigma 1 --steps 3 --sampling poisson --delta 1e-5", "--rate"),
        ("eps --sigma 1 --steps 3 --sampling uniform --delta 1e-5", "--rate"),
        ("eps --sigma 1 --steps 3 --sampling none --rate 0.5 --delta 1e-5", "--sampling"),
        ("eps --sigma 1 --b 1 --delta 1e-5", "--b"),
        ("eps --mechanism laplace --sigma 1 --delta 1e-5", "--sigma"),
        ("eps --mechanism laplace --noise-multiplier 1 --b 1 --delta 1e-5", "--b"),
        ("eps --mechanism laplace --delta 1e-5", "--b"),
        ("eps --mechanism staircase --delta 1e-5", "--eps0"),
        ("eps --mechanism staircase --sigma 1 --delta 1e-5", "--sigma"),
        ("eps --mechanism staircase --eps0 1 --k 3 --delta 1e-5", "--k"),
        ("eps --mechanism discrete-gaussian --eps0 1 --delta 1e-5", "--eps0"),
        ("eps --eps0 1 --delta 1e-5", "--eps0"),
        ("eps --sigma 1", "--delta"),
        ("delta --sigma 1", "--eps"),
        ("noise --eps 1", "--delta"),
        ("noise --delta 1e-5", "--eps"),
        ("steps --sigma 1 --eps 1", "--delta"),
        ("compare --sigma 1", "--delta"),
        ("compare --sigma 1 --eps 1 --delta 1e-5", "--eps"),
        ("compare --eps 1", "--sigma"),
        ("compare", "--eps"),
        ("eps --sigma 1 --sigma 2 --delta 1e-5", "--sigma"),
        ("eps --sigma 1 --delta 1e-5 --delta=1e-5", "--delta"),
        ("eps --sigma 1 --steps 2 --rounds 3 --delta 1e-5", "--steps"),
        ("eps --sigma --delta 1e-5", "--sigma"),
        ("eps --sigma 1 --delta", "--delta"),
        ("eps --sigma 1 --delta 1e-5 --nonsense 3", "--nonsense"),
        (f"{UNIFORM} --adjacency add-remove", "--adjacency"),
    ],
)  # fmt: skip
def test_both_neither_or_unknown(command: str, option: str) -> None:
    failed = line(command)
    assert failed.code == 2
    is_one_sentence(failed)
    assert option in failed.stderr or command.startswith(UNIFORM)
    output = line(command + " --json")
    assert output.code == 2 and output.json["error"]["argument"] == option


@pytest.mark.parametrize(
    "command",
    [
        "steps --sigma 0.3 --eps 0.1 --delta 1e-5",  # one step is too much already
        "noise --eps 0 --delta 1e-300 --steps 10^12",  # more noise than a float can hold,
    ],
)
def test_an_unreachable_target(command: str) -> None:
    failed = line(command)
    assert failed.code == 4
    is_one_sentence(failed)
    entry = line(command + " --json").json["error"]
    assert entry["code"] == 4 and entry["kind"] == "unreachable"


@pytest.mark.parametrize(
    "words",
    [
        ("ledger", HUGE, "no.ledger"),
        ("ledger", "show", HUGE),
        ("eps", "--sigma", HUGE, "--delta", "1e-5"),
        ("audit", "docs/examples/scores.csv", "--score", HUGE),
        ("audit", "docs/examples/scores.csv", "--thresholds", "1e400"),
        ("theorems", "eval", "dp_fed_ls.lemma2", f"tau={HUGE} "),
    ],
)
def test_a_hundred_thousand_digits_are_refused_at_once(words: tuple[str, ...]) -> None:
    started = time.process_time()
    failed = run(*words)
    assert failed.code == 2
    is_one_sentence(failed)
    assert time.process_time() - started < 2


# --- Whatever is typed: an answer or a sentence, never a traceback, never a number for nonsense.


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


@given(st.text(max_size=60))
def test_any_words(text: str) -> None:
    checked(*text.split())
