"""Replicate: run the claims of experiments over seeds in processes, store the results, judge them.

A run that is kept is not run again, so that what was interrupted goes on where it was.
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
from dpacct_training.claims import LEAST_SEEDS, Claim, Verdict
from dpacct_training.durable import write_text
from dpacct_training.experiment import Experiment, Section
from dpacct_training.sweep import combinations, finished

_BESIDE = Path(dpacct_training.__file__).parents[1] / "experiments"
EXPERIMENTS = _BESIDE if _BESIDE.is_dir() else Path("training") / "experiments"
"""Of the checkout that the package runs from or, where it was installed, of the one that one stands in."""
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

    def sides(self, claim: Claim) -> tuple[list[Trial], list[Trial]]:
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
    """Of the checkout that the experiments lie in; "-dirty" where it was changed; "" where it is none."""
    words = ["git", "-C", str(EXPERIMENTS), "describe", "--always", "--dirty", "--abbrev=12"]
    with suppress(OSError):
        return subprocess.run(words, capture_output=True, text=True).stdout.strip()
    return ""


def run(job: Job) -> Trial:
    """One run, in memory."""
    from dpacct_training.measures import landscape, measured
    from dpacct_training.prepare import prepare
    from dpacct_training.session import Session

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
