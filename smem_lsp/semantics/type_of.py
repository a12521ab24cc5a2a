"""From spelled types to types: specifiers, declarators, aliases, variables, instances of templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from smem_lsp.semantics import arithmetic, declarations
from smem_lsp.semantics.declarations import (
    AliasDecl,
    ClassDecl,
    EnumDecl,
    Range,
    Source,
    VariableDecl,
    declaration_tree,
    enumerators,
    variable_tree,
)
from smem_lsp.semantics.entities import (
    UNKNOWN,
    Entity,
    Functions,
    Namespace,
    Template,
    TypedConstant,
    Undeclared,
)
from smem_lsp.semantics.scope import Scope, instance
from smem_lsp.semantics.types import (
    INT,
    Array,
    FunctionType,
    Pointer,
    Record,
    Reference,
    Scalar,
    Type,
    builtin,
    decayed,
    fundamental,
    qualified,
    reference_to,
    scalar_of,
    unqualified,
    vector_element,
)
from smem_lsp.source.queries import Query, remembered
from smem_lsp.syntax import tree

_IGNORED = frozenset(
    "static extern register mutable inline __inline __inline__ __forceinline__ constexpr consteval constinit"
    " __shared__ __device__ __host__ __constant__ __managed__ __grid_constant__ const volatile __const"
    " __volatile__ restrict __restrict __restrict__ typedef struct class union enum typename thread_local friend"
    " __extension__".split()
)
_QUALIFIERS = {
    "constant": frozenset(("const", "__const", "constexpr")),
    "volatile": frozenset(("volatile", "__volatile__")),
}
_POINTERS = ("*", "&", "&&", "::*")


class Specifiers(Protocol):
    """What is declared or spelled with specifiers."""

    @property
    def words(self) -> list[str]: ...

    @property
    def names(self) -> list[tree.Name]: ...

    @property
    def decltype(self) -> tree.Decltype | None: ...


def specified(spelled: Specifiers, scope: Scope, record: Type | None = None) -> Type | None:
    """The type that specifiers spell. ``record``: the class whose body is among them."""
    plain, kind, qualifiers = _spelled(tuple(spelled.words))
    names = spelled.names
    if "{}" in plain:
        kind = record
    elif spelled.decltype is not None:
        kind = scope.semantics.decltype(spelled.decltype, scope)
        if len(plain) > 1:
            kind = _member_type(kind, names, scope)
    elif names:
        kind = named(names[0], scope) if len(names) == 1 and len(plain) == 1 else None
    return qualified(kind, **qualifiers) if qualifiers else kind


def _member_type(kind: Type | None, names: Sequence[tree.Name], scope: Scope) -> Type | None:
    """``decltype(e)::type``"""
    if kind is None or len(names) != 1 or not names[0].text.startswith("::"):
        return None
    (name,) = names
    inner = tree.Name(name.lo, name.hi, f"decltype{name.text}", name.templated, [None, *name.arguments])
    return named(inner, scope.bind({"decltype": kind}))


def qualified_by(words: Sequence[str], kind: Type | None) -> Type | None:
    """``kind`` with the qualifiers among specifiers."""
    return qualified(kind, **_spelled(tuple(words))[2])


@remembered(most=4096)
def _spelled(words: tuple[str, ...]) -> tuple[tuple[str, ...], Type | None, dict[str, bool]]:
    """(specifiers that determine the type, the fundamental type that they spell, the qualifiers among them).
    ``constexpr`` makes a variable ``const`` ([dcl.constexpr]/6)."""
    plain = tuple(word for word in words if word not in _IGNORED)
    qualifiers = {name: True for name, spelled in _QUALIFIERS.items() if not spelled.isdisjoint(words)}
    return plain, fundamental(list(plain)) if plain else None, qualifiers


def named(name: tree.Name, scope: Scope) -> Type | None:
    """The type a name stands for; None if it is no type or unknown."""
    meaning = scope.resolve(name)
    if isinstance(meaning, Undeclared):
        return None if name.templated else builtin("::".join(meaning.path))
    return as_type(meaning)


def as_type(meaning: Entity) -> Type | None:
    if isinstance(meaning, (TypedConstant, Namespace, Functions, Template, Undeclared)):
        return None
    return meaning


def declarator_type(base: Type | None, declarator: tree.Declarator, scope: Scope) -> Type | None:
    """The type of one declarator of a declaration with specifiers ``base``."""
    if "..." in declarator.pointers:
        return None
    return _compose(base, declarator.pointers, declarator.dims, declarator.core, declarator.function, scope)


def type_id(node: tree.TypeId, scope: Scope) -> Type | None:
    """The type of a type-id."""
    if "..." in node.pointers or (node.pointers.count("()") and not node.core[0]):
        return None
    base = specified(node, scope)
    return _compose(base, node.pointers, node.dims, node.core, "()" in node.pointers, scope)


def _compose(
    base: Type | None,
    pointers: Sequence[str],
    dims: Sequence[tree.Expr | None],
    core: tuple[int, int],
    function: bool,
    scope: Scope,
) -> Type | None:
    """Pointers left of the name, then arrays and parameters right of it, then the declarator in parentheses."""
    stars = [at for at, pointer in enumerate(pointers) if pointer in _POINTERS]
    if core[0] > len(stars):
        return None  # a lone `...` or the like stands in the parentheses
    first = stars[len(stars) - core[0]] if core[0] else len(pointers)  # of those in parentheses
    inner_dims, outer_dims = (dims[: core[1]], dims[core[1] :]) if core[0] else ((), dims)
    kind = _pointed(base, pointers[:first])
    if function:
        kind = FunctionType()
    kind = _pointed(_arrays(kind, outer_dims, scope), pointers[first:])
    return _arrays(kind, inner_dims, scope)


def _pointed(kind: Type | None, pointers: Sequence[str]) -> Type | None:
    """What pointers and references, each with its qualifiers behind it, make of a type."""
    for pointer in pointers:
        if pointer == "::*":
            kind = Pointer(None, 16 if isinstance(kind, FunctionType) else 8)
        elif pointer == "*":
            kind = Pointer(kind)
        elif pointer in ("&", "&&"):
            kind = reference_to(kind, rvalue=pointer == "&&")
        else:
            kind = qualified(kind, **{name: pointer in spelled for name, spelled in _QUALIFIERS.items()})
    return kind


def _arrays(kind: Type | None, dims: Sequence[tree.Expr | None], scope: Scope) -> Type | None:
    for dim in reversed(dims):
        count = None if dim is None else scope.semantics.evaluate(dim, scope)
        kind = Array(kind, count if count is None or count >= 0 else None)
    return kind


# ---- declarations ----------------------------------------------------------------------------------------------------


def underlying(decl: EnumDecl, scope: Scope) -> Scalar | None:
    """The underlying type of an enumeration. If it is not fixed, it is the one that GCC picks to hold all values."""
    if decl.underlying is not None:
        scope = scope.at(decl.source, decl.underlying[0])
        parsed = decl.source.parse("declaration", *decl.underlying)
        if isinstance(parsed, tree.Declaration):
            return scalar_of(specified(parsed, scope))
        parsed = decl.source.parse("expression", *decl.underlying)
        return scalar_of(named(parsed, scope)) if isinstance(parsed, tree.Name) else None
    if decl.scoped:
        return INT
    values = list(enum_values(decl, scope).values())
    known = [n for n in values if n is not None]
    if len(known) != len(values):
        return None
    return arithmetic.enum_storage(min(known, default=0), max(known, default=0))


def enum_values(decl: EnumDecl, scope: Scope) -> dict[str, int | None]:
    """Values of all enumerators by name, in order; None where unknown."""
    store, key = scope.state.store, (scope, decl)
    known = _ENUM_VALUES.find(store, key)
    if known is not None:
        return known
    with _ENUM_VALUES.growing(store, key, {}) as values:  # an initializer sees the earlier ones
        _fill_enum_values(decl, scope, values)
    return values


_ENUM_VALUES = Query[tuple[Scope, EnumDecl], dict[str, int | None]]("values of enumerators")


def _fill_enum_values(decl: EnumDecl, scope: Scope, values: dict[str, int | None]) -> None:
    fixed = underlying(decl, scope) if decl.scoped or decl.underlying is not None else None
    inner = scope.at(decl.source, decl.body[0]).child()
    for each in enumerators(decl):
        n: int | None = each.offset
        if each.base is not None:
            parsed = decl.source.parse("expression", *each.base)
            base = None if parsed is None else scope.semantics.evaluate(parsed, inner)
            n = None if base is None else base + each.offset
        if fixed is not None:
            n = arithmetic.converted(n, fixed, fixed)
        values[each.name] = n
        inner.declare(each.name, TypedConstant(fixed or arithmetic.integer_type(n or 0), n))


def alias(decl: AliasDecl, scope: Scope) -> Type | None:
    """The type that `using` or a typedef names."""
    source, home = decl.source, scope
    scope = home.at(source, decl.type[0])
    if decl.position is None:
        lo, hi = decl.type
        if hi > lo and source.kinds[lo] == "TAG" and "LC" in source.kinds[lo:hi]:
            return None
        return spelled_type(source, lo, hi, scope)
    parsed = declaration_tree(source, decl.type)
    if parsed is None:
        return member_pointer(source, *decl.type)
    record = record_type(decl.record, home)
    base = specified(parsed, scope, record)
    for declarator in parsed.declarators:
        if declarator.name == decl.name:
            return aligned(source, decl.type, declarator_type(base, declarator, scope))
    return None


def spelled_type(source: Source, lo: int, hi: int, scope: Scope) -> Type | None:
    """The type that the tokens ``[lo, hi)`` spell as a type-id."""
    if "ATTRIBUTE" in source.kinds[lo:hi]:
        return None
    parsed = source.parse("declaration", lo, hi)
    if isinstance(parsed, tree.Declaration) and len(parsed.declarators) == 1:
        declarator = parsed.declarators[0]
        binding = source.kinds[lo + declarator.lo : lo + declarator.lo + 1] == ["LB"] and not declarator.dims
        if not declarator.name and not binding:  # as a declaration, `float[N]` binds a name N
            base = specified(parsed, scope)
            return declarator_type(base, declarator, scope)
    start = lo + 1 if source.kinds[lo : lo + 1] == ["TYPENAME"] else lo
    parsed = source.parse("expression", start, hi)
    if isinstance(parsed, tree.Name):
        return named(parsed, scope)
    # parse it as the operand of sizeof, the one place where the grammar takes any type-id
    kinds = ["SIZEOF", "LP", *source.kinds[lo:hi], "RP"]
    texts = ["sizeof", "(", *source.texts[lo:hi], ")"]
    parsed = declarations.parse_tokens("expression", kinds, texts, source.symbols)
    if isinstance(parsed, tree.SizeOf) and parsed.type is not None:
        return type_id(parsed.type, scope)
    return member_pointer(source, lo, hi)


def returned(source: Source, head: Range, behind: Range | None, scope: Scope) -> Type | None:
    """The type that a function returns; None for a deduced or an unknown one. ``head``: tokens before its name;
    ``behind``: from its parameters to its body, where the type may trail ([dcl.fct])."""
    lo, name = head
    if name > lo and source.kinds[name - 1] == "SCOPE":
        return None
    start = lo
    while start < name and (source.kinds[start] in ("STORAGE", "LB", "ATTRIBUTE")):
        if source.kinds[start] == "LB":
            start = source.after(start)
        else:
            start = source.after(start + 1) if source.kinds[start] == "ATTRIBUTE" else start + 1
    rest = [i for i in range(start, name) if source.kinds[i] != "STORAGE"]
    if not rest or rest != list(range(rest[0], rest[-1] + 1)):
        return None
    if "auto" in source.texts[start:name]:
        if behind is None:
            return None
        static = "static" in source.texts[lo:name]
        return trailing(source, *behind, scope if static else _of_object(source, behind, scope))
    return spelled_type(source, rest[0], rest[-1] + 1, scope)


def _of_object(source: Source, behind: Range, scope: Scope) -> Scope:
    """The scope of the type behind the parameters of a member function, where there is an object ([expr.prim.this])."""
    record = next((each.record for each in scope.outwards() if each.record is not None), None)
    if record is None or scope.bound_to("this") is not None:
        return scope
    lo, hi = behind
    arrow = next((at for at in range(lo, hi) if source.texts[at] == "->"), hi)
    kind = qualified(record, constant="const" in source.texts[lo:arrow])
    return scope.bind({"this": TypedConstant(Pointer(kind))})


def trailing(source: Source, lo: int, hi: int, scope: Scope) -> Type | None:
    """The type behind ``->``, up to ``hi``; None: there is none, or it is not known."""
    arrow = next((at for at in range(lo, hi) if source.texts[at] == "->"), None)
    return None if arrow is None else spelled_type(source, arrow + 1, hi, scope)


def member_pointer(source: Source, lo: int, hi: int) -> Type | None:
    """A pointer to member, which the grammar does not parse: 8 bytes, 16 for a function."""
    for i in range(lo, hi - 1):
        if source.kinds[i] == "SCOPE" and source.kinds[i + 1] == "STAR":
            function = "RP" in source.kinds[i:hi] and source.kinds[hi - 1] in ("RP", "QUALIFIER")
            if "COMMA" in source.kinds[lo:hi] and not function:
                return None
            if "LB" in source.kinds[i:hi]:
                return None
            return Pointer(None, 16 if function else 8)
    return None


def aligned(source: Source, where: tuple[int, int], kind: Type | None) -> Type | None:
    """``kind``; None if an attribute of its typedef may change the alignment."""
    return None if "ATTRIBUTE" in source.kinds[slice(*where)] else kind


def record_type(record: ClassDecl | EnumDecl | None, scope: Scope) -> Type | None:
    if isinstance(record, ClassDecl):
        return instance(record, scope, ())
    return scope.enum(record) if isinstance(record, EnumDecl) else None


def variable(decl: VariableDecl, scope: Scope) -> TypedConstant | None:
    """Type and, for a constant, value of a variable."""
    parsed = variable_tree(decl)
    if parsed is None:
        return UNKNOWN
    for declarator in parsed.declarators:
        if declarator.name == decl.name:
            record = record_type(decl.record, scope)
            at = decl.range[0] + (declarator.name_at if decl.arguments is None else 0)
            found = variable_value(parsed, declarator, scope.at(decl.source, at), record)
            if found.members is not None and scope.record is not None and "static" not in parsed.words:
                return TypedConstant(found.type)  # of a member that a constructor may give other values
            return found
    return UNKNOWN


def variable_value(
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    scope: Scope,
    record: Type | None = None,
) -> TypedConstant:
    """Type and, for a constant number with a constant initializer, value of a declarator."""
    constant = "constexpr" in declaration.words or "const" in declaration.words
    constant = constant and not declarator.pointers and not declarator.dims and not declarator.function
    initializer = _initializer(declarator)
    if "auto" in declaration.words:
        found = _deduced(declaration, declarator, initializer, scope)
        return found if constant else TypedConstant(found.type)
    kind = variable_type(declaration, declarator, scope, record)
    if _has_parts(kind):
        return _object(kind, declaration, declarator, scope)
    value = UNKNOWN
    if constant and initializer is not None and scalar_of(kind) is not None:
        value = scope.semantics.evaluate_value(initializer, scope)
    return arithmetic.as_type(value, kind)


def _has_parts(kind: Type | None) -> bool:
    """Is it a class, an array of such objects, or a vector?"""
    kind = unqualified(kind)
    while isinstance(kind, Array):
        kind = unqualified(kind.element)
    return isinstance(kind, Record) or (isinstance(kind, Scalar) and vector_element(kind.name) is not None)


def _object(
    kind: Type | None, declaration: tree.Declaration, declarator: tree.Declarator, scope: Scope
) -> TypedConstant:
    """A variable of a class, with what is known of its members where it never changes."""
    words = {*declaration.words, *declarator.pointers}
    constant = "constexpr" in words or ("const" in words and words.isdisjoint(_CHANGING))
    given = declarator.initializer
    if not constant or isinstance(given, tree.Opaque) or (given is None and "constexpr" not in words):
        return TypedConstant(kind)
    if isinstance(given, tree.Braces) and declarator.style == "(":
        if len(given.items) != 1 or isinstance(given.items[0], (tree.Braces, tree.Opaque)):
            return TypedConstant(kind)
        given = given.items[0]
    return scope.semantics.object_constant(kind, given, scope)


_CHANGING = ("volatile", "__volatile__", "__constant__", "extern")  # what others may write


def variable_type(
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    scope: Scope,
    record: Type | None = None,
) -> Type | None:
    """Type of a declarator."""
    if "auto" in declaration.words:
        return _deduced(declaration, declarator, _initializer(declarator), scope).type
    base = specified(declaration, scope, record)
    return _counted(declarator_type(base, declarator, scope), declarator)


def _initializer(declarator: tree.Declarator) -> tree.Expr | None:
    """What the value of a variable is, without braces around it."""
    initializer = declarator.initializer
    if isinstance(initializer, tree.Braces) and declarator.style in ("{", "("):
        if len(initializer.items) == 1:
            return initializer.items[0]
        if not initializer.items and declarator.style == "{":
            return tree.Number(declarator.lo, declarator.hi, "0")
    return initializer


def _deduced(
    declaration: tree.Declaration, declarator: tree.Declarator, initializer: tree.Expr | None, scope: Scope
) -> TypedConstant:
    """Type and value of an ``auto`` variable, from its initializer."""
    if initializer is None or isinstance(initializer, tree.Braces):
        return UNKNOWN
    value = scope.semantics.evaluate_value(initializer, scope)
    if [word for word in declaration.words if word not in _IGNORED] != ["auto"]:
        return UNKNOWN
    words = declaration.words
    if not {"&", "&&"}.isdisjoint(declarator.pointers):
        referred = qualified_by(words, scope.semantics.qualified_type(initializer, scope))
        rvalue = "&&" in declarator.pointers and scope.semantics.is_rvalue(initializer, scope)
        return TypedConstant(None if referred is None else Reference(referred, rvalue))
    kind = decayed(value.type)
    if declarator.pointers[:1] == ["*"] and isinstance(kind, Pointer):
        target = qualified_by(words, kind.target)
        return TypedConstant(_pointed(Pointer(target), declarator.pointers[1:]))
    if "*" in declarator.pointers:
        return UNKNOWN
    return TypedConstant(qualified_by(words, kind), value.n, value.real, value.members)


def _counted(kind: Type | None, declarator: tree.Declarator) -> Type | None:
    """``kind``; an array without a bound gets the number of elements of its initializer."""
    given = declarator.initializer
    if not isinstance(kind, Array) or kind.count is not None or not isinstance(given, tree.Braces):
        return kind
    if declarator.dims[0] is not None or any(isinstance(i, (tree.Opaque, tree.Assign)) for i in given.items):
        return kind
    flat = isinstance(kind.element, Array) and not all(isinstance(item, tree.Braces) for item in given.items)
    return Array(kind.element, None if flat else len(given.items))
