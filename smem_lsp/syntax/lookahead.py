"""Is this a type, or a declaration? Lookahead over tokens, no parsing."""

from __future__ import annotations

from smem_lsp.source import checkpoint
from smem_lsp.syntax.names_ahead import NamesAhead
from smem_lsp.syntax.names_ahead import Symbols as Symbols

_SPECIFIERS = frozenset(("QUALIFIER", "STORAGE", "TYPEDEF", "TYPENAME"))
_WORDS_OF_TYPES = frozenset(("QUALIFIER", "STORAGE", "TYPENAME"))
_SURE_TYPES = frozenset(("TYPE", "TAG", "DECLTYPE"))
_POINTERS = frozenset(("STAR", "AMP", "AND_AND"))


class Lookahead(NamesAhead):
    """Answers questions about one token list. Token indices are positions in it."""

    __slots__ = ()

    def declarators_at(self, i: int, *, parameter: bool = False, certain: bool = False) -> int | None:
        """Where the declarators begin if a declaration starts at ``i``; None if none does. ``certain``: nothing but a
        declaration can stand there, as in the body of a class."""
        kinds, n = self.kinds, self.n
        strong = typed = False  # a keyword that only declarations have; a type was seen
        x = i
        while x < n:
            kind = kinds[x]
            if kind in _SPECIFIERS:
                strong = True
                x += 1
            elif kind == "NAME" or (kind == "SCOPE" and self.kind(x + 1) == "NAME"):
                end = self.name_end(x)
                after_macro = self.attribute_macro(x, end, typed) if strong or typed else None
                if after_macro is not None:
                    x = after_macro
                    continue
                if typed and not self._type_goes_on(end, strong):
                    return x
                typed = True
                x = end
            elif kind == "TYPE":
                if not (typed or strong) and self._makes_value(x + 1, parameter):
                    return None
                typed = True
                x += 1
            elif kind == "TAG":
                typed = strong = True
                x = self._after_tag(x)
            elif kind == "DECLTYPE":
                x = self._after_decltype(x + 1)
                if x < 0:
                    return None
                typed = strong = True
            elif kind == "ATTRIBUTE":
                strong = True
                x = self._after_parentheses(x + 1)
            else:
                after = self._after_annotation(x, i)
                if after == x:
                    break
                x = after
        if not typed and not strong:
            return None
        return self._declarator_start(i, x, strong, parameter, certain)

    def _type_goes_on(self, end: int, strong: bool) -> bool:
        """Does the type come after, or go on behind, the second name of a declaration, which ends at ``end``?
        `MACRO T const x`, and `__shared__ MACRO T x` with an unknown attribute macro."""
        following = self.kind(end)
        return following == "QUALIFIER" or (strong and following == "NAME")

    def _makes_value(self, i: int, parameter: bool) -> bool:
        """Does the keyword of a type before ``i`` begin an expression? `int(x) + 1`, `int{}`, but not `int (*p)[4]`."""
        following = self.kind(i)
        if following == "LP":
            return not (parameter or self._declares_inside(i))
        return following in ("LC", "SCOPE")

    def _after_annotation(self, x: int, start: int) -> int:
        """Index after the `[[nodiscard]]` or the `"C"` of `extern "C"` at ``x``; ``x`` if neither stands there."""
        kind = self.kinds[x]
        if kind == "LB" and self.kind(x + 1) == "LB" and self.partner[x] > x:
            return self.partner[x] + 1
        return x + 1 if kind == "STRING" and x > start and self.texts[x - 1] == "extern" else x

    def _after_decltype(self, i: int) -> int:
        """Index after the `(e)` or `(e)::member` of a `decltype` at ``i``; -1 if it begins an expression."""
        i = self._after_parentheses(i)
        following = self.kind(i)
        if following in ("LP", "LC"):
            return -1
        return self.name_end(i) if following == "SCOPE" else i

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

    def type_at(self, i: int, stop: int) -> int:
        """Are the tokens ``[i, stop)`` a type-id? 0: no, 1: perhaps (names only), 2: surely."""
        kinds = self.kinds
        typed = sure = False
        x = i
        while x < stop:
            checkpoint()
            kind = kinds[x]
            if kind == "NAME" or kind == "SCOPE":
                if typed:
                    return 2 if self.member_pointer(x) == stop else 0
                end = min(self.name_end(x), stop)
                if end <= x:
                    return 0
                typed = True
                sure = sure or self._names_type(x, end)
                x = end
            elif kind in _SURE_TYPES:
                if kind == "TYPE" and typed and not sure:
                    return 0
                x = self._after_sure_type(x, stop)
                if x < 0:
                    return 0
                typed = sure = True
            elif kind in _WORDS_OF_TYPES:
                sure = True
                x += 1
            elif kind == "ATTRIBUTE":
                x = self._after_parentheses(x + 1)
            elif not typed:
                return 0
            elif kind == "ELLIPSIS":
                x += 1
            elif kind == "LB" and sure:
                x = self.partner[x] + 1 if self.partner[x] > x else stop
            else:
                return 2 if self._ends_type(x, stop, sure) else 0
        return 0 if not typed else 2 if sure else 1

    def _names_type(self, i: int, end: int) -> bool:
        """Is the qualified name ``[i, end)`` that of a known type, or of a template of types with its arguments?"""
        types = self.symbols.types
        return self.texts[end - 1] in types or (
            self.kinds[end - 1] == "GT" and self.texts[self.own_name(i, end)] in types
        )

    def _after_sure_type(self, x: int, stop: int) -> int:
        """Index after the `int`, `struct S` or `decltype(e)` at ``x``; -1 if an expression begins there: `int(3)`."""
        kinds = self.kinds
        kind = kinds[x]
        x += 1
        if kind == "TYPE":
            following = kinds[x] if x < stop else "END"
            makes_value = following in ("LC", "SCOPE") or (following == "LP" and not self._function_type(x))
            return -1 if makes_value else x
        if kind == "DECLTYPE":
            x = self._after_parentheses(x)
            return -1 if x < stop and kinds[x] in ("LP", "LC", "DOT") else x
        if self.kind(x) == "NAME":
            x = self.name_end(x)
        if x < stop and kinds[x] == "LC":
            return self.partner[x] + 1 if self.partner[x] > x else stop
        return x

    def _ends_type(self, x: int, stop: int, sure: bool) -> bool:
        """Is what begins at ``x``, behind a type, the rest of a type-id up to ``stop``: pointers, or the parentheses
        of a function type? ``sure``: it is a type."""
        kinds = self.kinds
        if kinds[x] == "LP":
            return sure and self._function_type(x) and self._ends_declarator(x, stop)
        if kinds[x] not in _POINTERS:
            return False
        while x < stop and (kinds[x] in _POINTERS or kinds[x] == "QUALIFIER"):
            x += 1
        if x < stop and kinds[x] == "LB" and self.partner[x] < stop:
            x = self.partner[x] + 1
        return x == stop or (kinds[x] == "LP" and sure and self.kind(x + 1) == "STAR")

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
