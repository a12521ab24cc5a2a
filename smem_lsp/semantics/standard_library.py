"""What names of the standard library mean without its headers: traits, limits, arrays, `min` and `max`."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.semantics import arithmetic, cub_storage, entities, template_arguments
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
from smem_lsp.semantics.types import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    TORCH,
    Array,
    Enum,
    Listed,
    Named,
    Pointer,
    Qualified,
    Record,
    Reference,
    Scalar,
    Storage,
    Type,
    builtin,
    scalar_of,
)
from smem_lsp.semantics.types import Sequence as ArrayClass
from smem_lsp.syntax import tree

_ROOTS = (("std",), ("cuda", "std"))
_TYPE_TRAITS = frozenset(
    "conditional remove_const remove_volatile remove_cv remove_reference remove_cvref remove_pointer remove_extent"
    " remove_all_extents add_const decay type_identity underlying_type make_unsigned make_signed enable_if"
    " common_type".split()
)
_VALUE_TRAITS = frozenset(
    "is_same is_integral is_floating_point is_pointer is_unsigned is_signed is_arithmetic is_enum alignment_of extent"
    " rank integral_constant bool_constant tuple_size".split()
)
_OTHERS = frozenset(
    ("array", "numeric_limits", "true_type", "false_type", "aligned_storage", "aligned_storage_t", "variant")
)
_BLOCK_SCOPE = 2  # cuda::thread_scope_block
_COMPLEX = {"float": (8, 4), "double": (16, 8)}
_CUB = (("cub",), ("at_cuda_detail", "cub"))
_NO_VALUE = Scalar("cub::NullType", 1, 1)
_HALVES = frozenset(("__half", "__nv_bfloat16", *(kind.name for kind in TORCH.values())))


def _standard_name(path: tuple[str, ...], scope: Scope) -> str | None:
    """The last segment, if the path names something in the standard library."""
    if path[:-1] in _ROOTS:
        return path[-1]
    if len(path) == 1 and any(("std",) in each.declarations.directives for each in scope.outwards()):
        return path[0]
    return None


def entity(path: tuple[str, ...], arguments: tuple[list[tree.Expr] | None, ...], scope: Scope) -> Entity:
    """The meaning of a name without a declaration."""
    if arguments.count(None) == len(path):
        if path[-1] in ("true_type", "false_type") and _standard_name(path, scope) is not None:
            return Named("integral_constant", (TypedConstant(BOOL, int(path[-1] == "true_type")),))
        kind = builtin("::".join(path)) or _cub_constant(path, scope)
        if kind is not None:
            return kind
        return (
            TypedConstant(INT, _BLOCK_SCOPE) if path == ("cuda", "thread_scope_block") else Undeclared(path)
        )
    for end in range(1, len(path) + 1):
        given = arguments[end - 1]
        if given is None:
            continue
        name = _standard_name(path[:end], scope)
        evaluated = tuple(scope.argument(each) for each in given)
        if name is None:
            found: Entity = _vendor(path[:end], evaluated, scope)
        else:
            found = _template(name, evaluated, path[: end - 1])
        for member_name in path[end:]:
            found = member(found, member_name)
        return found
    return None


def _cub_name(path: tuple[str, ...], scope: Scope) -> str | None:
    """The last segment, if the path names something in CUB. Where warps may have other sizes than CUB's, another
    library stands behind its name."""
    if scope.state.warp_size is None:
        return None
    if path[:-1] in _CUB:
        return path[-1]
    if len(path) == 1 and any(d in _CUB for each in scope.outwards() for d in each.declarations.directives):
        return path[0]
    return None


def _cub_constant(path: tuple[str, ...], scope: Scope) -> Scalar | TypedConstant | None:
    """An algorithm of CUB, or its type for no value."""
    name = path[-1]
    if (name != "NullType" and name not in cub_storage.enumerators()) or _cub_name(path, scope) is None:
        return None
    return _NO_VALUE if name == "NullType" else TypedConstant(INT, cub_storage.enumerators()[name])


def _cub_template(name: str, arguments: tuple[Argument, ...]) -> Entity:
    if name in cub_storage.classes():
        return Named(f"cub::{name}", arguments)
    sizes = [size_of_type(kind) for kind in _types(arguments)]
    known = [size for size in sizes if size is not None]
    spelled = f"cub::{name}<{', '.join(map(spell_argument, arguments))}>"
    if name == "Uninitialized" and len(known) == len(sizes) == 1:
        return Scalar(spelled, *cub_storage.raw(known[0]))
    if name == "KeyValuePair" and len(known) == len(sizes) == 2:
        return Scalar(spelled, *cub_storage.pair(*known))
    return None


def _cub_storage(name: str, arguments: Sequence[Argument]) -> Storage | None:
    """``TempStorage`` of a collective."""
    given = [each.n if isinstance(each, TypedConstant) else _size(each) for each in arguments]
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


def _types(arguments: Sequence[Argument]) -> list[Type | None]:
    """The arguments that are types; None for others."""
    return [None if isinstance(each, (TypedConstant, Template, Functions)) else each for each in arguments]


def _size(argument: Argument) -> cub_storage.Given:
    return size_of_type(_types((argument,))[0])


def _accumulated(path: tuple[str, ...], arguments: tuple[Argument, ...]) -> Type | None:
    """``at::opmath_type<T>`` and ``at::acc_type<T, true>``: the type in which PyTorch computes on a GPU."""
    kind = _types(arguments[:1])[0] if arguments else None
    if not isinstance(kind, Scalar):
        return None
    if kind.name in _HALVES:
        return FLOAT
    if path[-1] == "opmath_type":
        return kind if kind.kind != "other" else None
    if len(arguments) != 2 or not isinstance(arguments[1], TypedConstant) or arguments[1].n != 1:
        return None  # on the host
    return INTEGERS["long"] if kind.kind == "int" else kind if kind in (FLOAT, DOUBLE, BOOL) else None


def _vendor(path: tuple[str, ...], arguments: tuple[Argument, ...], scope: Scope) -> Entity:
    """Templates of the CUDA libraries whose size is documented or measured."""
    cub = _cub_name(path, scope)
    if cub is not None and (cub in cub_storage.classes() or cub in ("Uninitialized", "KeyValuePair")):
        return _cub_template(cub, arguments)
    if path in (("at", "opmath_type"), ("at", "acc_type")):
        return _accumulated(path, arguments)
    if path in (("cuda", "barrier"), ("cuda", "pipeline_shared_state")):
        return _synchronisation(path[-1], arguments)
    if path == ("cuda", "atomic"):
        return _atomic(arguments)
    if path == ("thrust", "complex") and len(arguments) == 1 and isinstance(arguments[0], Scalar):
        size = _COMPLEX.get(arguments[0].name)
        return None if size is None else Scalar(f"thrust::complex<{arguments[0].name}>", size[0], size[0])
    return Undeclared(path) if len(path) == 1 or path[0] in ("std", "cuda") else None


def _synchronisation(name: str, arguments: tuple[Argument, ...]) -> Entity:
    """A barrier of one block is a 64-bit word; a pipeline's state has two per stage, and a count (libcu++)."""
    counts = [argument.n for argument in arguments if isinstance(argument, TypedConstant)]
    if name == "barrier" and counts == [_BLOCK_SCOPE]:
        return Scalar("cuda::barrier<block>", 8, 8)
    if name == "pipeline_shared_state" and len(counts) == 2 and counts[0] == _BLOCK_SCOPE and counts[1]:
        return Scalar("cuda::pipeline_shared_state<block>", 16 * counts[1] + 8, 8)
    return None  # the scope decides


def _atomic(arguments: tuple[Argument, ...]) -> Entity:
    """An object of as many bytes as its value has, at least a word (libcu++)."""
    kind = _types(arguments[:1])[0] if arguments else None
    if not isinstance(kind, Scalar) or kind.size not in (1, 2, 4, 8):
        return None
    size = max(kind.size, 4)
    return Scalar(f"cuda::atomic<{kind.name}>", size, size)


def _template(name: str, arguments: tuple[Argument, ...], prefix: tuple[str, ...]) -> Entity:
    if name == "array" and len(arguments) == 2:
        element, count = arguments
        if isinstance(count, TypedConstant) and not isinstance(element, (TypedConstant, Template, Functions)):
            return ArrayClass(element, count.n)
        return None
    if name == "complex" and len(arguments) == 1 and isinstance(arguments[0], Scalar):
        size = _COMPLEX.get(arguments[0].name)
        if size is None:
            return None
        return Scalar(
            f"complex<{arguments[0].name}>", size[0], size[0] if prefix[:1] == ("cuda",) else size[1]
        )
    if name == "atomic" and prefix[:1] == ("cuda",):
        return _atomic(arguments)
    if name.endswith("_t") and name[:-2] in _TYPE_TRAITS:
        return _trait_type(name[:-2], arguments)
    if name.endswith("_v") and name[:-2] in _VALUE_TRAITS:
        return _trait_value(name[:-2], arguments)
    if name in _TYPE_TRAITS or name in _VALUE_TRAITS or name in _OTHERS:
        return Named(name, arguments)
    return Undeclared((*prefix, name))


def member(of: Entity, name: str) -> Entity:
    """``of::name`` for an entity that this module made, or for a class of CUB."""
    if isinstance(of, Record):
        return _declared_storage(of) if name == "TempStorage" else None
    if isinstance(of, ArrayClass):
        return of.element if name == "value_type" else None
    if not isinstance(of, Named):
        return None
    arguments = of.arguments
    if of.name.startswith("cub::"):
        return _cub_storage(of.name.removeprefix("cub::"), arguments) if name == "TempStorage" else None
    if of.name in _TYPE_TRAITS:
        return _trait_type(of.name, arguments) if name == "type" else None
    if of.name == "integral_constant" or of.name in _VALUE_TRAITS:
        return _trait_value(of.name, arguments) if name == "value" else None
    if of.name == "numeric_limits" and name in ("max", "min", "lowest"):
        return Undeclared(("std", "numeric_limits", name))
    if of.name == "numeric_limits" and name in ("digits", "is_signed", "is_integer"):
        kind = scalar_of(_only_type(arguments))
        if kind is None or kind.kind not in ("int", "bool"):
            return None
        bits = 1 if kind.kind == "bool" else kind.size * 8 - kind.signed
        answers = {"digits": (INT, bits), "is_signed": (BOOL, int(kind.signed)), "is_integer": (BOOL, 1)}
        return TypedConstant(*answers[name])
    return None


def _only_type(arguments: Sequence[Argument]) -> Type | None:
    if len(arguments) != 1 or isinstance(arguments[0], (TypedConstant, Template, Functions)):
        return None
    return arguments[0]


# One function, because it is a table: a line for each trait.
def _trait_type(name: str, arguments: Sequence[Argument]) -> Type | None:
    types = [None if isinstance(a, (TypedConstant, Template, Functions)) else a for a in arguments]
    if name in ("conditional", "enable_if"):
        if not arguments or not isinstance(arguments[0], TypedConstant) or arguments[0].n is None:
            return None
        if name == "enable_if":
            return types[1] if arguments[0].n and len(types) == 2 else None
        return types[1 if arguments[0].n else 2] if len(types) == 3 else None
    if name == "common_type":
        return arithmetic.common_type(*types) if len(types) == 2 else types[0] if len(types) == 1 else None
    if len(types) != 1:
        return None
    kind = types[0]
    bare = kind.target if isinstance(kind, Qualified) else kind
    match name:
        case "remove_const" | "remove_volatile" | "remove_cv":
            return bare
        case "remove_reference":
            return kind.target if isinstance(kind, Reference) else kind
        case "remove_cvref":
            inner = kind.target if isinstance(kind, Reference) else kind
            return inner.target if isinstance(inner, Qualified) else inner
        case "decay":
            inner = kind.target if isinstance(kind, Reference) else kind
            inner = inner.target if isinstance(inner, Qualified) else inner
            return Pointer(inner.element) if isinstance(inner, Array) else inner
        case "remove_pointer":
            return bare.target if isinstance(bare, Pointer) else kind
        case "remove_extent":
            return bare.element if isinstance(bare, Array) else kind
        case "remove_all_extents":
            while isinstance(bare, Array):
                bare = bare.element
            return bare
        case "add_const":
            return Qualified(bare)
        case "type_identity":
            return kind
        case "underlying_type":
            return bare.underlying if isinstance(bare, Enum) else None
        case "make_unsigned" | "make_signed":
            found = bare if isinstance(bare, Scalar) else None
            if found is None or found.kind != "int" or found.name not in INTEGERS:
                return None
            plain = found.name.removeprefix("unsigned ").removeprefix("signed ")
            if name == "make_unsigned":
                return INTEGERS.get(f"unsigned {plain}")
            return INTEGERS["signed char"] if plain == "char" else INTEGERS.get(plain)
    return None


# One function, because it is a table: a line for each trait.
def _trait_value(name: str, arguments: Sequence[Argument]) -> TypedConstant | None:
    n: int | None = None
    kind: Scalar = BOOL
    if name in ("integral_constant", "bool_constant"):
        last = arguments[-1] if arguments else None
        return last if isinstance(last, TypedConstant) else None
    if name == "is_same" and len(arguments) == 2:
        answer = template_arguments.same(arguments[0], arguments[1])
        return None if answer is None else TypedConstant(BOOL, int(answer))
    given = _only_type(arguments[:1])
    if given is None or entities.is_open(given):
        return None
    bare = given.target if isinstance(given, Qualified) else given
    scalar = bare if isinstance(bare, Scalar) else None
    number = scalar is not None and scalar.kind != "other"
    if isinstance(bare, (Named,)) or (isinstance(bare, Record) and name not in ("is_same",)):
        if not isinstance(bare, Record):
            return None
    match name:
        case "is_integral":
            n = int(number and scalar is not None and scalar.kind in ("int", "bool"))
        case "is_floating_point":
            n = int(number and scalar is not None and scalar.kind == "float")
        case "is_arithmetic":
            n = int(number)
        case "is_pointer":
            n = int(isinstance(bare, Pointer))
        case "is_enum":
            n = int(isinstance(bare, Enum))
        case "is_signed" | "is_unsigned":
            signed = number and scalar is not None and (scalar.signed or scalar.kind == "float")
            n = int(signed if name == "is_signed" else number and not signed)
        case "alignment_of":
            size = size_of_type(bare)
            kind, n = INTEGERS["unsigned long"], None if size is None else size[1]
        case "extent":
            if len(arguments) == 1:
                kind, n = INTEGERS["unsigned long"], bare.count if isinstance(bare, Array) else 0
        case "tuple_size":
            kind, n = INTEGERS["unsigned long"], bare.count if isinstance(bare, ArrayClass) else None
    return None if n is None else TypedConstant(kind, n)


def call(
    path: tuple[str, ...], callee: tree.Name, arguments: Sequence[TypedConstant], scope: Scope
) -> TypedConstant:
    """A call of a function without a declaration."""
    name = path[-1]
    limits = _limits(path, callee, arguments, scope)
    if limits is not None:
        return limits
    if path[:-1] not in ((), *_ROOTS):
        return UNKNOWN
    if name in ("max", "min") and len(arguments) == 1 and not callee.templated:
        return _extreme_of(name, arguments[0].type)
    if name in ("max", "min") and len(arguments) == 2:
        return _extreme(path, callee, arguments, scope)
    if name == "abs" and len(arguments) == 1 and arguments[0].n is not None:
        kind = arguments[0].type
        return TypedConstant(kind, abs(arguments[0].n)) if kind == INT else UNKNOWN
    return UNKNOWN if callee.templated else returned_by(name, arguments, scope.state.warp_size)


def _extreme_of(name: str, of: Type | None) -> TypedConstant:
    """``max`` and ``min`` of a list."""
    if not isinstance(of, Listed):
        return UNKNOWN
    known = [value for value in of.values if value is not None]
    whole = bool(known) and len(known) == len(of.values)
    return TypedConstant(of.element, (max if name == "max" else min)(known) if whole else None)


def _extreme(
    path: tuple[str, ...], callee: tree.Name, arguments: Sequence[TypedConstant], scope: Scope
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
    known = [value for value in values if value is not None]
    if len(known) != len(values):
        return TypedConstant(kind)
    return TypedConstant(kind, max(known) if path[-1] == "max" else min(known))


def _limits(
    path: tuple[str, ...], callee: tree.Name, arguments: Sequence[TypedConstant], scope: Scope
) -> TypedConstant | None:
    """``std::numeric_limits<T>::max()`` and ``min()`` of integers."""
    if len(path) < 2 or path[-1] not in ("max", "min", "lowest") or arguments:
        return None
    given = callee.arguments[-2] if len(callee.arguments) >= 2 else None
    if not given or len(given) != 1 or _standard_name(path[:-1], scope) != "numeric_limits":
        return None
    argument = scope.argument(given[0])
    kind = None if isinstance(argument, (TypedConstant, Template, Functions)) else scalar_of(argument)
    if kind is None or kind.kind not in ("int", "bool"):
        return TypedConstant(kind)
    if kind.kind == "bool":
        return TypedConstant(kind, int(path[-1] == "max"))
    bits = kind.size * 8 - kind.signed
    if path[-1] == "max":
        return TypedConstant(kind, (1 << bits) - 1)
    return TypedConstant(kind, -(1 << bits) if kind.signed else 0)
