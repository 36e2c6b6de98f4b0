"""What numpy would only warn of is an error: an overflow or a nan on the way never becomes an answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from dpacct.errors import NotCertified

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def strict(question: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same question, withheld where its computation overflows, is undefined or grows without end.

    What numpy warns of is raised where it happens, and is no `ArithmeticError`: nobody who has another
    way takes it for a refusal. Code that expects such a value, and checks for it, says so by an
    `np.errstate` of its own. An `ArithmeticError` of Python's that reaches the entry is withheld too.

    >>> import numpy as np
    >>> strict(lambda x: float(np.exp(x)))(1e9)
    Traceback (most recent call last):
    ...
    dpacct.errors.NotCertified: the answer is withheld: overflow on the way to it
    """

    @wraps(question)
    def asked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        import numpy as np

        try:
            with np.errstate(all="call", under="ignore", call=_withhold):
                return question(*args, **kwargs)
        except (ArithmeticError, MemoryError) as error:
            message = "its numbers are beyond the reach of doubles and of this engine"
            raise NotCertified(f"the answer is withheld: {message}") from error

    return asked


def _withhold(what: str, flag: int) -> None:
    """Called by numpy, with its name for what went wrong."""
    raise NotCertified(f"the answer is withheld: {what} on the way to it")
