"""Marks the tokens of one chunk for the grammar: renames kinds, inserts markers, collapses what is read elsewhere.

The result is a list of marks; a mark keeps the token range it stands for, relative to the chunk. Raises NotRead when
the chunk cannot be marked (unbalanced brackets, a keyword where none may stand); the caller records the chunk as not
understood.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from smem_lsp.syntax.lookahead import Lookahead

MAX_NESTING = 120

_OPERAND_ENDS = frozenset(("NUMBER", "LITERAL", "STRING"))
_BINARY = frozenset(
    "OR_OR AND_AND OR XOR AMP EQUALITY LT GT RELATION SHIFT SIGN STAR FACTOR EQ ASSIGN".split()
)
_CAST_OPERAND = frozenset("NAME NUMBER LITERAL STRING LP NAMED_CAST SIZEOF TYPE SCOPE DECLTYPE NEW".split())
_CAST_UNARY = frozenset(("STAR", "AMP", "SIGN", "NOT", "STEP"))


class NotRead(Exception):
    """The chunk cannot be marked."""


@dataclass(slots=True, eq=False)
class Mark:
    """One terminal for the grammar: ``type`` is its name, ``[lo, hi)`` the tokens it stands for."""

    # what lark reads of the last token for its end marker
    start_pos: ClassVar[None] = None
    end_pos: ClassVar[None] = None
    line: ClassVar[None] = None
    column: ClassVar[None] = None
    end_line: ClassVar[None] = None
    end_column: ClassVar[None] = None

    type: str
    lo: int
    hi: int
    text: str


class Classifier:
    """Marks ranges of one token list. Every method appends to ``marks``."""

    __slots__ = ("ahead", "kinds", "marks", "nesting", "partner", "texts")

    def __init__(self, ahead: Lookahead) -> None:
        self.ahead = ahead
        self.kinds = ahead.kinds
        self.texts = ahead.texts
        self.partner = ahead.partner
        self.marks: list[Mark] = []
        self.nesting = 0

    # ---- chunks ----------------------------------------------------------------------------------------------------

    def condition(self, lo: int, hi: int) -> None:
        """`if`, `while` and `switch` heads."""
        semi = self._top_level(lo, hi, "SEMI")
        if semi is not None:
            if semi > lo:
                self.head_part(lo, semi)
            self._put("SEMI", semi)
            lo = semi + 1
        self.head_part(lo, hi)

    def for_head(self, lo: int, hi: int) -> None:
        first = self._top_level(lo, hi, "SEMI")
        if first is None:
            colon = self._top_level(lo, hi, "COLON")
            if colon is None:
                raise NotRead
            self._marker("DECL", lo)
            self._specifiers_and_declarators(lo, colon)
            self._put("COLON", colon)
            self.initializer(colon + 1, hi)
            return
        second = self._top_level(first + 1, hi, "SEMI")
        if second is None:
            raise NotRead
        if first > lo:
            self.head_part(lo, first)
        self._put("SEMI", first)
        if second > first + 1:
            self.head_part(first + 1, second)
        self._put("SEMI", second)
        if hi > second + 1:
            self.expression(second + 1, hi)

    def head_part(self, lo: int, hi: int) -> None:
        """A declaration or an expression."""
        if self._declares(lo, hi):
            self._marker("DECL", lo)
            self._specifiers_and_declarators(lo, hi)
        else:
            self.expression(lo, hi)

    def declaration(self, lo: int, hi: int) -> None:
        self._specifiers_and_declarators(lo, hi)

    def parameters(self, lo: int, hi: int) -> None:
        for number, (start, end) in enumerate(self._split(lo, hi)):
            if number:
                self._put("COMMA", start - 1)
            if end - start == 1 and self.kinds[start] == "ELLIPSIS":
                self._put("ELLIPSIS", start)
            else:
                self._marker("DECL", start)
                self._specifiers_and_declarators(start, end, parameter=True)

    # ---- declarations ----------------------------------------------------------------------------------------------

    def _declares(self, lo: int, hi: int) -> bool:
        kind = self.kinds[lo] if lo < hi else "END"
        if kind not in _DECLARATION_STARTS:
            return False
        if kind == "NAME" and self.ahead.kind(lo + 1) in ("LP", "LB", "EQ", "DOT", "ASSIGN", "STEP"):
            return False
        at = self.ahead.declarators_at(lo)
        return at is not None and at < hi

    def _specifiers_and_declarators(self, lo: int, hi: int, *, parameter: bool = False) -> None:
        at = self.ahead.declarators_at(lo, parameter=parameter)
        if at is None or at > hi:
            raise NotRead
        self._specifiers(lo, at)
        self._marker("DECLR", at)
        i = at
        while True:
            i = self._declarator(i, hi, parameter)
            if i >= hi:
                return
            if self.kinds[i] != "COMMA":
                raise NotRead
            self._put("COMMA", i)
            i += 1

    def _specifiers(self, lo: int, hi: int) -> None:
        i = lo
        while i < hi:
            kind = self.kinds[i]
            if kind in ("TYPE", "QUALIFIER", "STORAGE", "TYPEDEF"):
                self._put(kind, i)
                i += 1
            elif kind == "TYPENAME":
                i += 1
            elif kind == "ATTRIBUTE":
                i = self._skip_parentheses(i + 1)
            elif kind == "LB":
                i = self._partner(i) + 1
            elif kind == "DECLTYPE":
                end = self._skip_parentheses(i + 1)
                self._put("TYPE", i, end)
                i = end
                if self.ahead.kind(i) == "SCOPE" and i < hi:
                    i = self._name(i)
            elif kind == "TAG":
                i = self._class(i, hi)
            elif kind in ("NAME", "SCOPE"):
                i = self._name(i)
            else:
                raise NotRead

    def _class(self, i: int, hi: int) -> int:
        self._put("TAG", i)
        i += 1
        while i < hi and self.kinds[i] in ("TAG", "ATTRIBUTE"):
            i = self._skip_parentheses(i + 1) if self.kinds[i] == "ATTRIBUTE" else i + 1
        if i < hi and self.kinds[i] in ("NAME", "SCOPE"):
            i = self._name(i)
        if i < hi and self.kinds[i] == "COLON":
            while i < hi and self.kinds[i] != "LC":
                i += 1
        if i < hi and self.kinds[i] == "LC":
            end = self._partner(i) + 1
            self._put("CLASS_BODY", i, end)
            i = end
        return i

    def _declarator(self, i: int, hi: int, parameter: bool) -> int:
        """One declarator with its initializer; returns the index after it."""
        i = self._declarator_core(i, hi, parameter)
        if i < hi and self.kinds[i] == "COLON":
            self._put("COLON", i)
            end = self._next_comma(i + 1, hi)
            self.expression(i + 1, end)
            return end
        if i < hi and self.kinds[i] == "EQ":
            self._put("EQ", i)
            end = self._next_comma(i + 1, hi)
            self.initializer(i + 1, end)
            return end
        if i < hi and self.kinds[i] == "LC":
            return self._braces(i)
        if i < hi and self.kinds[i] == "LP":
            end = self._partner(i)
            self._put("CTOR_LP", i)
            self._arguments(i + 1, end)
            self._put("RP", end)
            return end + 1
        return i

    def _declarator_core(self, i: int, hi: int, parameter: bool) -> int:
        self._enter()
        while i < hi and self.kinds[i] in ("STAR", "AMP", "AND_AND", "QUALIFIER", "ELLIPSIS", "ATTRIBUTE"):
            if self.kinds[i] == "ATTRIBUTE":
                i = self._skip_parentheses(i + 1)
                continue
            self._put(self.kinds[i], i)
            i += 1
        if i < hi and self.kinds[i] in ("NAME", "SCOPE"):
            i = self._name(i)
        elif i < hi and self.kinds[i] == "LB" and self.ahead.kind(i + 1) == "NAME" and not parameter:
            end = self._partner(i) + 1
            self._put("BINDING", i, end)
            i = end
        elif (
            i < hi and self.kinds[i] == "LP" and self.ahead.kind(i + 1) in ("STAR", "AMP", "AND_AND", "NAME")
        ):
            end = self._partner(i)
            self._put("LP", i)
            inner = self._declarator_core(i + 1, end, parameter)
            if inner != end:
                raise NotRead
            self._put("RP", end)
            i = end + 1
        while i < hi:
            if self.kinds[i] == "LB":
                end = self._partner(i)
                if self.kinds[i + 1] == "LB":  # [[attribute]]
                    i = end + 1
                    continue
                self._put("LB", i)
                if end > i + 1:
                    self.expression(i + 1, end)
                self._put("RB", end)
                i = end + 1
            elif self.kinds[i] == "ATTRIBUTE":
                i = self._skip_parentheses(i + 1)
            elif self.kinds[i] == "LP" and self._prototype(i, parameter):
                end = self._partner(i) + 1
                self._put("PARAMS", i, end)
                i = end
                while i < hi and self.kinds[i] in ("QUALIFIER", "SIZEOF"):
                    i += 1
            else:
                break
        self.nesting -= 1
        return i

    def _prototype(self, lp: int, parameter: bool) -> bool:
        """Are the parentheses after a declarator's name parameters (not constructor arguments)?"""
        first = self.ahead.kind(lp + 1)
        if first in ("RP", "TYPE", "QUALIFIER", "TYPENAME", "TAG", "ELLIPSIS"):
            return first != "TYPE" or self.ahead.kind(lp + 2) not in ("LP", "LC")
        if first == "NAME" and self.texts[lp + 1] in self.ahead.symbols.types:
            return self.ahead.kind(self.ahead.name_end(lp + 1)) in ("NAME", "COMMA", "STAR", "AMP", "RP")
        return parameter

    # ---- types -----------------------------------------------------------------------------------------------------

    def type_id(self, lo: int, hi: int) -> None:
        self._enter()
        self._marker("TYPEID", lo)
        i = lo
        typed = False
        while i < hi:
            kind = self.kinds[i]
            if kind in ("STAR", "AMP", "AND_AND", "LB", "LP", "ELLIPSIS") and typed:
                break
            if kind == "ATTRIBUTE":
                i = self._skip_parentheses(i + 1)
                continue
            end = i + 1
            if kind in ("NAME", "SCOPE"):
                end = min(self.ahead.name_end(i), hi)
            elif kind == "TAG":
                end = self.ahead.name_end(i + 1) if self.ahead.kind(i + 1) in ("NAME", "SCOPE") else i + 1
            elif kind == "DECLTYPE":
                end = self._skip_parentheses(i + 1)
                if self.ahead.kind(end) == "SCOPE":
                    end = self.ahead.name_end(end)
            typed = typed or kind in ("NAME", "SCOPE", "TYPE", "TAG", "DECLTYPE")
            if kind in ("NAME", "SCOPE"):
                i = self._name(i)
                continue
            self._specifiers(i, end)
            i = end
        self._marker("DECLR", i)
        self._abstract(i, hi)
        self.nesting -= 1

    def _abstract(self, i: int, hi: int) -> None:
        while i < hi:
            kind = self.kinds[i]
            if kind in ("STAR", "AMP", "AND_AND", "QUALIFIER", "ELLIPSIS"):
                self._put(kind, i)
                i += 1
            elif kind == "LB":
                end = self._partner(i)
                self._put("LB", i)
                if end > i + 1:
                    self.expression(i + 1, end)
                self._put("RB", end)
                i = end + 1
            elif kind == "LP":
                end = self._partner(i)
                if self.kinds[i + 1] in ("STAR", "AMP", "AND_AND"):
                    self._put("LP", i)
                    self._abstract(i + 1, end)
                    self._put("RP", end)
                else:
                    self._put("PARAMS", i, end + 1)
                i = end + 1
            else:
                raise NotRead

    # ---- expressions -----------------------------------------------------------------------------------------------

    def initializer(self, lo: int, hi: int) -> None:
        if lo < hi and self.kinds[lo] == "LC" and self._partner(lo) == hi - 1:
            self._braces(lo)
        else:
            self.expression(lo, hi)

    def expression(self, lo: int, hi: int) -> None:
        """Mark an expression; commas are the comma operator."""
        self._enter()
        if lo >= hi:
            raise NotRead
        i = lo
        operand = True  # an operand may start here (else: an operator)
        while i < hi:
            kind = self.kinds[i]
            if kind in ("NAME", "SCOPE"):
                if not operand:
                    raise NotRead
                i = self._name(i)
                if i < hi and self.kinds[i] == "LC":
                    i = self._braces(i)
                operand = False
            elif kind in _OPERAND_ENDS:
                self._put(kind, i)
                operand = False
                i += 1
            elif kind == "LP":
                i, operand = self._parenthesis(i, hi, operand)
            elif kind == "LB":
                end = self._partner(i)
                if operand:
                    i = self._lambda(i, hi)
                    operand = False
                    continue
                self._put("LB", i)
                self.initializer(i + 1, end)
                self._put("RB", end)
                i = end + 1
            elif kind == "DOT":
                self._put("DOT", i)
                i += 1
                if self.ahead.kind(i) == "NOT":
                    i += 1
                if self.ahead.kind(i) == "OPERATOR":
                    raise NotRead
                i = self._name(i)
                operand = False
            elif kind == "STEP":
                self._put("STEP", i)
                i += 1
            elif kind in ("NOT",) or (operand and kind in ("SIGN", "STAR", "AMP", "AND_AND")):
                self._put(kind, i)
                i += 1
            elif kind in _BINARY or kind in ("QUESTION", "COLON", "COMMA"):
                self._put(kind, i)
                operand = True
                i += 1
                if kind in ("EQ", "ASSIGN") and i < hi and self.kinds[i] == "LC":
                    i = self._braces(i)
                    operand = False
            elif kind == "SIZEOF":
                i, operand = self._sizeof(i)
            elif kind == "NAMED_CAST":
                i = self._named_cast(i)
                operand = False
            elif kind in ("TYPE", "DECLTYPE", "TYPENAME"):
                i = self._functional_cast(i, hi)
                operand = False
            elif kind == "LAUNCH_OPEN":
                i = self._launch(i, hi)
                operand = False
            elif kind == "NEW":
                i = self._new(i, hi)
                operand = False
            elif kind == "DELETE":
                self._put("DELETE", i)
                i += 1
                if self.ahead.kind(i) == "LB":
                    self._put("LB", i)
                    self._put("RB", i + 1)
                    i += 2
            elif kind == "THROW":
                self._put("THROW", i)
                i += 1
            elif kind == "ELLIPSIS":
                self._put("ELLIPSIS", i)
                i += 1
            elif kind == "LC" and operand:
                i = self._braces(i)
                operand = False
            else:
                raise NotRead
        self.nesting -= 1

    def _parenthesis(self, i: int, hi: int, operand: bool) -> tuple[int, bool]:
        end = self._partner(i)
        if end >= hi:
            raise NotRead
        if not operand:
            self._put("LP", i)
            self._arguments(i + 1, end)
            self._put("RP", end)
            return end + 1, False
        if self.kinds[i + 1] == "LC" and self.partner[i + 1] == end - 1:
            self._put("STATEMENT_EXPR", i, end + 1)
            return end + 1, False
        certainty = self.ahead.type_at(i + 1, end)
        if certainty and self._casts(end + 1, hi, certainty):
            self._put("CAST_LP", i)
            self.type_id(i + 1, end)
            self._put("RP", end)
            if end + 1 < hi and self.kinds[end + 1] == "LC":
                return self._braces(end + 1), False
            return end + 1, True
        self._put("LP", i)
        self.expression(i + 1, end)
        self._put("RP", end)
        return end + 1, False

    def _casts(self, i: int, hi: int, certainty: int) -> bool:
        """Is `(type)` at the token before ``i`` a cast? ``(x) - 1`` is none; ``(T)x`` is one even for an unknown T."""
        if i >= hi:
            return False
        kind = self.kinds[i]
        if certainty == 1:
            return kind in ("NAME", "NUMBER", "LITERAL", "STRING", "NAMED_CAST", "SIZEOF")
        return kind in _CAST_OPERAND or kind in _CAST_UNARY or kind == "LC" or (kind == "LB")

    def _sizeof(self, i: int) -> tuple[int, bool]:
        self._put("SIZEOF", i)
        i += 1
        if self.ahead.kind(i) == "ELLIPSIS":
            self._put("ELLIPSIS", i)
            i += 1
        if self.ahead.kind(i) == "LP":
            end = self._partner(i)
            if self.ahead.type_at(i + 1, end) == 2:
                self._put("SIZE_LP", i)
                self.type_id(i + 1, end)
                self._put("RP", end)
                return end + 1, False
        return i, True

    def _named_cast(self, i: int) -> int:
        self._put("NAMED_CAST", i)
        if self.ahead.kind(i + 1) != "LT":
            raise NotRead
        close = self.ahead.template_close(i + 1)
        if close is None:
            raise NotRead
        self._put("T_LT", i + 1)
        self.type_id(i + 2, close[0])
        self._put("T_GT", close[0])
        i = close[0] + 1
        if self.ahead.kind(i) != "LP":
            raise NotRead
        end = self._partner(i)
        self._put("LP", i)
        self.expression(i + 1, end)
        self._put("RP", end)
        return end + 1

    def _functional_cast(self, i: int, hi: int) -> int:
        if self.kinds[i] == "TYPENAME":
            i += 1
            if self.ahead.kind(i) not in ("NAME", "SCOPE"):
                raise NotRead
            i = self._name(i)
        elif self.kinds[i] == "DECLTYPE":
            end = self._skip_parentheses(i + 1)
            self._put("TYPE", i, end)
            i = end
        else:
            while i < hi and self.kinds[i] == "TYPE":
                self._put("TYPE", i)
                i += 1
        if i < hi and self.kinds[i] == "LC":
            return self._braces(i)
        if i >= hi or self.kinds[i] != "LP":
            raise NotRead
        end = self._partner(i)
        self._put("LP", i)
        self._arguments(i + 1, end)
        self._put("RP", end)
        return end + 1

    def _launch(self, i: int, hi: int) -> int:
        depth = 1
        close = i + 1
        while close < hi:
            kind = self.kinds[close]
            if kind in ("LP", "LB", "LC"):
                close = self._partner(close)
            elif kind == "LAUNCH_OPEN":
                depth += 1
            elif kind == "LAUNCH_CLOSE":
                depth -= 1
                if depth == 0:
                    break
            close += 1
        if close >= hi or self.ahead.kind(close + 1) != "LP":
            raise NotRead
        self._put("LAUNCH_OPEN", i)
        self._arguments(i + 1, close)
        self._put("LAUNCH_CLOSE", close)
        end = self._partner(close + 1)
        self._put("LP", close + 1)
        self._arguments(close + 2, end)
        self._put("RP", end)
        return end + 1

    def _new(self, i: int, hi: int) -> int:
        self._put("NEW", i)
        i += 1
        if self.ahead.kind(i) == "LP":
            end = self._partner(i)
            self._put("NEW_LP", i)
            self._arguments(i + 1, end)
            self._put("RP", end)
            i = end + 1
        stop = i
        while stop < hi and self.kinds[stop] in (
            "NAME",
            "SCOPE",
            "TYPE",
            "QUALIFIER",
            "TYPENAME",
            "STAR",
            "LB",
        ):
            if self.kinds[stop] in ("NAME", "SCOPE"):
                stop = max(self.ahead.name_end(stop), stop + 1)
            elif self.kinds[stop] == "LB":
                stop = self._partner(stop) + 1
            else:
                stop += 1
        self.type_id(i, stop)
        i = stop
        if i < hi and self.kinds[i] == "LP":
            end = self._partner(i)
            self._put("NEW_LP", i)
            self._arguments(i + 1, end)
            self._put("RP", end)
            i = end + 1
        elif i < hi and self.kinds[i] == "LC":
            i = self._braces(i)
        return i

    def _lambda(self, i: int, hi: int) -> int:
        end = self._partner(i)
        self._put("LAMBDA", i, end + 1)
        i = end + 1
        if i < hi and self.kinds[i] == "LT":
            close = self.ahead.template_close(i)
            i = close[0] + 1 if close else i + 1
        while i < hi and self.kinds[i] in ("STORAGE", "ATTRIBUTE"):
            i = self._skip_parentheses(i + 1) if self.kinds[i] == "ATTRIBUTE" else i + 1
        if i < hi and self.kinds[i] == "LP":
            close_paren = self._partner(i)
            self._put("PARAMS", i, close_paren + 1)
            i = close_paren + 1
        while i < hi and self.kinds[i] not in ("LC", "SEMI"):
            i += 1
        if i >= hi or self.kinds[i] != "LC":
            raise NotRead
        end = self._partner(i) + 1
        self._put("BODY", i, end)
        return end

    def _arguments(self, lo: int, hi: int) -> None:
        for number, (start, end) in enumerate(self._split(lo, hi)):
            if number:
                self._put("COMMA", start - 1)
            if start >= end:
                raise NotRead
            starts_type = self.kinds[start] in ("TYPE", "QUALIFIER", "TAG", "TYPENAME") or (
                self.kinds[start] == "NAME" and self.texts[start] in self.ahead.symbols.types
            )
            if starts_type and self.ahead.type_at(start, end) == 2:
                self.type_id(start, end)
            else:
                self.initializer(start, end)

    def _braces(self, i: int) -> int:
        end = self._partner(i)
        self._enter()
        self._put("LC", i)
        for number, (start, stop) in enumerate(self._split(i + 1, end)):
            if number:
                self._put("COMMA", start - 1)
            if start >= stop:
                if stop == end:  # trailing comma
                    break
                raise NotRead
            if self.kinds[start] == "DOT" and self.ahead.kind(start + 2) == "EQ":
                self._put("DOT", start)
                self._put("NAME", start + 1)
                self._put("EQ", start + 2)
                start += 3
            self.initializer(start, stop)
        self._put("RC", end)
        self.nesting -= 1
        return end + 1

    def _name(self, i: int) -> int:
        """A qualified name; returns the index after it."""
        if self.kinds[i] == "SCOPE":
            self._put("SCOPE", i)
            i += 1
        while True:
            if self.ahead.kind(i) == "TEMPLATE":
                i += 1
            if self.ahead.kind(i) != "NAME":
                raise NotRead
            self._put("NAME", i)
            i += 1
            if self.ahead.kind(i) == "LT":
                close = self.ahead.template_close(i)
                if close is not None:
                    i = self._template_arguments(i, close)
            if self.ahead.kind(i) == "SCOPE" and self.ahead.kind(i + 1) in ("NAME", "TEMPLATE"):
                self._put("SCOPE", i)
                i += 1
                continue
            return i

    def _template_arguments(self, lt: int, close: tuple[int, int]) -> int:
        """Mark `<...>`; returns the index after it, or of a `>>` of which an outer list still needs a part."""
        self._enter()
        self._put("T_LT", lt)
        at, used = close
        for number, (start, end) in enumerate(self._split(lt + 1, at, templates=True)):
            if number:
                self._put("COMMA", start - 1)
            if start >= end:
                if number or at > lt + 1:
                    raise NotRead
                break
            pack = self.kinds[end - 1] == "ELLIPSIS"
            stop = end - 1 if pack else end
            if self.ahead.type_at(start, stop) == 2:
                self.type_id(start, stop)
            else:
                self.initializer(start, stop)
            if pack:
                self._put("ELLIPSIS", end - 1)
        self._put("T_GT", at)
        self.nesting -= 1
        return at + 1 if used == len(self.texts[at]) else at

    # ---- tokens ----------------------------------------------------------------------------------------------------

    def _put(self, kind: str, lo: int, hi: int | None = None) -> None:
        self.marks.append(Mark(kind, lo, lo + 1 if hi is None else hi, self.texts[lo]))

    def _marker(self, kind: str, at: int) -> None:
        self.marks.append(Mark(kind, at, at, ""))

    def _enter(self) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise NotRead

    def _partner(self, i: int) -> int:
        end = self.partner[i]
        if end <= i:
            raise NotRead
        return end

    def _skip_parentheses(self, i: int) -> int:
        return self._partner(i) + 1 if self.ahead.kind(i) == "LP" else i

    def _top_level(self, lo: int, hi: int, kind: str) -> int | None:
        """First token of ``kind`` outside brackets (and, for a colon, outside ``?:``)."""
        i = lo
        while i < hi:
            if self.kinds[i] in ("LP", "LB", "LC"):
                i = self._partner(i)
            elif self.kinds[i] == kind:
                return i
            i += 1
        return None

    def _next_comma(self, lo: int, hi: int) -> int:
        """The comma that ends an initializer, or ``hi``."""
        return next(iter(self._split(lo, hi)), (lo, hi))[1]

    def _split(self, lo: int, hi: int, *, templates: bool = False) -> list[tuple[int, int]]:
        """Ranges between top-level commas; commas inside brackets and template lists do not count."""
        if lo >= hi:
            return []
        parts: list[tuple[int, int]] = []
        start = i = lo
        while i < hi:
            kind = self.kinds[i]
            if kind in ("LP", "LB", "LC"):
                i = self._partner(i)
                if i >= hi:
                    raise NotRead
            elif kind == "LT" and i > lo and self.kinds[i - 1] in ("NAME", "NAMED_CAST"):
                close = self.ahead.template_close(i)
                if close is not None and (close[0] < hi or templates):
                    i = min(close[0], hi - 1)
            elif kind == "COMMA":
                parts.append((start, i))
                start = i + 1
            i += 1
        parts.append((start, hi))
        return parts


_DECLARATION_STARTS = frozenset(
    "NAME SCOPE TYPE QUALIFIER STORAGE TAG TYPEDEF TYPENAME DECLTYPE ATTRIBUTE LB".split()
)
