"""Lambdas: what they capture, and when that comes into being and ends ([expr.prim.lambda.capture])."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.elaborate import special_members
from smem_lsp.elaborate.special_members import Special, class_name
from smem_lsp.ir.values import Var
from smem_lsp.lowering.body import constructors, declarations, implicit_calls, lifetimes, objects
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import (
    BufferName,
    Closure,
    LocalScope,
    This,
    Variable,
)
from smem_lsp.semantics.declarations import Source, split
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.source import checkpoint, record
from smem_lsp.syntax import tree


@record
class _Capture:
    """One capture of a lambda. ``name``: "" of a default, "this", or what it is called; ``initializer``: the tokens of
    what it is made from, if it says so."""

    name: str
    reference: bool
    initializer: tuple[int, int] | None = None


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


def passed(ctx: Context, closure: Closure, at: tree.Expr) -> Closure:
    """A lambda that is passed by value: a copy of all that it has captured by copy, which it may change."""
    held = {
        name: each
        for name, each in closure.scope.names.items()
        if closure.copies and isinstance(each, Variable) and name in closure.copies
    }
    if not held:
        return closure
    note_copied(ctx, closure, at)
    scope = LocalScope(closure.scope)
    for name, variable in held.items():
        checkpoint()
        _copy(ctx, name, variable, scope, only_read=variable.only_read)
    scope.ending.clear()
    return replace(closure, scope=scope)


def note_copied(ctx: Context, closure: Closure, at: tree.Expr) -> None:
    """A lambda is copied, and with it the objects that it has captured by copy."""
    for name in sorted(closure.copies):
        checkpoint()
        variable = closure.scope.names.get(name)
        if not isinstance(variable, Variable):
            continue
        known = ctx.variables.objects.get(variable.index)
        special = (Special.COPY, Special.DESTROY)
        if known is not None and any(special_members.runs_code(known.record, each) for each in special):
            written = [decl for each in special for decl in special_members.all_written(known.record, each)]
            implicit_calls.not_followed(ctx, written, f"the copy of {class_name(known.record)}", at)
        elif variable.array:
            _copy_array(ctx, name, variable, closure.scope, at)


def _made(ctx: Context, node: tree.Lambda, scope: LocalScope) -> Closure:
    """A lambda in ``scope``. Without ``[&]`` it would copy an array behind a reference, or not see it at all."""
    texts = ctx.at.body.tokens.texts
    if node.parameters is not None:
        first, last = ctx.at.base + node.parameters[0], ctx.at.base + node.parameters[1]
        if "=" in texts[first:last]:
            effects.name_buffers(ctx, first, last, scope, "a default argument")
            if implicit_calls.are_telling(ctx, texts[first:last]):
                implicit_calls.note(ctx, "a default argument of a lambda", node)
    captures = _captures(ctx, node)
    default = next((each for each in captures if not each.name), None)
    inner = LocalScope(scope)
    lo, hi = ctx.at.base + node.body[0], ctx.at.base + node.body[1]
    changed = _is_mutable(ctx, node)
    spelled = dict.fromkeys(each.name for each in captures if each.name and each.initializer is None)
    by_reference = {each.name for each in captures if each.reference}
    for text in (*spelled, *dict.fromkeys(texts[lo:hi])):
        checkpoint()
        meaning = None if _is_member(text, scope) else scope.lookup(text)
        whole = default is not None and default.reference and text not in spelled
        if (
            isinstance(meaning, Variable)
            and text not in inner.names
            and text not in by_reference
            and not whole
        ):
            _copy(ctx, text, meaning, inner, only_read=not changed)
        if isinstance(meaning, BufferName) and not (default is not None and default.reference):
            _note_buffer(ctx, meaning.buffer, lo, hi, copied=default is not None)
    for each in captures:
        if each.name == "*this":
            _copy_this(ctx, inner, node)
        elif each.initializer is not None:
            _initialised(ctx, each, inner, only_read=not (changed or each.reference))
    copies = frozenset(name for name in inner.names if name not in by_reference)
    return Closure(node, ctx.at.base, inner, ctx.at.function, copies)


def _captures(ctx: Context, node: tree.Lambda) -> list[_Capture]:
    body = ctx.at.body
    source = Source(body.tokens.kinds, body.tokens.texts, body.ahead.partner, body.symbols)
    found: list[_Capture] = []
    for lo, hi in split(source, ctx.at.base + node.captures[0], ctx.at.base + node.captures[1]):
        checkpoint()
        texts = source.texts[lo:hi]
        reference = texts[:1] == ["&"]
        words = texts[1:] if reference else texts
        first = lo + reference
        if words in ([], ["="]):
            found.append(_Capture("", reference))
        elif words[:2] == ["*", "this"]:
            found.append(_Capture("*this", False))
        elif words[1:2] == ["="]:
            found.append(_Capture(words[0], reference, (first + 2, hi)))
        elif words[1:2] in (["{"], ["("]):
            found.append(_Capture(words[0], reference, (first + 2, hi - 1)))
        else:
            found.append(_Capture(words[0], reference))
    return found


def _is_member(name: str, scope: LocalScope) -> bool:
    """Is it a member of the object that the method around is called of? It is no variable that is captured."""
    found = next((each for each in scope.outwards() if name in each.names), None)
    return found is not None and "this" in found.names


def _is_mutable(ctx: Context, node: tree.Lambda) -> bool:
    """May the body change what it has captured by copy?"""
    behind = node.captures[1] if node.parameters is None else node.parameters[1]
    return "mutable" in ctx.at.body.tokens.texts[ctx.at.base + behind : ctx.at.base + node.body[0]]


def _note_buffer(ctx: Context, buffer: int, lo: int, hi: int, *, copied: bool) -> None:
    line = ctx.at.unit.source.line_number(ctx.at.body.site(lo, hi).start)
    why = f"is used in a lambda that does not capture it by reference (line {line})"
    if copied:
        why = f"is used in a lambda that captures by copy (line {line})"
    ctx.buffers.unreferable.setdefault(buffer, why)


def _initialised(ctx: Context, capture: _Capture, scope: LocalScope, *, only_read: bool) -> None:
    """``[n = f()]``, ``[&r = a]``: a variable like that of ``auto n = f();``, made where the lambda is."""
    assert capture.initializer is not None
    lo, hi = capture.initializer
    with ctx.at.chunk(lo):
        parsed = ctx.at.body.chunk("expression", (lo, hi))
        if parsed is None:
            effects.name_buffers(ctx, lo, hi, scope, "captured under another name")
            scope.names[capture.name] = Variable(ctx.variables.declare(capture.name), plain=False)
            return
        declarations.declare_captured(ctx, capture.name, parsed, scope, reference=capture.reference)
    made = scope.names.get(capture.name)
    if isinstance(made, Variable) and only_read:
        scope.names[capture.name] = replace(made, only_read=True)


def _copy_this(ctx: Context, scope: LocalScope, at: tree.Expr) -> None:
    """``[*this]``: the object that the method is called of is copied."""
    this = scope.lookup("this")
    target = this.target if isinstance(this, This) else None
    known = ctx.variables.objects.get(target.index) if isinstance(target, Variable) else None
    if not isinstance(this, This) or not isinstance(target, Variable) or known is None:
        implicit_calls.note(ctx, "a copy of `*this`", at)
        return
    hidden = LocalScope(scope, {"__this": target})
    made = constructors.copied(ctx, target, "__this", tree.Name(at.lo, at.hi, "__this"), hidden)
    scope.names["this"] = This(this.record, made, constant=True)
    scope.names.update(objects.members_of(ctx, made, this.record, constant=True))
    lifetimes.begin(ctx, made, known.record, tree.Name(at.lo, at.lo + 1, "this"), scope)


def _copy_array(ctx: Context, name: str, variable: Variable, scope: LocalScope, at: tree.Expr) -> None:
    """The elements of an array are copied in the order of their indices ([expr.prim.lambda.capture]/10)."""
    kind = evaluate_value(tree.Name(at.lo, at.hi, name), scope.constant_scope()).type
    implicit_calls.array_copied(ctx, kind, at, reached=bool(ctx.points_to.of_name(variable)))


def _copy(ctx: Context, name: str, variable: Variable, scope: LocalScope, *, only_read: bool) -> None:
    """A variable of the lambda's own, with the value of now."""
    if variable.array:
        _copy_array(ctx, name, variable, scope, tree.Name(0, 1, name))
        scope.names[name] = variable
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
