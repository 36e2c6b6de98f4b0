"""Tables 1 to 3: the 21 mu_max, and the derived columns and ratios of Table 2."""

from __future__ import annotations

from dpacct.theorems.cell import Cell
from dpacct.theorems.entry import at
from dpacct.theorems.federated_fdp.local_training import theorem2_clt

_PAPER = "federated_fdp"
_LIMIT = (
    "the Gaussian limit of Theorem 2, n = {n}, B = {b}, K = {k}; exact: the mu whose Gaussian has the"
    " epsilon of the KR composed steps at delta = 1e-5 (replace-one)"
)


def iterations(local_steps: int, rounds: int) -> float:
    """Table 2, 'Total Iter.': K R.

    >>> iterations(76, 266)
    20216.0
    """
    return float(local_steps * rounds)


def examples(batch: int, local_steps: int, rounds: int) -> float:
    """Table 2, 'Total Ex.': B K R.

    >>> examples(8, 76, 266)
    161728.0
    """
    return float(batch * local_steps * rounds)


_ROUNDS = {8: {1.0: 266, 0.9: 229, 0.75: 191}, 16: {1.0: 194, 0.9: 176, 0.75: 127}}
_STEPS = {8: 76, 16: 38}


def mean_ratio_mu(records: int) -> float:
    """Caption of Table 2: mu_max at B = 8 over that at B = 16, the mean of the three sigmas.

    >>> round(mean_ratio_mu(600), 5)
    0.83391
    """
    ratios = [
        theorem2_clt(8, records, sigma, _STEPS[8], _ROUNDS[8][sigma])
        / theorem2_clt(16, records, sigma, _STEPS[16], _ROUNDS[16][sigma])
        for sigma in _ROUNDS[8]
    ]
    return sum(ratios) / len(ratios)


def mean_ratio_iterations(small: int, large: int) -> float:
    """Section 4.1: iterations at batch `small` over those at `large`, the mean of the three sigmas.

    >>> round(mean_ratio_iterations(8, 16), 5)
    2.78414
    """
    ratios = [
        iterations(_STEPS[small], _ROUNDS[small][sigma])
        / iterations(_STEPS[large], _ROUNDS[large][sigma])
        for sigma in _ROUNDS[small]
    ]
    return sum(ratios) / len(ratios)


def mean_ratio_examples(small: int, large: int) -> float:
    """Caption of Table 2: examples at batch `small` over those at `large`.

    >>> round(mean_ratio_examples(8, 16), 5)
    1.39207
    """
    return mean_ratio_iterations(small, large) * small / large


def _mu(
    table: str, row: str, sigma: str, shape: tuple[int, int, int], rounds: int, printed: str
) -> Cell:
    batch, records, steps = shape
    return Cell(
        paper=_PAPER,
        table=table,
        cell=f"{row}, sigma={sigma}, R={rounds}: mu_max",
        inputs={
            "batch": batch,
            "records": records,
            "sigma": float(sigma),
            "local_steps": steps,
            "rounds": rounds,
        },
        printed=printed,
        formula=theorem2_clt,
        note=_LIMIT.format(n=records, b=batch, k=steps),
        truth=f"{_PAPER}.limits.equivalent_mu",
    )


_LARGE, _SMALL, _CIFAR = (16, 600, 38), (8, 600, 76), (16, 500, 32)

_TABLE1 = tuple(
    _mu("Table 1", f"p={p}", sigma, _LARGE, rounds, printed)
    for p, sigma, rounds, printed in (
        ("1.0", "1.0", 93, "2.71"),
        ("1.0", "0.9", 83, "3.10"),
        ("1.0", "0.75", 64, "3.96"),
        ("0.5", "1.0", 194, "3.92"),
        ("0.5", "0.9", 176, "4.51"),
        ("0.5", "0.75", 127, "5.58"),
        ("0.25", "1.0", 386, "5.52"),
        ("0.25", "0.9", 325, "6.13"),
        ("0.25", "0.75", 245, "7.75"),
    )
)
_TABLE3 = tuple(
    _mu("Table 3", f"p={p}", sigma, _CIFAR, rounds, printed)
    for p, sigma, rounds, printed in (
        ("1.0", "1.0", 468, "6.70"),
        ("1.0", "0.75", 321, "9.77"),
        ("1.0", "0.5", 207, "26.81"),
        ("0.5", "1.0", 904, "9.31"),
        ("0.5", "0.75", 671, "14.13"),
        ("0.5", "0.5", 405, "37.51"),
    )
)


def _row(
    sigma: str, shape: tuple[int, int, int], rounds: int, printed: tuple[str, str, str]
) -> tuple[Cell, ...]:
    batch, _, steps = shape
    name = f"sigma={sigma}, B={batch}, K={steps}, R={rounds}"
    counts = {"local_steps": steps, "rounds": rounds}
    return (
        Cell(
            paper=_PAPER,
            table="Table 2",
            cell=f"{name}: Total Iter.",
            inputs=at(**counts),
            printed=printed[0],
            formula=iterations,
        ),
        Cell(
            paper=_PAPER,
            table="Table 2",
            cell=f"{name}: Total Ex.",
            inputs=at(batch=batch, **counts),
            printed=printed[1],
            formula=examples,
        ),
        _mu("Table 2", f"B={batch}, K={steps}", sigma, shape, rounds, printed[2]),
    )


_TABLE2 = (
    *_row("1.0", _SMALL, 266, ("20216", "161728", "3.24")),
    *_row("1.0", _LARGE, 194, ("7372", "117952", "3.92")),
    *_row("0.9", _SMALL, 229, ("17404", "139232", "3.64")),
    *_row("0.9", _LARGE, 176, ("6688", "107008", "4.51")),
    *_row("0.75", _SMALL, 191, ("14516", "116128", "4.84")),
    *_row("0.75", _LARGE, 127, ("4826", "77216", "5.58")),
    Cell(
        paper=_PAPER,
        table="Table 2",
        cell="caption: mu_max of B=8 over B=16",
        inputs=at(records=600),
        printed="0.83",
        formula=mean_ratio_mu,
        note="the mean over the three sigmas, 0.83391",
    ),
    Cell(
        paper=_PAPER,
        table="Table 2",
        cell="Section 4.1: iterations of B=8 over B=16",
        inputs=at(small=8, large=16),
        printed="2.78",
        formula=mean_ratio_iterations,
        note="the mean over the three sigmas, 2.78414",
    ),
    Cell(
        paper=_PAPER,
        table="Table 2",
        cell="caption: examples of B=8 over B=16",
        inputs=at(small=8, large=16),
        printed="1.39",
        formula=mean_ratio_examples,
        note="the mean over the three sigmas, 1.39207",
    ),
)

CELLS: tuple[Cell, ...] = (*_TABLE1, *_TABLE2, *_TABLE3)
