"""How often a process that checks files and then ends looks for garbage: seldom, as most of what it makes lives on. A
check of one small file, which makes 130,000 objects, ends before."""

from __future__ import annotations

import gc

_YOUNG = 200_000  # objects made since the last collection; 700 by default, which takes a quarter of the time
_MIDDLE, _OLD = 10, 20  # collections of the younger ones before one of these


def collect_seldom() -> None:
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
