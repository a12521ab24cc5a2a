"""Builds the IR of the kernels of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from smem_lsp.ir.author_facts import NOTHING_STATED, Annotations
from smem_lsp.ir.causes import Cause, CauseKind, Opens
from smem_lsp.ir.nesting import bounded
from smem_lsp.ir.nodes import FEWEST_LANDINGS, Buffer, InlinedCall, Kernel, LaunchSite, Seq
from smem_lsp.ir.places import At, Part, Row, SourceMap
from smem_lsp.ir.verify import stray_jump, verify
from smem_lsp.lowering import ptxas_layout
from smem_lsp.lowering.body import header_arrays, namespace_arrays, statements
from smem_lsp.lowering.body.agreed_parameters import agreed_parameters
from smem_lsp.lowering.body.visitor import Visitor
from smem_lsp.lowering.library import async_copies
from smem_lsp.lowering.numbered import numbered
from smem_lsp.lowering.state.context import Context, Surroundings
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.lowering.state.snapshot import Watched
from smem_lsp.lowering.state.variables import Declared
from smem_lsp.lowering.visible import RelevanceSlice, seen_in
from smem_lsp.semantics.function_scope import function_scope
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import SourceText, Span
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import Tokens
from smem_lsp.syntax.parse import Body, Function, TranslationUnit
from smem_lsp.targets.dialects import Dialect
from smem_lsp.unit import ptxas_rounding, shared_declarations
from smem_lsp.unit.clusters import attribute_values, cluster_of
from smem_lsp.unit.instances import InstanceArguments, Instances
from smem_lsp.unit.unit_facts import (
    Launched,
    UnitFacts,
    bindings_of,
    internal,
    kernel_key,
    parts_of,
    survey_file,
)

_ALIAS_ROUNDS = 5
_WORD = regex(r"\w+")
VERIFIES = sys.flags.dev_mode  # python -X dev: is every kernel well formed?
# around the name: `using X =`, `struct X {`, `enum class X :`
_TYPE_DECLARATIONS = frozenset((("USING", "EQ"), ("TAG", "LC"), ("TAG", "COLON")))


def build_kernels(unit: TranslationUnit) -> list[Kernel]:
    """One IR per ``__global__`` function with a body, in source order."""
    around = survey_file(unit)
    return [
        build_kernel(unit, around, function, binding)
        for function in unit.functions
        if function.is_kernel
        for binding in bindings_of(around, function)
    ]


def local_types(function: Function) -> Iterator[tuple[str, int]]:
    """Aliases and classes that the body declares, and where; of several with one name the first."""
    tokens, found = function.body.tokens, dict[str, int]()
    for at in range(1, len(tokens) - 1):
        before, after = tokens.kinds[at - 1], tokens.kinds[at + 1]
        if tokens.kinds[at] != "NAME" or (before, after) not in _TYPE_DECLARATIONS:
            continue
        found.setdefault(tokens.texts[at], function.body.site(at, at + 1).start)
    return iter(found.items())


def source_parts(functions: Iterable[Function], source: SourceText) -> tuple[Part, ...]:
    """Functions that a kernel is made of, where they stand."""
    return tuple(_part(each.span, each, source) for each in functions)


def _part(span: Span, function: Function, source: SourceText) -> Part:
    first, last = source.line_number(span.start), source.line_number(span.end)
    return Part(span, first, last, function.definition.layout)


@dataclass(frozen=True)
class Built:
    """A kernel, and what it was made with. ``ctx``: after the last statement; ``seen``: what of it is in the kernel;
    None: all of it."""

    kernel: Kernel
    ctx: Context
    seen: RelevanceSlice | None


def build_kernel(
    unit: TranslationUnit,
    around: UnitFacts,
    function: Function,
    binding: InstanceArguments | None = None,
    stated: Annotations = NOTHING_STATED,
    launched: Launched | None = None,
) -> Kernel:
    """The IR of one kernel, or of one instance of it; of another function, as if it were one that is called once.
    ``launched``: what the host does with it; None: what this unit does."""
    return build(unit, around, function, binding, stated, launched).kernel


def build(
    unit: TranslationUnit,
    around: UnitFacts,
    function: Function,
    binding: InstanceArguments | None,
    stated: Annotations,
    launched: Launched | None,
    watched: Watched | None = None,
    launches: tuple[LaunchSite, ...] | None = None,
) -> Built:
    """See ``build_kernel``. ``watched``: statements of the kernel of which is noted what they add; ``launches``: of the
    kernel; None: those in this unit."""
    constants = function_scope(around.constants, function, None if binding is None else binding.names)
    surroundings = Surroundings(
        unit,
        function,
        constants,
        around.constants,
        around.helpers,
        Visitor(),
        conditional_regions(unit, function.span),
        stated.uniform,
        around.dialect,
        None if function.is_kernel else frozenset(),
    )
    ctx = _lowered(surroundings, watched)
    if not function.is_kernel:
        agreed = agreed_parameters(ctx)
        ctx = _lowered(replace(surroundings, agreed=agreed), watched) if agreed else ctx
    _note_irregular(ctx)
    async_copies.settle(ctx)
    if launched is None:
        launched = kernel_key(around, function, binding).launched
    if launches is None:
        launches = around.launches_of(function, binding)
    whole = _finished(ctx, around, binding, stated, launched, launches)
    seen = seen_in(whole)
    kernel = numbered(bounded(whole if seen is None else seen.visible()), _places(ctx, around))
    if VERIFIES:
        verify(kernel)
    return Built(kernel, ctx, seen)


def _lowered(around: Surroundings, watched: Watched | None = None) -> Context:
    """A pointer may be used above the assignment that the next iteration makes, and a wait stand above the copy: the
    body is lowered again with what is known at the end, until nothing is new."""
    aliases: dict[int, Ref] = {}
    numbers: dict[Declared, int] = {}
    landings = FEWEST_LANDINGS
    for _ in range(_ALIAS_ROUNDS):
        ctx = Context(around, dict(aliases), numbers, landings)
        ctx.watched = None if watched is None else watched.again()
        _lower(ctx)
        if ctx.is_fixpoint:
            return ctx
        aliases, landings = ctx.points_to.aliases, max(landings, len(ctx.copies.into))
    ctx.limits.note(CauseKind.POINTER_CIRCLE)
    return ctx


def _note_irregular(ctx: Context) -> None:
    """What makes the control flow of the text as a whole uncertain."""
    unit, function = ctx.at.unit, ctx.at.kernel
    for directive in unit.preprocessed.directives:
        if directive.name == "include" and function.span.covers(directive.span):
            line = ctx.at.line_at(directive.span.start)
            ctx.limits.note(CauseKind.INCLUDED, line)
    if any(ctx.at.body_of(each).repaired for each in (function, *ctx.inlining.done.values())):
        ctx.limits.note(CauseKind.BRACKETS)
    for part in (function, *ctx.inlining.done.values()):
        _note_undecided(ctx, part)
    stray = stray_jump(ctx.out.items)
    if stray is not None:
        ctx.limits.note(CauseKind.STRAY_JUMP, stray.line, stray.kind.value)


def _note_undecided(ctx: Context, part: Function) -> None:
    """Code of a function that touches shared memory or waits, and of which a name that nothing defines decides whether
    it is there."""
    if part.number < 0:
        return  # of a header of which only the declarations are kept
    file = ctx.at.unit.file_of(part.number)
    wanted = {buffer.name for buffer in ctx.buffers.declared} | {ctx.dialect.shared}
    if part is not ctx.at.kernel:  # a parameter may stand for the memory
        wanted.update(part.parameter_tokens.texts)
    for span, name in file.undecided_in(part.span):
        words = set(_WORD.findall(file.source.slice(span)))
        if not wanted.isdisjoint(words) or any("sync" in word or "barrier" in word for word in words):
            line = Row(file.source.line_number(span.start))
            ctx.limits.note(CauseKind.MACRO, line, name)


def _finished(
    ctx: Context,
    around: UnitFacts,
    binding: InstanceArguments | None,
    stated: Annotations,
    launched: Launched,
    launches: tuple[LaunchSite, ...],
) -> Kernel:
    """The record of what was lowered, with what the unit says of the kernel."""
    unit, function, limits = ctx.at.unit, ctx.at.kernel, ctx.limits
    parts = parts_of(function, around)
    body = Seq(tuple(ctx.out.items))
    helper_bytes = tuple(
        buffer
        for helper in header_arrays.not_followed(ctx, parts)
        for buffer in shared_declarations.helper_buffers(unit, helper, around.constants)
    )
    return Kernel(
        name=function.name,
        at=At.of(function.span),
        name_at=At.of(function.name_span),
        row=ctx.at.line_at(function.name_span.start),
        buffers=tuple(
            replace(buffer, group=ptxas_layout.group(buffer, function, around.callers, parts[1:]))
            for buffer in ctx.buffers.finished(ctx.copies.into)
        ),
        body=body,
        variables=ctx.variables.names(),
        template=function.island.template and binding is None,
        inlined=tuple(
            InlinedCall(
                each.name, ctx.at.line_at(each.name_span.start), At.of(each.span), call.first, call.last
            )
            for each, call in ctx.inlining.calls
            if each is not None and any(each is part for part in parts[1:])
        ),
        calls=tuple(call for _, call in ctx.inlining.calls),
        instance=None if binding is None else f"{function.name}<{binding.text}>",
        siblings=len(bindings_of(around, function)) - 1,
        more_instances=around.instances.get(function.number, Instances()).why,
        internal=internal(unit, function) and not launched.open,
        may_opt_in=launched.may_opt_in,
        launch_bounds=_launch_bounds(function, ctx.around.constants, ctx.dialect),
        cluster=cluster_of(function, ctx.around.constants),
        dialect=ctx.dialect,
        stated=stated,
        agreed=frozenset(ctx.agreed),
        non_portable=launched.non_portable,
        launches=launches,
        drained=ctx.copies.with_final_wait,
        limits=tuple(dict.fromkeys(_limits(ctx, around, parts, body, helper_bytes))),
        rounding=around.rounding.certain,
        possible_rounding=around.rounding.possible,
        unknown_accesses=limits.unknown_accesses,
        opaque=tuple(limits.opaque),
        presumed=dict(limits.presumed),
        volatile_elsewhere=any(map(_has_volatile, ctx.inlining.done.values())),
        shared_elsewhere=limits.opens(Opens.CALLS) and shared_elsewhere(unit, ctx.dialect),
        helper_bytes=helper_bytes,
        unreferable=dict(ctx.buffers.unreferable),
        redeclared=frozenset(ctx.redeclared),
        conditional=ctx.around.conditional,
        memory=ctx.outside.finished(),
        opening=_opening(function),
        uncalled=not function.is_kernel,
        names=tuple(ctx.buffers.names),
        identifiers=frozenset((*names_in(function.body.tokens), *names_in(function.head))),
    )


def _places(ctx: Context, around: UnitFacts) -> SourceMap:
    """What is known of the text of a kernel."""
    unit, function = ctx.at.unit, ctx.at.kernel
    parts = source_parts(parts_of(function, around), unit.source)
    return SourceMap(parts=parts, names={**dict(local_types(function)), **ctx.local_names})


def _has_volatile(function: Function) -> bool:
    """Does a function of a header declare anything volatile? Assembler may be so, too, which says nothing."""
    texts = function.definition.tokens.texts
    return function.number < 0 and any(
        text == "volatile" and after != "(" for text, after in pairwise([*texts, ""])
    )


def shared_elsewhere(unit: TranslationUnit, dialect: Dialect) -> bool:
    """Does a function of the unit, whoever calls it, name shared memory?"""
    wanted = unit.shared_names | {dialect.shared}
    return any(
        not function.is_kernel and not wanted.isdisjoint(function.definition.words)
        for function in unit.all_functions
    )


OF_FILE = frozenset((CauseKind.OTHER_COMPILER, CauseKind.MACRO_SIZE))
"""What comes first in ``Kernel.limits``; next what lowering has noted, and last what is known when it is done."""


def _limits(
    ctx: Context,
    around: UnitFacts,
    parts: Sequence[Function],
    body: Seq,
    helper_bytes: Sequence[Buffer],
) -> Iterator[Cause]:
    """All that is not known of the kernel; of what opens the same the first is the one that is told."""
    if not ctx.dialect.nvidia:
        yield Cause(CauseKind.OTHER_COMPILER)
    if around.unexact is not None:
        yield around.unexact
    yield from ctx.limits.found
    yield from _not_understood(ctx)
    reached = (*parts, *ctx.inlining.done.values())
    own = ctx.limits.opens(Opens.TEXT | Opens.FLOW)
    for found in (
        header_arrays.unread(ctx, parts),
        ptxas_rounding.outside_unexact(ctx.at.unit, reached),
        ptxas_layout.unexact(ctx, body, helper_bytes, understood=not own),
    ):
        if found is not None:
            yield found


def names_in(tokens: Tokens) -> Iterator[str]:
    return (text for kind, text in zip(tokens.kinds, tokens.texts) if kind == "NAME")


def _not_understood(ctx: Context) -> Iterator[Cause]:
    """What of the kernel and of what it is made of was not parsed, or only by a guess, as a whole."""
    left_open = ctx.at.unit.preprocessed.leaves_open
    for part in (ctx.at.kernel, *ctx.inlining.done.values()):
        body = ctx.at.body_of(part)
        spans = [*body.macros, *body.failed, *body.guessed]
        if spans:
            own = part is ctx.at.kernel
            line = ctx.at.line_at(body.site(*min(spans)).start) if own else None
            whole = Cause(CauseKind.UNREAD_STATEMENT_OF, names=(part.name,))
            yield whole if line is None else Cause(CauseKind.UNREAD_STATEMENT, line)
        if body.repaired:
            yield Cause(CauseKind.UNREAD_BRACKETS, names=(part.name,))
        if part.parameters is None:
            yield Cause(CauseKind.UNREAD_PARAMETERS, names=(part.name,))
        if left_open(part.definition.words):
            yield Cause(CauseKind.UNREAD_MACRO, names=(part.name,))


def conditional_regions(unit: TranslationUnit, within: Span) -> tuple[At, ...]:
    """Outermost ``#if`` ... ``#endif`` regions that open inside the function."""
    regions: list[At] = []
    opened: list[int] = []
    for directive in unit.preprocessed.directives:
        if directive.span.start not in within:
            continue
        if directive.name in ("if", "ifdef", "ifndef"):
            opened.append(directive.span.start)
        elif directive.name == "endif" and opened:
            start = opened.pop()
            if not opened:
                regions.append(At(start, directive.span.end))
    if opened:
        regions.append(At(opened[0], within.end))
    return tuple(regions)


def _lower(ctx: Context) -> None:
    constants = ctx.around.constants
    scope = LocalScope(constants=constants.child(), around=namespace_arrays.around(ctx, constants))
    statements.lower_parameters(ctx, scope)
    body = ctx.at.body
    root = body.statements
    statements.block(ctx, root, scope, braces=statements.braces_of(ctx.at.function))
    for function in (ctx.at.kernel, *ctx.inlining.done.values()):
        _note_macros(ctx, ctx.at.body_of(function))


def _note_macros(ctx: Context, body: Body) -> None:
    """Macro statements that nothing in sight defines."""
    for lo, _ in body.macros:
        line = ctx.at.line_at(body.site(lo, lo + 1).start)
        name = body.tokens.texts[lo]
        ctx.limits.note(CauseKind.UNKNOWN_MACRO, line, name)
        if "UNROLL" not in name and "PRAGMA" not in name.upper():  # it may open a loop
            ctx.limits.note(CauseKind.MACRO_OPENS, line, name)


def _opening(function: Function) -> At | None:
    """After the opening brace; None when it came out of a macro."""
    definition = function.definition
    offset = definition.tokens.offsets[definition.island.body[0] - 1]
    after = function.start + offset + 1
    return At(after, after) if offset >= 0 else None


def _launch_bounds(function: Function, constants: Scope, dialect: Dialect) -> tuple[int, int | None] | None:
    """``__launch_bounds__(threads, blocks)``; None when absent or not constant. In HIP the second argument counts warps
    of an execution unit: no blocks."""
    values = attribute_values(function, dialect.launch_bounds, constants)
    if not values or values[0] is None or values[0] <= 0:
        return None
    blocks = values[1] if len(values) > 1 and dialect.nvidia else None
    return values[0], None if blocks is None or blocks < 0 else blocks
