"""State: all of a run that must survive it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpacct_training.algorithm import Array, Arrays
from dpacct_training.meter import Meters
from dpacct_training.plan import Plan, counted


@dataclass(frozen=True)
class State:
    """A run after some rounds.

    `server`: what the server knows. `memory`: what clients on this machine keep. `private`: totals
    before the noise, kept for costs that depend on the votes; erased when the run is over. `costs`:
    those costs. `meters`, `coins`, `sizes`: what was measured and counted. `answers`: in how many
    rounds each client that takes noisy steps inside has answered. `missing`: how many answers of
    clients elsewhere did not come or were not taken, by the reason.
    """

    round: int
    server: Arrays
    memory: dict[int, Arrays] = field(default_factory=dict)
    private: dict[str, list[Array]] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    meters: Meters = field(default_factory=Meters)
    coins: int = 0
    sizes: tuple[int, ...] = ()
    answers: dict[int, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)

    def counts(self, plan: Plan) -> dict[str, int]:
        """What was counted where it was done, named as in `Plan.counts`."""
        counts = {"rounds": len(self.sizes), "coins": self.coins}
        names = [*plan.noise, *(["records"] if plan.records else [])]
        for name in sorted({*names, *self.meters}, key=lambda n: (n not in names, n)):
            meter = self.meters[name] if name in self.meters else Meters()[name]
            counts |= counted(name, meter.bounded, meter.vectors, meter.numbers)
        return counts

    def about(self) -> dict[str, Any]:
        """All but the arrays, as JSON values."""
        return {
            "round": self.round,
            "costs": self.costs,
            "meters": self.meters.to_dict(),
            "coins": self.coins,
            "sizes": list(self.sizes),
            "answers": {str(client): self.answers[client] for client in sorted(self.answers)},
            "missing": dict(sorted(self.missing.items())),
        }

    def to_tensors(self) -> dict[str, Array]:
        """The arrays, by names that sort them."""
        tensors = {f"server/{name}": array for name, array in self.server.items()}
        for client, arrays in self.memory.items():
            tensors |= {f"memory/{client}/{name}": array for name, array in arrays.items()}
        for name, totals in self.private.items():
            tensors |= {f"private/{name}/{i:09d}": total for i, total in enumerate(totals)}
        return {name: tensors[name] for name in sorted(tensors)}

    @classmethod
    def read(cls, about: dict[str, Any], tensors: dict[str, Array]) -> State:
        """What `about` and `to_tensors` returned. Raises `KeyError`, `TypeError`, `ValueError`."""
        server: Arrays = {}
        memory: dict[int, Arrays] = {}
        private: dict[str, list[Array]] = {}
        for path in sorted(tensors):
            kind, name, *rest = path.split("/")
            if kind == "server":
                server[name] = tensors[path]
            elif kind == "memory":
                memory.setdefault(int(name), {})[rest[0]] = tensors[path]
            else:
                private.setdefault(name, []).append(tensors[path])
        return cls(
            round=int(about["round"]),
            server=server,
            memory=memory,
            private=private,
            costs=dict(about["costs"]),
            meters=Meters.from_dict(about["meters"]),
            coins=int(about["coins"]),
            sizes=tuple(about["sizes"]),
            answers={int(client): int(n) for client, n in about["answers"].items()},
            missing=dict(about["missing"]),
        )
