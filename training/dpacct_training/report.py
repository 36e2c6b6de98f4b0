"""What a run did and what holds of it: dpacct's report, with the run's own sections and checks."""

from __future__ import annotations

from typing import Any

import dpacct as dp
from dpacct_training.plan import CLIENTS
from dpacct_training.plots import curves
from dpacct_training.prepare import Prepared
from dpacct_training.run import Result

_SEEDED = (
    "replayable by its seed: whoever knows the seed knows the noise. For data that are not public, "
    "run without a seed"
)
_SECURE = "keyed by the operating system, and the key is gone: nobody can replay it"
_ARITHMETIC = "AES-256-CTR, Box-Muller, float64; not a lattice: Mironov (2012) applies"
_SIZES = (
    "the realised numbers of clients (in this report, the ledger, metrics.jsonl and the checkpoint)"
    " are for the one who runs this: the guarantee covers the released models, not these numbers"
)
_SHARES = (
    "The noise is the sum of what the clients added. Who sees single messages, or adds no share, "
    "leaves the others with less noise."
)
_NOTHING = "No privacy is guaranteed: updates were neither bounded nor noised."


def report(prepared: Prepared, result: Result, command: str = "") -> dp.Report | None:
    """The report of a finished run; None where nothing is guaranteed."""
    plan, spent = prepared.plan, result.spent
    if spent is None or prepared.delta is None or plan.tree is None:
        return None
    experiment = prepared.experiment
    return dp.Report.of(
        plan.tree.under(spent.adjacency, unit=spent.unit),
        delta=prepared.delta,
        method=_published(prepared),
        assumptions=_declared(prepared, result),
        checks=result.checks,
        about={
            "name": experiment.name,
            "output": "the model after every round",
            "unit": "one participant with all of its samples",
            "setting": "Federated",
            "product": "Machine learning model",
            "unprotected": "test and validation accuracies below were measured on data of their own;"
            f" {_SIZES}.",
            "implementation": f"dpacct_training, noise by {_ARITHMETIC}.",
        },
        command=command,
        sections=_sections(prepared, result),
        appendix=_appendix(prepared),
    )


def without_guarantee(prepared: Prepared, result: Result) -> dp.ReportDocument:
    """What ran, where nothing is guaranteed."""
    return dp.ReportDocument(
        title=f"Report: {prepared.experiment.name}",
        lead=_NOTHING,
        sections=(*_sections(prepared, result), *_appendix(prepared)),
    )


def _published(prepared: Prepared) -> str:
    """The theorem that set the noise, whose own epsilon is told beside the true one."""
    noise = prepared.experiment.sections["privacy"].get("noise", "exact")
    if not isinstance(noise, str) or prepared.plan.tree is None or "." not in noise:
        return "auto"
    try:
        prepared.plan.tree.epsilon(delta=prepared.delta or 0, method=noise)
    except dp.DpacctError:
        return "auto"
    return noise


def _declared(prepared: Prepared, result: Result) -> dict[str, Any]:
    """What the run itself knows of the assumptions."""
    plan, executed = prepared.plan, result.executed
    told: dict[str, Any] = {
        "sensitivity": {
            "status": "held",
            "evidence": f"counted: each of {executed.clips} updates was clipped to {plan.clip:g}",
        },
        "randomness": {
            "status": "declared" if result.key_source == "seed" else "held",
            "evidence": _SEEDED if result.key_source == "seed" else _SECURE,
        },
        "arithmetic": {"status": "unknown", "evidence": _ARITHMETIC},
        "fixed-plan": {
            "status": "declared",
            "evidence": "the ledger was given the plan before the first round; settings that were"
            " chosen by earlier runs on the same data are not counted",
        },
    }
    if plan.scheme != "none":
        told["secret-sample"] = {"status": "declared", "evidence": _SIZES}
    if plan.noise_by == CLIENTS:
        told["secure-sum"] = {
            "status": "unknown",
            "text": "only the sum of the clients' messages is seen, and each adds its share of noise",
            "evidence": "simulated here",
            "effect": _SHARES,
        }
    return told


def _sections(prepared: Prepared, result: Result) -> tuple[dp.ReportSection, ...]:
    experiment, federation, plan = prepared.experiment, prepared.federation, prepared.plan
    paragraphs = [
        f"Test accuracy {100 * result.test_accuracy:.2f} % (loss {result.test_loss:.4f}) on "
        f"{len(federation.test)} samples, after {plan.rounds} rounds in "
        f"{result.seconds:.1f} s. {prepared.algorithm.name} ({prepared.algorithm.source}), model "
        f"{prepared.model.name} with {prepared.model.dimension} weights."
    ]
    if plan.private:
        paragraphs.append(
            f"Noise in the sum: standard deviation {plan.noise_std:.6g} = {plan.noise_multiplier:.6g} "
            f"* clip {plan.clip:g}, drawn by the {plan.noise_by}."
            + (f" Target epsilon {prepared.epsilon:g}." if prepared.epsilon is not None else "")
        )
    if experiment.reduced:
        paragraphs.insert(0, "Reduced: smaller than the paper's setting; not a reproduction.")
    paragraphs += [line for line in (experiment.source, experiment.note) if line]
    outcome = dp.ReportSection(
        title="Result", paragraphs=tuple(paragraphs), pictures=curves(result.rows)
    )
    return outcome, _ran(prepared, result)


def _ran(prepared: Prepared, result: Result) -> dp.ReportSection:
    executed, plan = result.executed, prepared.plan
    wanted = plan.counts(executed.sizes, prepared.model.dimension)
    rows = [(name, str(value), str(getattr(executed, name))) for name, value in wanted.items()]
    sizes = f"{min(executed.sizes)} to {max(executed.sizes)}, denominator {plan.denominator}"
    return dp.ReportSection(
        title="What ran",
        paragraphs=("Counted where it was done, and compared with the plan.",),
        head=("of", "plan", "executed"),
        rows=(*rows, ("clients per round", "", sizes)),
    )


def _appendix(prepared: Prepared) -> tuple[dp.ReportSection, ...]:
    settings = dp.ReportSection(title="Settings", code=prepared.experiment.to_json())
    tree = prepared.plan.tree
    if tree is None:
        return (settings,)
    return settings, dp.ReportSection(title="Plan, as dpacct reads it", code=tree.to_json())
