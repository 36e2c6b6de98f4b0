"""Truths for the statements of Balle, Barthe, Gaboardi (2018)."""

from __future__ import annotations

from dpacct.papers.oracles.oracle import oracle


def _leaky(epsilon: float, delta: float, bit: int) -> list[float]:
    """Randomised response that reveals its bit with probability delta: four outcomes."""
    from mpmath import exp, mpf

    honest = 1 / (1 + exp(-mpf(epsilon)))
    kept = 1 - mpf(delta)
    shown = [mpf(delta), mpf(0)] if bit else [mpf(0), mpf(delta)]
    said = [kept * honest, kept * (1 - honest)]
    return shown + (said if bit else said[::-1])


@oracle("epsilon", draws=300)
def sampled_response(epsilon: float, rate: float) -> float:
    """The largest log ratio of (1-q) R + q P against R over the outcomes, 260 digits."""
    from mpmath import log, mp, mpf

    with mp.workdps(260):  # e^-500 beside 1
        with_bit, without = _leaky(epsilon, 0.0, 1), _leaky(epsilon, 0.0, 0)
        q = mpf(rate)
        ratios = [(1 - q) + q * p / r for p, r in zip(with_bit, without, strict=True) if r > 0]
        return float(max(log(ratio) for ratio in ratios))


@oracle("delta", draws=300)
def sampled_leak(epsilon: float, delta: float, rate: float) -> float:
    """The positive part of (1-q) R + q P over e^eps' R, outcome by outcome, both directions."""
    from mpmath import exp, mp, mpf

    with mp.workdps(260):  # e^-500 beside 1
        factor = 1 + mpf(rate) * (exp(mpf(epsilon)) - 1)
        with_bit, without = _leaky(epsilon, delta, 1), _leaky(epsilon, delta, 0)
        mixed = [
            (1 - mpf(rate)) * r + mpf(rate) * p for p, r in zip(with_bit, without, strict=True)
        ]
        up = sum(max(mpf(0), m - factor * r) for m, r in zip(mixed, without, strict=True))
        down = sum(max(mpf(0), r - factor * m) for m, r in zip(mixed, without, strict=True))
        return float(max(up, down))
