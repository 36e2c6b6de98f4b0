"""Flower: a privacy accountant for its strategies; needs flwr 1.41 or later where it is used.

The client side, noise added before an update leaves the device, is `dpacct.interop.flower_mod`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dpacct import Adjacency, InvalidArgument, Node, Poisson, WithoutReplacement
from dpacct.interop import extras
from dpacct.interop.history import answer, safe_delta
from dpacct.interop.meaning import AMBIGUOUS, meaning

SCHEMA = 1
BACKEND = "dpacct"
_FIELDS = ("noise_multiplier", "sample_size", "population_size")


class _Event(NamedTuple):
    """A GaussianPrivacyEvent's numbers."""

    noise_multiplier: float
    sample_size: int
    population_size: int


class Accountant:
    """flwr's `PrivacyAccountant` protocol, answered by the exact engine: the safe end of each number.

    `config` is a flwr `PrivacyConfig`. Under replace-one (sampling without replacement) say what a
    noise multiplier is divided by: "clip" (Flower's own strategies add noise multiplier times clip)
    or "sensitivity" (as flwr's RdpAccountant reads it). Raises `InvalidArgument` (a ValueError).
    """

    def __init__(self, config: Any, *, noise_multiplier_of: str | None = None) -> None:
        self._config = config
        replaced = config.neighboring_relation.value == "replace-one"
        adjacency = Adjacency.REPLACE_ONE if replaced else Adjacency.ADD_REMOVE
        self._means = meaning(adjacency, noise_multiplier_of)
        if self._means.factor() is None:
            raise InvalidArgument(f"{AMBIGUOUS}, got None", argument="noise_multiplier_of")
        self._counts: dict[_Event, int] = {}
        self._plan: Node | None = None

    def __repr__(self) -> str:
        return f"<dpacct's accountant for Flower: {self.num_releases} releases>"

    @property
    def config(self) -> Any:
        """The configuration it was made with."""
        return self._config

    @property
    def num_releases(self) -> int:
        """The number of private releases composed so far."""
        return sum(self._counts.values())

    @property
    def plan(self) -> Node | None:
        """The composed plan; None before anything was composed."""
        return self._plan

    def _step(self, event: Any) -> tuple[_Event, Node]:
        """One release, checked."""
        numbers = _Event(*(getattr(event, name) for name in _FIELDS))
        if numbers.population_size != self._config.population_size:
            message = f"population_size of the event must be {self._config.population_size}"
            raise InvalidArgument(
                f"{message}, got {numbers.population_size}", argument="population_size"
            )
        noise = self._means.gaussian(numbers.noise_multiplier)
        method = self._config.sampling_method.value
        if method == "no-amplification":
            return numbers, noise
        sampler = Poisson if method == "poisson" else WithoutReplacement
        return numbers, sampler(f"{numbers.sample_size}/{numbers.population_size}")(noise)

    def _with(self, event: Any, count: int) -> tuple[_Event, Node]:
        """The plan after `count` more releases of `event`."""
        numbers, step = self._step(event)
        more = step * extras.count("count", count)
        return numbers, more if self._plan is None else self._plan + more

    def compose(self, event: Any, count: int = 1) -> None:
        """Count one or more identical releases."""
        numbers, self._plan = self._with(event, count)
        self._counts[numbers] = self._counts.get(numbers, 0) + count

    def get_epsilon(self, delta: float) -> float:
        """The safe end of epsilon at `delta`; 0 where nothing was composed."""
        if not 0 < delta < 1:
            raise InvalidArgument(f"delta must be in (0, 1), got {delta}", argument="delta")
        return (
            0.0 if self._plan is None else float(answer(self._plan, delta, self._means.adjacency))
        )

    def get_delta(self, epsilon: float) -> float:
        """The safe end of delta at `epsilon`; 0 where nothing was composed."""
        if not 0 <= epsilon < float("inf"):
            message = f"epsilon must be a finite number of at least 0, got {epsilon}"
            raise InvalidArgument(message, argument="epsilon")
        return 0.0 if self._plan is None else safe_delta(self._plan, epsilon, self._means.adjacency)

    def get_privacy_spent(self, delta: float | None = None) -> Any:
        """A flwr `PrivacySpent` at `delta`, by default the configured one."""
        flower = extras.required("flwr.serverapp", "flower")
        target = self._config.target_delta if delta is None else delta
        return flower.PrivacySpent(
            epsilon=self.get_epsilon(target),
            delta=target,
            num_releases=self.num_releases,
            accounting_method=f"{BACKEND} (exact)",
        )

    def would_exceed(self, event: Any, max_epsilon: float | None = None, count: int = 1) -> bool:
        """Return whether composing `event` would exceed an epsilon; changes nothing."""
        limit = self._config.max_epsilon if max_epsilon is None else max_epsilon
        if limit is None or isinstance(limit, bool) or not 0 < limit < float("inf"):
            message = "max_epsilon must be a positive number, in the call or the PrivacyConfig"
            raise InvalidArgument(f"{message}, got {limit}", argument="max_epsilon")
        _, plan = self._with(event, count)
        return float(answer(plan, self._config.target_delta, self._means.adjacency)) > limit

    def state_dict(self) -> dict[str, object]:
        """The state for `load_state_dict`, as JSON values."""
        return {
            "schema_version": SCHEMA,
            "backend": BACKEND,
            "config": self._settings(),
            "noise_multiplier_of": self._means.noise_multiplier_of,
            "compositions": [
                {"event": event._asdict(), "count": count} for event, count in self._counts.items()
            ],
        }

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Take over a saved state, all or nothing.

        Raises `InvalidArgument` for another version, backend or configuration.
        """
        mine = self.state_dict()
        for key in ("schema_version", "backend", "config", "noise_multiplier_of"):
            if not isinstance(state, dict) or state.get(key) != mine[key]:
                message = f"{key} of the accountant's state must be {mine[key]!r}"
                got = state.get(key) if isinstance(state, dict) else state
                raise InvalidArgument(f"{message}, got {got!r:.200}", argument="state")
        fresh = Accountant(self._config, noise_multiplier_of=self._means.noise_multiplier_of)
        entries: Any = state.get("compositions")
        try:
            for entry in entries:
                if set(entry) != {"event", "count"} or set(entry["event"]) != set(_FIELDS):
                    raise KeyError
                fresh.compose(_Event(**entry["event"]), entry["count"])
        except (KeyError, TypeError) as error:
            message = f"compositions of the accountant's state are not as written: {entries!r:.80}"
            raise InvalidArgument(message, argument="state") from error
        self._counts, self._plan = fresh._counts, fresh._plan

    def _settings(self) -> dict[str, object]:
        config = self._config
        return {
            "target_delta": config.target_delta,
            "population_size": config.population_size,
            "neighboring_relation": config.neighboring_relation.value,
            "sampling_method": config.sampling_method.value,
            "max_epsilon": config.max_epsilon,
        }
