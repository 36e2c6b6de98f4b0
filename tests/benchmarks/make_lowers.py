"""Make lowers.json: for every case of the benchmark, an end that dpacct proves to lie below the truth.

    python tests/benchmarks/make_lowers.py

A peer that promises an upper bound and answers below it is wrong, whatever dpacct's engine says: the
end follows from a certificate (docs/theory/certificate.md). `asked` is the question in Python.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from bench.cases import PROFILE_PROBES, cases  # noqa: E402
from bench.peers.ours import plan  # noqa: E402
from bench.questions import Question  # noqa: E402

import dpacct as dp  # noqa: E402
from dpacct.answer.ask import BoundaryQuestion  # noqa: E402
from dpacct.plan import certified  # noqa: E402

LOWERS = HERE / "lowers.json"


def proven(question: Question) -> list[tuple[str, str]]:
    """(what was asked, lower end) of each number that the question wants."""
    if question.want == "sigma":
        part, epsilon = question.single, question.epsilons[0]
        guess = dp.noise_multiplier(
            epsilon=epsilon,
            delta=question.target_delta,
            sample_rate=part.rate,
            steps=part.count,
        )
        result = certified.boundary(
            BoundaryQuestion(epsilon=epsilon, delta=question.target_delta, name="sigma"),
            lambda sigma: dp.Poisson(part.rate)(dp.Gaussian(sigma=sigma)) * part.count,
            guess,
        )
        text = f"dp.noise_multiplier(epsilon={epsilon}, delta={question.target_delta!r}, ...)"
        return [(text, str(result.certificate["lower"]))]
    node = plan(question)
    if question.want == "epsilon":
        answer = certified.epsilon(node, delta=question.target_delta)
        text = f"({node}).epsilon(delta={question.target_delta!r})"
        return [(text, str(answer.certificate["lower"]))]
    asked = question.epsilons
    if question.want == "profile":
        asked = tuple(question.epsilons[k] for k in PROFILE_PROBES)
    return [
        (
            f"({node}).delta(epsilon={e!r})",
            str(certified.delta(node, epsilon=e).certificate["lower"]),
        )
        for e in asked
    ]


def main() -> None:
    """Prove all of them and write the file."""
    results: dict[str, Any] = {}
    for case in cases():
        result = proven(case.question)
        results[case.id] = {"asked": [a for a, _ in result], "lower": [low for _, low in result]}
        print(case.id, *(low for _, low in result), flush=True)
    body = {"made_by": "tests/benchmarks/make_lowers.py", "values": results}
    LOWERS.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
