"""Dataclasses that cost little: to declare, and to create.

The standard ones compile six functions for each class when it is declared, which was half of the time that a check of a
small file took to start, and a frozen one sets each of its fields by a call. These are declared bare; the standard
library makes their methods when one is first called, and they are frozen for the type checker only.
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

    def dataclass(cls=None, /, *, repr=True, eq=True, order=False, frozen=False, slots=False, kw_only=False):
        """As ``dataclasses.dataclass``, with the methods made when they are first called."""
        hashed = eq and frozen
        options = {"repr": repr, "eq": eq, "order": order, "unsafe_hash": hashed, "slots": slots}
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
                    setattr(made, name, _first(made, name, options))
            if eq and not frozen and "__hash__" not in own:
                made.__hash__ = None
            return made

        return declared if cls is None else declared(cls)

    def _first(cls, name, options):
        """A method that stands for itself and the others of ``cls`` until one of them is called."""

        def method(self, *args, **kwargs):
            if vars(cls)[name] is method:
                _complete(cls, options)
            return getattr(cls, name)(self, *args, **kwargs)

        method.stands_for = options
        return method

    def _complete(cls, options):
        """Give ``cls`` the methods that the standard library makes for a class of its fields."""
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
            for each in dataclasses.fields(cls)
        ]
        after = getattr(cls, "__post_init__", None)
        namespace = {} if after is None else {"__post_init__": after}
        full = dataclasses.make_dataclass(cls.__name__, fields, namespace=namespace, **options)
        for name, method in list(vars(cls).items()):
            if getattr(method, "stands_for", None) is options:
                setattr(cls, name, vars(full)[name])

    def record(cls=None, *, order=False):
        return dataclass(cls, frozen=True, slots=True, order=order)
