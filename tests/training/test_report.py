"""A run's report: what the run knows of its assumptions, and what it says where nothing is guaranteed."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import cache

import pytest

import dpacct as dp
from dpacct_training.experiment import Prepared
from dpacct_training.report import curves, report, without_guarantee
from dpacct_training.run import FinishedRun, Session
from tests.training.experiments import small
from tests.training.systems import system

pytestmark = pytest.mark.usefixtures("bare_reports")


@cache
def ran(**changes: object) -> tuple[Prepared, FinishedRun]:
    prepared = small(privacy__rounds=3, **changes)
    return prepared, Session(prepared).finish()


def made(**changes: object) -> dp.Report:
    written = report(*ran(**changes), command="dpacct-train run small.toml")
    assert written is not None
    return written


def statuses(written: dp.Report) -> dict[str, str]:
    return {row.key: str(row.status) for row in written.assumptions}


def test_the_guarantee_is_the_plan_s() -> None:
    prepared, result = ran()
    written = made()
    assert result.spent is not None and prepared.plan.tree is not None
    assert float(written.answer) == pytest.approx(float(result.spent), rel=1e-9)
    assert written.delta == prepared.cohort.delta and written.answer.unit == "client"
    step = dp.Poisson("0.25")(
        dp.Gaussian(noise_multiplier=prepared.cohort.multiplier(), clip="0.3")
    )
    assert written.plan.equivalent((step * 3).under("add-remove", unit="client"))
    titles = [section.title for section in written.document().sections]
    assert titles[:3] == ["Result", "What ran", "Numbers"] and titles[-2] == "Settings"


def test_the_sentence_has_the_experiment_s_own_clip() -> None:
    assert "clip 0.3" in made().statement or "clip=0.3" in str(made().plan), made().statement
    assert "clip 1" not in made().to_markdown().split("## Settings")[0]
    moving = made(algorithm__name="adaptive_clip").to_markdown().split("## Settings")[0]
    assert "clip=1" not in moving  # which moves from round to round
    assert (
        "on each of 1 numbers, clip 1" in moving
    )  # a client moves the count of short updates by 1


def test_missing_answers_are_said() -> None:
    prepared, result = ran()
    lossy = replace(result, state=replace(result.state, missing={"no answer": 7, "wrong rows": 2}))
    written = report(prepared, lossy)
    lost = f"9 of {9 + sum(result.state.sizes)} answers are missing (7 no answer, 2 wrong rows)"
    assert written is not None and lost in written.to_markdown()


def test_what_was_counted_is_held_and_a_seed_is_no_secret() -> None:
    said = statuses(made())
    assert said["sensitivity"] == "held" and said["arithmetic"] == "held"
    assert said["randomness"] == "declared" and said["secret-sample"] == "declared"
    assert "secure-sum" not in said
    assert "whoever knows the seed" in made().to_markdown()


def test_a_secret_key_and_the_clients_noise() -> None:
    prepared, result = ran(algorithm__name="dp_fedavg_clients")
    written = report(prepared, replace(result, key_source="operating system"))
    assert written is not None
    said = statuses(written)
    assert said["randomness"] == "held" and said["secure-sum"] == "unknown"
    assert "nobody can replay it" in written.to_markdown()


@pytest.mark.parametrize(("name", "believed"), [("dp_fedavg_clients", True), ("dp_fed", False)])
def test_what_hosts_elsewhere_measured_is_their_word(name: str, believed: bool) -> None:
    """Where the server draws, nothing of theirs has to be believed."""
    prepared, result = ran(algorithm__name=name) if believed else ran()
    for local in (True, False):
        written = report(prepared, replace(result, local=local))
        assert written is not None
        assert ("remote-meters" in statuses(written)) == (believed and not local)


def test_a_failed_check_is_above_everything() -> None:
    prepared, result = ran()
    wrong = dp.Assumption(
        "the noise was at least the accounted one",
        "checked: 0.1 was added, 1 was accounted",
        dp.Assumption("x").status.parse("violated"),
        "noise.size",
    )
    written = report(prepared, replace(result, checks=(wrong,)))
    assert written is not None and [row.key for row in written.violated] == ["noise"]
    assert "does not hold" in written.warnings[0] and "0.1 was added" in written.warnings[1]


def test_a_theorem_s_own_epsilon_is_no_guarantee() -> None:
    changes = {"privacy__noise": "dp_fed_ls.theorem1", "privacy__scheme": "uniform"}
    written = made(**changes, privacy__epsilon=20, privacy__rate=0.05)
    published = [a for a in written.others if a.method == "dp_fed_ls.theorem1"]
    assert len(published) == 1 and published[0].value > 2 * float(written.answer)
    assert "not a guarantee: as a paper prints it" in written.to_markdown()


def test_the_paper_s_own_noise_is_said_beside_what_it_guarantees() -> None:
    written = made(algorithm__name="dp_fedavg", privacy__noise="as-printed").to_markdown()
    assert "is the epsilon of this report; the paper says 8." in written
    prepared = system("udp_fl", privacy__noise="as-printed", privacy__rounds=1)
    printed = report(prepared, Session(prepared).finish())
    assert printed is not None
    said = printed.to_markdown()
    assert "accounted as the paper does, " in said and "of another norm than" in said


def test_nothing_is_promised_without_noise() -> None:
    prepared, result = ran(
        algorithm__name="fedavg", privacy__clip=None, privacy__epsilon=None, privacy__delta=None
    )
    assert report(prepared, result) is None
    page = without_guarantee(prepared, result)
    assert page.lead.startswith("No privacy is guaranteed")
    assert "epsilon" not in page.to_markdown().split("## Settings")[0]
    assert "<h1>Report: small</h1>" in page.to_html()
    prepared, result = ran(algorithm__name="dp_fedavg", privacy__noise="none")
    assert without_guarantee(prepared, result).lead.endswith("no noise was added.")


def test_pictures_are_drawn_of_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epsilon is a staircase: what holds for a round holds until the next one that was priced."""
    rows = [
        {"round": 1, "accuracy": 0.25, "epsilon": 0.5},
        {"round": 2, "accuracy": 0.5, "epsilon": 0.75},
        {"round": 5, "accuracy": 0.75},
    ]
    drawn: list[dp.plots.Chart] = []
    to_svg = dp.plots.Chart.to_svg

    def seen(chart: dp.plots.Chart) -> str:
        drawn.append(chart)
        return to_svg(chart)

    monkeypatch.setattr(dp.plots.Chart, "to_svg", seen)
    made = curves(rows)
    assert list(made) == ["accuracy", "epsilon"] and not curves([])
    assert list(drawn[0].lines[0].values) == [25, 50, 75]
    steps = zip(drawn[1].points, drawn[1].lines[0].values, strict=True)
    assert list(steps) == [(1, 0.5), (2, 0.5), (2, 0.75)]
    for svg, caption in made.values():
        assert ElementTree.fromstring(svg).attrib["role"] == "img" and caption.endswith(".")
    assert list(curves(rows[2:])) == ["accuracy"]
