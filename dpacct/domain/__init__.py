"""The names of `dpacct.declare`, until every import says so."""

from dpacct.declare.domain import DELTA as DELTA
from dpacct.declare.domain import EPSILON as EPSILON
from dpacct.declare.domain import POSITIVE as POSITIVE
from dpacct.declare.domain import RATE as RATE
from dpacct.declare.domain import STEPS as STEPS
from dpacct.declare.domain import Bound as Bound
from dpacct.declare.domain import Integer as Integer
from dpacct.declare.domain import Real as Real
from dpacct.declare.domain import Where as Where
from dpacct.declare.number import Number as Number
from dpacct.declare.number import exact as exact
from dpacct.declare.number import fits as fits
from dpacct.declare.number import ln as ln
from dpacct.declare.number import shown as shown
from dpacct.declare.number import text as text
