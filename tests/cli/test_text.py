"""What people read: rounded to the safe side, graded, without colour codes."""

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpacct.declare.number import power_of_ten, rounded
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
    up, down = (Decimal(power_of_ten(log_value, way)).ln() for way in ("up", "down"))
    assert down <= Decimal(log_value) <= up and up - down < Decimal("4e-9")


def test_the_shape_of_an_answer() -> None:
    asked = "eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5 --unit client"
    first, second, third, *_ = line(asked).stdout.splitlines()
    assert first == "epsilon 1.516    at delta 1e-5"
    assert second.startswith("  1,000 steps of Gaussian noise (sigma 1.1), each client in a step")
    assert third.startswith("  proved: the least epsilon that holds lies between 1.51536191666 and")
    assert "true only if    each client's contribution" in line(asked).stdout
    assert "protects        one client, added or removed" in line(asked).stdout
    details = line(asked + " --details").stdout
    assert details.startswith(line(asked).stdout)
    assert "  two-sided, proved; method certified; adjacency add-remove; unit client" in details
    assert "  plan: (Poisson(0.01)(Gaussian(sigma=1.1)) * 1000)" in details


def test_words_and_signs_say_what_is_known() -> None:
    base = "eps --sigma 1.1 --rate 0.01 --steps 1000 --delta 1e-5 --method "
    bound = line(base + "rdp --details").stdout
    assert "  an upper bound from a theorem" in bound and "\nepsilon <= 1.71" in bound
    estimate = line(base + "clt --details").stdout
    assert estimate.startswith("epsilon about 1.377") and "\nepsilon ~ 1.37" in estimate
    assert "an estimate: it guarantees nothing" in estimate
    assert "estimate" in line(base + "clt --quiet").stderr
    wide = line("eps --sigma 1 --sampling uniform --rate 0.05 --steps 200 --delta 1e-5").stdout
    assert "is at most this and at least " in wide and "one record, exchanged for another" in wide


@pytest.mark.parametrize("clip", ["1", "0.37"])
@pytest.mark.parametrize("sampling", ["poisson", "uniform"])
def test_the_noise_that_is_printed_meets_the_target(clip: str, sampling: str) -> None:
    """Not the float behind it: the digits on the screen, as a noise multiplier."""
    target = f"--sampling {sampling} --rate 0.01 --steps 100"
    asked = f"noise --eps 2 --delta 1e-6 {target} --clip {clip} --method exact"
    first, _, std, *_ = line(asked).stdout.splitlines()
    assert first.startswith("noise multiplier ") and std.startswith("  standard deviation ")
    quiet = line(asked + " --quiet").stdout.strip()
    for shown, loose in (
        (first.split()[2], 1e-3),
        (quiet, 1e-6),
        (f"{std.split()[2]}/{clip}", 1e-3),
    ):
        spent = line(f"eps --noise-multiplier {shown} {target} --delta 1e-6 --quiet --method exact")
        assert 2 * (1 - loose) <= float(spent.stdout) <= 2 * (1 + 1e-9)


def test_epochs_are_those_of_a_data_loader_and_it_is_said() -> None:
    sizes = "--sigma 1 --batch-size 256 --dataset-size 60000 --delta 1e-5 --method exact"
    output = line(f"eps {sizes} --epochs 3")
    assert "3 epochs are 705 steps: a data loader takes 235 batches of 256 in each" in output.stdout
    assert line(f"eps {sizes} --epochs 3 -q").stdout == line(f"eps {sizes} --steps 705 -q").stdout
    assert line(f"eps {sizes} --epochs 3 --json").json["notes"]
    assert "705" in line(f"eps {sizes} --epochs 3 --quiet").stderr
    rate = "eps --sigma 1 --rate 0.3 --delta 1e-5 --method exact"
    assert "3 epochs are 10 steps, 1 / rate in each" in line(f"{rate} --epochs 3").stdout


def test_a_delta_above_one_over_the_records_is_noted() -> None:
    sizes = "--sigma 1 --batch-size 10 --dataset-size 1000 --epochs 1 --method exact"
    assert "delta is above 1 / 1000" in line(f"eps {sizes} --delta 0.002").stdout
    assert "delta is above" not in line(f"eps {sizes} --delta 1e-4").stdout


def test_a_plan_is_saved_and_read_again(tmp_path: Path) -> None:
    """By compose, with the same number, and by report; the noise that was found stands in it."""
    path = tmp_path / "plan.toml"
    sizes = "--batch-size 30 --dataset-size 1000 --epochs 2 --unit client"
    asked = f"eps --sigma 1.1 {sizes} --delta 1e-5 --quiet"
    output = line(f"{asked} --save {path}")
    assert output.code == 0 and line(f"compose {path} --quiet").stdout == output.stdout
    report = line(f"report {path} --quiet")
    assert report.code == 0 and "client-level under add-remove adjacency" in report.stdout
    line(f"noise --eps 2 --delta 1e-5 {sizes} --quiet --save {path}")
    assert 2 * (1 - 1e-9) <= line(f"compose {path} --json").json["upper"] <= 2 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("noise", "of_rdp", "of_limit"),
    [
        ("", "5.1 % more noise", "7.8 % less noise, which is too little"),
        ("--mechanism staircase", "more noise (eps0", "larger), which is too little"),
        ("--mechanism randomized-response", "more noise (eps0", "larger), which is too little"),
    ],
)
def test_other_methods_speak_of_noise_and_not_of_its_parameter(
    noise: str, of_rdp: str, of_limit: str
) -> None:
    """A smaller eps0 is more noise."""
    plan = "--rate 0.01 --steps 1000 --eps 7" if not noise else "--rate 0.05 --steps 200 --eps 8"
    shown = line(f"noise {plan} --delta 1e-5 {noise}").stdout
    others = " ".join(shown.split("other methods")[1].split())
    rdp, limit = others.split("; ")
    assert of_rdp in rdp and limit.endswith(of_limit) and "more noise" not in limit


UNIFORM = "--sampling uniform --rate 50/1000 --rounds 200"
NOTE = "--sigma 1 is the noise multiplier 2 (sigma is over the sensitivity, two clips under replace-one)"


@pytest.mark.parametrize(
    ("command", "other"),
    [
        (f"eps --sigma 1 {UNIFORM} --delta 1e-5", "epsilon 27.25"),
        ("eps --sigma 1 --adjacency replace-one --delta 1e-5", "epsilon 9.998"),
        ("delta --sigma 1 --adjacency replace-one --eps 3", "delta 0.1839"),
        ("steps --sigma 30 --adjacency replace-one --eps 1 --delta 1e-5", "steps 16"),
        (f"compare --sigma 1 {UNIFORM} --delta 1e-5", ""),
        (f"risk --sigma 1 {UNIFORM}", ""),
    ],
)
def test_sigma_under_replace_one_has_two_readings(command: str, other: str) -> None:
    """Papers and libraries divide by the clip, sigma by the sensitivity, which is two clips there."""
    done = " ".join(line(command).stdout.split())
    size = command.split("--sigma ")[1].split()[0]
    assert NOTE.replace("sigma 1 ", f"sigma {size} ").replace("r 2 ", f"r {2 * int(size)} ") in done
    assert f"say --noise-multiplier {size}" in done
    if other:
        multiplier = line(command.replace("--sigma", "--noise-multiplier") + " -q --method exact")
        assert done.endswith(other)
        assert float(multiplier.stdout) == pytest.approx(float(other.split()[1]), rel=1e-3)
    plain = line(command.replace("--sigma", "--noise-multiplier"))
    assert "noise multiplier 2" not in plain.stdout and plain.code == 0
