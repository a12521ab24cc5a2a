"""Hazards.

Holds races and redundant barriers, found by runs of a block. May import ``analysis/execution`` and below. Never
proposes a repair.
"""
