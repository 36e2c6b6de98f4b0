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
}


@pytest.mark.parametrize(("phrase", "wanted"), PHRASES.items())
def test_a_phrase_finds_its_statement_first(phrase: str, wanted: str) -> None:
    assert search(phrase)[0].statement.id == wanted


def test_there_are_twenty_of_all_five_papers() -> None:
    assert len(PHRASES) == 20
    assert {wanted.partition(".")[0] for wanted in PHRASES.values()} == {
        *("dp_fed_ls", "federated_fdp", "udp_fl", "ae_dpfl", "dp_fedsam"),
    }
