"""Function islands: where each function definition starts and ends, repaired by layout while code is half typed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from smem_lsp.source import checkpoint, record

# At column 0 inside an open function body these start a new function: the body above lost a closing brace.
# (`extern` and `static` do not: unindented bodies hold `extern __shared__ ...`.)
TOP_LEVEL = frozenset(("__global__", "__device__", "__host__", "template", "namespace"))


# In the column of an indented function these begin what follows it: its body stands further right.
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
        )


@record
class Islands:
    """The functions of some tokens. ``islands``: each with the number of scopes closed before it that the tokens did
    not open; ``closes``: how many at the end; ``opens``: (name, is a class) of scopes that they do not close; ``open``:
    the last definition is not complete."""

    islands: list[tuple[FunctionIsland, int]]
    closes: int
    opens: tuple[tuple[str, bool], ...]
    open: bool


@dataclass(slots=True)
class _Scope:
    name: str
    is_class: bool
    end: int


def find_functions(
    kinds: Sequence[str],
    texts: Sequence[str],
    columns: Sequence[int],
    partner: Sequence[int],
    indent: Callable[[int], int] | None = None,
) -> Islands:
    """All function definitions at namespace and class scope, in order.

    ``columns``: 0 for tokens in column 0, positive elsewhere, -1 for tokens out of macro bodies; ``partner``: bracket
    partners; ``indent``: the column of a token that is the first of its line, -1 for any other. It is asked only where
    braces do not add up.
    """
    uneven: bool | None = None
    islands: list[tuple[FunctionIsland, int]] = []
    scopes: list[_Scope] = []
    closes = 0
    unfinished = False
    n = len(kinds)
    i = start = 0
    while i < n:
        checkpoint()
        while scopes and i >= scopes[-1].end:
            scopes.pop()
        kind = kinds[i]
        if kind == "RC" and partner[i] < 0:
            closes += 1
        if kind in ("SEMI", "RC") or (kind == "COLON" and i and kinds[i - 1] == "ACCESS"):
            start = i + 1
        elif kind == "LP" and partner[i] > i:
            name = _function_name(kinds, texts, i, start)
            brace = None if name is None else _body_brace(kinds, texts, partner, i)
            if name is not None and brace is not None and i > start:
                if uneven is None and columns[start] and indent is not None:
                    uneven = any(kind in ("LC", "RC") and partner[x] < 0 for x, kind in enumerate(kinds))
                if uneven and columns[start] and indent is not None and indent(start) > 0:
                    body_end, end, repaired = _indented_body_end(kinds, texts, partner, indent, brace, start)
                else:
                    body_end, end, repaired = _body_end(kinds, texts, columns, partner, brace, start)
                unfinished = partner[brace] < 0 and not any(
                    column == 0 and text in TOP_LEVEL
                    for column, text in zip(columns[brace + 1 :], texts[brace + 1 :])
                )
                head = kinds[start:i]
                island = FunctionIsland(
                    head=start,
                    name=name,
                    parameters=(i + 1, partner[i]),
                    body=(brace + 1, body_end),
                    end=end,
                    specifiers=frozenset(t for k, t in zip(head, texts[start:i]) if k == "STORAGE"),
                    template=_has_parameters(head),
                    enclosing=tuple(scope.name for scope in scopes),
                    repaired=repaired,
                )
                islands.append((island, closes))
                i = start = end
                continue
            i = partner[i]
        elif kind == "LT" and i > start and kinds[i - 1] == "TEMPLATE":
            i = _template_close(kinds, texts, i)
        elif kind == "LC":
            scope = _scope_name(kinds, texts, start, i)
            if scope is not None:
                is_class = "TAG" in kinds[start:i]
                scopes.append(_Scope(scope, is_class, partner[i] if partner[i] > i else n + 1))
                start = i + 1
            elif partner[i] > i:
                i = partner[i]
            else:
                unfinished = True
        i += 1
    opens = tuple((scope.name, scope.is_class) for scope in scopes if scope.end > n)
    return Islands(islands, closes, opens, unfinished or start < n)


def _function_name(kinds: Sequence[str], texts: Sequence[str], lp: int, start: int) -> int | None:
    """Index of the name in front of the parameters at ``lp``; of ``k`` in a specialisation ``k<float>(...)``."""
    if lp > start and (kinds[lp - 1] == "NAME" or (lp > 1 and kinds[lp - 2] == "OPERATOR")):
        return lp - 1
    if lp - 3 >= start and kinds[lp - 1] == "RP" and kinds[lp - 3] == "OPERATOR":  # operator()(...)
        return lp - 3
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
    """Does the head declare a template? ``template <>`` is a specialisation: nothing is left open."""
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
    while i < n and kinds[i] in _AFTER_PARAMETERS:
        i += 1
        if i < n and kinds[i] == "LP" and kinds[i - 1] in ("SIZEOF", "ATTRIBUTE", "NAME") and partner[i] > i:
            i = partner[i] + 1
        elif kinds[i - 1] == "LB":  # [[attribute]]
            if kinds[i] != "LB" or partner[i - 1] < i:
                return None
            i = partner[i - 1] + 1
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


def _after_constraint(kinds: Sequence[str], partner: Sequence[int], i: int) -> int:
    """Past the expression of a ``requires`` clause: it has no braces but those of a requires-expression."""
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
    brace: int,
    start: int,
) -> tuple[int, int, bool]:
    """(end of the body, end of the definition, repaired), half-open token indices.

    Braces decide where they add up. Where they do not, layout does: a top-level keyword in column 0 starts the next
    function, and the last `}` in column 0 before it ends one that started in column 0.
    """
    checkpoint()
    n = len(kinds)
    close = partner[brace] if partner[brace] > brace else -1
    limit = close if close > 0 else n
    next_function = -1
    if columns[start] == 0 or close < 0:
        next_function = next(
            (i for i in range(brace + 1, limit) if columns[i] == 0 and texts[i] in TOP_LEVEL), -1
        )
    if close > 0 and next_function < 0:
        orphan = _orphan_close(kinds, columns, close) if columns[start] == 0 and columns[close] > 0 else None
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
    """Like ``_body_end`` for a function inside an indented namespace or class, where some brace has no partner."""
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
            # the next declaration, or the end of what is around this one: a brace is missing
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


def _orphan_close(kinds: Sequence[str], columns: Sequence[int], close: int) -> int | None:
    """A `}` in column 0 before anything that could start a declaration there: the body had one `}` too many."""
    line_shares_open = False
    for i in range(close + 1, len(kinds)):
        if columns[i] == 0:
            return i if kinds[i] == "RC" and line_shares_open else None
        line_shares_open = True
    return None


def _template_close(kinds: Sequence[str], texts: Sequence[str], lt: int) -> int:
    """Index of the `>` that closes ``template <``."""
    depth = 0
    for i in range(lt, min(len(kinds), lt + 2000)):
        kind = kinds[i]
        if kind == "LT":
            depth += 1
        elif kind in ("GT", "SHIFT", "LAUNCH_CLOSE") and texts[i][0] == ">":
            depth -= len(texts[i])
            if depth <= 0:
                return i
        elif kind in ("LC", "SEMI"):
            return i - 1
    return lt


def _scope_name(kinds: Sequence[str], texts: Sequence[str], start: int, brace: int) -> str | None:
    """Name of the namespace or class that opens at ``brace``; "" when it has none; None when it is neither."""
    while kinds[start] == "TEMPLATE" and start + 1 < brace and kinds[start + 1] == "LT":
        start = _template_close(kinds, texts, start + 1) + 1
    head = kinds[start:brace]
    if "NAMESPACE" in head:
        names = [t for k, t in zip(head, texts[start:brace]) if k == "NAME"]
        return "::".join(names)
    if "TAG" in head and "EQ" not in head and texts[start + head.index("TAG")] != "enum":
        after = [t for k, t in zip(head, texts[start:brace])][head.index("TAG") + 1 :]
        kinds_after = head[head.index("TAG") + 1 :]
        return next((t for k, t in zip(kinds_after, after) if k == "NAME"), "")
    if brace and kinds[brace - 1] == "STRING" and texts[start] == "extern":
        return "extern"
    return None
