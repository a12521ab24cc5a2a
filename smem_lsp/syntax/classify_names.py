"""Marks names: qualified names, template arguments, braces and argument lists."""

from __future__ import annotations

from smem_lsp.syntax.marks import MarkWriter, NotRead


class NameMarks(MarkWriter):
    """What expressions, types and declarations have in common."""

    __slots__ = ()

    def name(self, i: int) -> int:
        """A qualified name; returns the index after it."""
        if self.ahead.kind(i) == "SCOPE":
            self.put("SCOPE", i)
            i += 1
        while True:
            if self.ahead.kind(i) == "TEMPLATE":
                i += 1
            if self.ahead.kind(i) != "NAME":
                raise NotRead
            self.put("NAME", i)
            i += 1
            if self.ahead.kind(i) == "LT":
                close = self.ahead.template_close(i)
                if close is not None:
                    i = self.template_arguments(i, close)
            if self.ahead.kind(i) == "SCOPE" and self.ahead.kind(i + 1) in ("NAME", "TEMPLATE"):
                self.put("SCOPE", i)
                i += 1
                continue
            return i

    def template_arguments(self, lt: int, close: tuple[int, int]) -> int:
        """Mark `<...>`; returns the index after it, or of a `>>` of which an outer list still needs a part."""
        self.enter()
        self.put("T_LT", lt)
        at, used = close
        for number, (start, end) in enumerate(self.split(lt + 1, at, templates=True)):
            if number:
                self.put("COMMA", start - 1)
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
                self.put("ELLIPSIS", end - 1)
        self.put("T_GT", at)
        self.nesting -= 1
        return at + 1 if used == len(self.texts[at]) else at

    def arguments(self, lo: int, hi: int) -> None:
        for number, (start, end) in enumerate(self.split(lo, hi)):
            if number:
                self.put("COMMA", start - 1)
            if start >= end:
                raise NotRead
            starts_type = self.kinds[start] in ("TYPE", "QUALIFIER", "TAG", "TYPENAME") or (
                self.kinds[start] == "NAME" and self.texts[start] in self.ahead.symbols.types
            )
            if starts_type and self.ahead.type_at(start, end) == 2:
                self.type_id(start, end)
            else:
                self.initializer(start, end)

    def braces(self, i: int) -> int:
        end = self.partner_of(i)
        self.enter()
        self.put("LC", i)
        for number, (start, stop) in enumerate(self.split(i + 1, end)):
            if number:
                self.put("COMMA", start - 1)
            if start >= stop:
                if stop == end:  # trailing comma
                    break
                raise NotRead
            if self.kinds[start] == "DOT" and self.ahead.kind(start + 2) == "EQ":
                self.put("DOT", start)
                self.put("NAME", start + 1)
                self.put("EQ", start + 2)
                start += 3
            self.initializer(start, stop)
        self.put("RC", end)
        self.nesting -= 1
        return end + 1

    def initializer(self, lo: int, hi: int) -> None:
        if lo < hi and self.kinds[lo] == "LC" and self.partner_of(lo) == hi - 1:
            self.braces(lo)
        else:
            self.expression(lo, hi)
