"""Replicate: what experiments claim, run over seeds in processes, kept, and judged.

A run that is kept is not run again, so that what was interrupted goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import resource
import time
from collections.abc import Callable, Sequence
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

EXPERIMENTS = Path(dpacct_training.__file__).parents[1] / "experiments"
Watch = Callable[["Trial", int], None]
"""Told each finished run, and how many there are."""


@dataclass(frozen=True)
class Trial:
    """One run: of which variant, at which settings of the sweep, with which seed, and what came of it.

    `digest`: of all settings that decide the bits. `epsilon`: the true one, of the account that has
    spent most; `unit`: whom it protects. `curve`: (round, accuracy in percent) where it was looked at.
    `landscape`: (distance, loss) along the sharpest direction, where sharpness is measured.
    `seconds`: of processor time; `megabytes`: the most memory that its process has held so far.
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


@dataclass(frozen=True)
class Study:
    """An experiment with claims, by the name of its file, and its runs so far."""

    name: str
    experiment: Experiment
    trials: tuple[Trial, ...] = ()

    @property
    def command(self) -> str:
        """What runs all of it."""
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
        """Of each claim, by the runs that there are."""
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
    """The experiments of a folder that claim something: all, or those of these files and papers.

    Raises `InvalidArgument`.
    """
    read = [Study(path.stem, Experiment.read(path)) for path in sorted(folder.glob("*.toml"))]
    claiming = [study for study in read if study.experiment.claims]
    if not claiming:
        message = f"experiments must be a folder of experiments with claims, got {str(folder)!r}"
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
    """A run that is to be done, and what is to be measured at its end."""

    trial: Trial
    experiment: Experiment
    measures: frozenset[str]


def jobs(study: Study, seeds: int) -> list[Job]:
    """Every variant at every setting of the sweep, seed by seed."""
    runs = []
    for seed in range(seeds):
        for variant, name in zip(
            study.experiment.variants, study.experiment.variant_names, strict=True
        ):
            for at in combinations(replace(study.experiment, variants=())):
                changed = study.experiment.changed({**variant, **at, "run.seed": seed})
                digest = hashlib.sha256(changed.to_json().encode()).hexdigest()[:16]
                sides = [side for c in study.experiment.claims for side in c.sides]
                measures = frozenset({"accuracy", *(m for v, m in sides if v == name)})
                runs.append(Job(Trial(name, at, seed, digest), changed, measures))
    return runs


def read(study: Study, folder: Path) -> Study:
    """With what is kept of it in a folder. Raises `InvalidArgument`."""
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
    """All runs so far, one in a line."""
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
    for _, trial in finished(run, todo, processes):
        kept[trial.digest] = trial
        trials = sorted(kept.values(), key=lambda t: order[t.digest])
        study = replace(study, trials=tuple(trials))
        keep(study, folder)
        if watch is not None:
            watch(trial, len(todo))
    return study


def run(job: Job) -> Trial:
    """One run, in memory."""
    from dpacct_training.measures import landscape, measured
    from dpacct_training.prepare import prepare
    from dpacct_training.session import Session

    start = time.process_time()
    session = Session(prepare(job.experiment))
    result = session.finish()
    seconds = time.process_time() - start
    account = None if result.account is None else session.prepared.plan.accounts[result.account]
    return replace(
        job.trial,
        measures=measured(session, result, set(job.measures)),
        epsilon=None if result.spent is None else round(float(result.spent), 6),
        delta=None if account is None else float(account.delta),
        unit="" if result.spent is None else result.spent.unit,
        curve=tuple((row["round"], round(100 * row["accuracy"], 4)) for row in result.rows),
        landscape=landscape(session, result) if "sharpness" in job.measures else (),
        seconds=round(seconds, 2),
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )
