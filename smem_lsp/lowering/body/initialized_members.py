"""The bases and members of an object that comes into being, in the order of their declarations ([class.base.init]):
by an initializer of the constructor, by what the class says, or by their own constructors."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.elaborate import special_members
from smem_lsp.elaborate.initializers import declaration_of_members
from smem_lsp.elaborate.special_members import class_name
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.values import Const, Value
from smem_lsp.lowering.body import (
    base_classes,
    class_operators,
    constructors,
    expression_types,
    expressions,
    implicit_calls,
    inlining,
    namespace_arrays,
    objects,
    stored_targets,
    temporaries,
    unknown_calls,
)
from smem_lsp.lowering.body.class_parts import Field
from smem_lsp.lowering.library import cooperative_groups
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Group, GroupKind, LocalScope, Variable, View
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.declarations import Source, split
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.scope import bases_of
from smem_lsp.semantics.types import Array, Record, plain_type
from smem_lsp.semantics.types import Sequence as FixedSequence
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree

# by name: first token of an initializer, the initializer, its arguments
Given = dict[str, tuple[int, tree.Expr, Sequence[tree.Expr]]]


def initialize(ctx: Context, variable: Variable, record: Record, scope: LocalScope) -> None:
    """The member initializers of a constructor, which are the body that is being lowered."""
    body = ctx.at.body
    source = Source(body.tokens.kinds, body.tokens.texts, body.ahead.partner, body.symbols)
    given: Given = {}
    for lo, hi in split(source, 0, len(source.kinds), angles=True):
        checkpoint()
        with ctx.at.chunk(lo):
            parsed = body.chunk("expression", (lo, hi))
            name, arguments = _initializer(parsed)
            if parsed is not None and name == class_name(record):  # another constructor does it all
                constructors.construct(ctx, variable, record, arguments, parsed, scope)
                return
            if parsed is None or _part_named(record, name) is None:
                effects.name_buffers(ctx, lo, hi, scope, Cause(CauseKind.IN_INITIALIZER))
                ctx.assign(variable.index, ctx.out.fresh())
            else:
                given[_part_named(record, name) or name] = lo, parsed, arguments
    parts(ctx, variable, record, given, tree.Name(0, len(source.kinds), record.decl.name), scope)


def _initializer(parsed: tree.Expr | None) -> tuple[str, list[tree.Expr]]:
    """(name, arguments) of ``name(arguments)`` or ``name{arguments}``."""
    match parsed:
        case tree.Call(callee=tree.Name() as name):
            return name.text, parsed.arguments
        case tree.Cast(style="functional", type=tree.TypeId(words=[word])):
            operand = parsed.operand
            return word.removesuffix("<>"), operand.items if isinstance(operand, tree.Braces) else [operand]
    return "", []


def _part_named(record: Record, name: str) -> str | None:
    """The member, or the name of the base class, that an initializer is for; None: neither."""
    if any(field.name == name for field in own_fields(record)):
        return name
    bases = [class_name(base) for base in bases_of(record) if base is not None]
    last = name.rpartition("::")[2]
    if last in bases:
        return last
    meaning = record.scope.resolve(tree.Name(0, 0, name)) if name else None
    return class_name(meaning) if isinstance(meaning, Record) and class_name(meaning) in bases else None


def own_fields(record: Record) -> list[Field]:
    return [field for field in objects.fields(record) or () if field.home is record.scope]


def parts(
    ctx: Context, variable: Variable, record: Record, given: Given, at: tree.Expr, scope: LocalScope
) -> bool:
    """The bases of an object, then its members, in the order of their declarations. Returns True."""
    for base in bases_of(record):
        checkpoint()
        if base is None:
            continue
        lo, parsed, arguments = given.get(class_name(base), (None, at, ()))
        with ctx.at.chunk(ctx.at.base if lo is None else lo):
            if not constructors.in_sight(ctx, variable, base, arguments, parsed, scope):
                constructors.not_in_sight(ctx, base, parsed)
                unknown_calls.pass_by_reference(ctx, arguments, scope, class_name(base))
                ctx.assign(variable.index, ctx.out.fresh())
    return members(ctx, variable, record, given, at, scope)


def members(
    ctx: Context, variable: Variable, record: Record, given: Given, at: tree.Expr, scope: LocalScope
) -> bool:
    """Members get what an initializer says, else what the class says, else what their own constructors do. Returns
    True."""
    for field in own_fields(record):
        checkpoint()
        if field.name in given:
            lo, parsed, arguments = given[field.name]
            with ctx.at.chunk(lo):
                _initialize_member(ctx, variable, field, arguments, parsed, scope)
        else:
            _default_member(ctx, variable, record, field, at, scope)
    return True


def aggregate(
    ctx: Context,
    variable: Variable,
    record: Record,
    arguments: Sequence[tree.Expr],
    at: tree.Expr,
    scope: LocalScope,
) -> bool:
    """A class without constructors: its members in order, from a list in braces ([dcl.init.aggr])."""
    known = own_fields(record)
    if not arguments:
        return parts(ctx, variable, record, {}, at, scope)
    if record.decl.bases is not None or len(arguments) > len(known):
        return False
    names = designators(at) or [field.name for field in known]
    given = dict(zip(names, arguments))
    if not given.keys() <= {field.name for field in known}:
        return False
    if any(field.name in given and _takes_several(ctx, field, given[field.name], scope) for field in known):
        return False
    for field in known:
        checkpoint()
        argument = given.get(field.name)
        if argument is not None:
            parts_of = argument.items if isinstance(argument, tree.Braces) else [argument]
            _initialize_member(ctx, variable, field, parts_of, argument, scope)
        else:
            _default_member(ctx, variable, record, field, at, scope, empty=True)
    return True


def designators(at: tree.Expr) -> list[str]:
    """The members that the items of a list in braces are for, in order, where it says so ([dcl.init.aggr]/3.2)."""
    listed = at.listed if isinstance(at, tree.Cast) else at
    return listed.names if isinstance(listed, tree.Braces) else []


def _takes_several(ctx: Context, field: Field, argument: tree.Expr, scope: LocalScope) -> bool:
    """May a member take what follows, too, because braces around its parts are left out ([dcl.init.aggr]/16)?"""
    if isinstance(argument, tree.Braces):
        return False
    kind = plain_type(field.type)
    if field.reference or field.pointer:
        return False
    if isinstance(kind, Record) and not special_members.constructors(kind):
        return expression_types.of(ctx, argument, scope) != kind
    return isinstance(kind, Array | FixedSequence) or bool(field.declarator.dims)


def _initialize_member(
    ctx: Context,
    variable: Variable,
    field: Field,
    arguments: Sequence[tree.Expr],
    at: tree.Expr,
    scope: LocalScope,
) -> None:
    own = ctx.variables.objects[variable.index].members
    member = own[field.name]
    if field.reference and len(arguments) == 1:
        bound = temporaries.referent(ctx, field.type, arguments[0], scope)
        place: Variable | Value | Ref | None = bound
        if place is None:
            place = class_operators.as_bound(ctx, field.type, arguments[0], scope)
        if isinstance(place, Variable):
            own[field.name] = place
            ctx.points_to.add(variable.index, ctx.capture(place))
        elif isinstance(place, Ref) and not place.pointer:
            place = base_classes.converted(ctx, place, field.type, at)
            own[field.name] = View(ctx.frozen(place))
            ctx.points_to.add(variable.index, ctx.capture(own[field.name]))
        elif isinstance(place, Ref):
            ctx.escape(place, at.lo, Cause(CauseKind.BOUND, names=(field.name,)))
            ctx.points_to.add(variable.index, place.bases)
        elif place is not None:
            ctx.outside.write(place)
            ctx.outside.hand_out(place)
            stored_targets.forget_target(ctx, arguments[0], scope)
            if isinstance(member, Variable):
                ctx.assign(member.index, place)
        return
    if not isinstance(member, Variable):
        return
    inner = ctx.variables.objects.get(member.index)
    if inner is None and len(arguments) == 1 and field.type is None:
        group = cooperative_groups.handle(ctx, arguments[0], scope)
        if group is not None:
            kept = any(word.split("::")[-1] in _OF_ONE_KIND for word in field.declaration.words)
            own[field.name] = group if kept else Group(GroupKind.OTHER)
            return
    if inner is not None:
        constructors.construct(ctx, member, inner.record, arguments, at, scope)
    elif not member.plain or member.array or len(arguments) > 1:
        _note_element(ctx, field, at)
        reached = unknown_calls.pass_by_reference(ctx, arguments, scope, field.name)
        ctx.assign(member.index, ctx.lost_address(reached))
    elif not arguments:
        ctx.assign(member.index, Const(0))
    else:
        if field.pointer:
            result = expressions.address(ctx, arguments[0], scope)
        else:
            given = class_operators.as_number(ctx, arguments[0], scope, kind=member.type, explicit=True)
            result = effects.load(ctx, given, arguments[0])
        if isinstance(result, Ref):
            ctx.alias(member.index, base_classes.converted(ctx, result, field.type, at))
        else:
            ctx.assign(member.index, conversions.assigned(ctx, result, arguments[0], member.type, scope))


def _default_member(
    ctx: Context,
    variable: Variable,
    record: Record,
    field: Field,
    at: tree.Expr,
    scope: LocalScope,
    *,
    empty: bool = False,
) -> None:
    """A member that nothing has initialised: what the class says, else what its own constructor does. ``empty``: it is
    one of an aggregate that others are given for, and made from an empty list ([dcl.init.aggr]/5)."""
    member = ctx.variables.objects[variable.index].members[field.name]
    if not isinstance(member, Variable):
        return
    inner = ctx.variables.objects.get(member.index)
    initializer = field.declarator.initializer
    if initializer is None:
        if inner is not None:
            constructors.construct(ctx, member, inner.record, [], at, scope)
        elif empty and member.plain and not member.array:
            ctx.assign(member.index, Const(0))
        else:
            _note_element(ctx, field, at)
        return
    number = evaluate_value(initializer, field.home)
    if number.n is not None and inner is None:
        ctx.assign(member.index, conversions.converted(Const(number.n), number.type, member.type))
        return
    arguments = initializer.items if isinstance(initializer, tree.Braces) else [initializer]
    if isinstance(initializer, tree.Braces) and field.declarator.style == "=" and len(arguments) != 1:
        arguments = initializer.items
    offset = ctx.at.body.start_of(ctx.at.base + at.lo)
    around = objects.inside(ctx, record, variable)
    around.constants = record.scope
    around.around = namespace_arrays.around(ctx, record.scope)
    declared = declaration_of_members(record.decl, field.where, offset)
    if not inlining.room(ctx, declared):
        written = special_members.all_constructors(record)
        what = Cause(CauseKind.MEMBER_VALUE, names=(field.name, class_name(record)))
        implicit_calls.not_followed(ctx, written, what, at, reached=True)
        ctx.assign(member.index, ctx.out.fresh())
        return
    with ctx.at.within(declared):
        _initialize_member(ctx, variable, field, arguments, initializer, LocalScope(around))


_OF_ONE_KIND = ("thread_block", "thread_block_tile<>")  # whatever is assigned to them


def _note_element(ctx: Context, field: Field, at: tree.Expr) -> None:
    """Members that are arrays of objects, or objects whose members are not followed, are made by their class."""
    kind = special_members.element_of(field.type)
    if isinstance(kind, Record) and not field.indirect:
        implicit_calls.default_not_followed(ctx, kind, at)
