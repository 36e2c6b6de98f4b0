"""The papers' statements: look one up, evaluate it, or list those of a paper.

>>> import dpacct as dp
>>> lemma = dp.theorems.get("dp_fed_ls.lemma3")
>>> lemma.verdict, f"{lemma.evaluate({'tau': 0.05, 'nu2': 1, 'alpha': 2}):.6f}"
('proof-gap', '0.010000')
>>> [each.id for each in dp.theorems.statements("udp_fl") if each.verdict == "false"][:2]
['udp_fl.optimal_nu', 'udp_fl.variance_gap_gaussian']
"""

from dpacct.papers.page import Statement as Statement
from dpacct.papers.registry import Paper as Paper
from dpacct.papers.registry import get as get
from dpacct.papers.registry import ids as ids
from dpacct.papers.registry import named as named
from dpacct.papers.registry import papers as papers
from dpacct.papers.registry import statements as statements
