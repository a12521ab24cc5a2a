"""Marks names: qualified names, template arguments, braces and argument lists."""

from __future__ import annotations

from smem_lsp.syntax.grammar_tokens import GrammarTokenWriter, NotRead


class NameMarks(GrammarTokenWriter):
    """The parts that expressions, types and declarations share."""

    __slots__ = ()

    def name(self, i: int, *, typed: bool = False) -> int:
        """A qualified name; returns the index after it. ``typed``: a declarator may follow."""
        if self.ahead.kind(i) == "SCOPE":
            self.put("SCOPE", i)
            i += 1
        while True:
            if self.ahead.kind(i) == "TEMPLATE":
                i += 1
            if self.ahead.kind(i) == "OPERATOR":
                end = self.ahead.operator_end(i)
                self.put_whole("NAME", i, end)
                i = end
            elif self.ahead.kind(i) != "NAME":
                raise NotRead
            else:
                self.put("NAME", i)
                i += 1
            if self.ahead.kind(i) == "LT":
                close = self.template_list(i, typed=typed)
                if close is not None:
                    i = self.template_arguments(i, close)
            if self.ahead.kind(i) == "SCOPE" and self.ahead.kind(i + 1) in ("NAME", "TEMPLATE", "OPERATOR"):
                self.put("SCOPE", i)
                i += 1
                continue
            return i

    def template_arguments(self, lt: int, close: tuple[int, int]) -> int:
        """Mark `<...>`; returns the index after it, or of a `>>` that also closes an outer list."""
        self.enter()
        self.put("T_LT", lt)
        at, used = close
        self.lists += 1
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
        self.lists -= 1
        self.nesting -= 1
        return at + 1 if used == len(self.texts[at]) else at

    def decltype(self, i: int) -> int:
        """`decltype(e)`; returns the index after it. What is no expression, as `auto`, is not read."""
        end = self.skip_parentheses(i + 1)
        before, doubts = len(self.marks), set(self.doubts)
        state = self.nesting, self.lists, self.listed
        try:
            if end <= i + 3 or self.ahead.type_at(i + 2, end - 1) == 2:
                raise NotRead
            self.put("DECLTYPE", i)
            self.put("LP", i + 1)
            self.lists = 0  # a `>` in it closes no list outside
            self.expression(i + 2, end - 1)
            self.put("RP", end - 1)
        except NotRead:
            del self.marks[before:]
            self.doubts = doubts
            self.put("TYPE", i, end)
        self.nesting, self.lists, self.listed = state
        return end

    def arguments(self, lo: int, hi: int) -> None:
        outer, self.lists = self.lists, 0
        self.listed += 1
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
        self.listed -= 1
        self.lists = outer

    def braces(self, i: int) -> int:
        end = self.partner_of(i)
        self.enter()
        outer, self.lists = self.lists, 0
        self.listed += 1
        self.put("LC", i)
        for number, (start, stop) in enumerate(self.split(i + 1, end)):
            if number:
                self.put("COMMA", start - 1)
            if start >= stop:
                if stop == end:  # trailing comma
                    break
                raise NotRead
            self.initializer(self._designator(start), stop)
        self.put("RC", end)
        self.listed -= 1
        self.lists = outer
        self.nesting -= 1
        return end + 1

    def _designator(self, i: int) -> int:
        """`.x =`, `.x` before `{`, `[3] =`, `x:`; returns where the value starts."""
        start = i
        if self.kinds[i] == "NAME" and self.ahead.kind(i + 1) == "COLON":
            self.put_whole("DESIGNATOR", i, i + 2)
            return i + 2
        while self.ahead.kind(i) == "DOT" or (self.ahead.kind(i) == "LB" and self.partner[i] > i):
            i = i + 2 if self.kinds[i] == "DOT" else self.partner[i] + 1
        if i == start or self.ahead.kind(i) not in ("EQ", "LC"):
            return start
        if self.ahead.kind(i) == "EQ":
            i += 1
        elif self.kinds[start] == "LB":  # a lambda's `[]` before its body
            return start
        self.put_whole("DESIGNATOR", start, i)
        return i

    def initializer(self, lo: int, hi: int) -> None:
        if lo < hi and self.kinds[lo] == "LC" and self.partner_of(lo) == hi - 1:
            self.braces(lo)
        else:
            self.expression(lo, hi)
