"""Everything derived from a plan agrees with everything else, and with dpacct asked directly."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpacct as dp
from dpacct.proof import effort
from dpacct_training.accounts import RUN, Accounts, RoundAccount
from dpacct_training.keys import Keys
from dpacct_training.noise import Gaussian, Laplace, NoiseMeter, Staircase, Unprotected
from dpacct_training.plan import EACH, SERVER, SHARES, Cohort, Plan, Records
from dpacct_training.report import report
from dpacct_training.run import Session
from tests.training.systems import system


def cohort(**changes: Any) -> Cohort:
    fine: dict[str, Any] = {
        "clients": 100,
        "rate": Fraction(1, 10),
        "scheme": "poisson",
        "rounds": 3,
        "clip": 1.0,
        "epsilon": 4.0,
        "delta": Fraction(1, 1000),
    }
    return Cohort(**{**fine, **changes})


def hidden(cohort: Cohort, multiplier: float = 1.0, by: str = SERVER) -> Plan:
    return Plan(cohort=cohort, noise={"update": Gaussian(7, cohort.clip or 1.0, multiplier)}, by=by)


PLANS = st.builds(
    lambda clients, rate, scheme, rounds, clip, multiplier, by: hidden(
        cohort(clients=clients, rate=rate, scheme=scheme, rounds=rounds, clip=clip), multiplier, by
    ),
    st.integers(1, 200).map(lambda n: 20 * n),
    st.integers(1, 20).map(lambda n: Fraction(n, 20)),
    st.sampled_from(["poisson", "uniform"]),
    st.integers(1, 50),
    st.floats(1e-3, 1e3),
    st.floats(0.01, 100.0),
    st.sampled_from([SERVER, SHARES]),
)


@given(PLANS)
def test_what_runs_is_what_is_accounted(plan: Plan) -> None:
    c, noise = plan.cohort, plan.noise["update"]
    assert isinstance(noise, Gaussian) and plan.tree is not None
    sampler: Any = dp.Poisson if c.scheme == "poisson" else dp.WithoutReplacement
    node = dp.Gaussian(noise_multiplier=noise.multiplier, clip=1)
    assert plan.tree.equivalent((sampler(c.rate)(node) * c.rounds).under(unit="client"))
    assert noise.variance == pytest.approx((noise.multiplier * noise.clip) ** 2, rel=1e-12)
    assert plan.denominator == c.rate * c.clients
    sample = plan.sample(1, Keys.from_seed(0))
    assert c.scheme == "poisson" or sample.size == plan.denominator


@given(PLANS, st.integers(0, 400))
def test_the_parts_of_the_noise_are_one_whole(plan: Plan, clients: int) -> None:
    """What so many clients bring, and what the server adds, is at least the plan's variance."""
    assert plan.part(clients) + plan.missing(clients) >= 1
    assert plan.part(clients) + plan.missing(clients) == 1 or plan.missing(clients) == 0


@pytest.mark.parametrize("scheme", ["poisson", "uniform", "none"])
def test_epsilon_is_dpacct_s(scheme: str) -> None:
    rate = Fraction(1) if scheme == "none" else Fraction(1, 20)
    plan = hidden(cohort(rate=rate, scheme=scheme, rounds=30, clip=0.5, delta="1e-5"), 2.0)
    noise = dp.Gaussian(noise_multiplier=2, clip=0.5)
    node: Any = {
        "poisson": dp.Poisson("0.05")(noise),
        "uniform": dp.WithoutReplacement("0.05")(noise),
        "none": noise,
    }[scheme]
    # of a sample of fixed size the two proofs would take 4 s
    with effort.allowance(0.0 if scheme == "uniform" else math.inf):
        answer = plan.accounts[RUN].spent(30)
        assert float(answer) == float((node * 30).epsilon(delta=1e-5))
    assert str(answer.unit) == "client"


def test_no_coin_hides_whose_message_is_seen() -> None:
    """Where every client draws all of its noise and is seen by name, sampling amplifies nothing."""
    plan = hidden(cohort(), 2.0, EACH)
    step = dp.Gaussian(noise_multiplier=2, clip=1).under("zero-out", unit="client")
    assert plan.tree == step * 3


def test_several_fields_are_paid_together() -> None:
    """Two sums hidden at z / sqrt(1 - s) and z / sqrt(s) cost what one hidden at z would."""
    c, z, share = cohort(), 1.7, 0.3
    two = Plan(
        cohort=c,
        noise={
            "update": Gaussian(7, 1.0, z / (1 - share) ** 0.5),
            "count": Gaussian(1, 5.0, z / share**0.5),
        },
    )
    together, alone = two.accounts[RUN].spent(3), hidden(c, z).accounts[RUN].spent(3)
    assert float(together) == pytest.approx(float(alone), rel=1e-9)


@pytest.mark.parametrize("noise", ["exact", "dp_fed_ls.theorem2"])
def test_calibrated_noise_meets_its_target(noise: str) -> None:
    c = cohort(clients=1000, rate="0.05", rounds=30, clip=0.3, epsilon=7, delta="5e-4", noise=noise)
    answer = hidden(c, c.multiplier()).accounts[RUN].spent(30)
    assert float(answer) <= 7.0
    assert noise != "exact" or float(answer) > 7.0 - 1e-5


GRID = list(
    itertools.product(
        [(40, Fraction(1, 4)), (1000, Fraction(1, 20)), (10_000, Fraction(1, 100))],
        ["poisson", "uniform", "none"],
        [0.5, 1.0, 2.0, 4.0, 8.0],
        [1, 2, 3, 5, 10, 30],
    )
)


def fits_its_ledger(clients: int, rate: Fraction, scheme: str, epsilon: float, rounds: int) -> None:
    c = cohort(
        clients=clients,
        rate=1 if scheme == "none" else rate,
        scheme=scheme,
        rounds=rounds,
        epsilon=epsilon,
        delta="clients^-1.1",
    )
    account = hidden(c, c.multiplier()).accounts[RUN]
    assert c.delta is not None
    assert float((account.step * rounds).epsilon(delta=c.delta)) <= epsilon, c
    assert float(account.spent(rounds)) > epsilon * (1 - 1e-3), c


@pytest.mark.parametrize(
    ("scheme", "epsilon", "rounds"),
    [
        *((scheme, 1.0, 2) for scheme in ("poisson", "none")),
        *((scheme, 4.0, 2) for scheme in ("poisson", "none", "uniform")),
        *((scheme, 2.0, 3) for scheme in ("poisson", "none")),
        *(
            pytest.param("uniform", *point, marks=pytest.mark.search)
            for point in ((1.0, 2), (2.0, 3))
        ),
    ],
)
def test_a_calibrated_plan_is_taken_by_its_ledger(scheme: str, epsilon: float, rounds: int) -> None:
    """What calibrates and what decides ask the same question, also where two routes part."""
    fits_its_ledger(1000, Fraction(1, 20), scheme, epsilon, rounds)


@pytest.mark.search
@pytest.mark.timeout(3600)
def test_calibrated_plans_of_a_grid_are_taken_by_their_ledgers() -> None:
    for (clients, rate), scheme, epsilon, rounds in GRID:
        fits_its_ledger(clients, rate, scheme, epsilon, rounds)


def test_the_paper_s_noise_by_its_theorem() -> None:
    """Liang et al. 2020, Table 1's noise, solved independently: std in the sum."""
    for epsilon, nu in [(6, 0.8080309941), (7, 0.6636499004), (9, 0.5257047778)]:
        c = cohort(
            clients=1000,
            rate="0.05",
            rounds=30,
            scheme="uniform",
            clip=0.3,
            epsilon=epsilon,
            delta="clients^-1.1",
            noise="dp_fed_ls.theorem1",
        )
        assert nu <= c.multiplier() * 0.3 * (1 + 1e-9) <= nu * (1 + 1e-6)  # up, in seven digits


@given(st.floats(1e-6, 1e6), st.floats(1e-3, 1e3))
def test_stated_noise_is_never_accounted_above_what_is_drawn(std: float, clip: float) -> None:
    c = cohort(clip=clip, epsilon=None, noise=std)
    assert Fraction(c.multiplier()) * Fraction(clip) <= Fraction(std)
    assert c.gaussian(3).variance ** 0.5 == pytest.approx(std, rel=2e-5)  # eight squared steps more


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rate": 0.033, "scheme": "uniform"}, "rate times clients must be a whole number"),
        ({"rate": 0.5, "scheme": "none"}, "rate must be 1"),
        ({"rate": 0}, "rate must be a number above 0 and at most 1"),
        ({"rate": float("nan")}, "rate must be"),
        ({"clip": float("inf")}, "clip must be a finite number"),
        ({"epsilon": float("nan")}, "epsilon must be a finite number"),
        ({"epsilon": -1}, "epsilon must be at least 0"),
        ({"scheme": "shuffled"}, "scheme must be one of poisson, uniform, none, got 'shuffled'"),
        ({"rounds": 0}, "rounds must be a whole number"),
        ({"clients": 2.5}, "clients must be a whole number"),
        ({"delta": None}, "epsilon and delta must be given together"),
        ({"delta": "clients^1.1"}, "delta must be a number"),
    ],
)
def test_a_wrong_setting_is_one_sentence(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(dp.InvalidArgument, match=says):
        cohort(**changes)
    with pytest.raises(dp.InvalidArgument, match="clip and a privacy target must be given"):
        cohort(clip=None).gaussian(3)


def test_without_noise_nothing_is_claimed() -> None:
    c = cohort(clip=None, epsilon=None, delta=None)
    plan = Plan(cohort=c, noise={"update": Unprotected(7)})
    assert (plan.tree, plan.accounts) == (None, {})
    assert plan.counts([5, 0, 4], {})["update: noise numbers"] == 0
    assert plan.counts([5, 0, 4], {})["update: rows clipped"] == 0
    mixed = Plan(cohort=c, noise={"update": Unprotected(7), "count": Gaussian(1, 1.0, 1.0)})
    assert mixed.accounts == {}  # one open field is enough


def test_counts_with_the_clients_noise() -> None:
    # rounds of 15 clients, none and 4, of 10 expected: the server adds what is missing in two
    assert hidden(cohort(), by=SHARES).counts([15, 0, 4], {}) == {
        "rounds": 3,
        "update: rows clipped": 19,
        "update: noise vectors": 21,
        "update: noise numbers": 147,
    }
    assert hidden(cohort()).counts([15, 0, 4], {})["update: noise vectors"] == 3
    assert hidden(cohort(), by=EACH).counts([15, 0, 4], {})["update: noise vectors"] == 20


def test_counts_of_noisy_steps_inside_clients() -> None:
    records = Records(noise=Gaussian(7, 1.0, 1.0), steps=4, rate=Fraction(1, 2))
    plan = Plan(cohort=cohort(epsilon=None), records=dict.fromkeys(range(100), records))
    counts = plan.counts([2, 1], {3: 2, 8: 1})
    assert counts["records: noise vectors"] == 12 and counts["records: noise numbers"] == 84
    assert plan.accounts["client 8"].step == records.node and RUN not in plan.accounts


def test_a_mark_tells_plans_apart() -> None:
    plans = [
        hidden(cohort()),
        hidden(cohort(), 1.0 + 1e-15),
        hidden(cohort(), by=SHARES),
        hidden(cohort(rounds=4)),
        Plan(cohort=cohort(), noise={"other": Gaussian(7, 1.0, 1.0)}),
    ]
    assert len({plan.mark for plan in plans}) == len(plans)
    assert hidden(cohort()).mark == plans[0].mark


# --- accounts

STEP = dp.Poisson("0.25")(dp.Gaussian(noise_multiplier=2, clip=1)).under(unit="client")
INSIDE = (dp.Gaussian(noise_multiplier=8, clip=1) * 2).under(unit="record")


def opened(folder: Path | None) -> Accounts:
    delta = Fraction(1, 1000)
    return Accounts(
        {
            RUN: RoundAccount(step=STEP, times=4, epsilon=4.0, delta=delta),
            "client 3": RoundAccount(step=INSIDE, times=2, epsilon=2.0, delta=delta),
            "client 4": RoundAccount(step=INSIDE, times=4, epsilon=None, delta=delta),
        },
        folder,
    )


@pytest.mark.parametrize("in_folder", [False, True])
def test_the_same_label_charges_nothing_more(in_folder: bool, tmp_path: Path) -> None:
    folder = tmp_path if in_folder else None
    accounts = opened(folder)
    for label in ("round 1", "round 1", "round 2"):
        with accounts, accounts.release({RUN: STEP, "client 3": INSIDE}, label=label):
            pass
    with accounts:
        assert (accounts.charged(RUN), accounts.charged("client 3")) == (2, 2)
        assert accounts.charged("client 4") == 0 and accounts.spent("client 4") is None
        spent = accounts.spent("client 3")
        assert spent is not None and float(spent) == float((INSIDE * 2).epsilon(delta=1e-3))
        assert accounts.may("client 3", "round 2") and not accounts.may("client 3", "round 3")
        for charges, refusal, says in [
            ({"client 3": INSIDE}, dp.BudgetExceeded, "may be charged in 2 rounds"),
            ({"client 4": STEP}, dp.AssumptionViolated, "its declared step"),
        ]:
            with pytest.raises(refusal, match=says), accounts.release(charges, label="round 3"):
                raise AssertionError("drawn all the same")


def test_a_charge_is_on_the_disk_before_the_block_runs(tmp_path: Path) -> None:
    accounts = opened(tmp_path)
    both = {"client 3": INSIDE, "client 4": INSIDE}
    with (
        accounts,
        accounts.release(both, label="round 1"),
        dp.Ledger(tmp_path / "run.ledger", read_only=True) as ledger,
    ):
        assert ledger.charges("round 1") == both and len(ledger.intents) == 1
    refused = pytest.raises(dp.InvalidArgument, match="must be open")
    with refused, accounts.release({"client 3": INSIDE}, label="round 2"):
        raise AssertionError("drawn all the same")


def charge(accounts: Accounts, label: str) -> None:
    with accounts.release({"client 4": INSIDE}, label=label):
        pass


def test_a_round_that_a_crash_ended_is_repeated_without_a_charge(tmp_path: Path) -> None:
    with opened(tmp_path) as accounts:
        charge(accounts, "round 1")
    for _ in range(2):  # the folder's noise is keyed by the label: the same round, the same noise
        with opened(tmp_path) as accounts:
            charge(accounts, "round 2")
            assert accounts.charged("client 4") == 2
    file = tmp_path / "run.ledger"
    file.write_bytes(file.read_bytes().replace(b"round 1", b"round 9"))
    with pytest.raises(dp.LedgerDamaged, match="was changed"):
        opened(tmp_path).__enter__()


# --- `noise = "as-printed"`: what the papers draw, accounted as what it is.


LAPLACE = {"epsilon": 0.4, "noise": {"name": "laplace", "clip": 1.0, "b": 9.0}}
STAIRCASE = {"epsilon": 0.4, "noise": {"name": "staircase", "clip": 1.0, "eps0": 0.1}}
NOISES = [Laplace(400, 0.5, 2.0), Staircase(400, 0.5, 0.7)]


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_the_printed_noise_is_the_same_draw_under_another_bound(noise: Any) -> None:
    """UDP-FL clips in l2: a row of l2 norm C has an l1 norm of sqrt(d) C, which the noise does not hide."""
    printed = noise.as_printed()
    row = np.full((1, 400), 1.0)
    assert np.linalg.norm(printed.bound(row)) == pytest.approx(noise.clip)
    assert printed.variance == noise.variance
    keys, total, meter = Keys.from_seed(1), np.zeros(400), NoiseMeter()
    drawn = [n.add(total, keys.stream("noise"), meter) for n in (noise, printed)]
    assert np.array_equal(*drawn)


def test_the_guarantee_of_the_printed_laplace_noise_covers_the_worst_row() -> None:
    """Its largest loss is that of d numbers that each move by C / sqrt(d), in closed form."""
    noise = NOISES[0].as_printed()
    assert noise.node is not None and noise.claimed is not None
    moved = noise.bound(np.full((1, 400), 1.0))[0]
    loss = np.abs(moved).sum() / (noise.clip * 2.0)  # sum of |shift| / scale
    assert float(noise.node.epsilon(delta=1e-12)) == pytest.approx(loss, rel=1e-9)
    assert float(noise.claimed.epsilon(delta=1e-12)) == pytest.approx(loss / 400**0.5)


@pytest.mark.parametrize("member", [LAPLACE, STAIRCASE], ids=["laplace", "staircase"])
def test_its_report_says_which_guarantee_it_has(member: Any) -> None:
    prepared = system("udp_fl", privacy__noise="as-printed", privacy__rounds=1, clients=(member,))
    result = Session(prepared).finish()
    assert result.planned == result.executed
    document = report(prepared, result)
    assert document is not None
    text = document.document().to_markdown()
    assert "accounted as the paper does, " in text and "another norm" in text
    claimed = float(text.partition("accounted as the paper does, ")[2].partition(":")[0])
    assert claimed <= member["epsilon"]  # by which the clients stop
    assert result.spent is not None and float(result.spent) > 5 * claimed


@pytest.mark.parametrize(
    ("name", "multiplier"), [("dp_fedsam", 0.95), ("fed_smp", 0.95), ("shares", 0.06)]
)
def test_printed_multipliers(name: str, multiplier: float) -> None:
    prepared = system(name, privacy__noise="as-printed")
    noise = prepared.plan.noise["update"]
    assert noise.variance**0.5 == pytest.approx(multiplier * noise.clip, rel=1e-3)
    assert prepared.plan.accounts


def test_theorems_and_inner_noise_are_as_printed() -> None:
    by_theorem, named = (
        system("dp_fed_ls", privacy__noise=noise, privacy__epsilon=30.0)
        for noise in ("as-printed", "dp_fed_ls.theorem2")
    )
    assert by_theorem.plan == replace(named.plan, enforced=False)
    for name in ("prifedsync", "pate_fl"):
        assert system(name, privacy__noise="as-printed").plan.mark == system(name).plan.mark


@pytest.mark.parametrize("name", ["fedprox", "fed_opt", "adaptive_clip", "scaffold", "nbafl"])
def test_where_no_paper_prints_one_it_is_refused(name: str) -> None:
    with pytest.raises(dp.InvalidArgument, match="whose paper prints none, got 'as-printed'"):
        system(name, privacy__noise="as-printed")


def test_the_report_of_prifedsync_says_the_paper_s_limit() -> None:
    """Theorem 2, as dpacct evaluates it for the same numbers, written out here."""
    prepared = system("prifedsync")
    plan = dp.federated.PriFedSync(
        clients=40,
        client_rate="0.5",
        batch_size=1,
        records=6,
        local_steps=3,
        rounds=4,
        sigma=1,
    )
    assert {records.rate for records in prepared.plan.records.values()} == {Fraction(1, 6)}
    said = prepared.algorithm.paper_says(prepared.plan)
    assert f"mu = {plan.mu_clt:.2f} for" in said and "Weak and strong" in said
    assert not system("prifedsync", privacy__noise="none").algorithm.paper_says(
        system("prifedsync", privacy__noise="none").plan
    )
