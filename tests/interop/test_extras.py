"""Without the libraries: one sentence and exit code 7; and importing dpacct brings none of them."""

import subprocess
import sys

import pytest

ABSENT = """
import sys
for name in {libraries}:
    sys.modules[name] = None
import dpacct
try:
    {code}
except dpacct.MissingExtra as error:
    print(error.exit_code, error.kind, error)
"""
LIBRARIES = ["dp_accounting", "flwr", "jax_privacy", "lightning", "opacus", "torch", "transformers"]


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("code", "library", "extra"),
    [
        ("import dpacct.interop.opacus as o; o.register()", "opacus", "opacus"),
        ("import dpacct.interop.dp_accounting", "dp_accounting", "dp-accounting"),
        ("import dpacct.interop.jax_privacy", "dp_accounting", "dp-accounting"),
        (
            "from dpacct.interop import budget_guard as b; b.lightning_callback(0)",
            "lightning",
            "lightning",
        ),
        (
            "from dpacct.interop import budget_guard as b; b.transformers_callback(0)",
            "transformers",
            "transformers",
        ),
        (
            "from dpacct.interop.flower_mod import LocalNoise as L; "
            "L(1.0, 1.0, 1e-5)(None, None, lambda *_: None)",
            "flwr",
            "flower",
        ),
    ],
)
def test_a_missing_library_is_one_sentence(code: str, library: str, extra: str) -> None:
    output = run(ABSENT.format(libraries=LIBRARIES, code=code))
    install = f"pip install '.[{extra}]' in dpacct's checkout"
    assert output == f"7 missing-extra {library} is not installed: {install}"


def test_the_accountants_need_no_library_until_they_must() -> None:
    """An Opacus accountant answers without Opacus, as on the machine that only reads a checkpoint."""
    code = (
        "from dpacct.interop.opacus import Accountant as A, from_opacus; a = A(); "
        "a.step(noise_multiplier=1.1, sample_rate=0.01); print(a.get_epsilon(1e-5) > 0)"
    )
    assert run(ABSENT.format(libraries=LIBRARIES, code=code)) == "True"


def test_import_brings_none() -> None:
    code = "import sys, dpacct; dpacct.Ledger; import dpacct.interop; print(*sys.modules)"
    loaded = set(run(code).split())
    assert not loaded & {*LIBRARIES, "jax"}
