"""Objects that come into being: each constructor is followed like any helper, with those of bases and members in the
order of the standard ([class.base.init]), and what is not followed is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lsp.elaborate import conversion_functions, special_members
from smem_lsp.elaborate.initializers import member_initializers
from smem_lsp.elaborate.special_members import Special, class_name
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import Branch, Seq
from smem_lsp.ir.values import Value, Var
from smem_lsp.lowering.body import (
    declared_types,
    expression_types,
    expressions,
    implicit_calls,
    initialized_members,
    inlining,
    lifetimes,
    methods,
    objects,
    operator_calls,
    unknown_calls,
    value_categories,
)
from smem_lsp.lowering.library.values import made_by
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Boundary, LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import Record, plain_type
from smem_lsp.semantics.value_categories import Category
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree

# ---- declared objects ------------------------------------------------------------------------------------------------


def declare(
    ctx: Context,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    record: Record,
    scope: LocalScope,
) -> None:
    """A local variable of a class whose members are followed."""
    initializer = declarator.initializer
    if initializer is None:
        variable = new(ctx, declarator.name, record, declaration.words)
        at = tree.Name(declarator.lo, declarator.hi, declarator.name)
        construct(ctx, variable, record, [], at, scope)
    else:
        implicit = declarator.style == "="
        variable = given(
            ctx, declarator.name, record, declaration.words, initializer, scope, implicit=implicit
        )
    only_read = declared_types.is_constant(declaration, declarator, scope)
    scope.names[declarator.name] = replace(variable, only_read=only_read)
    scope.declare_constants()
    where = tree.Name(max(declarator.name_at, 0), max(declarator.name_at, 0) + 1, declarator.name)
    lifetimes.begin(ctx, variable, record, where, scope)


def new(ctx: Context, name: str, record: Record, words: list[str]) -> Variable:
    """A new variable with variables for its members."""
    index = ctx.variables.declare(name)
    variable = Variable(index, 0, exact=False, plain=False, of_class=declared_types.class_name(words))
    objects.make(ctx, variable, record)
    return variable


def unnamed(index: int) -> Variable:
    """The object of a class that a variable is whose name nobody spells."""
    return Variable(index, 0, exact=False, plain=False)


def given(
    ctx: Context,
    name: str,
    record: Record,
    words: list[str],
    expr: tree.Expr,
    scope: LocalScope,
    *,
    implicit: bool,
) -> Variable:
    """A new object with the value of an expression. What a function returns is that object itself: nothing is copied
    ([class.copy.elision]). ``implicit``: as in ``give``."""
    if not _is_made_anew(ctx, record, expr, scope):
        variable = new(ctx, name, record, words)
        give(ctx, variable, record, expr, scope, implicit=implicit)
        return variable
    value = expressions.copied(ctx, expr, scope, record)
    made = (
        unnamed(value.index)
        if isinstance(value, Var) and lifetimes.is_made_by(ctx, value.index, expr)
        else None
    )
    held = None if made is None else ctx.variables.objects.get(made.index)
    if made is not None and held is not None and held.record == record:
        lifetimes.elide(ctx, made)
        return replace(made, of_class=declared_types.class_name(words))
    variable = new(ctx, name, record, words)
    _take(ctx, variable, record, value, expr, scope)
    return variable


def give(
    ctx: Context,
    variable: Variable,
    record: Record,
    expr: tree.Expr,
    scope: LocalScope,
    *,
    implicit: bool = True,
) -> None:
    """An object gets its first value from an expression: it is made by it, copied, or converted
    ([dcl.init.general]). ``implicit``: no explicit constructor converts it ([over.match.copy])."""
    arguments = _arguments(expr, record, scope)
    if arguments is not None:
        construct(ctx, variable, record, arguments, expr, scope)
    elif _is_made_anew(ctx, record, expr, scope):
        _take(ctx, variable, record, expressions.copied(ctx, expr, scope, record), expr, scope)
    else:
        construct(ctx, variable, record, [expr], expr, scope, implicit=implicit)


def _is_made_anew(ctx: Context, record: Record, expr: tree.Expr, scope: LocalScope) -> bool:
    """Is an expression an object of this class that has no name of its own, or is in memory? Else it is the argument of
    a constructor."""
    if _arguments(expr, record, scope) is not None or effects.designated(ctx, expr, scope) is not None:
        return False
    kind = expression_types.of(ctx, expr, scope)
    if kind is None:
        return True
    places = isinstance(expr, tree.Index | tree.Member | tree.Unary | tree.Name)
    if places and special_members.written(record, Special.COPY):
        return value_categories.is_prvalue(ctx, expr, record, scope)
    return kind == record


def _take(
    ctx: Context, variable: Variable, record: Record, value: Value, expr: tree.Expr, scope: LocalScope
) -> None:
    """An object gets the value of another one: of one without a name, or of one that a function gives a reference
    to."""
    source = unnamed(value.index) if isinstance(value, Var) else None
    if source is None or not objects.alike(ctx, source, variable):
        ctx.assign(variable.index, value)
        if special_members.runs_code(record, Special.COPY):
            not_in_sight(ctx, record, expr)
    elif lifetimes.is_made_by(ctx, source.index, expr):
        objects.copy(ctx, source.index, variable.index)
        lifetimes.elide(ctx, source)
    else:
        named: tree.Expr = tree.Name(expr.lo, expr.hi, _REFERRED)
        if value_categories.given(ctx, expr, scope).category is Category.XVALUE:
            named = value_categories.moved(named)
        _copy(ctx, source, variable, record, named, LocalScope(scope, {_REFERRED: source}))


_REFERRED = "__referred"  # an object that a function gives a reference to
_PART = "__part"  # the base of the object that another one is made from


def returned(ctx: Context, variable: Variable, record: Record, expr: tree.Expr, scope: LocalScope) -> None:
    """A function returns an object by value. A parameter is moved from; so is a local variable, or it is the very
    object that is returned, as the compiler likes ([class.copy.elision]/1, /3)."""
    own = scope.owner(expr.text) if isinstance(expr, tree.Name) else None
    source = effects.designated(ctx, expr, scope)
    if own is None or source is None or not objects.alike(ctx, source, variable):
        _give_converted(ctx, variable, record, expr, scope)
        return
    if own.boundary is Boundary.FUNCTION:
        give(ctx, variable, record, value_categories.moved(expr), scope)
        return
    if not special_members.runs_code(record, Special.COPY):
        give(ctx, variable, record, expr, scope)
    else:
        point, perhaps = ctx.out.next_point(), ctx.out.fresh(uniform=True)
        with ctx.out.collect() as made:
            give(ctx, variable, record, value_categories.moved(expr), scope)
        with ctx.out.collect() as elided:
            objects.copy(ctx, source.index, variable.index)
        where = ctx.at.span(expr.lo, expr.hi), ctx.at.line(expr.lo)
        ctx.out.emit(Branch(point, perhaps, inlining.doubtful(made), Seq(tuple(elided)), *where))
    if special_members.runs_code(record, Special.DESTROY):
        ended = special_members.all_written(record, Special.DESTROY)
        what = Cause(CauseKind.PERHAPS_COPIED, names=(class_name(record),))
        implicit_calls.not_followed(ctx, ended, what, expr)


def _give_converted(
    ctx: Context, variable: Variable, record: Record, expr: tree.Expr, scope: LocalScope
) -> None:
    """The same of an object of another class, which C++20 moves from, and C++17 in some cases
    ([class.copy.elision]/3)."""
    known = _to_class(ctx, record, expr, scope, implicit=True)
    ways = (expr, value_categories.moved(expr)) if known else ()
    if len({_beside_conversions(ctx, record, known, each, scope, implicit=True) for each in ways}) > 1:
        _not_converted(ctx, known, None, expr, scope)
        not_in_sight(ctx, record, expr)
        ctx.assign(variable.index, ctx.out.fresh())
    else:
        give(ctx, variable, record, expr, scope)


def copied(ctx: Context, variable: Variable, name: str, at: tree.Expr, scope: LocalScope) -> Variable:
    """A new object with the value of another one whose members are followed; ``at``: the expression that names it."""
    record = ctx.variables.objects[variable.index].record
    index = ctx.variables.declare(name)
    made = replace(variable, index=index, constant=False)
    objects.make(ctx, made, record)
    _copy(ctx, variable, made, record, at, scope)
    return made


def _arguments(initializer: tree.Expr | None, record: Record, scope: LocalScope) -> list[tree.Expr] | None:
    """What the constructor of a declared object gets; None: the object is the value of an expression."""
    if initializer is None or isinstance(initializer, tree.Braces):
        return [] if initializer is None else initializer.items
    name, arguments = made_by(initializer)
    return arguments if name is not None and _names(name, record, scope) else None


def _names(name: tree.Name, record: Record, scope: LocalScope) -> bool:
    """Is a name that of this very class?"""
    return (
        scope.lookup(name.text) is None
        and plain_type(as_record(scope.constant_scope().resolve(name))) == record
    )


def as_record(meaning: object) -> Record | None:
    return meaning if isinstance(meaning, Record) else None


# ---- constructors ----------------------------------------------------------------------------------------------------


def construct(
    ctx: Context,
    variable: Variable,
    record: Record,
    arguments: Sequence[tree.Expr],
    at: tree.Expr,
    scope: LocalScope,
    *,
    implicit: bool = False,
) -> None:
    """Give a new object its value, whatever its constructor may be. ``implicit``: as in ``give``."""
    ctx.assign(variable.index, ctx.out.fresh())
    copies = len(arguments) == 1 and not initialized_members.designators(at)
    if copies and not _is_listed(record, arguments, at):
        if value_categories.is_prvalue(ctx, arguments[0], record, scope):
            _elide(ctx, variable, record, arguments[0], scope)
            return
        source = effects.designated(ctx, arguments[0], scope)
        if source is not None and _is_made_from(ctx, source, record):
            _copy(ctx, source, variable, record, arguments[0], scope)
            return
        kind = expression_types.of(ctx, arguments[0], scope)
        bases = with_bases(kind) if isinstance(kind, Record) else ()
        if record in bases and not special_members.written(record, Special.COPY):
            value = expressions.copied(ctx, arguments[0], scope, record)
            _take(ctx, variable, record, value, arguments[0], scope)
            return
        if _by_conversion(ctx, variable, record, arguments[0], scope, implicit=implicit):
            return
    if in_sight(ctx, variable, record, arguments, at, scope, implicit=implicit):
        return
    not_in_sight(ctx, record, at)
    reached = unknown_calls.pass_by_reference(ctx, arguments, scope, class_name(record))
    ctx.assign(variable.index, ctx.lost_address(reached))


def _elide(ctx: Context, variable: Variable, record: Record, expr: tree.Expr, scope: LocalScope) -> None:
    """What makes an object makes this very one: nothing is copied ([dcl.init.general]/16.6.1)."""
    arguments = _arguments(expr, record, scope)
    if arguments is not None:
        construct(ctx, variable, record, arguments, expr, scope)
    else:
        _take(ctx, variable, record, expressions.copied(ctx, expr, scope), expr, scope)


def _is_listed(record: Record, arguments: Sequence[tree.Expr], at: tree.Expr) -> bool:
    """Does a constructor from a ``std::initializer_list`` get the arguments, which stand in braces
    ([over.match.list])?"""
    braces = at.operand if isinstance(at, tree.Cast) and at.style == "functional" else at
    if not isinstance(braces, tree.Braces) or not arguments or len(braces.items) != len(arguments):
        return False
    own = all(one is other for one, other in zip(braces.items, arguments))
    return own and special_members.takes_list(record)


def _by_conversion(
    ctx: Context, variable: Variable, record: Record, expr: tree.Expr, scope: LocalScope, *, implicit: bool
) -> bool:
    """Does a conversion function of another class give the object ([class.conv.fct])? ``implicit``: as in ``give``."""
    known = _to_class(ctx, record, expr, scope, implicit=implicit)
    beside = _beside_conversions(ctx, record, known, expr, scope, implicit=implicit) if known else True
    if beside is True:
        return False
    result = None if beside is None else _conversion(ctx, known, expr, scope)
    if isinstance(result, Var):
        _take(ctx, variable, record, result, expr, scope)
    else:
        if beside is None:
            not_in_sight(ctx, record, expr)
        _not_converted(ctx, known, result, expr, scope)
        ctx.assign(variable.index, ctx.out.fresh())
    return True


def _beside_conversions(
    ctx: Context,
    record: Record,
    known: Sequence[FunctionDecl],
    expr: tree.Expr,
    scope: LocalScope,
    *,
    implicit: bool,
) -> bool | None:
    """Is it a constructor of the class that makes the object, though conversion functions could? None: not known. Where
    an object is initialised directly, constructors alone are asked, and a conversion stands in front of that which
    copies ([dcl.init.general]/16.6.2): worse than any constructor that takes the expression without one. Else both
    compete for the expression, and no constructor gets it converted ([over.match.copy], [over.best.ics]/4)."""
    written = [
        each for each in _written(record, implicit=implicit) if not special_members.is_copy(record, each)
    ]
    found = objects.definitions(ctx, record, written, expr)
    if found is None:
        return None
    called = tree.Name(expr.lo, expr.hi, class_name(record))
    of_class = methods.fitting(ctx, found, called, [expr], scope)
    given = value_categories.given(ctx, expr, scope)
    answers = [methods.takes_without_function(ctx, each, given) for each in of_class]
    taking = [each for each, answer in zip(of_class, answers) if answer is not False]
    if not taking:
        return None if answers and not implicit else False
    if None in answers or (not implicit and len(taking) < len(answers)):
        return None
    kind = expression_types.of(ctx, expr, scope)
    assert isinstance(kind, Record)
    conversions = objects.methods(ctx, kind, known[0].name, expr) if _are_alike(known) else None
    left = None if conversions is None else methods.best(ctx, conversions, taking, expr, scope, given)
    if not left:
        return None
    makes = [each in taking for each in left]
    if implicit:
        return makes[0] if len(set(makes)) == 1 else None
    return True if True in makes else None  # GCC lets the conversion win where it would ([CWG 2327])


def _are_alike(known: Sequence[FunctionDecl]) -> bool:
    """Are they one function, or a const one and its twin?"""
    return len({decl.name for decl in known}) == 1


def referred(ctx: Context, record: Record, expr: tree.Expr, scope: LocalScope) -> Variable | Ref | None:
    """The object of this class that a conversion of another class, ``operator T&``, gives a reference to; None: there
    is no such conversion, or it is not followed."""
    known = _to_class(ctx, record, expr, scope, implicit=True)
    if not any(decl.name.endswith("&") for decl in known):
        return None
    result = _conversion(ctx, known, expr, scope)
    if isinstance(result, Ref) and not result.pointer:
        return result
    if isinstance(result, Var):
        return unnamed(result.index)
    _not_converted(ctx, known, result, expr, scope)
    return new(ctx, "", record, [record.decl.name])


def _to_class(
    ctx: Context, record: Record, expr: tree.Expr, scope: LocalScope, *, implicit: bool
) -> tuple[FunctionDecl, ...]:
    """The conversion functions that make an object of this class of an object of another one. ``implicit``: as in
    ``give``."""
    kind = expression_types.of(ctx, expr, scope)
    if not isinstance(kind, Record) or kind == record:
        return ()
    found = conversion_functions.to_class(kind, record)
    return tuple(each for each in found if not (implicit and special_members.is_explicit(each)))


def _conversion(
    ctx: Context, known: Sequence[FunctionDecl], expr: tree.Expr, scope: LocalScope
) -> Value | Ref | None:
    """What the only one of some conversion functions gives; None: not known."""
    kind = expression_types.of(ctx, expr, scope)
    assert isinstance(kind, Record)
    called = tree.Name(expr.lo, expr.hi, known[0].name)
    call = tree.Call(expr.lo, expr.hi, called, [])
    implied = value_categories.given(ctx, expr, scope)
    target = operator_calls.target(ctx, kind, expr, scope)
    return methods.on(ctx, kind, target, called, call, scope, implied) if _are_alike(known) else None


def _not_converted(
    ctx: Context,
    known: Sequence[FunctionDecl],
    result: Value | Ref | None,
    expr: tree.Expr,
    scope: LocalScope,
) -> None:
    """What a conversion function does, or the object that it gives, is not followed."""
    found = effects.designated(ctx, expr, scope)
    reached = isinstance(result, Ref) or (found is not None and bool(ctx.points_to.of_name(found)))
    kind = expression_types.of(ctx, expr, scope)
    assert isinstance(kind, Record)
    what = Cause(CauseKind.CONVERSION, names=(class_name(kind),))
    implicit_calls.not_followed(ctx, known, what, expr, reached=reached)


def _is_made_from(ctx: Context, source: Variable, record: Record) -> bool:
    """Is it an object of a class, or of one that is derived from it, whose base part is copied?"""
    known = ctx.variables.objects.get(source.index)
    return known is not None and not source.array and record in with_bases(known.record)


def _copy(
    ctx: Context, source: Variable, target: Variable, record: Record, at: tree.Expr, scope: LocalScope
) -> None:
    """An object is made from another one of its class, which ``at`` names."""
    if not special_members.runs_code(record, Special.COPY):
        objects.copy(ctx, source.index, target.index)
        return
    if _is_copied_by_code(ctx, record, at, scope):
        if not in_sight(ctx, target, record, [at], at, scope):
            not_in_sight(ctx, record, at)
            ctx.assign(target.index, ctx.lost_address(ctx.capture(source)))
        return
    objects.copy(ctx, source.index, target.index)
    category = value_categories.given(ctx, at, scope).category
    copies = category is Category.LVALUE or not special_members.moves(record, Special.COPY)
    constant = copies and special_members.takes_constant(record, Special.COPY)
    if copies:
        scope = scope.naming(_REFERRED, source, record, constant=constant)
        at = tree.Name(at.lo, at.hi, _REFERRED)  # its parts are copied, too, whatever it is made from
    for base in bases_of(record):
        checkpoint()
        if base is not None and special_members.runs_code(base, Special.COPY):
            part: tree.Expr = tree.Name(at.lo, at.hi, _PART)
            within = scope.naming(_PART, source, base, constant=constant)
            if not copies:
                part = value_categories.moved(part)
            if not in_sight(ctx, target, base, [part], part, within):
                not_in_sight(ctx, base, at)
                ctx.assign(target.index, ctx.lost_address(ctx.capture(source)))
    for field in initialized_members.own_fields(record):
        member = ctx.variables.objects[target.index].members[field.name]
        kind = special_members.element_of(field.type)
        if not isinstance(kind, Record) or not special_members.runs_code(kind, Special.COPY):
            continue
        given = ctx.variables.objects[source.index].members[field.name]
        if isinstance(member, Variable) and isinstance(given, Variable) and objects.alike(ctx, given, member):
            _copy(ctx, given, member, kind, tree.Member(at.lo, at.hi, at, ".", field.name), scope)
        else:
            not_in_sight(ctx, kind, at)
            ctx.assign(target.index, ctx.lost_address(ctx.capture(source)))


def _is_copied_by_code(ctx: Context, record: Record, at: tree.Expr, scope: LocalScope) -> bool:
    """Does what somebody wrote, perhaps a template, make an object of another one of its class, or may it?"""
    declared = [*special_members.written(record, Special.COPY), *special_members.rivals(record, Special.COPY)]
    if not declared or not special_members.own_bindings(record, Special.COPY):
        return bool(declared)
    found = objects.definitions(ctx, record, declared, at)
    called = tree.Name(at.lo, at.hi, class_name(record))
    fitting = methods.fitting(ctx, found, called, [at], scope)
    given = value_categories.given(ctx, at, scope)
    return found is None or methods.left_beside_own(ctx, fitting, given, record, Special.COPY) != []


def not_in_sight(ctx: Context, record: Record, at: tree.Expr) -> None:
    """A constructor of a class runs that is not followed."""
    made = special_members.all_constructors(record)
    implicit_calls.not_followed(ctx, made, Cause(CauseKind.CONSTRUCTOR, names=(class_name(record),)), at)


def in_sight(
    ctx: Context,
    variable: Variable,
    record: Record,
    arguments: Sequence[tree.Expr],
    at: tree.Expr,
    scope: LocalScope,
    *,
    implicit: bool = False,
) -> bool:
    """Follow the constructor of a class, or its members where it has none; False: not in sight. ``implicit``: as in
    ``give``."""
    declared = special_members.constructors(record)
    if _is_listed(record, arguments, at):
        return False
    if arguments and special_members.inherits_constructors(record):
        return _inherited(ctx, variable, record, arguments, at, scope)
    if not declared:
        return initialized_members.aggregate(ctx, variable, record, arguments, at, scope)
    if not arguments and any(_is_defaulted_default(decl) for decl in declared):
        return initialized_members.parts(ctx, variable, record, {}, at, scope)
    written = _written(record, implicit=implicit)
    called = tree.Name(at.lo, at.hi, class_name(record))
    found = objects.definitions(ctx, record, written, at)
    method = methods.chosen(ctx, found, called, arguments, scope)
    initializers = None if method is None else member_initializers(method.function)
    if method is None or initializers is None:
        return False

    def before(inner: LocalScope) -> None:
        ctx.inlining.depth += 1
        with ctx.at.within(initializers):
            initialized_members.initialize(ctx, variable, record, inner)
        ctx.inlining.depth -= 1

    expr = tree.Call(at.lo, at.hi, called, list(arguments))
    return methods.run(ctx, method, variable, called, expr, scope, before) is not None


def _written(record: Record, *, implicit: bool) -> list[FunctionDecl]:
    """The constructors that somebody wrote. ``implicit``: as in ``give``."""
    return [
        decl
        for decl in special_members.constructors(record)
        if not special_members.is_defaulted(decl) and not (implicit and special_members.is_explicit(decl))
    ]


def _is_defaulted_default(decl: FunctionDecl) -> bool:
    """``T() = default;``"""
    return decl.list[0] == decl.list[1] and special_members.is_defaulted(decl)


def _inherited(
    ctx: Context,
    variable: Variable,
    record: Record,
    arguments: Sequence[tree.Expr],
    at: tree.Expr,
    scope: LocalScope,
) -> bool:
    """A constructor of the only base is one of the class, too ([class.inhctor.init])."""
    bases = bases_of(record)
    if len(bases) != 1 or bases[0] is None or special_members.constructors(record):
        return False
    if not in_sight(ctx, variable, bases[0], arguments, at, scope):
        return False
    return initialized_members.members(ctx, variable, record, {}, at, scope)
