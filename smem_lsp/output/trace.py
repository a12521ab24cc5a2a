"""Every intermediate result of a kernel, in the order of the analyses, for an author who wants to know why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from smem_lsp.allocation.plan import Plan
from smem_lsp.engine.report import FileReport
from smem_lsp.engine.rests_on import rests_on
from smem_lsp.ir.author_facts import Annotations
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import (
    Access,
    Assignment,
    Barrier,
    BarrierSite,
    Branch,
    Buffer,
    Jump,
    Kernel,
    Loop,
    Seq,
    walk,
)
from smem_lsp.ir.values import Const, Op, Sym, Thread, Unknown, Value, Var
from smem_lsp.output.json_text import dump
from smem_lsp.output.map_layouts import facts_in_force
from smem_lsp.output.symbolic_size import symbolic_bytes
from smem_lsp.output.trace_memory import live_set_lines, open_access_lines, stack_lines
from smem_lsp.output.trace_values import binding_lines, value_lines
from smem_lsp.rules.apart import open_pairs, why_open
from smem_lsp.rules.cause_words import told, told_causes
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.kernel_verdict import kernel_verdict
from smem_lsp.source import SourceText, listed, plural, printable
from smem_lsp.source.integers import INFIX
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, Function, TranslationUnit


@dataclass(frozen=True, slots=True)
class Section:
    """One intermediate result, a line for each part of it."""

    title: str
    lines: tuple[str, ...]


def render(report: FileReport, unit: TranslationUnit, indices: Sequence[int]) -> str:
    """The sections of the kernels with these indices as text."""
    out: list[str] = []
    for index in indices:
        kernel = report.facts[index].kernel
        out.append(f"{kernel.instance or kernel.name}  {report.source.path}:{kernel.line}")
        for section in sections(report, unit, index):
            out += ["", f"== {section.title} ==", *(section.lines or ("(nothing)",))]
        out.append("")
    return "\n".join(map(printable, out))


def render_json(report: FileReport, unit: TranslationUnit, indices: Sequence[int]) -> str:
    """The same as one JSON object with a list of kernels."""
    kernels = [
        {
            "name": report.facts[index].kernel.name,
            "instance": report.facts[index].kernel.instance,
            "path": report.source.path,
            "line": report.facts[index].kernel.line,
            "sections": [
                {"title": section.title, "lines": list(section.lines)}
                for section in sections(report, unit, index)
            ],
        }
        for index in indices
    ]
    return dump({"version": 1, "kernels": kernels})


def sections(report: FileReport, unit: TranslationUnit, index: int) -> Iterator[Section]:
    """All intermediate results of one kernel, first to last."""
    facts = report.facts[index]
    function = _function(unit, facts.kernel)
    if function is not None:
        yield Section("tokens", tuple(_tokens(report.source, function.body)))
        yield Section("statement tree", tuple(_statements(function.body, function.body.statements, 0)))
        yield Section("template bindings", tuple(binding_lines(unit, function, facts.kernel)))
    yield Section("buffers", tuple(_buffer(facts.kernel, buffer) for buffer in facts.kernel.buffers))
    yield Section("members", tuple(_members(facts)))
    yield Section("unit", tuple(_unit_lines(report, facts)))
    yield Section("launches", tuple(_launches(facts)))
    yield Section("region tree", tuple(_region(facts.kernel, facts.kernel.body, 0)))
    yield Section("values", tuple(value_lines(facts.kernel, facts.shape)))
    yield Section("touched bytes", tuple(_touched(facts)))
    yield Section("uniformity", tuple(_uniformity(facts)))
    yield Section("live ranges", tuple(_lives(facts)))
    yield Section("live sets", tuple(live_set_lines(facts)))
    yield Section("open accesses", tuple(open_access_lines(facts)))
    yield Section("pairs that stay apart", tuple(_apart(facts)))
    yield Section("stack allocator", tuple(stack_lines(facts)))
    yield Section("layouts", tuple(_layouts(facts)))
    yield Section("not known", tuple(_unknown(facts)))
    yield Section("findings", tuple(_findings(report, facts)))


def _function(unit: TranslationUnit, kernel: Kernel) -> Function | None:
    return next((f for f in unit.functions if f.name_span == kernel.name_span), None)


def _tokens(source: SourceText, body: Body) -> Iterator[str]:
    for kind, text, offset in zip(body.tokens.kinds, body.tokens.texts, body.tokens.offsets):
        at = offset if offset >= 0 else -1 - offset
        origin = "" if offset >= 0 else "  out of a macro"
        line = source.line_number(at)
        column = at - source.lines.starts[line - 1] + 1
        yield f"{line}:{column}  {kind}  {text}{origin}"


def _statements(body: Body, node: tree.Statement, depth: int) -> Iterator[str]:
    indent = "  " * depth
    name = type(node).__name__
    match node:
        case tree.Block():
            yield f"{indent}{name}"
            for child in node.statements:
                yield from _statements(body, child, depth + 1)
        case tree.If():
            yield f"{indent}{name} {_spelled(body, node.condition)}"
            yield from _statements(body, node.then, depth + 1)
            if node.otherwise is not None:
                yield f"{indent}Else"
                yield from _statements(body, node.otherwise, depth + 1)
        case tree.For():
            yield f"{indent}{name} {_spelled(body, node.head)}"
            yield from _statements(body, node.body, depth + 1)
        case tree.While() | tree.DoWhile() | tree.Switch():
            yield f"{indent}{name} {_spelled(body, node.condition)}"
            yield from _statements(body, node.body, depth + 1)
        case tree.ExpressionStatement():
            yield f"{indent}{name} {_spelled(body, node.chunk)}"
            parsed = body.chunk("expression", node.chunk)
            yield f"{indent}  {'not understood' if parsed is None else _expression(parsed)}"
        case tree.DeclarationStatement():
            yield f"{indent}{name} {_spelled(body, node.chunk)}"
        case _:
            yield f"{indent}{name} {_spelled(body, (node.lo, node.hi))}"


def _spelled(body: Body, chunk: tuple[int, int]) -> str:
    return " ".join(body.tokens.texts[chunk[0] : chunk[1]])


def _expression(node: Any) -> str:
    """A tree as ``Kind(part, part)``, without positions."""
    if isinstance(node, list | tuple):
        return f"[{', '.join(_expression(item) for item in node)}]"
    if not is_dataclass(node):
        return str(node)
    parts = [
        _expression(value)
        for field in fields(node)
        if field.name not in ("lo", "hi") and (value := getattr(node, field.name)) not in (None, [], False)
    ]
    return f"{type(node).__name__}({', '.join(parts)})"


def _buffer(kernel: Kernel, buffer: Buffer) -> str:
    dims = "".join(f"[{'?' if dim is None else dim}]" for dim in buffer.dims)
    unknown = f"{symbolic_bytes(buffer)} B" if symbolic_bytes(buffer) else "size unknown"
    size = unknown if buffer.bytes is None else f"{buffer.bytes} B"
    align = "" if buffer.align is None else f", aligned to {buffer.align}"
    if buffer.align is not None and buffer.required_align > buffer.align:
        align += f" (its accesses need {buffer.required_align})"
    owner = f", declared in {buffer.function}()" if buffer.function else ""
    stays = f"; stays where it is: {told(kernel, buffer.fixed)}" if buffer.fixed else ""
    return (
        f"#{buffer.index} {buffer.space.value} {buffer.type} {buffer.name}{dims}: {size}{align}{owner}{stays}"
    )


def _members(facts: KernelFacts) -> Iterator[str]:
    """Of classes in shared memory; those that an access may reach across are one range."""
    for buffer in facts.kernel.buffers:
        for member in buffer.members:
            end = member.offset + member.size
            yield f"{buffer.name}: {member.path}, bytes {member.offset}..{end}, aligned to {member.align}"
        for kept in buffer.kept if buffer.members else ():
            part = "all of it" if kept.within is None else f"bytes {kept.within[0]}..{kept.within[1]}"
            yield f"{buffer.name}: {part} stays where it is: {told(facts.kernel, kept.reason)}"
    for divided in facts.class_partitions:
        split = facts.split(divided)
        for plan in (divided.declared, *(candidate.plan for candidate in divided.best)):
            yield _plan(split.kernel, plan)


def _unit_lines(report: FileReport, facts: KernelFacts) -> Iterator[str]:
    """The files through which the kernel is read, and those of the unit that may hold kernels or launches."""
    for context in facts.kernel.contexts:
        yield " ".join(("read through", context.main, *context.macros))
    if not facts.kernel.contexts:
        yield "read by itself"
    for more in facts.kernel.left_out:
        yield f"{more} are not looked at: too many"
    for other in () if report.unit is None else report.unit.others:
        kernels = [function.name for function in other.functions if function.is_kernel]
        holds = f"kernels {', '.join(kernels)}" if kernels else plural(len(other.functions), "function")
        yield f"with {other.source.path}: {holds}"


def _launches(facts: KernelFacts) -> Iterator[str]:
    for site in facts.kernel.launches:
        passed = site.dynamic_expression or "unknown"
        dynamic = passed if site.dynamic_bytes is None else f"{site.dynamic_bytes} B"
        yield f"{site.place}: block {site.block_text}, dynamic {dynamic}"
        for fact in (*site.equalities, *site.conditions):
            yield f"  {fact.text}"
    if facts.kernel.launch_bounds is not None:
        yield f"__launch_bounds__: {facts.kernel.launch_bounds[0]} threads at most"
    if facts.shape is not None:
        kind = "a fact" if facts.shape.fact else "an assumption"
        yield f"block of {facts.shape.threads} threads from {facts.shape.source}: {kind}"
    yield from _stated_lines(facts.kernel.stated)
    yield from facts.bounds_from_indices


def _stated_lines(stated: Annotations) -> Iterator[str]:
    """What the author says of the block."""
    for words, sign, axes in (
        ("`assume` states", "==", stated.dims),
        ("the kernel asserts", "==", stated.asserted),
        ("the kernel asserts", "<=", stated.asserted_most),
    ):
        yield from (f"{words} blockDim.{axis} {sign} {threads}" for axis, threads in axes)


def _region(kernel: Kernel, seq: Seq, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for node in seq:
        head = f"{indent}{node.point}"
        match node:
            case Access():
                yield f"{head} {_access(kernel, node)}  line {kernel.places.line(node.line)}"
            case Barrier():
                yield f"{head} barrier {node.kind.value}  line {kernel.places.line(node.line)}"
            case Assignment():
                name = kernel.variables[node.variable] or "a copy"
                yield f"{head} {name} #{node.variable} = {value_text(kernel, node.value)}"
            case Branch():
                yield f"{head} if {value_text(kernel, node.condition)}  line {kernel.places.line(node.line)}"
                yield from _region(kernel, node.then, depth + 1)
                if node.otherwise.items:
                    yield f"{indent}else"
                    yield from _region(kernel, node.otherwise, depth + 1)
            case Loop():
                trips = f"at least {node.min_trip}" if node.trips is None else f"{node.trips}"
                yield (
                    f"{head}..{node.end_point} loop while {value_text(kernel, node.condition)}, "
                    f"trips {trips}  line {kernel.places.line(node.line)}"
                )
                yield from _region(kernel, node.body, depth + 1)
            case Jump():
                yield f"{head} {node.kind.value}  line {kernel.places.line(node.line)}"
            case BarrierSite():
                yield f"{head} a barrier could stand here  line {kernel.places.line(node.line)}"


def _access(kernel: Kernel, node: Access) -> str:
    word = {"R": "read", "W": "write", "X": "update"}[node.kind.value]
    name = kernel.buffers[node.buffer].name
    if node.index is not None:
        name += "".join(f"[{value_text(kernel, index)}]" for index in node.index)
    if node.offset is None:
        return f"{word} {name}, bytes not known"
    width = "?" if node.width is None else node.width
    return f"{word} {name}, {width} bytes at {value_text(kernel, node.offset)}"


def value_text(kernel: Kernel, value: Value) -> str:
    """A value in the spelling of C, variables with their numbers."""
    match value:
        case Const():
            return str(value.n)
        case Thread():
            return f"threadIdx.{value.axis}"
        case Sym():
            return value.name
        case Var():
            return f"{kernel.variables[value.index]}#{value.index}"
        case Unknown():
            return f"?{value.key}" + (" (uniform)" if value.uniform else "")
        case Op():
            arguments = [value_text(kernel, argument) for argument in value.args]
            if value.operator.spelling in INFIX and len(arguments) == 2:
                return f"({arguments[0]} {value.operator.spelling} {arguments[1]})"
            return f"{value.spelling}({', '.join(arguments)})"


def _uniformity(facts: KernelFacts) -> Iterator[str]:
    accesses = [node for node in walk(facts.kernel.body) if isinstance(node, Access)]
    alone = {each.point for each in accesses if facts.questions.is_for_one(each)}
    for title, points in (
        ("decided alike by all threads", facts.control.uniform),
        ("barriers that every thread reaches", facts.control.barriers),
        ("accesses of at most one thread in an iteration", alone),
    ):
        yield f"{title}: {', '.join(str(point) for point in sorted(points)) or 'none'}"
    if facts.withheld is not None:
        yield f"nothing is said of this kernel: {told(facts.kernel, facts.withheld)}"


def _lives(facts: KernelFacts) -> Iterator[str]:
    for index, life in facts.liveness.lives.items():
        name = facts.kernel.buffers[index].name
        first, last = facts.lines_of(life)
        yield f"{name}: points {life.first}..{life.last}, lines {first}..{last}"
    for index in sorted(facts.liveness.reads_before_write):
        yield f"{facts.kernel.buffers[index].name}: read before anything is written"


def _apart(facts: KernelFacts) -> Iterator[str]:
    names = [buffer.name for buffer in facts.kernel.buffers]
    for both, overwrite in facts.liveness.witnesses().items():
        (holds,) = both - {overwrite.writes}
        yield (
            f"{names[overwrite.writes]} is written at point {overwrite.point} (line {facts.line(overwrite.line)}) "
            f"while {names[holds]} holds a value"
        )
    for index in sorted(facts.liveness.reads_before_write):
        yield f"{names[index]} is read before anything is written to it"
    yield from (
        f"{buffer.name}: {told(facts.kernel, buffer.fixed)}"
        for buffer in facts.kernel.buffers
        if buffer.fixed
    )
    under = facts_in_force(facts)
    for earlier, later in open_pairs(facts, under).values():
        yield (
            f"{names[earlier.buffer]} and {names[later.buffer]} at points {earlier.point} and {later.point}: "
            f"{why_open(facts, under, earlier, later)}"
        )


def _layouts(facts: KernelFacts) -> Iterator[str]:
    plans = [facts.declared, facts.stack, *facts.compared, *(candidate.plan for candidate in facts.best)]
    for plan in plans:
        if plan is not None:
            yield _plan(facts.kernel, plan)


def _plan(kernel: Kernel, plan: Plan) -> str:
    offsets = sorted((offset, kernel.buffers[index].name) for index, offset in plan.offsets.items())
    placed = ", ".join(f"{name} at {offset}" for offset, name in offsets)
    barriers = plural(len(plan.barriers), "barrier")
    added = f", {barriers} added at {list(plan.barriers)}" if plan.barriers else ""
    optimal = ", no layout is smaller" if plan.optimal else ""
    return f"{plan.allocator}: {plan.bytes} B{added}{optimal}: {placed}"


def _unknown(facts: KernelFacts) -> Iterator[str]:
    opening = (Opens.FLOW, Opens.TEXT, Opens.BYTES, Opens.ACCESSES, Opens.ANYTHING)
    yield from told_causes(facts.kernel, (each for what in opening for each in facts.kernel.open(what)))


def _findings(report: FileReport, facts: KernelFacts) -> Iterator[str]:
    """Findings and the verdict, each with what it rests on."""
    found = [finding for finding in report.findings if facts.kernel.span.covers(finding.span)]
    rests = rests_on(facts, found)
    contexts = "".join(f", read through {context.main}" for context in facts.kernel.contexts[:1])
    for finding, used in zip(found, rests.findings):
        line = report.source.line_number(finding.span.start)
        yield f"{finding.code} line {line}: {finding.message}"
        yield f"  rests on {listed(used) if used else 'no launch'}{contexts}"
    if facts.kernel.buffers:
        yield f"verdict: {kernel_verdict(facts).words}"
        yield f"  rests on {listed(rests.verdict) if rests.verdict else 'no launch'}{contexts}"


def _touched(facts: KernelFacts) -> Iterator[str]:
    """The bytes of each buffer that are touched, as far as they are known of every block."""
    for index, (first, end) in sorted(facts.extents.items()):
        yield f"{facts.kernel.buffers[index].name}: bytes {first}..{end} at most are touched"
