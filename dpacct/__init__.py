"""dpacct: exact accounting of differential privacy, and of the noise that a guarantee needs.

The public names load on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as of typing, whose import would take half of this one's time

__version__ = "0.1.0"

if TYPE_CHECKING:
    from typing import Any

    from dpacct import auditing as auditing
    from dpacct import federated as federated
    from dpacct import theorems as theorems
    from dpacct.answer import Answer as Answer
    from dpacct.answer import Answers as Answers
    from dpacct.answer.calibration import calibrate as calibrate
    from dpacct.answer.calibration import noise_multiplier as noise_multiplier
    from dpacct.auditing.audit import Audit as Audit
    from dpacct.auditing.audit import AuditBound as AuditBound
    from dpacct.auditing.audit import audit as audit
    from dpacct.errors import AssumptionViolated as AssumptionViolated
    from dpacct.errors import BudgetExceeded as BudgetExceeded
    from dpacct.errors import DpacctError as DpacctError
    from dpacct.errors import InvalidArgument as InvalidArgument
    from dpacct.errors import LedgerBusy as LedgerBusy
    from dpacct.errors import LedgerDamaged as LedgerDamaged
    from dpacct.errors import LedgerNotWritten as LedgerNotWritten
    from dpacct.errors import MissingExtra as MissingExtra
    from dpacct.errors import NotCertified as NotCertified
    from dpacct.errors import OutsideDomain as OutsideDomain
    from dpacct.errors import Unreachable as Unreachable
    from dpacct.errors import Unsupported as Unsupported
    from dpacct.ledger.execution import Execution as Execution
    from dpacct.ledger.ledger import Ledger as Ledger
    from dpacct.mechanisms.custom import Custom as Custom
    from dpacct.mechanisms.discrete import DiscreteGaussian as DiscreteGaussian
    from dpacct.mechanisms.discrete import DiscreteLaplace as DiscreteLaplace
    from dpacct.mechanisms.exponential import ExponentialMechanism as ExponentialMechanism
    from dpacct.mechanisms.gaussian import Gaussian as Gaussian
    from dpacct.mechanisms.laplace import Laplace as Laplace
    from dpacct.mechanisms.mixture import GaussianMixture as GaussianMixture
    from dpacct.mechanisms.opaque import ZCDP as ZCDP
    from dpacct.mechanisms.opaque import ApproxDP as ApproxDP
    from dpacct.mechanisms.opaque import PureDP as PureDP
    from dpacct.mechanisms.randomized_response import LocalRandomizer as LocalRandomizer
    from dpacct.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from dpacct.mechanisms.staircase import Staircase as Staircase
    from dpacct.mechanisms.strategies import BLT as BLT
    from dpacct.mechanisms.strategies import Banded as Banded
    from dpacct.mechanisms.strategies import Matrix as Matrix
    from dpacct.mechanisms.strategies import Strategy as Strategy
    from dpacct.mechanisms.strategies import Tree as Tree
    from dpacct.plan.adaptive import Filter as Filter
    from dpacct.plan.certified import Certificate as Certificate
    from dpacct.plan.certified import certificate as certificate
    from dpacct.plan.group import Group as Group
    from dpacct.plan.node import Node as Node
    from dpacct.plan.node import from_dict as from_dict
    from dpacct.plan.node import from_json as from_json
    from dpacct.plan.parallel import Parallel as Parallel
    from dpacct.plan.samplers.bins import BallsInBins as BallsInBins
    from dpacct.plan.samplers.fixed_size import WithoutReplacement as WithoutReplacement
    from dpacct.plan.samplers.participation import Participation as Participation
    from dpacct.plan.samplers.poisson import Poisson as Poisson
    from dpacct.plan.samplers.records import RecordsPerUser as RecordsPerUser
    from dpacct.plan.samplers.truncated import TruncatedPoisson as TruncatedPoisson
    from dpacct.plan.selection import RepeatAndSelect as RepeatAndSelect
    from dpacct.plan.tradeoff import TradeOff as TradeOff
    from dpacct.report.document import ReportDocument as ReportDocument
    from dpacct.report.document import ReportSection as ReportSection
    from dpacct.report.plots import plot as plots  # noqa: F401
    from dpacct.report.plots.plot import plot as plot
    from dpacct.report.report import Report as Report
    from dpacct.risk import Risk as Risk
    from dpacct.risk import calibrate_risk as calibrate_risk
    from dpacct.shuffling.shuffle import Shuffle as Shuffle
    from dpacct.vocabulary import Adjacency as Adjacency
    from dpacct.vocabulary import Assumption as Assumption
    from dpacct.vocabulary import Side as Side
    from dpacct.vocabulary import Strength as Strength
    from dpacct.vocabulary import Unit as Unit
    from dpacct.voting.aggregator import GNMax as GNMax
    from dpacct.voting.aggregator import LNMax as LNMax
    from dpacct.voting.votes import Votes as Votes

_HOMES = {
    "answer": "Answer Answers",
    "answer.calibration": "calibrate noise_multiplier",
    "auditing.audit": "Audit AuditBound audit",
    "errors": "AssumptionViolated BudgetExceeded DpacctError InvalidArgument LedgerBusy LedgerDamaged "
    "LedgerNotWritten MissingExtra NotCertified OutsideDomain Unreachable Unsupported",
    "ledger.execution": "Execution",
    "ledger.ledger": "Ledger",
    "mechanisms.custom": "Custom",
    "mechanisms.discrete": "DiscreteGaussian DiscreteLaplace",
    "mechanisms.exponential": "ExponentialMechanism",
    "mechanisms.gaussian": "Gaussian",
    "mechanisms.laplace": "Laplace",
    "mechanisms.mixture": "GaussianMixture",
    "mechanisms.opaque": "ApproxDP PureDP ZCDP",
    "mechanisms.randomized_response": "LocalRandomizer RandomizedResponse",
    "mechanisms.staircase": "Staircase",
    "mechanisms.strategies": "BLT Banded Matrix Strategy Tree",
    "plan.adaptive": "Filter",
    "plan.certified": "Certificate certificate",
    "plan.group": "Group",
    "plan.node": "Node from_dict from_json",
    "plan.parallel": "Parallel",
    "plan.samplers.bins": "BallsInBins",
    "plan.samplers.fixed_size": "WithoutReplacement",
    "plan.samplers.participation": "Participation",
    "plan.samplers.poisson": "Poisson",
    "plan.samplers.records": "RecordsPerUser",
    "plan.samplers.truncated": "TruncatedPoisson",
    "plan.selection": "RepeatAndSelect",
    "plan.tradeoff": "TradeOff",
    "report.document": "ReportDocument ReportSection",
    "report.plots.plot": "plot",
    "report.report": "Report",
    "risk": "Risk calibrate_risk",
    "shuffling.shuffle": "Shuffle",
    "vocabulary": "Adjacency Assumption Side Strength Unit",
    "voting.aggregator": "GNMax LNMax",
    "voting.votes": "Votes",
}
"""The public names by the modules that define them."""
_MODULES = {
    "auditing": "auditing",
    "federated": "federated",
    "plots": "report.plots.plot",
    "theorems": "theorems",
}
"""Modules that are public as a whole, with their homes."""
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_HOME, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"dpacct.{_MODULES[name]}")
    if name not in _HOME:
        raise AttributeError(f"module 'dpacct' has no attribute {name!r}")
    module = import_module(f"dpacct.{_HOME[name]}")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
