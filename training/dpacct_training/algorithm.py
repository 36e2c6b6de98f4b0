"""Algorithm: a federated system, independent of files, processes, engines and keys.

`Setting` is what a run is about: a model, who holds what, what is public, what it is judged on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

import dpacct as dp
from dpacct import InvalidArgument
from dpacct_training.accept import Settings, positive
from dpacct_training.data.dataset import Dataset, Federation
from dpacct_training.keys import Keys
from dpacct_training.local import Local
from dpacct_training.models.model import Model

if TYPE_CHECKING:
    from dpacct_training.noise import Noise
    from dpacct_training.plan import Cohort, Plan
    from dpacct_training.site import Site


Chance = Callable[[str, int], np.random.Generator]
_AT_ONCE = 2000  # samples per evaluation
Samples = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Setting:
    """`rate`: share of clients asked in a round.

    `chance` gives generators for what is public anyway (the start, masks that are the same for all);
    it comes from the run's key, and no noise can be told from it. Hosts have none.
    """

    model: Model
    federation: Federation
    rate: Fraction = Fraction(1)
    chance: Chance | None = field(default=None, compare=False)

    def keyed(self, keys: Keys) -> Setting:
        """Return the setting with public random numbers of this run."""

        def chance(purpose: str, round: int) -> np.random.Generator:
            return keys.generator(f"public {purpose}", round=round)

        return replace(self, chance=chance)

    def for_hosts(self) -> Setting:
        """Return the part that engines may send to other processes: nothing that comes from the run's key."""
        return replace(self, chance=None, federation=replace(self.federation, read={}))

    def generator(self, purpose: str, round: int = 0) -> np.random.Generator:
        """Public random numbers for a purpose and round."""
        if self.chance is None:
            raise InvalidArgument("only a run has public random numbers", argument="setting")
        return self.chance(purpose, round)

    def initial(self) -> Array:
        """The weights that the run starts from."""
        return self.model.initial(self.generator("start"))

    def samples(self, data: Dataset) -> Samples:
        """A data set as the model reads it."""
        read = self.federation.read
        if id(data) not in read:  # the data are kept, so the id stays theirs
            x = torch.from_numpy(data.scaled(self.federation.scaling))
            read[id(data)] = (data, (x, torch.from_numpy(data.y)))
        samples: Samples = read[id(data)][1]
        return samples

    def open(self) -> Samples:
        """The public samples. Raises `InvalidArgument` where there are none."""
        public = self.federation.public
        if public is None or not len(public):
            message = '[data] public must be given ("validation"), got none'
            raise InvalidArgument(message, argument="public")
        return self.samples(public)

    def evaluate(self, weights: Array, data: Dataset) -> tuple[float, float]:
        """(mean loss, share classified rightly) over a data set."""
        x, y = self.samples(data)
        flat = torch.from_numpy(weights.astype(np.float32))
        loss, right = 0.0, 0
        with torch.no_grad():
            for first in range(0, len(y), _AT_ONCE):
                scores = self.model.scores(flat, x[first : first + _AT_ONCE]).cpu()
                truth = y[first : first + _AT_ONCE]
                loss += float(torch.nn.functional.cross_entropy(scores, truth, reduction="sum"))
                right += int((scores.argmax(dim=1) == truth).sum())
        return loss / len(y), right / len(y)


Array = NDArray[Any]
Arrays = dict[str, Array]
"""Named arrays: the server's state, what clients are sent, what they answer, what is released."""


# --- algorithms


@dataclass(frozen=True)
class Algorithm(Settings, ABC):
    """A frozen dataclass whose fields are its settings ([algorithm] of an experiment).

    `plan` once; then, in each round, `sent`, `client` on every site, and `server`.
    """

    local: Local

    name: ClassVar[str]
    source: ClassVar[str]
    """Paper and locus."""
    public: ClassVar[tuple[str, ...]] = ("weights",)
    """Parts of the state that are sent to clients, who all may see them."""
    messages: ClassVar[tuple[str, ...]] = ()
    """Fields that were private before they left a client, and are released as they are: models."""
    printed: ClassVar[float | None] = None
    """The noise multiplier that the paper prints."""
    unused: ClassVar[Mapping[str, str]] = {}
    """Settings of an experiment, as "section.key", that this algorithm refuses, and why."""
    personalises: ClassVar[bool] = False
    """True if each client has a model of its own, which `personal` returns."""
    fixed_clip: ClassVar[bool] = True
    """False if the clip moves from round to round."""
    keeps_for_good: ClassVar[bool] = False
    """True if what a client keeps follows from its data and the first model, whatever is released."""

    @abstractmethod
    def plan(self, cohort: Cohort, setting: Setting) -> Plan:
        """The plan, on which the guarantee rests."""

    def as_printed(self, cohort: Cohort) -> tuple[Algorithm, Cohort]:
        """The algorithm with the paper's own noise ([privacy] noise = "as-printed").

        Accounted as what it is. Raises `InvalidArgument` where the paper prints none.
        """
        if self.printed is None:
            message = (
                f"noise must be another word or a number for {self.name}, whose paper prints none"
            )
            raise dp.InvalidArgument(f"{message}, got 'as-printed'", argument="noise")
        clip = positive("clip", cohort.clip)
        return self, replace(cohort, noise=self.printed * clip)

    @classmethod
    def refuse_unused(cls, sections: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise `InvalidArgument` for a setting that would change nothing.

        A run without noise sets its target aside, and its report says that nothing is guaranteed.
        """
        unprotected = sections["privacy"].get("noise") == "none"
        for path, why in cls.unused.items():
            section, _, key = path.partition(".")
            given = sections[section].get(key)
            if given is not None and not (section == "privacy" and unprotected):
                message = f"[{section}] {key} must be left out for {cls.name}: {why}"
                raise dp.InvalidArgument(f"{message}, got {given!r:.60}", argument=key)

    def paper_says(self, plan: Plan) -> str:
        """A paragraph for the report with the paper's claim about this run, if it makes one."""
        return ""

    def paper_mu(self, plan: Plan, rounds: int) -> float:
        """The paper's own mu-GDP after `rounds` rounds."""
        raise dp.Unsupported(f"the paper of {self.name} measures privacy by no mu")

    def begin(self, setting: Setting) -> Arrays:
        """The server's state before the first round."""
        start = setting.initial()
        return {"weights": start, **self.begun(start, setting)}

    def begun(self, start: Array, setting: Setting) -> Arrays:
        """Its other parts than the weights."""
        return {}

    def sent(self, state: Arrays) -> Arrays:
        """The message to every client of a round."""
        return {name: state[name] for name in self.public}

    @abstractmethod
    def client(self, sent: Arrays, site: Site) -> Arrays:
        """The answers of a site's clients, one row each."""

    def mechanisms(self, plan: Plan, state: Arrays) -> Mapping[str, Noise]:
        """This round's noise: the plan's, at another clip where the state decides it."""
        return plan.noise

    @abstractmethod
    def server(self, state: Arrays, released: Arrays, setting: Setting) -> Arrays:
        """The next state, computed from released values only."""

    def judged(self, state: Arrays) -> Array:
        """The model that is evaluated on the test data."""
        return state["weights"]

    def personal(self, sent: Arrays, site: Site) -> Array:
        """Each client's own model, a row each, where the algorithm `personalises`."""
        raise dp.Unsupported(f"{self.name} trains no personal models")
