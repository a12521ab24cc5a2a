"""Objects of libcu++ that asynchronous copies are bound to: ``cuda::pipeline``, and the tokens of ``cuda::barrier``.

A pipeline is followed where every use of its name in the function is one of those that are understood: its own methods,
the last argument of ``memcpy_async``, and an argument of a function in sight that takes it by reference and uses it in
these ways, too. By its header (CCCL, cuda/pipeline) ``consumer_wait`` waits for the oldest of
the stages that were committed; the next wait is for the one after it, in a pipeline of a block once that is released.
"""

from __future__ import annotations

from smem_lsp.ir.causes import CauseKind
from smem_lsp.ir.copy_events import CopyEvent, pipeline
from smem_lsp.ir.nodes import AccessKind
from smem_lsp.ir.values import Value, Var
from smem_lsp.lowering.library import copy_groups
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, Function

_METHODS = ("producer_acquire", "producer_commit", "consumer_wait", "consumer_release", "quit")
_PRIOR = "pipeline_consumer_wait_prior"
_DEEPEST = 4  # calls in each other that a pipeline is handed on in


def declared(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """Is it ``auto pipe = cuda::make_pipeline(...)``, of a pipeline that can be followed? Then it is declared."""
    made = declarator.initializer
    if (
        not isinstance(made, tree.Call)
        or not isinstance(made.callee, tree.Name)
        or made.callee.text.rpartition("::")[2] != "make_pipeline"
        or declarator.pointers
        or declarator.dims
        or "make_pipeline" in ctx.helpers
        or not _stays(ctx, declarator.name)
    ):
        return False
    for argument in made.arguments:
        _share(ctx, argument, ctx.lower.operand(ctx, argument, scope))
    if made.arguments:
        ctx.may_synchronise()
    variable = ctx.variables.declare(declarator.name)
    scope.names[declarator.name] = Variable(variable, exact=False, plain=False, of_class="pipeline")
    ctx.assign(variable, ctx.out.fresh())
    ctx.copies.pipelines[variable] = not made.arguments
    return True


def _share(ctx: Context, argument: tree.Expr, given: object) -> None:
    """The state that threads of a pipeline share is used by each of its methods."""
    if isinstance(given, Ref) and given.pointer:
        line = ctx.at.line(argument.lo)
        ctx.buffers.pin(given.bases, CauseKind.PIPELINE_STATE, line, within=given.within)
        ctx.access(given.lost().place(), AccessKind.UPDATE, argument.lo, argument.hi)


def _stays(ctx: Context, name: str) -> bool:
    uses = _uses(ctx.body_with(name), name)
    return len(uses) > 1 and all(_understood(ctx, ctx.at.body, i) for i in uses[1:])


def _uses(body: Body, name: str) -> list[int]:
    kinds, texts = body.tokens.kinds, body.tokens.texts
    return [i for i, text in enumerate(texts) if name and text == name and kinds[i] == "NAME"]


def _understood(ctx: Context, body: Body, use: int, deep: int = 0) -> bool:
    """Is it known what is done to the pipeline whose name is the token ``use``?"""
    texts = body.tokens.texts
    before, follows = texts[use - 1] if use else "", texts[use + 1 : use + 4]
    if before in (".", "->", "::"):
        return False
    if len(follows) == 3 and follows[0] == "." and follows[1] in _METHODS and follows[2] == "(":
        return True
    if before not in ("(", ",") or follows[:1] not in ([")"], [","]):
        return False
    called, number = _call_around(body, use)
    if follows[0] == ")" and (called == "memcpy_async" or (called == _PRIOR and before == "(")):
        return True
    found = ctx.helpers.get(called, ())
    return bool(found) and all(_is_used_well(ctx, each, number, deep) for each in found)


def _is_used_well(ctx: Context, function: Function, number: int, deep: int) -> bool:
    """Does a function take its argument ``number`` by reference, and is every use of it understood?"""
    parameters = function.parameters or ()
    if deep >= _DEEPEST or number >= len(parameters) or len(parameters[number].declarators) != 1:
        return False
    declarator = parameters[number].declarators[0]
    if [each for each in declarator.pointers if each in ("*", "&", "&&", "...")] != ["&"]:
        return False
    body = ctx.body_with(declarator.name, function)
    return all(_understood(ctx, body, use, deep + 1) for use in _uses(body, declarator.name))


def _call_around(body: Body, argument: int) -> tuple[str, int]:
    """The function that the token ``argument`` is handed to, and the number of that argument."""
    kinds, texts = body.tokens.kinds, body.tokens.texts
    number, i = 0, argument - 1
    while i > 0 and texts[i] != "(":
        if texts[i] in (";", "{", "}"):
            if texts[i] != "}" or body.ahead.partner[i] >= i:
                return "", 0
            i = body.ahead.partner[i]
        elif texts[i] in (")", "]"):
            i = body.ahead.partner[i]
        number += texts[i] == ","
        i -= 1
    i -= 1
    if i > 0 and texts[i] == ">":  # f<N - 1>(
        while i > 0 and texts[i] != "<":
            i -= 1
        i -= 1
    return (texts[i], number) if i >= 0 and kinds[i] == "NAME" else ("", 0)


def method(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | None:
    """A method of a pipeline that is followed; None: of something else."""
    variable = _pipeline(ctx, callee.base, scope)
    if variable is None or callee.operator != "." or callee.name not in _METHODS:
        return None
    if callee.name == "producer_commit":
        copy_groups.mark(ctx, CopyEvent.STAGE, expr.lo, pipeline(variable))
    elif callee.name == "consumer_wait":
        copy_groups.mark(ctx, CopyEvent.STAGE_DONE, expr.lo, pipeline(variable))
    if callee.name == ("consumer_wait" if ctx.copies.pipelines[variable] else "consumer_release"):
        copy_groups.mark(ctx, CopyEvent.RELEASE, expr.lo, pipeline(variable))
    _meets_others(ctx, variable, expr.lo, waits=callee.name == "consumer_wait")
    return ctx.out.fresh()


def wait_prior(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | None:
    """``cuda::pipeline_consumer_wait_prior<N>(pipe)``; None: something else."""
    variable = _pipeline(ctx, expr.arguments[0], scope) if name == _PRIOR and expr.arguments else None
    if variable is None:
        return None
    assert isinstance(expr.callee, tree.Name)
    given = expr.callee.arguments[-1] if expr.callee.arguments else None
    left = evaluate(given[0], scope.constant_scope()) if given else None
    if left is None or left < 0:
        copy_groups.mark(ctx, CopyEvent.UNCOUNTED, expr.lo, pipeline(variable))
    else:  # makes so many stages count as under way, be it more than there are
        event = CopyEvent.OLDER_STAGES if left else CopyEvent.EVERY_STAGE
        copy_groups.mark(ctx, event, expr.lo, pipeline(variable), left=left)
    _meets_others(ctx, variable, expr.lo, waits=True)
    return ctx.out.fresh()


def _meets_others(ctx: Context, variable: int, lo: int, *, waits: bool) -> None:
    """The pipeline of a block has threads wait for each other; that of a thread waits for its own copies, which have
    landed then, or some of them."""
    if not ctx.copies.pipelines[variable]:
        ctx.may_synchronise()
    elif waits:
        copy_groups.mark(ctx, CopyEvent.UNKNOWN, lo)


def hand_over(ctx: Context, expr: tree.Expr, scope: LocalScope) -> None:
    """What is done to a pipeline from here on is not known: stages that are committed there, and waits."""
    variable = _pipeline(ctx, expr, scope)
    if variable is not None:
        copy_groups.mark(ctx, CopyEvent.UNCOUNTED, expr.lo, pipeline(variable))
        copy_groups.mark(ctx, CopyEvent.UNKNOWN, expr.lo)


def bound_to(ctx: Context, value: object) -> int | None:
    """The key of a value that is a pipeline; None: it is none that is followed."""
    return pipeline(value.index) if isinstance(value, Var) and value.index in ctx.copies.pipelines else None


def _pipeline(ctx: Context, expr: tree.Expr, scope: LocalScope) -> int | None:
    meaning = scope.lookup(expr.text) if isinstance(expr, tree.Name) else None
    return meaning.index if isinstance(meaning, Variable) and meaning.index in ctx.copies.pipelines else None


# ---- tokens of barrier objects ---------------------------------------------------------------------------------------


def arrives(ctx: Context, expr: tree.Call, callee: tree.Member, barrier: int) -> None:
    """``auto token = object.arrive()``, if nothing else in the function arrives there for a token."""
    token = _token(ctx, callee)
    if token is not None and not expr.arguments:
        copy_groups.mark(ctx, CopyEvent.ARRIVE, expr.lo, barrier, token[1])


def waits_for_token(ctx: Context, expr: tree.Call, callee: tree.Member, barrier: int) -> None:
    """``object.wait(std::move(token))`` with that token."""
    token, given = _token(ctx, callee), expr.arguments[0]
    if isinstance(given, tree.Call) and isinstance(given.callee, tree.Name) and len(given.arguments) == 1:
        given = given.arguments[0] if given.callee.text.rpartition("::")[2] == "move" else given
    if token is not None and isinstance(given, tree.Name) and given.text == token[0]:
        copy_groups.mark(ctx, CopyEvent.TOKEN, expr.lo, barrier, token[1])


def _token(ctx: Context, callee: tree.Member) -> tuple[str, int] | None:
    """The name that ``auto token = object.arrive();`` declares, the only such call and used once, and its place."""
    if not isinstance(callee.base, tree.Name) or callee.operator != ".":
        return None
    texts = ctx.body_with(callee.base.text).tokens.texts
    call = [callee.base.text, ".", "arrive", "("]
    found = [i for i, text in enumerate(texts) if text == call[0] and texts[i : i + 4] == call]
    if len(found) != 1:
        return None
    at = found[0]
    if (
        texts[at - 1] != "="
        or texts[at + 4 : at + 6] != [")", ";"]
        or texts[at - 3] in (";", "{", "}", ")", ",")
    ):
        return None
    name = texts[at - 2]
    uses = ctx.body_with(name).tokens.texts.count(name)
    return (name, 1 + ctx.at.body.site(at, at + 1).start) if uses == 2 else None
