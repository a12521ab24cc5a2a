"""What a text asserts of its own constants: ``#error`` lines that are reached, ``static_assert``, arrays without
elements. A value that breaks one of them does not compile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.engine.fit_kernel import TunedKernel
from smem_lsp.engine.knobs import inactive
from smem_lsp.ir.nodes import Kernel
from smem_lsp.semantics.declarations import parse_tokens
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.function_scope import function_scope
from smem_lsp.source import checkpoint
from smem_lsp.unit.instances import InstanceArguments

_MOST_TOKENS = 500  # of a condition


def broken(reading: TunedKernel, kernel: Kernel, binding: InstanceArguments | None) -> Iterator[str]:
    """What does not hold, in words. What is not known holds."""
    source = reading.unit.source
    for directive in reading.unit.preprocessed.directives:
        if directive.name == "error" and not inactive(reading.unit, directive.span):
            yield f"#error at line {source.line_number(directive.span.start)}"
    yield from _assertions(reading, binding)
    for buffer in kernel.buffers:
        if 0 in buffer.dims:
            yield f"`{buffer.name}` would have no elements"


def _assertions(reading: TunedKernel, binding: InstanceArguments | None) -> Iterator[str]:
    """Those of the file and of the kernel; other functions have arguments of their own."""
    unit, function, top = reading.unit, reading.function, reading.around.constants
    tokens = unit.preprocessed.tokens
    kinds, texts, offsets, partner = tokens.kinds, tokens.texts, tokens.offsets, unit.partner
    inside = function_scope(top, function, None if binding is None else binding.names)
    others = [other.span for other in unit.functions if other.span != function.span]
    for at, kind in enumerate(kinds):
        checkpoint()
        if kind != "STATIC_ASSERT" or at + 1 >= len(texts) or texts[at + 1] != "(":
            continue
        place = offsets[at]
        if place < 0 or any(span.start <= place < span.end for span in others):
            continue
        lo, hi = at + 2, partner[at + 1]
        end = next((each for each in _commas(texts, partner, lo, hi)), hi)
        if not lo < end <= lo + _MOST_TOKENS:
            continue
        parsed = parse_tokens("expression", kinds[lo:end], texts[lo:end], unit.symbols)
        scope = inside if function.span.start <= place < function.span.end else top
        if parsed is not None and evaluate(parsed, scope) == 0:
            yield f"static_assert at line {unit.source.line_number(place)}"


def _commas(texts: list[str], partner: Sequence[int], lo: int, hi: int) -> Iterator[int]:
    """The commas between two tokens that stand in no brackets."""
    at = lo
    while at < hi:
        if texts[at] == ",":
            yield at
        at = partner[at] + 1 if texts[at] in ("(", "{", "[") and partner[at] > at else at + 1
