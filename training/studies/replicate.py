"""Run the claims of experiments over seeds in processes, store the results, judge them.

A stored run is not repeated, so that an interrupted study goes on where it was. The page of claims and
results is made from stored results alone.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import resource
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from jinja2 import Environment

from dpacct import InvalidArgument
from dpacct_training.accept import check_keys, one_of, whole
from dpacct_training.durable import write_text
from dpacct_training.experiment import Experiment, Section, build, flat, prepare, table
from dpacct_training.plan import Plan
from dpacct_training.run import Session
from studies.claims import HELD, LEAST_SEEDS, LEVEL, NOT_HELD, UNDECIDED, VariantClaim, Verdict
from studies.measures import MEASURES, measured

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
PAGE = Path(__file__).with_name("page.md")
UNITS = {"sharpness": " (curvature)", "rounds": " (rounds)", "mu": " (mu)"}
"""The unit of a measure's differences, where it is not points."""
Watch = Callable[["Trial", int], None]
"""Told each finished run, and how many there are."""


@dataclass(frozen=True)
class Trial:
    """One run: its variant, settings of the sweep, seed and results.

    `digest`: of all settings that decide the bits, and of the noise that was found. `epsilon`: the true
    one, of the account that has spent most; `unit`: whom it protects. `curve`: (round, accuracy).
    `seconds`: of processor time; `megabytes`: the most memory of its process.
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
    seconds: float = 0.0
    megabytes: int = 0
    commit: str = ""


@dataclass(frozen=True)
class Study:
    """An experiment that claims or measures something, and its runs so far.

    `until`: the measure and the value at which a run ends; `full`: what the paper's own size takes.
    """

    name: str
    experiment: Experiment
    paper: str = ""
    seeds: int = 1
    full: str = ""
    measures: tuple[str, ...] = ()
    until: Mapping[str, float] = field(default_factory=dict)
    sweep: Mapping[str, list[Any]] = field(default_factory=dict)
    claims: tuple[VariantClaim, ...] = ()
    trials: tuple[Trial, ...] = ()

    @classmethod
    def of_experiment(cls, name: str, experiment: Experiment) -> Study:
        """Read what the file says beside the run. Raises `InvalidArgument`."""
        said = dict(experiment.study)
        whole("seeds", said.get("seeds", 1), 1, 10**4)
        claims = tuple(build(VariantClaim, "[[claim]]", entry) for entry in said.pop("claim", ()))
        sweep = flat(table("sweep", said.pop("sweep", {})))
        for measure in (*said.get("measures", ()), *said.get("until", ())):
            one_of("measures", measure, MEASURES)
        for claim in claims:
            for side in (claim.greater, claim.than):
                one_of("variant", side, experiment.variants)
            check_keys("[[claim]] at", claim.at, sweep)
        return cls(name, experiment, **said, sweep=sweep, claims=claims)

    @property
    def settings(self) -> list[tuple[str, Section, Section]]:
        """(variant, settings of the sweep, all changes) of each run."""
        values = itertools.product(*self.sweep.values())
        places = [dict(zip(self.sweep, row, strict=True)) for row in values]
        variants = self.experiment.variants or {"": {}}
        return [(v, at, {**more, **at}) for v, more in variants.items() for at in places]

    def sides(self, claim: VariantClaim) -> tuple[list[Trial], list[Trial]]:
        """The runs that a claim compares, by seed: those of seeds that both variants have."""
        sides = []
        for variant in (claim.greater, claim.than):
            kept = [t for t in self.trials if t.variant == variant]
            sides.append({t.seed: t for t in kept if claim.at.items() <= t.at.items()})
        shared = sorted(sides[0].keys() & sides[1].keys())
        return [sides[0][seed] for seed in shared], [sides[1][seed] for seed in shared]

    def verdicts(self) -> list[Verdict]:
        """The verdict on each claim, by the stored runs."""
        verdicts = []
        for claim in self.claims:
            both = zip(claim.sides, self.sides(claim), strict=True)
            values = [[t.measures[measure] for t in side] for (_, measure), side in both]
            verdicts.append(claim.judged(*values))
        return verdicts


def studies(names: Sequence[str] = (), folder: Path = EXPERIMENTS) -> list[Study]:
    """The experiments that claim or measure something: all, or those of these files and papers."""
    files = sorted(folder.glob("*.toml"))
    every = [Study.of_experiment(path.stem, Experiment.read(path)) for path in files]
    claiming = [s for s in every if s.claims or s.measures]
    accepted = sorted({study.name for study in claiming} | {study.paper for study in claiming})
    for name in names:
        one_of("paper or experiment", name, accepted)
    return [s for s in claiming if not names or {s.name, s.paper} & set(names)]


Job = tuple[Trial, Experiment, frozenset[str], Mapping[str, float]]
"""A run to be done, its measures, and the values at which it ends."""


def jobs(study: Study, seeds: int) -> list[Job]:
    """Every variant at every setting of the sweep, seed by seed."""
    runs, noise = [], {}
    for seed in range(seeds):
        for place, (variant, at, changes) in enumerate(study.settings):
            changed = study.experiment.changed({**changes, "run.seed": seed})
            if place not in noise:  # it decides the bits, and no seed moves it
                noise[place] = _noise(prepare(changed).plan)
            decisive = f"{changed.to_json()}{dict(study.until) or ''}{noise[place]}"
            digest = hashlib.sha256(decisive.encode()).hexdigest()[:16]
            claimed = {m for c in study.claims for v, m in c.sides if v == variant}
            measures = frozenset({"accuracy", *study.measures, *claimed})
            runs.append((Trial(variant, at, seed, digest), changed, measures, study.until))
    return runs


def _noise(plan: Plan) -> list[tuple[int, float, float]]:
    """Size, clip and variance of every noise of a plan."""
    noises = [*plan.noise.values(), *(records.noise for records in plan.records.values())]
    return sorted({(noise.size, noise.clip, noise.variance) for noise in noises})


def read(study: Study, folder: Path) -> Study:
    """The study with its stored results. Raises `InvalidArgument`."""
    path = folder / f"{study.name}.json"
    if not path.exists():
        return study
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        kept = [Trial(**{**e, "curve": tuple(map(tuple, e["curve"]))}) for e in entries]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidArgument(f"{str(path)!r} cannot be read: {error}", argument="out") from None
    return replace(study, trials=tuple(kept))


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
    study, every = read(study, folder), jobs(study, max(study.seeds, LEAST_SEEDS))
    order = {trial.digest: place for place, (trial, *_) in enumerate(every)}
    kept = {t.digest: t for t in study.trials if t.digest in order}  # of these settings
    seeds = LEAST_SEEDS if quick else study.seeds
    lacking = {t.digest: set(t.measures) for t in kept.values()}
    todo = [j for j in every if j[0].seed < seeds and j[2] - lacking.get(j[0].digest, set())]
    commit = _commit() if todo else ""
    for trial in _finished(todo, processes):
        kept[trial.digest] = replace(trial, commit=commit)
        trials = sorted(kept.values(), key=lambda t: order[t.digest])
        study = replace(study, trials=tuple(trials))
        keep(study, folder)
        if watch is not None:
            watch(trial, len(todo))
    return study


def _finished(todo: Sequence[Job], processes: int) -> Iterator[Trial]:
    if processes == 1:
        yield from map(run, todo)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run, job) for job in todo]):
            yield future.result()


def _commit() -> str:
    """Return the commit of the experiments; "-dirty" where it was changed; "" outside a checkout."""
    words = ["git", "-C", str(EXPERIMENTS), "describe", "--always", "--dirty", "--abbrev=12"]
    with suppress(OSError):
        return subprocess.run(words, capture_output=True, text=True).stdout.strip()
    return ""


def run(job: Job) -> Trial:
    """One run, in memory."""
    trial, experiment, measures, goal = job
    start, session = time.process_time(), Session(prepare(experiment))

    def enough() -> bool:
        seen = measured(session, set(goal))
        return bool(goal) and all(seen[name] >= value for name, value in goal.items())

    result = session.finish(enough=enough)
    if goal and not enough():
        message = f"rounds must be enough for {dict(goal)}, got {session.run.state.round}"
        raise InvalidArgument(f"{message} in {trial.variant!r}", argument="rounds")
    spent, seconds = result.spent, time.process_time() - start
    account = None if result.account is None else session.prepared.plan.accounts[result.account]
    return replace(
        trial,
        measures=measured(session, set(measures)),
        epsilon=None if spent is None else round(float(spent), 6),
        delta=None if account is None else float(account.delta),
        unit="" if spent is None else spent.unit,
        curve=tuple((row["round"], round(100 * row["accuracy"], 4)) for row in result.rows),
        seconds=round(seconds, 2),
        megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )


def command(
    papers: Sequence[str], out: Path, quick: bool, processes: int, say: Callable[[str], None]
) -> None:
    """Run the studies of these papers, say their verdicts, and write the page of all that is stored."""

    def told(trial: Trial, of: int) -> None:
        say(f"1 of {of}: {trial.variant} {trial.at or ''} seed {trial.seed}: {trial.measures}")

    for study in studies(papers):
        say(study.name)
        for v in replicate(study, out, quick=quick, processes=processes, watch=told).verdicts():
            say(f"{v.word}: {v.claim.says} ({v.interval})")
    stored = [study for study in (read(s, out) for s in studies()) if study.trials]
    write_text(out / "replication.md", page(stored))
    say(str(out / "replication.md"))


# --- the page


def page(stored: Sequence[Study]) -> str:
    """Markdown by the template beside this file: claims, pictures, time and memory, what does not fit.

    Pictures are drawn by `python figures/make.py methods_epsilon learning_curves`.
    """
    verdicts = [(study, verdict) for study in stored for verdict in study.verdicts()]
    words = [verdict.word for _, verdict in verdicts]
    absent = sorted({f"`{s.name}`" for s in studies()} - {f"`{s.name}`" for s in stored})
    pages = Environment(trim_blocks=True, keep_trailing_newline=True)
    return pages.from_string(PAGE.read_text(encoding="utf-8")).render(
        stored=stored,
        verdicts=verdicts,
        counts=", ".join(f"{words.count(word)} {word}" for word in (HELD, NOT_HELD, UNDECIDED)),
        chance=(1 - LEVEL) * len(words),
        units=UNITS,
        absent=absent,
    )
