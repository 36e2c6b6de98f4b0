"""Audits: what scores or guesses of canaries prove about leakage. `dp.audit` is the usual way in.

Here are its parts, which take counts: bounds on rates, on epsilon and on mu.

>>> import dpacct as dp
>>> f"{1 - dp.auditing.upper_rate(80, 100, 0.95):.4f}"  # of a true positive rate, 20 hits of 100
'0.1367'
>>> f"{dp.auditing.one_run_epsilon(1000, 100, 95, 1e-5, 0.95):.4f}"
'2.1719'
"""

from dpacct.auditing.bounds import (
    Curve,
    epsilon_of_mu,
    epsilon_of_rates,
    mu_of_rates,
    one_run_epsilon,
    one_run_f_p_value,
    one_run_mu,
    one_run_p_value,
    upper_rate,
)
from dpacct.auditing.scores import read_csv

__all__ = [
    "Curve",
    "epsilon_of_mu",
    "epsilon_of_rates",
    "mu_of_rates",
    "one_run_epsilon",
    "one_run_f_p_value",
    "one_run_mu",
    "one_run_p_value",
    "read_csv",
    "upper_rate",
]
