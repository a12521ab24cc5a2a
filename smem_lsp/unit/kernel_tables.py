"""Tables of kernels at namespace scope: ``constexpr auto t = std::array{k<1>, k<2>}``, ``const E t[] = {{k, 8}}``."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence

from smem_lsp.semantics.declarations import VariableDecl, angle_close, declaration_tree
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.function_scope import value_declarations
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint, record
from smem_lsp.syntax import tree
from smem_lsp.unit.host_objects import HostField, element_fields, listed
from smem_lsp.unit.host_values import HostValue, Items, KernelName, Object, constant_extents, number

IN_TABLE = -1  # stands for the function that names a kernel


@record
class Entry:
    """``at``: its place in the table; ``spelled``: None if its template arguments are not understood."""

    name: str
    at: int
    spelled: tree.Name | None


@record
class KernelTable:
    """``value``: its elements, None where they are not followed."""

    name: str
    entries: tuple[Entry, ...]
    value: Items | None


def kernel_tables(top: Scope, kernels: Collection[str]) -> Iterator[KernelTable]:
    """The variables at namespace scope that are declared with some of these kernels."""
    kernels = frozenset(kernels)
    found = (
        [decl for decl in value_declarations(top) if not kernels.isdisjoint(_texts(decl))] if kernels else []
    )
    shared = Counter((id(decl.source), decl.range) for decl in found)
    for decl in found:
        checkpoint()
        if shared[id(decl.source), decl.range] == 1:
            entries = tuple(_entries(decl, kernels))
            yield KernelTable(decl.name, entries, _value(decl, entries, top))


_KEEPING = frozenset(("const", "constexpr", "static"))  # who writes one of them changes no element elsewhere


def _texts(decl: VariableDecl) -> frozenset[str]:
    return frozenset(decl.source.texts[slice(*decl.range)])


def _entries(decl: VariableDecl, kernels: frozenset[str]) -> Iterator[Entry]:
    lo, hi = decl.range
    texts, kinds = decl.source.texts, decl.source.kinds
    at = 0
    for i in range(lo, hi):
        if texts[i] not in kernels or kinds[i] != "NAME":
            continue
        start = i
        while start - 2 >= lo and kinds[start - 1] == "SCOPE" and kinds[start - 2] == "NAME":
            start -= 2
        close = angle_close(decl.source, i + 1, hi) if kinds[i + 1 : i + 2] == ["LT"] else None
        parsed = decl.source.parse("expression", start, i + 1 if close is None else close + 1)
        yield Entry(texts[i], at, parsed if isinstance(parsed, tree.Name) else None)
        at += 1


def _value(decl: VariableDecl, entries: Sequence[Entry], top: Scope) -> Items | None:
    """The elements of a list that nobody may change: kernels, or objects with kernels."""
    parsed = declaration_tree(decl.source, decl.range)
    declarators = [each for each in parsed.declarators if each.name == decl.name] if parsed else []
    texts = decl.source.texts[slice(*decl.range)]
    before = texts[: texts.index("{")] if "{" in texts else texts
    if parsed is None or len(declarators) != 1 or _KEEPING.isdisjoint(before):
        return None
    items = listed(declarators[0].initializer)
    fields = element_fields(parsed, declarators[0], top)
    left = deque(_kernel_name(decl.name, each) for each in entries)
    values = [_element(item, fields, left, texts, top) for item in items]
    return Items(tuple(values)) if values and None not in values and not left else None


def _kernel_name(table: str, entry: Entry) -> KernelName:
    spelled = entry.spelled
    return KernelName(
        entry.name,
        IN_TABLE,
        entry.at,
        table,
        entry.name if spelled is None else spelled.text,
        spelled is not None and spelled.templated,
    )


def _element(
    item: tree.Expr, fields: Sequence[HostField], left: deque[KernelName], texts: Sequence[str], top: Scope
) -> HostValue | None:
    if not isinstance(item, tree.Braces):
        return _kernel(item, left)
    if not fields or len(item.items) > len(fields):
        return None
    known = {field.name: field for field in fields}
    members: dict[str, HostValue | None] = {
        field.name: None if field.initial is None else number(field.initial) for field in fields
    }
    for position, each in enumerate(item.items):
        named = list(texts[each.lo - 3 : each.lo])  # `.f = k`
        name = named[1] if named[::2] == [".", "="] else fields[position].name
        if name not in known:
            return None
        kernel = _kernel(each, left) if known[name].points else None
        n = evaluate(each, top) if known[name].counts else None
        extents = constant_extents(each, top) if known[name].is_dim3 else None
        members[name] = kernel or extents or (None if n is None else number(n))
    return Object(tuple(fields), tuple(members.items()))


def _kernel(item: tree.Expr, left: deque[KernelName]) -> KernelName | None:
    """The next kernel, if the item names it."""
    while isinstance(item, (tree.Cast, tree.Unary)):
        item = item.operand
    if isinstance(item, tree.Name) and left and item.text.rpartition("::")[2] == left[0].name:
        return left.popleft()
    return None
