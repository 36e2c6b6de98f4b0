"""Answers that are theorems: ball arithmetic for rounding, explicit bounds for every truncation.

The derivations are in docs/theory/certificate.md; each bound in the code names its equation there.
Nothing here is imported until a certified answer is asked for.
"""
