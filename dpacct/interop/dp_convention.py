"""What a bare noise multiplier may be divided by; under replace-one the two differ by a factor 2."""

CONVENTIONS = ("clip", "sensitivity")
