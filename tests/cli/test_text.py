"""What people read: rounded to the safe side, graded, without colour codes."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.cli.rounding import power_of_ten, rounded
from tests.cli.runner import line

positive = st.floats(min_value=1e-307, max_value=1e307)


@given(positive, st.integers(1, 16))
def test_rounding_is_outward(value: float, digits: int) -> None:
    exact = Decimal(repr(value))
    up, down = Decimal(rounded(value, "up", digits)), Decimal(rounded(value, "down", digits))
    assert down <= exact <= up
    assert up - down <= exact.scaleb(1 - digits).copy_abs() * 10
    assert Decimal(rounded(value, "nearest", digits)) in (up, down)


@given(st.floats(min_value=-1e6, max_value=-710))
def test_powers_of_ten_too(log_value: float) -> None:
    up, down = (Decimal(power_of_ten(log_value, way)[3:]) for way in ("up", "down"))
    assert down <= Decimal(log_value) / Decimal(10).ln() + Decimal("1e-9") and down <= up


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5", 1.51536191666),
        ("eps --sigma 0.8 --rate 256/60000 --steps 14063 --delta 1e-5", 4.55001275751),
        ("eps --sigma 3 --rate 0.2 --rounds 100 --delta 975^-1.1", 2.18925634238),
        ("eps --sigma 1 --rate 0.01 --steps 1000 --delta 1e-40", 12.2862282211),
        ("eps --sigma 1 --rate 1e-3 --steps 10^6 --delta 1e-6", 6.6942726),
        ("delta --sigma 1 --sampling uniform --rate 0.05 --steps 200 --eps 5", 3.40104090796e-05),
    ],
)
def test_the_numbers_the_project_promises(command: str, expected: float) -> None:
    places = 1e-10 if expected != 6.6942726 else 1e-8
    quiet = line(command + " --quiet")
    assert float(quiet.stdout) == pytest.approx(expected, rel=places)
    spoken = line(command).stdout.split("\n")[0]
    assert quiet.stdout.strip() in spoken


def test_the_shape_of_an_answer() -> None:
    told = line("eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5 --unit client")
    first, second, *_ = told.stdout.splitlines()
    assert first == "epsilon = 1.51536191667   (at delta 1e-05)"
    assert second == "  two-sided, proved; method certified; adjacency add-remove; unit client"
    assert "  plan: (Poisson(0.01)(Gaussian(sigma=1.1)) * 1000)" in told.stdout
    assert told.stderr.startswith("hint: ")


def test_signs_say_what_is_known() -> None:
    base = "eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5 --method "
    assert line(base + "rdp").stdout.startswith("epsilon <= ")
    assert line(base + "clt").stdout.startswith("epsilon ~ ")
    assert "estimate" in line(base + "clt").stdout
    assert "estimate" in line(base + "clt --quiet").stderr
    wide = line("eps --sigma 1 --sampling uniform --rate 0.05 --steps 200 --delta 1e-5").stdout
    assert wide.startswith("epsilon <= ") and "\n  between " in wide


@pytest.mark.parametrize("clip", ["1", "0.37"])
def test_the_noise_that_is_printed_meets_the_target(clip: str) -> None:
    """Not the float behind it: the digits on the screen."""
    target = "--rate 0.01 --steps 1000"
    told = line(f"noise --eps 2 --delta 1e-6 {target} --clip {clip}").stdout.splitlines()
    sigma = told[0].split()[2]
    spent = line(f"eps --sigma {sigma} {target} --delta 1e-6 --quiet").stdout
    assert 2 * (1 - 1e-6) <= float(spent) <= 2 * (1 + 1e-12)
    (std,) = (text.split()[-1] for text in told if text.startswith("  noise std ="))
    sizes = f"--noise-multiplier {std}/{clip} --clip {clip}"
    spent = line(f"eps {sizes} {target} --delta 1e-6 --quiet").stdout
    assert 2 * (1 - 1e-6) <= float(spent) <= 2 * (1 + 1e-12)


def test_the_steps_that_are_printed_are_within_the_budget() -> None:
    most = line("steps --sigma 1.1 --rate 0.01 --eps 2 --delta 1e-5 --quiet").stdout.strip()
    assert most.isdigit()
    spent = [
        float(line(f"eps --sigma 1.1 --rate 0.01 --steps {n} --delta 1e-5 --quiet").stdout)
        for n in (int(most), int(most) + 1)
    ]
    assert spent[0] <= 2 < spent[1]


def test_a_delta_below_the_floats_is_a_power_of_ten() -> None:
    told = line("delta --sigma 1 --rate 0.01 --steps 1000 --eps 200")
    assert told.code == 0
    assert told.stdout.startswith("delta = 10^-")
    assert (
        line("delta --sigma 1 --rate 0.01 --steps 1000 --eps 200 --json").json["log_value"] < -700
    )


def test_epochs_are_rounded_up_and_it_is_said() -> None:
    sizes = "--sigma 1 --batch-size 256 --dataset-size 60000 --delta 1e-5"
    told = line(f"eps {sizes} --epochs 3")
    assert "3 epochs are 703.125000 steps, rounded up to 704" in told.stdout
    assert told.stdout.split()[2] == line(f"eps {sizes} --steps 704").stdout.split()[2]
    assert line(f"eps {sizes} --epochs 3 --json").json["notes"]
    assert "704" in line(f"eps {sizes} --epochs 3 --quiet").stderr
    assert "rounded" not in line("eps --sigma 1 --rate 0.1 --epochs 3 --delta 1e-5").stdout


def test_options_that_say_the_same_agree() -> None:
    def value(command: str) -> str:
        done = line(f"eps {command} --delta 1e-5 --quiet")
        assert done.code == 0, done.stderr
        return done.stdout

    assert value("--sigma 1 --rate 0.02 --steps 50") == value(
        "--noise-multiplier 1 --clip 7 --sample-rate 0.02 --rounds 50"
    )
    assert value("--sigma 1 --rate 0.02 --steps 50") == value(
        "--noise-multiplier 1 --batch-size 10 --dataset-size 500 --epochs 1"
    )
    swapped = "--sampling uniform --rate 0.02 --steps 50"
    assert value(f"--sigma 1 {swapped}") == value(f"--noise-multiplier 2 --clip 7 {swapped}")
    assert value("--sigma 2") == value("--sigma 2 --steps 1 --sampling none")
