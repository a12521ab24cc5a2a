"""Records of the IR with some of their parts replaced, wherever these stand: found by the types of the fields.

A class says with its types what its fields are: places of the text (``ir.places``), numbers of the kernel, or values.
So a new field is moved, numbered and asked for as those of its type are, and nothing lists it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from operator import attrgetter, is_
from typing import Annotated, Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass

T = TypeVar("T")

POINT: Final = "point"
VARIABLE: Final = "variable"
KEY: Final = "key"
BUFFER: Final = "buffer"
NAME: Final = "name"
Point = Annotated[int, POINT]
"""The number of a node, or of the end of a loop."""
VariableNumber = Annotated[int, VARIABLE]
"""Into ``Kernel.variables``."""
Key = Annotated[int, KEY]
"""Of an ``Unknown``: unique in the kernel."""
BufferNumber = Annotated[int, BUFFER]
"""Into ``Kernel.buffers``."""
NameNumber = Annotated[int, NAME]
"""Into ``Kernel.names``."""

Mark = str | type[Any]
"""What a part is: its class, or what a number counts."""
Changes = Mapping[Mark, Callable[[Any], Any]]
_Marks = tuple[Mark, ...]
_Shape = str | Callable[[Any, Changes], Any] | None
"""Of a field: a number that counts this, or some of them; None: something whose class tells."""
_Plan = tuple[tuple[tuple[int, str, _Shape], ...], Callable[[object], tuple[Any, ...]]]
"""The fields of a record that hold something which is replaced; and what it is made of, its class first."""


def mapped(value: T, changes: Changes) -> T:
    """``value``, a record of the IR or a container of them, with each part replaced that ``changes`` has something
    for; what is put there is not looked at."""
    marks = tuple(changes)
    return cast("T", _Mapped(changes, marks, _plans(marks)).of(value))


def for_parts(value: object, visits: Mapping[Mark, Callable[[Any], object]]) -> None:
    """Show ``visits`` the same parts."""
    mapped(value, {mark: partial(_shown, visit) for mark, visit in visits.items()})


def _shown(visit: Callable[[T], object], part: T) -> T:
    visit(part)
    return part


@dataclass(slots=True)
class _Mapped:
    changes: Changes
    marks: _Marks
    _plans: dict[type[Any], _Plan | None]

    def of(self, value: Any) -> Any:
        kind = type(value)
        change = self.changes.get(kind)
        if change is not None:
            return change(value)
        if kind is tuple:  # no comprehension: branches in each other are three frames each
            new: list[object] = []
            for each in value:
                new.append(self.of(each))
            return value if all(map(is_, new, value)) else tuple(new)
        if kind is frozenset:
            return frozenset(map(self.of, value))
        if kind not in self._plans:
            self._plans[kind] = _plan(kind, self.marks)
        plan = self._plans[kind]
        if plan is None:
            return value
        if plan is _TABLE:
            return {key: self.of(each) for key, each in value.items()}
        parts: list[Any] | None = None
        for at, name, shape in plan[0]:
            old = getattr(value, name)
            if shape is None:
                now = self.of(old)
            elif old is None:
                continue
            else:
                now = self.changes[shape](old) if isinstance(shape, str) else shape(old, self.changes)
            if now is not old:
                parts = parts or list(plan[1](value))
                parts[at] = now
        return value if parts is None else kind(*parts[1:])


_TABLE: Final[_Plan] = ((), lambda of: ())
"""Of a mapping, whose values are looked at."""


@remembered(most=64)
def _plans(marks: _Marks) -> dict[type[Any], _Plan | None]:
    """Those of each class that has been met, by what is replaced."""
    return {}


def _plan(kind: type[Any], marks: _Marks) -> _Plan | None:
    """None: nothing that is replaced stands in what is of this class."""
    if not is_dataclass(kind):
        return _TABLE if issubclass(kind, Mapping) else None
    every = _typed_fields(kind)
    holding = ((at, name, of) for at, (name, of) in enumerate(every, 1) if not _held(of).isdisjoint(marks))
    parts = tuple((at, name, _shape(of, marks)) for at, name, of in holding)
    return (parts, attrgetter("__class__", *(name for name, _ in every))) if parts else None


def _shape(kind: object, marks: _Marks) -> _Shape:
    """How a field of this type is looked at."""
    origin, args = get_origin(kind), get_args(kind)
    item = _number(args[0], marks) if args and isinstance(origin, type) else None
    if item is not None and origin is tuple and args[1] is ...:
        return lambda old, changes: tuple(map(changes[item], old))
    if item is not None and origin is not None and issubclass(origin, Mapping):
        assert _held(args[1]).isdisjoint(marks), kind
        return lambda old, changes: {changes[item](key): each for key, each in old.items()}
    return _number(kind, marks)


def _number(kind: object, marks: _Marks) -> str | None:
    """What a number counts that is replaced. It may be missing."""
    args = [each for each in get_args(kind) if each is not type(None)]
    if get_origin(kind) is Annotated:
        return args[1] if args[1] in marks else None
    return _number(args[0], marks) if len(args) == 1 and type(None) in get_args(kind) else None


@remembered(most=4096)
def _held(kind: object) -> frozenset[object]:
    """What may stand in something of this type: classes, and what numbers count."""
    found: set[object] = set()
    waiting = [kind]
    while waiting:
        each = waiting.pop()
        if get_origin(each) is Annotated:
            found.add(get_args(each)[1])
        elif each not in found:
            found.add(each)
            waiting += get_args(each)
            if isinstance(each, type) and is_dataclass(each):
                waiting += [of for _, of in _typed_fields(each)]
    return frozenset(found)


@remembered(most=1024)
def _typed_fields(kind: type[Any]) -> Sequence[tuple[str, object]]:
    """What a record is made of, with the types; what stands beside it has none: records are equal whatever that is."""
    of = get_type_hints(kind, include_extras=True)
    made = [each for each in fields(kind) if each.init]
    return [(each.name, of[each.name] if each.compare else None) for each in made]
