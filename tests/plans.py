"""Random plans for the tests of the core rooms: every node kind, nested, valid by construction."""

from hypothesis import strategies as st

from dpacct.declare.domain import POSITIVE, RATE, Real
from dpacct.mechanisms.gaussian import Gaussian
from dpacct.mechanisms.laplace import Laplace
from dpacct.mechanisms.opaque import ZCDP, ApproxDP, PureDP
from dpacct.papers.refute import window
from dpacct.plan.combine import composed
from dpacct.plan.node import Node
from dpacct.plan.samplers.fixed_size import WithoutReplacement
from dpacct.plan.samplers.poisson import Poisson


def numbers(domain: Real) -> st.SearchStrategy[float]:
    """Usual values of a domain, round ones among them."""
    low, high = map(float, window(domain))
    even = st.integers(1, 100).map(lambda step: low + (high - low) * step / 100)
    return even | st.floats(low, high, allow_subnormal=False).filter(domain.contains)


scales, rates = numbers(POSITIVE), numbers(RATE)
counts = st.integers(1, 30) | st.just(10**3)


def gaussians() -> st.SearchStrategy[Node]:
    clipped = st.builds(lambda n, c: Gaussian(noise_multiplier=n, clip=c), scales, scales)
    return st.builds(lambda s: Gaussian(sigma=s), scales) | clipped


def mechanisms() -> st.SearchStrategy[Node]:
    return st.one_of(
        gaussians(),
        st.builds(lambda b: Laplace(b=b), scales),
        st.builds(lambda e: PureDP(epsilon=e), scales),
        st.builds(lambda e: ApproxDP(epsilon=e, delta="1e-7"), scales),
    )


def plans() -> st.SearchStrategy[Node]:
    """Plans whose `releases` are defined."""
    sampled = st.builds(
        lambda sampler, rate, plan: sampler(rate)(plan),
        st.sampled_from([Poisson, WithoutReplacement]),
        rates,
        mechanisms() | st.builds(lambda m, n: m * n, gaussians(), counts),
    )
    zcdp = st.builds(lambda r: ZCDP(rho=r), scales)
    leaves = mechanisms() | sampled | zcdp

    def grow(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
        return st.one_of(
            st.builds(lambda plan, n: plan * n, inner, counts),
            st.lists(inner, min_size=1, max_size=4).map(lambda parts: composed(*parts)),
            st.builds(lambda plan: plan.under("replace-one"), inner),
            st.builds(lambda plan: plan.under(unit="client"), inner),
        )

    return st.recursive(leaves, grow, max_leaves=8)
