"""Names ahead: where a qualified name ends, and whether `<` begins template arguments or compares.

C++ needs name lookup for that. Known types and templates (of the file, its headers and CUDA) decide where they can;
otherwise the shape of the tokens decides, by what is common in real code.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from smem_lsp.source import record

_TEMPLATE_LOOKAHEAD = 400
_STOPS_TEMPLATE = frozenset("SEMI LC RC ASSIGN EQ END STRING IF FOR RETURN RP RB".split())
# These bind less tightly than `<`: as common between two comparisons as in a template argument.
_LOOSE = frozenset("AND_AND OR_OR QUESTION COLON".split())
# The right side of a comparison can begin with these. Before anything else a `>` closes a list.
_OPERANDS = frozenset(
    "NAME NUMBER STRING LITERAL LP STAR AMP SIGN NOT STEP SIZEOF TYPE TYPENAME NAMED_CAST DECLTYPE NEW OPERATOR"
    " EXTENSION".split()
)
_NEVER_AFTER_NAME = frozenset(
    "NUMBER STRING LITERAL NOT SIZEOF TYPE TYPENAME NAMED_CAST DECLTYPE NEW EXTENSION".split()
)
_VALUES = frozenset(("NUMBER", "LITERAL", "SIZEOF"))


@record
class Symbols:
    """Names known to be types and templates. ``values``: doubtful names that are known to be variables."""

    types: frozenset[str]
    templates: frozenset[str]
    values: frozenset[str] = frozenset()

    @classmethod
    def of(cls, types: frozenset[str], templates: frozenset[str]) -> Symbols:
        return cls(types, templates, frozenset())

    def within(self, words: frozenset[str]) -> Symbols:
        """The symbols among ``words``."""
        types, templates, values = self.types & words, self.templates & words, self.values & words
        return Symbols(types, templates, values)

    def knowing(self, values: frozenset[str], types: frozenset[str] = frozenset()) -> Symbols:
        """The same symbols, with these names as variables, and those as types."""
        return Symbols((self.types | types) - values, self.templates - values, values)


class _Reading(Enum):
    """How surely `<` and `>` enclose template arguments: surely, only where a type may stand, or probably."""

    SURE = auto()
    TYPE = auto()
    GUESS = auto()


class NamesAhead:
    """Questions about the names of one token list. Token indices are positions in it."""

    __slots__ = ("_closings", "kinds", "n", "partner", "symbols", "texts")

    def __init__(
        self, kinds: Sequence[str], texts: Sequence[str], partner: Sequence[int], symbols: Symbols
    ) -> None:
        self.kinds = kinds
        self.texts = texts
        self.partner = partner
        self.symbols = symbols
        self.n = len(kinds)
        self._closings: dict[int, tuple[int, int, _Reading] | None] = {}

    def kind(self, i: int) -> str:
        return self.kinds[i] if 0 <= i < self.n else "END"

    def template_close(self, lt: int, *, typed: bool = True) -> tuple[int, int, bool] | None:
        """For the `<` at ``lt``: (index of the token that closes the list, how many `>` of it the list uses, whether
        it is a guess from the shape of the tokens). ``typed``: a declarator may follow, as in a declaration but
        never in an expression."""
        if lt not in self._closings:
            self._closings[lt] = self._template_close(lt)
        found = self._closings[lt]
        if found is None:
            return None
        at, used, reading = found
        if not typed and used == len(self.texts[at]):
            if reading is _Reading.TYPE or self.kind(at + 1) == "NAME":
                return None
        return at, used, reading is _Reading.GUESS

    def _template_close(self, lt: int) -> tuple[int, int, _Reading] | None:
        kinds, texts, types = self.kinds, self.texts, self.symbols.types
        depth = 1
        type_like = comma = loose = False
        i = lt + 1
        limit = min(self.n, lt + _TEMPLATE_LOOKAHEAD)
        while i < limit:
            kind = kinds[i]
            before = depth
            if kind == "GT":
                depth -= 1
            elif kind == "SHIFT" and texts[i] == ">>":
                depth -= 2
            elif kind == "LAUNCH_CLOSE":
                depth -= 3
            elif kind == "LT":
                if kinds[i - 1] in ("NAME", "NAMED_CAST"):
                    depth += 1
            elif kind in ("LP", "LB"):
                if self.partner[i] < i:
                    return None
                i = self.partner[i]
            elif kind == "LC" and self._is_list(i):
                i = self.partner[i]
            elif kind == "COMMA":
                comma = True
            elif kind in _LOOSE:
                loose = True
            elif kind in _STOPS_TEMPLATE:
                return None
            elif kind in ("TYPENAME", "ELLIPSIS", "QUALIFIER") or (kind == "NAME" and texts[i] in types):
                type_like = True
            elif kind == "TYPE":
                type_like = type_like or self.kind(i + 1) != "LP" or self._function_type(i + 1)
            if depth <= 0:
                reading = self._reading(lt, i, len(texts[i]) - before, type_like, comma, loose)
                return None if reading is None else (i, before, reading)
            i += 1
        return None

    def _is_list(self, i: int) -> bool:
        """Does the brace at ``i`` begin a list, as in ``T{8, true}``, and no block?"""
        close = self.partner[i]
        if close == i + 1:
            return True
        named = self.kinds[i - 1] in ("NAME", "TYPE", "GT")
        return named and i < close < i + _TEMPLATE_LOOKAHEAD and "SEMI" not in self.kinds[i:close]

    def _reading(
        self, lt: int, close: int, unused: int, type_like: bool, comma: bool, loose: bool
    ) -> _Reading | None:
        """Do `<` at ``lt`` and `>` at ``close`` enclose template arguments? None: they compare."""
        name = self.texts[lt - 1]
        if self.kinds[lt - 1] == "NAMED_CAST" or self.kind(lt - 2) == "TEMPLATE":
            return _Reading.SURE
        if name in self.symbols.values:
            return None
        known = name in self.symbols.templates
        if known and not loose:
            return _Reading.SURE
        following = self.kind(close + 1)
        if (
            unused > 0 or following not in _OPERANDS
        ):  # an outer list needs the next `>`; or no operand follows
            return _Reading.SURE
        if following in _NEVER_AFTER_NAME:
            return None
        if name in self.symbols.types or type_like:
            return _Reading.SURE
        if loose:  # `a < b && c > d`
            return _Reading.GUESS if known else None
        if not comma:  # nobody compares `a < b > c`
            return _Reading.SURE
        # `f(a < b, c > d)` passes two comparisons; where a declaration may stand, it declares
        if following in ("NAME", "STAR", "AMP"):
            return _Reading.TYPE
        if following != "LP":
            return None
        values = self.kinds[close - 1] in _VALUES or self.kind(lt + 1) in _VALUES
        return _Reading.SURE if values else _Reading.GUESS

    def operator_end(self, i: int) -> int:
        """Index after the name of the operator function at ``i``: `operator+`, `operator()`, `operator bool`."""
        i += 1
        kind = self.kind(i)
        if kind in ("LP", "LB"):
            return self.partner[i] + 1 if self.partner[i] == i + 1 else i
        if kind in ("NEW", "DELETE"):
            i += 1
            return self.partner[i] + 1 if self.kind(i) == "LB" and self.partner[i] == i + 1 else i
        if kind == "STRING":  # operator""_km
            return i + 2 if self.kind(i + 1) == "NAME" else i + 1
        if kind in ("NAME", "SCOPE", "TYPE", "QUALIFIER", "TYPENAME", "DECLTYPE"):  # a conversion
            while self.kind(i) not in ("LP", "SEMI", "END", "COMMA", "RP"):
                i = max(self.name_end(i), i + 1) if self.kind(i) in ("NAME", "SCOPE") else i + 1
            return i
        return i + 1

    def name_end(self, i: int) -> int:
        """Index after the qualified name at ``i``, template arguments included. A `>>` that also closes an outer
        list is not passed."""
        if self.kind(i) == "SCOPE":
            i += 1
        while True:
            if self.kind(i) == "TEMPLATE":
                i += 1
            if self.kind(i) == "OPERATOR":
                return self.operator_end(i)
            if self.kind(i) != "NAME":
                return i
            i += 1
            if self.kind(i) == "LT":
                close = self.template_close(i)
                if close is not None:
                    if close[1] != len(self.texts[close[0]]):
                        return close[0]
                    i = close[0] + 1
            if self.kind(i) == "SCOPE" and self.kind(i + 1) in ("NAME", "TEMPLATE", "OPERATOR"):
                i += 1
                continue
            return i

    def own_name(self, i: int, end: int) -> int:
        """Where the last part of the qualified name ``[i, end)`` is spelled: ``b`` of ``a::b<T>``."""
        own = i
        while i < end:
            if self.kinds[i] == "NAME":
                own = i
            close = self.template_close(i) if self.kinds[i] == "LT" else None
            i = i + 1 if close is None else close[0] + 1
        return own

    def member_pointer(self, i: int) -> int | None:
        """Index after the `C::*` at ``i``; None if there is none."""
        if self.kind(i) not in ("NAME", "SCOPE"):
            return None
        end = self.name_end(i)
        return end + 2 if self.kind(end) == "SCOPE" and self.kind(end + 1) == "STAR" else None

    def _function_type(self, lp: int) -> bool:
        """`(*)`, `(&)`, `()` or `(int)` after a type."""
        following = self.kind(lp + 1)
        return following in ("STAR", "AMP", "RP", "TYPE", "QUALIFIER", "TYPENAME") or (
            following == "NAME"
            and (self.texts[lp + 1] in self.symbols.types or self.member_pointer(lp + 1) is not None)
        )
