"""Records of the IR with some of their parts replaced, wherever these stand: found by the types of the fields.

A class says with its types what its fields are: places of the text (``ir.places``), numbers of the kernel, or values.
So a new field is moved, numbered and asked for as those of its type are, and nothing lists it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields, is_dataclass
from functools import partial
from operator import attrgetter, is_
from typing import Annotated, Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

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
    return cast("T", _Mapped(changes, tuple(changes)).of(value))


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
    _plans: dict[type[Any], _Plan | None] = field(default_factory=dict)

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
            return (
                {key: self.of(each) for key, each in value.items()} if isinstance(value, Mapping) else value
            )
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


_PLANS: Final = "__plans__"  # of a record, noted at its class, by what is replaced
_FIELDS: Final = "__types_of_fields__"


def _plan(kind: type[Any], marks: _Marks) -> _Plan | None:
    """None: nothing that is replaced stands in what is of this class."""
    if not is_dataclass(kind):
        return None
    known: dict[_Marks, _Plan | None] = _noted(kind, _PLANS, dict)
    if marks not in known:
        every = _typed_fields(kind)
        holding = ((at, name, of) for at, (name, of) in enumerate(every, 1) if _holds(of, marks, {kind}))
        parts = tuple((at, name, _shape(of, marks)) for at, name, of in holding)
        known[marks] = (parts, attrgetter("__class__", *(name for name, _ in every))) if parts else None
    return known[marks]


def _shape(kind: object, marks: _Marks) -> _Shape:
    """How a field of this type is looked at."""
    origin, args = get_origin(kind), get_args(kind)
    item = _number(args[0], marks) if args and isinstance(origin, type) else None
    if item is not None and origin is tuple and args[1] is ...:
        return lambda old, changes: tuple(map(changes[item], old))
    if item is not None and origin is not None and issubclass(origin, Mapping):
        assert not _holds(args[1], marks, set()), kind
        return lambda old, changes: {changes[item](key): each for key, each in old.items()}
    return _number(kind, marks)


def _number(kind: object, marks: _Marks) -> str | None:
    """What a number counts that is replaced. It may be missing."""
    args = [each for each in get_args(kind) if each is not type(None)]
    if get_origin(kind) is Annotated:
        return args[1] if args[1] in marks else None
    return _number(args[0], marks) if len(args) == 1 and type(None) in get_args(kind) else None


def _holds(kind: object, marks: _Marks, seen: set[object]) -> bool:
    """May something of this type hold what is replaced? ``seen``: records that have been looked at."""
    if get_origin(kind) is Annotated:
        return _number(kind, marks) is not None
    if kind in marks or any(_holds(each, marks, seen) for each in get_args(kind)):
        return True
    if not isinstance(kind, type) or not is_dataclass(kind) or kind in seen:
        return False
    seen.add(kind)
    return any(_holds(of, marks, seen) for _, of in _typed_fields(kind))


def _typed_fields(kind: type[Any]) -> tuple[tuple[str, object], ...]:
    """What a record is made of, with the types; what stands beside it has none: records are equal whatever that is."""

    def find() -> tuple[tuple[str, object], ...]:
        kinds = get_type_hints(kind, include_extras=True)
        return tuple(
            (each.name, kinds[each.name] if each.compare else None) for each in fields(kind) if each.init
        )

    found: tuple[tuple[str, object], ...] = _noted(kind, _FIELDS, find)
    return found


def _noted(kind: type[Any], name: str, find: Callable[[], Any]) -> Any:
    if name not in vars(kind):
        setattr(kind, name, find())
    return vars(kind)[name]
