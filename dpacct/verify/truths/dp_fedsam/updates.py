"""Local training and clipping, simulated: updates on neighbouring data, drifts, and noise that is kept."""

from __future__ import annotations

import math

import numpy as np

from dpacct.verify.truth import truth


def _run(eta: float, rho: float, steps: int, smoothness: float, centre: float) -> list[float]:
    """SAM from 0 on F = L (w - z)^2/2 with one sample z: all the models on the way."""
    w, way = 0.0, [0.0]
    for _ in range(steps):
        gradient = smoothness * (w - centre)
        ascent = w + math.copysign(rho, gradient) if gradient else w
        w -= eta * smoothness * (ascent - centre)
        way.append(w)
    return way


def _apart(eta: float, rho: float, steps: int, smoothness: float) -> float:
    ends = [_run(eta, rho, steps, smoothness, z)[-1] for z in (1.0, -1.0)]
    return (ends[0] - ends[1]) ** 2


@truth("dp_fedsam.theorem1", draws=200)
def sam(eta: float, rho: float, steps: int, smoothness: float) -> tuple[float, float]:
    """SAM on a quadratic with the sample z = 1, and with z = -1, step by step."""
    return _apart(eta, rho, steps, smoothness) * (1.0 - 1e-12), math.inf


@truth("dp_fedsam.theorem1_sgd", draws=200)
def sgd(eta: float, variance: float, steps: int, smoothness: float) -> tuple[float, float]:
    """SGD on a quadratic with the sample z = 1, and with z = -1; one sample has variance 0."""
    return _apart(eta, 0.0, steps, smoothness) * (1.0 - 1e-12), math.inf


def _clipped(update: float, clip: float) -> float:
    return update * min(1.0, clip / abs(update)) if update else 0.0


@truth("dp_fedsam.diameter", draws=100)
def two_samples(smoothness: float, rho: float) -> tuple[float, float]:
    """One step of SAM on each of two quadratics from 0, divided by the learning rate."""
    steps = [_run(1.0, rho, 1, smoothness, z)[-1] for z in (1.0, -1.0)]
    return abs(steps[0] - steps[1]) * (1.0 - 1e-12), math.inf


@truth("dp_fedsam.theorem1_corrected", draws=100)
def clipped(clip: float) -> tuple[float, float]:
    """Clipped updates of every two from a list, opposite ones and absent ones among them."""
    updates = [_clipped(share * clip, clip) for share in (-7.0, -1.0, -0.4, 0.0, 0.3, 1.0, 9.0)]
    worst = max((one - two) ** 2 for one in updates for two in updates)
    return worst, worst * (1.0 + 1e-12)


def _mean(updates: list[float], divisor: int, clip: float) -> float:
    return math.fsum(_clipped(update, clip) for update in updates) / divisor


@truth("dp_fedsam.lemma1", "dp_fedsam.lemma1_corrected", draws=100)
def exchanged(clip: float, participants: int) -> float | None:
    """The mean of m clipped updates before and after one client is exchanged for its opposite."""
    if participants > 10_000:
        return None
    others = [0.0] * (participants - 1)
    before, after = ([*others, sign * 3.0 * clip] for sign in (1.0, -1.0))
    return abs(_mean(before, participants, clip) - _mean(after, participants, clip))


@truth("dp_fedsam.lemma1_add_remove", draws=100)
def joined(clip: float, participants: int) -> float | None:
    """The sum of clipped updates over a constant, before and after a client joins."""
    if participants > 10_000:
        return None
    others = [0.0] * participants
    more = [*others, 3.0 * clip]
    return abs(_mean(more, participants, clip) - _mean(others, participants, clip))


@truth("dp_fedsam.eq11", draws=100)
def noise_of_mean(sigma: float, clip: float, participants: int) -> float | None:
    """The variances of m shares, added up one by one, over m^2."""
    if participants > 10_000:
        return None
    share = sigma * sigma * clip * clip / participants
    return math.sqrt(math.fsum([share] * participants)) / participants


@truth("dp_fedsam.lemma2", draws=100)
def perturbations(steps: int, eta: float, smoothness: float, rho: float) -> float:
    """F_1 = w and F_2 = -w/2: each client's unit vector and that of the mean gradient."""
    gradients = [1.0, -0.5]
    whole = math.copysign(rho, sum(gradients))
    return sum((math.copysign(rho, g) - whole) ** 2 for g in gradients) / len(gradients)


def _noisy_flat(rng: object) -> dict[str, float | int]:
    """Points with some of the gradients' causes absent, as the lemma allows."""
    uniform = rng.uniform  # type: ignore[attr-defined]
    steps, smoothness = int(uniform(2.0, 20.0)), uniform(0.5, 5.0)
    eta = uniform(0.1, 1.0) / (10.0 * steps * smoothness)
    rho, across, gradient = (uniform(0.0, 0.2) if uniform(0.0, 1.0) < 0.5 else 0.0 for _ in "123")
    return {
        "steps": steps,
        "eta": eta,
        "smoothness": smoothness,
        "rho": rho,
        "local": uniform(0.0, 5.0),
        "across": across,
        "gradient": gradient,
    }


@truth("dp_fedsam.lemma3", draws=300, draw=_noisy_flat)
def drift(
    steps: int,
    eta: float,
    smoothness: float,
    rho: float,
    local: float,
    across: float,
    gradient: float,
) -> tuple[float, float]:
    """Linear losses with slope g +- sigma_l by a coin: the second moment after K - 1 steps, added up."""
    mean, variance = 0.0, 0.0
    for _ in range(steps - 1):
        mean += eta * gradient
        variance += (eta * local) ** 2
    return (mean * mean + variance) * (1.0 - 1e-12), math.inf


@truth("dp_fedsam.lemma7", draws=200)
def along_the_way(steps: int, step: float) -> float:
    """Two quadratics, z = 1 and z = -1: the squared distances of the models along the way."""
    ways = [_run(step, 0.0, steps, 1.0, z) for z in (1.0, -1.0)]
    return math.fsum((x - y) ** 2 for x, y in zip(*(way[:steps] for way in ways), strict=True))


@truth("dp_fedsam.lemma8", draws=200)
def straight(
    steps: int, eta: float, smoothness: float, rho: float, gradient: float
) -> tuple[float, float]:
    """K steps along a constant gradient of norm B, never clipped."""
    return _walk(steps, eta, gradient, 0.0), math.inf


@truth("dp_fedsam.lemma8_corrected", draws=200)
def straight_noisy(steps: int, eta: float, gradient: float, local: float) -> tuple[float, float]:
    """K steps along B +- sigma_l, the same batch at every step: the mean of both squares."""
    return _walk(steps, eta, gradient, local) * (1.0 - 1e-12), math.inf


def _walk(steps: int, eta: float, gradient: float, local: float) -> float:
    ends = []
    for noise in (local, -local):
        w = 0.0
        for _ in range(steps):
            w -= eta * (gradient + noise)
        ends.append(w * w)
    return sum(ends) / len(ends)


@truth("dp_fedsam.eq24_topk", draws=60, within=1e-8)
def kept_noise(d: int, k: int) -> float:
    """The k largest squares of d normals: E of each as the integral of its survival function."""
    from scipy.special import bdtrc, erfc

    x = np.linspace(0.0, 12.0, 6001)  # of |z|; the square's survival is integrated with 2x dx
    above = np.clip(erfc(x / math.sqrt(2.0)), 1e-300, 1.0)
    total = np.zeros_like(x)
    for rank in range(1, k + 1):  # the rank-th largest exceeds x if at least rank of d do
        total += bdtrc(rank - 1, d, above)
    height = total * 2.0 * x
    width = float(x[1])
    simpson = height[0] + height[-1] + 4.0 * height[1::2].sum() + 2.0 * height[2:-1:2].sum()
    return float(simpson) * width / 3.0
