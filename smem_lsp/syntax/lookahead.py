"""Is this a type, or a declaration? Lookahead over tokens, no parsing."""

from __future__ import annotations

from smem_lsp.source import checkpoint
from smem_lsp.syntax.names_ahead import NamesAhead
from smem_lsp.syntax.names_ahead import Symbols as Symbols


class Lookahead(NamesAhead):
    """Answers questions about one token list. Token indices are positions in it."""

    __slots__ = ()

    # One function, because it is a state machine over token kinds: what was seen decides how the next one is read.
    def declarators_at(self, i: int, *, parameter: bool = False, certain: bool = False) -> int | None:
        """Where the declarators begin if a declaration starts at ``i``; None if none does. ``certain``: nothing but a
        declaration can stand there, as in the body of a class."""
        kinds, n = self.kinds, self.n
        strong = typed = False  # a keyword that only declarations have; a type was seen
        last_name: int | None = None  # a name after the type: the first declarator, unless another follows
        x = i
        while x < n:
            kind = kinds[x]
            if kind in ("QUALIFIER", "STORAGE", "TYPEDEF", "TYPENAME"):
                if (
                    last_name is not None and kind == "QUALIFIER"
                ):  # `MACRO T const x`: the type came after all
                    last_name = None
                strong = True
                x += 1
            elif kind == "STRING" and x > i and self.texts[x - 1] == "extern":
                x += 1
            elif kind == "TYPE":
                if not typed and not strong and self.kind(x + 1) in ("LP", "LC", "SCOPE"):
                    if self.kind(x + 1) != "LP" or not (parameter or self._declares_inside(x + 1)):
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
                after_macro = self.attribute_macro(x, end, typed) if strong or typed else None
                if after_macro is not None:
                    x = after_macro
                    continue
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
                    if self.kind(x) == "QUALIFIER":
                        continue
                    break
            else:
                break
        if last_name is not None:
            return last_name
        if not typed and not strong:
            return None
        return self._declarator_start(i, x, strong, parameter, certain)

    def _declarator_start(self, i: int, x: int, strong: bool, parameter: bool, certain: bool) -> int | None:
        """After the type, at ``x``: pointer, reference, parenthesis, or nothing."""
        kinds, texts = self.kinds, self.texts
        kind = self.kind(x)
        sure = certain or strong or kinds[i] == "TYPE" or texts[x - 1] in self.symbols.types
        if kind in ("LC", "LP") and kinds[i] == "TYPENAME" and not parameter:  # typename T::X(s).load(p)
            return None
        if kind in ("STAR", "AMP", "AND_AND"):
            return x if sure or self._points(i, x, parameter) else None
        if kind == "LP" and self.kind(x + 1) in ("STAR", "AMP"):
            return x if sure or self._casts_alike(x) else None
        if kind == "LB" and texts[x - 1] == "auto":
            return x
        if strong or kinds[i] == "TYPE" or parameter:
            return x
        return None

    def _points(self, i: int, x: int, parameter: bool) -> bool:
        """Does the `*` or `&` at ``x``, behind what may be a type at ``i``, declare a pointer or a reference?"""
        y = x
        while self.kind(y) in ("STAR", "AMP", "AND_AND", "QUALIFIER"):
            y += 1
        if parameter and self.kind(y) in ("COMMA", "RP", "EQ", "NAME", "LB", "ELLIPSIS", "END"):
            return True
        if self.kind(y) != "NAME" or self.kinds[i] == "SCOPE" or self.texts[x - 1] in self.symbols.values:
            return False
        after = self.kind(self.name_end(y))
        # as expressions `a * b = ...;` is invalid and `a * b;` useless; a reference has an initializer
        return after == "EQ" or (self.kinds[x] == "STAR" and after in ("SEMI", "END"))

    def _casts_alike(self, lp: int) -> bool:
        """`T (*rows)[4] = reinterpret_cast<T (*)[4]>(s);`: does the initializer use ``T`` as a type?"""
        kinds, texts = self.kinds, self.texts
        close = self.partner[lp]
        if self.kind(lp + 2) != "NAME" or close != lp + 3 or self.kind(close + 1) != "LB":
            return False
        x = self.partner[close + 1] + 1
        while self.kind(x) == "LB" and self.partner[x] > x:
            x = self.partner[x] + 1
        if self.kind(x) != "EQ":
            return False
        for y in range(x + 1, min(x + 12, self.n - 1)):
            if texts[y] == texts[lp - 1] and kinds[y] == "NAME" and kinds[y + 1] == "LP":
                return self.kind(y + 2) in ("STAR", "AMP") and self.kind(y + 3) == "RP"
        return False

    def _declares_inside(self, lp: int) -> bool:
        """`(*f)(int)`, `(&r)[4]`, `(C::*m)`, `(x);`: a declarator in parentheses?"""
        following = self.kind(lp + 1)
        if following in ("STAR", "AMP", "AND_AND"):
            return True
        if following != "NAME":
            return False
        if self.kind(lp + 2) == "RP":
            return self.kind(lp + 3) in ("SEMI", "EQ", "LB", "END")
        return self.member_pointer(lp + 1) is not None

    def attribute_macro(self, x: int, end: int, typed: bool) -> int | None:
        """Index after a `MACRO(...)` among specifiers at ``x``, whose name ends at ``end``; None: no such macro."""
        if self.kind(end) != "LP" or self.partner[end] < end or self.kinds[x] != "NAME" or end != x + 1:
            return None
        after = self.partner[end] + 1
        if self.kind(after) in ("TYPE", "QUALIFIER", "TAG", "TYPENAME", "STORAGE", "SCOPE", "ATTRIBUTE"):
            return after
        if self.kind(after) != "NAME":
            return None
        follows = self.kind(self.name_end(after))
        return after if follows == "NAME" or (typed and follows in ("LB", "SEMI", "EQ", "END")) else None

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

    # One function, because it is a state machine over token kinds: what was seen decides how the next one is read.
    def _ends_declarator(self, x: int, stop: int) -> bool:
        """Is what begins with the parenthesis ``x`` a declarator up to ``stop``? ``T() + 1`` goes on as an
        expression."""
        while x < stop and self.kinds[x] in ("LP", "LB"):
            if self.partner[x] <= x:
                return False
            x = self.partner[x] + 1
        while x < stop and self.kinds[x] in ("QUALIFIER", "ELLIPSIS"):
            x += 1
        return x == stop or (x == stop - 1 and self.kinds[x] in ("AMP", "AND_AND"))

    def type_at(self, i: int, stop: int) -> int:
        """Are the tokens ``[i, stop)`` a type-id? 0: no, 1: perhaps (names only), 2: surely."""
        kinds, texts = self.kinds, self.texts
        typed = sure = False
        x = i
        while x < stop:
            checkpoint()
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
                if x < stop and kinds[x] == "LC":
                    x = self.partner[x] + 1 if self.partner[x] > x else stop
            elif kind == "DECLTYPE":
                x = self._after_parentheses(x + 1)
                if x < stop and kinds[x] in ("LP", "LC", "DOT"):
                    return 0
                typed = sure = True
            elif kind in ("NAME", "SCOPE"):
                if typed:
                    return 2 if self.member_pointer(x) == stop else 0
                end = min(self.name_end(x), stop)
                if end <= x:
                    return 0
                typed = True
                sure = (
                    sure
                    or texts[end - 1] in self.symbols.types
                    or (kinds[end - 1] == "GT" and texts[self.own_name(x, end)] in self.symbols.types)
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
                return 2 if self._function_type(x) and self._ends_declarator(x, stop) else 0
            elif kind == "ELLIPSIS" and typed:
                x += 1
            elif kind == "ATTRIBUTE":
                x = self._after_parentheses(x + 1)
            else:
                return 0
        return 0 if not typed else 2 if sure else 1
