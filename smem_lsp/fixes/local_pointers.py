"""The local pointers of a kernel that are set where they are declared, and how to set one to another place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from smem_lsp.fixes.declarations import Refused
from smem_lsp.ir.nodes import Buffer, Kernel
from smem_lsp.source import SourceText, Span, checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function

T = TypeVar("T")

_NAME = regex(r"(?<![\w.])(?<!->)[A-Za-z_]\w*")  # no member
_TYPES = regex(r"\w+_cast\b|sizeof\s*\([^()]*\)|<[^<>]*>|\([^()]*\*\s*\)")


@dataclass(frozen=True, slots=True)
class LocalPointer:
    """A local pointer. ``type``: of it, as written, without qualifiers of the pointer itself; None: ``auto``.
    ``alone``: it is ``__restrict__``, so that nothing else may lead to what is written through it (C, 6.7.3.1)."""

    name: str
    type: str | None
    block: tree.Block  # that it is declared in
    initializer: Span
    cast: str | None  # the type that the initializer is cast to, as written
    alone: bool


def local_pointers(function: Function) -> Iterator[LocalPointer]:
    """The pointers that are set where they are declared."""
    body = function.body
    stack: list[tree.Block] = [body.statements]
    while stack:
        checkpoint()
        block = stack.pop()
        for statement in block.statements:
            if isinstance(statement, tree.Block):
                stack.append(statement)
            if not isinstance(statement, tree.DeclarationStatement):
                continue
            declaration = body.chunk("declaration", statement.chunk)
            if declaration is not None:
                yield from _declared(function, block, statement, declaration)


def _declared(
    function: Function,
    block: tree.Block,
    statement: tree.DeclarationStatement,
    declaration: tree.Declaration,
) -> Iterator[LocalPointer]:
    body, at = function.body, statement.chunk[0]
    last = statement.chunk[1] - (body.tokens.kinds[statement.chunk[1] - 1] == "SEMI")
    ends = [at + each.lo - 1 for each in declaration.declarators[1:]]  # the comma in front of the next one
    words = [word for word in declaration.words if word not in ("constexpr", "static")]
    for declarator, end in zip(declaration.declarators, (*ends, last)):
        checkpoint()
        value = declarator.initializer
        if value is None or declarator.style != "=" or declarator.dims:
            continue
        span = body.span_between(at + declarator.hi + 1, end)  # behind the `=`, parentheses included
        if span is None or not (declarator.pointers or "auto" in declaration.words):
            continue
        stars = [each for each in declarator.pointers if each == "*"]
        kind = None if "auto" in words else " ".join(words) + "".join(stars)
        cast = _spelled(value.type, at, function) if isinstance(value, tree.Cast) else None
        alone = any("restrict" in each for each in declarator.pointers)
        yield LocalPointer(declarator.name, kind, block, span, cast, alone)


def _spelled(type_: tree.TypeId, at: int, function: Function) -> str | None:
    return " ".join(function.body.tokens.texts[at + type_.lo : at + type_.hi]).replace(" *", "*")


def names_in(pointer: LocalPointer, source: SourceText) -> set[str]:
    """The names that it is counted from, types left out."""
    return set(_NAME.findall(_TYPES.sub("", source.slice(pointer.initializer))))


def require_aliases(pointers: Iterable[LocalPointer]) -> None:
    """Raises Refused where one of them may not lead to the bytes of another one."""
    alone = next((each.name for each in pointers if each.alone), None)
    if alone is not None:
        raise Refused(f"`{alone}` is `__restrict__`: no other pointer may lead to its bytes")


def require_unconditional(pointer: LocalPointer, kernel: Kernel) -> None:
    """Raises Refused where it is another one in another configuration."""
    if any(pointer.initializer.start in kernel.places.span(region) for region in kernel.conditional):
        raise Refused(f"`{pointer.name}` is declared in an #if branch")


def carried(
    pointer: LocalPointer,
    pointers: Mapping[str, LocalPointer],
    shifts: Mapping[str, T],
    source: SourceText,
    nothing: T,
    depth: int = 0,
) -> T | None:
    """What a pointer moves by, as it is set, when those that it is counted from move. None: by several of them, in
    different ways. ``nothing``: no shift at all."""
    found: list[T | None] = [nothing] if depth > len(pointers) else []
    for name in sorted(names_in(pointer, source)):
        other = pointers.get(name)
        if other is not None and other is not pointer:
            own = shifts.get(name)
            moved = carried(other, pointers, shifts, source, nothing, depth + 1) if own is None else own
            if moved not in found:
                found.append(moved)
    return found[0] if len(found) == 1 else None if found else nothing


def address(pointer: LocalPointer, base: Buffer, there: Sequence[LocalPointer], count: str | None) -> str:
    """What to set a pointer to: the name of another one that starts there, or the array and a ``count`` of its
    elements, in C; empty: none, None: it cannot be said.

    Raises Refused where neither can be spelled."""
    at = pointer.initializer.start
    target = next((p for p in there if p.block is pointer.block and p.initializer.start < at), None)
    kind = f"{base.written.type}{base.written.pointer}*"
    if target is not None:
        place, kind = target.name, target.type or target.cast or ""
    elif count is None:
        raise Refused(f"where `{pointer.name}` would start is no number of elements of `{base.name}`")
    else:
        place = f"{base.name} + {count}" if count else base.name
    wanted = pointer.type or pointer.cast
    if wanted is None:
        raise Refused(f"the type of `{pointer.name}` is not spelled")
    return place if wanted == kind else f"reinterpret_cast<{wanted}>({place})"
