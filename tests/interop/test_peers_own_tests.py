"""The tests that the libraries ship for their own accountants, run against ours.

Nothing is copied: the modules are imported from what is installed, and their classes are pointed at
dpacct. What cannot pass is listed with the reason.
"""

import contextlib
import re
import unittest
from unittest import mock

import pytest
from dp_accounting import NeighboringRelation, privacy_accountant_test
from opacus.tests import accountants_test

from dpacct.interop import opacus
from dpacct.interop.dp_accounting import DpacctAccountant
from tests.structure.project import ROOT

# Tests of what is theirs: an accountant asked for by its name, or a number that its method gives.
# test_opacus.py has the exact numbers instead.
NOT_OURS = {
    "test_rdp_accountant": "expects the 7.329 of RDP; exact is 6.769",
    "test_accountant_load_state_dict": "ends with that 7.329: what it does before is run below",
    "test_get_noise_multiplier_rdp_epochs": "expects RDP's 1.416",
    "test_get_noise_multiplier_rdp_steps": "expects RDP's 1.3562",
    "test_gdp_accountant": "expects the central limit's 6.59, below the truth",
    "test_get_noise_multiplier_gdp": "expects the central limit's 1.3232, below what is needed",
    "test_prv_accountant": "expects PRV's upper end, 0.01 above exact",
    "test_get_noise_multiplier_prv_epochs": "expects PRV's noise, which is 0.002 more",
    "test_get_noise_multiplier_prv_steps": "expects PRV's noise, which is 0.002 more",
}


def test_users_are_told_which_tests_those_are() -> None:
    page = (ROOT / "docs" / "migrate" / "opacus.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(test_\w+)`", page)) == set(NOT_OURS)


def ran(suite: unittest.TestSuite) -> unittest.TestResult:
    result = unittest.TestResult()
    suite.run(result)
    assert not result.errors and not result.failures, [*result.errors, *result.failures]
    return result


def test_dp_accountings_contract() -> None:
    """For every neighbouring relation and both meanings of a noise multiplier."""

    class Contract(privacy_accountant_test.PrivacyAccountantTest):
        def _make_test_accountants(self) -> list[DpacctAccountant]:
            return [
                DpacctAccountant(relation, noise_multiplier_of=of)
                for relation in NeighboringRelation
                for of in (None, "clip", "sensitivity")
            ]

    names = unittest.TestLoader().getTestCaseNames(Contract)
    result = ran(unittest.TestSuite(Contract(name) for name in names))
    assert result.testsRun == len(names) >= 13 and not result.skipped


def opacus_names() -> list[str]:
    loader = unittest.TestLoader()
    return [
        f"{case.__name__}.{name}"
        for case in (accountants_test.AccountantRegistryTest, accountants_test.AccountingTest)
        for name in loader.getTestCaseNames(case)
        if name not in NOT_OURS
    ]


def pointed_at_ours() -> contextlib.ExitStack:
    """Our accountant where theirs is named: in the test module, and in the registry."""
    opacus.register()
    stack = contextlib.ExitStack()
    stack.enter_context(mock.patch.object(accountants_test, "RDPAccountant", opacus.Accountant))
    names = mock.patch.dict(accountants_test.registry._ACCOUNTANTS, {"rdp": opacus.Accountant})
    stack.enter_context(names)
    return stack


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", opacus_names())
def test_opacus_own(name: str) -> None:
    case, _, test = name.partition(".")
    with pointed_at_ours():
        ran(unittest.TestSuite([getattr(accountants_test, case)(test)]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "theirs", "ours"),
    [
        ("test_rdp_accountant", "7.32911117143", 6.768780393),
        ("test_accountant_load_state_dict", "7.32911117143", 6.768780393),
        ("test_get_noise_multiplier_rdp_epochs", "1.416", None),
        ("test_get_noise_multiplier_rdp_steps", "1.3562", None),
    ],
)
def test_where_only_the_number_differs(name: str, theirs: str, ours: float | None) -> None:
    """They run through with ours to their last line, which expects RDP's larger number."""
    result = unittest.TestResult()
    with pointed_at_ours():
        unittest.TestSuite([accountants_test.AccountingTest(name)]).run(result)
    assert not result.errors and len(result.failures) == 1
    entry = result.failures[0][1].rstrip().splitlines()[-1]
    match = re.fullmatch(r"AssertionError: (\S+) != (\S+) within .*", entry)
    assert match is not None and match[2] == theirs, entry
    assert float(match[1]) < float(theirs)
    assert ours is None or float(match[1]) == pytest.approx(ours, rel=1e-8)
