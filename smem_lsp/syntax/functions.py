"""Function islands: where each function definition starts and ends. Layout decides where braces do not match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from smem_lsp.source import checkpoint, record
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.brackets import template_close

# In column 0 inside an open function body these start a new function: the body above lacks a closing brace.
# (`extern` and `static` do not: unindented bodies hold `extern __shared__ ...`.)
TOP_LEVEL = frozenset(("__global__", "__device__", "__host__", "template", "namespace"))


# In the column of an indented function these start the next declaration: its body is indented further.
_OUTSIDE = frozenset("RC TAG USING TYPEDEF TEMPLATE NAMESPACE ACCESS STORAGE".split())
# Between the parameters and the body of a function; a NAME is `override`, `final` or a macro.
_AFTER_PARAMETERS = frozenset("QUALIFIER SIZEOF ATTRIBUTE STORAGE AMP AND_AND NAME LB".split())


@record
class FunctionIsland:
    """Token indices of one function definition, half-open ranges into the file's tokens."""

    head: int  # first token of the declaration (template header included)
    name: int
    parameters: tuple[int, int]  # between the parentheses
    body: tuple[int, int]  # between the braces
    end: int  # after the closing brace
    specifiers: frozenset[str]
    template: bool
    enclosing: tuple[str, ...]  # names of namespaces and classes around it; "" for an anonymous namespace
    repaired: bool  # a brace was implied
    of_pack: bool = False  # made of a template with a pack, for a number of arguments

    def moved(self, by: int) -> FunctionIsland:
        """The same island ``by`` tokens further on."""
        (first, last), (lo, hi) = self.parameters, self.body
        return FunctionIsland(
            self.head + by,
            self.name + by,
            (first + by, last + by),
            (lo + by, hi + by),
            self.end + by,
            self.specifiers,
            self.template,
            self.enclosing,
            self.repaired,
            self.of_pack,
        )


@dataclass(slots=True)
class Islands:
    """The functions of some tokens. ``islands``: each with the number of outer scopes closed before it (scopes that
    earlier tokens opened); ``closes``: that number at the end; ``opens``: (name, is a class) of scopes left open;
    ``open``: the last definition is incomplete; ``braces``: where functions and scopes end; ``whole``: but for
    namespaces that earlier tokens opened, and end first, and those left open, nothing goes on before or behind."""

    islands: list[tuple[FunctionIsland, int]]
    closes: int
    opens: tuple[tuple[str, bool], ...]
    open: bool
    braces: list[BraceEnd]
    whole: bool = True


@record
class BraceEnd:
    """The `{` at index ``opening`` of a function or scope extends to ``end``, half-open. ``closed``: the last token
    is its `}`; otherwise the `}` is missing."""

    opening: int
    end: int
    closed: bool


@dataclass(slots=True)
class _Scope:
    """A namespace, class or linkage block. ``brace``: the index of its `{`."""

    name: str
    is_class: bool
    brace: int


def find_functions(
    kinds: Sequence[str],
    texts: Sequence[str],
    columns: Sequence[int],
    partner: Sequence[int],
    indent: Callable[[int], int] | None = None,
) -> Islands:
    """All function definitions at namespace and class scope, in order.

    ``columns``: 0 for tokens in column 0, positive elsewhere, -1 for tokens from macro bodies; ``partner``: bracket
    partners; ``indent``: the column of a token that is the first of its line, -1 for any other. ``indent`` is called
    only where braces do not match.
    """
    return _FunctionFinder(kinds, texts, columns, partner, indent).run()


class _FunctionFinder:
    """Walks over declarations and skips each function as a whole. So every `}` it meets closes a scope, and missing
    or extra braces inside functions do not change which one."""

    def __init__(
        self,
        kinds: Sequence[str],
        texts: Sequence[str],
        columns: Sequence[int],
        partner: Sequence[int],
        indent: Callable[[int], int] | None,
    ) -> None:
        self.kinds = kinds
        self.texts = texts
        self.columns = columns
        self.partner = partner
        self.indent = indent
        self.start = 0  # where the current declaration begins
        self.scopes: list[_Scope] = []
        self.found = Islands([], 0, (), False, [])

    @cached_property
    def uneven(self) -> bool:
        """Does a brace lack a partner?"""
        return any(kind in ("LC", "RC") and self.partner[i] < 0 for i, kind in enumerate(self.kinds))

    def run(self) -> Islands:
        i, n = 0, len(self.kinds)
        while i < n:
            checkpoint()
            i = self.step(i)
        self.found.opens = tuple((scope.name, scope.is_class) for scope in self.scopes)
        self.found.open = self.found.open or self.start < n
        left_open = self.found.open or any(scope.is_class for scope in self.scopes)
        self.found.whole = self.found.whole and not left_open
        return self.found

    def step(self, i: int) -> int:
        """Index behind the token at ``i`` and all that belongs to it."""
        kinds, partner = self.kinds, self.partner
        kind = kinds[i]
        if kind == "RC":
            self.close(i)
        if kind in ("SEMI", "RC") or (kind == "COLON" and i and kinds[i - 1] == "ACCESS"):
            self.start = i + 1
        elif kind == "LP" and partner[i] > i:
            end = self.function(i)
            if end is not None:
                return end
            return partner[i] + 1
        elif kind == "LT" and i > self.start and kinds[i - 1] == "TEMPLATE":
            return template_close(kinds, self.texts, i) + 1
        elif kind == "LC":
            return self.brace(i)
        return i + 1

    def close(self, i: int) -> None:
        """A `}` outside functions ends the innermost scope, which earlier tokens may have opened."""
        if self.scopes:
            scope = self.scopes.pop()
            self.found.braces.append(BraceEnd(scope.brace, i + 1, True))
            if scope.is_class and i + 1 == len(self.kinds):  # a name of the class may follow
                self.found.whole = False
        else:
            self.found.closes += 1
            if any(kind not in ("RC", "SEMI") for kind in self.kinds[:i]):
                self.found.whole = False

    def leave_classes(self, i: int) -> None:
        """A non-static kernel begins at ``i``. It cannot be a member: a class around it lacks its `}`."""
        while self.uneven and self.scopes and self.scopes[-1].is_class:
            self.found.braces.append(BraceEnd(self.scopes.pop().brace, i, False))

    def brace(self, i: int) -> int:
        """A `{` outside functions: of a scope, of an initializer, an enumeration ..."""
        scope = _scope_name(self.kinds, self.texts, self.start, i)
        if scope is not None:
            self.scopes.append(_Scope(scope, "TAG" in self.kinds[self.start : i], i))
            self.start = i + 1
        elif self.partner[i] > i:
            return self.partner[i] + 1
        else:
            self.found.open = True
        return i + 1

    def function(self, lp: int) -> int | None:
        """The end of the function whose parameters begin at ``lp``; None if this is no function."""
        kinds, texts, columns, partner, start = self.kinds, self.texts, self.columns, self.partner, self.start
        name = _function_name(kinds, texts, lp, start)
        brace = None if name is None else _body_brace(kinds, texts, partner, lp)
        if name is None or brace is None or lp <= start:
            return None
        if columns[start] and self.indent is not None and self.uneven and self.indent(start) > 0:
            body_end, end, repaired = _indented_body_end(kinds, texts, partner, self.indent, brace, start)
        else:
            body_end, end, repaired = _body_end(
                kinds, texts, columns, partner, self.indent, (start, lp, brace)
            )
        self.found.open = partner[brace] < 0 and not any(
            column == 0 and text in TOP_LEVEL
            for column, text in zip(columns[brace + 1 :], texts[brace + 1 :])
        )
        head = kinds[start:lp]
        specifiers = frozenset(t for k, t in zip(head, texts[start:lp]) if k == "STORAGE")
        if "__global__" in specifiers and "static" not in specifiers:
            self.leave_classes(start)
        island = FunctionIsland(
            head=start,
            name=name,
            parameters=(lp + 1, partner[lp]),
            body=(brace + 1, body_end),
            end=end,
            specifiers=specifiers,
            template=_has_parameters(head),
            enclosing=tuple(scope.name for scope in self.scopes),
            repaired=repaired,
        )
        self.found.islands.append((island, self.found.closes))
        self.found.braces.append(BraceEnd(brace, end, body_end < end))
        self.start = end
        return end


_LONGEST_CONVERSION = 8  # tokens of `operator const T*`


def _function_name(kinds: Sequence[str], texts: Sequence[str], lp: int, start: int) -> int | None:
    """Index of the name before the parameters at ``lp``; in a specialisation ``k<float>(...)``, of ``k``."""
    if lp > start and (kinds[lp - 1] == "NAME" or (lp > 1 and kinds[lp - 2] == "OPERATOR")):
        return lp - 1
    if lp - 3 >= start and kinds[lp - 1] in ("RP", "RB") and kinds[lp - 3] == "OPERATOR":  # operator()(...)
        return lp - 3
    if lp > start and kinds[lp - 1] in ("STAR", "AMP"):  # operator T*()
        first = max(start, lp - _LONGEST_CONVERSION)
        return next((i for i in range(lp - 2, first - 1, -1) if kinds[i] == "OPERATOR"), None)
    if lp <= start or set(texts[lp - 1]) != {">"}:
        return None
    depth = 0
    for i in range(lp - 1, start, -1):
        if set(texts[i]) == {">"}:
            depth += len(texts[i])
        elif kinds[i] == "LT":
            depth -= 1
            if depth == 0:
                return i - 1 if kinds[i - 1] == "NAME" else None
        elif kinds[i] in ("SEMI", "LC", "RC"):
            return None
    return None


def _has_parameters(head: Sequence[str]) -> bool:
    """Does the head declare a template? ``template <>`` is a full specialisation: it has no parameters."""
    return any(
        kind == "TEMPLATE" and head[i + 1 : i + 3] != ["LT", "GT"]
        for i, kind in enumerate(head)
        if kind == "TEMPLATE"
    )


def _body_brace(kinds: Sequence[str], texts: Sequence[str], partner: Sequence[int], lp: int) -> int | None:
    """Index of the `{` of the body when the parentheses at ``lp`` are a function's parameters, else None."""
    n = len(kinds)
    i = partner[lp] + 1
    if lp and kinds[lp - 1] == "REQUIRES":
        return None
    specified = _after_specifiers(kinds, partner, i)
    if specified is None:
        return None
    i = specified
    if i < n and texts[i] == "->":
        while i < n and kinds[i] not in ("LC", "SEMI", "REQUIRES"):
            i = partner[i] + 1 if kinds[i] == "LP" and partner[i] > i else i + 1
    if i < n and kinds[i] == "REQUIRES":
        i = _after_constraint(kinds, partner, i + 1)
    if i < n and kinds[i] == "TRY":
        i += 1
    if i < n and kinds[i] == "COLON":
        i = _after_initializers(kinds, partner, i + 1)
    return i if i < n and kinds[i] == "LC" else None


def _after_specifiers(kinds: Sequence[str], partner: Sequence[int], i: int) -> int | None:
    """Index behind `const`, `noexcept(...)`, attributes and macros after the parameters; None: no function."""
    n = len(kinds)
    while i < n and kinds[i] in _AFTER_PARAMETERS:
        i += 1
        if i < n and kinds[i] == "LP" and kinds[i - 1] in ("SIZEOF", "ATTRIBUTE", "NAME") and partner[i] > i:
            i = partner[i] + 1
        elif kinds[i - 1] == "LB":  # [[attribute]]
            if kinds[i] != "LB" or partner[i - 1] < i:
                return None
            i = partner[i - 1] + 1
    return i


def _after_constraint(kinds: Sequence[str], partner: Sequence[int], i: int) -> int:
    """Index behind the expression of a ``requires`` clause. Only a requires-expression in it has braces."""
    n = len(kinds)
    while i < n and kinds[i] not in ("LC", "SEMI"):
        if kinds[i] == "REQUIRES":  # requires (T x) { ... }
            i += 1
            if i < n and kinds[i] == "LP" and partner[i] > i:
                i = partner[i] + 1
        i = partner[i] + 1 if i < n and kinds[i] in ("LP", "LC") and partner[i] > i else i + 1
    return i


def _after_initializers(kinds: Sequence[str], partner: Sequence[int], i: int) -> int:
    """Past the member initializers of a constructor."""
    n = len(kinds)
    while i < n and kinds[i] != "SEMI":
        if kinds[i] == "LP" and partner[i] > i:
            i = partner[i]
        elif kinds[i] == "LC":
            # `m{x}` and `Base<T>{x}`; a body follows `)` or `}`
            if kinds[i - 1] not in ("NAME", "GT", "SHIFT", "LAUNCH_CLOSE") or partner[i] < i:
                return i
            i = partner[i]
        i += 1
    return i


def _body_end(
    kinds: Sequence[str],
    texts: Sequence[str],
    columns: Sequence[int],
    partner: Sequence[int],
    indent: Callable[[int], int] | None,
    head: tuple[int, int, int],
) -> tuple[int, int, bool]:
    """(end of the body, end of the definition, repaired), half-open token indices. ``head``: where the definition
    starts, and its `(` and `{`.

    Matching braces decide. Where they do not match, layout does: a top-level keyword in column 0 starts the next
    function, and the last `}` in column 0 before it ends a function that started in column 0.
    """
    checkpoint()
    start, lp, brace = head
    n = len(kinds)
    close = partner[brace] if partner[brace] > brace else -1
    limit = close if close > 0 else n
    next_function = -1
    if columns[start] == 0 or close < 0:
        next_function = next(
            (i for i in range(brace + 1, limit) if columns[i] == 0 and texts[i] in TOP_LEVEL), -1
        )
    if close > 0 and next_function < 0:
        orphan = None
        if columns[start] == 0 and columns[close] > 0 and not _ends_as_it_starts(indent, start, lp, close):
            orphan = _orphan_close(kinds, columns, close)
        return (close, close + 1, False) if orphan is None else (orphan, orphan + 1, True)
    stop = next_function if next_function > 0 else n
    if columns[start] == 0:
        first = next((i for i in range(brace + 1, stop) if columns[i] == 0), stop)
        if first < stop and kinds[first] == "RC":  # everything above it is indented
            return first, first + 1, True
        for i in range(stop - 1, brace, -1):
            if kinds[i] == "RC" and columns[i] == 0:
                return i, i + 1, True
    return stop, stop, True


def _indented_body_end(
    kinds: Sequence[str],
    texts: Sequence[str],
    partner: Sequence[int],
    indent: Callable[[int], int],
    brace: int,
    start: int,
) -> tuple[int, int, bool]:
    """Like ``_body_end``, for a function in an indented namespace or class when some brace has no partner."""
    checkpoint()
    n = len(kinds)
    own = indent(start)
    close = partner[brace] if partner[brace] > brace else -1
    last = -1  # the last `}` in the function's own column
    for i in range(brace + 1, close + 1 if close > 0 else n):
        column = indent(i)
        if kinds[i] == "RC" and column == own:
            last = i
            if i == close:
                return i, i + 1, False
        elif 0 <= column <= own and (kinds[i] in _OUTSIDE or texts[i] in TOP_LEVEL):
            # the next declaration, or the end of the enclosing scope: a brace is missing
            return (last, last + 1, True) if last > 0 else (i, i, True)
    if close < 0:
        return (last, last + 1, True) if last > 0 else (n, n, True)
    if indent(close) > own:  # one `}` too many, unless the next line says otherwise
        for i in range(close + 1, n):
            if 0 <= indent(i) <= own:
                if kinds[i] == "RC" and indent(i) == own and i > close + 1:
                    return i, i + 1, True
                break
    return close, close + 1, False


def _ends_as_it_starts(indent: Callable[[int], int] | None, start: int, lp: int, close: int) -> bool:
    """Is a `}` in the column of a line on which the head of its function goes on? So it is where a template or what
    depends on a macro stands in column 0 above a function of an indented namespace."""
    return indent is not None and indent(close) in {indent(each) for each in range(start, lp)} - {-1}


def _orphan_close(kinds: Sequence[str], columns: Sequence[int], close: int) -> int | None:
    """A `}` in column 0 before anything that could start a declaration: the body has one `}` too many."""
    line_shares_open = False
    for i in range(close + 1, len(kinds)):
        if columns[i] == 0:
            return i if kinds[i] == "RC" and line_shares_open else None
        line_shares_open = True
    return None


def has_unknown_specifier(kinds: Sequence[str], texts: Sequence[str], lo: int, name: int) -> bool:
    """Is there a macro that nothing defines in front of the type of a function, whose words from ``lo`` to its name are
    given?"""
    while kinds[lo] == "TEMPLATE" and lo + 1 < name and kinds[lo + 1] == "LT":
        lo = template_close(kinds, texts, lo + 1) + 1
    while lo < name and kinds[lo] == "STORAGE":
        lo += 1
    macro = lo + 1 < name and kinds[lo] == "NAME" and _MACRO.fullmatch(texts[lo]) is not None
    return macro and texts[lo + 1].isidentifier()


_MACRO = regex(r"[A-Z][A-Z0-9_]+")


def _class_name(kinds: Sequence[str], texts: Sequence[str], start: int, brace: int) -> str:
    """The name behind ``struct``; parentheses and brackets belong to attributes: ``alignas(T) Name``."""
    depth = 0
    for at in range(start, brace):
        if kinds[at] in ("LP", "LB"):
            depth += 1
        elif kinds[at] in ("RP", "RB"):
            depth -= 1
        elif kinds[at] == "NAME" and depth == 0 and kinds[at + 1] != "LP":
            return texts[at]
    return ""


def _scope_name(kinds: Sequence[str], texts: Sequence[str], start: int, brace: int) -> str | None:
    """Name of the namespace or class that opens at ``brace``; "" if it is anonymous; None if it is neither."""
    while kinds[start] == "TEMPLATE" and start + 1 < brace and kinds[start + 1] == "LT":
        start = template_close(kinds, texts, start + 1) + 1
    head = kinds[start:brace]
    if "NAMESPACE" in head:
        names = [t for k, t in zip(head, texts[start:brace]) if k == "NAME"]
        return "::".join(names)
    if "TAG" in head and "EQ" not in head and texts[start + head.index("TAG")] != "enum":
        return _class_name(kinds, texts, start + head.index("TAG") + 1, brace)
    if brace and kinds[brace - 1] == "STRING" and texts[start] == "extern":
        return "extern"
    return None
