"""What a function that is not understood may do with what it gets: write through it, change it, and keep it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from smem_lsp.elaborate.parameters import function_parameters
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.values import Value
from smem_lsp.lowering.body import assignments, expressions, objects, stored_targets
from smem_lsp.lowering.callees import capture, overloads
from smem_lsp.lowering.callees.in_sight import is_in_sight
from smem_lsp.lowering.callees.may_wait import NO_CLASSES, calm, touches_arguments
from smem_lsp.lowering.callees.presumed import is_sequential, presumed_calm
from smem_lsp.lowering.callees.telling_functions import touch_outer_memory
from smem_lsp.lowering.library import bulk_copies, cuda_pipeline
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Closure, LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.declarations import FunctionDecl, VariableDecl
from smem_lsp.semantics.entities import Entity, Template, TypedConstant
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.function_scope import parameters_of
from smem_lsp.semantics.sizes import is_plain_type
from smem_lsp.semantics.template_header import template_parameters, type_parameters
from smem_lsp.semantics.types import Pointer, Record, is_number, plain_type
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


def unknown_call(ctx: Context, expr: tree.Call, scope: LocalScope, name: str) -> Value:
    """A function that is not understood: it may write what it gets by reference and keep what it gets as a pointer."""
    reached = hand_over(ctx, expr, scope, name)
    if isinstance(expr.callee, tree.Name) and not is_in_sight(ctx, expr.callee, scope):
        ctx.limits.note(CauseKind.OUT_OF_SIGHT, None, name)
    found = overloads.candidates(ctx, expr.callee, expr, scope) if isinstance(expr.callee, tree.Name) else ()
    passed_over(ctx, expr, [each.function for each in found] or _of_packs(ctx, expr, scope), scope)
    return ctx.lost_address(reached, call=effects.words(ctx, expr.callee))


def passed_over(ctx: Context, expr: tree.Call, definitions: Sequence[Function], scope: LocalScope) -> None:
    """A function that is not followed has run: one of ``definitions``, if there are any."""
    ctx.limits.note(CauseKind.PASSED_OVER)
    _note_reached(ctx, expr, definitions, scope)
    reached = calm(ctx, definitions, _classes(expr, definitions, scope))
    if reached is not None or (not definitions and is_sequential(ctx, expr, scope)):
        if reached is None or not all(map(touches_arguments, reached)):
            ctx.out.touch(AccessKind.UPDATE)  # of global memory, perhaps
    else:
        ctx.may_synchronise(presumed_calm(ctx, expr, definitions, scope))


def _note_reached(ctx: Context, expr: tree.Call, definitions: Sequence[Function], scope: LocalScope) -> None:
    """The function that runs may touch shared memory of the file that it is not handed. What is not in sight is taken
    to touch none of it: it would have to declare it again."""
    found = definitions or _perhaps_called(ctx, expr.callee, scope)
    if found is None:
        return
    if found or not ctx.at.unit.shared_names:
        known = found or [each for each in ctx.at.unit.all_functions if not each.is_kernel]
        top = ctx.around.file_constants
        if not touch_outer_memory(ctx.at.unit, ctx.helpers, top, known, ctx.dialect):
            return
    called = Cause(CauseKind.CALL, names=(effects.words(ctx, expr.callee),))
    ctx.limits.note(CauseKind.NOT_FOLLOWED, ctx.at.line(expr.lo), of=called, accesses=1)
    ctx.lose_outer_memory(Cause(CauseKind.NOT_FOLLOWED, of=(called,)))


def _perhaps_called(ctx: Context, callee: tree.Expr, scope: LocalScope) -> Sequence[Function] | None:
    """The functions of the name that is called; none where it is the value of an expression, and may be any; None: it
    is not in sight."""
    match callee:
        case tree.Name(text=text):
            name = text.rpartition("::")[2]
            held = scope.lookup(text) is not None or overloads.handed(callee, scope) is not None
            held = held or _is_variable(scope.constant_scope().resolve(callee))
        case tree.Member(operator="." | "->", name=text):
            name = text.rpartition("::")[2]
            base = callee.base
            closure = isinstance(base, tree.Name) and isinstance(scope.lookup(base.text), Closure)
            held = closure or _is_data(callee, scope)  # `f.template operator()<1>(x)` of a lambda
        case _:
            return ()
    if held:
        return ()
    found = overloads.functions_named(ctx, name, tree.Name(callee.lo, callee.hi, name))
    return found or ctx.helpers.get(name) or None  # friends, too, that no name of this scope finds


def _is_variable(meaning: Entity) -> bool:
    """Is it a variable, or a template of one?"""
    if isinstance(meaning, Template):
        return all(isinstance(decl, VariableDecl) for decl, _ in meaning.found)
    return isinstance(meaning, TypedConstant)


def _is_data(callee: tree.Member, scope: LocalScope) -> bool:
    """Is it a data member that is called: a pointer to a function?"""
    kind = plain_type(evaluate_value(callee.base, scope.constant_scope()).type)
    record = plain_type(kind.target) if isinstance(kind, Pointer) else kind
    return isinstance(record, Record) and not any(
        isinstance(decl, FunctionDecl) for decl, _ in record.scope.own(callee.name)
    )


def _of_packs(ctx: Context, expr: tree.Call, scope: LocalScope) -> list[Function]:
    """All functions of the name that is called, which packs of parameters keep from being told apart; none where one
    may not be in sight."""
    if not isinstance(expr.callee, tree.Name) or overloads.handed(expr.callee, scope) is not None:
        return []
    name = expr.callee.text.split("::")[-1]
    found = overloads.functions_named(ctx, name, expr.callee)
    packs = any(parameter.pack for each in found for parameter in function_parameters(each) or ()) or any(
        "..." in each.definition.tokens.texts for each in found
    )
    inside = all(each.number < 0 for each in found)
    return found if packs and inside and name not in ctx.at.unit.header_prototypes else []


def _classes(expr: tree.Call, definitions: Sequence[Function], scope: LocalScope) -> Mapping[str, Record]:
    """The classes in sight that a call spells as template arguments of a function, by the parameters' names."""
    callee = expr.callee
    if len(definitions) != 1 or not isinstance(callee, tree.Name) or not callee.arguments:
        return NO_CLASSES
    constants = scope.constant_scope()
    given = [constants.argument(each) for each in callee.arguments[-1] or ()]
    return {
        parameter.name: each
        for parameter, each in zip(parameters_of(definitions[0]), given)
        if isinstance(each, Record) and each.decl.body is not None
    }


def hand_over(
    ctx: Context,
    expr: tree.Call,
    scope: LocalScope,
    name: str,
    definitions: Sequence[Function] | None = None,
) -> frozenset[int]:
    """Pass the arguments of a call to something unknown. Returns the buffers that it gets hold of. ``definitions``: all
    that it may be; None: whatever has its name."""
    taken = taken_by(ctx, expr, scope, name, definitions)
    passed = _is_passed(ctx, expr.callee, scope)
    return pass_by_reference(ctx, expr.arguments, scope, name, taken, passed=passed)


def taken_by(
    ctx: Context,
    expr: tree.Call,
    scope: LocalScope,
    name: str,
    definitions: Sequence[Function] | None,
) -> Sequence[Taken] | None:
    """How a call's arguments are taken by all that it may be, ``definitions`` or whatever has its name."""
    if definitions is None:
        definitions = ctx.helpers.get(name.split("::")[-1], ())
        if isinstance(expr.callee, tree.Name) and name == expr.callee.text:
            handed = overloads.handed(expr.callee, scope) is not None
            definitions = () if handed else overloads.functions_named(ctx, name.split("::")[-1], expr.callee)
    heads: list[_Head] = [(each.parameters, template_parameters(each)) for each in definitions]
    heads = heads or [(each, frozenset()) for each in _prototypes(expr, scope)]
    taken = _taken(ctx, heads, len(expr.arguments))
    if taken is not None and isinstance(expr.callee, tree.Member):
        taken = _with_kept(ctx, taken, definitions, expr.callee)
    if isinstance(expr.callee, tree.Name) and expr.callee.templated:
        spelled = [overloads.keeps_values(ctx, each, expr.callee) for each in definitions]
        taken = taken if spelled and all(spelled) else None  # f<float&>(x)
    return taken


def lend(ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
    """Something is bound to what ``expr`` is: a lambda that is called there may hand out a reference."""
    while isinstance(expr, (tree.Index, tree.Member)):
        expr = expr.base
    if isinstance(expr, tree.Unary):
        lend(ctx, expr.operand, scope)
    if isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name):
        meaning = scope.lookup(expr.callee.text)
        if isinstance(meaning, Closure):
            expressions.escape_closure(ctx, meaning, Cause(CauseKind.RESULT_BOUND))


def pass_by_reference(
    ctx: Context,
    arguments: Sequence[tree.Expr],
    scope: LocalScope,
    name: str,
    taken: Sequence[Taken] | None = None,
    *,
    passed: bool = False,
) -> frozenset[int]:
    """Hand arguments to something that is not understood. ``taken``: how it takes them; None: by reference, to write;
    ``passed``: it is itself passed to a template. Returns the buffers that it may know an address of from now on."""
    reached: frozenset[int] = frozenset()
    bound: list[tree.Expr] = []
    for number, argument in enumerate(arguments):
        checkpoint()
        if isinstance(argument, tree.Braces):
            reached |= pass_by_reference(ctx, argument.items, scope, name)
            continue
        how = _UNSEEN if taken is None else taken[number]
        cuda_pipeline.hand_over(ctx, argument, scope)
        result = expressions.operand(ctx, argument, scope)
        if how.reference:
            lend(ctx, argument, scope)
        if isinstance(result, Ref):
            reached |= _pass_place(ctx, result, argument, name, how, passed=passed)
            continue
        reached |= ctx.clobber(result, argument.lo, argument.hi)
        if how.reads:
            if not _holds_no_address(argument, scope):
                ctx.out.touch(AccessKind.UPDATE, result)  # it may lead on to what is written
        elif _is_constant(argument, scope):
            if not _leads_to_constants(argument, scope):
                ctx.outside.hand_out(result)
        elif _pass_to_write(ctx, result, argument, name, how, scope):
            bound.append(argument)
    if reached:
        for argument in bound:
            assignments.hold(ctx, argument, scope, reached)
    return reached


def _pass_place(
    ctx: Context, place: Ref, argument: tree.Expr, name: str, how: Taken, *, passed: bool
) -> frozenset[int]:
    """An argument in shared memory, or an address of it, is handed over. Returns the buffers that may be reached from
    now on."""
    loaded = place if how.reference and not place.shape else effects.load(ctx, place, argument)
    if not isinstance(loaded, Ref):
        return frozenset()
    if loaded.pointer:
        return _pass_address(ctx, loaded, argument, name, how)
    if passed and _is_element(ctx, loaded):
        _lend_element(ctx, loaded, argument, name)
        return frozenset()
    first = len(ctx.out.items)
    ctx.access(loaded, AccessKind.UPDATE, argument.lo, argument.hi)
    if how is _UNSEEN:
        ctx.out.only_guess(first)  # it may only read
    line = ctx.at.line(argument.lo)
    ctx.buffers.pin(loaded.bases, CauseKind.PASSED, line, name, within=loaded.within)
    for buffer in sorted(loaded.bases):
        names = ctx.buffers[buffer].name, name
        ctx.limits.note(CauseKind.BY_REFERENCE, line, *names, accesses=1)
    return loaded.bases


def _pass_address(ctx: Context, address: Ref, argument: tree.Expr, name: str, how: Taken) -> frozenset[int]:
    """The same of an address: nothing is reached later where it is not kept."""
    bulk_copies.align(ctx, address, name)
    if not how.keeps:
        kind = AccessKind.READ if how.reads else AccessKind.UPDATE
        plain = kind is AccessKind.UPDATE  # of which nobody knows that it is atomic
        ctx.access(address.lost().place(), kind, argument.lo, argument.hi, plain=plain)
        return frozenset()
    ctx.access(address.lost().place(), AccessKind.UPDATE, argument.lo, argument.hi)
    ctx.escape(address, argument.lo, Cause(CauseKind.ARGUMENT, names=(name,)))
    return address.bases


def _pass_to_write(
    ctx: Context, result: Value, argument: tree.Expr, name: str, how: Taken, scope: LocalScope
) -> bool:
    """An argument outside shared memory is handed to what may write it. May it hold an address then?"""
    if how.reference and not _is_made(argument):
        ctx.outside.write(result)
    if _holds_no_address(argument, scope):
        ctx.outside.may_be_written(result)
    else:
        ctx.outside.hand_out(result)
    if how is _UNSEEN and isinstance(argument, tree.Name) and _counts_iterations(ctx, argument, scope):
        ctx.limits.note(CauseKind.LEAVES, None, name, argument.text)
        return False
    if how.reference:
        stored_targets.forget_target(ctx, argument, scope)
    return how.reference


def _holds_no_address(argument: tree.Expr, scope: LocalScope) -> bool:
    """Is an argument a number, or an object that is made of nothing?"""
    if isinstance(argument, tree.Cast) and isinstance(argument.operand, tree.Braces):
        return not argument.operand.items
    return objects.holds_no_address(evaluate_value(argument, scope.constant_scope()).type)


def _is_made(argument: tree.Expr) -> bool:
    """``T{...}``: an object that nobody else knows."""
    return isinstance(argument, tree.Cast) and isinstance(argument.operand, tree.Braces)


def _counts_iterations(ctx: Context, argument: tree.Name, scope: LocalScope) -> bool:
    """Is it the variable that a `for` loop around counts in? Nobody writes such a loop where something else counts."""
    meaning = scope.lookup(argument.text)
    return isinstance(meaning, Variable) and meaning.index in ctx.counters


def _is_passed(ctx: Context, callee: tree.Expr, scope: LocalScope) -> bool:
    """Is it a function object whose class is a parameter of the template that is read, and not known?"""
    meaning = scope.lookup(callee.text) if isinstance(callee, tree.Name) else None
    if not isinstance(meaning, Variable):
        return False
    own = type_parameters(ctx.at.function.definition)
    return meaning.of_class in own and evaluate_value(callee, scope.constant_scope()).type is None


def _is_element(ctx: Context, place: Ref) -> bool:
    """Is it one element of an array?"""
    if len(place.bases) != 1 or place.pointer or place.unclear or place.part_of is not None:
        return False
    (base,) = place.bases
    return place.index is not None and len(place.index) == len(ctx.buffers[base].dims) > 0


def _lend_element(ctx: Context, place: Ref, argument: tree.Expr, name: str) -> None:
    """A function that whoever instantiates a template passes to it gets an element by reference. Nobody who writes the
    template can know what it does beyond that: it is taken to touch nothing else, and to keep no address."""
    first = len(ctx.out.items)
    ctx.access(place, AccessKind.UPDATE, argument.lo, argument.hi, plain=True)
    ctx.out.only_guess(first)  # it may only read
    line = ctx.at.line(argument.lo)
    ctx.buffers.pin(place.bases, CauseKind.PASSED, line, name, seen=True, within=place.within)
    ctx.limits.note(CauseKind.TOUCHES_ONLY, None, name)


def _is_constant(argument: tree.Expr, scope: LocalScope) -> bool:
    """Is it an object that is declared const? What its members point to may be written nevertheless."""
    meaning = scope.lookup(argument.text) if isinstance(argument, tree.Name) else None
    return isinstance(meaning, Variable) and meaning.constant and bool(meaning.of_class)


def _leads_to_constants(argument: tree.Expr, scope: LocalScope) -> bool:
    """Are all pointers that an object has pointers to const?"""
    record = objects.followed(evaluate_value(argument, scope.constant_scope()).type)
    for field in () if record is None else objects.fields(record) or ():
        checkpoint()
        stars = [pointer for pointer in field.declarator.pointers if pointer in ("*", "&", "&&")]
        reads = stars == ["*"] and "const" in field.declaration.words
        if not (reads or (not stars and is_number(field.type))):
            return False
    return record is not None


@dataclass(frozen=True, slots=True)
class Taken:
    """How a parameter takes its argument. ``reference``: it is bound to it; ``reads``: nothing is written through it
    and what it is bound to is not changed; ``keeps``: an address may get any further."""

    reference: bool
    reads: bool
    keeps: bool = True


_UNSEEN = Taken(reference=True, reads=False)  # by what is not in sight: this very object, not one like it

_Head = tuple[Sequence[tree.Declaration] | None, Collection[str]]


def _prototypes(expr: tree.Call, scope: LocalScope) -> list[Sequence[tree.Declaration] | None]:
    """The parameters of functions that are declared under the name of a call and that no body is seen of."""
    if not isinstance(expr.callee, tree.Name) or "::" in expr.callee.text:
        return []
    for outer in scope.constant_scope().outwards():
        declared = outer.own(expr.callee.text)
        found = [each for each, _ in declared if isinstance(each, FunctionDecl)]
        if declared:
            plain = len(found) == len(declared) and all(each.parameters is None for each in found)
            heads = [each.source.parse("parameters", *each.list) for each in found] if plain else []
            known = [each for each in heads if isinstance(each, list)]
            return list(known) if len(known) == len(found) else []
    return []


def _taken(ctx: Context, heads: Sequence[_Head], count: int) -> list[Taken] | None:
    """How the arguments of a call are taken by any function with these parameters, of which some have the type of a
    template parameter; None when there is none in sight."""
    if not heads:
        return None
    found = [Taken(reference=False, reads=True)] * count
    for parameters, own in heads:
        checkpoint()
        if parameters is None:
            return None
        for number in range(count):
            if number >= len(parameters):
                found[number] = Taken(reference=True, reads=False)
                continue
            one = _taken_by(ctx, parameters[number], own)
            found[number] = Taken(found[number].reference or one.reference, found[number].reads and one.reads)
    return found


def _taken_by(ctx: Context, parameter: tree.Declaration, own: Collection[str]) -> Taken:
    """How a parameter takes its argument. ``own``: the names of the function's template parameters."""
    declarator = parameter.declarators[0] if parameter.declarators else None
    pointers = [] if declarator is None else declarator.pointers
    open_type = bool(set(own) & set(parameter.words)) or "auto" in parameter.words
    plain = is_plain_type(parameter, ctx.around.constants)
    by_reference = bool({"&", "&&", "..."} & set(pointers)) or not ("*" in pointers or open_type or plain)
    marks = [pointer for pointer in pointers if pointer in ("*", "&", "&&", "...")]
    constant = "const" in parameter.words and "volatile" not in parameter.words
    reads = constant and (plain or open_type) and marks in (["*"], ["&"])
    by_value = plain and not marks and (declarator is None or not declarator.dims)
    return Taken(by_reference, reads or by_value)


def _with_kept(
    ctx: Context, taken: Sequence[Taken], definitions: Sequence[Function], callee: tree.Member
) -> list[Taken]:
    """Of a method, also whether it keeps addresses. Of a function others of its name may be declared out of sight."""
    where = tree.Name(callee.hi - 1, callee.hi, callee.name)
    return [
        replace(each, keeps=each.reference or capture.keeps(ctx, definitions, number, where))
        for number, each in enumerate(taken)
    ]
