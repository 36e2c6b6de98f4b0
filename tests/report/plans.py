"""Plans for the tests of reports: one of each grade, and the example of the docs."""

import tomllib
from functools import cache
from typing import Any

import dpacct as dp
from tests.structure.project import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "plan.toml"
WHOSE = {"unit": "client"}
SGD = (dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")) * 100).under("add-remove", **WHOSE)
ONE = dp.Poisson("0.01")(dp.Gaussian(sigma="1.1")).under("add-remove", **WHOSE)
"""The same once: a tenth of the work, for what isn't about numbers."""
FIXED = (dp.WithoutReplacement("0.1")(dp.Gaussian(sigma=2)) * 100).under("replace-one", **WHOSE)
COINS = (dp.RandomizedResponse(eps0=1) * 10).under("add-remove", **WHOSE)
CHOICES = (dp.ExponentialMechanism(eps0="0.1") * 3).under("add-remove", **WHOSE)
OPAQUE = (dp.ZCDP(rho="0.1") * 4).under("add-remove", **WHOSE)
NESTED = dp.Poisson("0.1")(dp.Laplace(b=10) * 2).under("add-remove", **WHOSE)
DELTA = "1e-5"


@cache
def report(name: str = "SGD", method: str = "auto") -> dp.Report:
    """A report without a word of the plan's."""
    plan: dp.Node = globals()[name]
    return dp.Report.of(plan, delta=DELTA, method=method)


@cache
def example() -> dp.Report:
    """The report of docs/examples/plan.toml."""
    from dpacct.cli.plan_file import read_plan

    file = read_plan(str(EXAMPLE))
    assert file.delta is not None
    return dp.Report.of(
        file.node,
        delta=file.delta,
        assumptions=file.assumptions,
        about=file.about,
        command="dpacct report docs/examples/plan.toml",
    )


def tables() -> dict[str, Any]:
    """The example as TOML's own reader sees it."""
    return tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
