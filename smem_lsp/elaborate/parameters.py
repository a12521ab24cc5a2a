"""What a function takes: its parameters, how many arguments, of which types, and how each of them is bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from smem_lsp.elaborate.packs import expanded, pack_of
from smem_lsp.elaborate.value_categories import Binding
from smem_lsp.semantics import type_of
from smem_lsp.semantics.function_scope import function_scope, qualifiers_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.semantics.types import Pointer, Reference, Type, decayed, is_constant, is_volatile, unqualified
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.names_ahead import Symbols
from smem_lsp.syntax.parse import Function


@dataclass
class Parameter:
    """One parameter of a body; None: an argument that no parameter takes."""

    declaration: tree.Declaration | None = None

    @property
    def declarator(self) -> tree.Declarator | None:
        found = self.declaration.declarators if self.declaration is not None else []
        return found[0] if found else None

    @property
    def name(self) -> str:
        return "" if self.declarator is None else self.declarator.name

    @property
    def words(self) -> list[str]:
        return [] if self.declaration is None else self.declaration.words

    @property
    def names(self) -> list[tree.Name]:
        return [] if self.declaration is None else self.declaration.names

    @property
    def decltype(self) -> tree.Decltype | None:
        return None if self.declaration is None else self.declaration.decltype

    @property
    def pointers(self) -> list[str]:
        return [] if self.declarator is None else self.declarator.pointers

    @property
    def reference(self) -> bool:
        return bool({"&", "&&"} & set(self.pointers))

    @property
    def pointer(self) -> bool:
        """``T* p``, ``T p[]``"""
        found = self.declarator
        return found is not None and ("*" in found.pointers or bool(found.dims and not found.nested))

    @property
    def pack(self) -> bool:
        return "..." in self.words or "..." in self.pointers


def function_parameters(function: Function) -> list[Parameter] | None:
    """The parameters of a function; None when they are not understood."""
    if function.parameters is None:
        return None
    return [
        Parameter(declaration)
        for declaration in function.parameters
        if declaration.words != ["void"] or declaration.declarators[0].pointers
    ]


def is_template(function: Function) -> bool:
    return function.definition.island.template or function.definition.island.of_pack


def is_friend(function: Function) -> bool:
    """Does a class define it as a friend, so that lookup finds it by the arguments only?"""
    return bool(function.enclosing) and "friend" in function.head.texts


def path_of(function: Function) -> tuple[str, ...]:
    """The namespaces and classes that a function belongs to, wherever it is defined."""
    return (*function.enclosing, *qualifiers_of(function))


def takes(function: Function, count: int) -> bool:
    """Can a function be called with so many arguments? One with a pack is made for a number of them, first."""
    fewest, most = _TAKEN.of(function.definition.store, function.symbols, partial(_taken, function))
    return fewest <= count <= most


_TAKEN = Query[Symbols, tuple[int, int]]("how many arguments a function takes", most=4)


_NEVER = 1, 0


def _taken(function: Function) -> tuple[int, int]:
    parameters = function_parameters(function)
    if parameters is None or any(parameter.pack for parameter in parameters):
        return _NEVER
    needed = sum(not _is_optional(parameter) for parameter in parameters)
    return needed, len(parameters)


def made_for(functions: Iterable[Function], count: int) -> list[Function]:
    """Those that can be called with so many arguments; of one with a pack what the compiler makes for them, or itself
    where that cannot be written out."""
    made = (
        each if takes(each, count) else expanded(each, count) or _perhaps(each, count) for each in functions
    )
    return [each for each in made if each is not None]


def _perhaps(function: Function, count: int) -> Function | None:
    needed = sum(not each.pack and not _is_optional(each) for each in function_parameters(function) or ())
    return function if is_open_ended(function, count) and needed <= count else None


def _is_optional(parameter: Parameter) -> bool:
    return parameter.declarator is not None and parameter.declarator.initializer is not None


def has_pack(function: Function) -> bool:
    """Has it a pack that is not written out? Which types it takes is not known, then, nor what it does with them."""
    return any(each.pack for each in function_parameters(function) or ())


def by_ellipsis(function: Function, count: int) -> bool:
    """Does it take some of so many arguments by an ellipsis, ``f(int, ...)``?"""
    kinds = [each for each in function.definition.parameters.kinds if each not in ("LP", "RP")]
    given = sum(not each.pack for each in function_parameters(function) or ())
    return kinds[-1:] == ["ELLIPSIS"] and count > given and pack_of(function) is None


def is_open_ended(function: Function, count: int) -> bool:
    """Does it take some of so many arguments by a pack that is not written out, or by an ellipsis?"""
    return has_pack(function) or by_ellipsis(function, count)


Identity = tuple[Definition, tuple[str, ...]]


def identity(function: Function) -> Identity:
    """What the names in the head of a function mean depends on nothing else of it."""
    return function.definition, function.scopes


def parameter_types(function: Function, top: Scope, around: Scope | None = None) -> Sequence[Type | None]:
    """Types of the parameters, arrays as addresses and those without a reference unqualified ([dcl.fct]/5); None where
    a template parameter or something unknown stands in them. ``around``: of the class that defines it; None: its place
    in the file tells."""
    return _PARAMETER_TYPES.of(
        top.state.store,
        (identity(function), around),
        lambda: tuple(_types_of_parameters(function, top, around)),
    )


_PARAMETER_TYPES = Query[tuple[Identity, Scope | None], Sequence[Type | None]](
    "types of the parameters of a function"
)


def _types_of_parameters(function: Function, top: Scope, around: Scope | None) -> Iterator[Type | None]:
    where = function_scope(top, function)
    if around is not None:
        where = around.bind(dict.fromkeys(template_parameters(function)))
    own = template_parameters(function)
    for parameter in function_parameters(function) or ():
        checkpoint()
        declarator = parameter.declarator
        if (
            declarator is None
            or own & set(parameter.words)
            or (own and any(name.templated for name in parameter.names))
        ):
            yield Pointer(None) if "*" in parameter.pointers else None
            continue
        assert parameter.declaration is not None
        value = type_of.variable_value(parameter.declaration, declarator, where)
        yield value.type if isinstance(value.type, Reference) else decayed(unqualified(value.type))


def binding(parameter: Parameter, function: Function, declared: Type | None = None) -> Binding | None:
    """How a parameter takes what it gets; None: not known. ``declared``: its type, if that is known."""
    marks = [each for each in parameter.pointers if each in ("*", "&", "&&")]
    if marks not in ([], ["&"], ["&&"]):
        return None if {"&", "&&"} & set(marks) else Binding()
    if isinstance(declared, Reference) and (not marks or declared.rvalue is not None):
        if declared.rvalue is None:
            return None
        marks = ["&&" if declared.rvalue else "&"]  # also by another name ([dcl.ref]/6)
    own = parameter.words
    free = marks == ["&&"] and len(own) == 1 and (own[0] == "auto" or own[0] in template_parameters(function))
    constant = is_constant(declared)
    if constant is None:
        constant = "const" in own
    return Binding(marks[0] if marks else "", constant, free, volatile=is_volatile(declared))


def takes_freely(parameter: Parameter, function: Function) -> bool:
    """Is it a parameter ``T&&`` of a template parameter, which takes whatever there is as it is?"""
    found = binding(parameter, function)
    return found is not None and found.free


def implied_binding(function: Function) -> Binding:
    """How a member function takes the object that it is called of ([over.match.funcs.general]/4); one that is static
    takes any."""
    definition = function.definition
    island, texts = definition.island, definition.tokens.texts
    if "static" in function.head.texts:
        return Binding()
    behind = list(texts[island.parameters[1] + 1 : island.body[0]])
    words = behind[: next((at for at, each in enumerate(behind) if each not in _QUALIFIERS), len(behind))]
    constant = "const" in words
    if "&&" in words:
        return Binding("&&", constant)
    return Binding("&", constant) if "&" in words else Binding("&", constant, any_category=True)


_QUALIFIERS = frozenset(("const", "volatile", "&", "&&", "noexcept"))
