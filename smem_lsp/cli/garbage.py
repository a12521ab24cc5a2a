"""How often a process that checks files and then ends looks for garbage: seldom, as most of what it makes lives on, and
not among what has been imported, which are 100,000 objects and more. Most checks of one file end before."""

from __future__ import annotations

import gc

_YOUNG = 200_000  # objects made since the last collection; 700 by default, which takes a quarter of the time
_MIDDLE, _OLD = 10, 20  # collections of the younger ones before one of these


def collect_seldom() -> None:
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)


def spare_imported() -> None:
    """What there is by now lives as long as a process that collects seldom: it counts no more, and is not looked at."""
    if gc.get_threshold() == (_YOUNG, _MIDDLE, _OLD):  # else the process is another's
        gc.freeze()
