"""Instances of a template that differ in numbers only, as one: the numbers that differ among them are open.

What holds for any number there holds for each of them. Numbers inside the class templates among the arguments count,
too: of ``k<Traits<128, 2, float>>`` and ``k<Traits<128, 4, float>>`` the 128 is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from smem_lsp.semantics.entities import Argument, TypedConstant
from smem_lsp.semantics.scope import Scope, instance
from smem_lsp.semantics.spell_type import spell_argument
from smem_lsp.semantics.types import Record
from smem_lsp.source import checkpoint
from smem_lsp.unit.instances import InstanceArguments

_Numbers = tuple[int | None, ...]
_Group = tuple[object, _Numbers]  # what its instances have in common, None for numbers that are open


def joined(
    bindings: Sequence[InstanceArguments], most: int
) -> list[tuple[InstanceArguments, list[InstanceArguments]]]:
    """All of them in at most ``most`` groups, each with the binding that stands for it; empty where they differ in more
    than numbers. As few numbers as possible are open."""
    shapes: dict[object, list[tuple[InstanceArguments, _Numbers]]] = defaultdict(list)
    for binding in bindings:
        arguments = [argument for _, argument in binding.arguments]
        numbers = tuple(n for each in arguments for n in _numbers(each))
        shapes[tuple(map(_shape, arguments))].append((binding, numbers))
    opened: set[tuple[object, int]] = set()
    while True:
        groups = _grouped(shapes, opened)
        if len(groups) <= most:
            break
        choices = Counter(
            {
                (shape, at): _count(shape, members, opened) - _count(shape, members, {*opened, (shape, at)})
                for shape, members in shapes.items()
                for at in range(len(members[0][1]))
                if (shape, at) not in opened and len({numbers[at] for _, numbers in members}) > 1
            }
        )
        if not choices:
            return []
        opened.add(choices.most_common(1)[0][0])
    return [(_joined(members), [binding for binding, _ in members]) for members in groups.values()]


def _count(
    shape: object, members: list[tuple[InstanceArguments, _Numbers]], opened: set[tuple[object, int]]
) -> int:
    return len(_grouped({shape: members}, opened))


def _grouped(
    shapes: dict[object, list[tuple[InstanceArguments, _Numbers]]], opened: set[tuple[object, int]]
) -> dict[_Group, list[tuple[InstanceArguments, _Numbers]]]:
    groups: dict[_Group, list[tuple[InstanceArguments, _Numbers]]] = defaultdict(list)
    for shape, members in shapes.items():
        checkpoint()
        for binding, numbers in members:
            kept = tuple(None if (shape, at) in opened else n for at, n in enumerate(numbers))
            groups[shape, kept].append((binding, numbers))
    return groups


def _joined(members: Sequence[tuple[InstanceArguments, _Numbers]]) -> InstanceArguments:
    """A number on which all of them agree is known."""
    (first, _), *others = members
    if not others:
        return first
    alike = [numbers[0] if len(set(numbers)) == 1 else None for numbers in zip(*(n for _, n in members))]
    left = iter(alike)
    arguments = tuple((name, _with(argument, left)) for name, argument in first.arguments)
    text = ", ".join(spell_argument(argument) for _, argument in arguments)
    return InstanceArguments(arguments, text, made=first.made)


def _numbers(argument: Argument) -> Iterator[int | None]:
    """The numbers in an argument, in order."""
    if isinstance(argument, TypedConstant):
        if argument.members is None:
            yield argument.n
        for _, part in argument.members or ():
            yield from _numbers(part)
    elif (inner := _inner(argument)) is not None:
        for each in inner[1]:
            yield from _numbers(each)


def _shape(argument: Argument) -> object:
    """An argument without its numbers. An object is told by what it is, not by how it is used."""
    if isinstance(argument, TypedConstant):
        parts = argument.members
        inside = None if parts is None else tuple((name, _shape(each)) for name, each in parts)
        return TypedConstant, argument.type, argument.real, inside
    if isinstance(argument, Record) and (inner := _inner(argument)) is not None:
        return id(argument.decl), inner[0], tuple(map(_shape, inner[1]))
    return argument


def _with(argument: Argument, numbers: Iterator[int | None]) -> Argument:
    """``argument`` with other numbers."""
    if isinstance(argument, TypedConstant):
        return _constant(argument, numbers)
    if isinstance(argument, Record) and (inner := _inner(argument)) is not None:
        return instance(argument.decl, inner[0], tuple(_with(each, numbers) for each in inner[1]))
    return argument


def _constant(of: TypedConstant, numbers: Iterator[int | None]) -> TypedConstant:
    if of.members is None:
        return TypedConstant(of.type, next(numbers), of.real)
    return TypedConstant(
        of.type, members=tuple((name, _constant(each, numbers)) for name, each in of.members)
    )


def _inner(argument: Argument) -> tuple[Scope, tuple[Argument, ...]] | None:
    """The scope of the class template of an instance, and its arguments; None: it is none, or one that has nameless
    parameters or is declared in an instance of another template."""
    if not isinstance(argument, Record) or not argument.decl.parameters:
        return None
    bound, parameters = argument.scope.parent, argument.decl.parameters
    if bound is None or bound.parent is None or not all(each.name for each in parameters):
        return None
    return bound.parent, tuple(bound.bound.get(each.name) for each in parameters)
