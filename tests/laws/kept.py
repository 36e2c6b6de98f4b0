"""Examples that a long search found to break a law: stored, so that every ordinary run tries them again.

`tests/laws/examples.jsonl` has one line an example: the law, its cell of the catalogue, and all that was
drawn, in order. A search (`--hypothesis-profile=night`, whose seeds are fresh) adds the lines by itself;
`test_kept.py` puts the draws back in the place of Hypothesis' own.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

import dpacct as dp
from dpacct.plan.node import Node
from dpacct.vocabulary import Adjacency
from tests.laws import catalogue

STORE = Path(__file__).with_name("examples.jsonl")


def plain(value: Any) -> Any:
    """As JSON: what is no number or text under the name of its type."""
    match value:
        case catalogue.Drawn():
            sampler = value.sampler and value.sampler.kind
            cell = [str(value.kind), sampler, str(value.adjacency)]
            numbers = {name: plain(number) for name, number in value.values.items()}
            return {"plan": [*cell, numbers, plain(value.rate), value.steps]}
        case catalogue.Combination():
            return {"cell": str(value)}
        case Fraction():
            return {"fraction": str(value)}
        case Node():
            return {"node": value.to_json()}
        case tuple():
            return {"tuple": [plain(each) for each in value]}
        case list():
            return [plain(each) for each in value]
    return value


def read(value: Any) -> Any:
    """What `plain` wrote."""
    match value:
        case {"plan": [kind, sampler, adjacency, numbers, rate, steps]}:
            kinds = {str(each): each for each in catalogue.MECHANISMS}
            samplers = {each and each.kind: each for each in catalogue.SAMPLERS}
            values = {name: read(number) for name, number in numbers.items()}
            where = (kinds[kind], samplers[sampler], Adjacency.parse(adjacency))
            return catalogue.Drawn(*where, values, read(rate), steps)
        case {"cell": name}:
            return next(cell for cell in catalogue.CELLS if str(cell) == name)
        case {"fraction": text}:
            return Fraction(text)
        case {"node": text}:
            return dp.from_json(text)
        case {"tuple": parts}:
            return tuple(map(read, parts))
        case list():
            return [read(each) for each in value]
    return value


class Recorded:
    """Hypothesis' `data`, which notes what it drew."""

    def __init__(self, data: Any) -> None:
        self.data, self.drawn = data, []  # type: Any, list[Any]

    def draw(self, strategy: Any, label: Any = None) -> Any:
        self.drawn.append(self.data.draw(strategy, label))
        return self.drawn[-1]


class Repeated:
    """The same from a stored example."""

    def __init__(self, drawn: list[Any]) -> None:
        self.drawn: Iterator[Any] = iter(drawn)

    def draw(self, strategy: Any, label: Any = None) -> Any:
        return next(self.drawn)


@contextmanager
def noted(law: Callable[..., None], arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments for the law; if it fails with them, they are stored."""
    data = Recorded(arguments["data"]) if "data" in arguments else None
    try:
        yield {**arguments, **({} if data is None else {"data": data})}
    except HypothesisException:
        raise
    except Exception:
        about = {name: plain(value) for name, value in arguments.items() if name != "data"}
        drawn = None if data is None else [plain(each) for each in data.drawn]
        line = json.dumps(
            {"law": [law.__module__, law.__name__], "arguments": about, "drawn": drawn}
        )
        if not STORE.exists() or line not in STORE.read_text(encoding="utf-8").splitlines():
            with STORE.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        raise


def stored() -> list[dict[str, Any]]:
    """All stored examples."""
    return [json.loads(line) for line in STORE.read_text(encoding="utf-8").splitlines()]


def again(example: Mapping[str, Any]) -> None:
    """The law once more, with what broke it; inside of Hypothesis, as laws make assumptions."""
    module, name = example["law"]
    law = getattr(import_module(module), name).hypothesis.inner_test

    @settings(max_examples=1, database=None, deadline=None)
    @given(st.none())
    def once(_: None) -> None:
        arguments = {name: read(value) for name, value in example["arguments"].items()}
        if example["drawn"] is not None:
            arguments["data"] = Repeated([read(value) for value in example["drawn"]])
        law.__wrapped__(**arguments)

    once()
