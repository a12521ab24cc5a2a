"""What an author states of a kernel that its text does not show."""

from __future__ import annotations

from smem_lsp.source import record


@record
class Annotations:
    """``dims``: (axis, threads) of the block; ``uniform``: expressions, macros replaced and without white space, that
    are the same for all threads of a block; ``dynamic``: the expression of the dynamic bytes of a launch, and its value
    where it has one; ``asserted``, ``asserted_most``: threads by axis, exactly or at most, that the kernel itself
    checks or assumes."""

    dims: tuple[tuple[str, int], ...] = ()
    uniform: frozenset[str] = frozenset()
    dynamic: tuple[str, int | None] | None = None
    asserted: tuple[tuple[str, int], ...] = ()
    asserted_most: tuple[tuple[str, int], ...] = ()


NOTHING_STATED = Annotations()
