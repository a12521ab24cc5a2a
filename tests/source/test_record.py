"""Dataclasses whose methods are made when they are first called are those of the standard library."""

from __future__ import annotations

import ast
import copy
import dataclasses
import pickle
from dataclasses import field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from smem_lsp.source.record import dataclass, record

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, order=True)
class Point:
    x: int
    y: int = 0
    seen: list[int] = field(default_factory=list, compare=False)
    kept: int | None = field(default=None, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Named(Point):
    name: str = "p"

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", len(self.name))


@dataclass
class Open:
    values: list[int] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Alone:
    value: int


@record
class Own:
    value: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


@dataclass(kw_only=True)
class Settings:
    kind: ClassVar[str] = "none"
    places: dict[str, int] = field(default_factory=dict)
    width: int


def test_fields_by_name_and_those_of_the_class() -> None:
    settings = Settings(width=3)
    assert (settings.width, settings.places, Settings.kind) == (3, {}, "none")
    assert repr(settings) == "Settings(places={}, width=3)"
    with pytest.raises(TypeError):
        Settings({}, 3)  # type: ignore[misc]
    assert dataclasses.asdict(replace(settings, width=4)) == {"places": {}, "width": 4}
    assert dataclasses.is_dataclass(Settings) and not dataclasses.is_dataclass(ClassVar)
    default, empty = dataclasses.fields(Point)[1:3]
    assert (default.default, empty.default_factory, empty.compare) == (0, list, False)


def test_fields_defaults_and_words() -> None:
    point = Point(1)
    assert (point.x, point.y, point.seen, point.kept) == (1, 0, [], None)
    assert point.seen is not Point(1).seen
    assert repr(point) == "Point(x=1, y=0, seen=[])"
    assert not hasattr(point, "__dict__")
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        Point(1, z=2)  # type: ignore[call-arg]


def test_compared_and_hashed_by_their_fields() -> None:
    assert Point(1, 2, [3]) == Point(1, 2)
    assert hash(Point(1, 2, [3])) == hash(Point(1, 2))
    assert Point(1, 2) < Point(1, 3) < Point(2) <= Point(2)
    assert Point(1) != Named(1)  # type: ignore[comparison-overlap]
    assert Open([1]) == Open([1])
    assert Alone(1) != Alone(1)
    assert len({Alone(1), Alone(1)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(Open())


def test_what_the_class_says_itself_stays() -> None:
    assert Own(1) == Own(2)
    assert (hash(Own(1)), repr(Own(1))) == (7, "own")


def test_inherited_fields_come_first() -> None:
    named = Named(1, 2, name="abc")
    assert (named.x, named.y, named.name, named.kept) == (1, 2, "abc", 3)
    match named:
        case Named(x, y, _, name):
            assert (x, y, name) == (1, 2, "abc")
    assert [each.name for each in dataclasses.fields(named)] == ["x", "y", "seen", "kept", "name"]
    assert replace(named, y=5) == Named(1, 5, name="abc")


def _fresh() -> type[Any]:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        value: int

    return Fresh


def test_whatever_is_called_first() -> None:
    """What is unpickled was never initialised here."""
    for first in (repr, hash, lambda each: each == each):
        fresh = _fresh()
        made = object.__new__(fresh)
        object.__setattr__(made, "value", 4)
        first(made)
        assert made == fresh(4)
        assert hash(made) == hash(fresh(4))
        assert repr(made).endswith("Fresh(value=4)")


def test_pickled_and_copied() -> None:
    for each in (Point(1, 2, [3]), Named(1), Open([1])):
        assert pickle.loads(pickle.dumps(each)) == each
        assert copy.deepcopy(each) == each


@record(deep=True)
class Deep:
    parts: tuple[Deep, ...]
    name: str = ""


def test_one_that_is_deep_is_hashed_once_in_a_process() -> None:
    asked: list[str] = []

    class Word(str):
        __slots__ = ()

        def __hash__(self) -> int:
            asked.append(self)
            return super().__hash__()

    deep = Deep((Deep((), Word("a")),), Word("b"))
    assert hash(deep) == hash(deep) == hash(Deep((Deep((), "a"),), "b"))
    assert asked == ["b", "a"] or asked == ["a", "b"]
    assert repr(Deep((), "a")) == "Deep(parts=(), name='a')"
    assert not hasattr(deep, "__dict__")
    assert replace(deep, name="c") == Deep(deep.parts, "c")
    assert hash(replace(deep, name="c")) == hash(Deep(deep.parts, "c")) != hash(deep)
    before = pickle.dumps(Deep((), "a"))
    hashed = Deep((), "a")
    hash(hashed)
    assert pickle.dumps(hashed) == before, "in another process the hash is another one"
    assert pickle.loads(before) == copy.deepcopy(hashed) == hashed


# What callers of the package hold, and what is one for the whole process, cannot be changed at run time either.
STANDARD = ("source/record.py", "analysis/occupancy.py", "config/settings.py", "targets/capabilities.py")


def test_every_other_class_is_declared_so() -> None:
    """One that is not takes a millisecond of each start."""
    for path in (ROOT / "smem_lsp").rglob("*.py"):
        if path.as_posix().endswith(STANDARD):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
                assert "dataclass" not in [name.name for name in node.names], (
                    f"{path}: from smem_lsp.source.record import dataclass"
                )
