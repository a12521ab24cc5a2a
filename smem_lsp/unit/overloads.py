"""Which of several kernels of one name a launch means: told apart by namespace, number of arguments, and types.

Where that leaves several, the launch may mean each of them, and nobody says which.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.semantics import type_of
from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import Argument, TypedConstant
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.function_scope import function_scope, parameters_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.specialization import is_specialization, spelled_argument, spelled_arguments
from smem_lsp.semantics.template_arguments import same
from smem_lsp.semantics.types import (
    Array,
    Pointer,
    Qualified,
    Reference,
    Scalar,
    Type,
    decayed,
    is_number,
    plain_type,
)
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


def signature(function: Function) -> str:
    """What tells a kernel from others of its name: its namespaces, whether it is a template, its parameters."""
    parts = (*function.island.enclosing, "template" if function.island.template else "")
    return " ".join((*parts, *function.definition.parameters.texts))


def is_for(special: Function, function: Function, bound: Sequence[Argument], top: Scope) -> bool:
    """Does a specialization stand in for the instance of a template with these arguments?"""
    if special.island.enclosing != function.island.enclosing or not bound:
        return False
    spelled = [spelled_argument(special, where, top) for where in spelled_arguments(special)]
    own = bind_call(function, spelled, _parameter_types(special, top), top)
    return own is not None and all(same(one, other) for one, other in zip(own, bound))


def meant(
    kernels: Sequence[Function],
    name: str,
    given: Sequence[Type | None] | None,
    top: Scope,
    around: Sequence[str],
    *,
    explicit: bool = False,
) -> list[Function]:
    """Those that ``name`` may mean with arguments of the types ``given``, as far as these are known; None: nothing is
    known of the arguments. ``around``: the namespaces and classes of the place; ``explicit``: template arguments are
    spelled. Empty if none of them fits."""
    left = [kernel for kernel in kernels if not is_specialization(kernel)]
    if explicit:
        left = [kernel for kernel in left if kernel.island.template]
    if given is not None:
        left = [kernel for kernel in left if takes(kernel, len(given))]
    left = _in_scope(left, name, around)
    if len(left) < 2 or given is None:
        return left
    fitting: list[Function] = []
    exact: list[Function] = []
    for kernel in left:
        checkpoint()
        wanted = _parameter_types(kernel, top)
        if any(_never(kind, asked) for kind, asked in zip(given, wanted)):
            continue
        fitting.append(kernel)
        if not kernel.island.template and all(
            kind is not None and _bare(kind) == _bare(asked) for kind, asked in zip(given, wanted)
        ):
            exact.append(kernel)
    return exact if len(exact) == 1 else fitting


def argument_type(argument: tree.Expr, scope: Scope) -> Type | None:
    """The type of an argument; None for a literal 0, which may be an address."""
    return type_passed(argument, evaluate_value(argument, scope))


def type_passed(argument: tree.Expr, value: TypedConstant) -> Type | None:
    """The same where its value is known."""
    return None if isinstance(argument, tree.Number) and value.n == 0 else value.type


def takes(function: Function, count: int) -> bool:
    """May it be called with so many arguments?"""
    parameters = function.parameters
    if parameters is None or "..." in function.definition.parameters.texts:
        return True
    needed = sum(not each.declarators or each.declarators[0].initializer is None for each in parameters)
    return needed <= count <= len(parameters)


def _in_scope(kernels: list[Function], name: str, around: Sequence[str]) -> list[Function]:
    """Those that a name with these qualifiers may mean."""
    *qualifiers, _ = [part for part in name.split("::") if part]
    if qualifiers:
        fitting = [k for k in kernels if k.island.enclosing[-len(qualifiers) :] == tuple(qualifiers)]
    else:
        inside = tuple(around)
        fitting = [k for k in kernels if k.island.enclosing == inside[: len(k.island.enclosing)]]
    return fitting or kernels


def _parameter_types(function: Function, top: Scope) -> list[Type | None]:
    """Types of the parameters; None where a template parameter or something unknown stands in them."""
    scope = function_scope(top, function)
    own = {parameter.name for parameter in parameters_of(function)}
    found: list[Type | None] = []
    for declaration in function.parameters or ():
        checkpoint()
        declarator = declaration.declarators[0] if declaration.declarators else None
        if declarator is None:
            found.append(None)
        elif own & _words(declaration) or any(each.templated for each in declaration.names):
            found.append(Pointer(None) if "*" in declarator.pointers else None)
        else:
            kind = plain_type(type_of.variable_type(declaration, declarator, scope))
            found.append(decayed(kind))
    return found


def _words(declaration: tree.Declaration) -> set[str]:
    return {*declaration.words, *(part for name in declaration.names for part in name.text.split("::"))}


def _never(given: Type | None, wanted: Type | None) -> bool:
    """Is there surely no conversion from one type to the other?"""
    given, wanted = _bare(given), _bare(wanted)
    if isinstance(given, Pointer) and isinstance(wanted, Pointer):
        one, other = given.target, wanted.target
        known = isinstance(one, Scalar) and isinstance(other, Scalar) and other.name != "void"
        return known and one != other
    if isinstance(wanted, Pointer):
        return is_number(given)
    return isinstance(given, Pointer) and is_number(wanted) and getattr(wanted, "kind", "") != "bool"


def _bare(kind: Type | None) -> Type | None:
    """``kind`` without ``const`` and the like, in what it points to as well; an array as the address of its first
    element."""
    while isinstance(kind, (Reference, Qualified)):
        kind = kind.target
    if isinstance(kind, Array):
        return Pointer(_bare(kind.element))
    return Pointer(_bare(kind.target), kind.size) if isinstance(kind, Pointer) else kind
