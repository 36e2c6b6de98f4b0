"""Answers: one question at many values, answered in one object of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from dpacct.vocabulary import Side, Strength

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpacct.answer.answer import Answer

    _Floats = NDArray[np.float64]

_SHOWN = 8
"""More answers than that are not printed one by one."""


class Answers(Sequence["Answer"]):
    """The answers at many values: `value`, `lower` and `upper` are arrays of the values' shape.

    An end that is not known is nan. As an array, it is the safe ends; as a sequence, single answers.
    `side` and `strength` are what all of them have at least.

    >>> import dpacct as dp
    >>> answers = dp.Gaussian(sigma=2).epsilon([1e-5, 1e-6], method="exact")
    >>> [f"{answer:.4f}" for answer in answers], answers.upper.shape, str(answers.side)
    (['1.9931', '2.2541'], (2,), 'two-sided')
    """

    def __init__(self, answers: Sequence[Answer], shape: tuple[int, ...] | None = None) -> None:
        self._answers = tuple(answers)
        self.shape = (len(self._answers),) if shape is None else shape

    def _array(self, numbers: Sequence[float | None]) -> _Floats:
        import numpy as np

        return np.array(numbers, dtype=np.float64).reshape(self.shape)  # None becomes nan

    @property
    def value(self) -> _Floats:
        """The best single numbers."""
        return self._array([answer.value for answer in self._answers])

    @property
    def lower(self) -> _Floats:
        """The lower ends."""
        return self._array([answer.lower for answer in self._answers])

    @property
    def upper(self) -> _Floats:
        """The upper ends."""
        return self._array([answer.upper for answer in self._answers])

    @property
    def side(self) -> Side:
        """What is known of every one."""
        return reduce(Side.meet, (answer.side for answer in self._answers), Side.TWO_SIDED)

    @property
    def strength(self) -> Strength:
        """The weakest."""
        return Strength.weakest(answer.strength for answer in self._answers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        made = self._array([float(answer) for answer in self._answers])
        return made if dtype is None else made.astype(dtype)

    def __len__(self) -> int:
        return len(self._answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self._answers)

    def __getitem__(self, index: Any) -> Any:
        """One answer in reading order, or several of them."""
        entry = self._answers[index]
        return Answers(entry) if isinstance(index, slice) else entry

    def __repr__(self) -> str:
        return "\n".join(map(str, self._some()))

    def _repr_html_(self) -> str:
        shown = self._some()
        return "<br>".join(x if isinstance(x, str) else x._repr_html_() for x in shown)

    def _some(self) -> list[Answer | str]:
        """All of them, or the first and the last of many."""
        if len(self) <= _SHOWN:
            return [*self]
        half = _SHOWN // 2
        return [*self._answers[:half], f"... of {len(self)} answers ...", *self._answers[-half:]]
