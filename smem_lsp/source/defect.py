"""Describes a defect of ours in words that fit into a report."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType

_PACKAGE = Path(__file__).parents[1]


def described(error: Exception) -> str:
    """One line with the error, where it was raised, its message, and the Python version."""
    words = " ".join(str(error).split())
    said = f": {words}" if words else ""
    return f"{type(error).__name__} at {_place(error.__traceback__)}{said} (Python {sys.version.split()[0]})"


def _place(frames: TracebackType | None) -> str:
    """File and line where it happened; if that is no file of ours, also the last one of ours."""
    last = ours = ""
    while frames is not None:
        path = Path(frames.tb_frame.f_code.co_filename)
        if path.is_relative_to(_PACKAGE):
            last = ours = f"{path.relative_to(_PACKAGE.parent).as_posix()}:{frames.tb_lineno}"
        else:
            last = f"{path.name}:{frames.tb_lineno}"
        frames = frames.tb_next
    return last if last == ours or not ours else f"{last}, called at {ours}"
