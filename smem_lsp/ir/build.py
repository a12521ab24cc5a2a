"""Builds the IR of the kernels of a file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from smem_lsp.ir import statements
from smem_lsp.ir.constants import Constants, evaluate, file_constants
from smem_lsp.ir.context import Context, template_parameters
from smem_lsp.ir.declarations import shared_buffer
from smem_lsp.ir.launches import find_launches
from smem_lsp.ir.model import Access, Buffer, Kernel, LaunchSite, Seq, walk
from smem_lsp.ir.refs import Ref
from smem_lsp.ir.scopes import Scope
from smem_lsp.ir.values import Value
from smem_lsp.source import Span
from smem_lsp.syntax import tree
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.parse import Body, Function, TranslationUnit, parse_chunk

_ALIAS_ROUNDS = 4


@dataclass(frozen=True)
class Surroundings:
    """What a file tells about its kernels, worked out once. ``unexact``: why no total of the file is exact."""

    constants: Constants
    helpers: Mapping[str, list[Function]]  # functions that are no kernels, by name
    launches: Mapping[str, tuple[LaunchSite, ...]]
    unexact: str | None
    rounding: int
    key: int  # of constants and typedefs


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
    return Surroundings(
        constants,
        helpers,
        launches,
        _file_unexact(unit),
        _dynamic_rounding(unit, constants),
        hash((tuple(constants.values.items()), tuple(constants.aliases.items()))),
    )


def build_kernels(unit: TranslationUnit) -> list[Kernel]:
    """One IR per ``__global__`` function with a body, in source order."""
    around = survey_file(unit)
    return [build_kernel(unit, around, function) for function in unit.functions if function.is_kernel]


def kernel_key(unit: TranslationUnit, around: Surroundings, function: Function) -> tuple[object, ...]:
    """Equal keys give equal kernels, but for where they stand: the memo key of everything about a kernel."""
    span = function.span
    helpers = tuple(
        (
            helper.name,
            helper.island.template,
            tuple(helper.parameter_tokens.texts),
            tuple(helper.body.tokens.texts),
        )
        for helper in _reached_helpers(function, around.helpers)
    )
    return (
        unit.source.text[span.start : span.end],
        tuple(function.body.tokens.texts),
        tuple(function.head.texts),
        (function.island.template, function.island.enclosing, function.island.repaired),
        unit.symbols.key,
        around.key,
        around.unexact,
        around.rounding,
        tuple(
            (s.block, s.dynamic_bytes, s.dynamic_expression) for s in around.launches.get(function.name, ())
        ),
        _internal(unit, function),
        helpers,
        unit.preprocessed.exhausted,
        tuple(
            (i.start - span.start, i.end - span.start)
            for i in unit.preprocessed.invocations
            if span.covers(i)
        ),
    )


def build_kernel(unit: TranslationUnit, around: Surroundings, function: Function) -> Kernel:
    """The IR of one kernel."""
    constants, helpers = around.constants, around.helpers
    aliases: dict[int, Ref] = {}
    conditional = _conditional_regions(unit, function.span)
    parameters = template_parameters(function)
    own_constants = constants
    if parameters & constants.aliases.keys():  # a template parameter hides a typedef of the same name
        visible = {name: words for name, words in constants.aliases.items() if name not in parameters}
        own_constants = Constants(visible, dict.fromkeys(parameters), constants)
    for _ in range(_ALIAS_ROUNDS):
        # a pointer may be used above the assignment that the next iteration makes: repeat until nothing is new
        ctx = Context(
            unit, function, own_constants, constants, helpers, dict(aliases), conditional=conditional
        )
        _lower(ctx)
        if ctx.aliases == aliases:
            break
        aliases = ctx.aliases
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
    reached = [h for h in _reached_helpers(function, helpers) if h.island.head not in ctx.inlined]
    helper_bytes = tuple(buffer for helper in reached for buffer in _helper_buffers(unit, helper, constants))
    return Kernel(
        name=function.name,
        span=function.span,
        name_span=function.name_span,
        line=unit.source.line_number(function.name_span.start),
        buffers=ctx.finished_buffers(),
        body=Seq(tuple(ctx.items)),
        variables=tuple(ctx.variables),
        template=function.island.template,
        internal=_internal(unit, function),
        launch_bounds=_launch_bounds(function, constants),
        launches=around.launches.get(function.name, ()),
        complete=ctx.complete
        and all(_is_read(read) for read in (function, *ctx.inlined.values()))
        and not unit.preprocessed.exhausted,
        irregular=ctx.irregular,
        unexact=around.unexact or _unexact(ctx, helper_bytes),
        rounding=around.rounding,
        hidden=tuple(dict.fromkeys(ctx.hidden)),
        unknown=tuple(dict.fromkeys(ctx.unknown)),
        unknown_accesses=ctx.unknown_accesses,
        unknown_barriers=ctx.unknown_barriers,
        helper_bytes=helper_bytes,
        unreferable=dict(ctx.unreferable),
        redeclared=frozenset(ctx.redeclared),
        local_names=dict(ctx.local_names),
        conditional=conditional,
        opening=_opening(unit, function),
        identifiers=frozenset(t for k, t in zip(body.tokens.kinds, body.tokens.texts) if k == "NAME")
        | frozenset(t for k, t in zip(function.head.kinds, function.head.texts) if k == "NAME"),
    )


def _is_read(function: Function) -> bool:
    """Was every statement and the head of a function understood?"""
    body = function.body
    return not body.repaired and not body.macros and not body.failed and function.parameters is not None


def _internal(unit: TranslationUnit, function: Function) -> bool:
    """Are all launches of the kernel in sight?"""
    hidden = "static" in function.island.specifiers or "" in function.island.enclosing
    return hidden and not _named_elsewhere(unit, function)


def _named_elsewhere(unit: TranslationUnit, kernel: Function) -> bool:
    """May the kernel be launched from where we do not see it? Its name stands somewhere else than in its definition,
    in a prototype and in launches, or part of the file is in another one."""
    if "LAUNCH_OPEN" in unit.preprocessed.header.kinds or unit.preprocessed.missing_quoted:
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


def _opening(unit: TranslationUnit, function: Function) -> int | None:
    """Offset after the opening brace; None when it came out of a macro."""
    offset = unit.preprocessed.tokens.offsets[function.island.body[0] - 1]
    return offset + 1 if offset >= 0 else None


def _launch_bounds(function: Function, constants: Constants) -> tuple[int, int | None] | None:
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


def _reached_helpers(function: Function, helpers: Mapping[str, list[Function]]) -> list[Function]:
    """Functions of this file that the kernel reaches by name, itself left out, in source order."""
    reached: dict[int, Function] = {}
    stack = [function]
    while stack:
        for text in helpers.keys() & set(stack.pop().body.tokens.texts):
            for helper in helpers[text]:
                if helper.island.head not in reached:
                    reached[helper.island.head] = helper
                    stack.append(helper)
    return [reached[key] for key in sorted(reached)]


def _helper_buffers(unit: TranslationUnit, helper: Function, constants: Constants) -> list[Buffer]:
    """Static arrays that a helper declares: one copy per function."""
    if "__shared__" not in helper.body.tokens.texts:
        return []
    return [
        shared_buffer(helper.body, base, unit.source.text, declaration, position, constants, helper.name)
        for declaration, base in _shared_declarations(helper)
        for position in range(len(declaration.declarators))
        if "extern" not in declaration.words
    ]


def _shared_declarations(function: Function) -> list[tuple[tree.Declaration, int]]:
    """(declaration, its first token) of every ``__shared__`` declaration statement."""
    found: list[tuple[tree.Declaration, int]] = []
    stack: list[tree.Statement] = [function.body.statements]
    while stack:
        node = stack.pop()
        match node:
            case tree.Block():
                stack += reversed(node.statements)
            case tree.If():
                stack += [*([node.otherwise] if node.otherwise else []), node.then]
            case tree.For() | tree.While() | tree.DoWhile() | tree.Switch():
                stack.append(node.body)
            case tree.DeclarationStatement():
                if "__shared__" not in function.body.tokens.texts[node.chunk[0] : node.chunk[1]]:
                    continue
                declaration = function.body.chunk("declaration", node.chunk)
                if isinstance(declaration, tree.Declaration):
                    found.append((declaration, node.chunk[0]))
    return found


def _file_unexact(unit: TranslationUnit) -> str | None:
    """Why no total of this file can be relied on."""
    inside = sum(function.body.tokens.texts.count("__shared__") for function in unit.functions)
    if unit.preprocessed.tokens.texts.count("__shared__") > inside:
        return "shared memory is declared outside functions"
    if "__shared__" in unit.preprocessed.header.texts:
        return "a header declares shared memory"
    if unit.preprocessed.exhausted:
        return "a macro expands beyond the limits"
    return None


def _dynamic_rounding(unit: TranslationUnit, constants: Constants) -> int:
    """Once a function uses an ``extern __shared__`` array, every static total of the file is rounded up to 16 bytes,
    or to the array's alignment if that is more (ptxas 13.0)."""
    rounding = 1
    for function in unit.functions:
        texts = function.body.tokens.texts
        if "extern" not in texts or "__shared__" not in texts:
            continue
        for declaration, base in _shared_declarations(function):
            if "extern" not in declaration.words:
                continue
            for position, declarator in enumerate(declaration.declarators):
                if texts.count(declarator.name) > 1:
                    buffer = shared_buffer(
                        function.body, base, unit.source.text, declaration, position, constants, function.name
                    )
                    rounding = max(rounding, 16, buffer.align or 1)
    return rounding


def _unexact(ctx: Context, helper_bytes: tuple[Buffer, ...]) -> str | None:
    """Why the bytes that ptxas reports may differ from the declared ones."""
    if helper_bytes:
        return f"{helper_bytes[0].function} has shared arrays of its own"
    if not ctx.complete or ctx.irregular:
        return "part of the kernel is not understood"
    private = _private_buffer(ctx)
    if private is not None:
        return f"ptxas may keep {private} in registers: each thread uses one element of its own"
    return None


def _private_buffer(ctx: Context) -> str | None:
    """A buffer whose accesses are all spelled with one and the same index: ptxas may forward its values."""
    indices: dict[int, set[tuple[Value, ...] | None]] = defaultdict(set)
    read: set[int] = set()
    for node in walk(Seq(tuple(ctx.items))):
        if isinstance(node, Access):
            indices[node.buffer].add(node.index)
            if node.kind.reads:
                read.add(node.buffer)
    for buffer, used in indices.items():
        if (
            buffer in read
            and len(used) == 1
            and None not in used
            and ctx.buffers[buffer].dims
            and buffer not in ctx.fixed
        ):
            return ctx.buffers[buffer].name
    return None
