"""Plans as JSON, versioned: numbers are exact text, every key is checked, nothing is guessed.

{"schema": 1, "node": "repeat", "steps": 1000, "of":
    {"node": "poisson", "rate": "0.01", "of": {"node": "gaussian", "sigma": "1.1"}}}
"""

from __future__ import annotations

import json
from typing import Any

from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument
from dpacct.plan.node import MAX_DEPTH, READERS, SCHEMA, Fields, Node


def nested(node: Node) -> Fields:
    """A node inside another, as JSON values."""
    return {"node": node.kind, **node.fields()}


def take(fields: Fields, name: str) -> Any:
    """Remove and return a field that must be there."""
    if name not in fields:
        raise _wrong(f"a plan's node must have the key {name!r}, got {shown(sorted(fields))}")
    return fields.pop(name)


def read(data: Any) -> Node:
    """The node that nested JSON values describe."""
    if not isinstance(data, dict):
        raise _wrong(f"a node of a plan must be an object with the key 'node', got {shown(data)}")
    fields = dict(data)
    kind = take(fields, "node")
    if not isinstance(kind, str) or kind not in READERS:
        _collect()
    if not isinstance(kind, str) or kind not in READERS:
        import difflib
        import textwrap

        close = difflib.get_close_matches(str(kind), READERS, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        listed = textwrap.shorten(", ".join(sorted(READERS)), 200, placeholder=" ...")
        raise _wrong(f"node must be one of {listed}, got {shown(kind)}{hint}")
    node = READERS[kind](fields)
    if fields:
        raise _wrong(f"a {kind} node has no key {shown(min(fields, key=str))}")
    return node


def from_dict(data: Any) -> Node:
    """The plan that `Node.to_dict` wrote.

    Raises `InvalidArgument` for another schema, an unknown node or key, and any bad value.

    >>> import dpacct as dp
    >>> dp.from_dict({"schema": 1, "node": "gaussian", "sigma": "1.1"})
    Gaussian(sigma=1.1)
    """
    if not isinstance(data, dict) or "schema" not in data:
        raise _wrong(
            f"a plan must be an object with the keys 'schema' and 'node', got {shown(data)}"
        )
    fields = dict(data)
    schema = fields.pop("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        newer = isinstance(schema, int) and schema > SCHEMA
        hint = " (a newer dpacct wrote it: upgrade to read it)" if newer else ""
        raise _wrong(f"schema of a plan must be {SCHEMA}, got {schema!r:.60}{hint}", "schema")
    try:
        return read(fields)
    except RecursionError:
        raise _wrong(f"a plan must be at most {MAX_DEPTH} levels deep") from None


def from_json(text: str | bytes) -> Node:
    """The plan that `Node.to_json` wrote. Numbers keep every digit; a key given twice is refused.

    Raises `InvalidArgument` for text that is no plan.

    >>> import dpacct as dp
    >>> plan = dp.Poisson("0.01")(dp.Gaussian(sigma=1.1)) * 1000
    >>> dp.from_json(plan.to_json()) == plan
    True
    """
    try:
        data = json.loads(text, parse_float=str, object_pairs_hook=_once)
    except (ValueError, TypeError, RecursionError) as wrong:
        if isinstance(wrong, InvalidArgument):
            raise
        raise _wrong(f"a plan must be JSON text, got {shown(text)}: {shown(str(wrong))}") from None
    return from_dict(data)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's keys, each given once."""
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _wrong(f"a key of a plan must be given once, got {shown(twice)} twice")
    return result


def _collect() -> None:
    """Import the packages whose files bring node kinds, and plug-ins; they register themselves."""
    import dpacct.mechanisms
    import dpacct.plan.parallel
    import dpacct.plan.samplers
    import dpacct.shuffling.shuffle
    import dpacct.voting.voted

    dpacct.mechanisms.load_plugins()


def _wrong(message: str, argument: str = "plan") -> InvalidArgument:
    return InvalidArgument(message, argument=argument)


def as_toml(value: Any) -> str:
    """A value of a plan's JSON in one line of TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {as_toml(of)}" for key, of in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
