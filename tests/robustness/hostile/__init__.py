"""Texts that nobody writes and somebody may check: one construct each, as often as fits into a few megabytes.

``HOSTILE`` holds them by name; each takes how often its construct is to be repeated. They are made by rule, not
collected: what is asked of the tool is that it answers within its budget, whatever the answer. ``ended`` gives short
texts that once ended a check.
"""

from __future__ import annotations

from robustness.hostile import comments, declarations, depth, preprocessor, statements, words  # noqa: F401  (they register)
from robustness.hostile.ended import ended
from robustness.hostile.making import HOSTILE

__all__ = ["HOSTILE", "ended"]
