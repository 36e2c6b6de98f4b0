"""Random plans over all mechanisms, samplings, adjacencies and questions: wrong, crashed, over the budget?

    python -m tests.searches.random_plans STREAM [--cases N] [--first N] [--store FOLDER]
    python -m tests.searches.random_plans again STREAM NUMBER...     # judges these, in full
    python -m tests.searches.random_plans mended STREAM NUMBER...    # that judge without a fault now
    python -m tests.searches.random_plans page [FOLDER...]           # adds these to the summary and its page

A folder holds a file for each 250 cases (50 of `auto`, 10 of `nested`). Any number of processes may fill
one: each takes the first cases that nobody has judged or is judging, so a search that is stopped and started
again goes on where it was.

Streams: `exact` (the fast method), `auto` (proofs where they are quick), `nested` (samples held while a plan
runs). `drawn(stream, n)` is case n, `judged(case)` repeats it, and `smaller(case)` looks for a simpler plan
that fails alike.

The promise: every answer is inside, lower end <= truth <= upper end (docs/answers.md); how wide it is gets
counted and is no fault. An answer is judged by outside truth where there is one (tests/searches/truths.py:
closed forms in 50 digits, a lattice that shares no code with dpacct), and by laws everywhere: ends enclose
the value; delta read at either end of epsilon gives the target back; a more private plan costs no more;
another method's interval meets this one; the order of parts is nothing. It crashes where it fails with
anything but a sentence of dpacct's own, warns, or has nan for a number; it is over budget above 5 s of CPU or
2 GB for one question.

Most plans take milliseconds, and a few take nearly all of the time. So one plan in 250 of `exact`, one in 50
of `auto` and every one of `nested` is judged in full, whatever it takes; any other is set aside when its
questions and laws took 0.01 s together (0.05 s of `auto`), and is then not counted as judged.
"""

import argparse
import fcntl
import json
import math
import resource
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

# the last four are imported where they are first used, in which the alarm that ends a case must not fall
import flint  # noqa: F401
import mpmath as mp
import numpy as np
import scipy.fft
import scipy.optimize
import scipy.special  # noqa: F401

import dpacct as dp
from dpacct.pld.budget import MEMORY, SECONDS
from tests.searches import truths
from tests.searches.cases import NESTED, SEED, STREAMS, Case, calibrated, drawn, more_private
from tests.work import limited

STORE = Path(__file__).with_name("random_plans.json")
PAGE = Path(__file__).parents[2] / "docs" / "random-plans.md"
LIMIT = 8.0 * SECONDS
"""Seconds of CPU after which a case is ended: it hangs."""
QUICK = {"exact": 0.01, "auto": 0.05, "nested": 0.05}
"""The same of a case that is not judged in full, by stream."""
FULL = {"exact": 250, "auto": 50, "nested": 1}
"""Of so many plans of a stream one is judged in full."""
TOGETHER = {"exact": 250, "auto": 50, "nested": 10}
"""Cases of a file, by stream."""
_OWN = (dp.NotCertified, dp.OutsideDomain, dp.Unsupported, dp.Unreachable)
_NEARLY = 1.0 - 1e-12


class Ended(BaseException):
    """The case took its time; no `except` of dpacct swallows it."""


class Wrong(AssertionError):
    """A law does not hold."""


@dataclass
class Verdict:
    """What became of a case: `fault` is empty where every law holds."""

    case: Case
    plan: str = ""
    fault: str = ""
    refused: str = ""
    aside: bool = False
    by_truth: bool = False
    loose: float = 0.0
    seconds: float = 0.0  # of the dearest question
    notes: list[str] = field(default_factory=list)


class Asked:
    """The questions of one case, each timed."""

    def __init__(self, verdict: Verdict, full: bool) -> None:
        self.verdict, self.full = verdict, full

    def __call__(self, question: Callable[[], Any]) -> Any:
        started = (
            time.thread_time()
        )  # that of the process stands still between two ticks of an alarm
        try:
            return question()
        finally:
            spent = time.thread_time() - started
            self.verdict.seconds = max(self.verdict.seconds, spent)

    def epsilon(self, case: Case, delta: str, method: str = "") -> tuple[float, float, dp.Answer]:
        """Both ends of epsilon, and the answer."""
        how = case.how | ({"method": method} if method else {})
        return _ends(self(lambda: case.node.epsilon(delta=delta, **how)))

    def delta(self, case: Case, epsilon: Any, method: str = "") -> tuple[float, float, dp.Answer]:
        """Both ends of delta, and the answer."""
        how = case.how | ({"method": method} if method else {})
        answer = self(lambda: case.node.delta(epsilon=epsilon, **how))
        if answer.upper is not None and not answer.upper <= 1.0:
            raise Wrong(f"delta is at most {answer.upper!r}")
        return _ends(answer)


def _ends(answer: dp.Answer) -> tuple[float, float, dp.Answer]:
    """As infinite as they may be."""
    lower = -math.inf if answer.lower is None else answer.lower
    upper = math.inf if answer.upper is None else answer.upper
    if math.isnan(answer.value) or not lower <= answer.value <= upper or answer.value < 0.0:
        raise Wrong(f"ends {lower!r}, {answer.value!r}, {upper!r}")
    return lower, upper, answer


def _exactly(number: float) -> mp.mpf:
    return mp.mpf(number)


# -- laws of the questions ------------------------------------------------------------------------------


def _epsilon(asked: Asked, case: Case, verdict: Verdict, draw: np.random.Generator) -> None:
    (delta,) = case.at
    low, high, answer = asked.epsilon(case, delta)
    target = float(delta)
    truth = truths.delta_of(case)
    fixed = case.parts[0].sampling == "fixed size"
    if truth is not None and case.method != "rdp":
        verdict.by_truth = True
        with mp.workdps(truths.DIGITS):
            wanted = mp.mpf(delta)
            if math.isfinite(high) and truth(_exactly(high)) > wanted * (1 + mp.mpf(10) ** -35):
                raise Wrong(f"epsilon at most {high!r}, where delta is {truth(_exactly(high))}")
            if low > 0.0 and math.isfinite(low) and not fixed:
                at = truth(_exactly(low))
                if at < wanted * (1 - mp.mpf(10) ** -35):
                    raise Wrong(f"epsilon at least {low!r}, where delta is {at}")
            if 0.0 < high < math.inf and truth(_exactly(high * (1 - 1e-6))) < wanted:
                verdict.loose = 1e-6
    _law(asked, case, verdict, draw, (low, high, answer), lambda c: asked.epsilon(c, delta))
    if case.law == "back" or case.method == "rdp":
        if 0.0 < high < 1e6 and case.method != "rdp":
            least, _, _ = asked.delta(case, repr(high * (1.0 + 1e-12) + 1e-300))
            if least * _NEARLY > target * (1.0 + 1e-9):
                raise Wrong(f"delta({high!r}) at least {least!r}")
        if 0.0 < low < 1e6:
            _, most, _ = asked.delta(case, repr(low * (1.0 - 1e-12)))
            if most < target * (1.0 - 1e-9):
                raise Wrong(f"delta({low!r}) at most {most!r}")


def _delta(asked: Asked, case: Case, verdict: Verdict, draw: np.random.Generator) -> None:
    (epsilon,) = case.at
    low, high, answer = asked.delta(case, epsilon)
    truth = truths.delta_of(case)
    if truth is not None and case.method != "rdp":
        verdict.by_truth = True
        with mp.workdps(truths.DIGITS):
            exact = truth(mp.mpf(epsilon))
            fixed = case.parts[0].sampling == "fixed size"
            if not (fixed or mp.mpf(low) <= exact) or exact > mp.mpf(high):
                raise Wrong(f"delta in [{low!r}, {high!r}], and is {mp.nstr(exact, 25)}")
            if exact > 1e-290 and high > exact * (1 + 1e-6):
                verdict.loose = float(high / exact - 1)
    elif asked.full and case.method != "rdp":
        value = truths.lattice_log_delta(case, float(epsilon))
        if value is not None:
            verdict.by_truth = True
            slack = 2e-3 * (1.0 + abs(value))
            if low > 0.0 and math.log(low) > value + slack:
                raise Wrong(f"delta at least {low!r}, and by a lattice e^{value!r}")
            if high <= 0.0 or math.log(high) < value - slack:
                raise Wrong(f"delta at most {high!r}, and by a lattice e^{value!r}")
    _law(asked, case, verdict, draw, (low, high, answer), lambda c: asked.delta(c, epsilon))
    if case.law == "back" and 1e-300 < high < 1.0:
        least, _, _ = asked.epsilon(case, repr(high * (1 + 1e-12)) if high < 0.999 else repr(high))
        if least * (1.0 - 1e-9) > float(epsilon):
            raise Wrong(f"epsilon at least {least!r} at delta {high!r}, which is delta's upper end")


def _law(
    asked: Asked,
    case: Case,
    verdict: Verdict,
    draw: np.random.Generator,
    ends: tuple[float, float, dp.Answer],
    ask: Callable[[Case], tuple[float, float, dp.Answer]],
) -> None:
    """The law that the case is judged by, for epsilon and for delta."""
    low, high, _ = ends
    if case.law == "more private":
        right = more_private(case, draw)
        if right is not None:
            with _refused(verdict):
                least, _, _ = ask(right)
                if least * _NEARLY > high:
                    raise Wrong(f"at most {high!r}, and at least {least!r} of {right.node!r}")
    elif case.law == "order" and len(case.parts) > 1 and case.whole == "sum":
        with _refused(verdict):
            turned = replace(case, parts=case.parts[::-1])
            least, most, _ = ask(turned)
            if least * _NEARLY > high or low * _NEARLY > most:
                raise Wrong(f"[{low!r}, {high!r}], and in another order [{least!r}, {most!r}]")
    elif case.law == "other method" and case.method != "rdp":
        words = ["rdp"] * 3 + ["bracket"] * 6 + ["exact" if case.method == "auto" else "auto"]
        method = str(draw.choice(words))
        with _refused(verdict):
            least, most, _ = ask(replace(case, method=method))
            if least * _NEARLY > high or low * _NEARLY > most * (1.0 + 1e-12):
                raise Wrong(f"[{low!r}, {high!r}], and by {method} [{least!r}, {most!r}]")


@contextmanager
def _refused(verdict: Verdict) -> Iterator[None]:
    """The comparison may be refused, or its plan lie outside of a domain; the question itself was not."""
    try:
        yield
    except (dp.InvalidArgument, *_OWN) as refusal:
        verdict.notes.append(f"{type(refusal).__name__}: {refusal}"[:120])


def _rdp(asked: Asked, case: Case, verdict: Verdict, draw: np.random.Generator) -> None:
    order = float(case.at[0])
    value = asked(lambda: case.node.rdp(order, adjacency=case.adjacency))
    if not value >= 0.0:
        raise Wrong(f"a divergence of {value!r}")
    with mp.workdps(truths.DIGITS):
        exact = truths.divergence_of(case)
    if exact is not None:
        verdict.by_truth = True
        if abs(value - exact) > 1e-9 * exact and exact < mp.mpf(10) ** 300 and exact > 1e-300:
            raise Wrong(f"a divergence of {value!r}, and it is {mp.nstr(exact, 20)}")
    more = asked(lambda: case.node.rdp(order * 1.5, adjacency=case.adjacency))
    # of a nest the divergence is that of a grid's upper law, good to rounding of masses near 1
    slack = 1e-9 if case.parts[0].sampling in NESTED else 0.0
    if not more * (1.0 + 1e-9) + slack >= value:
        raise Wrong(f"of order {order} {value!r}, and of a larger one {more!r}")


def _profile(asked: Asked, case: Case, verdict: Verdict, draw: np.random.Generator) -> None:
    epsilons = sorted(case.at, key=float)
    values = asked(
        lambda: case.node.profile([float(e) for e in epsilons], adjacency=case.adjacency)
    )
    if not (np.all(values >= 0.0) and np.all(values <= 1.0) and np.all(np.diff(values) <= 0.0)):
        raise Wrong(f"a profile of {values.tolist()}")
    place = int(draw.integers(len(epsilons)))
    method = "rdp" if case.method == "rdp" else "exact"
    low, _, _ = asked.delta(case, epsilons[place], method)
    value = float(values[place])
    if value < low * (1.0 - 1e-12):
        raise Wrong(f"profile {value!r} at {epsilons[place]}, where delta is at least {low!r}")
    truth = truths.delta_of(case)
    if truth is not None and case.method != "rdp":
        verdict.by_truth = True
        with mp.workdps(truths.DIGITS):
            exact = truth(mp.mpf(repr(float(epsilons[place]))))
            if value < exact * (1 - mp.mpf(10) ** -15) and exact > 1e-320:
                raise Wrong(
                    f"profile {value!r} at {epsilons[place]}, and it is {mp.nstr(exact, 20)}"
                )


def _tradeoff(asked: Asked, case: Case, verdict: Verdict, draw: np.random.Generator) -> None:
    alphas = sorted(float(a) for a in case.at)
    values = np.asarray(asked(lambda: case.node.tradeoff(alphas, adjacency=case.adjacency)))
    good = np.all(values >= 0.0) and np.all(values <= 1.0 - np.array(alphas) + 1e-15)
    if not good or np.any(np.diff(values) > 1e-12):
        raise Wrong(f"trade-off {values.tolist()} at {alphas}")
    part = case.parts[0]
    if case.whole == "one" and part.sampling == "none" and part.mechanism == "gaussian":
        verdict.by_truth = True
        mu = math.sqrt(part.steps) / float(part.named["sigma"])
        for alpha, value in zip(alphas, values.tolist(), strict=True):
            exact = truths.gaussian_beta(mu, alpha)
            if value > exact * (1.0 + 1e-12) + 1e-15:
                raise Wrong(f"trade-off {value!r} at {alpha!r}, and it is {exact!r}")
            if value < exact - 1e-6:
                verdict.loose = exact - value


def _pure(asked: Asked, case: Case, verdict: Verdict, draw: np.random.Generator) -> None:
    answer = asked(lambda: case.node.epsilon(delta=0, adjacency=case.adjacency))
    if math.isnan(answer.value) or answer.upper is None:
        raise Wrong(f"epsilon at delta 0: {answer!r}")
    if math.isfinite(answer.upper):
        low, high, _ = asked.epsilon(case, "1e-9", "exact")
        if low * _NEARLY > answer.upper * (1.0 + 1e-12):
            raise Wrong(f"epsilon {answer.upper!r} at delta 0, and at least {low!r} at 1e-9")
        del high


def _boundary(asked: Asked, case: Case, verdict: Verdict, draw: np.random.Generator) -> None:
    """The safe end meets the target; a little beyond, the target is not surely met."""
    epsilon, delta = case.at
    build, method = calibrated(case), case.method
    about: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "adjacency": case.adjacency}
    if case.question == "rate":
        about["bounds"] = (1e-12, 1.0)
    if case.question == "steps":
        about["integer"] = True
    if case.question == "noise" and "discrete" in case.parts[0].mechanism:
        about["bounds"] = (0.1, 1e6)
    result = asked(lambda: dp.calibrate(build, method=method, name=case.question, **about))
    if math.isnan(result.value):
        raise Wrong(f"{case.question}: {result!r}")
    how = {"adjacency": case.adjacency, "method": "rdp" if method == "rdp" else "exact"}
    target = float(delta)
    safe = result.upper if result.safe_end == "upper" else result.lower
    right = result.lower if result.safe_end == "upper" else result.upper
    if safe is not None:
        low, _, answer = _ends(asked(lambda: build(safe).delta(epsilon=epsilon, **how)))
        if low * _NEARLY > target:
            raise Wrong(f"{case.question} {safe!r} has delta at least {low!r} above {delta}")
        if method == "exact" and answer.upper is not None and answer.upper * _NEARLY > target:
            raise Wrong(
                f"{case.question} {safe!r} has delta at most {answer.upper!r}, above {delta}"
            )
    if right is not None:
        _, high, _ = _ends(asked(lambda: build(right).delta(epsilon=epsilon, **how)))
        if high < target * _NEARLY:
            raise Wrong(
                f"{case.question} {right!r} is called unsafe, and has delta at most {high!r}"
            )
    if case.question == "noise" and safe is not None and "discrete" not in case.parts[0].mechanism:
        less = 0.999 * safe
        with (
            _refused(verdict),
            suppress(dp.InvalidArgument),
        ):  # less may be below all that is allowed
            _, high, _ = _ends(asked(lambda: build(less).delta(epsilon=epsilon, **how)))
            if high < target * _NEARLY:
                verdict.loose = 1e-3


JUDGES: dict[str, Callable[[Asked, Case, Verdict, np.random.Generator], None]] = {
    "epsilon": _epsilon,
    "delta": _delta,
    "rdp": _rdp,
    "profile": _profile,
    "tradeoff": _tradeoff,
    "noise": _boundary,
    "steps": _boundary,
    "rate": _boundary,
    "pure": _pure,
}


def _peak() -> int:
    """Most bytes held since the last reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return 1024 * int(line.split()[1])
    return 0


def judged(case: Case, limit: float = LIMIT) -> Verdict:
    """A sentence of dpacct's own is an answer; any other error is a fault.

    Within less than `LIMIT` seconds a case is judged, or set aside.
    """
    full = limit >= LIMIT
    draw = np.random.default_rng((SEED, case.number, 7))
    verdict = Verdict(case)
    before = 0
    if full:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        before = _peak()
    try:
        with limited(limit, Ended()), warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                verdict.plan = repr(case.node)[:300]
            except dp.DpacctError as refusal:
                verdict.refused = f"plan: {type(refusal).__name__}: {refusal}"[:160]
                return verdict
            # in a context of its own: where the limit ends it, a meter of its work may stay set
            copy_context().run(JUDGES[case.question], Asked(verdict, full), case, verdict, draw)
    except _OWN as refusal:
        verdict.refused = f"{type(refusal).__name__}: {refusal}"[:160]
    except Ended:
        verdict.aside = not full
        verdict.fault = f"over budget: ended after {LIMIT:g} s" if full else ""
    except Wrong as wrong:
        verdict.fault = f"wrong: {wrong}"[:400]
    except Exception as error:  # whatever it is, it is what the search looks for
        verdict.fault = f"crashed: {type(error).__name__}: {error}"[:300]
    if full and not verdict.fault and (more := _peak() - before) > MEMORY:
        verdict.fault = f"over budget: {more / 2**30:.1f} GB"
    if not verdict.fault and verdict.seconds > SECONDS:
        verdict.fault = f"over budget: {verdict.seconds:.1f} s of CPU"
    return verdict


# -- a smaller plan that fails alike ----------------------------------------------------------------------


def _simpler(case: Case) -> Iterator[Case]:
    """Cases with a part less, fewer steps, or a number of fewer digits."""
    for k in range(len(case.parts)):
        if len(case.parts) > 1:
            yield replace(case, parts=case.parts[:k] + case.parts[k + 1 :])
    for k, part in enumerate(case.parts):
        changed = []
        for steps in (1, 2, 10, part.steps // 10, part.steps // 2):
            if 0 < steps < part.steps:
                changed.append(replace(part, steps=steps))
        for name in ("values", "about"):
            texts = getattr(part, name)
            for i, text in enumerate(texts):
                for digits in (1, 2):
                    shorter = f"{float(text):.{digits}g}"
                    if len(shorter) < len(text) and float(shorter) > 0 and "e" not in shorter[:1]:
                        changed.append(
                            replace(part, **{name: (*texts[:i], shorter, *texts[i + 1 :])})
                        )
        for right in changed:
            yield replace(case, parts=(*case.parts[:k], right, *case.parts[k + 1 :]))
    for i, text in enumerate(case.at):
        for digits in (1, 2):
            shorter = f"{float(text):.{digits}g}"
            if len(shorter) < len(text) and "+" not in shorter:
                yield replace(case, at=(*case.at[:i], shorter, *case.at[i + 1 :]))


def smaller(case: Case, tries: int = 200) -> Case:
    """A simpler case of the same kind of fault."""
    kind = judged(case).fault[:12]
    left = tries
    again = True
    while again and left > 0:
        again = False
        for right in _simpler(case):
            left -= 1
            with suppress(Exception):
                if judged(right).fault[:12] == kind:
                    case, again = right, True
                    break
            if left <= 0:
                break
    return case


# -- the search -------------------------------------------------------------------------------------------

Summary = dict[str, Any]
"""`seed`, `note`, and `streams`: of each the counts, the plans at fault, and what is next to be drawn."""


def _none_yet(first: int) -> Summary:
    counts = ("drawn", "judged", "in_full", "aside", "by_truth", "loose")
    empty: Summary = {"refused": {}, "slow": {}, "faults": [], "cells": {}}
    return {"numbers": [[first, 1, 0]], **dict.fromkeys(counts, 0), **empty}


def _counted(total: Summary, verdict: Verdict, full: bool) -> None:
    """One verdict more."""
    case = verdict.case
    total["drawn"] += 1
    total["aside"] += verdict.aside
    if verdict.aside:
        return
    total["judged"] += 1
    total["in_full"] += full
    total["by_truth"] += verdict.by_truth
    total["loose"] += bool(verdict.loose)
    mechanism, sampling, question = case.cell.split(" | ")
    _one_more(total["cells"].setdefault(mechanism, {}).setdefault(sampling, {}), question)
    for limit in (0.1, 1.0):
        if verdict.seconds > limit:
            _one_more(total["slow"], f"above {limit:g} s")
    if verdict.refused:
        words = verdict.refused.split()[:9]
        _one_more(total["refused"], " ".join(w for w in words if not any(map(str.isdigit, w))))
    if verdict.fault:
        about = [case.number, case.question, list(case.at), case.adjacency, verdict.plan]
        total["faults"].append([*about, verdict.fault])
        print(*about, verdict.fault, sep=" | ", flush=True)


def _one_more(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def search(stream: str, cases: int, first: int, store: Path) -> int:
    """So many cases more from the first on that nobody has or judges; how many are at fault."""
    store.mkdir(exist_ok=True)
    several = TOGETHER[stream]
    faults, start = 0, first - first % several
    while cases > 0:
        file = store / f"{stream}-{start}.json"
        with claimed(file.with_suffix(".lock")) as free:
            if free and not file.exists():
                total = _several(stream, start)
                file.with_suffix(".new").write_text(
                    json.dumps({"seed": SEED, "streams": {stream: total}})
                )
                file.with_suffix(".new").replace(file)
                faults += len(total["faults"])
                cases -= several
        start += several
    return faults


def _several(stream: str, start: int) -> Summary:
    """The cases of one file."""
    total = _none_yet(start)
    for number in range(start, start + TOGETHER[stream]):
        full = number % FULL[stream] == 0
        verdict = judged(drawn(stream, number), LIMIT if full else QUICK[stream])
        _counted(total, verdict, full)
    total["numbers"][0][2] = TOGETHER[stream]
    return total


@contextmanager
def claimed(lock: Path) -> Iterator[bool]:
    """Whether no other process holds this lock; it is let go when the process ends, however it ends."""
    with lock.open("a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
        lock.unlink(missing_ok=True)


# -- the summary ------------------------------------------------------------------------------------------


def added(left: Any, right: Any) -> Any:
    """Counts added, lists one after the other, and so on within."""
    if isinstance(left, dict):
        return {k: added(left[k], right[k]) if k in left and k in right else (left | right)[k]
                for k in left | right}  # fmt: skip
    return left + right


def gathered(folders: list[Path]) -> Summary:
    """The stored summary, and what it has not yet of these folders."""
    summary: Summary = json.loads(STORE.read_text())
    for file in sorted(file for folder in folders for file in folder.glob("*.json")):
        for stream, more in json.loads(file.read_text())["streams"].items():
            total = summary["streams"][stream]
            first = more["numbers"][0][0]
            if not any(start <= first < start + done for start, _, done in total["numbers"]):
                total = added(total, more)
                total["numbers"] = joined(total["numbers"])
                summary["streams"][stream] = total
    return summary


def joined(numbers: list[list[int]]) -> list[list[int]]:
    """Stretches (first, step, count) of numbers, with neighbours made one."""
    result: list[list[int]] = []
    for first, step, count in sorted(numbers):
        if result and step == result[-1][1] == 1 and first == result[-1][0] + result[-1][2]:
            result[-1][2] += count
        else:
            result.append([first, step, count])
    return result


def mended(summary: Summary, stream: str, numbers: list[int]) -> None:
    """Faults that no longer are; each is judged again first."""
    for fault in summary["streams"][stream]["faults"]:
        if fault[0] in numbers:
            verdict = judged(drawn(stream, fault[0]))
            print(
                fault[0], verdict.plan, f"{verdict.seconds:.2f} s", verdict.fault or verdict.refused
            )
            fault[5:] = [verdict.fault] if verdict.fault else [fault[5], "mended"]


def page(summary: dict[str, Any]) -> str:
    """docs/random-plans.md."""
    kinds = ("wrong", "crashed", "over budget")
    lines = ["# Random plans", ""]
    for paragraph in (__doc__ or "").split("\n\n")[4:]:
        lines += [*paragraph.strip().split("\n"), ""]
    lines += [summary["note"], ""]
    counted = (
        "drawn",
        "set aside",
        "judged",
        "in full",
        "by outside truth",
        "refused",
        "above 1 s",
    )
    lines += [f"| stream | {' | '.join((*counted, *kinds))} |", "|---" * 11 + "|"]
    lists: dict[str, list[str]] = {"open": [], "mended": []}
    for name, total in summary["streams"].items():
        counts = [total[name] for name in ("drawn", "aside", "judged", "in_full", "by_truth")]
        counts += [sum(total["refused"].values()), total["slow"].get("above 1 s", 0)]
        faults = Counter[str]()
        for number, question, at, adjacency, plan, fault, *status in total["faults"]:
            kind = next(k for k in kinds if fault.startswith(k))
            became = status[0] if status else "open"
            faults[kind] += became == "open"
            if became in lists:
                asked = f"{question} at {', '.join(at)}, {adjacency}"
                lists[became].append(f"- {name} {number}, {kind}: `{plan[:150]}`, {asked}")
        cells = [*counts, *(faults[kind] for kind in kinds)]
        lines.append(f"| {name} | " + " | ".join(f"{count:,}" for count in cells) + " |")
    for became, heading in (("open", "Not mended yet"), ("mended", "Found and mended")):
        if lists[became]:
            lines += ["", f"## {heading}", "", *lists[became]]
    lines += ["", "## What was drawn"]
    for name, total in summary["streams"].items():
        samplings = sorted({s for row in total["cells"].values() for s in row})
        lines += ["", f"`{name}`, by mechanism and sampling:", ""]
        lines += [
            "| mechanism | " + " | ".join(samplings) + " |",
            "|---" * (1 + len(samplings)) + "|",
        ]
        for mechanism, row in sorted(total["cells"].items()):
            counts = [sum(row.get(s, {}).values()) for s in samplings]
            lines.append(f"| {mechanism} | " + " | ".join(f"{count:,}" for count in counts) + " |")
        asked_of: Counter[str] = Counter()
        for row in total["cells"].values():
            for questions in row.values():
                asked_of += Counter(questions)
        lines += ["", "Asked: " + ", ".join(f"{q} {n:,}" for q, n in asked_of.most_common()) + "."]
    return "\n".join([*lines, "", "Made by `python -m tests.searches.random_plans page`."]) + "\n"


def main(arguments: list[str]) -> int:
    """0 where nothing was wrong, crashed or over budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=(*STREAMS, "again", "mended", "page"))
    parser.add_argument("names", nargs="*", help="folders, or a stream and its numbers")
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--store", type=Path, default=Path("random_plans"))
    chosen = parser.parse_args(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    if chosen.what == "again":
        stream, *numbers = chosen.names
        verdicts = [judged(drawn(stream, int(number))) for number in numbers]
        for verdict in verdicts:
            print(verdict, flush=True)
        return 5 if any(verdict.fault for verdict in verdicts) else 0
    if chosen.what in ("mended", "page"):
        summary = gathered([Path(name) for name in chosen.names if chosen.what == "page"])
        if chosen.what == "mended":
            mended(summary, chosen.names[0], [int(number) for number in chosen.names[1:]])
        STORE.write_text(json.dumps(summary) + "\n")
        PAGE.write_text(page(summary))
        return 0
    return 5 if search(chosen.what, chosen.cases, chosen.first, chosen.store) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
