"""Marks expressions: operands and operators, casts or parentheses, lambdas, launches."""

from __future__ import annotations

from smem_lsp.syntax.classify_types import TypeMarks
from smem_lsp.syntax.grammar_tokens import NotRead

_OPERAND_ENDS = frozenset(("NUMBER", "LITERAL", "STRING"))
_BINARY = frozenset(
    "OR_OR AND_AND OR XOR AMP EQUALITY LT GT RELATION SHIFT SIGN STAR FACTOR EQ ASSIGN".split()
)
_OPERATORS = _BINARY | {"QUESTION", "COLON", "COMMA"}
_ASSIGNMENTS = frozenset(("EQ", "ASSIGN"))
_UNARY = frozenset(("STEP", "NOT", "THROW"))
_PREFIXES = frozenset(("SIGN", "STAR", "AMP", "AND_AND"))  # where an operand may start; else they are binary
_CAST_OPERAND = frozenset("NAME NUMBER LITERAL STRING LP NAMED_CAST SIZEOF TYPE SCOPE DECLTYPE NEW".split())
_SURE_CAST_OPERAND = frozenset("NAME NUMBER LITERAL STRING NAMED_CAST SIZEOF TYPE TYPENAME SCOPE NEW".split())
_CAST_UNARY = frozenset(("STAR", "AMP", "SIGN", "NOT", "STEP"))


class ExpressionMarks(TypeMarks):
    """Expressions."""

    __slots__ = ()

    def expression(self, lo: int, hi: int) -> None:
        """Mark an expression; commas are the comma operator."""
        self.enter()
        if lo >= hi:
            raise NotRead
        i = lo
        operand = True  # an operand may start here (else: an operator)
        while i < hi:
            kind = self.kinds[i]
            if kind == "NAME":
                i = self._named(i, hi, operand)
                operand = False
            elif kind in _OPERAND_ENDS:
                self.put(kind, i)
                i += 1
                operand = False
            elif kind in _UNARY or (operand and kind in _PREFIXES):
                self.put(kind, i)
                i += 1
            elif kind in _OPERATORS:
                self.put(kind, i)
                i += 1
                operand = True
                if kind in _ASSIGNMENTS and i < hi and self.kinds[i] == "LC":
                    i = self.braces(i)
                    operand = False
            elif kind == "LP":
                i, operand = self._parenthesis(i, hi, operand)
            elif kind == "SIZEOF":
                i, operand = self._sizeof(i)
            elif kind == "ELLIPSIS":
                i, operand = self._ellipsis(i, hi, operand)
            elif kind == "DELETE":
                i = self._delete(i)
            elif kind == "EXTENSION" or (kind == "SCOPE" and self.ahead.kind(i + 1) in ("NEW", "DELETE")):
                i += 1
            else:
                i = self._operand_part(i, hi, operand)
                operand = False
        self.nesting -= 1

    def _operand_part(self, i: int, hi: int, operand: bool) -> int:
        """What an operator comes after, other than a name, a literal and parentheses; returns the index after it."""
        match self.kinds[i]:
            case "SCOPE" | "OPERATOR":
                return self._named(i, hi, operand)
            case "DOT":
                return self._member(i)
            case "LB":
                return self._lambda(i, hi) if operand else self._subscript(i)
            case "NAMED_CAST":
                return self._named_cast(i)
            case "TYPE" | "DECLTYPE" | "TYPENAME":
                return self._functional_cast(i, hi)
            case "LAUNCH_OPEN":
                return self._launch(i, hi)
            case "NEW":
                return self._new(i, hi)
            case "LC" if operand:
                return self.braces(i)
            case _:
                raise NotRead

    def _named(self, i: int, hi: int, operand: bool) -> int:
        """A name, with the braces of `T{1, 2}`."""
        if not operand:
            if self.kinds[i] != "NAME" or self.marks[-1].type != "STRING":
                raise NotRead
            self.put("STRING", i)  # "%" PRIu32 "\n": an unknown macro
            return i + 1
        i = self.name(i)
        return self.braces(i) if i < hi and self.kinds[i] == "LC" else i

    def _member(self, i: int) -> int:
        self.put("DOT", i)
        i += 1
        if self.ahead.kind(i) == "NOT":
            i += 1
        return self.name(i)

    def _ellipsis(self, i: int, hi: int, operand: bool) -> tuple[int, bool]:
        """Of a pack, `1 ... 5`, or an operand of a fold."""
        if operand:
            self.put("FOLD", i)
            return i + 1, False
        self.put("ELLIPSIS", i)
        i += 1
        return i, i < hi and self.kinds[i] not in _BINARY

    def _delete(self, i: int) -> int:
        self.put("DELETE", i)
        i += 1
        if self.ahead.kind(i) == "LB":
            self.put("LB", i)
            self.put("RB", i + 1)
            i += 2
        return i

    def _parenthesis(self, i: int, hi: int, operand: bool) -> tuple[int, bool]:
        end = self.partner_of(i)
        if end >= hi:
            raise NotRead
        if not operand:
            self.put("LP", i)
            self.arguments(i + 1, end)
            self.put("RP", end)
            return end + 1, False
        if self.kinds[i + 1] == "LC" and self.partner[i + 1] == end - 1:
            self.put("STATEMENT_EXPR", i, end + 1)
            return end + 1, False
        certainty = self.ahead.type_at(i + 1, end)
        if certainty and self._casts(i, end + 1, hi, certainty):
            self.put("CAST_LP", i)
            self.type_id(i + 1, end)
            self.put("RP", end)
            if end + 1 < hi and self.kinds[end + 1] == "LC":
                return self.braces(end + 1), False
            return end + 1, True
        self.put("LP", i)
        self._enclosed(i + 1, end)
        self.put("RP", end)
        return end + 1, False

    def _subscript(self, i: int) -> int:
        """`[index]`; commas are C++23's, or the comma operator."""
        end = self.partner_of(i)
        outer, self.lists = self.lists, 0
        self.put("LB", i)
        self.initializer(i + 1, end)
        self.put("RB", end)
        self.lists = outer
        return end + 1

    def _enclosed(self, lo: int, hi: int) -> None:
        """The expression between parentheses: a `>` in it closes no list outside."""
        outer, self.lists = self.lists, 0
        self.expression(lo, hi)
        self.lists = outer

    def _casts(self, lp: int, i: int, hi: int, certainty: int) -> bool:
        """Is `(type)` before ``i`` a cast? ``(x) - 1`` is not; ``(T)x`` is, even for an unknown T.

        ``(x)(y)``, ``(x) - y`` and the like are ambiguous. The spelling of an undeclared name decides, and the name
        becomes a doubt.
        """
        if i >= hi:
            return False
        kind = self.kinds[i]
        if certainty > 1:
            return kind in _CAST_OPERAND or kind in _CAST_UNARY or kind in ("LC", "LB")
        if kind in _SURE_CAST_OPERAND or kind in ("NOT", "LC"):
            return kind != "NOT" or self.texts[i] not in ("not", "compl")
        name = self.texts[i - 2]
        if kind not in ("LP", "STAR", "AMP", "SIGN", "STEP") or name in self.ahead.symbols.values:
            return False
        if kind == "STEP" and (i + 1 >= hi or self.kinds[i + 1] not in ("NAME", "LP", "STAR", "SCOPE")):
            return False  # (x)++
        if self.ahead.name_end(lp + 1) != i - 1 or name in self.ahead.symbols.templates:
            return False
        if self.kinds[i - 2] != "NAME":  # (A<int>)(x)
            self.doubts.add(self.texts[self.ahead.own_name(lp + 1, i - 1)])
            return True
        typed = name.endswith("_t")
        if not (typed and kind == "LP"):  # in `(size_t)(y)` nobody parenthesises the name of a function
            self.doubts.add(name)
        return typed

    def _sizeof(self, i: int) -> tuple[int, bool]:
        self.put("SIZEOF", i)
        i += 1
        if self.ahead.kind(i) == "ELLIPSIS":
            self.put("ELLIPSIS", i)
            i += 1
        if self.ahead.kind(i) == "LP":
            end = self.partner_of(i)
            if self.ahead.type_at(i + 1, end) == 2:
                self.put("SIZE_LP", i)
                self.type_id(i + 1, end)
                self.put("RP", end)
                return end + 1, False
        return i, True

    def _named_cast(self, i: int) -> int:
        self.put("NAMED_CAST", i)
        if self.ahead.kind(i + 1) != "LT":
            raise NotRead
        close = self.template_list(i + 1)
        if close is None or close[1] != len(self.texts[close[0]]):
            raise NotRead
        self.put("T_LT", i + 1)
        self.lists += 1
        self.type_id(i + 2, close[0])
        self.lists -= 1
        self.put("T_GT", close[0])
        i = close[0] + 1
        if self.ahead.kind(i) != "LP":
            raise NotRead
        end = self.partner_of(i)
        self.put("LP", i)
        self._enclosed(i + 1, end)
        self.put("RP", end)
        return end + 1

    def _functional_cast(self, i: int, hi: int) -> int:
        if self.kinds[i] == "TYPENAME":
            i += 1
            if self.ahead.kind(i) not in ("NAME", "SCOPE"):
                raise NotRead
            i = self.name(i)
        elif self.kinds[i] == "DECLTYPE":
            i = self.decltype(i)
        else:
            while i < hi and self.kinds[i] == "TYPE":
                self.put("TYPE", i)
                i += 1
        if i < hi and self.kinds[i] == "LC":
            return self.braces(i)
        if i >= hi or self.kinds[i] != "LP":
            raise NotRead
        end = self.partner_of(i)
        self.put("LP", i)
        self.arguments(i + 1, end)
        self.put("RP", end)
        return end + 1

    def _launch(self, i: int, hi: int) -> int:
        depth = 1
        close = i + 1
        while close < hi:
            kind = self.kinds[close]
            if kind in ("LP", "LB", "LC"):
                close = self.partner_of(close)
            elif kind == "LAUNCH_OPEN":
                depth += 1
            elif kind == "LAUNCH_CLOSE":
                depth -= 1
                if depth == 0:
                    break
            close += 1
        if close >= hi or self.ahead.kind(close + 1) != "LP":
            raise NotRead
        self.put("LAUNCH_OPEN", i)
        self.arguments(i + 1, close)
        self.put("LAUNCH_CLOSE", close)
        end = self.partner_of(close + 1)
        self.put("LP", close + 1)
        self.arguments(close + 2, end)
        self.put("RP", end)
        return end + 1

    def _new(self, i: int, hi: int) -> int:
        self.put("NEW", i)
        i += 1
        if self.ahead.kind(i) == "LP":
            end = self.partner_of(i)
            self.put("NEW_LP", i)
            self.arguments(i + 1, end)
            self.put("RP", end)
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
                stop = self.partner_of(stop) + 1
            else:
                stop += 1
        self.type_id(i, stop)
        i = stop
        if i < hi and self.kinds[i] == "LP":
            end = self.partner_of(i)
            self.put("NEW_LP", i)
            self.arguments(i + 1, end)
            self.put("RP", end)
            i = end + 1
        elif i < hi and self.kinds[i] == "LC":
            i = self.braces(i)
        return i

    def _lambda(self, i: int, hi: int) -> int:
        end = self.partner_of(i)
        self.put("LAMBDA", i, end + 1)
        i = end + 1
        if i < hi and self.kinds[i] == "LT":
            close = self.ahead.template_close(i)
            i = close[0] + 1 if close else i + 1
        while i < hi and self.kinds[i] in ("STORAGE", "ATTRIBUTE"):
            i = self.skip_parentheses(i + 1) if self.kinds[i] == "ATTRIBUTE" else i + 1
        if i < hi and self.kinds[i] == "LP":
            close_paren = self.partner_of(i)
            self.put("PARAMS", i, close_paren + 1)
            i = close_paren + 1
        while i < hi and self.kinds[i] not in ("LC", "SEMI"):
            i += 1
        if i >= hi or self.kinds[i] != "LC":
            raise NotRead
        end = self.partner_of(i) + 1
        self.put("BODY", i, end)
        return end
