"""What a kernel's template parameters are, and what the index or place of each access is made of."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.analysis.threads.uniformity import Levels, prove_levels
from smem_lsp.analysis.values.block_shape import BlockShape, most_threads
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.ir.nodes import Access, Kernel, Loop, Node, walk
from smem_lsp.semantics.file_scope import file_constants
from smem_lsp.semantics.spell_type import spell_argument
from smem_lsp.source import plural
from smem_lsp.source.integers import INFIX
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.terms.language import Const, Level, LoopVar, Op, OpaqueTerm, Sym, Term, Thread
from smem_lsp.unit.instances import find_instances

_MOST_ORIGINS = 6  # of one value
_DEEPEST = 12  # operators in each other


def binding_lines(unit: TranslationUnit, function: Function, kernel: Kernel) -> Iterator[str]:
    """Each template parameter with its argument in this instance, and why there may be other instances."""
    if not function.island.template:
        return
    found = find_instances(unit, file_constants(unit)).get(function.number)
    for binding in () if found is None else found.bindings:
        if kernel.instance == f"{function.name}<{binding.text}>":
            for name, argument in binding.arguments:
                yield f"{name} = {spell_argument(argument)}"
            lines = [site.place.removeprefix("line ") for site in kernel.launches]
            if lines:
                yield f"launched at line {', '.join(lines)}"
    if kernel.instance is None:
        yield "no instance is in sight: the parameters are symbols"
    if kernel.siblings:
        yield f"{plural(kernel.siblings, 'other instance')} in sight"
    if kernel.more_instances is not None:
        yield f"there may be others: {kernel.more_instances}"


def value_lines(kernel: Kernel, shape: BlockShape | None) -> Iterator[str]:
    """For each access: its index, or else the byte where it begins, in terms of what the kernel gets; how many threads
    agree on that; and what in it is not known."""
    values = propagate(kernel.body, memory=kernel.memory, warp_sizes=kernel.dialect.warp_sizes)
    fact = shape if shape is not None and shape.fact else None
    _, levels = prove_levels(
        kernel.body, values, buffers=kernel.buffers, shape=fact, upper=most_threads(kernel)
    )
    nodes = {node.point: node for node in walk(kernel.body) if isinstance(node, Access | Loop)}
    for node in nodes.values():
        if not isinstance(node, Access):
            continue
        buffer = kernel.buffers[node.buffer]
        index = values.address(node.point)
        offset = values.offset(node, buffer)
        head = f"{node.point} line {kernel.places.line(node.line)}: {buffer.name}"
        if index is not None and node.index is not None:
            terms: tuple[Term, ...] = index
            place = head + "".join(f"[{_text(kernel, term)}]" for term in terms)
        elif offset is not None:
            terms = (offset,)
            place = f"{head} from byte {_text(kernel, offset)}"
        else:
            yield f"{head}: some bytes, unknown which"
            continue
        origins = dict.fromkeys(o for term in terms for o in _origins(kernel, term, nodes))
        known = list(origins)[:_MOST_ORIGINS]
        more = "; …" if len(origins) > _MOST_ORIGINS else ""
        yield f"{place}: {_agreement(levels, terms)}{''.join(f'; {origin}' for origin in known)}{more}"


def _agreement(levels: Levels, terms: tuple[Term, ...]) -> str:
    level = max((levels.level(term) for term in terms), default=Level.CONST)
    if level <= Level.CONST:
        return "constant"
    return {Level.BLOCK: "the same for the block", Level.WARP: "the same for a warp"}.get(
        level, "may differ between threads"
    )


def _text(kernel: Kernel, term: Term) -> str:
    """A term in the spelling of C."""
    return term.fold(_Text(kernel))


@dataclass(slots=True)
class _Text:
    """Texts of terms. ``depth``: of the one that is spelled."""

    kernel: Kernel
    depth: int = 0

    def constant(self, term: Const) -> str:
        return str(term.n)

    def thread(self, term: Thread) -> str:
        return f"threadIdx.{term.axis}"

    def symbol(self, term: Sym) -> str:
        return term.name

    def loop_variable(self, term: LoopVar) -> str:
        return f"{self.kernel.variables[term.variable]}#{term.variable}"

    def opaque(self, term: OpaqueTerm) -> str:
        return f"?{term.serial}"

    def operation(self, term: Op) -> str:
        inside = _Text(self.kernel, self.depth + 1)
        parts = ["…" if inside.depth > _DEEPEST else each.fold(inside) for each in term.args]
        if term.operator in INFIX and len(parts) == 2:
            return f"({parts[0]} {term.operator} {parts[1]})"
        if term.operator == "?:":
            return f"({parts[0]} ? {parts[1]} : {parts[2]})"
        return f"{term.operator}({', '.join(parts)})"


def _origins(kernel: Kernel, term: Term, nodes: dict[int, Access | Loop]) -> Iterator[str]:
    """Where the parts come from that the text of a term does not tell."""
    stack: list[Term] = [term]
    seen: set[int] = set()
    while stack:
        part = stack.pop()
        if part.serial in seen:
            continue
        seen.add(part.serial)
        if isinstance(part, Op):
            stack.extend(reversed(part.args))
        elif isinstance(part, LoopVar):
            name = f"{kernel.variables[part.variable]}#{part.variable}"
            yield f"{name} is changed by the loop at {_line(kernel, nodes.get(part.loop))}"
        elif isinstance(part, OpaqueTerm):
            yield f"?{part.serial} is {_unfollowed(kernel, part, nodes)}"


def _unfollowed(kernel: Kernel, part: OpaqueTerm, nodes: dict[int, Access | Loop]) -> str:
    if part.access is not None:
        return f"read from shared memory at {_line(kernel, nodes.get(part.access))}"
    return {
        "load": "read from memory",
        "call": "the result of something that is not analysed",
        "written": "what the text says and is not analysed",
        "exit": "what a loop leaves",
        "unset": "never assigned",
    }.get(part.origin, "not followed")


def _line(kernel: Kernel, node: Node | None) -> str:
    return (
        "an unknown line" if not isinstance(node, Access | Loop) else f"line {kernel.places.line(node.line)}"
    )
