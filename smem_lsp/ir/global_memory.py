"""What a kernel does to memory outside of shared memory, as far as loads from it are concerned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from smem_lsp.ir.values import Value
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree

_RESTRICT = frozenset(("__restrict__", "__restrict", "restrict"))


@dataclass(frozen=True, slots=True)
class GlobalMemory:
    """``pointers``: parameters that are pointers; ``constant``: to what is const and not volatile; ``restricted``: to
    what nothing else leads to; ``written``: addresses that the kernel may write to, accesses atomically, or hands to
    someone who might."""

    pointers: frozenset[str] = frozenset()
    constant: frozenset[str] = frozenset()
    volatile: frozenset[str] = frozenset()
    restricted: frozenset[str] = frozenset()
    written: tuple[Value, ...] = ()


def parameter_pointers(parameters: Sequence[tree.Declaration]) -> GlobalMemory:
    """What the parameters alone tell."""
    pointers: set[str] = set()
    constant: set[str] = set()
    volatile: set[str] = set()
    restricted: set[str] = set()
    for declaration in parameters:
        checkpoint()
        for declarator in declaration.declarators:
            stars = [pointer for pointer in declarator.pointers if pointer in ("*", "&", "&&")]
            if not stars and not declarator.dims:
                continue
            pointers.add(declarator.name)
            if _RESTRICT & set(declarator.pointers):
                restricted.add(declarator.name)
            if "volatile" in declaration.words:
                volatile.add(declarator.name)
            elif "const" in declaration.words and stars == ["*"]:
                constant.add(declarator.name)
    return GlobalMemory(frozenset(pointers), frozenset(constant), frozenset(volatile), frozenset(restricted))
