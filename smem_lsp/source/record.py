"""Dataclasses that cost little: to declare, and to create.

The standard ones compile six functions for each class when it is declared, which was half of the time that a check of a
small file took to start, and a frozen one sets each of its fields by a call. These are declared bare; the standard
library makes each of their methods when it is first called, and they are frozen for the type checker only.
"""

from __future__ import annotations

import dataclasses
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
    def record(*, order: bool) -> Callable[[type[T]], type[T]]: ...

    @dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
    def record(cls: type[T] | None = None, *, order: bool = False) -> object:
        """A frozen dataclass with slots, compared and hashed by its fields."""

else:
    _OF_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
    # What the standard library is asked for to make each method.
    _ASKED = {
        "__init__": {"init": True},
        "__repr__": {"repr": True},
        "__eq__": {"eq": True},
        "__hash__": {"eq": True, "unsafe_hash": True},
        **{name: {"eq": True, "order": True} for name in _OF_ORDER},
    }
    _NOTHING = {"init": False, "repr": False, "eq": False, "match_args": False}

    def dataclass(cls=None, /, *, repr=True, eq=True, order=False, frozen=False, slots=False, kw_only=False):
        """As ``dataclasses.dataclass``, with each method made when it is first called."""
        hashed = eq and frozen
        names = ["__init__", *["__repr__"][:repr], *["__eq__"][:eq], *["__hash__"][:hashed]]
        if order:
            names += _OF_ORDER

        def declared(cls):
            if cls.__doc__ is None:
                cls.__doc__ = cls.__name__  # else the signature is worked out for it
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
            own = vars(made)
            written = "__eq__" in own
            for name in names:
                # A class that has __eq__ and no __hash__ is given None for it by Python.
                if name not in own or (name == "__hash__" and own[name] is None and written):
                    setattr(made, name, _first(made, name))
            if eq and not frozen and "__hash__" not in own:
                made.__hash__ = None
            return made

        return declared if cls is None else declared(cls)

    def _first(cls, name):
        """A method that puts the one of the standard library into its place when it is called."""

        def method(self, *args, **kwargs):
            if vars(cls)[name] is method:
                setattr(cls, name, _made(cls, name))
            return getattr(cls, name)(self, *args, **kwargs)

        return method

    def _made(cls, name):
        """The method that the standard library makes for a class with the fields of ``cls``."""
        own = dataclasses.fields(cls)
        fields = [
            (
                each.name,
                each.type,
                dataclasses.field(
                    default=each.default,
                    default_factory=each.default_factory,
                    init=each.init,
                    repr=each.repr,
                    hash=each.hash,
                    compare=each.compare,
                    kw_only=each.kw_only,
                ),
            )
            for each in own
        ]
        namespace = {"__doc__": cls.__doc__}
        if hasattr(cls, "__post_init__"):
            namespace["__post_init__"] = cls.__post_init__
        # With slots a default that is no argument has to be set, too.
        slots = name == "__init__" and not all(each.init for each in own)
        options = {**_NOTHING, **_ASKED[name], "slots": slots}
        return vars(dataclasses.make_dataclass(cls.__name__, fields, namespace=namespace, **options))[name]

    def record(cls=None, *, order=False):
        return dataclass(cls, frozen=True, slots=True, order=order)
