"""Phrases from the papers' own texts, typed as a reader would, each find their statement at once."""

from __future__ import annotations

import pytest

from dpacct.papers.search import search

PHRASES = {
    "Differential Privacy Guarantee for DP-Fed-LS with Uniform Subsampling": "dp_fed_ls.theorem1",
    "RDP of the Gaussian mechanism with Poisson Subsampling, Lemma 3": "dp_fed_ls.lemma3",
    "composition theorem of RDP k randomized mechanisms": "dp_fed_ls.lemma4",
    "Laplacian smoothing risk eigen-decomposition bias variance": "dp_fed_ls.proposition1",
    "weak federated f-differential privacy": "federated_fdp.definition3_5",
    "R-fold composition of GDP algorithms is GDP": "federated_fdp.lemma3_4",
    "federated f-DP Theorem 2 NoisySGD local private training": "federated_fdp.theorem2",
    "PriFedSync Theorem 1": "federated_fdp.theorem1",
    "optimal choice of parameter theta for mode connectivity": "udp_fl.theorem5",
    "Laplace mechanism satisfies Renyi DP UDP-FL theorem 7": "udp_fl.theorem7",
    "expectation of noise amplitude for UDP-FL with Laplace mechanism": "udp_fl.lemma5",
    "UDP-FL Rényi divergence of the shuffle model lower bound N clients": "udp_fl.lemma3",
    "standard DP-FedAvg Geyer et al. algorithm 3": "ae_dpfl.algorithm3",
    "there is a singleton output that happens with probability 1 - q": "ae_dpfl.lemma13",
    "PATE-FL and Private-kNN-FL answer Q queries, agent-level protection": "ae_dpfl.theorem11_agent",
    "objective function of agents piecewise linear Proposition 10": "ae_dpfl.proposition10_a",
    "accumulative privacy budget after T communication rounds": "dp_fedsam.theorem2",
    "sub-sampling uniformly without replacement Lemma 4 FedSAM": "dp_fedsam.lemma4",
    "high-probability generalization bound for differentially private algorithms": "dp_fedsam.lemma6",
    "delta-approximate max divergence": "dp_fedsam.definition2",
    "Staircase mechanism minimum expectation of noise amplitude": "udp_fl.lemma1",
    "saves at least perturbation in variance compared to Gaussian and Laplacian": (
        "udp_fl.variance_gap_gaussian"
    ),
    "Shuffler amplifies privacy RDP of the shuffle model is lower-bounded": "udp_fl.lemma3",
    "parameters preserved by UDP-FL with Staircase after T training rounds": "udp_fl.theorem3",
    "Indistinguishability for any measurable set S neighboring D, D' RDP": "ae_dpfl.lemma8_1",
    "Statement (b) Clarke subdifferential FedAvg agents": "ae_dpfl.proposition10_b",
    "Private-kNN-FL instance-level protection RDP k neighbours": "ae_dpfl.theorem11_knn",
    "output label matches noiseless majority votes with probability close to 1, gamma(x)": (
        "ae_dpfl.lemma12_threshold"
    ),
    "privacy amplification lemma singleton output 2 alpha RDP Cauchy-Schwartz": "ae_dpfl.lemma13",
    "noise added to each coordinate is drawn from N(0, sigma^2/N^2) teachers": "ae_dpfl.lemma12",
    "sensitivity of client-level DP in DP-FedSAM can be expressed as C/m": "dp_fedsam.lemma1",
    "sampling rate q privacy budget mixture of two Gaussian distributions": "dp_fedsam.eq17",
    "DP with the max divergence in each communication round, dimension d": "dp_fedsam.theorem4",
    "hypothesis sub-sample-sets generalization Theorem 1 of [50]": "dp_fedsam.lemma6",
    "one-vs-all privacy notion other clients make allies": "federated_fdp.definition3_6",
    "subsampling amplifies the privacy guarantee H_i Sample_p": "federated_fdp.lemma3_8",
    "privacy guarantee uniformly the same for all the other clients": "federated_fdp.lemma3_7",
    "there exists lambda in (0,1) such that nu^2/4G^2 >= 0.67": "dp_fed_ls.theorem1",
    "k randomized mechanisms satisfy RDP, composition, DP-Fed-LS": "dp_fed_ls.lemma4",
    "(1+x)^n <= 1/(1-nx) Bernoulli": "dp_fed_ls.eq14",
}


@pytest.mark.parametrize(("phrase", "wanted"), PHRASES.items())
def test_a_phrase_finds_its_statement_first(phrase: str, wanted: str) -> None:
    assert search(phrase)[0].statement.id == wanted


def test_there_are_phrases_of_all_five_papers() -> None:
    assert len(PHRASES) == 40
    assert {wanted.partition(".")[0] for wanted in PHRASES.values()} == {
        *("dp_fed_ls", "federated_fdp", "udp_fl", "ae_dpfl", "dp_fedsam"),
    }


@pytest.mark.parametrize(
    ("misspelt", "wanted"),
    [
        ("staircse mechansim", "udp_fl.theorem1"),
        ("poission subsampling", "dp_fed_ls.lemma3"),
        ("convergance bound", "dp_fedsam.theorem3"),
        ("sensitvity of clipped updates", "dp_fedsam.lemma1"),
        ("shufle model lower bound", "udp_fl.lemma3"),
    ],
)
def test_a_misspelt_word_finds_it_all_the_same(misspelt: str, wanted: str) -> None:
    assert search(misspelt)[0].statement.id == wanted


def test_a_number_is_not_taken_for_a_misspelling() -> None:
    assert search("Lemma 99") == []
