"""A bounded memory: what was used last stays, what was not used longest goes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Values by key. The weights of all values together stay under ``most``."""

    __slots__ = ("_entries", "most", "weight")

    def __init__(self, most: int) -> None:
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self.most = most
        self.weight = 0

    def find(self, key: K) -> V | None:
        """The value for ``key``, now the one used last."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def keep(self, key: K, value: V, weight: int = 1) -> V:
        """Remember ``value``; a value heavier than everything together may be is only handed back."""
        if weight > self.most:
            return value
        old = self._entries.pop(key, None)
        self.weight += weight - (old[1] if old else 0)
        self._entries[key] = value, weight
        while self.weight > self.most:
            self.weight -= self._entries.popitem(last=False)[1][1]
        return value

    def drop(self, unwanted: Callable[[V], bool]) -> None:
        """Forget the values of which ``unwanted`` says so."""
        gone = [key for key, (value, _) in self._entries.items() if unwanted(value)]
        for key in gone:
            self.weight -= self._entries.pop(key)[1]

    def clear(self) -> None:
        self._entries.clear()
        self.weight = 0

    def __len__(self) -> int:
        return len(self._entries)
