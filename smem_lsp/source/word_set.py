"""A set of words in few bytes (a Bloom filter): it may hold a word that was never added, and lacks none that was."""

from __future__ import annotations

from collections.abc import Collection
from zlib import crc32

EVERY_WORD = b"\xff"
_BITS = 10  # for each word; with four probes one of 80 absent words seems to be there
_PROBES = 4
_MOST_BYTES = 1_024


def word_set(words: Collection[str]) -> bytes:
    """The set of these words."""
    size = min(_MOST_BYTES, (_BITS * len(words) + 7) // 8)
    found = bytearray(size)
    bits = 8 * size
    for word in words:
        at = crc32(word.encode("utf-8", "replace"))
        step = (at >> 16) | 1
        for _ in range(_PROBES):
            at %= bits
            found[at >> 3] |= 1 << (at & 7)
            at += step
    return bytes(found)


def may_hold(words: bytes, word: str) -> bool:
    """Is the word in the set, as far as one sees?"""
    bits = 8 * len(words)
    at = crc32(word.encode("utf-8", "replace"))
    step = (at >> 16) | 1
    for _ in range(_PROBES if bits else 0):
        at %= bits
        if not words[at >> 3] >> (at & 7) & 1:
            return False
        at += step
    return bits > 0
