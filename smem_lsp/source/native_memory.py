"""What the C library does with memory that is freed.

By itself it gives much of it back to the system at once and asks for it again: each context of the solver begins with a
table of 12 megabytes, which the system then fills with zeros page by page, 4 of the 7 ms that a context takes.
"""

from __future__ import annotations

from typing import Any

from smem_lsp.source.queries import PROCESS, remembered

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)
_LEFT = 32 << 20  # bytes that may stay free at the end of the heap: two contexts
_APART = 32 << 20  # bytes of a block that is given back by itself: the most that glibc takes


@remembered(most=1)
def keep_freed() -> bool:
    """Keep what is freed for what comes next, from now on. False: the C library is not glibc."""
    library = _glibc()
    if library is None:
        return False
    return bool(library.mallopt(_MMAP_THRESHOLD, _APART) and library.mallopt(_TRIM_THRESHOLD, _LEFT))


def rest() -> None:
    """This thread has nothing to do for a while: let go of what it can spare, and give it back."""
    PROCESS.rest()
    give_back()


def give_back() -> None:
    """Give what is free to the system."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


@remembered(most=1)
def _glibc() -> Any:
    try:
        import ctypes

        library = ctypes.CDLL(None)
    except (ImportError, OSError, TypeError):  # a browser's Python; Windows
        return None
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
