"""Path patterns of ``exclude`` and ``per-file-ignores``."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path


def matches(pattern: str, path: str, root: Path) -> bool:
    """True when ``pattern`` names ``path`` or a folder above it.

    A pattern without ``/`` is compared with every component (``build``, ``*_test.cu``), one with ``/`` with
    the path from ``root`` on (``vendor/**``, ``src/*.cu``). ``**`` crosses folders, ``*`` and ``?`` do not.
    """
    relative = _relative(path, root)
    parts = relative.split("/")
    wanted = _compiled(pattern.rstrip("/").removeprefix("./"))
    if "/" not in pattern.rstrip("/"):
        return any(wanted.fullmatch(part) for part in parts)
    return any(wanted.fullmatch("/".join(parts[:count])) for count in range(1, len(parts) + 1))


def _relative(path: str, root: Path) -> str:
    absolute = Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would follow links away from root)
    try:
        return absolute.relative_to(root).as_posix()
    except ValueError:
        return absolute.as_posix().lstrip("/")


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    out: list[str] = []
    position = 0
    while position < len(pattern):
        if pattern.startswith("**/", position):
            out.append("(?:.*/)?")
            position += 3
        elif pattern.startswith("**", position):
            out.append(".*")
            position += 2
        elif pattern[position] in "*?":
            out.append("[^/]*" if pattern[position] == "*" else "[^/]")
            position += 1
        elif (group := re.match(r"\[(!?)([^\]/]+)\]", pattern[position:])) is not None:
            members = group[2].replace("\\", r"\\").replace("^", r"\^")
            out.append(f"[{'^' if group[1] else ''}{members}]")
            position += group.end()
        else:
            out.append(re.escape(pattern[position]))
            position += 1
    try:
        return re.compile("".join(out), re.S)
    except re.error:  # a reversed range such as [z-a]: the pattern then stands for itself
        return re.compile(re.escape(pattern))
