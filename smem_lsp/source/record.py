"""Dataclasses that cost little: to declare, and to create.

The standard ones compile six functions for each class when it is declared, which was half of the time that a check of a
small file took to start, and a frozen one sets each of its fields by a call. These are declared bare, and are frozen
for the type checker only; each of their methods, and what the standard library wants to know of their fields, is made
when it is first asked for.
"""

from __future__ import annotations

import dataclasses
import types
from typing import TYPE_CHECKING, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
    from typing import overload

    from typing_extensions import dataclass_transform

    @overload
    def record(cls: type[T]) -> type[T]: ...

    @overload
    def record(*, order: bool = False, deep: bool = False) -> Callable[[type[T]], type[T]]: ...

    @dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
    def record(cls: type[T] | None = None, *, order: bool = False, deep: bool = False) -> object:
        """A frozen dataclass with slots, compared and hashed by its fields. ``deep``: it is made of others of its kind
        and is a key: each remembers its hash."""

else:
    _SPECS = "__record_fields__"  # of a class: its fields by name, those of its bases first
    _FIELDS = "__dataclass_fields__"  # the same as the standard library has it
    _HASH = "_hash"  # of an object of a class that remembers it
    _MISSING = dataclasses.MISSING
    _FIELD = "field_"  # and its number: a name that no text has otherwise
    _NONE = object()
    _compiled = {}  # by text
    _OF_ORDER = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}

    class _Spec:
        """One field."""

        __slots__ = ("compare", "default", "factory", "hash", "init", "kind", "kw_only", "name", "repr")

        def __init__(self, name, kind, default, kw_only):
            self.name, self.kind, self.kw_only = name, kind, kw_only
            self.default, self.factory = default, _MISSING
            self.init = self.repr = self.compare = True
            self.hash = None
            if isinstance(default, dataclasses.Field):
                self.default, self.factory = default.default, default.default_factory
                self.init, self.repr = default.init, default.repr
                self.hash, self.compare = default.hash, default.compare

    class _Fields:
        """What the standard library asks a class for, made then."""

        __slots__ = ("_cls",)

        def __init__(self, cls):
            self._cls = cls

        def __get__(self, instance, owner=None):
            fields = []
            for each in vars(self._cls)[_SPECS].values():
                given = dataclasses.field(
                    default=each.default,
                    default_factory=each.factory,
                    init=each.init,
                    repr=each.repr,
                    hash=each.hash,
                    compare=each.compare,
                    kw_only=each.kw_only,
                )
                fields.append((each.name, each.kind, given))
            bare = {"init": False, "repr": False, "eq": False, "match_args": False}
            bare["namespace"] = {"__doc__": self._cls.__name__}  # else one is made of its signature
            found = vars(dataclasses.make_dataclass(self._cls.__name__, fields, **bare))[_FIELDS]
            setattr(self._cls, _FIELDS, found)
            return found

    def dataclass(
        cls=None, /, *, repr=True, eq=True, order=False, frozen=False, slots=False, kw_only=False, deep=False
    ):
        """As ``dataclasses.dataclass``, with each method made when it is first called."""
        hashed = eq and frozen
        names = ["__init__", *["__repr__"][:repr], *["__eq__"][:eq], *["__hash__"][:hashed]]
        if order:
            names += _OF_ORDER

        def declared(cls):
            if cls.__doc__ is None:
                cls.__doc__ = cls.__name__
            specs = _specs(cls, kw_only)
            if slots:
                cls = _with_slots(cls, specs, (_HASH,) if deep else ())
            setattr(cls, _SPECS, specs)
            setattr(cls, _FIELDS, _Fields(cls))
            own = vars(cls)
            if "__match_args__" not in own:
                cls.__match_args__ = tuple(
                    each.name for each in specs.values() if each.init and not each.kw_only
                )
            written = "__eq__" in own
            for name in names:
                # A class that has __eq__ and no __hash__ is given None for it by Python.
                if name not in own or (name == "__hash__" and own[name] is None and written):
                    setattr(cls, name, _first(cls, name))
            if eq and not frozen and "__hash__" not in own:
                cls.__hash__ = None
            return cls

        return declared if cls is None else declared(cls)

    def _specs(cls, kw_only):
        """The fields of a class. Those that are given a value by ``field`` lose it, as class attributes."""
        found = {}
        for base in cls.__mro__[-1:0:-1]:
            found.update(vars(base).get(_SPECS, ()))
        for name, kind in cls.__annotations__.items():
            if str(kind).startswith(("ClassVar", "typing.ClassVar")):
                continue
            default = getattr(cls, name, _MISSING)
            if isinstance(default, types.MemberDescriptorType):  # a slot of a base
                default = _MISSING
            spec = found[name] = _Spec(name, kind, default, kw_only)
            if default is not spec.default:
                if spec.default is _MISSING:
                    delattr(cls, name)
                else:
                    setattr(cls, name, spec.default)
        return found

    def _with_slots(cls, specs, more):
        """The class anew: whether it has slots is decided when it is made."""
        inherited = set()
        for base in cls.__mro__[1:-1]:
            inherited.update(vars(base).get("__slots__", ()))
        namespace = dict(vars(cls))
        for name in (*specs, "__dict__", "__weakref__"):
            namespace.pop(name, None)
        namespace["__slots__"] = tuple(name for name in (*specs, *more) if name not in inherited)
        if more:
            namespace |= _without_hash(tuple(specs))
        made = type(cls)(cls.__name__, cls.__bases__, namespace)
        made.__qualname__ = cls.__qualname__
        return made

    def _without_hash(names):
        """How an object is pickled and copied: in each process a text has another hash."""

        def state(self):
            return [getattr(self, name) for name in names]

        def restored(self, values):
            for name, value in zip(names, values):
                setattr(self, name, value)

        return {"__getstate__": state, "__setstate__": restored}

    def _first(cls, name):
        """A method that puts the real one into its place when it is called."""

        def method(self, *args, **kwargs):
            if vars(cls)[name] is method:
                setattr(cls, name, _made(cls, name))
            return getattr(cls, name)(self, *args, **kwargs)

        return method

    def _made(cls, name):
        """A method, as the standard library writes it."""
        specs = vars(cls)[_SPECS].values()
        if name == "__init__":
            made = _initial(specs, hasattr(cls, "__post_init__"))
        elif name == "__repr__":
            made = _repr([each.name for each in specs if each.repr])
        elif name == "__hash__":
            kept = [each.name for each in specs if (each.compare if each.hash is None else each.hash)]
            body = [f"found = hash({_tuple('self', kept)})", "return found"]
            if _HASH in vars(cls):
                body = ["try:", f" return self.{_HASH}", "except AttributeError:", " pass", *body]
                body.insert(-1, f"self.{_HASH} = found")
            made = _function("self", body, kept, {})
        else:
            kept = [each.name for each in specs if each.compare]
            body = ["if self is other:", " return True"] if name == "__eq__" else []
            body += [
                "if other.__class__ is self.__class__:",
                f" return {_tuple('self', kept)} {_OF_ORDER.get(name, '==')} {_tuple('other', kept)}",
                "return NotImplemented",
            ]
            made = _function("self, other", body, kept, {})
        made.__name__ = name
        made.__qualname__ = f"{cls.__qualname__}.{name}"
        return made

    def _initial(specs, more):
        """``more``: what is to be done then has a method of its own."""
        given, named, body, known = ["self"], [], [], {"_NONE": _NONE}
        defaults, of_named = [], {}
        for number, each in enumerate(specs):
            value = here = f"{_FIELD}{number}"
            default = each.default
            if each.factory is not _MISSING:
                known[f"_make{number}"] = each.factory
                default = _NONE
                value = f"_make{number}() if {here} is _NONE else {here}" if each.init else f"_make{number}()"
            elif default is not _MISSING and not each.init:
                known[f"_of{number}"] = default
                value = f"_of{number}"
            if each.init:
                (named if each.kw_only else given).append(here)
                if default is not _MISSING and each.kw_only:
                    of_named[each.name] = default
                elif default is not _MISSING:
                    defaults.append(default)
                elif defaults and not each.kw_only:
                    raise TypeError(f"{each.name} has no default, and follows a field that has one")
            elif default is _MISSING:
                continue  # whoever uses it sets it
            body.append(f"self.{here} = {value}")
        if more:
            body.append("self.__post_init__()")
        head = ", ".join([*given, *["*"][: len(named)], *named])
        made = _function(head, body, [each.name for each in specs], known)
        made.__defaults__, made.__kwdefaults__ = tuple(defaults) or None, of_named or None
        return made

    def _function(head, body, names, known):
        """A function of a text in which the fields have numbers. Compiling takes 0.1 ms, and most classes have as many
        fields as another. ``known``: what else it names."""
        text = "\n ".join([f"def made({head}):", *body, "pass"])
        code = _compiled.get(text)
        if code is None:
            whole = compile(text, "<record>", "exec").co_consts
            code = _compiled[text] = next(each for each in whole if isinstance(each, types.CodeType))
        spelt = {f"{_FIELD}{number}": name for number, name in enumerate(names)}
        named = (
            tuple(spelt.get(each, each) for each in group) for group in (code.co_names, code.co_varnames)
        )
        code = code.replace(**dict(zip(("co_names", "co_varnames"), named)))
        return types.FunctionType(code, known)

    def _tuple(whose, names):
        return f"({''.join(f'{whose}.{_FIELD}{number}, ' for number in range(len(names)))})"

    def _repr(names):
        def made(self):
            shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{self.__class__.__qualname__}({shown})"

        return made

    def record(cls=None, *, order=False, deep=False):
        return dataclass(cls, frozen=True, slots=True, order=order, deep=deep)
