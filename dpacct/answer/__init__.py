"""What a question is answered with, and the one place where questions are asked."""

from dpacct.answer.answer import RESERVED as RESERVED
from dpacct.answer.answer import SCHEMA as SCHEMA
from dpacct.answer.answer import Answer as Answer
from dpacct.answer.answer import Answers as Answers
