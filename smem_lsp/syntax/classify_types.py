"""Marks types: specifiers, class heads, type-ids and their abstract declarators."""

from __future__ import annotations

from smem_lsp.syntax.classify_names import NameMarks
from smem_lsp.syntax.grammar_tokens import GrammarToken, NotRead


class TypeMarks(NameMarks):
    """Types, wherever they stand."""

    __slots__ = ()

    def specifiers(self, lo: int, hi: int) -> None:
        i = lo
        types: list[str] = []
        while i < hi:
            kind = self.kinds[i]
            if kind in ("TYPE", "QUALIFIER", "STORAGE", "TYPEDEF"):
                if kind == "TYPE" and (not types or types[-1]):
                    types.append("")
                self.put(kind, i)
                i += 1
            elif kind in ("TYPENAME", "STRING", "EXTENSION"):  # `extern "C"`
                i += 1
            elif kind == "ATTRIBUTE":
                i = self.skip_parentheses(i + 1)
            elif kind == "LB":
                i = self.partner_of(i) + 1
            elif kind == "DECLTYPE":
                i = self.decltype(i)
                if self.ahead.kind(i) == "SCOPE" and i < hi:
                    i = self.name(i, typed=True)
            elif kind == "TAG":
                i = self.class_specifier(i, hi)
            elif kind == "NAME" and self.ahead.kind(i + 1) == "LP" and i + 1 < hi:
                self.doubts.add(
                    self.texts[i]
                )  # an attribute macro: it might expand to `__shared__` or an alignment
                i = self.partner_of(i + 1) + 1
            elif kind in ("NAME", "SCOPE"):
                types.append(self.texts[i])
                i = self.name(i, typed=True)
            else:
                raise NotRead
        if len(types) > 1:  # one of them is an unknown macro, which might expand to `__shared__`
            self.doubts.update(word for word in types if word and word not in self.ahead.symbols.types)

    def member_pointer(self, i: int) -> int:
        """`C::*`; returns the index after it."""
        end = self.ahead.member_pointer(i)
        if end is None:
            raise NotRead
        self.marks.append(GrammarToken("STAR", i, end, "*"))
        return end

    def class_specifier(self, i: int, hi: int) -> int:
        self.put("TAG", i)
        i += 1
        while i < hi and self.kinds[i] in ("TAG", "ATTRIBUTE"):
            i = self.skip_parentheses(i + 1) if self.kinds[i] == "ATTRIBUTE" else i + 1
        if i < hi and self.kinds[i] in ("NAME", "SCOPE"):
            i = self.name(i)
        if i < hi and self.kinds[i] == "COLON":
            while i < hi and self.kinds[i] != "LC":
                i += 1
        if i < hi and self.kinds[i] == "LC":
            end = self.partner_of(i) + 1
            self.put("CLASS_BODY", i, end)
            i = end
        return i

    def type_id(self, lo: int, hi: int) -> None:
        self.enter()
        self.marker("TYPEID", lo)
        i = lo
        typed = False
        while i < hi:
            kind = self.kinds[i]
            if kind in ("STAR", "AMP", "AND_AND", "LB", "LP", "ELLIPSIS") and typed:
                break
            if typed and self.ahead.member_pointer(i) is not None:
                break
            if kind == "ATTRIBUTE":
                i = self.skip_parentheses(i + 1)
                continue
            end = i + 1
            if kind in ("NAME", "SCOPE"):
                end = min(self.ahead.name_end(i), hi)
            elif kind == "TAG":
                end = self.ahead.name_end(i + 1) if self.ahead.kind(i + 1) in ("NAME", "SCOPE") else i + 1
            elif kind == "DECLTYPE":
                end = self.skip_parentheses(i + 1)
                if self.ahead.kind(end) == "SCOPE":
                    end = self.ahead.name_end(end)
            typed = typed or kind in ("NAME", "SCOPE", "TYPE", "TAG", "DECLTYPE")
            if kind in ("NAME", "SCOPE"):
                i = self.name(i, typed=True)
                continue
            self.specifiers(i, end)
            i = end
        self.marker("DECLR", i)
        self.abstract(i, hi)
        self.nesting -= 1

    def abstract(self, i: int, hi: int) -> None:
        while i < hi:
            kind = self.kinds[i]
            if kind in ("STAR", "AMP", "AND_AND", "QUALIFIER", "ELLIPSIS"):
                self.put(kind, i)
                i += 1
            elif kind in ("NAME", "SCOPE"):
                i = self.member_pointer(i)
            elif kind == "LB":
                end = self.partner_of(i)
                self.put("LB", i)
                if end > i + 1:
                    self.expression(i + 1, end)
                self.put("RB", end)
                i = end + 1
            elif kind == "LP":
                end = self.partner_of(i)
                if self.kinds[i + 1] in ("STAR", "AMP", "AND_AND") or self.ahead.member_pointer(i + 1):
                    self.put("LP", i)
                    self.abstract(i + 1, end)
                    self.put("RP", end)
                else:
                    self.put("PARAMS", i, end + 1)
                i = end + 1
            else:
                raise NotRead
