"""Members of a class template whose specialisation nobody in sight knows: ``SharedMemory<T>`` for an open ``T``.

The member that is called is the primary template's or that of any specialisation. Where each of them that can be
meant gives nothing but the first byte of dynamic shared memory, it does not matter which one it is: all ``extern
__shared__`` arrays begin there (CUDA C++ programming guide, "__shared__").
"""

from __future__ import annotations

import enum

from smem_lsp.elaborate.call_sites import Callee
from smem_lsp.elaborate.parameters import takes
from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.values import Const
from smem_lsp.lowering.body import calls, inlining, namespace_arrays, objects
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.library.values import made_by
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.entities import Entity, Template, is_open
from smem_lsp.semantics.function_scope import function_scope, parameters_of
from smem_lsp.semantics.types import Record
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


class _Gives(enum.Enum):
    """What a member returns, and that it does nothing else."""

    START = enum.auto()  # of dynamic shared memory
    NOTHING = enum.auto()  # a null pointer, or no value: who uses its result never means it
    OTHER = enum.auto()


def converted(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Ref | None:
    """The address that an object is converted to; None: not followed."""
    return _start(ctx, _class_of(ctx, expr, scope), objects.TO_POINTER, expr, scope)


def method(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Ref | None:
    """``object.method()``; None: not followed."""
    if expr.arguments or callee.arguments is not None:
        return None
    of = _class_of(ctx, callee.base, scope, through_pointer=callee.operator == "->")
    return _start(ctx, of, callee.name, expr, scope)


def static(ctx: Context, expr: tree.Call, callee: tree.Name, scope: LocalScope) -> Ref | None:
    """``Class<T>::method()``; None: not followed."""
    *path, last = [part for part in callee.text.split("::") if part]
    *given, own = callee.arguments or [None]
    if expr.arguments or not path or len(given) != len(path) or given[-1] is None or own is not None:
        return None
    absolute = callee.text.startswith("::")
    meaning = scope.constant_scope().meaning(tuple(path), tuple(given), absolute=absolute)
    return None if _is_known(meaning) else _start(ctx, callee.text.rpartition("::")[0], last, expr, scope)


def _class_of(ctx: Context, expr: tree.Expr, scope: LocalScope, *, through_pointer: bool = False) -> str:
    """The class of an object whose members are not followed, without its arguments; "": another expression."""
    name, arguments = made_by(expr)
    if name is not None and not through_pointer:
        known = scope.lookup(name.text) is not None or _is_known(scope.constant_scope().resolve(name))
        return "" if known or arguments else name.text
    variable = effects.pointed_to(expr, scope) if through_pointer else effects.designated(ctx, expr, scope)
    if variable is None or variable.plain or variable.array:
        return ""
    known_object = objects.of_variable(ctx, variable)
    return variable.of_class if known_object is None or is_open(known_object.record) else ""


def _is_known(meaning: Entity) -> bool:
    """Is it one class, whose own members are meant?"""
    return isinstance(meaning, Record) and not is_open(meaning)


def _start(ctx: Context, of: str, name: str, expr: tree.Expr, scope: LocalScope) -> Ref | None:
    """The first byte of dynamic shared memory, as an address of elements of unknown size, if all that a member of a
    class template may be gives it."""
    if not of:
        return None
    path = tuple(part for part in of.split("::") if part)
    template = scope.constant_scope().meaning(path, (None,) * len(path), absolute=of.startswith("::"))
    if not isinstance(template, Template):
        return None
    found = objects.of_any(ctx, path[-1], [each for each, _ in template.found], name, expr)
    found = [each for each in found if takes(each, 0)]
    given = [_gives(ctx, each, expr) for each in found]
    if _Gives.START not in given or _Gives.OTHER in given:
        return None
    chosen = found[given.index(_Gives.START)]
    if not inlining.room(ctx, chosen):
        return None
    called = tree.Name(expr.lo, expr.hi, chosen.name)
    call = tree.Call(expr.lo, expr.hi, called, [])
    callee = Callee(chosen, None, (None,) * len(parameters_of(chosen)))
    start = inlining.inline(ctx, callee, called, call, scope)
    if not isinstance(start, Ref) or start.offset != Const(0):
        return None
    line = ctx.at.line(expr.lo)
    ctx.buffers.pin(start.bases, CauseKind.UNKNOWN_TYPE, line, seen=True, within=start.within)
    return start.viewed(None, (), same=False, pointer=True)


def _gives(ctx: Context, function: Function, where: tree.Expr) -> _Gives:
    """By the statements of a body. One that calls what it declares itself, and nothing in sight defines, is there to
    keep a program from being linked."""
    body = _Body(ctx, function, tree.Name(where.lo, where.hi, function.name))
    acts = False
    for node in function.body.statements.statements:
        checkpoint()
        match node:
            case tree.Empty():
                pass
            case tree.DeclarationStatement():
                if not body.declares(function.body.chunk("declaration", node.chunk)):
                    return _Gives.OTHER
            case tree.ExpressionStatement():
                acts = True
                gives = body.of_call(function.body.chunk("expression", node.chunk))
                if gives is not None:
                    return gives
            case tree.JumpStatement(kind="return", chunk=None):
                return _Gives.NOTHING
            case tree.JumpStatement(kind="return", chunk=chunk) if chunk is not None:
                start = tree.value_start(function.body.tokens.kinds, chunk)
                gives = body.of_return(function.body.chunk(start, chunk))
                return _Gives.OTHER if acts and gives is _Gives.START else gives
            case _:
                return _Gives.OTHER
    return _Gives.OTHER if acts else _Gives.NOTHING


class _Body:
    """A member's body on the way through its statements. ``starts``: what is known to be an address of the first byte;
    ``declared``: the functions that it declares itself."""

    __slots__ = ("at", "constants", "ctx", "declared", "starts")

    def __init__(self, ctx: Context, function: Function, at: tree.Name) -> None:
        self.ctx = ctx
        self.at = at
        self.constants = function_scope(ctx.around.file_constants, function)
        self.starts: set[str] = set()
        self.declared: set[str] = set()

    def declares(self, declaration: tree.Expr | tree.Declaration | None) -> bool:
        """Are they nothing but functions and the start of dynamic shared memory?"""
        if not isinstance(declaration, tree.Declaration):
            return False
        dynamic = {"extern", self.ctx.dialect.shared} <= set(declaration.words)
        for each in declaration.declarators:
            if each.function and not each.nested:
                self.declared.add(each.name)
            elif dynamic and each.initializer is None:
                self.starts.add(each.name)
            else:
                return False
        return True

    def of_call(self, called: tree.Expr | None) -> _Gives | None:
        """What the body gives for a statement in it; None: the next ones say it."""
        if not (isinstance(called, tree.Call) and isinstance(called.callee, tree.Name)):
            return _Gives.OTHER
        name = called.callee.text
        if name in self.declared and not overloads.functions_named(self.ctx, name, self.at):
            return _Gives.NOTHING
        return _Gives.OTHER if calls.MACRO_NAME.match(name) else None  # it may return something

    def of_return(self, expr: tree.Expr | None) -> _Gives:
        result = _without_casts(expr)
        if _is_null(result):
            return _Gives.NOTHING
        name = _start_of(result)
        if name in self.starts:
            return _Gives.START
        dynamic = name not in self.declared and namespace_arrays.is_dynamic(self.ctx, name, self.constants)
        return _Gives.START if dynamic else _Gives.OTHER


def _without_casts(expr: tree.Expr | None) -> tree.Expr | None:
    """Without casts to pointers."""
    while isinstance(expr, tree.Cast) and expr.type.pointers[-1:] == ["*"]:
        expr = expr.operand
    return expr


def _is_null(expr: tree.Expr | None) -> bool:
    match expr:
        case tree.Number(text="0" | "nullptr") | tree.Name(text="NULL") | tree.Braces(items=[]):
            return True
    return False


def _start_of(expr: tree.Expr | None) -> str:
    """The array whose first byte an expression is the address of: ``a``, ``&a``, ``&a[0]``; "": another one."""
    if isinstance(expr, tree.Unary) and expr.operator == "&":
        expr = expr.operand
        if isinstance(expr, tree.Index) and isinstance(expr.index, tree.Number) and expr.index.text == "0":
            expr = expr.base
    return expr.text if isinstance(expr, tree.Name) else ""
