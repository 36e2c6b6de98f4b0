"""Words, trees, charts, Markdown and plain text: whatever the plan, nothing is lost or broken."""

import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.plan.words import WordTree, branches, phrase
from dpacct.report.document import WIDTH, ReportDocument, ReportSection, escaped
from dpacct.report.plots.chart import Axis, Chart, Line
from dpacct.shuffling.shuffle import Shuffle
from tests.plans import plans


def size(branch: WordTree) -> int:
    return 1 + sum(map(size, branch.parts))


@given(plans())
def test_every_plan_has_words_and_a_tree(plan: dp.Node) -> None:
    tree = branches(plan)
    lines = tree.lines()
    assert len(lines) == size(tree)
    assert all(line.strip() and "{" not in line for line in lines)
    assert "{" not in phrase(plan) and phrase(plan)
    total = sum(count for _, count in plan.releases())
    if isinstance(plan.to_dict().get("steps"), int) and plan.to_dict()["of"]["node"] == "laplace":
        assert phrase(plan).startswith(f"{total:,} step{'' if total == 1 else 's'} of Laplace")


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        (dp.Laplace(b=2), "1 step of Laplace noise (b 2)"),
        (dp.Laplace(b=2) * 7, "7 steps of Laplace noise (b 2)"),
        (
            dp.Poisson("1/3")(dp.Gaussian(sigma=1) * 5) * 4,
            "4 rounds, each record in a round with probability 33.3333 %: 5 steps of Gaussian noise"
            " (sigma 1)",
        ),
        (
            dp.WithoutReplacement("0.5")(dp.Gaussian(noise_multiplier=2, clip=3)).under(
                unit="user"
            ),
            "1 step of Gaussian noise (noise multiplier 2, clip 3), each on a random 50 % of the users,"
            " of fixed size",
        ),
        (
            dp.Gaussian(sigma=2.123456789012345),
            "1 step of Gaussian noise (sigma about 2.12346)",
        ),
        (
            (dp.Laplace(b=1) + dp.PureDP(epsilon=1)) * 3,
            "3 rounds of (1 step of Laplace noise (b 1); then 1 step of a mechanism known only by its"
            " epsilon (epsilon 1))",
        ),
    ],
)
def test_phrases(plan: dp.Node, wanted: str) -> None:
    assert phrase(plan) == wanted


def test_every_kind_of_node_has_a_name() -> None:
    """A kind without one is called by its kind, in quotes."""
    for leaf in (
        *(dp.Staircase(eps0=1), dp.RandomizedResponse(eps0=1), dp.LocalRandomizer(eps0=1)),
        *(dp.DiscreteGaussian(scale=2), dp.DiscreteLaplace(scale=2), dp.PureDP(epsilon=1)),
        *(dp.ApproxDP(epsilon=1, delta=1e-9), dp.ZCDP(rho=1), dp.ExponentialMechanism(eps0=1)),
        *(dp.Participation("0.5")(dp.Laplace(b=1)), Shuffle(eps0=1, clients=100)),
    ):
        assert "'" not in phrase(leaf)


def test_a_plan_made_of_a_function_is_told_by_its_print() -> None:
    custom = dp.Custom(rdp=lambda order: 0.1 * order).under("add-remove", unit="user")
    assert phrase(custom) == str(custom) == branches(custom).label
    result = dp.Report.of(custom, delta=1e-5)
    assert result.to_dict()["plan"] is None and result.to_dict()["reproduce"]["plan_sha256"] == ""
    assert "SHA-256" not in result.to_text()


def test_a_declaration_is_told_once() -> None:
    inner = dp.Gaussian(sigma=1).under(unit="client") * 2
    lines = branches(inner.under("add-remove", unit="client")).lines()
    assert lines[0] == "under add-remove adjacency, one unit is one client"
    assert sum("client" in line for line in lines) == 1


NUMBERS = st.floats(-1e9, 1e9) | st.floats(1e-300, 1e300) | st.sampled_from([0.0, float("nan")])


def test_a_chart_is_an_svg_whatever_its_words() -> None:
    words = 'costs $5 & <b>more</b> than "$6", 7 %'
    x = np.array([1.0, 2.0, 3.0])
    lines = (Line("low", "low", np.array([1.0, math.nan, 3.0])), Line("high", "high", x + 1))
    chart = Chart("", Axis("x", "x"), Axis("y", "y"), x, lines, words)
    root = ElementTree.fromstring(chart.to_svg())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.attrib["aria-label"] == words and root.attrib["role"] == "img"
    assert words in "".join(root.itertext())
    assert not any("nan" in path.attrib["d"] for path in root.iter(f"{root.tag[:-3]}path"))


@given(st.text(max_size=30))
def test_markdown_keeps_a_text_in_its_cell(text: str) -> None:
    cell = escaped(text)
    assert "\n" not in cell and not re.search(r"(?<!\\)(?:\\\\)*[|`<]", cell)


def test_plain_text_is_narrow() -> None:
    wide = ReportSection(
        title="wide",
        paragraphs=("word " * 60,),
        head=("a", "b", "c"),
        rows=(("x " * 40, "y " * 30, "z " * 20), ("short", "", "")),
        items=("item " * 40,),
    )
    text = ReportDocument(
        title="t", lead="lead " * 40, warnings=("warn " * 40,), sections=(wide,)
    ).to_text()
    assert max(map(len, text.splitlines())) <= WIDTH
    assert text.count("word") == 60 and text.count("z ") + text.count("z\n") == 20


def test_a_plan_of_many_parts_is_told_in_a_sentence_that_ends() -> None:
    many = dp.Gaussian(sigma=2)
    for k in range(150):
        many = many + dp.Gaussian(sigma=3 + k)
    result = phrase(many)
    assert result.endswith("; then 143 more parts") and result.count("; then ") == 8
    lines = branches(many).lines()
    assert len(lines) == 102 and lines[-1] == "└─ and 51 more, which the JSON form lists"
