"""Regular expressions that are compiled when they are first used.

Compiling those of all modules is a twelfth of the time in which a small file is checked, which uses a few of them.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As ``re.compile``, later. The functions of ``re`` take no such object: call its own methods."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))


class _Pattern:
    """Has the methods of the compiled one from its first use on."""

    def __init__(self, text: Any, flags: int) -> None:
        self._what = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        compiled = re.compile(*self._what)
        vars(self).update((each, getattr(compiled, each)) for each in _METHODS)
        return getattr(compiled, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pattern) and self._what == other._what

    def __hash__(self) -> int:
        return hash(self._what)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Pattern, self._what


_METHODS = ("finditer", "findall", "fullmatch", "match", "search", "split", "sub", "subn")
