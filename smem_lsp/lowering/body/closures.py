"""Lambdas: what they capture, and when that comes into being and ends ([expr.prim.lambda.capture])."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from smem_lsp.elaborate import special_members
from smem_lsp.elaborate.special_members import Special, class_name
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.values import Value, Var
from smem_lsp.lowering.body import (
    constructors,
    declarations,
    expressions,
    implicit_calls,
    lifetimes,
    objects,
)
from smem_lsp.lowering.state import conversions, effects
from smem_lsp.lowering.state.context import Context, ReturnTarget
from smem_lsp.lowering.state.local_scope import (
    Boundary,
    BufferName,
    Closure,
    LocalScope,
    Meaning,
    This,
    Variable,
    View,
)
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.declarations import Source, split
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.types import is_number, plain_type
from smem_lsp.source import checkpoint, record
from smem_lsp.syntax import tree


@record
class _Capture:
    """One capture of a lambda. ``name``: "this", or what it is called; ``initializer``: the tokens of what it is made
    from, if it says so."""

    name: str
    reference: bool
    initializer: tuple[int, int] | None = None


@record
class _CaptureList:
    """What stands between the brackets of a lambda. ``each``: but the default, which is "" where there is none;
    ``spelled``: the names of those that are captured as they are; ``referred``: of all that are bound to references."""

    each: tuple[_Capture, ...]
    default: str
    spelled: tuple[str, ...]
    referred: frozenset[str]

    @property
    def all_by_reference(self) -> bool:
        """``[&]``"""
        return self.default == "&"

    def refers_to(self, name: str) -> bool:
        """Is what has this name captured by reference, if it is captured?"""
        return name in self.referred or (self.all_by_reference and name not in self.spelled)


def named(ctx: Context, node: tree.Lambda, scope: LocalScope) -> Closure:
    """A lambda that a variable of this block holds: what it captures ends with the block."""
    closure = _made(ctx, node, scope)
    scope.ending += closure.scope.ending
    closure.scope.ending.clear()
    return closure


def unnamed(ctx: Context, node: tree.Lambda, scope: LocalScope) -> Closure:
    """A lambda without a name: what it captures ends with the full expression."""
    closure = _made(ctx, node, scope)
    ctx.temporaries += closure.scope.ending
    closure.scope.ending.clear()
    return closure


def held(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Closure | None:
    """The lambda that ``return`` gives a copy of: one that stands there, or that a name has. None: another value."""
    if isinstance(expr, tree.Lambda):
        made = _made(ctx, expr, scope)
        ending = tuple(made.scope.ending)
        made.scope.ending.clear()
        return replace(made, ending=ending)
    meaning = scope.lookup(expr.text) if isinstance(expr, tree.Name) else None
    return passed(ctx, meaning, expr) if isinstance(meaning, Closure) else None


def hand_out(ctx: Context, outcome: ReturnTarget, expr: tree.Expr) -> None:
    """A call has returned lambdas: the only one is its result, what it has captured by copy ends with the full
    expression ([class.temporary]). Of several, which one it is is not known."""
    if len(outcome.closures) != 1 or outcome.values != 1 or outcome.refs:
        for each in outcome.closures:
            give_up(ctx, each)
        return
    (closure,) = outcome.closures
    at = tree.Name(expr.lo, expr.lo + 1, "a lambda")
    ending = tuple(replace(each, base=ctx.at.base, at=at) for each in closure.ending)
    ctx.temporaries += ending
    ctx.inlining.closures[outcome.variable] = replace(closure, ending=ending)


def taken(ctx: Context, result: Value | Ref | None) -> Closure | None:
    """The lambda that is the result of a call, for the only one that calls, keeps, or returns it; None: another
    value."""
    return ctx.inlining.closures.pop(result.index, None) if isinstance(result, Var) else None


def kept(ctx: Context, closure: Closure, scope: LocalScope) -> Closure:
    """A variable of a block is the very lambda that a call has returned, or refers to it ([class.copy.elision])."""
    closure = without_expression(ctx, closure)
    scope.ending += closure.ending
    return replace(closure, ending=())


def without_expression(ctx: Context, closure: Closure) -> Closure:
    """What a lambda has captured by copy does not end with the full expression."""
    for each in closure.ending:
        lifetimes.elide(ctx, each.variable)
    return closure


def dangles(closure: Closure, scope: LocalScope) -> bool:
    """Does a lambda refer to what ends where a function returns? ``scope``: of the ``return``."""
    left: list[LocalScope] = []
    for each in scope.outwards():
        left.append(each)
        if each.boundary is Boundary.FUNCTION:
            break
    for name in sorted(closure.references):
        checkpoint()
        where = next((each for each in closure.scope.outwards() if name in each.names), None)
        if any(each is where for each in left) and scope.owner(name) is not None:
            return True
    inner = [closure.scope.names.get(name) for name in sorted(closure.copies)]
    return any(dangles(each, scope) for each in inner if isinstance(each, Closure))


def give_up(ctx: Context, closure: Closure) -> None:
    """A lambda that is returned is not followed: nor is when the objects end that it has captured by copy."""
    not_taken(ctx, closure)
    for each in closure.ending:
        ended = special_members.all_written(each.record, Special.DESTROY)
        what = Cause(CauseKind.DESTRUCTOR, names=(class_name(each.record),))
        implicit_calls.not_followed(ctx, ended, what, closure.node)


def not_taken(ctx: Context, closure: Closure) -> None:
    """Nobody in sight calls or keeps a lambda that was returned: it may get anywhere, and be called there."""
    expressions.escape_closure(ctx, closure, Cause(CauseKind.LAMBDA_PASSED_ON))
    with ctx.at.within(closure.function):
        lo, hi = closure.base + closure.node.body[0], closure.base + closure.node.body[1]
        if closure.references or implicit_calls.are_telling(ctx, ctx.at.body.tokens.texts[lo:hi]):
            implicit_calls.note(ctx, Cause(CauseKind.RETURNED_LAMBDA), tree.Name(lo, lo + 1, ""))


def passed(ctx: Context, closure: Closure, at: tree.Expr) -> Closure:
    """A lambda that is passed by value: a copy of all that it has captured by copy, which it may change."""
    copied = {
        name: each
        for name, each in closure.scope.names.items()
        if isinstance(each, Variable | Closure) and name in closure.copies
    }
    if not copied:
        return closure
    note_copied(ctx, closure, at)
    scope = LocalScope(closure.scope)
    for name, each in copied.items():
        checkpoint()
        if isinstance(each, Closure):
            scope.names[name] = passed(ctx, each, at)
        else:
            _copy(ctx, name, each, scope, only_read=each.only_read)
    scope.ending.clear()
    return replace(closure, scope=scope)


def note_copied(ctx: Context, closure: Closure, at: tree.Expr) -> None:
    """A lambda is copied, and with it the objects that it has captured by copy."""
    for name in sorted(closure.copies):
        checkpoint()
        variable = closure.scope.names.get(name)
        if isinstance(variable, Closure):
            note_copied(ctx, variable, at)
        if not isinstance(variable, Variable):
            continue
        known = ctx.variables.objects.get(variable.index)
        special = (Special.COPY, Special.DESTROY)
        if known is not None and any(special_members.runs_code(known.record, each) for each in special):
            written = [decl for each in special for decl in special_members.all_written(known.record, each)]
            what = Cause(CauseKind.CLASS_COPY, names=(class_name(known.record),))
            implicit_calls.not_followed(ctx, written, what, at)
        elif variable.array:
            _copy_array(ctx, name, variable, closure.scope, at)


def _made(ctx: Context, node: tree.Lambda, scope: LocalScope) -> Closure:
    """A lambda in ``scope``. Without ``[&]`` it would copy an array behind a reference, or not see it at all."""
    texts = ctx.at.body.tokens.texts
    _note_default_arguments(ctx, node, scope)
    captures = _captures(ctx, node)
    inner = LocalScope(scope)
    lo, hi = ctx.at.base + node.body[0], ctx.at.base + node.body[1]
    only_read = not _is_mutable(ctx, node)
    references: set[str] = set()
    for text in (*captures.spelled, *dict.fromkeys(texts[lo:hi])):
        checkpoint()
        meaning = None if _is_member(text, scope) else scope.lookup(text)
        if isinstance(meaning, BufferName):
            if not captures.all_by_reference:
                _note_buffer(ctx, meaning.buffer, lo, hi, copied=bool(captures.default))
        elif captures.refers_to(text):
            if meaning is not None:
                references.add(text)
        elif text not in inner.names:
            if not isinstance(meaning, View) or captures.default or text in captures.spelled:
                _copy_named(ctx, text, meaning, inner, node, only_read=only_read)
    for each in captures.each:
        if each.name == "*this":
            _copy_this(ctx, inner, node)
        elif each.initializer is not None:
            if each.reference:
                references |= set(texts[slice(*each.initializer)])
            _initialised(ctx, each, inner, only_read=only_read and not each.reference)
    copies = frozenset(name for name in inner.names if name not in captures.referred)
    return Closure(
        node, ctx.at.base, inner, ctx.at.function, copies, frozenset(references), ctx.inlining.instance
    )


def _note_default_arguments(ctx: Context, node: tree.Lambda, scope: LocalScope) -> None:
    """A default argument of a lambda is not followed."""
    if node.parameters is None:
        return
    lo, hi = ctx.at.base + node.parameters[0], ctx.at.base + node.parameters[1]
    spelled = ctx.at.body.tokens.texts[lo:hi]
    if "=" in spelled:
        effects.name_buffers(ctx, lo, hi, scope, Cause(CauseKind.IN_DEFAULT_ARGUMENT))
        if implicit_calls.are_telling(ctx, spelled):
            implicit_calls.note(ctx, Cause(CauseKind.LAMBDA_DEFAULT), node)


def _captures(ctx: Context, node: tree.Lambda) -> _CaptureList:
    body = ctx.at.body
    source = Source(body.tokens.kinds, body.tokens.texts, body.ahead.partner, body.symbols)
    default = ""
    found: list[_Capture] = []
    for lo, hi in split(source, ctx.at.base + node.captures[0], ctx.at.base + node.captures[1]):
        checkpoint()
        texts = source.texts[lo:hi]
        if texts in (["&"], ["="]):
            default = default or texts[0]
        else:
            found.append(_capture(texts, lo, hi))
    spelled = tuple(dict.fromkeys(each.name for each in found if each.initializer is None))
    referred = frozenset(each.name for each in found if each.reference)
    return _CaptureList(tuple(found), default, spelled, referred)


def _capture(texts: Sequence[str], lo: int, hi: int) -> _Capture:
    """One capture, which is spelled by the tokens from ``lo`` to ``hi``."""
    reference = texts[:1] == ["&"]
    words = texts[1:] if reference else texts
    first = lo + reference
    if words[:2] == ["*", "this"]:
        return _Capture("*this", False)
    if words[1:2] == ["="]:
        return _Capture(words[0], reference, (first + 2, hi))
    if words[1:2] in (["{"], ["("]):
        return _Capture(words[0], reference, (first + 2, hi - 1))
    return _Capture(words[0], reference)


def _copy_named(
    ctx: Context, name: str, meaning: Meaning | None, scope: LocalScope, node: tree.Lambda, *, only_read: bool
) -> None:
    """What has this name is captured by copy, if it is a variable, a lambda, or what a reference leads to."""
    match meaning:
        case Variable():
            _copy(ctx, name, meaning, scope, only_read=only_read)
        case Closure():
            scope.names[name] = passed(ctx, meaning, node)
        case View():
            _copy_referred(ctx, name, meaning, scope, node, only_read=only_read)


def _is_member(name: str, scope: LocalScope) -> bool:
    """Is it a member of the object that the method around is called of? It is no variable that is captured."""
    found = next((each for each in scope.outwards() if name in each.names), None)
    return found is not None and "this" in found.names


def _is_mutable(ctx: Context, node: tree.Lambda) -> bool:
    """May the body change what it has captured by copy?"""
    behind = node.captures[1] if node.parameters is None else node.parameters[1]
    return "mutable" in ctx.at.body.tokens.texts[ctx.at.base + behind : ctx.at.base + node.body[0]]


def _note_buffer(ctx: Context, buffer: int, lo: int, hi: int, *, copied: bool) -> None:
    line = ctx.at.line_at(ctx.at.body.site(lo, hi).start)
    kind = CauseKind.COPIED_BY_LAMBDA if copied else CauseKind.NOT_CAPTURED
    ctx.buffers.unreferable.setdefault(buffer, Cause(kind, line))


def _initialised(ctx: Context, capture: _Capture, scope: LocalScope, *, only_read: bool) -> None:
    """``[n = f()]``, ``[&r = a]``: a variable like that of ``auto n = f();``, made where the lambda is."""
    assert capture.initializer is not None
    lo, hi = capture.initializer
    with ctx.at.chunk(lo):
        parsed = ctx.at.body.chunk("expression", (lo, hi))
        if parsed is None:
            effects.name_buffers(ctx, lo, hi, scope, Cause(CauseKind.CAPTURED_RENAMED))
            scope.names[capture.name] = Variable(ctx.variables.declare(capture.name), plain=False)
            return
        declarations.declare_captured(ctx, capture.name, parsed, scope, reference=capture.reference)
    made = scope.names.get(capture.name)
    if isinstance(made, Variable) and only_read:
        scope.names[capture.name] = replace(made, only_read=True)


def _copy_this(ctx: Context, scope: LocalScope, at: tree.Lambda) -> None:
    """``[*this]``: the object that the method is called of is copied."""
    this = scope.lookup("this")
    target = this.target if isinstance(this, This) else None
    known = ctx.variables.objects.get(target.index) if isinstance(target, Variable) else None
    if not isinstance(this, This) or not isinstance(target, Variable) or known is None:
        implicit_calls.note(ctx, Cause(CauseKind.COPY_OF_THIS), at)
        return
    hidden = LocalScope(scope, {"__this": target})
    made = constructors.copied(ctx, target, "__this", tree.Name(at.lo, at.hi, "__this"), hidden)
    constant = this.constant or not _is_mutable(ctx, at)
    scope.names["this"] = This(this.record, made, constant=constant)
    scope.names.update(objects.members_of(ctx, made, this.record, constant=constant))
    lifetimes.begin(ctx, made, known.record, tree.Name(at.lo, at.lo + 1, "this"), scope)


def _copy_referred(
    ctx: Context, name: str, view: View, scope: LocalScope, node: tree.Lambda, *, only_read: bool
) -> None:
    """What a reference leads to is copied, not the reference ([expr.prim.lambda.capture]/10)."""
    at = tree.Name(node.lo, node.lo + 1, name)
    copied, kind = ctx.variables.declare(name), plain_type(view.target.kind)
    if view.target.shape or view.target.pointer or not is_number(kind):
        implicit_calls.note(ctx, Cause(CauseKind.COPY_OF_REFERENT, names=(name,)), node)
        ctx.assign(copied, ctx.lost_address(view.target.bases))
        scope.names[name] = Variable(copied, len(view.target.shape), exact=False, plain=False)
        return
    ctx.variables.readings[copied] = conversions.reading_of(kind)
    ctx.assign(copied, expressions.number(ctx, at, scope.parent or scope))
    exact = conversions.keeps_integers(kind)
    scope.names[name] = Variable(copied, exact=exact, only_read=only_read, type=kind)


def _copy_array(ctx: Context, name: str, variable: Variable, scope: LocalScope, at: tree.Expr) -> None:
    """The elements of an array are copied in the order of their indices ([expr.prim.lambda.capture]/10)."""
    kind = evaluate_value(tree.Name(at.lo, at.hi, name), scope.constant_scope()).type
    implicit_calls.array_copied(ctx, kind, at, reached=bool(ctx.points_to.of_name(variable)))


def _copy(ctx: Context, name: str, variable: Variable, scope: LocalScope, *, only_read: bool) -> None:
    """A variable of the lambda's own, with the value of now."""
    if variable.array:
        _copy_array(ctx, name, variable, scope, tree.Name(0, 1, name))
        scope.names[name] = replace(variable, only_read=variable.only_read or only_read)
        return
    if variable.constant:
        return
    if variable.index in ctx.variables.objects:
        at, inside = tree.Name(0, 1, name), LocalScope(scope, {name: variable})
        made = constructors.copied(ctx, variable, name, at, inside)
        scope.names[name] = replace(made, only_read=only_read)
        lifetimes.begin(ctx, made, ctx.variables.objects[made.index].record, at, scope)
        return
    copied = ctx.variables.declare(name)
    if variable.index in ctx.variables.hiding:
        ctx.variables.hiding[copied] = ctx.variables.hiding[variable.index]
    pointed = ctx.pointed(variable)
    if pointed is not None:
        ctx.alias(copied, pointed)
    else:
        ctx.assign(copied, Var(variable.index))
    scope.names[name] = replace(variable, index=copied, only_read=only_read)
