"""Words for counts and lists, the same in messages, titles, comments and hovers."""

from __future__ import annotations

from collections.abc import Iterable


def plural(count: int, noun: str) -> str:
    """``1 finding``, ``2 findings``, ``1,024 bytes``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(words: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    items = list(words)
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""
