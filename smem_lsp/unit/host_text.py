"""What host code is, so that nothing of it is looked at again in a version of a file in which it is the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import PROCESS, Query, Store, question
from smem_lsp.syntax.blocks import Definition, SourceBlock
from smem_lsp.syntax.host_functions import kernel_getters, launch_calls
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.syntax.questions import of_block
from smem_lsp.unit.explicit_instantiations import spelled


class HostText:
    """The identity of the host code of a unit: one object for all versions of its files that differ in nothing but what
    kernels do that launch nothing, and in where blocks stand. ``store``: what follows from it, with functions by their
    numbers, and no other places than those in a block or function."""

    __slots__ = ("__weakref__", "store")

    def __init__(self) -> None:
        self.store = Store()


class Face:
    """The identity of what host code sees of the functions of a block: equal ones are one object."""

    __slots__ = ()


_HOST = Query[tuple[object, ...], HostText]("host code of a unit", each=2_000, in_use=True)
_BY_FACES = Query[tuple[object, ...], HostText]("host code of a unit, by the faces of its blocks", each=2_000)
_FACES = Query[tuple[object, ...], Face]("the one object for equal faces", each=200)


def forget_host_code() -> None:
    """Drop what is known of the host code of all files."""
    for query in (_HOST, _BY_FACES):
        query.forget(PROCESS)


def host_text(unit: TranslationUnit, constants: Scope, wanted: frozenset[str]) -> HostText:
    """The host code of a unit. The mark of the declarations tells what its headers and the file itself declare; see
    ``file_constants``."""
    state = constants.state
    around = (
        constants.declarations.mark,
        state.packed,
        state.warp_size,
        wanted,
        unit.source.path,
        unit.main,
        unit.others,
        tuple(tuple(tokens.texts[lo:hi]) for tokens, lo, hi in spelled(unit)),
    )
    faces = tuple([(_face(placed.block, wanted), placed.scopes) for placed in unit.blocks])

    def find() -> HostText:
        key = (*around, tuple(_concerned(unit, wanted)))
        return _HOST.of(PROCESS, key, HostText, weigh=lambda _: 1 + len(unit.all_functions))

    return _BY_FACES.of(PROCESS, (*around, faces), find)


def _concerned(unit: TranslationUnit, wanted: frozenset[str]) -> Iterator[object]:
    """What the host code of a unit is, block by block. Of a function that no launch can have to do with, as far as
    names tell, no more than that it is there."""
    numbers = _related(unit.all_functions, wanted)
    first = 0
    for placed in unit.blocks:
        checkpoint()
        block, count = placed.block, len(placed.block.functions)
        if block.launches:
            yield block.mark, placed.scopes
        elif numbers.isdisjoint(range(first, first + count)) and not block.kernels:
            yield count
        else:
            seen = _seen(block, wanted)
            yield (
                *[
                    each if at in numbers or block.functions[at - first].definition.is_kernel else None
                    for at, each in enumerate(seen, first)
                ],
                placed.scopes,
            )
        first += count


def _related(functions: Sequence[Function], wanted: frozenset[str]) -> set[int]:
    """The functions that launch, that name a kernel, that name one of these, or that one of all of these names: but for
    kernels, which host code does not enter."""
    telling = wanted | kernel_getters()
    more = [f for f in functions if launches_in(f) or not telling.isdisjoint(f.definition.body_words)]
    found = {f.number: f for f in more}
    others = [f for f in functions if f.number not in found and not f.is_kernel]
    names: set[str] = set()
    while more:
        checkpoint()
        names.update(f.name for f in more)
        more = [f for f in others if f.name in names or not names.isdisjoint(f.definition.body_words)]
        others = _without(others, more, found)
    more = [*found.values()]
    words: set[str] = set()
    while more:
        checkpoint()
        words.update(*(f.definition.words for f in more))
        more = [f for f in others if f.name in words]
        others = _without(others, more, found)
    return set(found)


def _without(
    others: Sequence[Function], more: Sequence[Function], found: dict[int, Function]
) -> list[Function]:
    found |= {f.number: f for f in more}
    return [f for f in others if f.number not in found]


@question(of_block, most=2)
def _face(block: SourceBlock, wanted: frozenset[str]) -> object:
    """What host code sees of a block, by the kernels it may launch."""
    return block.mark if block.launches else _FACES.of(PROCESS, tuple(_seen(block, wanted)), Face)


def _seen(block: SourceBlock, wanted: frozenset[str]) -> Iterator[tuple[object, ...]]:
    """What host code sees of each function. Of a kernel that launches nothing and names no kernel, no more than its
    head. Of other functions also where they stand in the block: their launches are placed there."""
    telling = wanted | kernel_getters()
    for each in block.functions:
        checkpoint()
        definition, head = each.definition, each.definition.head
        names = not telling.isdisjoint(definition.body_words)
        if definition.is_kernel and not names and not _says_launch(definition):
            island = definition.island
            yield each.left, *head.kinds, *head.texts, replace(island, body=(0, 0), end=0)
        else:
            yield each.left, definition.mark, each.offset


def launches_in(function: Function) -> bool:
    """Does it launch anything?"""
    return _says_launch(function.definition)


def _says_launch(definition: Definition) -> bool:
    words = definition.words
    return "<<<" in words or not launch_calls().isdisjoint(words)
