"""Plans of federated learning, whole: rounds, clients, local steps, and who looks on.

A plan says whose data it protects, from whom, at which sensitivity and on which promises, and puts what
the algorithm's paper says beside what is true.

>>> import dpacct as dp
>>> plan = dp.federated.DPFedSAM(clients=500, client_rate="0.1", rounds=200, noise_multiplier="0.95")
>>> for row in plan.rows(delta="0.002"):
...     if row.printed and not row.printed.holds:
...         print(f"{row.printed.theorem} says {row.printed.value:.2f}: {row.printed.status}")
dp_fedsam.theorem2 says 0.73: refuted
dp_fedsam.theorem2_algorithm1 says 8.51: refuted

Importing this package imports every file here: an algorithm is a file with a `FederatedPlan` in it.
"""

from importlib import import_module
from pkgutil import iter_modules

from dpacct.federated.client_level import DPFed, DPFedAvg, DPFedLS, DPFedSAM
from dpacct.federated.plan import FederatedPlan, Printed, Row
from dpacct.federated.prifedsync import PriFedSync
from dpacct.federated.udp_fl import UDPFL, Client, Harmonized

__all__ = [
    "UDPFL",
    "Client",
    "DPFed",
    "DPFedAvg",
    "DPFedLS",
    "DPFedSAM",
    "FederatedPlan",
    "Harmonized",
    "PriFedSync",
    "Printed",
    "Row",
]

for _file in iter_modules(__path__):
    import_module(f"{__name__}.{_file.name}")
