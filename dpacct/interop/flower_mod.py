"""Flower, client side: clip an update and add exactly as much noise as its guarantee needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from dpacct import Adjacency, Gaussian, InvalidArgument, Laplace, Node, Staircase, calibrate
from dpacct.interop.extras import count, required

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]

NOISES = ("gaussian", "laplace", "staircase")
_NAME = "dpacct LocalNoise"


class LocalNoise:
    """A mod for `ClientApp(mods=[...])`: what leaves the device is (epsilon, delta)-DP over `rounds`.

    Releases are counted in the client's context, and one more than `rounds` is refused. Only the update is
    made private: a reply with any other number, such as a loss or a count of samples, is refused unless
    `allow` has its name. What is allowed is public.

    The update is clipped, in the l2 norm for "gaussian", the l1 norm for "laplace", and each number
    to [-clip, clip] for "staircase" (whose cost grows with the number of parameters: for small
    models only). Any two updates of a client may be exchanged (replace-one), so the sensitivity is 2
    clip; `adjacency="zero-out"` protects only whether there was an update at all, and halves it. The
    noise is calibrated with the exact engine, at any epsilon; `delta` = 0 is allowed for Laplace and
    staircase noise. Doubles are not real numbers: that the noise's last bits hide the update is
    assumed, not proved. Raises `InvalidArgument`.

    >>> mod = LocalNoise(clip=1.0, epsilon=8, delta=1e-5)
    >>> print(f"{mod.scale(parameters=1000):.4f} {LocalNoise(1.0, 8, noise='laplace').scale(1):.4f}")
    1.2005 0.2500
    """

    def __init__(
        self,
        clip: float,
        epsilon: float,
        delta: float = 0.0,
        *,
        noise: str = "gaussian",
        rounds: int = 1,
        adjacency: Adjacency | str = Adjacency.REPLACE_ONE,
        allow: Collection[str] = (),
        rng: Any = None,
    ) -> None:
        if noise not in NOISES:
            message = f"noise must be gaussian, laplace or staircase, got {noise!r:.40}"
            raise InvalidArgument(message, argument="noise")
        for name, value in (("clip", clip), ("epsilon", epsilon)):
            if not 0 < value < math.inf:
                message = f"{name} must be a finite number above 0, got {value}"
                raise InvalidArgument(message, argument=name)
        if not 0 <= delta < 1 or (noise == "gaussian" and delta == 0):
            interval = "(0, 1) for gaussian noise" if noise == "gaussian" else "[0, 1)"
            raise InvalidArgument(f"delta must be in {interval}, got {delta}", argument="delta")
        self.clip, self.epsilon, self.delta = clip, epsilon, delta
        self.noise, self.rounds = noise, count("rounds", rounds)
        self.adjacency = Adjacency.parse(adjacency)
        if isinstance(allow, str):
            message = f"allow must be a list of names, got the text {allow!r:.40}"
            raise InvalidArgument(message, argument="allow")
        self.allow = frozenset(allow)
        self._rng = rng
        self._units: dict[int, float] = {}

    @property
    def sensitivity(self) -> float:
        """L1 or L2 sensitivity, in the norm that is clipped; for staircase noise that of each coordinate."""
        return self.clip * self.adjacency.clip_factor

    def unit(self, parameters: int) -> float:
        """Gaussian and Laplace: noise scale / sensitivity. Staircase: epsilon of each number."""
        releases = self.rounds * (parameters if self.noise == "staircase" else 1)
        if releases not in self._units:
            self._units[releases] = self._calibrated(releases)
        return self._units[releases]

    def _calibrated(self, releases: int) -> float:
        build = _BUILDS[self.noise]
        if self.delta == 0:
            each = self.epsilon / releases * (1 - 1e-15)
            return each if self.noise == "staircase" else 1 / each
        noise = calibrate(
            lambda value: build(value) * releases,
            epsilon=self.epsilon,
            delta=self.delta,
            method="exact",
            adjacency=self.adjacency,
            bounds=(1e-9, 500) if self.noise == "staircase" else (1e-9, 1e12),
            name=self.noise,
        )
        return float(noise)

    def scale(self, parameters: int = 1) -> float:
        """Standard deviation (Gaussian) or scale (Laplace) of the noise on each number.

        For staircase noise, the mean size of the noise.
        """
        unit = self.unit(parameters)
        size = Staircase(eps0=unit).mean_size if self.noise == "staircase" else unit
        return float(size) * self.sensitivity

    def plan(self, parameters: int = 1) -> Node:
        """The plan of all rounds, for any question about it."""
        releases = self.rounds * (parameters if self.noise == "staircase" else 1)
        return (_BUILDS[self.noise](self.unit(parameters)) * releases).under(
            self.adjacency, unit="client"
        )

    def clipped(self, update: Vector) -> Vector:
        """The update within the norm; raises `InvalidArgument` where it is not finite."""
        import numpy as np

        if not np.isfinite(update).all():
            raise InvalidArgument(
                "update must be finite numbers, got inf or nan", argument="update"
            )
        if self.noise == "staircase":
            return np.clip(update, -self.clip, self.clip)
        norm = float(np.linalg.norm(update, 1 if self.noise == "laplace" else 2))
        # a hair less, for the rounding of the norm and of the product
        return update if norm <= self.clip else update * (self.clip / norm * (1 - 1e-12))

    def noisy(self, update: Vector) -> Vector:
        """The clipped update plus noise."""
        import numpy as np

        kept, count = self.clipped(update), update.size
        if self._rng is not None:  # a seed, given for a test, starts one stream
            self._rng = np.random.default_rng(self._rng)
        mechanism = _BUILDS[self.noise](self.unit(count))
        return kept + self.sensitivity * mechanism.sample(count, rng=self._rng)

    def __call__(self, msg: Any, ctxt: Any, call_next: Callable[[Any, Any], Any]) -> Any:
        """Run the app, and answer with its update clipped and noisy; an error where that can't be."""
        import numpy as np

        app = required("flwr.app", "flower")
        evaluation = msg.metadata.message_type.partition(".")[0] == "evaluate"
        if not evaluation and self._used(ctxt) >= self.rounds:
            return self._refusal(msg, f"the budget was for {self.rounds} rounds, and is used up")
        reply = call_next(msg, ctxt)
        if reply.has_error():
            return reply
        untold = self._unallowed(reply)
        if untold:
            return self._refusal(msg, untold)
        if evaluation and not reply.content.array_records:
            return reply
        reason = _wrong(msg, reply)
        if reason:
            return self._refusal(msg, reason)
        before = next(iter(msg.content.array_records.values()))
        key, after = next(iter(reply.content.array_records.items()))
        old, new = before.to_numpy_ndarrays(), after.to_numpy_ndarrays()
        if any(a.shape != b.shape or a.dtype.kind != "f" for a, b in zip(new, old, strict=True)):
            return self._refusal(msg, "arrays must be of floats, and shaped as they were sent")
        base = np.concatenate([a.ravel().astype(np.float64) for a in old])
        update = np.concatenate([a.ravel().astype(np.float64) for a in new]) - base
        try:
            self.clipped(update)
        except InvalidArgument as error:
            return self._refusal(msg, str(error))
        ctxt.state[_NAME] = app.ConfigRecord({"rounds": self._used(ctxt) + 1})
        released = base + self.noisy(update)
        ends = np.cumsum([a.size for a in new])
        parts = np.split(released, ends[:-1])
        noisy = [part.reshape(a.shape).astype(a.dtype) for part, a in zip(parts, new, strict=True)]
        arrays = {k: app.Array(a) for k, a in zip(after.keys(), noisy, strict=True)}
        reply.content[key] = app.ArrayRecord(arrays)
        return reply

    def _unallowed(self, reply: Any) -> str:
        """Return what the reply tells beside the update without leave; empty if it tells nothing."""
        content = reply.content
        for records in (content.metric_records, content.config_records):
            for where, record in records.items():
                for name in record:
                    if name not in self.allow:
                        said = (
                            f"{name!r} of the record {where!r} would leave the device unprotected"
                        )
                        return f"{said}: leave it out, or allow it by name, allow=[{name!r}]"
        return ""

    def _used(self, ctxt: Any) -> int:
        """Rounds in which this client released something."""
        held = ctxt.state.config_records
        return int(held[_NAME]["rounds"]) if _NAME in held else 0

    def _refusal(self, msg: Any, reason: str) -> Any:
        """An answer without any of the client's data."""
        app = required("flwr.app", "flower")
        codes = required("flwr.common.constant", "flower").ErrorCode
        error = app.Error(code=codes.MOD_FAILED_PRECONDITION, reason=f"{_NAME}: {reason}")
        return app.Message(error, reply_to=msg)


def _wrong(msg: Any, reply: Any) -> str:
    """Return why a message and its reply are not one model and its update; empty if they are."""
    for each, name in ((msg, "message"), (reply, "reply")):
        count = len(each.content.array_records)
        if count != 1:
            return f"the {name} must have exactly one ArrayRecord, got {count}"
    sent, back = (next(iter(each.content.array_records.values())) for each in (msg, reply))
    return "" if list(sent) == list(back) else "the reply's arrays must be named as they were sent"


_BUILDS: dict[str, Callable[[float], Gaussian | Laplace | Staircase]] = {
    "gaussian": lambda sigma: Gaussian(sigma=sigma),
    "laplace": lambda b: Laplace(b=b),
    "staircase": lambda eps0: Staircase(eps0=eps0),
}
