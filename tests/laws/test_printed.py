"""What is printed, in any form, reads back to an interval that contains the answer: never to less.

Numbers are rounded to few digits on the way to a reader. An upper end may only grow by that, a lower end
only fall, and a delta beside an epsilon may only grow: (epsilon, delta) is still what holds.
"""

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.answer.answer import bounded, interval
from dpacct.cli import screens
from tests.cli.runner import run
from tests.laws.catalogue import powers

Ends = tuple[Decimal | None, Decimal | None]
NUMBER = r"(\d[\d.]*(?:e[+-]?\d+)?)"
BRACKET = re.compile(rf"\[{NUMBER}, {NUMBER}\]")
LOOSE = Decimal("1.011")
"""The most that rounding to the fewest digits in use, three, may add."""


def decimal(value: float | str) -> Decimal:
    """The decimal number that is written; `repr` says which one a float stands for."""
    return Decimal(value if isinstance(value, str) else repr(value))


class Cells(HTMLParser):
    """The text of a table's cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@st.composite
def answers(draw: st.DrawFn) -> dp.Answer:
    """Two-sided or one-sided, of all sizes and widths."""
    lower = draw(powers(-290, 290) | powers(-9, 3))
    lower *= draw(st.floats(1.0, 10.0))
    upper = lower * (1.0 + draw(st.just(0.0) | powers(-16, 1)))
    side = draw(st.sampled_from(["two-sided", "upper", "lower"]))
    value = {"two-sided": math.sqrt(lower) * math.sqrt(upper), "upper": upper, "lower": lower}[side]
    return dp.Answer(
        quantity="epsilon",
        value=min(max(value, lower), upper),
        lower=None if side == "upper" else lower,
        upper=None if side == "lower" else upper,
        side=side,  # type: ignore[arg-type]
        strength="bound",  # type: ignore[arg-type]
        method="exact",
        safe_end="lower" if side == "lower" else "upper",
    )


def in_a_line(answer: dp.Answer) -> Ends:
    line = str(answer)
    if bracket := BRACKET.search(line):
        return decimal(bracket[1]), decimal(bracket[2])
    sign, number = line.split()[1:3]
    low, high = decimal(number), decimal(number)
    return None if sign == "<=" else low, None if sign == ">=" else high


def in_a_report(answer: dp.Answer) -> Ends:
    text = interval(answer)
    if bracket := BRACKET.match(text):
        return decimal(bracket[1]), decimal(bracket[2])
    number = decimal(text.split()[-1])
    return None if "most" in text else number, None if "least" in text else number


def in_details(answer: dp.Answer) -> Ends:
    """`epsilon <= 1.5`, and the two ends where they are told apart."""
    sign, number = bounded(answer).split()
    lines = "\n".join(screens.detail_lines(answer))
    ends = re.search(rf"between {NUMBER} and {NUMBER}", lines)
    if ends is None:
        return (decimal(number), None) if sign == ">=" else (None, decimal(number))
    assert sign == "=" or decimal(number) >= decimal(answer.upper or 0.0)
    return decimal(ends[1]), decimal(ends[2])


def first(screen: screens.Screen) -> Ends:
    """The number that leads, and what the line below it says of both ends."""
    lead = decimal(screen.head.split()[1])
    ends = re.search(rf"between {NUMBER} and {NUMBER}", screen.certainty)
    least = re.search(rf"at least {NUMBER}", screen.certainty)
    if ends:
        assert lead >= decimal(ends[2])
        return decimal(ends[1]), decimal(ends[2])
    if screen.answer.safe_end == "lower":
        return lead, None
    return None if least is None else decimal(least[1]), lead


def on_a_screen(answer: dp.Answer) -> Ends:
    return first(screens.of_answer(answer, {"delta": Fraction(1, 10**5)}))


def in_json(answer: dp.Answer) -> Ends:
    read = json.loads(json.dumps(answer.to_dict()))
    assert (read["lower"], read["upper"]) == (answer.lower, answer.upper)
    return ends_of({name: repr(read[name]) for name in ("lower", "upper") if read[name]})


def ends_of(row: dict[str, str]) -> Ends:
    lower, upper = (row.get(name) for name in ("lower", "upper"))
    return (lower and decimal(lower)) or None, (upper and decimal(upper)) or None


FORMS: dict[str, Callable[[dp.Answer], Ends]] = {
    "line": in_a_line,
    "report": in_a_report,
    "details": in_details,
    "screen": on_a_screen,
    "json": in_json,
}


def contains(read: Ends, lower: float | None, upper: float | None) -> None:
    """What was read lies around the answer, and hardly wider."""
    low, high = read
    assert low is not None or high is not None
    if low is not None:
        assert lower is not None and decimal(lower) / LOOSE <= low <= decimal(lower), (low, lower)
    if high is not None:
        assert upper is not None and decimal(upper) <= high <= decimal(upper) * LOOSE, (high, upper)


@pytest.mark.parametrize("form", FORMS)
@given(answer=answers())
def test_an_answer(form: str, answer: dp.Answer) -> None:
    contains(FORMS[form](answer), answer.lower, answer.upper)


@given(st.floats(-1e6, -720))
def test_an_answer_below_the_floats(log_value: float) -> None:
    about = {"quantity": "delta", "method": "exact", "strength": "bound", "side": "upper"}
    answer = dp.Answer(**about, value=0.0, upper=5e-324, log_value=log_value)  # type: ignore[arg-type]
    for text in (
        str(answer).split()[2],
        screens.of_answer(answer, {"epsilon": Fraction(1)}).head.split()[1],
    ):
        assert decimal(text).ln() >= decimal(log_value)


@given(st.fractions(0, 1).filter(bool))
def test_the_delta_that_stands_beside_an_epsilon(delta: Fraction) -> None:
    """A larger delta holds too, a smaller one need not; nor need a smaller epsilon."""
    answer = dp.PureDP(epsilon=1).epsilon(delta=0)
    for head in (
        screens.of_answer(answer, {"delta": delta}).head,
        screens.of_answer(answer, {"epsilon": delta}).head,
        screens.target(Fraction(1), delta),
    ):
        assert delta <= Fraction(head.split()[-1]) <= delta * Fraction(LOOSE)


# --- the same through whole commands: the words' ends are around those of the JSON

PLANS = (
    "--sigma 1.7 --rate 0.0123 --steps 321",
    "--b 3.3 --steps 4",
    "--sigma 2 --sampling uniform --rate 0.05 --steps 20",
    "--sigma 3.3 --steps 4 --method rdp",
)
STATED = ("--unit", "user", "--delta", "3.00071e-5")


@pytest.mark.parametrize("plan", PLANS)
def test_commands(plan: str, tmp_path: Path) -> None:
    asked = ("eps", *plan.split(), *STATED)
    answer = run(*asked, "--json").json
    head, *lines = run(*asked, "--details").stdout.splitlines()
    assert Fraction(head.split()[-1]) >= Fraction("3.00071e-5")
    assert decimal(head.split()[1]) >= decimal(answer["upper"])
    assert decimal(run(*asked, "--quiet").stdout.strip()) >= decimal(answer["upper"])
    for ends in re.findall(rf"between {NUMBER} and {NUMBER}", "\n".join(lines)):
        contains((decimal(ends[0]), decimal(ends[1])), answer["lower"], answer["upper"])
    adjacency = ("--adjacency", answer["adjacency"])
    for form in ("text", "markdown", "html"):
        page = run("report", *plan.split(), *STATED, *adjacency, "--format", form).stdout
        page = " ".join(Cells(page).texts) if form == "html" else page.replace("\\", "")
        ends = BRACKET.search(page)
        if answer["lower"] is None:
            most = re.search(rf"at most {NUMBER}", page)
            assert most is not None
            contains((None, decimal(most[1])), None, answer["upper"])
            continue
        assert ends is not None
        contains((decimal(ends[1]), decimal(ends[2])), answer["lower"], answer["upper"])


def test_an_audit() -> None:
    """A lower bound with confidence, rounded down in words and in the picture's title."""
    source = np.random.default_rng(3)
    plan = dp.Gaussian(sigma="0.7")
    audit = dp.audit(
        source.normal(3.0, 1.0, 400), source.normal(0.0, 1.0, 400), delta="1e-5", against=plan
    )
    assert audit.proven is not None
    for text in (str(audit), audit.chart().title):
        least, most = re.findall(rf"(?:at least|at most) {NUMBER}", text)[:2]
        assert decimal(least) <= decimal(audit.epsilon)
        assert decimal(most) >= decimal(float(audit.proven))
    for bound, text in zip(audit.bounds, audit.facts_shown().values(), strict=True):
        assert decimal(str(text).split()[3]) <= decimal(bound.epsilon)


def test_the_truth_in_a_table_of_a_paper() -> None:
    rows = run("tables", "dp_fed_ls", "--json").json
    printed = run("tables", "dp_fed_ls").stdout
    read = iter(BRACKET.findall(printed))
    for row in rows:
        ends = row["exact"]
        if ends is not None and ends["upper"] - ends["lower"] > 1e-6 * ends["upper"]:
            low, high = map(decimal, next(read))
            contains((low, high), ends["lower"], ends["upper"])
    assert next(read, None) is None
