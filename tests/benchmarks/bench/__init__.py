"""The peer benchmark: questions put to dpacct and to other accountants in the same run, one
process at a time.
"""
