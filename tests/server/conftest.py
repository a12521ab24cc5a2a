"""How Hypothesis works here: the same examples at every run, and no clock, because a busy machine is no defect."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "smem", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("smem")
