"""Algorithm: a federated system, independent of files, processes, engines and keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

import dpacct as dp
from dpacct_training.accept import Settings, positive
from dpacct_training.local import Local

if TYPE_CHECKING:
    from dpacct_training.noise import Noise
    from dpacct_training.plan import Cohort, Plan
    from dpacct_training.setting import Setting
    from dpacct_training.site import Site

Array = NDArray[Any]
Arrays = dict[str, Array]
"""Named arrays: the server's state, what clients are sent, what they answer, what is released."""


@dataclass(frozen=True)
class Algorithm(Settings, ABC):
    """A frozen dataclass whose fields are its settings ([algorithm] of an experiment).

    `plan` once; then, in each round, `sent`, `client` on every site, and `server`.
    """

    local: Local

    name: ClassVar[str]
    source: ClassVar[str]
    """Paper and locus."""
    messages: ClassVar[tuple[str, ...]] = ()
    """Fields that were private before they left a client, and are released as they are: models."""
    printed: ClassVar[float | None] = None
    """The noise multiplier that the paper prints."""
    personalises: ClassVar[bool] = False
    """Whether each client has a model of its own, which `personal` returns."""
    keeps_for_good: ClassVar[bool] = False
    """Whether what a client keeps follows from its data and the first model, whatever is released."""

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

    def paper_says(self, plan: Plan) -> str:
        """A paragraph for the report with the paper's claim about this run, if it makes one."""
        return ""

    def paper_mu(self, plan: Plan, rounds: int) -> float:
        """The paper's own mu-GDP after `rounds` rounds."""
        raise dp.Unsupported(f"the paper of {self.name} measures privacy by no mu")

    def begin(self, setting: Setting) -> Arrays:
        """The server's state before the first round."""
        return {"weights": setting.initial()}

    def sent(self, state: Arrays) -> Arrays:
        """The message to every client of a round, which they all may see."""
        return {"weights": state["weights"]}

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
