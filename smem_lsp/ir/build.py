"""Builds the IR of the kernels of a file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from smem_lsp.ir import copies, statements, static_layout
from smem_lsp.ir.bindings import Binding, Instances, find_instances
from smem_lsp.ir.constants import evaluate, file_constants
from smem_lsp.ir.context import Context
from smem_lsp.ir.function_scopes import function_scope, identify
from smem_lsp.ir.launches import find_launches
from smem_lsp.ir.lexical import Lexical
from smem_lsp.ir.model import Kernel, LaunchSite, Part, Seq
from smem_lsp.ir.opt_in import may_opt_in
from smem_lsp.ir.refs import Ref
from smem_lsp.ir.scopes import Scope
from smem_lsp.source import SourceText, Span
from smem_lsp.syntax import tree
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.parse import Body, Function, TranslationUnit, parse_chunk

_ALIAS_ROUNDS = 5


@dataclass(frozen=True)
class Surroundings:
    """What a file tells about its kernels, worked out once. ``unexact``: why no total of the file is exact."""

    constants: Lexical
    helpers: Mapping[str, list[Function]]  # functions that are no kernels, by name
    helper_names: frozenset[str]
    launches: Mapping[str, tuple[LaunchSite, ...]]
    unexact: str | None
    rounding: static_layout.Rounding
    callers: Mapping[str, int]  # function -> how many kernels reach it
    instances: Mapping[int, Instances]  # of templates, by the number of the function
    launched: Mapping[tuple[int, Binding], tuple[LaunchSite, ...]]  # launches of one instance

    def launches_of(self, function: Function, binding: Binding | None) -> tuple[LaunchSite, ...]:
        """The launches in sight of a kernel, or of one instance of it."""
        if binding is None:
            return self.launches.get(function.name, ())
        return self.launched.get((function.number, binding), ())


def survey_file(unit: TranslationUnit) -> Surroundings:
    """Constants, helpers and launches of a file."""
    constants = file_constants(unit)
    helpers: dict[str, list[Function]] = defaultdict(list)
    kernels: Counter[str] = Counter()
    for function in unit.functions:
        if function.is_kernel:
            kernels[function.name] += 1
        else:
            helpers[function.name].append(function)
    launches: dict[str, tuple[LaunchSite, ...]] = defaultdict(tuple)
    for site in find_launches(unit, constants):
        if kernels[site.kernel] == 1:  # overloads are not told apart
            launches[site.kernel] += (site,)
    instances = find_instances(unit, constants)
    names = frozenset(helpers)
    return Surroundings(
        constants,
        helpers,
        names,
        launches,
        static_layout.file_unexact(unit),
        static_layout.rounding(unit, constants),
        _callers(unit, helpers, names),
        instances,
        _launched(unit, instances, launches),
    )


def _launched(
    unit: TranslationUnit, instances: Mapping[int, Instances], launches: Mapping[str, Sequence[LaunchSite]]
) -> Mapping[tuple[int, Binding], tuple[LaunchSite, ...]]:
    """The launches of each instance, with the configuration that its template arguments give."""
    found: dict[tuple[int, Binding], tuple[LaunchSite, ...]] = {}
    for number, known in instances.items():
        sites = {site.span.start: site for site in launches.get(unit.functions[number].name, ())}
        for mention in known.launches:
            body = unit.functions[mention.function].body
            at = body.site(mention.name, mention.name + 1).start
            opening = body.site(mention.opening, mention.opening + 1).start
            site = sites.get(at) or sites.get(opening)
            if site is None:
                continue
            key = (number, mention.binding)
            dynamic = site.dynamic_bytes if site.dynamic_bytes is not None else mention.dynamic_bytes
            placed = replace(site, block=site.block or mention.block, dynamic_bytes=dynamic)
            found[key] = (*found.get(key, ()), placed)
    return found


def build_kernels(unit: TranslationUnit) -> list[Kernel]:
    """One IR per ``__global__`` function with a body, in source order."""
    around = survey_file(unit)
    return [
        build_kernel(unit, around, function, binding)
        for function in unit.functions
        if function.is_kernel
        for binding in bindings_of(around, function)
    ]


def bindings_of(around: Surroundings, function: Function) -> Sequence[Binding | None]:
    """The instances of a kernel that are looked at: those in sight, or the kernel as it stands."""
    found = around.instances.get(function.number)
    return found.bindings if found is not None and found.bindings else (None,)


def kernel_key(
    unit: TranslationUnit,
    around: Surroundings,
    parts: tuple[Function, ...],
    binding: Binding | None,
) -> tuple[object, ...]:
    """Equal keys give equal kernels, but for where they stand: the memo key of everything about a kernel. ``parts``:
    what ``parts_of`` gives for it."""
    function = parts[0]
    return (
        tuple([identify(unit, around.constants, part) for part in parts]),
        around.unexact,
        around.rounding,
        tuple(around.callers.get(part.name, 0) for part in parts) if around.callers else (),
        tuple([s.configuration for s in around.launches_of(function, binding)]),
        _internal(unit, function),
        _may_opt_in(unit, around, function, binding),
        unit.preprocessed.exhausted,
        binding,
        around.instances.get(function.number, Instances()).why if around.instances else None,
    )


def parts_of(function: Function, around: Surroundings) -> tuple[Function, ...]:
    """The functions of the file that the IR of a kernel is made of: itself and those that it may reach."""
    return (function, *_reached_helpers(function, around.helpers, around.helper_names))


def _part(function: Function, source: SourceText) -> Part:
    span = function.span
    return Part(span, source.line_number(span.start), source.line_number(span.end))


def build_kernel(
    unit: TranslationUnit, around: Surroundings, function: Function, binding: Binding | None = None
) -> Kernel:
    """The IR of one kernel, or of one instance of it."""
    constants, helpers = around.constants, around.helpers
    aliases: dict[int, Ref] = {}
    numbers: dict[tuple[tuple[int, ...], int, str, int], int] = {}
    copied = frozenset[int]()
    conditional = _conditional_regions(unit, function.span)
    own_constants = function_scope(constants, function, None if binding is None else binding.names)
    for _ in range(_ALIAS_ROUNDS):
        # a pointer may be used above the assignment that the next iteration makes, and a wait stand above the copy:
        # repeat until nothing is new
        ctx = Context(
            unit,
            function,
            own_constants,
            constants,
            helpers,
            dict(aliases),
            numbers=numbers,
            conditional=conditional,
            landing=copied,
        )
        _lower(ctx)
        if ctx.aliases == aliases and ctx.copied == copied:
            break
        aliases, copied = ctx.aliases, ctx.copied
    else:
        ctx.irregular = ctx.irregular or "pointers into shared memory are reassigned in a circle"
    body = function.body
    included = next(
        (d for d in unit.preprocessed.directives if d.name == "include" and function.span.covers(d.span)),
        None,
    )
    if included is not None:
        line = unit.source.line_number(included.span.start)
        ctx.irregular = ctx.irregular or f"a file is included at line {line}"
    for inlined in (function, *ctx.inlined.values()):
        if inlined.body.repaired:
            ctx.irregular = ctx.irregular or "brackets do not match"
    copies.settle(ctx)
    parts = parts_of(function, around)
    helper_bytes = tuple(
        buffer
        for helper in parts[1:]
        if helper.island.head not in ctx.inlined
        for buffer in static_layout.helper_buffers(unit, helper, constants)
    )
    whole = Seq(tuple(ctx.items))
    return Kernel(
        name=function.name,
        span=function.span,
        name_span=function.name_span,
        line=unit.source.line_number(function.name_span.start),
        buffers=tuple(
            replace(buffer, rank=static_layout.rank(buffer, function, around.callers, parts[1:]))
            for buffer in ctx.finished_buffers()
        ),
        body=whole,
        variables=ctx.variable_names(),
        template=function.island.template and binding is None,
        parts=tuple(_part(each, unit.source) for each in parts),
        instance=None if binding is None else f"{function.name}<{binding.text}>",
        siblings=len(bindings_of(around, function)) - 1,
        more_instances=around.instances.get(function.number, Instances()).why,
        internal=_internal(unit, function),
        may_opt_in=_may_opt_in(unit, around, function, binding),
        launch_bounds=_launch_bounds(function, constants),
        launches=around.launches_of(function, binding),
        complete=ctx.complete
        and all(_is_read(read) for read in (function, *ctx.inlined.values()))
        and not unit.preprocessed.exhausted,
        irregular=ctx.irregular,
        unexact=around.unexact
        or ctx.unexact
        or static_layout.header_unexact(unit, constants, parts)
        or static_layout.unexact(ctx, whole, helper_bytes),
        rounding=around.rounding.certain,
        possible_rounding=around.rounding.possible,
        hidden=tuple(dict.fromkeys(ctx.hidden)),
        unknown=tuple(dict.fromkeys(ctx.unknown)),
        unknown_accesses=ctx.unknown_accesses,
        unknown_barriers=ctx.unknown_barriers,
        opaque=tuple(ctx.opaque),
        helper_bytes=helper_bytes,
        unreferable=dict(ctx.unreferable),
        redeclared=frozenset(ctx.redeclared),
        local_names=dict(ctx.local_names),
        conditional=conditional,
        memory=replace(ctx.memory, written=tuple(dict.fromkeys(ctx.written))),
        opening=_opening(function),
        identifiers=frozenset(t for k, t in zip(body.tokens.kinds, body.tokens.texts) if k == "NAME")
        | frozenset(t for k, t in zip(function.head.kinds, function.head.texts) if k == "NAME"),
    )


def _is_read(function: Function) -> bool:
    """Was every statement and the head of a function understood?"""
    body = function.body
    return (
        not (body.repaired or body.macros or body.failed or body.guessed) and function.parameters is not None
    )


def _internal(unit: TranslationUnit, function: Function) -> bool:
    """Are all launches of the kernel in sight?"""
    island = function.definition.island
    hidden = "static" in island.specifiers or "" in function.scopes or "" in island.enclosing
    return hidden and not _named_elsewhere(unit, function)


def _may_opt_in(
    unit: TranslationUnit, around: Surroundings, function: Function, binding: Binding | None
) -> bool:
    """It matters where launches pass dynamic bytes."""
    return any(site.dynamic_bytes for site in around.launches_of(function, binding)) and may_opt_in(
        unit, function
    )


def _named_elsewhere(unit: TranslationUnit, kernel: Function) -> bool:
    """May the kernel be launched from where we do not see it? Its name stands somewhere else than in its definition,
    in a prototype and in launches, or part of the file is in another one."""
    if "<<<" in unit.header_words or unit.preprocessed.missing_quoted:
        return True
    if any(kernel.name in unit.source.slice(region) for region in unit.preprocessed.inactive):
        return True  # another configuration may launch it otherwise
    tokens = unit.preprocessed.tokens
    for i, text in enumerate(tokens.texts):
        if text != kernel.name or tokens.kinds[i] != "NAME" or i == kernel.island.name:
            continue
        if tokens.kinds[i - 1 : i] == ["TYPE"] and tokens.kinds[i + 1 : i + 2] == ["LP"]:
            continue  # a prototype
        following = i + 1
        if tokens.kinds[i + 1 : i + 2] == ["LT"]:
            depth = 0
            while following < min(len(tokens), i + 200):
                depth += {"<": 1, ">": -1, ">>": -2}.get(tokens.texts[following], 0)
                following += 1
                if depth <= 0:
                    break
        if tokens.kinds[following : following + 1] != ["LAUNCH_OPEN"]:
            return True
        inside = any(f.island.body[0] <= i < f.island.body[1] for f in unit.functions)
        if not inside:
            return True
    return False


def _conditional_regions(unit: TranslationUnit, within: Span) -> tuple[Span, ...]:
    """Outermost ``#if`` ... ``#endif`` regions that open inside the function."""
    regions: list[Span] = []
    opened: list[int] = []
    for directive in unit.preprocessed.directives:
        if directive.span.start not in within:
            continue
        if directive.name in ("if", "ifdef", "ifndef"):
            opened.append(directive.span.start)
        elif directive.name == "endif" and opened:
            start = opened.pop()
            if not opened:
                regions.append(Span(start, directive.span.end))
    if opened:
        regions.append(Span(opened[0], within.end))
    return tuple(regions)


def _lower(ctx: Context) -> None:
    scope = Scope(constants=ctx.constants.child())
    statements.lower_parameters(ctx, scope)
    body = ctx.body
    root = body.statements
    statements.block(ctx, root, scope, braces=_braces(ctx.function))
    for function in (ctx.kernel, *ctx.inlined.values()):
        _note_macros(ctx, function.body)


def _note_macros(ctx: Context, body: Body) -> None:
    """Macro statements that nothing in sight defines."""
    for lo, _ in body.macros:
        line = ctx.unit.source.line_number(body.site(lo, lo + 1).start)
        name = body.tokens.texts[lo]
        ctx.note_unknown(f"line {line}: macro {name} is not known")
        if "UNROLL" not in name and "PRAGMA" not in name.upper():  # it may open a loop
            ctx.irregular = ctx.irregular or f"macro {name} at line {line} is not known"


def _braces(function: Function) -> Span:
    """The braces of the body."""
    tokens = function.body.tokens
    start = function.span.end - 1
    if tokens.offsets:
        first = tokens.offsets[0]
        start = first if first >= 0 else -1 - first
    return Span(start, function.span.end)


def _opening(function: Function) -> int | None:
    """Offset after the opening brace; None when it came out of a macro."""
    definition = function.definition
    offset = definition.tokens.offsets[definition.island.body[0] - 1]
    return function.start + offset + 1 if offset >= 0 else None


def _launch_bounds(function: Function, constants: Lexical) -> tuple[int, int | None] | None:
    """``__launch_bounds__(threads, blocks)``; None when absent or not constant."""
    kinds, texts = function.head.kinds, function.head.texts
    if "__launch_bounds__" not in texts:
        return None
    at = texts.index("__launch_bounds__") + 1
    if at >= len(kinds) or kinds[at] != "LP":
        return None
    close = match_brackets(kinds)[at]
    if close < at:
        return None
    parsed = parse_chunk(
        "initializer",
        ["LC", *kinds[at + 1 : close], "RC"],
        ["{", *texts[at + 1 : close], "}"],
        function.body.symbols,
    )
    if not isinstance(parsed, tree.Braces) or not parsed.items:
        return None
    values = [evaluate(item, constants) for item in parsed.items]
    if values[0] is None or values[0] <= 0:
        return None
    return values[0], values[1] if len(values) > 1 else None


def _callers(
    unit: TranslationUnit, helpers: Mapping[str, list[Function]], names: frozenset[str]
) -> dict[str, int]:
    """How many kernels reach each function that has shared arrays."""
    counts: Counter[str] = Counter()
    if any("__shared__" in f.definition.body_words for f in unit.functions if not f.is_kernel):
        for kernel in unit.functions:
            if kernel.is_kernel:
                counts.update({helper.name for helper in _reached_helpers(kernel, helpers, names)})
    return counts


def _reached_helpers(
    function: Function, helpers: Mapping[str, list[Function]], names: frozenset[str]
) -> list[Function]:
    """Functions of this file that the kernel reaches by name, itself left out, in source order. ``names``: those of
    all ``helpers``."""
    reached: dict[int, Function] = {}
    stack = [function]
    while stack:
        words = stack.pop().definition.body_words
        if names.isdisjoint(words):
            continue
        for text in names & words:
            for helper in helpers[text]:
                if helper.number not in reached:
                    reached[helper.number] = helper
                    stack.append(helper)
    return [reached[key] for key in sorted(reached)]
