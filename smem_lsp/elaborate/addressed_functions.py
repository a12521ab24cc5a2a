"""Which function of a set of overloads the address is taken of: the type that is wanted decides, not a later call.

C++ standard, [over.over]: a function is chosen whose type is the one of the pointer, a template only where no other
function is. A set of one function needs no such type.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from smem_lsp.elaborate.signatures import BEHIND, Signature, parameter_types, same
from smem_lsp.semantics.declarations import AliasDecl, FunctionDecl
from smem_lsp.semantics.entities import Functions
from smem_lsp.semantics.function_scope import parameters_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.names_ahead import Symbols
from smem_lsp.syntax.parse import Function, parse_chunk

_MOST_ALIASES = 16


@dataclass
class _Declared:
    """Declarations of one function or template. ``signature``: None where it is not understood."""

    template: bool
    spelled: Sequence[str]
    signature: Signature | None
    overloads: list[tuple[FunctionDecl, Scope]]


def wanted(
    kinds: Sequence[str], texts: Sequence[str], within: tuple[int, int], symbols: Symbols, scope: Scope
) -> Signature | None:
    """The signature that the declarator ``within`` these tokens spells, of a pointer to a function; None: it spells
    none."""
    lo, hi = within
    if list(kinds[hi - 1 : hi]) != ["RP"]:
        return None
    depth, at = 0, hi
    while at > lo:
        checkpoint()
        at -= 1
        depth += {"RP": 1, "LP": -1}.get(kinds[at], 0)
        if not depth:
            return _signature(kinds[at + 1 : hi - 1], texts[at + 1 : hi - 1], symbols, scope)
    return None


def named(name: str, scope: Scope, depth: int = 0) -> Signature | None:
    """The signature of the type that an alias names, ``using F = int (*)(int)``; None: it is no such one."""
    for outer in scope.outwards():
        declared = outer.own(name)
        if not declared:
            continue
        decl, where = declared[0]
        if len(declared) > 1 or not isinstance(decl, AliasDecl) or decl.parameters or depth > _MOST_ALIASES:
            return None
        source, (lo, hi) = decl.source, decl.type
        if hi - lo == 1 and source.kinds[lo] == "NAME":
            return named(source.texts[lo], where, depth + 1)
        return wanted(source.kinds, source.texts, (lo, hi), source.symbols, where)
    return None


def of_template_parameter(function: Function, name: str, scope: Scope) -> Signature | None:
    """The signature that a template parameter of a function wants, ``template <int (*F)(int)>``; None: not known."""
    for each in parameters_of(function):
        source, (lo, hi) = each.source, each.type
        if each.name != name or each.kind != "value":
            continue
        if hi - lo == 1:
            return named(source.texts[lo], scope)
        core = next((at for at in range(lo, len(source.kinds)) if source.kinds[at] == "LP"), None)
        if hi > lo or core is None:
            return None
        return wanted(
            source.kinds, source.texts, (lo, source.after(source.after(core))), source.symbols, scope
        )
    return None


def addressed(functions: Functions, target: Signature | None) -> Functions | None:
    """The one function of a set; None: it is not known which. ``target``: of the pointer; None: not known."""
    groups: list[_Declared] = []
    for decl, where in functions.overloads:
        checkpoint()
        if decl.parameters == ():
            continue  # an explicit specialization belongs to its template
        each = _declared(decl, where)
        known = next((group for group in groups if _is_same(group, each)), None)
        if known is None:
            groups.append(each)
        else:
            known.overloads += each.overloads
    explicit = functions.arguments is not None
    groups = [each for each in groups if each.template or not explicit]
    if len(groups) == 1 and groups[0].template == explicit:
        return functions
    if target is None:
        return None
    plain = [each for each in groups if not each.template]
    answers = [None if each.signature is None else same(each.signature, target) for each in plain]
    if None in answers or answers.count(True) != 1:
        return None
    return Functions(tuple(plain[answers.index(True)].overloads))


def _declared(decl: FunctionDecl, where: Scope) -> _Declared:
    source, (lo, hi) = decl.source, decl.list
    behind = frozenset(takewhile(BEHIND.__contains__, source.texts[hi + 1 : hi + 1 + len(BEHIND)]))
    found = _signature(source.kinds[lo:hi], source.texts[lo:hi], source.symbols, where, behind)
    spelled = (*source.texts[lo:hi], *sorted(behind))
    return _Declared(decl.parameters is not None, spelled, found, [(decl, where)])


def _is_same(one: _Declared, other: _Declared) -> bool:
    """Does one declare again what the other does?"""
    if one.template or other.template or one.signature is None or other.signature is None:
        return one.template == other.template and one.spelled == other.spelled
    return same(one.signature, other.signature) is True


def _signature(
    kinds: Sequence[str],
    texts: Sequence[str],
    symbols: Symbols,
    scope: Scope,
    behind: frozenset[str] = frozenset(),
) -> Signature | None:
    parsed = parse_chunk("parameters", kinds, texts, symbols) if kinds else []
    return None if parsed is None else Signature(parameter_types(parsed, scope), behind)
