"""What a guarantee does not cover, whatever its numbers are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpacct.report.about import About

if TYPE_CHECKING:
    from dpacct.answer import Answer


def uncovered(answer: Answer, about: About) -> tuple[str, ...]:
    """One sentence for each thing that a reader may think is covered; the plan's own words first."""
    unit = str(answer.unit)

    def sentence(name: str, text: str, silent: str) -> str:
        return f"{name}: {text or silent}"

    return (
        sentence(
            "Tuning",
            about.tuning,
            "not stated. Runs that chose hyperparameters on the same data compose with this one,"
            " also those that were thrown away.",
        ),
        sentence(
            "Preprocessing",
            about.preprocessing,
            "not stated. Whatever was computed from the data before the plan is not counted.",
        ),
        sentence(
            "Released in the clear",
            about.unprotected,
            "not stated. Metrics, sample sizes and other statistics of the data have no guarantee.",
        ),
        f"Groups: several {unit}s together are protected less; k of them may see up to k times the"
        " epsilon, and a larger delta.",
        "Other releases: whatever else was or will be released about the same data composes with"
        " this plan.",
        "Inference: what is true of the population can be learnt, also about someone who took no"
        " part.",
        "Side channels: running times, memory, network traffic and failures are not part of the"
        " output.",
    )
