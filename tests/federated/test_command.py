"""`dpacct federated`: the contract's JSON, files, targets, and one clear sentence for nonsense."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import Run, line
from tests.structure.project import ROOT

PRIFEDSYNC = (
    "federated --clients 100 --client-rate 0.5 --batch-size 16 --records 600 --local-steps 38"
    " --rounds 194 --delta 1e-5"
)
SAM = "federated --algorithm dp-fedsam --clients 500 --client-rate 0.1 --rounds 200 --delta 0.002"
ANSWER = {"value", "lower", "upper", "side", "strength", "method", "basis", "assumptions", "plan"}


def routes(done: Run) -> dict[tuple[str, str], dict[str, Any]]:
    assert done.code == 0, done.stderr
    return {(r["name"], r["notion"]): r for r in reversed(done.json["routes"])}


def test_the_contracts_json() -> None:
    done = line(f"{PRIFEDSYNC} --sigma 1 --json")
    result = routes(done)
    body = done.json
    assert body["mu_clt"] == pytest.approx(3.9155582525601, rel=1e-10)
    assert (body["unit"], body["adjacency"]) == ("record", "replace-one")
    assert "2C" in body["sensitivity"] and body["assumptions"]
    assert {
        (name, notion)
        for name in ("clt", "exact", "two-level", "paper")
        for notion in ("weak", "strong")
    } <= set(result)
    for route in body["routes"]:
        assert set(route["epsilon"]) >= ANSWER
        assert route["epsilon"]["strength"] != "refuted"
    assert result["exact", "weak"]["epsilon"]["upper"] == pytest.approx(22.2765590954343, rel=1e-9)
    two = result["two-level", "strong"]["epsilon"]
    assert two["upper"] == pytest.approx(14.5237655291328, rel=1e-4)
    assert {key: body[key] for key in ("value", "lower", "upper")} == {
        key: two[key] for key in ("value", "lower", "upper")
    }
    weak = result["two-level", "weak"]["epsilon"]
    assert (weak["value"], weak["upper"]) == (two["value"], two["upper"])
    assert result["clt", "weak"]["epsilon"]["strength"] == "estimate"
    paper = [r for r in body["routes"] if r["name"] == "paper"]
    assert {r["printed"]["theorem"] for r in paper} == {
        "federated_fdp.theorem1",
        "federated_fdp.theorem1_strong",
        "federated_fdp.theorem2_gdp",
    }
    for route in paper:
        assert route["printed"]["is_answer"] is False
        assert route["epsilon"]["upper"] == two["upper"]  # the true value in its place


def test_sigma_is_std_over_2c_and_a_multiplier_std_over_c() -> None:
    by_sigma = line(f"{PRIFEDSYNC} --sigma 1 --quiet").stdout
    assert line(f"{PRIFEDSYNC} --noise-multiplier 2 --quiet").stdout == by_sigma
    assert float(by_sigma) == pytest.approx(14.5237655291328, rel=1e-4)
    # DP-FedSAM: sensitivity 2C, so sigma = 0.95/2
    other = line(f"{SAM} --noise-multiplier 0.95 --quiet").stdout
    assert line(f"{SAM} --sigma 0.475 --quiet").stdout == other
    poisson = line(f"{SAM} --sampling poisson --sigma 0.95 --quiet").stdout
    assert line(f"{SAM} --sampling poisson --noise-multiplier 0.95 --quiet").stdout == poisson


def test_a_target_instead_of_noise() -> None:
    done = line(f"{PRIFEDSYNC} --eps 8 --json")
    result = routes(done)
    assert done.json["quantity"] == "sigma" and done.json["epsilon"] == 8.0
    sigma = result["two-level", "weak"]["sigma"]
    assert sigma["noise_multiplier"] == pytest.approx(2 * sigma["upper"], rel=1e-12)
    spent = float(line(f"{PRIFEDSYNC} --sigma {sigma['upper']!r} --quiet").stdout)
    assert 7.999 < spent <= 8.0
    assert done.json["noise_multiplier"] == sigma["noise_multiplier"]
    quiet = float(line(f"{PRIFEDSYNC} --eps 8 --quiet").stdout)
    assert quiet == pytest.approx(2 * sigma["upper"], rel=1e-11) and quiet >= 2 * sigma["upper"]


AVERAGED = (
    "federated --algorithm dp-fedavg --clients 1000 --client-rate 0.05 --rounds 200"
    " --sampling uniform --delta 1e-5"
)


def test_a_target_is_answered_by_the_number_that_libraries_take() -> None:
    """As `noise` says it: .82979 typed in as a multiplier would be epsilon 44 and not 8."""
    first, second, *_ = line(f"{AVERAGED} --eps 8").stdout.splitlines()
    assert first == "noise multiplier 1.6596    for epsilon 8 at delta 1e-5"
    assert second.startswith("  (standard deviation / clip: what Opacus, Flower")
    same = line("noise --eps 8 --delta 1e-5 --sampling uniform --rate 50/1000 --rounds 200")
    assert same.stdout.splitlines()[:2] == [first, second]
    found = float(line(f"{AVERAGED} --eps 8 -q").stdout)
    assert 7.999 < float(line(f"{AVERAGED} --noise-multiplier {found} -q").stdout) <= 8


def test_sigma_has_two_readings_where_a_client_is_exchanged() -> None:
    shown = " ".join(line(f"{AVERAGED} --sigma 1").stdout.split())
    assert "--sigma 1 is the noise multiplier 2" in shown
    assert "say --noise-multiplier 1: epsilon 27.25" in shown
    coins = line(f"{AVERAGED} --sigma 1".replace("uniform", "poisson")).stdout
    assert "noise multiplier" not in coins


def test_no_statement_is_refuted_for_a_reason_that_cannot_occur() -> None:
    """A fixed number of agents is not revealed by dividing by it."""
    assert "algorithm3" not in line(f"{AVERAGED} --sigma 1").stdout
    coins = line(f"{AVERAGED} --sigma 1".replace("uniform", "poisson")).stdout
    assert "ae_dpfl.algorithm3" in coins and "refuted" in coins


def test_files_and_options_are_the_same(tmp_path: Path) -> None:
    file = ROOT / "docs" / "examples" / "prifedsync.toml"
    assert (
        line(f"federated {file} --sigma 1 --quiet").stdout
        == line(f"{PRIFEDSYNC} --sigma 1 --quiet").stdout
    )
    noisy = tmp_path / "noisy.toml"
    noisy.write_text(file.read_text(encoding="utf-8") + "sigma = 3\n", encoding="utf-8")
    assert float(line(f"federated {noisy} --quiet").stdout) < 4.0
    # the command line wins, also with another way to say the noise
    assert float(line(f"federated {noisy} --eps 8 --quiet").stdout) < 2.9


def test_every_algorithm_says_whose_data_it_protects() -> None:
    common = "--clients 500 --client-rate 0.1 --rounds 20 --noise-multiplier 2 --delta 1e-4"
    for name in ("dp-fed", "dp-fed-ls", "dp-fedavg", "dp-fedsam"):
        done = line(f"federated --algorithm {name} {common}")
        assert done.code == 0
        assert "\n  protects        one client, " in done.stdout
        assert "; sensitivity " in done.stdout and "\n  true only if    " in done.stdout
    shown = line(f"{PRIFEDSYNC} --sigma 1 --details").stdout
    assert shown.startswith(
        "epsilon 14.53    at delta 1e-5\n  prifedsync (Zheng, Chen, Long, Su 2021)"
    )
    assert "sensitivity 2C" in shown and "one record, exchanged for another\n" in shown
    assert "\nepsilon <= 14.523" in shown and "  mu_clt 3.9" in shown
    first = line(f"{PRIFEDSYNC} --sigma 1").stdout
    assert shown.startswith(first) and "what the paper's formulas give:" in first


def test_secret_participation() -> None:
    result = routes(line(f"{PRIFEDSYNC} --sigma 1 --participation secret --json"))
    epsilon = result["two-level", "weak"]["epsilon"]
    assert (epsilon["lower"], epsilon["side"]) == (None, "upper")
    assert epsilon["upper"] == pytest.approx(14.5237655291328, rel=1e-4)


def test_clients_with_budgets() -> None:
    file = ROOT / "docs" / "examples" / "udp-fl.toml"
    done = line(f"federated {file} --json")
    assert done.code == 0, done.stderr
    body = done.json
    hospital, phone, meter = body["clients"]
    assert hospital["noise"]["quantity"] == "sigma" and hospital["stops_after"] == 100
    assert phone["stops_after"] == phone["rounds"] < 100 and phone["penalty"] == 0.5
    assert meter["stops_after"] is None and meter["penalty"] is None
    assert all(r["epsilon"]["unit"] == "record" for r in body["routes"])
    assert {r["client"] for r in body["routes"]} == {"hospital", "phone", "meter"}
    names = [row.split()[0] for row in line(f"federated {file} --quiet").stdout.splitlines()]
    assert names == ["hospital", "phone", "meter"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("federated", "--delta"),
        ("federated --delta 1e-5", "--clients"),
        (PRIFEDSYNC, "--sigma"),
        (f"{PRIFEDSYNC} --sigma 1 --eps 3", "--sigma"),
        (f"{PRIFEDSYNC} --sigma 1 --clip 2", "--clip"),
        (f"{PRIFEDSYNC} --sigma 1 --noise-by server", "--noise-by"),
        (PRIFEDSYNC.replace("--batch-size 16", "--batch-size 601") + " --sigma 1", "--batch-size"),
        (f"{SAM} --sigma 1 --local-steps 3", "--local-steps"),
        (f"{SAM} --sigma 1 --missing 50", "--missing"),
        (f"{SAM.replace('0.1', '0.0013')} --sigma 1", "--client-rate"),
        ("federated --algorithm udp-fl", "PLAN"),
        ("federated no-such-file.toml", "PLAN"),
    ],
)
def test_nonsense_is_one_sentence(words: str, named: str) -> None:
    done = line(words)
    assert done.code == 2 and not done.stdout
    assert done.stderr.count("\n") == 1
    assert named == "PLAN" or named in done.stderr
    output = line(f"{words} --json")
    assert output.code == 2 and output.json["error"]["code"] == 2
    assert output.json["error"]["argument"] == named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("rounds = 3", "client"),
        ("rounds = 3\n[[client]]\nnoise = 1", "noise"),
        ("[[client]]\nsigma = 1\ndelta = 1e-5", "rounds"),
        ("rounds = 3\n[[client]]\nsigma = 1", "delta"),
        ("rounds = 3\nclip = 1\n[[client]]\nsigma = 1\ndelta = 1e-5", "clip"),
        ("rounds = 3\n[[client]]\nb = 1\ndelta = 1e-5", "b"),
        ("rounds = 3\n[[client]]\nmechanism = 'laplace'\nsigma = 1\ndelta = 1e-5", "sigma"),
        ("rounds = 3\n[[client]]\nsigma = true\ndelta = 1e-5", "sigma"),
        ("rounds = 3\n[[client]]\ndelta = 1e-5", "sigma or epsilon must be given"),
        ("rounds = 3\nclient = 4", "client"),
        ("rounds = ", "TOML"),
        ("rounds = 3\nspeed = 9", "speed"),
    ],
)
def test_a_plan_file_with_nonsense(text: str, named: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text('algorithm = "udp-fl"\n' + text + "\n", encoding="utf-8")
    done = line(f"federated {file}")
    assert done.code == 2 and not done.stdout
    assert done.stderr.count("\n") == 1 and named in done.stderr
