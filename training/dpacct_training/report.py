"""What a run did and what holds of it, as Markdown."""

from __future__ import annotations

from dpacct_training.prepare import Prepared
from dpacct_training.run import Result

_SEEDED = (
    "replayable by its seed: whoever knows the seed knows the noise. For data that are not public, "
    "run without a seed"
)
_SECURE = "keyed by the operating system, and the key is gone: nobody can replay it"
_SIZES = """

The realised numbers of clients (here, in the ledger, in metrics.jsonl and in the checkpoint) are for the
one who runs this: the guarantee covers the released models, not these numbers."""


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = ["| " + " | ".join(row) + " |" for row in [head, *rows]]
    lines.insert(1, "|" + "---|" * len(head))
    return "\n".join(lines)


def report(prepared: Prepared, result: Result) -> str:
    """The report of one finished run."""
    experiment = prepared.experiment
    parts = [f"# {experiment.name}", ""]
    if experiment.reduced:
        parts += ["**Reduced:** smaller than the paper's setting; not a reproduction.", ""]
    parts += [line for line in (experiment.source, experiment.note) if line]
    parts += ["", "## Result", "", _result(prepared, result)]
    parts += ["", "## Privacy", "", _privacy(prepared, result)]
    parts += ["", "## What ran", "", _ran(prepared, result)]
    if result.checks:
        rows = [[c.text, str(c.status), c.source] for c in result.checks]
        parts += ["", "Compared by the ledger with what it counted:", ""]
        parts += [table(["assumption", "status", "found"], rows)]
    parts += ["", "## Plan", "", "```json", _tree(prepared), "```"]
    parts += ["", "## Settings", "", "```json", experiment.to_json(), "```"]
    return "\n".join(parts) + "\n"


def _result(prepared: Prepared, result: Result) -> str:
    federation = prepared.federation
    return (
        f"Test accuracy {100 * result.test_accuracy:.2f} % (loss {result.test_loss:.4f}) on "
        f"{len(federation.test)} samples, after {prepared.plan.rounds} rounds in "
        f"{result.seconds:.1f} s. {prepared.algorithm.name} ({prepared.algorithm.source}), model "
        f"{prepared.model.name} with {prepared.model.dimension} weights."
    )


def _privacy(prepared: Prepared, result: Result) -> str:
    plan, spent = prepared.plan, result.spent
    if spent is None or prepared.delta is None:
        return "**None.** Updates were neither bounded nor noised: nothing is guaranteed."
    rows = [
        ["epsilon, exact accountant", f"{float(spent):.6g} ({spent.side}, {spent.strength})"],
        ["delta", f"{float(prepared.delta):.6g}"],
        ["target epsilon", f"{prepared.epsilon:g}"],
        ["protects", f"{spent.unit}, {spent.adjacency}"],
        ["noise in the sum", f"std {plan.noise_std:.6g} = {plan.noise_multiplier:.6g} * clip"],
        ["clip", f"{plan.clip:g}"],
        ["drawn by", plan.noise_by],
        ["random numbers", _SEEDED if result.key_source == "seed" else _SECURE],
        ["arithmetic", "AES-256-CTR, Box-Muller, float64; not a lattice: Mironov (2012) applies"],
    ]
    lines = [table(["", ""], rows), "", "It rests on:", ""]
    lines += [f"- {basis}" for basis in spent.basis]
    lines += [f"- {assumption}" for assumption in spent.assumptions]
    return "\n".join(lines)


def _ran(prepared: Prepared, result: Result) -> str:
    executed, plan = result.executed, prepared.plan
    wanted = plan.counts(executed.sizes, prepared.model.dimension)
    rows = [[name, str(value), str(getattr(executed, name))] for name, value in wanted.items()]
    sizes = f"{min(executed.sizes)} to {max(executed.sizes)}, denominator {plan.denominator}"
    shown = table(["", "plan", "executed"], [*rows, ["clients per round", "", sizes]])
    return shown + (_SIZES if plan.private and plan.scheme == "poisson" else "")


def _tree(prepared: Prepared) -> str:
    tree = prepared.plan.tree
    return "null" if tree is None else tree.to_json()
