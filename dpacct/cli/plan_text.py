"""Plans as they are printed: `Poisson(0.01)(Gaussian(sigma=1.1)) * 1000` is read back exactly."""

from __future__ import annotations

import ast
from typing import Any

import dpacct
from dpacct.declare.number import shown
from dpacct.errors import InvalidArgument
from dpacct.plan.node import Node

_NAMES = (
    *(
        "Gaussian",
        "Laplace",
        "DiscreteGaussian",
        "DiscreteLaplace",
        "Staircase",
        "RandomizedResponse",
    ),
    *("PureDP", "ApproxDP", "ZCDP", "ExponentialMechanism", "GNMax", "LNMax"),
    *("Poisson", "WithoutReplacement", "BallsInBins", "RecordsPerUser", "Participation"),
)


def plan_from_text(text: str) -> Node:
    """Read one mechanism, a sampled one, or a composition of them by `*` and `+`.

    Numbers stay decimal, so the plan is exactly what was typed. Raises `InvalidArgument`.

    >>> plan_from_text("Poisson(0.01)(Gaussian(sigma=1.1)) * 1000 + Laplace(b=20)")
    Poisson(0.01)(Gaussian(sigma=1.1)) * 1000 + Laplace(b=20)
    """
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body, text.strip())
    except (SyntaxError, ValueError, RecursionError, TypeError) as error:
        if isinstance(error, InvalidArgument):
            raise
        message = f"a step must be a plan such as Laplace(b=100), got {shown(text)}"
        raise InvalidArgument(message, argument="STEP") from None
    return Node.checked(value, "a step must be")


def _value(node: ast.expr, text: str) -> Any:
    match node:
        case ast.Constant(value=int() | float()) | ast.UnaryOp(operand=ast.Constant()):
            return ast.get_source_segment(text, node)
        case ast.Constant(value=str(word)):
            return word
        case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int(times))):
            return _value(left, text) * times
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _value(left, text) + _value(right, text)
        case ast.Name(id=name) if name in _NAMES:
            return vars(dpacct).get(name) or dpacct.__getattr__(name)
        case ast.Call(func=function, args=values, keywords=keywords):
            named = {each.arg: _value(each.value, text) for each in keywords if each.arg}
            return _value(function, text)(*[_value(each, text) for each in values], **named)
    raise ValueError(ast.unparse(node))
