"""Which functions a call may mean: those of the file, the device functions of its headers, their constant functions.

Overloads are told apart by how many arguments they take, by template arguments that are spelled, and by types where
both sides are known. What is left may be several functions; the choice is made by the compiler, so it is the same for
all threads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.elaborate.addressed_functions import addressed, of_template_parameter
from smem_lsp.elaborate.conversion_functions import may_convert
from smem_lsp.elaborate.deducible import may_be_deduced, may_fail
from smem_lsp.elaborate.out_of_line import arguments_of_class, defined_outside, specializations
from smem_lsp.elaborate.packs import expanded
from smem_lsp.elaborate.partial_ordering import more_special
from smem_lsp.elaborate.special_members import constructors, inherits_constructors
from smem_lsp.elaborate.value_categories import Binding, Category, Given, may_bind, preferred
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import BufferName, LocalScope
from smem_lsp.lowering.state.template_header import template_parameters
from smem_lsp.semantics import type_of
from smem_lsp.semantics.arithmetic import literal
from smem_lsp.semantics.declarations import Declared, FunctionDecl, UsingDecl
from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import Argument, Functions
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.function_scope import function_scope, qualifiers_of
from smem_lsp.semantics.intrinsics import takes_as_they_are
from smem_lsp.semantics.redeclarations import all_defined
from smem_lsp.semantics.scope import Scope, bases_of
from smem_lsp.semantics.specialization import is_specialization, spelled_argument, spelled_arguments
from smem_lsp.semantics.template_arguments import same
from smem_lsp.semantics.types import (
    DOUBLE,
    FLOAT,
    INT,
    Array,
    Pointer,
    Qualified,
    Record,
    Reference,
    Scalar,
    Type,
    is_number,
    plain_type,
    vector_element,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.functions import FunctionIsland
from smem_lsp.syntax.lexer import Tokens, packed
from smem_lsp.syntax.names_ahead import Symbols
from smem_lsp.syntax.parse import Function

MAX_TOKENS = 8_000  # of a body
MOST_CANDIDATES = 4  # functions that one call may mean

_BEHIND = 1 << 41  # token indices of constant functions of headers, apart from all others


@dataclass(frozen=True, slots=True)
class Callee:
    """A function that a call may mean. ``around``: the scope that its head stands in; None: its place in the file
    tells. ``arguments``: explicit template arguments that come with it; None: the call spells them, if any."""

    function: Function
    around: Scope | None = None
    arguments: tuple[Argument, ...] | None = None

    def scope(self, ctx: Context, bound: dict[str, Argument]) -> Scope:
        """The scope of the body with its template parameters bound."""
        if self.around is None:
            return function_scope(ctx.around.file_constants, self.function, bound)
        return self.around.bind({**dict.fromkeys(template_parameters(self.function)), **bound})


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


def parameters_of(function: Function) -> list[Parameter] | None:
    """The parameters of a function; None when they are not understood."""
    if function.parameters is None:
        return None
    return [
        Parameter(declaration)
        for declaration in function.parameters
        if declaration.words != ["void"] or declaration.declarators[0].pointers
    ]


def candidates(ctx: Context, callee: tree.Name, expr: tree.Call, scope: LocalScope) -> list[Callee]:
    """The functions that a call can mean, all of them; empty when they are not in sight."""
    bound = handed(callee, scope)
    if bound is not None:
        return _given_by_template(ctx, bound[0], callee, expr, scope)
    name = callee.text.rpartition("::")[2]
    named = functions_named(ctx, name, callee)
    if not named:
        return _constant_functions(ctx, callee, expr, scope)
    if _is_defined_elsewhere(ctx, name, named, callee, scope):
        return []
    found = _looked_up(ctx, made_for(named, len(expr.arguments)), callee, expr, scope)
    around = _class_of(callee, scope)
    if around is not None:
        declared = list(_functions(around.scope.own(name)))
        special = specializations(around, named)
        if special:
            certain = len(special) == len(declared) == 1 and special[0][1]
            return [Callee(special[0][0], around.scope)] if certain else []
        if any(each.body is None for each in declared):
            return _defined_outside(ctx, around, declared, found, expr, scope)
        found = _of_class(around, found)
    found = _fitting(ctx, found, callee, expr, scope)
    if len(found) > MOST_CANDIDATES or any(len(f.body.tokens) > MAX_TOKENS for f in found):
        return []
    if around is not None and len(found) == 1 and _declares(around, found[0]):
        return [Callee(found[0], around.scope)]
    return [Callee(function) for function in found]


def _given_by_template(
    ctx: Context, argument: Argument, callee: tree.Name, expr: tree.Call, scope: LocalScope
) -> list[Callee]:
    """The functions that the ``argument`` of the template parameter names that is called."""
    target = of_template_parameter(ctx.at.function, callee.text, scope.constant_scope())
    chosen = addressed(argument, target) if isinstance(argument, Functions) else None
    return [] if chosen is None else handed_over(ctx, chosen, callee, expr, scope)


def _is_defined_elsewhere(
    ctx: Context, name: str, named: Sequence[Function], callee: tree.Name, scope: LocalScope
) -> bool:
    """May a call mean what a header declares, and another file defines?"""
    declared = name in ctx.at.unit.header_functions and not any(f.number < 0 for f in named)
    return declared and not _are_all_defined(callee, scope)


def _looked_up(
    ctx: Context, found: list[Function], callee: tree.Name, expr: tree.Call, scope: LocalScope
) -> list[Function]:
    """Those of some functions with one name that the name may find where it stands ([basic.lookup])."""
    *qualifiers, _ = callee.text.removeprefix("::").split("::")
    named = found
    if callee.text.startswith("::") and not qualifiers:
        found = [each for each in found if not each.enclosing] or found
    else:
        found = _in_scope(ctx, found, qualifiers)
    if "::" in callee.text:
        return found
    found = [*found, *(each for each in _friends(ctx, named, expr, scope) if each not in found)]
    used = _used(ctx, found, callee, scope)
    if used and all(_is_of_no_namespace(argument_type(ctx, each, scope)) for each in expr.arguments):
        return used
    return _not_hidden(ctx, _declared_in_front(ctx, found, expr, scope), expr, scope)


def _friends(ctx: Context, named: Sequence[Function], expr: tree.Call, scope: LocalScope) -> list[Function]:
    """Those that the class of an argument, or a base of it, defines as friends ([basic.lookup.argdep]/4)."""
    friends = [each for each in named if _is_friend(each)]
    if not friends:
        return friends
    kinds = [ctx.lower.given(ctx, argument, scope).type for argument in expr.arguments]
    classes = {
        each.decl.name.rpartition("::")[2]
        for kind in kinds
        for each in (with_bases(kind) if isinstance(kind, Record) else ())
    }
    return [each for each in friends if each.enclosing[-1] in classes]


def _is_friend(function: Function) -> bool:
    return bool(function.enclosing) and "friend" in function.head.texts


def _used(ctx: Context, found: list[Function], callee: tree.Name, scope: LocalScope) -> list[Function]:
    """Those that ``using A::f;`` or ``using namespace A;`` brings in where nothing is declared in front of them
    ([basic.lookup.unqual]); empty: something is."""
    constants, top = scope.constant_scope(), ctx.around.file_constants
    innermost = next(filter(None, (each.own(callee.text) for each in constants.outwards())), ())
    meaning = constants.resolve(callee)
    if not isinstance(meaning, Functions) or not all(isinstance(each, UsingDecl) for each, _ in innermost):
        return []
    return [
        each for each in found if any(top.inside(each.enclosing) is home for _, home in meaning.overloads)
    ]


def _of_class(record: Record, found: Sequence[Function]) -> list[Function]:
    """The functions that stand in a class."""
    inside = (record.decl.name.rpartition("::")[2],)
    return _of_specialisation(record, [f for f in found if f.enclosing[-1:] == inside])


def _fitting(
    ctx: Context, found: list[Function], callee: tree.Name, expr: tree.Call, scope: LocalScope
) -> list[Function]:
    """Those that fit the template arguments and the types of the arguments of a call."""
    spelled = callee.arguments[-1] if callee.arguments else None
    constants = scope.constant_scope()
    given = None if spelled is None else [constants.argument(each) for each in spelled]
    left = _specialised(ctx, given, found, expr, scope)
    return by_type(ctx, left, expr, scope, explicit=given)


def _defined_outside(
    ctx: Context,
    record: Record,
    declared: Sequence[FunctionDecl],
    named: Sequence[Function],
    expr: tree.Call,
    scope: LocalScope,
) -> list[Callee]:
    """The static member of a class that a call means, where they are defined outside of it; empty when one of them is
    not in sight, or several are left."""
    found: list[Function] = []
    for decl in declared:
        checkpoint()
        function = None if decl.body is not None else defined_outside(record, decl, named)
        if function is None:
            return []
        found.append(function)
    left = by_type(ctx, [f for f in found if takes(f, len(expr.arguments))], expr, scope, of_one_class=True)
    if len(left) != 1 or len(left[0].body.tokens) > MAX_TOKENS:
        return []
    return [Callee(left[0], record.scope, arguments_of_class(record, left[0]) or None)]


def _are_all_defined(callee: tree.Name, scope: LocalScope) -> bool:
    """Does the file define every function that a header declares under this name?"""
    meaning = scope.constant_scope().resolve(callee)
    return isinstance(meaning, Functions) and all_defined(decl for decl, _ in meaning.overloads)


def is_built_in(ctx: Context, callee: tree.Name, expr: tree.Call, scope: LocalScope) -> bool:
    """Is it surely the function of CUDA that is called with numbers, though others have its name? What makes objects of
    numbers loses against it, and so do templates where it takes each number as it is ([over.match.best])."""
    name = callee.text
    if callee.templated or "::" in name:
        return False
    given = [plain_type(argument_type(ctx, argument, scope)) for argument in expr.arguments]
    if not all(map(is_number, given)):
        return False
    alike = len(set(given)) == 1 and _is_whole(given[0]) and takes_as_they_are(name, given)
    inside = ctx.at.function.enclosing
    for function in functions_named(ctx, name, callee):
        around = function.enclosing
        if around and around == inside[: len(around)]:
            return False  # it hides the function of CUDA
        parameters = parameters_of(function)
        packs = parameters is None or any(parameter.pack for parameter in parameters)
        if not (packs or takes(function, len(given))):
            continue
        asked = _parameter_types(ctx, function)
        if not (any(isinstance(each, Record) for each in asked) or (alike and is_template(function))):
            return False
    return True


def is_template(function: Function) -> bool:
    return function.definition.island.template or function.definition.island.of_pack


def _is_whole(kind: Type | None) -> bool:
    """Is it a type of numbers that is not promoted where it is passed on?"""
    return isinstance(kind, Scalar) and (kind.kind == "float" or kind.rank >= INT.rank)


def _in_scope(ctx: Context, found: list[Function], qualifiers: list[str]) -> list[Function]:
    """Those that a name with these qualifiers may mean here."""
    if qualifiers:
        return [f for f in found if path_of(f)[-len(qualifiers) :] == tuple(qualifiers)] or found
    inside = path_of(ctx.at.function)
    classes = ctx.at.unit.symbols.types
    return [
        f
        for f in found
        if path_of(f) == inside[: len(path_of(f))]
        or not any(name in classes for name in path_of(f))  # no method of another class
    ]


def path_of(function: Function) -> tuple[str, ...]:
    """The namespaces and classes that a function belongs to, wherever it is defined."""
    return (*function.enclosing, *qualifiers_of(function))


def _declared_in_front(
    ctx: Context, found: list[Function], expr: tree.Call, scope: LocalScope
) -> list[Function]:
    """Without the functions that are declared behind the one that calls ([basic.lookup.unqual]), if others are in
    front. Those of a class are seen in all of it, and a template finds functions of the namespaces of its arguments
    where it is used ([temp.dep.candidate])."""
    here = ctx.at.function
    at = here.number, here.first_token
    late = [f for f in found if (f.number, f.first_token) > at and not _is_member(ctx, f)]
    if not late or len(late) == len(found):
        return found
    declared = ctx.around.file_constants.inside(late[0].enclosing).own(late[0].name)
    if any(each.body is None for each in _functions(declared)):
        return found  # perhaps in front
    if is_template(here) or _is_member(ctx, here):
        if not all(_is_of_no_namespace(argument_type(ctx, each, scope)) for each in expr.arguments):
            return found
    return [f for f in found if f not in late]


def _is_member(ctx: Context, function: Function) -> bool:
    return not ctx.at.unit.symbols.types.isdisjoint(path_of(function))


def _not_hidden(ctx: Context, found: list[Function], expr: tree.Call, scope: LocalScope) -> list[Function]:
    """Without the functions of outer namespaces, where an inner one that is left has a function of this name in front
    of the call ([basic.lookup.unqual]), unless a class among the arguments may bring them in ([basic.lookup.argdep])
    or a ``using`` does."""
    here = ctx.at.function
    outer = {f.enclosing for f in found if f.enclosing == here.enclosing[: len(f.enclosing)]}
    if len(outer) < 2:
        return found
    at = here.number, here.first_token  # functions of headers have one number
    in_front = {f.enclosing for f in found if f.enclosing in outer and (f.number, f.first_token) < at}
    innermost = max(in_front, key=len, default=())
    declared = ctx.around.file_constants.inside(innermost).own(found[0].name)
    if not all(isinstance(each, FunctionDecl) for each, _ in declared):
        return found
    if not all(_is_of_no_namespace(argument_type(ctx, each, scope)) for each in expr.arguments):
        return found
    return [f for f in found if f.enclosing not in outer or len(f.enclosing) >= len(innermost)]


def _is_of_no_namespace(kind: Type | None) -> bool:
    """Is it surely a type that stands in no namespace: a number, or an address of numbers?"""
    kind = plain_type(kind)
    while isinstance(kind, Pointer | Array):
        kind = plain_type(kind.target if isinstance(kind, Pointer) else kind.element)
    return isinstance(kind, Scalar) and is_number(kind)


def handed(callee: tree.Name, scope: LocalScope) -> tuple[Argument] | None:
    """What a template parameter is bound to that is called by its name; None: the name means something else."""
    return None if "::" in callee.text or callee.templated else scope.constant_scope().bound_to(callee.text)


def handed_over(
    ctx: Context, argument: Argument, callee: tree.Name, expr: tree.Call, scope: LocalScope
) -> list[Callee]:
    """The functions that a template argument or a pointer to a function names."""
    if not isinstance(argument, Functions):
        return []
    heads = [_head(list(decl.source.texts[slice(*decl.list)]), where) for decl, where in argument.overloads]
    name = argument.overloads[0][0].name
    classes = ctx.at.unit.symbols.types
    found = [
        function
        for function in functions_named(ctx, name, callee)
        if (list(function.definition.parameters.texts), _class_around(function, classes)) in heads
        and takes(function, len(expr.arguments))
    ]
    found = _specialised(ctx, argument.arguments, found, expr, scope)
    found = by_type(ctx, found, expr, scope, explicit=argument.arguments)
    if len(found) > MOST_CANDIDATES or any(len(f.body.tokens) > MAX_TOKENS for f in found):
        return []
    return [Callee(function, None, argument.arguments or ()) for function in found]


def _head(parameters: list[str], where: Scope) -> tuple[list[str], str]:
    """What tells a function from others of its name: its parameters as they are spelled, and its class."""
    return parameters, "" if where.record is None else where.record.decl.name.rpartition("::")[2]


def _class_around(function: Function, classes: Collection[str]) -> str:
    last = path_of(function)[-1:]
    return last[0] if last and last[0] in classes else ""


def functions_named(ctx: Context, name: str, where: tree.Name) -> list[Function]:
    """The functions of this name in the file and its headers; those of headers stand where they are called."""
    offset = ctx.at.body.site(ctx.at.base + where.lo, ctx.at.base + where.hi).start
    return [*ctx.helpers.get(name, ()), *ctx.at.unit.header_definitions(name, offset)]


def made_for(functions: Iterable[Function], count: int) -> list[Function]:
    """Those that can be called with so many arguments; of one with a pack what the compiler makes for them."""
    made = (each if takes(each, count) else expanded(each, count) for each in functions)
    return [each for each in made if each is not None]


def takes(function: Function, count: int) -> bool:
    """Can a function be called with so many arguments? One with a pack is made for a number of them, first."""
    fewest, most = _TAKEN.of(function.definition.store, function.symbols, partial(_taken, function))
    return fewest <= count <= most


_TAKEN = Query[Symbols, tuple[int, int]]("how many arguments a function takes", most=4)
_NEVER = 1, 0


def _taken(function: Function) -> tuple[int, int]:
    parameters = parameters_of(function)
    if parameters is None or any(parameter.pack for parameter in parameters):
        return _NEVER
    needed = sum(p.declarator is None or p.declarator.initializer is None for p in parameters)
    return needed, len(parameters)


def keeps_values(ctx: Context, function: Function, callee: tree.Name) -> bool:
    """Is what looks like a parameter by value one? ``f<float&>(x)`` has none."""
    names = template_parameters(function)
    dependent = any(
        names & set(parameter.words) and not parameter.reference and "*" not in parameter.pointers
        for parameter in parameters_of(function) or ()
    )
    tokens = ctx.at.body.tokens
    lo, hi = ctx.at.base + callee.lo, ctx.at.base + callee.hi
    given = [
        text
        for kind, text in zip(tokens.kinds[lo:hi], tokens.texts[lo:hi])
        if kind in ("NAME", "AMP", "AND_AND")
    ]
    aliased = any(isinstance(ctx.around.constants.meaning((text,), (None,)), Reference) for text in given[1:])
    return not dependent or not (aliased or {"&", "&&"} & set(given))


def _class_of(callee: tree.Name, scope: LocalScope) -> Record | None:
    """The class in front of the last ``::``, or the one whose member calls another, as far as it is known which one it
    is."""
    path = tuple(part for part in callee.text.split("::") if part)
    if len(path) < 2:
        around = scope.constant_scope().outwards()
        owner = next((each for each in around if path and any(_functions(each.own(path[0])))), None)
        return None if owner is None else owner.record
    arguments = tuple(callee.arguments) if callee.arguments else (None,) * len(path)
    if len(arguments) != len(path):
        return None
    meaning = scope.constant_scope().meaning(path[:-1], arguments[:-1], absolute=callee.text.startswith("::"))
    return meaning if isinstance(meaning, Record) and meaning.decl.body is not None else None


def _functions(found: Iterable[tuple[Declared, Scope]]) -> Iterator[FunctionDecl]:
    return (decl for decl, _ in found if isinstance(decl, FunctionDecl))


def _of_specialisation(record: Record, found: list[Function]) -> list[Function]:
    """Without the members of other specialisations of the class; those that are spelled alike are one."""
    if len(found) < 2:
        return found
    own: dict[tuple[str, ...], Function] = {}
    spelled = {
        tuple(decl.source.texts[decl.start : decl.body[1] + 1])
        for decl, where in record.scope.own(found[0].name)
        if isinstance(decl, FunctionDecl) and decl.body is not None and where is record.scope
    }
    for function in found:
        checkpoint()
        words = tuple(function.definition.tokens.texts)
        if words in spelled:
            own.setdefault(words, function)
    return list(own.values()) if len(own) == len(spelled) else found


def _declares(record: Record, function: Function) -> bool:
    """Is it surely this very class that the function stands in, not another specialisation?"""
    head = function.definition.parameters.texts
    matching = [
        decl
        for decl, where in record.scope.own(function.name)
        if isinstance(decl, FunctionDecl)
        and where is record.scope
        and list(decl.source.texts[slice(*decl.list)]) == list(head)
    ]
    return len(matching) == 1


# ---- telling overloads apart --------------------------------------------------------------------------------------


def _specialised(
    ctx: Context, given: Sequence[Argument] | None, found: list[Function], expr: tree.Call, scope: LocalScope
) -> list[Function]:
    """Without what the spelled template arguments rule out: functions that are no templates, and explicit
    specialisations for others; one that they match takes all."""
    constants = scope.constant_scope()
    primaries = [function for function in found if function.definition.island.template]
    deduced: Sequence[Argument] | None = None
    left: list[Function] = []
    for function in found:
        checkpoint()
        spelled = spelled_arguments(function)
        special = bool(spelled) or is_specialization(function)
        if not special:
            if given is None or is_template(function):
                left.append(function)
            continue
        if not spelled and len(primaries) != 1:
            answers = []  # it is not known of which template it is one
        elif not spelled:
            if deduced is None:
                types = [argument_type(ctx, argument, scope) for argument in expr.arguments]
                deduced = bind_call(primaries[0], given or (), types, ctx.around.file_constants) or ()
            own = _stands_for(ctx, function, primaries[0])
            answers = [] if own is None else [same(one, other) for one, other in zip(own, deduced)]
        elif given is None or len(given) < len(spelled):
            answers = []
        else:
            arguments = [spelled_argument(function, where, constants) for where in spelled]
            answers = [same(each, argument) for each, argument in zip(given, arguments)]
        if given is not None and answers and all(answers):
            return [function]
        if False not in answers:
            left.append(function)
    return left


def _stands_for(ctx: Context, special: Function, primary: Function) -> Sequence[Argument] | None:
    """The arguments of an explicit specialisation that spells none; None: it is none of this template."""
    top = ctx.around.file_constants
    return _STANDS_FOR.of(
        top.state.store,
        (_identity(special), _identity(primary)),
        lambda: bind_call(primary, (), _parameter_types(ctx, special), top),
    )


_Identity = tuple[Definition, tuple[str, ...]]


def _identity(function: Function) -> _Identity:
    """What the names in the head of a function mean depends on nothing else of it."""
    return function.definition, function.scopes


_STANDS_FOR = Query[tuple[_Identity, _Identity], Sequence[Argument] | None](
    "what a specialisation stands for"
)


def by_type(
    ctx: Context,
    found: list[Function],
    expr: tree.Call,
    scope: LocalScope,
    *,
    of_one_class: bool = False,
    implied: Given | None = None,
    explicit: Sequence[Argument] | None = None,
) -> list[Function]:
    """Without the overloads that the arguments rule out ([over.match.viable]); one that fits best takes all. Where what
    is left are several, which of them is called is not known. ``of_one_class``: they are members of one instance of a
    class; ``implied``: the object that they are called of; ``explicit``: template arguments that the call spells."""
    if not found:
        return found
    if len(found) == 1:
        implied = None
        given = [
            Given(given_type(ctx, argument, scope), null=is_null(argument)) for argument in expr.arguments
        ]
    else:
        given = [ctx.lower.given(ctx, argument, scope) for argument in expr.arguments]
    kinds, top = [each.type for each in given], ctx.around.file_constants
    viable = [
        each
        for each in found
        if _is_viable(ctx, each, given, implied)
        and (not is_template(each) or may_be_deduced(each, explicit or (), kinds, top))
    ]
    if len(viable) < 2:
        return viable
    around = {function.enclosing for function in viable if not _is_friend(function)}
    overloads = len(around) < 2 and not any(
        name in ctx.at.unit.symbols.types for each in around for name in each
    )
    # functions of several namespaces or of several specialisations of a class do not compete
    if not (overloads or of_one_class):
        return viable
    exact = [each for each in viable if _fits_exactly(ctx, each, kinds)]
    if len(exact) == 1 and not any(map(_keeps_what_it_takes, viable)):
        return exact
    return _best(ctx, viable, given, implied, explicit=explicit is not None)


def given_type(ctx: Context, argument: tree.Expr, scope: LocalScope) -> Type | None:
    """The type of an argument, of which ``nullptr`` is an address of anything ([conv.ptr])."""
    if isinstance(argument, tree.Number) and argument.text == "nullptr":
        return Pointer(None)
    return plain_type(argument_type(ctx, argument, scope, decayed=False))


def is_null(expr: tree.Expr) -> bool:
    """Is it a null pointer constant ([conv.ptr]/1)?"""
    return isinstance(expr, tree.Number) and literal(expr.text).n == 0


def _is_viable(ctx: Context, function: Function, given: Sequence[Given], implied: Given | None) -> bool:
    """May a function be called with these arguments?"""
    checkpoint()
    if implied is not None and not may_bind(implied, implied_binding(function), same=True):
        return False
    taken = zip(given, _parameter_types(ctx, function), parameters_of(function) or ())
    return all(_takes(ctx, each, asked, parameter, function) for each, asked, parameter in taken)


def _takes(ctx: Context, given: Given, wanted: Type | None, parameter: Parameter, function: Function) -> bool:
    if _never(given.type, wanted) and not (given.null and isinstance(wanted, Pointer)):
        return False
    bound = _binding(parameter, function)
    if isinstance(given.type, Array) and isinstance(wanted, Array | Pointer):
        return _takes_array(ctx, given, wanted, parameter, function)
    if bound is None or not _is_value(given.type) or not _is_value(wanted):
        return True
    bases = with_bases(given.type) if isinstance(given.type, Record) else [given.type]
    return may_bind(given, bound, same=wanted in bases)


def _takes_array(
    ctx: Context, given: Given, wanted: Array | Pointer, parameter: Parameter, function: Function
) -> bool:
    """May a parameter take an array: a reference to one, or a pointer to its elements? An array is ``const`` where its
    elements are ([basic.type.qualifier]/3), and neither drops that ([dcl.init.ref]/4, [conv.qual])."""
    array = given.type
    assert isinstance(array, Array)
    if parameter.reference and isinstance(wanted, Array):
        if None not in (array.count, wanted.count) and array.count != wanted.count:
            return False
        if is_number(array.element) and is_number(wanted.element) and array.element != wanted.element:
            return False
    marks = [each for each in parameter.pointers if each in ("*", "&", "&&")]
    if not given.constant or len(marks) > 1 or (parameter.reference and isinstance(wanted, Pointer)):
        return True
    declaration = parameter.declaration
    assert declaration is not None
    where = function_scope(ctx.around.file_constants, function)
    kind = type_of.specified(declaration.words, declaration.names, where)
    while isinstance(kind, Array):
        kind = kind.element
    return "const" in parameter.words or kind is None or isinstance(kind, Qualified)


def _is_value(kind: Type | None) -> bool:
    """Is it a type of numbers or a class, of which it is known whether two are the same?"""
    return isinstance(kind, Record) or is_number(kind)


def _fits_exactly(ctx: Context, function: Function, kinds: Sequence[Type | None]) -> bool:
    taken = zip(kinds, _parameter_types(ctx, function), parameters_of(function) or ())
    return all(
        kind is not None
        and _decayed(kind) == asked
        and not (parameter.pointer and "const" in parameter.words)
        for kind, asked, parameter in taken
    )


def _keeps_what_it_takes(function: Function) -> bool:
    """Is it a template that takes an argument by a reference that adds no ``const``?"""
    own = template_parameters(function)
    return any(
        each.reference and "const" not in each.words and not own.union(("auto",)).isdisjoint(each.words)
        for each in parameters_of(function) or ()
    )


def takes_freely(parameter: Parameter, function: Function) -> bool:
    """Is it a parameter ``T&&`` of a template parameter, which takes whatever there is as it is?"""
    binding = _binding(parameter, function)
    return binding is not None and binding.free


def _binding(parameter: Parameter, function: Function) -> Binding | None:
    """How a parameter takes what it gets; None: not known."""
    marks = [each for each in parameter.pointers if each in ("*", "&", "&&")]
    if marks not in ([], ["&"], ["&&"]):
        return None if {"&", "&&"} & set(marks) else Binding()
    own = parameter.words
    free = marks == ["&&"] and len(own) == 1 and (own[0] == "auto" or own[0] in template_parameters(function))
    return Binding(marks[0] if marks else "", "const" in own, free)


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


def _best(
    ctx: Context, found: list[Function], given: Sequence[Given], implied: Given | None, *, explicit: bool
) -> list[Function]:
    """Without those that another one is better than ([over.match.best])."""
    left: list[Function] = []
    for function in found:
        checkpoint()
        others = (other for other in found if other is not function)
        if not any(_is_better(ctx, each, function, given, implied, explicit=explicit) for each in others):
            left.append(function)
    return left


def _is_better(
    ctx: Context,
    one: Function,
    other: Function,
    given: Sequence[Given],
    implied: Given | None,
    *,
    explicit: bool,
) -> bool:
    """Is one function surely better than another one: for no argument worse, and for one better, or else no template,
    or a more special one?"""
    if is_template(one) and may_fail(one):
        return False
    orders: list[int | None] = []
    if implied is not None:
        orders.append(preferred(implied, implied_binding(one), implied_binding(other)))
    asked = [_asked(ctx, each, given, explicit=explicit) for each in (one, other)]
    for each, *pair in zip(given, *asked):
        orders.append(_order(each, *pair))
    if any(order is None or order > 0 for order in orders):
        return False
    if any(orders):
        return True
    if not is_template(one) or not is_template(other):
        return is_template(other) and not is_template(one)
    if one.definition.island.of_pack or other.definition.island.of_pack:
        return other.definition.island.of_pack and not one.definition.island.of_pack
    taken = [(list(each.parameters or ())[: len(given)], template_parameters(each)) for each in (one, other)]
    return more_special(*taken) is True


_Asked = tuple[
    Type | None, Binding | None, bool | None
]  # does it lead to what is const? None: as the argument does


def _asked(ctx: Context, function: Function, given: Sequence[Given], *, explicit: bool) -> list[_Asked]:
    """What the parameters of a function are for some arguments, ``T`` of a template that which it is deduced from."""
    found: list[_Asked] = []
    own = frozenset[str]() if explicit else template_parameters(function)
    types = _parameter_types(ctx, function)
    for kind, parameter, argument in zip(types, parameters_of(function) or (), given):
        bound = _binding(parameter, function)
        constant: bool | None = "const" in parameter.words
        if kind == Pointer(None) and len(parameter.words) == 1 and parameter.words[0] in own:
            kind, constant = (
                (_decayed(argument.type), None) if parameter.pointers == ["*"] else (kind, constant)
            )
        elif kind is None and set(parameter.words) <= {*own, "const"} and not parameter.pointer:
            kind = argument.type
            if bound is not None and bound.free and argument.category is not None:
                reference = "&" if argument.category is Category.LVALUE else "&&"
                bound = Binding(reference, constant=argument.constant is True)
            elif bound is not None and bound.reference and argument.constant:
                bound = replace(bound, constant=True)
            constant = constant or None
        found.append((plain_type(kind), bound, constant))
    return found


def _order(given: Given, one: _Asked, other: _Asked) -> int | None:
    """Which of two parameters takes an argument better; as in ``preferred``."""
    ranks = [_rank(given.type, kind) for kind, _, _ in (one, other)]
    if ranks[0] is None or ranks[1] is None:
        return 0 if one == other and one[0] is not None else None
    if ranks[0] != ranks[1]:
        return ranks[0] - ranks[1]
    if isinstance(one[0], Pointer | Array) and isinstance(other[0], Pointer | Array):
        return _less_qualified(given, one[2], other[2])
    if one[0] != other[0]:
        return None if ranks[0] > _CONVERTED else 0
    return None if one[1] is None or other[1] is None else preferred(given, one[1], other[1])


def _less_qualified(given: Given, one: bool | None, other: bool | None) -> int | None:
    """Which of two addresses of the same adds no ``const`` ([over.ics.rank]/3.2.5), by whether they lead to what is."""
    own = given.constant if isinstance(given.type, Array) else None
    one, other = own if one is None else one, own if other is None else other
    if one == other:
        return 0
    return None if one is None or other is None else one - other


def _decayed(kind: Type | None) -> Type | None:
    """An array as the address of its first element ([conv.array])."""
    return Pointer(kind.element) if isinstance(kind, Array) else kind


_CONVERTED, _DERIVED, _MADE = 2, 3, 4


def _rank(given: Type | None, wanted: Type | None) -> int | None:
    """How an argument becomes a parameter: 0 as it is, 1 promoted, 2 converted, 3 seen as a base of its class, 4 by a
    function ([over.ics.scs], [over.best.ics]); None: not known."""
    if given is None or wanted is None:
        return None
    if given == wanted or _decayed(given) == wanted:
        return 0
    if isinstance(wanted, Record):
        if isinstance(given, Record) and wanted in with_bases(given):
            return _DERIVED
        return _MADE if is_number(given) else None
    if not (isinstance(given, Scalar) and isinstance(wanted, Scalar)):  # an enumeration, for one
        return None
    if not (is_number(given) and is_number(wanted)):
        return None
    small = given.kind in ("bool", "int") and given.rank < INT.rank
    return 1 if (small and wanted == INT) or (given == FLOAT and wanted == DOUBLE) else _CONVERTED


def argument_type(
    ctx: Context, argument: tree.Expr, scope: LocalScope, *, decayed: bool = True
) -> Type | None:
    """The type of an argument as far as it is known. A list in braces has none ([over.ics.list]). ``decayed``: an array
    is the address of its first element."""
    if isinstance(argument, tree.Braces):
        return None
    meaning = scope.lookup(argument.text) if isinstance(argument, tree.Name) else None
    if isinstance(meaning, BufferName):
        kind = ctx.buffers.kinds.get(meaning.buffer)
        dims = ctx.buffers[meaning.buffer].dims
        for dim in reversed(dims[1:] if decayed else dims):
            kind = Array(kind, dim)
        return Pointer(kind) if dims and decayed else kind
    return evaluate_value(argument, scope.constant_scope()).type


def _parameter_types(ctx: Context, function: Function) -> Sequence[Type | None]:
    """Types of the parameters; None where a template parameter or something unknown stands in them."""
    top = ctx.around.file_constants
    return _PARAMETER_TYPES.of(
        top.state.store, _identity(function), lambda: tuple(_types_of_parameters(function, top))
    )


_PARAMETER_TYPES = Query[_Identity, Sequence[Type | None]]("types of the parameters of a function")


def _types_of_parameters(function: Function, top: Scope) -> Iterator[Type | None]:
    where = function_scope(top, function)
    own = template_parameters(function)
    for parameter in parameters_of(function) or ():
        checkpoint()
        declarator = parameter.declarator
        if (
            declarator is None
            or own & set(parameter.words)
            or any(name.templated for name in parameter.names)
        ):
            yield Pointer(None) if "*" in parameter.pointers else None
            continue
        assert parameter.declaration is not None
        value = type_of.variable_value(parameter.declaration, declarator, where)
        kind = plain_type(value.type)
        yield Pointer(kind.element) if isinstance(kind, Array) and not parameter.reference else kind


def _never(given: Type | None, wanted: Type | None) -> bool:
    """Is there surely no conversion from one type to the other?"""
    address = isinstance(given, Pointer | Array)
    if isinstance(wanted, Record) and given is not None:
        return _never_made(given, wanted)
    if isinstance(given, Record) and is_number(wanted):
        return not _converts(given)
    if isinstance(wanted, Pointer):
        return is_number(given) or _never_points(getattr(_decayed(given), "target", None), wanted.target)
    vector = isinstance(wanted, Scalar) and wanted.name != "dim3" and vector_element(wanted.name) is not None
    if is_number(given) and vector:
        return True
    return address and is_number(wanted) and getattr(wanted, "kind", "") != "bool"


def _never_points(given: Type | None, wanted: Type | None) -> bool:
    """Does an address of the one surely not become one of the other ([conv.ptr])?"""
    given, wanted = plain_type(given), plain_type(wanted)
    if not (_is_value(given) and _is_value(wanted)):
        return False
    return wanted not in (with_bases(given) if isinstance(given, Record) else [given])


def _never_made(given: Type, wanted: Record) -> bool:
    """Is surely no object of a class made of a value: has it no constructor that takes one, and the class of the value
    no conversion to it ([over.match.copy])?"""
    if wanted.decl.body is None or constructors(wanted) or inherits_constructors(wanted):
        return False
    if not isinstance(given, Record):
        return is_number(given) or isinstance(given, Pointer | Array)
    parts = with_bases(given)
    if wanted in parts or any(each.decl.body is None or None in bases_of(each) for each in parts):
        return False
    return not may_convert(given, wanted)


def _converts(record: Record) -> bool:
    """May a class have a conversion of its own, or inherit one?"""
    decl = record.decl
    lo, hi = decl.body or (0, 0)
    behind = (decl.source.kinds[at + 1] for at in range(lo, hi - 1) if decl.source.texts[at] == "operator")
    return decl.body is None or decl.bases is not None or any(kind in _TYPES for kind in behind)


_TYPES = frozenset(("NAME", "TYPE", "QUALIFIER", "STORAGE", "SCOPE", "TYPENAME", "DECLTYPE"))


# ---- constant functions of headers ---------------------------------------------------------------------------------


def _constant_functions(ctx: Context, callee: tree.Name, expr: tree.Call, scope: LocalScope) -> list[Callee]:
    """``constexpr`` functions that headers define: device code may call them too."""
    constants = scope.constant_scope()
    path = tuple(part for part in callee.text.split("::") if part)
    arguments = tuple(callee.arguments) if callee.arguments else (None,) * len(path)
    if len(arguments) != len(path):
        return []
    meaning = constants.meaning(path, arguments, absolute=callee.text.startswith("::"))
    if not isinstance(meaning, Functions):
        return []
    found: list[Callee] = []
    for decl, where in meaning.overloads:
        if not decl.constexpr or decl.body is None:
            return []
        function = _of_header(ctx, decl, callee)
        if function is None:
            return []
        if takes(function, len(expr.arguments)):
            found.append(Callee(function, where))
    return found if len(found) == 1 else []


def _of_header(ctx: Context, decl: FunctionDecl, where: tree.Name) -> Function | None:
    """The function that a header's declaration defines, as if it stood where it is called."""
    assert decl.body is not None
    source = decl.source
    header = ctx.at.unit.preprocessed.header
    lo, hi = decl.start, decl.body[1] + 1
    while decl.parameters is not None and lo > 0 and source.kinds[lo] != "TEMPLATE":
        lo -= 1
    if list(header.texts[lo:hi]) != list(source.texts[lo:hi]):
        return None  # of the file itself
    definition = _CONSTANT_FUNCTION.of(
        ctx.around.file_constants.state.store, decl, partial(_definition_of, decl, lo, hi)
    )
    offset = ctx.at.body.site(ctx.at.base + where.lo, ctx.at.base + where.hi).start
    return Function(definition, offset, _BEHIND + lo, -1, ctx.at.unit.symbols, ())


_CONSTANT_FUNCTION = Query[FunctionDecl, Definition]("definition of a constant function of a header")


def _definition_of(decl: FunctionDecl, lo: int, hi: int) -> Definition:
    assert decl.body is not None
    source = decl.source
    tokens = Tokens(list(source.kinds[lo:hi]), list(source.texts[lo:hi]), packed([-1] * (hi - lo)))
    island = FunctionIsland(
        head=0,
        name=decl.list[0] - 2 - lo,
        parameters=(decl.list[0] - lo, decl.list[1] - lo),
        body=(decl.body[0] - lo, decl.body[1] - lo),
        end=hi - lo,
        specifiers=frozenset(t for k, t in zip(tokens.kinds, tokens.texts) if k == "STORAGE"),
        template=decl.parameters is not None,
        enclosing=(),
        repaired=False,
    )
    return Definition("", tokens, [False] * len(tokens), island, ())
