"""What the names of libraries mean whose headers are not in sight: traits, limits, arrays, ``min`` and ``max``, as the
stub files declare them (``smem_lsp/stubs/types.cuh``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from smem_lsp.semantics import arithmetic, cub_storage
from smem_lsp.semantics.entities import (
    UNKNOWN,
    Argument,
    Entity,
    Functions,
    Template,
    TypedConstant,
    Undeclared,
)
from smem_lsp.semantics.intrinsics import returned_by
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.sizes import size_of_type
from smem_lsp.semantics.spell_type import spell_argument
from smem_lsp.semantics.type_traits import (
    has_no_type,
    limit,
    limits_member,
    trait_type,
    trait_value,
    types_of,
)
from smem_lsp.semantics.types import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    TORCH,
    Listed,
    Named,
    Record,
    Scalar,
    Size,
    Storage,
    Type,
    builtin,
    reference_to,
)
from smem_lsp.semantics.types import Sequence as ArrayClass
from smem_lsp.source.queries import remembered
from smem_lsp.syntax import stubs, tree
from smem_lsp.syntax.stubs import Stub

_STD, _CUB = ("std",), ("cub",)
# namespaces that hold what another one does
_SAME: Mapping[tuple[str, ...], tuple[str, ...]] = {("cuda", "std"): _STD, ("at_cuda_detail", "cub"): _CUB}
_OF_ENUMERATORS = (_CUB, ("cuda",))
_LIMITS = ("max", "min", "lowest")
_BLOCK_SCOPE = 2  # cuda::thread_scope_block
_COMPLEX = {"float": (8, 4), "double": (16, 8)}
_HALVES = frozenset(("__half", "__nv_bfloat16", *(kind.name for kind in TORCH.values())))


# ---- names -----------------------------------------------------------------------------------------------------------


def entity(path: tuple[str, ...], arguments: tuple[list[tree.Expr] | None, ...], scope: Scope) -> Entity:
    """The meaning of a name without a declaration."""
    if arguments.count(None) == len(path):
        return _plain(path, scope)
    for end in range(1, len(path) + 1):
        given = arguments[end - 1]
        if given is None:
            continue
        of_trait = _of_trait(path[:end], given, scope)
        if of_trait is None:
            found = _template(path[:end], tuple(scope.argument(each) for each in given), scope)
        else:
            (found,) = of_trait
        for member_name in path[end:]:
            found = member(found, member_name)
        return found
    return None


def _plain(path: tuple[str, ...], scope: Scope) -> Entity:
    """A name without template arguments."""
    return _named_in(path, tuple(_spaces(path, scope)))


@remembered(most=4096)
def _named_in(path: tuple[str, ...], spaces: tuple[tuple[str, ...], ...]) -> Entity:
    kind = builtin("::".join(path))
    if kind is not None:
        return kind
    stub = _in(_space(path, spaces), path[-1])
    code = None if stub is None else stub.argument("alias")
    if code in _CONSTANTS:
        return _CONSTANTS[code]
    n = stubs.own().enumerators.get(path[-1])
    if n is not None and any(each in _OF_ENUMERATORS for each in spaces):
        return TypedConstant(INT, n)
    return Undeclared(path)


def _of_trait(path: tuple[str, ...], given: list[tree.Expr], scope: Scope) -> tuple[Entity] | None:
    """What ``name_t<T>`` and ``name_v<T>`` stand for: a member of ``name<T>``, of which the program may declare
    specialisations ([meta.type.synop]); None: it is no such name."""
    space, name = _space(path, tuple(_spaces(path, scope))), path[-1]
    trait = _in(space, name[:-2])
    if space != _STD or trait is None or _in(space, name) is not None:
        return None
    code, member_name = _MEMBERS.get(name[-2:], ("", ""))
    if not trait.has(code):
        return None
    of = scope.meaning((*path[:-1], name[:-2]), (*(None,) * (len(path) - 1), given))
    return (scope.member(of, member_name, None),)


_MEMBERS = {"_t": ("type", "type"), "_v": ("constant", "value")}


def _template(path: tuple[str, ...], arguments: tuple[Argument, ...], scope: Scope) -> Entity:
    """A class template with arguments, or what an alias template or a variable template stands for."""
    space, name = _space(path, tuple(_spaces(path, scope))), path[-1]
    stub = _in(space, name)
    if stub is None:
        known = space == _STD or len(path) == 1 or path[0] in ("std", "cuda")
        return Undeclared(path) if known else None
    layout = stub.argument("layout") or ""
    if layout in _LAYOUTS:
        return _LAYOUTS[layout](arguments, path)
    if stub.argument("alias") in _COMPUTED:
        return _COMPUTED[stub.argument("alias") or ""](arguments)
    if stub.has("storage"):
        return Named(f"cub::{name}", arguments)
    if space != _STD:
        return None
    made = Named(name, arguments)
    return (constant_of(made) or made) if stub.argument("constant") == "last" else made


def lacks(kind: Named, name: str) -> bool:
    """Is it surely a class without such a member?"""
    stub = _in(_STD, kind.name)
    code = None if stub is None else stub.argument("type")
    return name == "type" and code is not None and has_no_type(code, kind.arguments)


def constant_of(kind: Named) -> Named | None:
    """The ``integral_constant`` that a class is, as ``bool_constant<true>``, or is derived from, as ``is_same<A, B>``
    ([meta.rqmts]); None: it is no such class, or its value is not known."""
    stub = _in(_STD, kind.name)
    if stub is None or not stub.has("constant"):
        return None
    value = trait_value(stub.argument("constant") or "", kind.arguments)
    if value is None or value.n is None or value.type is None:
        return None
    return Named("integral_constant", (value.type, value))


def member(of: Entity, name: str) -> Entity:
    """``of::name`` for an entity that this module made, or for a class of CUB."""
    if isinstance(of, Record):
        return _declared_storage(of) if name == "TempStorage" else None
    if isinstance(of, ArrayClass):
        return of.element if name == "value_type" else None
    if not isinstance(of, Named):
        return None
    if of.name.startswith("cub::"):
        last = of.name.removeprefix("cub::")
        return _cub_storage(last, of.arguments) if name == "TempStorage" else None
    stub = _in(_STD, of.name)
    if stub is None:
        return None
    if stub.has("type"):
        return trait_type(stub.argument("type") or "", of.arguments) if name == "type" else None
    if stub.has("constant"):
        if name == "type":
            return constant_of(of)
        return trait_value(stub.argument("constant") or "", of.arguments) if name == "value" else None
    if stub.has("limits"):
        return Undeclared((*_STD, of.name, name)) if name in _LIMITS else limits_member(name, of.arguments)
    return None


def _in(space: tuple[str, ...] | None, name: str) -> Stub | None:
    found = (each for each in stubs.own().named(name) if each.around == space and each.parameters is None)
    return next(found, None)


def _space(path: tuple[str, ...], spaces: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """The namespace of the stub files in which a path looks for its last segment; ``spaces``: those that it may."""
    for space in spaces:
        if len(path) > 1 or any(each.around == space for each in _names(path[-1])):
            return space
    return None


def _names(name: str) -> Sequence[Stub]:
    """Declarations of a name, or of what ``name_t`` and ``name_v`` belong to."""
    return (*stubs.own().named(name), *stubs.own().named(name[:-2]))


def _spaces(path: tuple[str, ...], scope: Scope) -> Iterator[tuple[str, ...]]:
    """The namespaces that a path may mean. Where warps may have other sizes than CUB's, another library stands behind
    its name."""
    if len(path) > 1:
        found = [path[:-1]]
    else:
        found = scope.directives()
    for each in found:
        known = _SAME.get(each, each)
        if known != _CUB or scope.state.warp_size is not None:
            yield known


# ---- sizes -----------------------------------------------------------------------------------------------------------


def _array(arguments: Sequence[Argument], path: tuple[str, ...]) -> Entity:
    if len(arguments) != 2:
        return None
    element, count = arguments
    if not isinstance(count, TypedConstant) or isinstance(element, (TypedConstant, Template, Functions)):
        return None
    return ArrayClass(element, count.n)


def _complex(arguments: Sequence[Argument], path: tuple[str, ...]) -> Entity:
    """Of libcu++ and Thrust, it is aligned to its size."""
    kind = arguments[0] if len(arguments) == 1 else None
    size = _COMPLEX.get(kind.name) if isinstance(kind, Scalar) else None
    if size is None or not isinstance(kind, Scalar):
        return None
    space = "thrust::" if path[0] == "thrust" else ""
    return Scalar(f"{space}complex<{kind.name}>", size[0], size[0 if path[0] in ("cuda", "thrust") else 1])


def _barrier(arguments: Sequence[Argument], path: tuple[str, ...]) -> Entity:
    """A barrier of one block is a 64-bit word (libcu++)."""
    counts = [each.n for each in arguments if isinstance(each, TypedConstant)]
    return Scalar("cuda::barrier<block>", 8, 8) if counts == [_BLOCK_SCOPE] else None  # the scope decides


def _pipeline(arguments: Sequence[Argument], path: tuple[str, ...]) -> Entity:
    """Two words for each stage, and a count (libcu++)."""
    counts = [each.n for each in arguments if isinstance(each, TypedConstant)]
    if len(counts) != 2 or counts[0] != _BLOCK_SCOPE or not counts[1]:
        return None
    return Scalar("cuda::pipeline_shared_state<block>", 16 * counts[1] + 8, 8)


def _atomic(arguments: Sequence[Argument], path: tuple[str, ...]) -> Entity:
    """An object of as many bytes as its value has, at least a word (libcu++)."""
    if path[0] != "cuda":
        return Undeclared(path)
    kind = types_of(arguments[:1])[0] if arguments else None
    if not isinstance(kind, Scalar) or kind.size not in (1, 2, 4, 8):
        return None
    size = max(kind.size, 4)
    return Scalar(f"cuda::atomic<{kind.name}>", size, size)


def _of_cub(count: int, size: Callable[..., Size]) -> Callable[[Sequence[Argument], tuple[str, ...]], Entity]:
    """An object of CUB whose size follows from those of ``count`` types."""

    def made(arguments: Sequence[Argument], path: tuple[str, ...]) -> Entity:
        known = [each for each in map(size_of_type, types_of(arguments)) if each is not None]
        if not len(known) == len(arguments) == count:
            return None
        spelled = f"cub::{path[-1]}<{', '.join(map(spell_argument, arguments))}>"
        return Scalar(spelled, *size(*known))

    return made


_LAYOUTS: Mapping[str, Callable[[Sequence[Argument], tuple[str, ...]], Entity]] = {
    "array": _array,
    "complex": _complex,
    "barrier": _barrier,
    "pipeline": _pipeline,
    "atomic": _atomic,
    "uninitialized": _of_cub(1, cub_storage.raw),
    "pair": _of_cub(2, cub_storage.pair),
}
LAYOUTS = frozenset(_LAYOUTS)
"""Every ``layout(...)`` of the stub files that has code."""


def _cub_storage(name: str, arguments: Sequence[Argument]) -> Storage | None:
    """``TempStorage`` of a collective."""
    given = [
        each.n if isinstance(each, TypedConstant) else size_of_type(types_of((each,))[0])
        for each in arguments
    ]
    size = cub_storage.storage(name, given)
    if size is None:
        return None
    return Storage(f"cub::{name}<{', '.join(map(spell_argument, arguments))}>::TempStorage", *size)


def _declared_storage(of: Record) -> Storage | None:
    """The same where CUB's headers are in sight, whose declarations are too deep to lay out."""
    outer = of.scope.parent
    if of.decl.name not in cub_storage.classes() or outer is None or not _in_cub(of.scope):
        return None
    if outer.state.warp_size is None:
        return None
    return _cub_storage(of.decl.name, [outer.bound.get(each.name) for each in of.decl.parameters or ()])


def _in_cub(scope: Scope) -> bool:
    return any(
        outer.parent is not None and outer.parent.declarations.namespaces.get("cub") is outer.declarations
        for outer in scope.outwards()
    )


# ---- what names stand for --------------------------------------------------------------------------------------------


def _computed(arguments: Sequence[Argument]) -> Type | None:
    """``at::opmath_type<T>``"""
    kind = types_of(arguments[:1])[0] if arguments else None
    if not isinstance(kind, Scalar):
        return None
    return FLOAT if kind.name in _HALVES else kind if kind.kind != "other" else None


def _accumulated(arguments: Sequence[Argument]) -> Type | None:
    """``at::acc_type<T, true>``"""
    kind = types_of(arguments[:1])[0] if arguments else None
    if not isinstance(kind, Scalar):
        return None
    if kind.name in _HALVES:
        return FLOAT
    if len(arguments) != 2 or not isinstance(arguments[1], TypedConstant) or arguments[1].n != 1:
        return None  # on the host
    return INTEGERS["long"] if kind.kind == "int" else kind if kind in (FLOAT, DOUBLE, BOOL) else None


_COMPUTED: Mapping[str, Callable[[Sequence[Argument]], Type | None]] = {
    "computed": _computed,
    "accumulated": _accumulated,
}
_CONSTANTS: Mapping[str | None, Entity] = {
    "true_constant": Named("integral_constant", (BOOL, TypedConstant(BOOL, 1))),
    "false_constant": Named("integral_constant", (BOOL, TypedConstant(BOOL, 0))),
    "nothing": Scalar("cub::NullType", 1, 1),
}
ALIASES = frozenset((*_COMPUTED, *_CONSTANTS))
"""Every ``alias(...)`` of the stub files that has code."""


# ---- calls -----------------------------------------------------------------------------------------------------------


def call(
    path: tuple[str, ...], callee: tree.Name, arguments: Sequence[TypedConstant], scope: Scope
) -> TypedConstant:
    """A call of a function without a declaration."""
    limits = _limits(path, callee, arguments, scope)
    if limits is not None:
        return limits
    if path[:-1] != () and _SAME.get(path[:-1], path[:-1]) != _STD:
        return UNKNOWN
    name = path[-1]
    declared = stubs.own().named(name)
    value = declared[0].value if declared else ""
    if value in _EXTREMES and len(declared) > 1:  # `umin` has one type
        if len(arguments) == 1 and not callee.templated:
            return _extreme_of(value, arguments[0].type)
        if len(arguments) == 2:
            return _extreme(value, path, callee, arguments, scope)
    known = UNKNOWN if callee.templated else returned_by(name, arguments, scope.state.warp_size)
    if value == "absolute" and len(arguments) == 1 and arguments[0].n is not None:
        return TypedConstant(known.type, abs(arguments[0].n)) if known.type == arguments[0].type else UNKNOWN
    return known


def handed_on(
    path: tuple[str, ...], callee: tree.Name, arguments: Sequence[tree.Expr], scope: Scope
) -> Type | None:
    """What ``std::move``, ``std::forward`` and ``std::declval`` return; None: it is another function, or not known."""
    if _SAME.get(path[:-1], path[:-1]) != _STD or path[-1] not in ("move", "forward", "declval"):
        return None
    if path[-1] == "move":
        kind: Argument = scope.semantics.qualified_type(arguments[0], scope) if len(arguments) == 1 else None
    else:
        explicit = callee.arguments[-1] if callee.arguments else None
        kind = scope.argument(explicit[0]) if explicit else None
    return reference_to(kind, rvalue=True) if isinstance(kind, Type) else None


_EXTREMES: Mapping[str, Callable[[Sequence[int]], int]] = {"minimum": min, "maximum": max}


def _extreme_of(value: str, of: Type | None) -> TypedConstant:
    """``max`` and ``min`` of a list."""
    if not isinstance(of, Listed):
        return UNKNOWN
    known = [each for each in of.values if each is not None]
    whole = bool(known) and len(known) == len(of.values)
    return TypedConstant(of.element, _EXTREMES[value](known) if whole else None)


def _extreme(
    value: str,
    path: tuple[str, ...],
    callee: tree.Name,
    arguments: Sequence[TypedConstant],
    scope: Scope,
) -> TypedConstant:
    """``max`` and ``min`` of two numbers; without a value unless both are constants."""
    first, second = arguments
    kind = arithmetic.common_type(first.type, second.type)
    if kind is None:
        return UNKNOWN
    if len(path) > 1 and not callee.templated:
        if first.type != second.type:
            return UNKNOWN  # no such std::max
        kind = first.type  # it is not promoted
    values = [arithmetic.converted(a.n, a.type, kind) for a in arguments]
    explicit = callee.arguments[-1] if callee.arguments else None
    if explicit:
        wanted = scope.argument(explicit[0])
        if isinstance(wanted, (TypedConstant, Template, Functions)):
            return UNKNOWN
        kind = wanted
        values = [arithmetic.converted(a.n, a.type, kind) for a in arguments]
    known = [each for each in values if each is not None]
    return TypedConstant(kind, _EXTREMES[value](known) if len(known) == len(values) else None)


def _limits(
    path: tuple[str, ...], callee: tree.Name, arguments: Sequence[TypedConstant], scope: Scope
) -> TypedConstant | None:
    """``std::numeric_limits<T>::max()`` and ``min()``."""
    if len(path) < 2 or path[-1] not in _LIMITS or arguments:
        return None
    given = callee.arguments[-2] if len(callee.arguments) >= 2 else None
    if not given or len(given) != 1:
        return None
    around = path[:-1]
    stub = _in(_space(around, tuple(_spaces(around, scope))), around[-1])
    if stub is None or not stub.has("limits"):
        return None
    return limit(path[-1], (scope.argument(given[0]),))
