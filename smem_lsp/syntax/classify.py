"""Marks the tokens of one chunk for the grammar: renames kinds, inserts markers, collapses parts parsed elsewhere.

The result is a list of marks; a mark keeps the token range it stands for, relative to the chunk. Raises NotRead if
the chunk cannot be marked (unbalanced brackets, a misplaced keyword); the caller records the chunk as failed.
"""

from __future__ import annotations

from smem_lsp.syntax.classify_expressions import ExpressionMarks
from smem_lsp.syntax.grammar_tokens import NotRead

_DECLARATION_STARTS = frozenset(
    "NAME SCOPE TYPE QUALIFIER STORAGE TAG TYPEDEF TYPENAME DECLTYPE ATTRIBUTE LB".split()
)


class Classifier(ExpressionMarks):
    """The heads and declarations of chunks."""

    __slots__ = ()

    def condition(self, lo: int, hi: int) -> None:
        """`if`, `while` and `switch` heads."""
        semi = self.top_level(lo, hi, "SEMI")
        if semi is not None:
            if semi > lo:
                self.head_part(lo, semi)
            self.put("SEMI", semi)
            lo = semi + 1
        if self.texts[hi - 1] == "consteval":  # if consteval, if not consteval
            for i in range(lo, hi):
                self.put("LITERAL" if i == hi - 1 else self.kinds[i], i)
            return
        self.head_part(lo, hi, condition=True)

    def for_head(self, lo: int, hi: int) -> None:
        first = self.top_level(lo, hi, "SEMI")
        if first is None:
            self._range(lo, hi)
            return
        second = self.top_level(first + 1, hi, "SEMI")
        if second is None:
            if first > lo:
                self.head_part(lo, first)
            self.put("SEMI", first)
            self._range(first + 1, hi)
            return
        if first > lo:
            self.head_part(lo, first)
        self.put("SEMI", first)
        if second > first + 1:
            self.head_part(first + 1, second, condition=True)
        self.put("SEMI", second)
        if hi > second + 1:
            self.expression(second + 1, hi)

    def _range(self, lo: int, hi: int) -> None:
        """`declaration : range`."""
        colon = self.top_level(lo, hi, "COLON")
        if colon is None:
            raise NotRead
        self.marker("DECL", lo)
        self._specifiers_and_declarators(lo, colon)
        self.put("COLON", colon)
        self.initializer(colon + 1, hi)

    def head_part(self, lo: int, hi: int, *, condition: bool = False) -> None:
        """A declaration or an expression. A declaration in a condition needs an initializer: ``a * b`` is a product."""
        if self._declares(lo, hi) and (not condition or self._initializes(lo, hi)):
            self.marker("DECL", lo)
            self._specifiers_and_declarators(lo, hi)
        else:
            self.expression(lo, hi)

    def _initializes(self, lo: int, hi: int) -> bool:
        return self.top_level(lo, hi, "EQ") is not None or self.kinds[hi - 1] == "RC"

    def declaration(self, lo: int, hi: int) -> None:
        if hi - lo == 3 and self.kinds[lo : lo + 2] == ["NAME", "STAR"]:  # `a * b;` could be a product
            if self.texts[lo] not in self.ahead.symbols.types:
                self.doubts.add(self.texts[lo])
        self._specifiers_and_declarators(lo, hi, certain=True)

    def parameters(self, lo: int, hi: int) -> None:
        for number, (start, end) in enumerate(self.split(lo, hi, typed=True)):
            if number:
                self.put("COMMA", start - 1)
            if end - start == 1 and self.kinds[start] == "ELLIPSIS":
                self.put("ELLIPSIS", start)
            else:
                self.marker("DECL", start)
                self._specifiers_and_declarators(start, end, parameter=True)

    def _declares(self, lo: int, hi: int) -> bool:
        kind = self.kinds[lo] if lo < hi else "END"
        if kind not in _DECLARATION_STARTS or (kind == "LB" and self.ahead.kind(lo + 1) != "LB"):
            return False
        if kind == "NAME" and self.ahead.kind(lo + 1) in ("LP", "LB", "EQ", "DOT", "ASSIGN", "STEP"):
            return False
        at = self.ahead.declarators_at(lo)
        return at is not None and at < hi

    def _specifiers_and_declarators(
        self, lo: int, hi: int, *, parameter: bool = False, certain: bool = False
    ) -> None:
        at = self.ahead.declarators_at(lo, parameter=parameter, certain=certain)
        if at is None or at > hi:
            raise NotRead
        doubts = set(self.doubts)
        self.specifiers(lo, at)
        if parameter:  # an attribute of a parameter changes nothing
            self.doubts = doubts
        self.marker("DECLR", at)
        i = at
        while True:
            i = self._declarator(i, hi, parameter)
            if i >= hi:
                return
            if self.kinds[i] != "COMMA":
                raise NotRead
            self.put("COMMA", i)
            i += 1

    def _declarator(self, i: int, hi: int, parameter: bool) -> int:
        """One declarator with its initializer; returns the index after it."""
        i = self._declarator_core(i, hi, parameter)
        if i < hi and self.kinds[i] == "COLON":
            self.put("COLON", i)
            end = self.next_comma(i + 1, hi)
            self.expression(i + 1, end)
            return end
        if i < hi and self.kinds[i] == "EQ":
            self.put("EQ", i)
            end = self.next_comma(i + 1, hi)
            self.initializer(i + 1, end)
            return end
        if i < hi and self.kinds[i] == "LC":
            return self.braces(i)
        if i < hi and self.kinds[i] == "LP":
            end = self.partner_of(i)
            self.put("CTOR_LP", i)
            self.arguments(i + 1, end)
            self.put("RP", end)
            return end + 1
        return i

    def _declarator_core(self, i: int, hi: int, parameter: bool) -> int:
        self.enter()
        i = self._pointers(i, hi)
        i = self._declared(i, hi, parameter)
        i = self._dimensions(i, hi, parameter)
        self.nesting -= 1
        return i

    def _pointers(self, i: int, hi: int) -> int:
        """The tokens left of the name."""
        while i < hi and self.kinds[i] in ("STAR", "AMP", "AND_AND", "QUALIFIER", "ELLIPSIS", "ATTRIBUTE"):
            if self.kinds[i] == "ATTRIBUTE":
                i = self.skip_parentheses(i + 1)
                continue
            self.put(self.kinds[i], i)
            i += 1
        while i < hi and self.ahead.member_pointer(i) is not None:
            i = self.member_pointer(i)
        return i

    def _declared(self, i: int, hi: int, parameter: bool) -> int:
        """The name, a structured binding, or a declarator in parentheses."""
        if i < hi and self.kinds[i] in ("NAME", "SCOPE", "OPERATOR"):
            if self.kinds[i] == "NAME" and self.ahead.kind(i + 1) == "LP" and i + 1 < hi and not parameter:
                after = self.ahead.attribute_macro(i, i + 1, True)
                if after is not None and self.ahead.kind(after) == "NAME":  # float MACRO(16) x;
                    self.doubts.add(self.texts[i])
                    i = after
            i = self.name(i)
        elif i < hi and self.kinds[i] == "LB" and self.ahead.kind(i + 1) == "NAME" and not parameter:
            end = self.partner_of(i) + 1
            self.put("BINDING", i, end)
            i = end
        elif (
            i < hi and self.kinds[i] == "LP" and self.ahead.kind(i + 1) in ("STAR", "AMP", "AND_AND", "NAME")
        ):
            end = self.partner_of(i)
            self.put("LP", i)
            inner = self._declarator_core(i + 1, end, parameter)
            if inner != end:
                raise NotRead
            self.put("RP", end)
            i = end + 1
        return i

    def _dimensions(self, i: int, hi: int, parameter: bool) -> int:
        """The tokens right of the name: array bounds, parameters."""
        while i < hi:
            if self.kinds[i] == "LB":
                end = self.partner_of(i)
                if self.kinds[i + 1] == "LB":  # [[attribute]]
                    i = end + 1
                    continue
                self.put("LB", i)
                if end > i + 1:
                    self.expression(i + 1, end)
                self.put("RB", end)
                i = end + 1
            elif self.kinds[i] == "ATTRIBUTE":
                i = self.skip_parentheses(i + 1)
            elif self.kinds[i] == "LP" and self._prototype(i, parameter):
                end = self.partner_of(i) + 1
                self.put("PARAMS", i, end)
                i = end
                while i < hi and self.kinds[i] in ("QUALIFIER", "SIZEOF"):
                    i += 1
            else:
                break
        return i

    def _prototype(self, lp: int, parameter: bool) -> bool:
        """Are the parentheses after a declarator's name parameters (not constructor arguments)?"""
        if not parameter and any(
            self._names_parameter(*part) for part in self.split(lp + 1, self.partner_of(lp), typed=True)
        ):
            return True
        first = self.ahead.kind(lp + 1)
        if first in ("RP", "TYPE", "QUALIFIER", "TYPENAME", "TAG", "ELLIPSIS"):
            return first != "TYPE" or self.ahead.kind(lp + 2) not in ("LP", "LC")
        if first == "NAME" and self.texts[lp + 1] in self.ahead.symbols.types:
            return self.ahead.kind(self.ahead.name_end(lp + 1)) in ("NAME", "COMMA", "STAR", "AMP", "RP")
        return parameter

    def _names_parameter(self, lo: int, hi: int) -> bool:
        """`T x`: two adjacent names are no expression."""
        if lo >= hi or self.kinds[lo] not in ("NAME", "SCOPE"):
            return False
        end = self.ahead.name_end(lo)
        return end < hi and self.kinds[end] == "NAME" and self.kinds[end - 1] != "STRING"
