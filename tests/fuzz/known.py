"""Differences that are known and are being mended. Each entry goes with its defect."""

from __future__ import annotations

import re
from collections import Counter

from fuzz.comparing import Unequal
from fuzz.edits import top_parts

_NAMED = re.compile(r"__global__[^;{}()]*?\b(\w+)\s*\(")


def known(found: Unequal) -> str | None:
    """In a few words which of them it is; None: a new one."""
    if all(each.what.startswith("SMEM001 ") for each in found.changes):
        return "the wording of SMEM001"
    if all(each.topic in ("findings", "fixes") for each in found.changes) and _twins(found):
        return "kernels of one text"
    return None


def _twins(found: Unequal) -> bool:
    """Has the document two kernels of one text?"""
    text = next(iter(found.steps[-1].files.values()))
    counted = Counter(" ".join(part.split()) for part in top_parts(text) if _NAMED.search(part))
    return any(count > 1 for count in counted.values())
