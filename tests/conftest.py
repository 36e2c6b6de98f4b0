"""Settings that every test shares: Hypothesis profiles and a picture-less matplotlib."""

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("MPLBACKEND", "Agg")

# Time limits are pytest-timeout's: Hypothesis' own would turn a busy machine into a failure.
settings.register_profile("dev", max_examples=50, deadline=None)
# CI draws the same examples each time, so a red run is about the change and not about luck.
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True, database=None)
# By hand: pytest -m search --hypothesis-profile=search
settings.register_profile(
    "search", max_examples=20_000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
