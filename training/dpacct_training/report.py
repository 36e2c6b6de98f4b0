"""The report of a run: dpacct's report, with the run's own sections and checks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import dpacct as dp
from dpacct_training import accounts
from dpacct_training.accounts import RUN
from dpacct_training.experiment import Prepared
from dpacct_training.folder import Row
from dpacct_training.plan import EACH, SERVER, SHARES
from dpacct_training.run import FinishedRun

_SEEDED = (
    "replayable by its seed: whoever knows the seed knows the noise. For data that are not public, "
    "run without a seed"
)
_SECURE = "keyed by the operating system, and the key is gone: nobody can replay it"
_FLOATS = "AES-256-CTR, Box-Muller, float64; not a lattice: Mironov (2012) applies"
_LATTICE = (
    "AES-256-CTR; sums and noise are whole multiples of a step, the noise a discrete Gaussian to within"
    " 2^-115, accounted as the continuous one of which it is a post-processing"
)
_SIZES = (
    "the realised numbers of clients (in this report, the ledger, metrics.jsonl and the checkpoint)"
    " are for the one who runs this: the guarantee covers the released models, not these numbers"
)
_SHARES = (
    "The noise is the sum of what the clients added. Who sees single messages, or adds no share, "
    "leaves the others with less noise."
)
_WORD = "their meters are believed: a host that draws less and says otherwise is not noticed here"
_WITHOUT = (
    "the data of clients at such a host have less noise; where it draws shares, so have those of"
    " all others"
)
_NOTHING = "No privacy is guaranteed: no noise was added."
Pictures = Sequence[tuple[str, str]]
"""(picture, caption) of each."""
_DRAWN_BY = {
    SERVER: "drawn by the server",
    SHARES: "drawn by the clients in shares, and by the server where shares are missing",
    EACH: "drawn whole by each client",
}


def report(
    prepared: Prepared, result: FinishedRun, command: str = "", pictures: Pictures = ()
) -> dp.Report | None:
    """The report of a finished run; None where nothing is guaranteed.

    Where each client has an account of its own, the report is about the one that has spent most.
    """
    spent, name = result.spent, result.account
    if spent is None or name is None:
        return None
    account, whose = prepared.plan.accounts[name], "one record of a participant"
    step = prepared.plan.stated(name, prepared.algorithm.fixed_clip)
    return dp.Report.of(
        (step * result.charged[name]).under(spent.adjacency, unit=spent.unit),
        delta=account.delta,
        method=_published(prepared),
        assumptions=_declared(prepared, result),
        checks=result.checks,
        about={
            "name": prepared.experiment.name,
            "output": "the model after every round",
            "unit": "one participant with all of its samples" if name == RUN else whose,
            "unprotected": "test and validation accuracies below were measured on data of their own;"
            f" {_SIZES}.",
        },
        command=command,
        sections=_sections(prepared, result, pictures),
        appendix=_appendix(prepared),
    )


def without_guarantee(
    prepared: Prepared, result: FinishedRun, pictures: Pictures = ()
) -> dp.ReportDocument:
    """The report of a run without a guarantee."""
    return dp.ReportDocument(
        title=f"Report: {prepared.experiment.name}",
        lead=_NOTHING,
        sections=(*_sections(prepared, result, pictures), *_appendix(prepared)),
    )


def _published(prepared: Prepared) -> str:
    """The theorem that set the noise, whose own epsilon is told beside the true one."""
    noise, tree = prepared.cohort.noise, prepared.plan.tree
    if not isinstance(noise, str) or tree is None or "." not in noise:
        return "auto"
    try:
        tree.epsilon(delta=prepared.cohort.delta or 0, method=noise)
    except dp.DpacctError:
        return "auto"
    return noise


def on_a_lattice(prepared: Prepared) -> bool:
    """Return whether every noise of the plan is drawn in whole steps."""
    noises = prepared.plan.noise.values()
    return not prepared.plan.records and all(noise.exact for noise in noises)


def _declared(prepared: Prepared, result: FinishedRun) -> dict[str, Any]:
    """The assumptions that the run itself can vouch for."""
    plan, cohort = prepared.plan, prepared.cohort
    bounded = sum(count for name, count in result.executed.items() if name.endswith("clipped"))
    evidence = f"counted: {bounded} rows were clipped, each where the plan says"
    if plan.records:
        evidence = "the gradient of each record was clipped inside its client, before the noise"
    declared: dict[str, Any] = {
        "sensitivity": {"status": "held", "evidence": evidence},
        "randomness": {
            "status": "declared" if result.key_source == "seed" else "held",
            "evidence": _SEEDED if result.key_source == "seed" else _SECURE,
        },
        "arithmetic": {"status": "held", "evidence": _LATTICE}
        if on_a_lattice(prepared)
        else {"status": "unknown", "evidence": _FLOATS},
        "fixed-plan": {
            "status": "declared",
            "evidence": "the ledger was given the plan before the first round; settings that were"
            " chosen by earlier runs on the same data are not counted",
        },
    }
    if cohort.scheme != "none" and RUN in plan.accounts:
        declared["secret-sample"] = {"status": "declared", "evidence": _SIZES}
    if not result.local and (plan.by != SERVER or plan.records):
        declared["remote-meters"] = {
            "status": "declared",
            "text": "hosts on other machines drew the noise that they say they measured",
            "evidence": _WORD,
            "effect": _WITHOUT,
        }
    if plan.by == SHARES:
        declared["secure-sum"] = {
            "status": "unknown",
            "text": "only the sum of the clients' messages is seen, and each adds its share of noise",
            "evidence": "simulated here",
            "effect": _SHARES,
        }
    return declared


def _sections(
    prepared: Prepared, result: FinishedRun, pictures: Pictures
) -> tuple[dp.ReportSection, ...]:
    experiment, setting, plan = prepared.experiment, prepared.setting, prepared.plan
    model = setting.model
    paragraphs = [
        f"Test accuracy {100 * result.test_accuracy:.2f} % (loss {result.test_loss:.4f}) on "
        f"{len(setting.federation.test)} samples, after {plan.cohort.rounds} rounds in "
        f"{result.seconds:.1f} s. {prepared.algorithm.name} ({prepared.algorithm.source}), model "
        f"{model.name} with {model.dimension} weights."
    ]
    if result.personal is not None:
        paragraphs.append(
            f"The clients' own models: {100 * result.personal:.2f} % on average, each on its own "
            "training samples."
        )
    if result.state.missing:
        paragraphs.append(f"{missing_answers(result)}. The guarantee does not depend on them.")
    for name, noise in plan.noise.items():
        if noise.node is not None:
            paragraphs.append(
                f"Noise on the sum of each {name}: standard deviation {noise.variance**0.5:.6g} on"
                f" each of {noise.size} numbers, clip {noise.clip:g}, {_DRAWN_BY[plan.by]}."
            )
    said = prepared.algorithm.paper_says(plan)
    paragraphs += [said] if said else []
    if prepared.as_printed:
        paragraphs.append(_as_printed(prepared, result))
    if plan.accounts and plan.enforced and prepared.cohort.epsilon is not None:
        paragraphs.append(f"Target epsilon {prepared.cohort.epsilon:g}.")
    if experiment.reduced:
        paragraphs.insert(0, "Reduced: smaller than the paper's setting; not a reproduction.")
    paragraphs += [line for line in (experiment.source, experiment.note) if line]
    outcome = dp.ReportSection(
        title="Result", paragraphs=tuple(paragraphs), pictures=tuple(pictures)
    )
    return (outcome, _ran(prepared, result), *_clients(prepared, result))


def missing_answers(result: FinishedRun) -> str:
    """The number of answers that a run lost, with the reasons."""
    lost = sum(result.state.missing.values())
    why = ", ".join(f"{count} {reason}" for reason, count in sorted(result.state.missing.items()))
    return f"{lost} of {lost + sum(result.state.sizes)} answers are missing ({why})"


def _as_printed(prepared: Prepared, result: FinishedRun) -> str:
    """The actual guarantee of the paper's own noise, and the paper's claim."""
    text = "The noise is the paper's own. What it guarantees is the epsilon of this report"
    records = prepared.plan.records.values()
    claims = [
        float(accounts.epsilon(r.claimed, r.rounds(prepared.cohort.rounds), r.delta))
        for r in set(records)
        if r.claimed is not None and r.claimed != r.node and r.rounds(prepared.cohort.rounds)
    ]
    if claims and result.spent is not None:
        text += f", {float(result.spent):.6g}; accounted as the paper does, {max(claims):.6g}"
        text += ": its sensitivity is that of another norm than the one that is clipped"
    elif "epsilon" in prepared.experiment.sections["privacy"]:
        text += f"; the paper says {prepared.experiment.sections['privacy']['epsilon']:g}"
    return text + "."


def _ran(prepared: Prepared, result: FinishedRun) -> dp.ReportSection:
    sizes = result.state.sizes
    rows = [(name, str(n), str(result.executed[name])) for name, n in result.planned.items()]
    rows += [
        (f"{name}: variance over the accounted one", "1", f"{meter.ratio:.6g}")
        for name, meter in result.state.meters.items()
        if meter.numbers
    ]
    asked = f"{min(sizes)} to {max(sizes)}, denominator {prepared.plan.denominator}"
    return dp.ReportSection(
        title="What ran",
        paragraphs=("Counted and measured where it was done, and compared with the plan.",),
        head=("of", "plan", "executed"),
        rows=(*rows, ("clients per round", "", asked)),
    )


def _clients(prepared: Prepared, result: FinishedRun) -> tuple[dp.ReportSection, ...]:
    """The accounts of single clients, equal ones in one row."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for name, answer in result.spent_by.items():
        if name != RUN:
            account = prepared.plan.accounts[name]
            budget = "none" if account.epsilon is None else f"{account.epsilon:g}"
            key = (str(result.charged[name]), f"{float(answer):.6g}", budget)
            groups.setdefault(key, []).append(name.removeprefix("client "))
    if not groups:
        return ()
    rows = [(str(len(clients)), *key, ", ".join(clients[:8])) for key, clients in groups.items()]
    return (
        dp.ReportSection(
            title="Each client's own account",
            paragraphs=("What protects one record of a client, from everyone else.",),
            head=("clients", "rounds charged", "epsilon", "budget", "such as"),
            rows=tuple(rows),
        ),
    )


def _appendix(prepared: Prepared) -> tuple[dp.ReportSection, ...]:
    settings = dp.ReportSection(title="Settings", code=prepared.experiment.to_json())
    tree = prepared.plan.tree
    if tree is None:
        return (settings,)
    return settings, dp.ReportSection(title="Plan, as dpacct reads it", code=tree.to_json())


# --- pictures of the rounds


def curves(rows: list[Row]) -> dict[str, tuple[str, str]]:
    """(picture, caption) of accuracy and epsilon over the rounds, by name; epsilon only where there is one.

    Epsilon is a staircase: a bound for one round holds until the next.
    """
    drawn, chart = {}, dp.plots.Chart.simple
    if rows:
        rounds = [float(row["round"]) for row in rows]
        shares = [100 * row["accuracy"] for row in rows]
        picture = chart("round", "accuracy / %", rounds, shares, title="Accuracy by round")
        caption = "Accuracy by round, on the validation data (test data where none)."
        drawn["accuracy"] = (picture.to_svg(), caption)
    priced = [(float(row["round"]), row["epsilon"]) for row in rows if "epsilon" in row]
    if priced:
        steps = [(x, y) for (_, y), (x, _) in pairwise(priced)]
        x, y = zip(*sorted([*priced, *steps]), strict=True)
        caption = "Epsilon of the rounds so far, an upper bound."
        picture = chart("round", "epsilon so far, at most", x, y, title=caption)
        drawn["epsilon"] = (picture.to_svg(), caption)
    return drawn
