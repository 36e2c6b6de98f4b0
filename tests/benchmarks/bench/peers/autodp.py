"""autodp: the RDP composition, and the analytical Fourier accountant (which today's SciPy
breaks).
"""

from __future__ import annotations

from math import exp

from autodp import calibrator_zoo, mechanism_zoo, transformer_zoo
from autodp.autodp_core import Mechanism

from bench.peers import Answerer
from bench.questions import NotOffered, Part, Question


def rdp_mechanism(part: Part) -> Mechanism:
    """One release with its Renyi curve."""
    if part.mechanism == "laplace":
        return mechanism_zoo.LaplaceMechanism(b=part.parameter)
    if part.mechanism == "pure":
        return mechanism_zoo.RandresponseMechanism(p=1 / (1 + exp(-part.parameter)))
    mechanism = mechanism_zoo.ExactGaussianMechanism(sigma=part.parameter)
    if part.rate == 1:
        return mechanism
    sample = transformer_zoo.AmplificationBySampling(PoissonSampling=True)
    return sample(mechanism, part.rate, improved_bound_flag=True)


def fourier_mechanism(part: Part) -> Mechanism:
    """One release with its characteristic function, in the remove direction."""
    if part.mechanism == "laplace":
        return mechanism_zoo.LaplaceMechanism(b=part.parameter, phi_off=False, RDP_off=True)
    if part.mechanism == "pure":
        p = 1 / (1 + exp(-part.parameter))
        return mechanism_zoo.RandresponseMechanism(p=p, phi_off=False, RDP_off=True)
    if part.rate == 1:
        return mechanism_zoo.GaussianMechanism(part.parameter, phi_off=False, RDP_off=True)
    sample = transformer_zoo.AmplificationBySampling_pld(neighboring="remove_only")
    base = mechanism_zoo.GaussianMechanism(part.parameter, phi_off=False, RDP_off=True)
    return sample(base, part.rate)


def answer(fourier: bool, question: Question) -> list[float]:
    """Ask autodp."""
    if question.want == "sigma":
        if fourier:
            raise NotOffered("calibration is measured with the RDP route")
        part = question.single
        calibrated = calibrator_zoo.generalized_eps_delta_calibrator()(
            mechanism_zoo.SubsampleGaussianMechanism,
            question.epsilons[0],
            question.target_delta,
            [0.3, 20],
            params={"prob": part.rate, "sigma": None, "coeff": part.count},
            para_name="sigma",
            name="calibrated",
        )
        return [float(calibrated.params["sigma"])]
    if question.want == "profile":
        raise NotOffered("one search for every epsilon")
    make = fourier_mechanism if fourier else rdp_mechanism
    compose = transformer_zoo.ComposeAFA() if fourier else transformer_zoo.Composition()
    gaussian = all(part.mechanism == "gaussian" and part.rate == 1 for part in question.plan)
    if gaussian and not fourier:
        compose = transformer_zoo.ComposeGaussian()
    composed = compose([make(part) for part in question.plan], [p.count for p in question.plan])
    if question.want == "epsilon":
        return [float(composed.get_approxDP(question.target_delta))]
    return [float(composed.get_approx_delta(epsilon)) for epsilon in question.epsilons]


def answerer(name: str) -> Answerer:
    """The answerer for the RDP or the Fourier route."""
    fourier = name == "autodp_afa"
    return lambda question: answer(fourier, question)
