"""Function islands: where each function definition starts and ends, repaired by layout while code is half typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# At column 0 inside an open function body these start a new function: the body above lost a closing brace.
# (`extern` and `static` do not: unindented bodies hold `extern __shared__ ...`.)
_TOP_LEVEL = frozenset(("__global__", "__device__", "__host__", "template", "namespace"))


@dataclass(frozen=True, slots=True)
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


@dataclass(slots=True)
class _Scope:
    name: str
    end: int


def find_functions(
    kinds: Sequence[str], texts: Sequence[str], columns: Sequence[int], partner: Sequence[int]
) -> list[FunctionIsland]:
    """All function definitions at namespace and class scope, in order.

    ``columns``: 0 for tokens in column 0, positive elsewhere, -1 for tokens out of macro bodies; ``partner``: bracket
    partners.
    """
    islands: list[FunctionIsland] = []
    scopes: list[_Scope] = []
    n = len(kinds)
    i = start = 0
    while i < n:
        while scopes and i >= scopes[-1].end:
            scopes.pop()
        kind = kinds[i]
        if kind in ("SEMI", "RC") or (kind == "COLON" and i and kinds[i - 1] == "ACCESS"):
            start = i + 1
        elif kind == "LP" and partner[i] > i:
            name = _function_name(kinds, texts, i, start)
            brace = None if name is None else _body_brace(kinds, texts, partner, i)
            if name is not None and brace is not None and i > start:
                body_end, end, repaired = _body_end(kinds, texts, columns, partner, brace, start)
                head = kinds[start:i]
                islands.append(
                    FunctionIsland(
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
                )
                i = start = end
                continue
            i = partner[i]
        elif kind == "LT" and i > start and kinds[i - 1] == "TEMPLATE":
            i = _template_close(kinds, texts, i)
        elif kind == "LC":
            scope = _scope_name(kinds, texts, start, i)
            if scope is not None:
                scopes.append(_Scope(scope, partner[i] if partner[i] > i else n))
                start = i + 1
            elif partner[i] > i:
                i = partner[i]
        i += 1
    return islands


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
    while i < n and kinds[i] in ("QUALIFIER", "SIZEOF", "ATTRIBUTE", "STORAGE", "AMP", "AND_AND"):
        i += 1
        if i < n and kinds[i] == "LP" and kinds[i - 1] in ("SIZEOF", "ATTRIBUTE") and partner[i] > i:
            i = partner[i] + 1
    if i < n and texts[i] == "->":
        while i < n and kinds[i] not in ("LC", "SEMI"):
            i += 1
    elif i < n and kinds[i] == "COLON":
        i = _after_initializers(kinds, partner, i + 1)
    return i if i < n and kinds[i] == "LC" else None


def _after_initializers(kinds: Sequence[str], partner: Sequence[int], i: int) -> int:
    """Past the member initializers of a constructor."""
    n = len(kinds)
    while i < n and kinds[i] != "SEMI":
        if kinds[i] == "LP" and partner[i] > i:
            i = partner[i]
        elif kinds[i] == "LC":
            if kinds[i - 1] != "NAME" or partner[i] < i:
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
    n = len(kinds)
    close = partner[brace] if partner[brace] > brace else -1
    limit = close if close > 0 else n
    next_function = -1
    if columns[start] == 0:
        next_function = next(
            (i for i in range(brace + 1, limit) if columns[i] == 0 and texts[i] in _TOP_LEVEL), -1
        )
    if close > 0 and next_function < 0:
        orphan = _orphan_close(kinds, columns, close) if columns[start] == 0 and columns[close] > 0 else None
        return (close, close + 1, False) if orphan is None else (orphan, orphan + 1, True)
    stop = next_function if next_function > 0 else n
    if columns[start] == 0:
        for i in range(stop - 1, brace, -1):
            if kinds[i] == "RC" and columns[i] == 0:
                return i, i + 1, True
    return stop, stop, True


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
