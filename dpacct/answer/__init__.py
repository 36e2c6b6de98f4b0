"""Answers, and `ask`, which answers every question about a plan."""

from dpacct.answer.answer import RESERVED as RESERVED
from dpacct.answer.answer import SCHEMA as SCHEMA
from dpacct.answer.answer import Answer as Answer
from dpacct.answer.answer import Answers as Answers
