"""The template arguments that an explicit specialization ``template <> void f<1>(...)`` spells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.semantics import type_of
from smem_lsp.semantics.declarations import FunctionDecl, Source, angle_close, specialised_name, split
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Type
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.parse import Function

Range = tuple[int, int]  # token indices of the head of a function


def is_specialization(function: Function) -> bool:
    """``template <> __global__ void k<float>(float*)``: it stands in for an instance and is no overload."""
    return function.definition.head.texts[:3] == ["template", "<", ">"]


def spelled_arguments(function: Function) -> Sequence[Range]:
    """Where the head of a specialization spells its arguments."""
    head, island = function.definition.head, function.definition.island
    at = island.name - island.head + 1
    if head.kinds[at : at + 1] != ["LT"]:
        return ()
    return _SPELLED.of(function.definition.store, at, lambda: tuple(_spelled(_source(function), at)))


def class_arguments(function: Function) -> Sequence[Range]:
    """Where the head of ``template <> int Tile<char>::load(int)`` spells the arguments of the class."""
    head, island = function.definition.head, function.definition.island
    end = (
        head.kinds.index("OPERATOR") if "OPERATOR" in head.kinds[: island.name] else island.name - island.head
    )
    if head.kinds[end - 1 : end] != ["SCOPE"]:
        return ()
    source = _source(function)
    for at in range(end - 2, -1, -1):
        checkpoint()
        if head.kinds[at] == "LT" and angle_close(source, at, end) == end - 2:
            return tuple(_spelled(source, at))
    return ()


_SPELLED = Query[int, Sequence[Range]]("where a specialization spells its arguments")


def _spelled(source: Source, at: int) -> Iterator[Range]:
    close = angle_close(source, at, len(source.kinds))
    if close is not None:
        yield from split(source, at + 1, close, angles=True)


def spelled_argument(function: Function, where: Range, constants: Scope) -> Type | TypedConstant | None:
    """What an argument is; None if it is not known."""
    return spelled_in(_source(function), where, constants)


def declared_arguments(decl: FunctionDecl, scope: Scope) -> list[Type | TypedConstant | None]:
    """The same of a specialisation that is declared without a body; None: one that is not known."""
    lo, lp = decl.head
    name = specialised_name(decl.source, lo, lp)
    found = split(decl.source, name + 2, lp - 1, angles=True) if name < lp - 1 else ()
    return [spelled_in(decl.source, each, scope) for each in found]


def spelled_in(source: Source, where: Range, constants: Scope) -> Type | TypedConstant | None:
    """The template argument that tokens spell; None if it is not known."""
    parsed = source.parse("expression", *where)
    if parsed is not None:
        value = evaluate_value(parsed, constants)
        if value.n is not None:
            return value
    return type_of.spelled_type(source, *where, constants)


def _source(function: Function) -> Source:
    head = function.definition.head
    return Source(head.kinds, head.texts, match_brackets(head.kinds), function.symbols)
