"""The parts of a declaration under construction: specifiers, pointers, names, dimensions."""

from __future__ import annotations

from typing import Any

from smem_lsp.syntax import tree

POINTERS = ("*", "&", "&&", "::*")  # "::*": pointer to member


class Specifiers(list[str]):
    """Specifier words with their token range. ``name``: the word, if it is a name; ``decltype``: if it is that."""

    __slots__ = ("decltype", "hi", "lo", "name")

    def __init__(
        self,
        words: list[str],
        lo: int,
        hi: int,
        name: tree.Name | None = None,
        decltype: tree.Decltype | None = None,
    ) -> None:
        super().__init__(words)
        self.lo = lo
        self.hi = hi
        self.name = name
        self.decltype = decltype


class ParsedArguments(list[Any]):
    """Call arguments; a type of their own, to tell them from other children."""

    __slots__ = ()


class Initializer:
    __slots__ = ("hi", "lo", "style", "value")

    def __init__(self, value: tree.Expr, style: str) -> None:
        self.value = value
        self.style = style
        self.lo = value.lo
        self.hi = value.hi


class Designated:
    """An item of a list in braces. ``name``: as in ``tree.Braces``."""

    __slots__ = ("hi", "lo", "name", "value")

    def __init__(self, name: str, value: tree.Expr) -> None:
        self.name = name
        self.value = value
        self.lo = value.lo
        self.hi = value.hi


class BitWidth:
    __slots__ = ("hi", "lo", "value")

    def __init__(self, value: tree.Expr, lo: int, hi: int) -> None:
        self.value = value
        self.lo = lo
        self.hi = hi


class DeclaratorParts:
    """A declarator under construction."""

    __slots__ = ("core", "dim_spans", "dims", "function", "hi", "lo", "name", "name_at", "nested", "pointers")

    def __init__(self) -> None:
        self.lo = -1
        self.hi = -1
        self.name = ""
        self.name_at = -1
        self.pointers: list[str] = []
        self.dims: list[tree.Expr | None] = []
        self.dim_spans: list[tuple[int, int]] = []
        self.function = False
        self.nested = False
        self.core = (0, 0)

    def cover(self, lo: int, hi: int) -> None:
        self.lo = lo if self.lo < 0 else min(self.lo, lo)
        self.hi = max(self.hi, hi)


class Pointer:
    __slots__ = ("hi", "lo", "text")

    def __init__(self, text: str, lo: int, hi: int) -> None:
        self.text = text
        self.lo = lo
        self.hi = hi

    def add_to(self, parts: DeclaratorParts) -> None:
        parts.pointers.append(self.text)
        parts.cover(self.lo, self.hi)


class DeclaratorName:
    __slots__ = ("hi", "lo", "name", "nested")

    def __init__(self, name: str, lo: int, hi: int, nested: DeclaratorParts | None) -> None:
        self.name = name
        self.lo = lo
        self.hi = hi
        self.nested = nested

    def add_to(self, parts: DeclaratorParts) -> None:
        parts.cover(self.lo, self.hi)
        if self.nested is None:
            parts.name, parts.name_at = self.name, self.lo
            return
        parts.nested = True
        pointers = sum(pointer in POINTERS for pointer in self.nested.pointers)
        parts.core = self.nested.core if self.nested.nested else (pointers, len(self.nested.dims))
        parts.name, parts.name_at = self.nested.name, self.nested.name_at
        parts.pointers += self.nested.pointers
        parts.dims += self.nested.dims
        parts.dim_spans += self.nested.dim_spans


class Dimension:
    __slots__ = ("function", "hi", "lo", "value")

    def __init__(self, value: tree.Expr | None, lo: int, hi: int, *, function: bool = False) -> None:
        self.value = value
        self.lo = lo
        self.hi = hi
        self.function = function

    def add_to(self, parts: DeclaratorParts) -> None:
        parts.cover(self.lo, self.hi)
        if self.function:
            parts.function = True
        else:
            parts.dims.append(self.value)
            parts.dim_spans.append((self.lo + 1, self.hi - 1))


class Abstract:
    __slots__ = ("core", "dims", "hi", "lo", "pointers")

    def __init__(self, pointers: list[str], dims: list[tree.Expr | None], lo: int, hi: int) -> None:
        self.core = (0, 0)
        self.pointers = pointers
        self.dims = dims
        self.lo = lo
        self.hi = hi
