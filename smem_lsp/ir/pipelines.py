"""Objects of libcu++ that asynchronous copies are bound to: ``cuda::pipeline``, and the tokens of ``cuda::barrier``.

A pipeline is followed where every use of its name in the function is one of those that are understood: its own methods
and the last argument of ``memcpy_async``. By its header (CCCL, cuda/pipeline) ``consumer_wait`` waits for the oldest of
the stages that were committed; the next wait is for the one after it, in a pipeline of a block once that is released.
"""

from __future__ import annotations

from smem_lsp.ir import copies, expressions
from smem_lsp.ir.constants import evaluate
from smem_lsp.ir.context import Context
from smem_lsp.ir.flights import ARRIVE, EVERY_STAGE, RELEASE, STAGE, STAGE_DONE, TOKEN, UNCOUNTED
from smem_lsp.ir.scopes import Scope, Variable
from smem_lsp.ir.values import Value, Var
from smem_lsp.syntax import tree

_METHODS = ("producer_acquire", "producer_commit", "consumer_wait", "consumer_release", "quit")
_PRIOR = "pipeline_consumer_wait_prior"


def declared(ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: Scope) -> bool:
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
    value = expressions.value(ctx, made, scope)
    variable = ctx.new_variable(declarator.name)
    scope.names[declarator.name] = Variable(variable, exact=False, plain=False, of_class="pipeline")
    ctx.assign(variable, value)
    ctx.pipelines[variable] = not made.arguments
    return True


def _stays(ctx: Context, name: str) -> bool:
    kinds, texts = ctx.body.tokens.kinds, ctx.body.tokens.texts
    uses = [i for i, text in enumerate(texts) if text == name and kinds[i] == "NAME"]
    for i in uses[1:]:
        follows = texts[i + 1 : i + 4]
        asked = len(follows) == 3 and follows[0] == "." and follows[1] in _METHODS and follows[2] == "("
        handed = follows[:1] == [")"] and (
            _called(ctx, i) == "memcpy_async" or (_called(ctx, i) == _PRIOR and texts[i - 1] == "(")
        )
        if texts[i - 1] in (".", "->", "::") or not (asked or handed):
            return False
    return bool(name) and len(uses) > 1


def _called(ctx: Context, argument: int) -> str:
    """The function whose last argument is the token ``argument``."""
    kinds, texts = ctx.body.tokens.kinds, ctx.body.tokens.texts
    opening = ctx.body.ahead.partner[argument + 1]
    i = opening - 1
    if texts[argument - 1] not in ("(", ","):
        return ""
    while i > 0 and kinds[i] != "NAME":  # f<0>(
        i -= 1
    return texts[i]


def method(ctx: Context, expr: tree.Call, callee: tree.Member, scope: Scope) -> Value | None:
    """A method of a pipeline that is followed; None: of something else."""
    variable = _pipeline(ctx, callee.base, scope)
    if variable is None or callee.operator != "." or callee.name not in _METHODS:
        return None
    if callee.name == "producer_commit":
        copies.mark(ctx, STAGE, expr.lo, key(variable))
    elif callee.name == "consumer_wait":
        copies.mark(ctx, STAGE_DONE, expr.lo, key(variable))
    if callee.name == ("consumer_wait" if ctx.pipelines[variable] else "consumer_release"):
        copies.mark(ctx, RELEASE, expr.lo, key(variable))
    ctx.may_synchronise()
    return ctx.fresh()


def wait_prior(ctx: Context, expr: tree.Call, name: str, scope: Scope) -> Value | None:
    """``cuda::pipeline_consumer_wait_prior<0>(pipe)``; None: something else."""
    variable = _pipeline(ctx, expr.arguments[0], scope) if name == _PRIOR and expr.arguments else None
    if variable is None:
        return None
    assert isinstance(expr.callee, tree.Name)
    given = expr.callee.arguments[-1] if expr.callee.arguments else None
    every = given and evaluate(given[0], scope.constant_scope()) == 0
    # <N> makes N stages count as under way, be it more than there are
    copies.mark(ctx, EVERY_STAGE if every else UNCOUNTED, expr.lo, key(variable))
    ctx.may_synchronise()
    return ctx.fresh()


def key(variable: int) -> int:
    """What stands for a pipeline among the objects that copies are bound to."""
    return -10 - variable


def bound_to(ctx: Context, value: object) -> int | None:
    """The key of a value that is a pipeline; None: it is none that is followed."""
    return key(value.index) if isinstance(value, Var) and value.index in ctx.pipelines else None


def _pipeline(ctx: Context, expr: tree.Expr, scope: Scope) -> int | None:
    meaning = scope.lookup(expr.text) if isinstance(expr, tree.Name) else None
    return meaning.index if isinstance(meaning, Variable) and meaning.index in ctx.pipelines else None


# ---- tokens of barrier objects ---------------------------------------------------------------------------------------


def arrives(ctx: Context, expr: tree.Call, callee: tree.Member, barrier: int) -> None:
    """``auto token = object.arrive()``, if nothing else in the function arrives there for a token."""
    token = _token(ctx, callee)
    if token is not None and not expr.arguments:
        copies.mark(ctx, ARRIVE, expr.lo, barrier, token[1])


def waits_for_token(ctx: Context, expr: tree.Call, callee: tree.Member, barrier: int) -> None:
    """``object.wait(std::move(token))`` with that token."""
    token, given = _token(ctx, callee), expr.arguments[0]
    if isinstance(given, tree.Call) and isinstance(given.callee, tree.Name) and len(given.arguments) == 1:
        given = given.arguments[0] if given.callee.text.rpartition("::")[2] == "move" else given
    if token is not None and isinstance(given, tree.Name) and given.text == token[0]:
        copies.mark(ctx, TOKEN, expr.lo, barrier, token[1])


def _token(ctx: Context, callee: tree.Member) -> tuple[str, int] | None:
    """The name that ``auto token = object.arrive();`` declares, the only such call and used once, and its place."""
    if not isinstance(callee.base, tree.Name) or callee.operator != ".":
        return None
    texts = ctx.body.tokens.texts
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
    return (name, 1 + ctx.body.site(at, at + 1).start) if texts.count(name) == 2 else None
