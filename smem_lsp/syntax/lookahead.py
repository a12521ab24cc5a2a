"""What stands here: a type, a declaration, a template argument list? Lookahead over tokens, no parsing.

C++ needs name lookup for these questions. Known types and templates (of the file, its headers and CUDA) decide where
they can; otherwise the shape of the tokens does, as it is met in real code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

_TEMPLATE_LOOKAHEAD = 400
_STOPS_TEMPLATE = frozenset("SEMI LC RC AND_AND OR_OR ASSIGN EQ END STRING IF FOR RETURN RP RB".split())
_AFTER_TEMPLATE = frozenset(
    "LP SCOPE LC LAUNCH_OPEN COMMA RP GT SEMI NAME RB AMP STAR ELLIPSIS QUALIFIER SHIFT LAUNCH_CLOSE DOT".split()
)
_AFTER_SURE_TEMPLATE = frozenset("RC EQ AND_AND OR_OR STEP SIGN QUESTION COLON END".split())
_AFTER_DECLARATOR = frozenset("EQ SEMI COMMA LB LP LC COLON".split())


@dataclass(frozen=True, slots=True)
class Symbols:
    """Names that are known to be types and templates."""

    types: frozenset[str]
    templates: frozenset[str]
    key: int = field(default=0, compare=False)  # part of every memo key

    @classmethod
    def of(cls, types: frozenset[str], templates: frozenset[str]) -> Symbols:
        return cls(types, templates, hash((types, templates)))


class Lookahead:
    """Questions about one token list. Token indices are positions in it."""

    __slots__ = ("_closings", "kinds", "n", "partner", "symbols", "texts")

    def __init__(
        self, kinds: Sequence[str], texts: Sequence[str], partner: Sequence[int], symbols: Symbols
    ) -> None:
        self.kinds = kinds
        self.texts = texts
        self.partner = partner
        self.symbols = symbols
        self.n = len(kinds)
        self._closings: dict[int, tuple[int, int] | None] = {}

    def kind(self, i: int) -> str:
        return self.kinds[i] if 0 <= i < self.n else "END"

    def template_close(self, lt: int) -> tuple[int, int] | None:
        """For the `<` at ``lt``: (index of the token that closes the list, how many `>` of it are then used)."""
        if lt not in self._closings:
            self._closings[lt] = self._template_close(lt)
        return self._closings[lt]

    def _template_close(self, lt: int) -> tuple[int, int] | None:
        kinds, texts, types = self.kinds, self.texts, self.symbols.types
        depth = 1
        type_like = comma = False
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
            elif kind == "LC" and self.partner[i] == i + 1:
                i += 1
            elif kind == "COMMA":
                comma = True
            elif kind in _STOPS_TEMPLATE:
                return None
            elif kind in ("TYPE", "TYPENAME") or (kind == "NAME" and texts[i] in types):
                type_like = True
            if depth <= 0:
                return (i, before) if self._is_template(lt, i, type_like, comma) else None
            i += 1
        return None

    def _is_template(self, lt: int, close: int, type_like: bool, comma: bool) -> bool:
        name, following = self.texts[lt - 1], self.kind(close + 1)
        if (
            self.kinds[lt - 1] == "NAMED_CAST"
            or self.kind(lt - 2) == "TEMPLATE"
            or name in self.symbols.templates
        ):
            return True
        if name in self.symbols.types or type_like:
            return following in _AFTER_TEMPLATE or following in _AFTER_SURE_TEMPLATE
        # `a < b > c` is nobody's comparison; `a < b, c > d` might be two arguments of a call
        return following in ("LP", "SCOPE", "LC", "LAUNCH_OPEN") or (following == "NAME" and not comma)

    def name_end(self, i: int) -> int:
        """Index after the qualified name at ``i``, template arguments included. A `>>` that also closes an outer
        list is not passed."""
        if self.kind(i) == "SCOPE":
            i += 1
        while True:
            if self.kind(i) == "TEMPLATE":
                i += 1
            if self.kind(i) != "NAME":
                return i
            i += 1
            if self.kind(i) == "LT":
                close = self.template_close(i)
                if close is not None:
                    if close[1] != len(self.texts[close[0]]):
                        return close[0]
                    i = close[0] + 1
            if self.kind(i) == "SCOPE" and self.kind(i + 1) in ("NAME", "TEMPLATE"):
                i += 1
                continue
            return i

    def declarators_at(self, i: int, *, parameter: bool = False) -> int | None:
        """Where the declarators begin if a declaration starts at ``i``; None if none does."""
        kinds, n = self.kinds, self.n
        strong = typed = False  # a keyword that only declarations have; a type was seen
        last_name: int | None = None  # a name after the type: the first declarator, unless another follows
        x = i
        while x < n:
            kind = kinds[x]
            if kind in ("QUALIFIER", "STORAGE", "TYPEDEF", "TYPENAME"):
                strong = True
                x += 1
            elif kind == "TYPE":
                if not typed and not strong and self.kind(x + 1) in ("LP", "LC", "SCOPE"):
                    if not (self.kind(x + 1) == "LP" and (parameter or self.kind(x + 2) in ("STAR", "AMP"))):
                        return None
                typed = True
                last_name = None
                x += 1
            elif kind == "TAG":
                typed = strong = True
                x = self._after_tag(x)
                last_name = None
            elif kind == "ATTRIBUTE":
                strong = True
                x = self._after_parentheses(x + 1)
            elif kind == "LB" and self.kind(x + 1) == "LB" and self.partner[x] > x:
                x = self.partner[x] + 1
            elif kind == "DECLTYPE":
                x = self._after_parentheses(x + 1)
                if self.kind(x) in ("LP", "LC"):
                    return None
                if self.kind(x) == "SCOPE":
                    x = self.name_end(x)
                typed = strong = True
            elif kind == "NAME" or (kind == "SCOPE" and self.kind(x + 1) == "NAME"):
                if typed and last_name is not None:
                    return last_name if strong else None
                end = self.name_end(x)
                if typed:
                    last_name = x
                typed = True
                x = end
                if last_name is not None:
                    if (
                        self.kind(x) == "NAME" and strong
                    ):  # `__shared__ MACRO T x`: an unknown attribute macro
                        last_name = None
                        continue
                    break
            else:
                break
        if last_name is not None:
            return last_name
        if not typed and not strong:
            return None
        return self._declarator_start(i, x, strong, parameter)

    def _declarator_start(self, i: int, x: int, strong: bool, parameter: bool) -> int | None:
        """After the type, at ``x``: pointer, reference, parenthesis, or nothing."""
        kinds, texts = self.kinds, self.texts
        kind = self.kind(x)
        sure = strong or kinds[i] == "TYPE" or texts[x - 1] in self.symbols.types
        if kind in ("STAR", "AMP", "AND_AND"):
            y = x
            while self.kind(y) in ("STAR", "AMP", "AND_AND", "QUALIFIER"):
                y += 1
            if sure:
                return x
            if parameter and self.kind(y) in ("COMMA", "RP", "EQ", "NAME", "LB", "ELLIPSIS", "END"):
                return x
            if kind != "AND_AND" and self.kind(y) == "NAME":
                after = self.kind(self.name_end(y))
                # `a * b = ...;` and `a * b;` mean nothing as expressions
                if after in ("EQ", "SEMI", "END") or (after == "LB" and kind == "AMP"):
                    return x
            return None
        if kind == "LP" and self.kind(x + 1) in ("STAR", "AMP"):
            return x if sure else None
        if kind == "LP" and kinds[i] == "TYPENAME" and not parameter:  # typename T::X(s).load(p)
            return None
        if kind == "LB" and texts[x - 1] == "auto":
            return x
        if strong or kinds[i] == "TYPE" or parameter:
            return x
        return None

    def _after_parentheses(self, i: int) -> int:
        return self.partner[i] + 1 if self.kind(i) == "LP" and self.partner[i] > i else i

    def _after_tag(self, i: int) -> int:
        while self.kind(i) in ("TAG", "ATTRIBUTE"):
            i = self._after_parentheses(i + 1) if self.kinds[i] == "ATTRIBUTE" else i + 1
        if self.kind(i) in ("NAME", "SCOPE"):
            i = self.name_end(i)
        if self.kind(i) == "COLON":
            while self.kind(i) not in ("LC", "SEMI", "END"):
                i += 1
        if self.kind(i) == "LC" and self.partner[i] > i:
            i = self.partner[i] + 1
        return i

    def type_at(self, i: int, stop: int) -> int:
        """How surely the tokens ``[i, stop)`` are a type-id: 0 not, 1 perhaps (names only), 2 surely."""
        kinds, texts = self.kinds, self.texts
        typed = sure = False
        x = i
        while x < stop:
            kind = kinds[x]
            if kind in ("QUALIFIER", "STORAGE", "TYPENAME"):
                sure = True
                x += 1
            elif kind == "TYPE":
                if typed and not sure:
                    return 0
                typed = sure = True
                x += 1
                if x < stop and kinds[x] in ("LC", "SCOPE"):
                    return 0
                if x < stop and kinds[x] == "LP" and not self._function_type(x):
                    return 0
            elif kind == "TAG":
                typed = sure = True
                x += 1
                if self.kind(x) == "NAME":
                    x = self.name_end(x)
            elif kind == "DECLTYPE":
                x = self._after_parentheses(x + 1)
                if x < stop and kinds[x] in ("LP", "LC", "DOT"):
                    return 0
                typed = sure = True
            elif kind in ("NAME", "SCOPE"):
                if typed:
                    return 0
                end = min(self.name_end(x), stop)
                if end <= x:
                    return 0
                typed = True
                sure = (
                    sure
                    or texts[end - 1] in self.symbols.types
                    or (kinds[end - 1] == "GT" and texts[x] in self.symbols.types)
                )
                x = end
            elif kind in ("STAR", "AMP", "AND_AND") and typed:
                while x < stop and kinds[x] in ("STAR", "AMP", "AND_AND", "QUALIFIER"):
                    x += 1
                if x < stop and kinds[x] == "LB" and self.partner[x] < stop:
                    x = self.partner[x] + 1
                if x == stop:
                    return 2
                return 2 if kinds[x] == "LP" and sure and self.kind(x + 1) == "STAR" else 0
            elif kind == "LB" and typed and sure:
                x = self.partner[x] + 1 if self.partner[x] > x else stop
            elif kind == "LP" and typed and sure:
                return 2 if self._function_type(x) else 0
            elif kind == "ELLIPSIS" and typed:
                x += 1
            elif kind == "ATTRIBUTE":
                x = self._after_parentheses(x + 1)
            else:
                return 0
        return 0 if not typed else 2 if sure else 1

    def _function_type(self, lp: int) -> bool:
        """`(*)`, `(&)`, `()` or `(int)` after a type."""
        following = self.kind(lp + 1)
        return following in ("STAR", "AMP", "RP", "TYPE", "QUALIFIER", "TYPENAME") or (
            following == "NAME" and self.texts[lp + 1] in self.symbols.types
        )
