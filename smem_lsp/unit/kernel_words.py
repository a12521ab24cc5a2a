"""What a launch says about the numbers of its kernel: ``reverse<<<1, len>>>(d, len)`` says ``len == blockDim.x``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from smem_lsp.ir.host_terms import Applied, HostTerm, Symbol, compared, constant, named, replaced, value_of
from smem_lsp.ir.nodes import HostTerms, InWords, LaunchFact, LaunchSite
from smem_lsp.ir.values import Sym, Value, operator_of
from smem_lsp.semantics.entities import Argument, TypedConstant
from smem_lsp.semantics.function_scope import function_scope
from smem_lsp.semantics.local_declarations import declare_parameters
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import plain_type, scalar_of
from smem_lsp.syntax.parse import Function

NO_TERMS = HostTerms()


def in_kernel_words(
    site: LaunchSite, kernel: Function, top: Scope, bound: dict[str, Argument] | None = None
) -> LaunchSite:
    """The launch with what it says about its kernel. ``bound``: template arguments of the instance."""
    terms = site.terms
    if terms == NO_TERMS:
        return site
    words = list(_passed(terms.arguments, kernel, function_scope(top, kernel, bound).child()))
    for what, axes in (("blockDim", terms.block), ("gridDim", terms.grid)):
        for axis, term in zip("xyz", axes):
            if term is not None and (term.number is None or term.number > 0):
                words.append((f"{what}.{axis}", term))
    meaning: dict[Symbol, str] = {}
    for name, term in words:
        symbol = term.symbol
        if symbol is not None:
            meaning.setdefault(symbol, name)
    equalities = []
    for name, term in words:
        symbol = term.symbol
        if symbol is not None and meaning[symbol] == name:
            continue
        if name.startswith(("blockDim", "gridDim")) and symbol is not None:
            equalities.append(_fact(named(meaning[symbol]), "==", named(name)))
            continue
        if name.startswith(("blockDim", "gridDim")) and term.number is not None:
            continue  # stands in the block and the grid
        said = spelled(term, meaning)
        if said is not None:
            equalities.append(_fact(named(name), "==", said))
    dynamic = None if terms.dynamic is None else spelled(terms.dynamic, meaning)
    conditions = list(_limits(words))
    for each in terms.conditions:
        left, right = spelled(each.left, meaning), spelled(each.right, meaning)
        if left is not None and right is not None:
            conditions.append(_fact(left, each.operator, right))
    return replace(
        site,
        equalities=tuple(equalities),
        conditions=tuple(conditions),
        dynamic=None
        if dynamic is None or dynamic.number is not None
        else InWords(_value(dynamic), str(dynamic)),
    )


def _limits(words: Sequence[tuple[str, HostTerm]]) -> Iterator[LaunchFact]:
    """What follows from ``min(n, 256)``."""
    for name, term in words:
        atom = term.products[0][0][0] if len(term.products) == 1 and len(term.products[0][0]) == 1 else None
        if isinstance(atom, Applied) and atom.operator in ("min", "max") and term.products[0][1] > 0:
            for operand in atom.operands:
                n = operand.number
                if n is not None:
                    limit = constant(n * term.products[0][1])
                    yield _fact(named(name), "<=" if atom.operator == "min" else ">=", limit)


def spelled(term: HostTerm, meaning: Mapping[Symbol, str]) -> HostTerm | None:
    """The term in the words of the kernel; None if one of its symbols has none there."""
    if not term.symbols <= meaning.keys():
        return None
    return replaced(term, {symbol: named(meaning[symbol]) for symbol in term.symbols})


def _fact(left: HostTerm, operator: str, right: HostTerm) -> LaunchFact:
    return LaunchFact(
        _value(left), operator_of(operator), _value(right), f"{compared(left)} {operator} {compared(right)}"
    )


def _value(term: HostTerm) -> Value:
    found = value_of(term, lambda symbol: Sym(symbol.name))
    assert found is not None  # every symbol has a meaning
    return found


def _passed(
    arguments: Sequence[HostTerm | None], kernel: Function, scope: Scope
) -> Iterator[tuple[str, HostTerm]]:
    """Parameters that are integers of 32 bits or more, passed by value, with their arguments."""
    parameters = kernel.parameters or ()
    declare_parameters(parameters, scope)
    for declaration, argument in zip(parameters, arguments):
        declarator = declaration.declarators[0] if len(declaration.declarators) == 1 else None
        if argument is None or declarator is None or declarator.pointers or declarator.dims:
            continue
        typed = scope.bound.get(declarator.name)
        kind = scalar_of(plain_type(typed.type)) if isinstance(typed, TypedConstant) else None
        if kind is None or kind.kind != "int" or kind.size < 4:
            continue
        wraps = not kind.signed and any(count < 0 for _, count in argument.products)
        if not wraps:
            yield declarator.name, argument
