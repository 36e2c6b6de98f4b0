"""The page of the papers' claims and results, made from stored results alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpacct_training.claims import HELD, LEVEL, MEASURES, NOT_HELD, UNDECIDED, UNITS, Verdict
from dpacct_training.replicate import Study, Trial

PICTURES = {
    "Accuracy against true epsilon, for all methods": "../figures/methods_epsilon.svg",
    "Learning curves of the papers' systems": "../figures/learning_curves.svg",
    "The loss around the last models of DP-FedAvg and DP-FedSAM": "../figures/landscapes.svg",
}
"""Of the page in docs/; `python figures/make.py methods_epsilon learning_curves landscapes` draws them."""
HEAD = (
    "| paper | it claims | verdict | by, points [95 %] | needs more than | seeds | the paper's numbers"
    " | true epsilon | the paper's epsilon | command |"
)


def page(studies: Sequence[Study], pictures: Mapping[str, str] | None = None) -> str:
    """Markdown: one table row a claim, then means, time and memory, then what does not fit here.

    `pictures`: links by what they show.
    """
    pictures = {} if pictures is None else pictures
    verdicts = [(study, verdict) for study in studies for verdict in study.verdicts()]
    counts = ", ".join(
        f"{sum(v.word == word for _, v in verdicts)} {word}" for word in (HELD, NOT_HELD, UNDECIDED)
    )
    lines = [
        "# What the papers claim, and what is seen here",
        "",
        "Made from stored results by `dpacct-train replicate`: do not edit. Each row is a claim of a paper,"
        " run with several seeds at a size that one core bears, with the data and models that are at hand."
        f" {len(verdicts)} claims: {counts}.",
        "",
        "- **Verdict.** Runs of one seed share data, start and coins, so that differences are taken seed by"
        f" seed; the interval is Student's at {100 * LEVEL:g} %. *{HELD}*: all of it is above what the claim"
        f" needs; *{NOT_HELD}*: all of it below; *{UNDECIDED}*: neither, or fewer than three seeds. Of"
        " twenty such intervals one misses.",
        "- **True epsilon** is dpacct's, of one run alone, for whom it protects: both sides of a claim, where"
        " they differ. At equal true epsilon a claim is about methods; where the noise is the paper's own"
        " (`as-printed`), it is about what the paper did.",
        "- Neither data nor networks are the papers' where the last section says so: a claim that is held"
        " here is held *here*, and one that is not may hold at the paper's size.",
        "",
        HEAD,
        "|" + "---|" * HEAD.count(" | ") + "---|",
        *(_row(study, verdict) for study, verdict in verdicts),
        "",
        *_methods(studies),
        *(line for name, link in pictures.items() for line in (f"![{name}]({link})", "")),
        "## Time and memory",
        "",
        "Processor time of one core for all seeds, and the most memory that one process held; the tables"
        " above have the mean of a run.",
        "",
        "| command | runs | CPU s | MB | run at commit |",
        "|---|---|---|---|---|",
        *(_cost(study) for study in studies),
        "",
        "## What does not fit here",
        "",
        *(
            f"- **{s.experiment.name}** (`{s.name}`): {_one_line(s.experiment.full)}"
            for s in studies
        ),
        "",
    ]
    return "\n".join(lines)


def _row(study: Study, verdict: Verdict) -> str:
    claim = verdict.claim
    greater, than = study.sides(claim)
    seen = f"{verdict.difference:+.2f} [{verdict.low:+.2f}, {verdict.high:+.2f}]"
    cells = (
        study.experiment.paper,
        _one_line(claim.says),
        verdict.word,
        seen if claim.measure not in UNITS else f"{seen} ({UNITS[claim.measure]})",
        f"{claim.by:g}",
        str(len(verdict.greater)),
        claim.printed or "–",
        _epsilons(greater, than),
        claim.printed_epsilon or "–",
        f"`{study.command}`",
    )
    return "| " + " | ".join(cells) + " |"


def _epsilons(greater: Sequence[Trial], than: Sequence[Trial]) -> str:
    """As in "2.00 a client", or both sides' where they differ."""
    both = [_epsilon(side) for side in (greater, than)]
    return both[0] if both[0] == both[1] else " against ".join(both)


def _epsilon(side: Sequence[Trial]) -> str:
    if not side or side[0].epsilon is None:
        return "none"
    largest = max(trial.epsilon for trial in side if trial.epsilon is not None)
    number = f"{largest:.2f}" if largest < 1000 else f"{largest:,.0f}"
    return f"{number} a {side[0].unit}"


def _methods(studies: Sequence[Study]) -> list[str]:
    """The means of every variant of every study, by the settings that vary."""
    lines = ["## Means over seeds", ""]
    for study in studies:
        names = [n for n in MEASURES if any(n in trial.measures for trial in study.trials)]
        lines += [
            f"### {study.experiment.name}",
            "",
            _one_line(f"{study.experiment.source} {study.experiment.note}"),
            "",
        ]
        lines += [
            "| variant | "
            + " | ".join(MEASURES[name] for name in names)
            + " | true epsilon | CPU s |"
        ]
        lines += ["|" + "---|" * (len(names) + 3)]
        for variant, at in dict.fromkeys((t.variant, _at(t)) for t in study.trials):
            trials = [t for t in study.trials if (t.variant, _at(t)) == (variant, at)]
            cells = [_mean([t.measures[n] for t in trials if n in t.measures]) for n in names]
            seconds = sum(trial.seconds for trial in trials) / len(trials)
            cells += [_epsilon(trials), f"{seconds:.1f}"]
            lines.append(f"| {variant}{at} | " + " | ".join(cells) + " |")
        lines.append("")
    return lines


def _at(trial: Trial) -> str:
    return "".join(f", {key.rpartition('.')[2]} {value}" for key, value in trial.at.items())


def _mean(values: Sequence[float]) -> str:
    """As in "84.21 ± 0.15", with the standard deviation over seeds."""
    if not values:
        return ""
    mean = sum(values) / len(values)
    spread = (sum((v - mean) ** 2 for v in values) / max(1, len(values) - 1)) ** 0.5
    if mean >= 1000 and not spread:
        return f"{mean:,.0f}"
    return f"{mean:.2f} ± {spread:.2f}"


def _cost(study: Study) -> str:
    seconds = sum(trial.seconds for trial in study.trials)
    most = max((trial.megabytes for trial in study.trials), default=0)
    commits = (
        ", ".join(dict.fromkeys(t.commit for t in study.trials if t.commit))
        or "before they were kept"
    )
    return f"| `{study.command}` | {len(study.trials)} | {seconds:.0f} | {most} | {commits} |"


def _one_line(text: str) -> str:
    return " ".join(text.split())
