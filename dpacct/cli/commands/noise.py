"""The smallest noise that meets a target."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpacct.answer.answer import leading, safe_number
from dpacct.cli import screens
from dpacct.cli.command import ANSWERING, PROVING, TARGET, CommandLine, command, group, option, plan
from dpacct.declare.domain import Word
from dpacct.declare.number import short, text, up
from dpacct.declare.record import Usage
from dpacct.vocabulary import Adjacency

if TYPE_CHECKING:
    from dpacct.answer import Answer
    from dpacct.answer.ask import BoundaryQuestion
    from dpacct.cli.output import Result
    from dpacct.cli.plan_file import StatedPlan

FRAMEWORKS = Word("opacus", "flower", "torch")
_NAMES = {"rdp": "RDP", "clt": "the central limit"}


@command(
    "noise",
    plan(noise=False),
    TARGET,
    group(
        "Target",
        option("--paste", "also lines to paste into a training script", choices=FRAMEWORKS.choices),
    ),
    ANSWERING,
    PROVING,
    examples=(
        "noise --eps 7 --delta 1e-5 --rate 0.01 --steps 1000",
        "noise --eps 8 --delta 1e-5 --batch-size 256 --dataset-size 50000 --epochs 20 --paste opacus",
        "noise --eps 7 --delta 1000^-1.1 --rate 0.01 --steps 1000 --clip 0.5",
        "noise --eps 4 --delta 1e-5 --sampling uniform --rate 0.05 --rounds 200 --unit client",
        "noise --eps 1 --delta 1e-6 --mechanism laplace --steps 10",
    ),
)
def main(line: CommandLine) -> Result:
    """Compute the smallest noise with which a plan is (epsilon, delta)-private.

    Gaussian noise is answered as the noise multiplier (standard deviation / clip) and, with --clip, as
    a standard deviation; Laplace noise as b (scale / sensitivity); --details and --json have sigma
    (standard deviation / sensitivity). All are rounded up. That no attack's advantage (TPR - FPR) exceeds A
    is --eps 0 --delta A.
    """
    from dpacct.answer.ask import BoundaryQuestion

    line.needs("epsilon", "delta")
    stated, paste = line.stated(), line.read("paste", FRAMEWORKS)
    kind, clip, goal = stated.kind, stated.clip, line.pick(("epsilon", "delta"))
    question = BoundaryQuestion(**goal, name=kind.sought, bounds=kind.between)
    beside = line.json or not line.get("quiet")
    answer = screens.asked(line, question, stated.sized, beside=beside)
    # what is saved is the noise multiplier of Gaussian noise, and of any noise that comes with a clip
    per_clip = answer.adjacency.clip_factor * float(answer)
    more = {"noise_multiplier": per_clip} if kind.kind == "gaussian" else {}
    saved: dict[str, Any] = {**more} or {kind.sought: float(answer)}
    if clip is not None and kind.kind in ("gaussian", "laplace"):
        # One float up: a product may be rounded down, and less noise is not what was asked for.
        size = math.nextafter(per_clip * float(clip), math.inf)
        more["noise_scale" if kind.kind == "laplace" else "noise_std"] = size
        saved = {"noise_multiplier": per_clip}
    answer = replace(answer, extra={**answer.extra, **more})
    screen = _screen(answer, question, clip, kind.parameters[kind.sought].means)
    if paste is None:
        return screens.answered(line, screen, stated, **saved)
    pasted = _pasted(paste, answer, stated, question)
    # one number and one clip, in what is saved as in what is pasted
    saved = {"noise_multiplier": Fraction(_printed(answer)), "clip": clip or Fraction(1)}
    result = screens.answered(line, replace(screen, below=["", *pasted]), stated, **saved)
    body = lambda: {**result.body(), "paste": "\n".join(pasted)}  # noqa: E731
    return result._replace(body=body, quiet=lambda: pasted)


def _screen(
    answer: Answer, question: BoundaryQuestion, clip: Fraction | None, means: str
) -> screens.Screen:
    """The noise that training libraries take leads; sigma stands in the details."""
    from dpacct.plan.words import phrase

    shown, name = answer, answer.quantity
    if "noise_multiplier" in answer.extra:
        name, shown, means = "noise multiplier", screens.per_clip(answer), screens.MULTIPLIER
    more = [f"({means})"]
    for size, word in (("noise_std", "standard deviation"), ("noise_scale", "scale")):
        if size in answer.extra and clip is not None:
            more.append(f"{word} {up(float(answer.extra[size]), 5)} at clip {short(clip)}")
    target = screens.target(question.epsilon, question.delta)
    return screens.Screen(
        answer,
        f"{name} {leading(shown, 5)}    for {target}",
        screens.sure(answer, "this noise meets the target", "no smaller noise does"),
        "" if answer.tree is None else phrase(answer.tree, sizes=False),
        number=safe_number(shown),
        more=more,
        others=_beside(answer),
        asked=question.settings,
    )


def _beside(answer: Answer) -> str:
    """Compare with the noise that other methods would need.

    A larger sigma is more noise, a larger eps0 is less: the safe end is the upper one of a sigma, and the
    lower one of an eps0.
    """
    larger_is_noisier, differences = answer.safe_end == "upper", list[str]()
    for other in answer.alternatives:
        if other.method not in _NAMES or not float(other) or not math.isfinite(float(other)):
            continue
        ratio = 100 * (float(other) / float(answer) - 1)
        more = (ratio > 0) == larger_is_noisier
        much = f"{abs(ratio):.1f} % {'more' if more else 'less'} noise"
        if not larger_is_noisier:
            size = f"{answer.quantity} {abs(ratio):.1f} % {'smaller' if ratio < 0 else 'larger'}"
            much = f"{'more' if more else 'less'} noise ({size})"
        if abs(ratio) < 0.05:
            much = "the same"
        elif other.is_estimate:
            much += ", an estimate" if more else ", which is too little"
        would = "" if differences else "would need "
        differences.append(f"{_NAMES[other.method]} {would}{much}")
    return "; ".join(differences)


# --- the lines to paste into a training program: the noise, and a guard for the whole run


def _printed(answer: Answer) -> str:
    """The noise multiplier of a training script, rounded up."""
    return up(answer.adjacency.clip_factor * float(answer), 5)


def _pasted(
    framework: str, answer: Answer, stated: StatedPlan, question: BoundaryQuestion
) -> list[str]:
    """The lines of a template, with the numbers of an answer.

    Raises `Usage` for noise, a sampling or an adjacency that the framework does not have.
    """
    share, uniform = stated.steps.share, stated.steps.sampling == "uniform"
    wrong = ""
    if stated.kind.kind != "gaussian":
        wrong = f"--paste needs Gaussian noise, got {stated.kind.kind}"
    elif framework == "opacus" and (share is None or uniform):
        wrong = (
            "--paste opacus, whose data loader samples by coin, needs --rate, or --batch-size and"
        )
        wrong += " --dataset-size, without --sampling uniform"
    elif framework == "flower" and share is not None:
        wrong = "--paste flower, whose strategies earn no amplification, needs --rounds and no rate"
    elif framework != "torch" and answer.adjacency is not Adjacency.ADD_REMOVE:
        wrong = f"--paste {framework} needs --adjacency add-remove, got {answer.adjacency}"
    if wrong:
        raise Usage(wrong, argument="--paste")
    from importlib.resources import files

    noise, clip = _printed(answer), "1.0" if stated.clip is None else text(stated.clip)
    step = f'dp.Gaussian(noise_multiplier="{noise}", clip="{clip}")'
    if share is not None:
        sampler = "WithoutReplacement" if uniform else "Poisson"
        step = f'dp.{sampler}("{text(share)}")({step})'
    template = files("dpacct.cli").joinpath(f"paste/{framework}.txt").read_text("utf-8")
    filled = template.format(
        noise=noise,
        clip=clip,
        step=step,
        steps=stated.steps.count(stated.call),
        epsilon=text(question.epsilon),
        delta=text(question.delta),
    )
    return filled.splitlines()
