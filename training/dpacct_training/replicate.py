"""Replicate: run the claims of experiments over seeds in processes, store the results, judge them.

A stored run is not repeated, so that an interrupted study continues where it was. The page of the papers'
claims and results is made from stored results alone.
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import dpacct_training
from dpacct import InvalidArgument
from dpacct_training.accept import near
from dpacct_training.claims import (
    HELD,
    LEAST_SEEDS,
    LEVEL,
    MEASURES,
    NOT_HELD,
    UNDECIDED,
    UNITS,
    VariantClaim,
    Verdict,
)
from dpacct_training.durable import write_text
from dpacct_training.experiment import Experiment, Section
from dpacct_training.sweep import combinations, finished

_BESIDE = Path(dpacct_training.__file__).parents[1] / "experiments"
EXPERIMENTS = _BESIDE if _BESIDE.is_dir() else Path("training") / "experiments"
"""The experiments beside the package, or those of the checkout that is the working directory."""
Watch = Callable[["Trial", int], None]
"""Told each finished run, and how many there are."""


@dataclass(frozen=True)
class Trial:
    """One run: its variant, settings of the sweep, seed and results.

    `digest`: of all settings that decide the bits. `epsilon`: the true one, of the account that has
    spent most; `unit`: whom it protects. `curve`: (round, accuracy in percent) where it was looked at.
    `landscape`: (distance, loss) along the sharpest direction, where sharpness is measured.
    `seconds`: of processor time; `megabytes`: the most memory that its process has held so far. `commit`:
    of the checkout that ran it, where it was one.
    """

    variant: str
    at: Section
    seed: int
    digest: str
    measures: dict[str, float] = field(default_factory=dict)
    epsilon: float | None = None
    delta: float | None = None
    unit: str = ""
    curve: tuple[tuple[int, float], ...] = ()
    landscape: tuple[tuple[float, float], ...] = ()
    seconds: float = 0.0
    megabytes: int = 0
    commit: str = ""


@dataclass(frozen=True)
class Study:
    """An experiment with claims, by the name of its file, and its runs so far."""

    name: str
    experiment: Experiment
    trials: tuple[Trial, ...] = ()

    @property
    def command(self) -> str:
        """The command that runs the whole study."""
        return f"dpacct-train replicate {self.name}"

    def of(self, variant: str, at: Section) -> list[Trial]:
        """The runs of a variant, by seed."""
        kept = [t for t in self.trials if t.variant == variant and _covers(t.at, at)]
        return sorted(kept, key=lambda trial: trial.seed)

    def sides(self, claim: VariantClaim) -> tuple[list[Trial], list[Trial]]:
        """The runs that a claim compares: those of seeds that both variants have."""
        sides = [self.of(variant, dict(claim.at)) for variant in (claim.greater, claim.than)]
        shared = {t.seed for t in sides[0]} & {t.seed for t in sides[1]}
        greater, than = ([t for t in side if t.seed in shared] for side in sides)
        return greater, than

    def verdicts(self) -> list[Verdict]:
        """The verdict on each claim, by the stored runs."""
        verdicts = []
        for claim in self.experiment.claims:
            greater, than = self.sides(claim)
            verdicts.append(
                claim.judged(
                    [trial.measures[claim.measures[0]] for trial in greater],
                    [trial.measures[claim.measures[1]] for trial in than],
                )
            )
        return verdicts


def _covers(values: Section, wanted: Section) -> bool:
    return all(values.get(key) == value for key, value in wanted.items())


def studies(names: Sequence[str] = (), folder: Path = EXPERIMENTS) -> list[Study]:
    """The experiments of a folder that claim or measure something: all, or those of these files and papers.

    Raises `InvalidArgument`.
    """
    read = [Study(path.stem, Experiment.read(path)) for path in sorted(folder.glob("*.toml"))]
    claiming = [s for s in read if s.experiment.claims or s.experiment.measures]
    if not claiming:
        message = "experiments must be a folder of experiments with claims, as in dpacct's checkout"
        message += f", got {str(folder)!r}"
        raise InvalidArgument(message, argument="experiments")
    accepted = {study.name for study in claiming} | {s.experiment.paper for s in claiming}
    for name in names:
        if name not in accepted:
            message = f"a paper or experiment must be one of {', '.join(sorted(accepted))}"
            raise InvalidArgument(
                f"{message}, got {name!r}{near(name, accepted)}", argument="paper"
            )
    return [s for s in claiming if not names or {s.name, s.experiment.paper} & set(names)]


@dataclass(frozen=True)
class Job:
    """A run to be done, with its measures and its end (`until`)."""

    trial: Trial
    experiment: Experiment
    measures: frozenset[str]
    until: Mapping[str, float]


def jobs(study: Study, seeds: int) -> list[Job]:
    """Every variant at every setting of the sweep, seed by seed."""
    runs, until = [], study.experiment.until
    for seed in range(seeds):
        for variant, name in zip(
            study.experiment.variants, study.experiment.variant_names, strict=True
        ):
            for at in combinations(replace(study.experiment, variants=())):
                changed = study.experiment.changed({**variant, **at, "run.seed": seed})
                decisive = changed.to_json() + (str(dict(until)) if until else "")
                digest = hashlib.sha256(decisive.encode()).hexdigest()[:16]
                sides = [side for c in study.experiment.claims for side in c.sides]
                claimed = (m for v, m in sides if v == name)
                measures = frozenset({"accuracy", *study.experiment.measures, *claimed})
                runs.append(Job(Trial(name, at, seed, digest), changed, measures, until))
    return runs


def read(study: Study, folder: Path) -> Study:
    """The study with its stored results. Raises `InvalidArgument`."""
    path = folder / f"{study.name}.json"
    if not path.exists():
        return study
    try:
        kept = [_trial(entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, KeyError, TypeError) as error:
        message = f"the results in {str(path)!r} cannot be read: {error}"
        raise InvalidArgument(message, argument="out") from None
    return replace(study, trials=tuple(kept))


def _trial(entry: dict[str, Any]) -> Trial:
    pairs = {name: tuple((a, b) for a, b in entry.get(name, ())) for name in ("curve", "landscape")}
    return Trial(**{**entry, **pairs})


def keep(study: Study, folder: Path) -> None:
    """Store all runs so far, one per line."""
    lines = [json.dumps(asdict(trial), sort_keys=True) for trial in study.trials]
    write_text(folder / f"{study.name}.json", "[\n" + ",\n".join(lines) + "\n]\n")


def replicate(
    study: Study,
    folder: Path,
    *,
    quick: bool = False,
    processes: int = 1,
    watch: Watch | None = None,
) -> Study:
    """All runs of a study that are not kept in `folder` yet; `quick`: the least seeds that decide."""
    study = read(study, folder)
    seeds = study.experiment.seeds
    wanted = jobs(study, LEAST_SEEDS if quick else seeds)
    order = {
        job.trial.digest: place for place, job in enumerate(jobs(study, max(seeds, LEAST_SEEDS)))
    }
    kept = {t.digest: t for t in study.trials if t.digest in order}  # of these settings
    todo = [
        job
        for job in wanted
        if job.trial.digest not in kept or job.measures - set(kept[job.trial.digest].measures)
    ]
    commit = _commit() if todo else ""
    for _, trial in finished(run, todo, processes):
        trial = replace(trial, commit=commit)
        kept[trial.digest] = trial
        trials = sorted(kept.values(), key=lambda t: order[t.digest])
        study = replace(study, trials=tuple(trials))
        keep(study, folder)
        if watch is not None:
            watch(trial, len(todo))
    return study


def _commit() -> str:
    """Return the commit of the experiments; "-dirty" where it was changed; "" outside a checkout."""
    words = ["git", "-C", str(EXPERIMENTS), "describe", "--always", "--dirty", "--abbrev=12"]
    with suppress(OSError):
        return subprocess.run(words, capture_output=True, text=True).stdout.strip()
    return ""


def run(job: Job) -> Trial:
    """One run, in memory."""
    from dpacct_training.experiment import prepare
    from dpacct_training.measures import landscape, measured
    from dpacct_training.run import Session

    start = time.process_time()
    session, goal = Session(prepare(job.experiment)), job.until

    def enough() -> bool:
        seen = measured(session, set(goal))
        return bool(goal) and all(seen[name] >= value for name, value in goal.items())

    result = session.finish(enough=enough)
    if goal and not enough():
        message = f"rounds must be enough for {dict(goal)}, got {session.run.state.round}"
        raise InvalidArgument(f"{message} in {job.trial.variant!r}", argument="rounds")
    seconds = time.process_time() - start
    account = None if result.account is None else session.prepared.plan.accounts[result.account]
    return replace(
        job.trial,
        measures=measured(session, set(job.measures)),
        epsilon=None if result.spent is None else round(float(result.spent), 6),
        delta=None if account is None else float(account.delta),
        unit="" if result.spent is None else result.spent.unit,
        curve=tuple((row["round"], round(100 * row["accuracy"], 4)) for row in result.rows),
        landscape=landscape(session) if "sharpness" in job.measures else (),
        seconds=round(seconds, 2),
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )


PICTURES = {
    "Accuracy against true epsilon, for all methods": "../figures/methods_epsilon.svg",
    "Learning curves of the papers' systems": "../figures/learning_curves.svg",
    "The loss around the last models of DP-FedAvg and DP-FedSAM": "../figures/landscapes.svg",
}
"""The page's pictures, drawn by `python figures/make.py methods_epsilon learning_curves landscapes`."""
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
    """Return the epsilon, such as "2.00 a client", or both sides' where they differ."""
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
    """Format as "84.21 ± 0.15", with the standard deviation over seeds."""
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
