"""Cuts a function body into chunks for the statement grammar. Never fails: tokens it cannot read become CHUNK_BAD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.grammar_tokens import GrammarToken
from smem_lsp.syntax.known_names import wait_only
from smem_lsp.syntax.lookahead import Lookahead

_HEADS = {"IF": "COND", "WHILE": "COND", "SWITCH": "COND", "FOR": "HEAD", "CATCH": "HEAD"}
_STARTERS = frozenset(
    "IF FOR WHILE DO SWITCH CASE DEFAULT RETURN BREAK CONTINUE GOTO ELSE STORAGE USING TYPEDEF TRY ASM".split()
)
_KEYWORDS = _STARTERS - {"STORAGE", "ASM"}  # which never stand in an expression
_SPECIFIERS = frozenset("TYPENAME TYPE QUALIFIER STORAGE TAG TYPEDEF DECLTYPE ATTRIBUTE".split())
_AFTER_MACRO = frozenset(
    "NAME IF FOR WHILE RETURN TYPE RC STORAGE LC QUALIFIER DO SWITCH ASM BREAK CONTINUE TAG".split()
)
_NEVER_AFTER_CALL = frozenset("NAME IF FOR WHILE RETURN TYPE DO SWITCH BREAK CONTINUE".split())
_BEFORE_BRACE = frozenset(
    "EQ ASSIGN NAME RB RP COMMA LC GT RETURN DOT SHIFT TAG TYPE STEP STORAGE QUALIFIER LP COLON".split()
    + "AMP AND_AND STAR".split()  # `-> int& {` of a lambda
)


@dataclass(slots=True)
class Chunks:
    """``marks`` for the grammar; ``macros``: unexpanded macro statements; ``open_ended``: statements that lack their
    `;`, or go on; ``unfinished``: those of them that surely lack it; ``repaired``: a brace was implied."""

    marks: list[GrammarToken] = field(default_factory=list)
    macros: list[tuple[int, int]] = field(default_factory=list)
    open_ended: list[tuple[int, int]] = field(default_factory=list)
    unfinished: list[tuple[int, int]] = field(default_factory=list)
    repaired: bool = False


def cut(ahead: Lookahead, lo: int, hi: int, line_start: Sequence[bool]) -> Chunks:
    """Chunks of the tokens ``[lo, hi)``. ``line_start[i]``: token i is the first of its line."""
    return _Cutter(ahead, lo, hi, line_start).run()


class _Cutter:
    __slots__ = (
        "ahead",
        "declarators",
        "depth",
        "hi",
        "kinds",
        "line_start",
        "lo",
        "out",
        "partner",
        "texts",
    )

    def __init__(self, ahead: Lookahead, lo: int, hi: int, line_start: Sequence[bool]) -> None:
        self.ahead = ahead
        self.kinds = ahead.kinds
        self.texts = ahead.texts
        self.partner = ahead.partner
        self.lo = lo
        self.hi = hi
        self.line_start = line_start
        self.out = Chunks()
        self.depth = 0
        self.declarators = 0  # where those of the last declaration begin

    def run(self) -> Chunks:
        i = self.lo
        while i < self.hi:
            checkpoint()
            i = self._chunk(i)
        for _ in range(self.depth):
            self._put("CLOSE", self.hi, self.hi)
            self.out.repaired = True
        return self.out

    def _put(self, kind: str, lo: int, hi: int) -> None:
        self.out.marks.append(GrammarToken(kind, lo, hi, self.texts[lo] if lo < len(self.texts) else ""))

    def _closed(self, i: int) -> bool:
        """Is the bracket at ``i`` closed inside the body?"""
        return i < self.partner[i] < self.hi

    def _chunk(self, i: int) -> int:
        kind = self.kinds[i]
        if kind == "SEMI":
            self._put("SEMI", i, i + 1)
            return i + 1
        if kind == "LC":
            self._put("OPEN", i, i + 1)
            self.depth += 1
            return i + 1
        if kind == "RC":
            if self.depth:
                self._put("CLOSE", i, i + 1)
                self.depth -= 1
            else:
                self._put("CHUNK_BAD", i, i + 1)
                self.out.repaired = True
            return i + 1
        if kind in _HEADS:
            return self._head(i)
        if kind in ("ELSE", "DO", "TRY"):
            self._put(kind, i, i + 1)
            return i + 1
        if kind == "CASE":
            return self._case(i)
        if kind == "DEFAULT":
            self._put(kind, i, i + 1)
            if self._kind(i + 1) == "COLON":
                self._put("COLON", i + 1, i + 2)
                return i + 2
            return i + 1
        if kind == "NAME" and self._kind(i + 1) == "COLON":
            self._put("LABEL", i, i + 1)
            self._put("COLON", i + 1, i + 2)
            return i + 2
        if kind in ("RP", "RB"):
            self._put("CHUNK_BAD", i, i + 1)
            return i + 1
        if kind == "LB" and self._kind(i + 1) == "LB" and self._closed(i):
            return self.partner[i] + 1  # [[attribute]]
        if kind == "HASH" or (kind == "NAME" and self.texts[i] == "_Pragma"):
            return self._pragma(i)
        if kind in ("BREAK", "CONTINUE"):
            self._put("JUMP", i, i + 1)
            return i + 1
        if kind in ("RETURN", "GOTO"):
            end = i + 1 if self._is_statement(i + 1) else self._end(i + 1, "CHUNK_EXPR")
            self._needs_semicolon(i, end)
            if kind == "GOTO" or end == i + 1:
                self._put("JUMP", i, end)
                return end
            self._put("RETURN_VALUE", i, i + 1)
            self._put("CHUNK_EXPR", i + 1, end)
            return end
        return self._simple(i)

    def _pragma(self, i: int) -> int:
        """Skip `_Pragma("unroll")`, or a `#pragma unroll` from a macro, which ends with the line of the macro."""
        if self._kind(i + 1) == "LP" and self._closed(i + 1):
            return self.partner[i + 1] + 1
        i += 1
        while i < self.hi and not self.line_start[i]:
            i += 1
        return i

    def _kind(self, i: int) -> str:
        return self.kinds[i] if i < self.hi else "END"

    def _head(self, i: int) -> int:
        """`if (...)`: the keyword and its parentheses."""
        kind = self.kinds[i]
        self._put(kind, i, i + 1)
        j = i + 1
        if kind == "IF":
            negated = self._kind(j) == "NOT"
            if self._kind(j + negated) == "STORAGE" and self.texts[j + negated] == "consteval":
                self._put("COND", j, j + negated + 1)
                return j + negated + 1
            if self._kind(j) == "STORAGE":  # if constexpr
                j += 1
        if self._kind(j) == "NAME" and self._kind(j + 1) == "LP" and not self._is_statement(j):
            j += 1  # an attribute macro
        if self._kind(j) == "LP" and self._closed(j):
            self._put(_HEADS[kind], j + 1, self.partner[j])
            return self.partner[j] + 1
        end = j
        while (
            end < self.hi
            and self.kinds[end] not in ("LC", "SEMI", "RC")
            and not (self.line_start[end] and (end > j or self._is_statement(end)))
        ):
            end += 1
        self._put(_HEADS[kind], j, end)
        self.out.repaired = True
        return max(end, i + 1)

    def _case(self, i: int) -> int:
        self._put("CASE", i, i + 1)
        j = i + 1
        questions = 0
        while j < self.hi and self.kinds[j] not in ("SEMI", "RC", "LC"):
            if self.kinds[j] in ("LP", "LB") and self._closed(j):
                j = self.partner[j]
            elif self.kinds[j] == "QUESTION":
                questions += 1
            elif self.kinds[j] == "COLON":
                if questions == 0:
                    break
                questions -= 1
            j += 1
        self._put("CHUNK_EXPR", i + 1, j)
        if self._kind(j) == "COLON":
            self._put("COLON", j, j + 1)
            j += 1
        else:
            self._put("COLON", j, j)
            self.out.repaired = True
        return max(j, i + 1)

    def _simple(self, i: int) -> int:
        """An expression, declaration or other statement that ends with `;`."""
        kind = self.kinds[i]
        chunk = "CHUNK_EXPR"
        if kind == "ASM":
            chunk = "CHUNK_ASM"
            j = i + 1
            while self._kind(j) in ("QUALIFIER", "STORAGE", "GOTO"):
                j += 1
            if self._kind(j) == "LP" and self._closed(j):
                end = self.partner[j] + 1
                self._put(chunk, i, end)
                self._needs_semicolon(i, end)
                return end
        elif kind in ("USING", "NAMESPACE", "STATIC_ASSERT", "TEMPLATE"):
            chunk = "CHUNK_USING"
        elif kind in _SPECIFIERS or kind in ("NAME", "SCOPE"):
            macro = self._macro_statement(i)
            if macro is not None:
                self.out.macros.append((i, macro))
                heads = self._kind(macro) == "LC" and self._closed(macro)
                self._put("MACRO_HEAD" if heads else "CHUNK_MACRO", i, macro)
                return macro
            if self._declares(i):
                chunk = "CHUNK_DECL"
        end = self._end(i, chunk)
        if end == i:
            self._put("CHUNK_BAD", i, i + 1)
            return i + 1
        self._put(chunk, i, end)
        self._needs_semicolon(i, end)
        return end

    def _needs_semicolon(self, i: int, end: int) -> None:
        if self._kind(end) != "SEMI":
            self.out.open_ended.append((i, end))
            if self._kind(end) in _KEYWORDS or self._is_statement(end):
                self.out.unfinished.append((i, end))

    def _declares(self, i: int) -> bool:
        if self.kinds[i] == "NAME" and self._kind(i + 1) in ("LP", "LB", "EQ", "DOT", "ASSIGN", "STEP"):
            if self._kind(i + 1) != "LP" or self._kind(i + 2) not in ("STAR", "AMP"):  # T (*rows)[4]
                return False
        at = self.ahead.declarators_at(i)
        if at is None or at > self.hi or self._is_statement(at):
            return False
        self.declarators = at
        return True

    def _macro_statement(self, i: int) -> int | None:
        """End of `NAME(...)` without `;`, or of a lone `NAME` on its own line before a statement keyword."""
        if self.kinds[i] != "NAME":
            return None
        following = self._kind(i + 1)
        if following == "LP" and self._closed(i + 1):
            end = self.partner[i + 1] + 1
            after = self._kind(end)
            if after == "LC" or (after in _AFTER_MACRO and self.line_start[end]):
                return end
            # `FOR_EACH(i, n) a[i] = 0;`: no operand or keyword follows a call
            return end if after in _NEVER_AFTER_CALL and not self._declares(i) else None
        if following in _STARTERS and following != "STORAGE" and self.line_start[i]:
            return i + 1
        return None

    def _end(self, i: int, chunk: str) -> int:
        """The end of the statement that starts at ``i``: its `;`, or where the next one seems to start."""
        declares = chunk == "CHUNK_DECL"
        # no statement starts among specifiers: `__align__(16)` may end a line
        declarators = self.declarators if declares else i
        j = i
        while j < self.hi:
            kind = self.kinds[j]
            if kind in ("SEMI", "RC"):
                break
            if kind in ("LP", "LB"):
                if not self._closed(j):
                    return self._end_of_broken(j + 1)
                j = self.partner[j]
            elif kind == "LC":
                if not self._closed(j) or not (
                    declares or (j > i and self.kinds[j - 1] in _BEFORE_BRACE) or j == i
                ):
                    break
                j = self.partner[j]
            elif kind == "OPERATOR":
                j = max(self.ahead.operator_end(j), j + 1)
                continue
            elif j > i and kind in _STARTERS and not (declares and kind in ("STORAGE", "TYPEDEF")):
                if not (kind == "ASM" or (kind == "STORAGE" and self.kinds[j - 1] in ("RB", "RP"))):  # lambda
                    break
            elif j > i and self.line_start[j]:
                if self._is_statement(j) or (j > declarators and self._starts_statement(i, j, declares)):
                    break
            j += 1
        return j

    def _end_of_broken(self, j: int) -> int:
        """An unclosed parenthesis: the statement ends with its line."""
        while j < self.hi and self.kinds[j] not in ("SEMI", "LC", "RC") and not self.line_start[j]:
            j += 1
        return j

    def _is_statement(self, j: int) -> bool:
        """Does a line begin with a barrier? Whatever stands in front of it is not finished."""
        return self._kind(j + 1) == "LP" and self.line_start[j] and self.texts[j] in wait_only()

    def _starts_statement(self, i: int, j: int, declares: bool) -> bool:
        """A line that cannot continue the statement before it: its `;` is missing."""
        kind, before = self.kinds[j], self.kinds[j - 1]
        if declares and j < i + 4:
            return False
        if kind == "TYPE":
            return before in ("NAME", "RP", "RB", "NUMBER", "LITERAL", "STEP")
        return (
            kind == "NAME"
            and before in ("NAME", "RP", "RB", "NUMBER", "LITERAL")
            and not (declares and before == "NAME" and j < i + 6)
        )
