"""What fits, asked at a constant of the text: the kernel it matters to, other values worth a look, what they cost."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.config import Config
from smem_lsp.engine.fit import KnobValues, TargetFit, fit
from smem_lsp.engine.knobs import FitError, find_knobs
from smem_lsp.engine.report import FileReport
from smem_lsp.ir.nodes import Kernel
from smem_lsp.source import FileReader, Span
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.unit.unit_facts import survey_file

MOST_VALUES = 6
_SMALL = 16  # stages, elements per thread: the neighbours of these are tried too
_NAME = regex(r"[A-Za-z_]\w*")
NUMBER = regex(r"\d{1,9}")


@dataclass(frozen=True, slots=True)
class Constant:
    """A macro, a constant or a template parameter with a number for its value, which stands at ``spans``.
    ``kernel``: as it is spelled."""

    kernel: str
    name: str
    value: int
    spans: tuple[Span, ...]

    @property
    def others(self) -> tuple[int, ...]:
        """Values to try, rising: half and twice as much, and next to small ones their neighbours."""
        value = self.value
        tried = {value // 2, 2 * value}
        if value & (value - 1) == 0 and value >= 4:
            tried.add(4 * value)
        if value <= _SMALL:
            tried |= {value - 1, value + 1, value + 2}
        return tuple(sorted(each for each in tried if each > 0 and each != value))[:MOST_VALUES]


def constant_at(report: FileReport, offset: int, config: Config) -> Constant | None:
    """The constant whose name stands at ``offset``, where it decides about a kernel with shared memory."""
    text = report.source.text
    start = offset
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    word = _NAME.match(text, start)
    if word is None or report.unit is None:
        return None
    kernel = _kernel_of(report, offset, word[0])
    if kernel is None or not kernel.dialect.nvidia:
        return None
    unit = report.unit
    function = next((f for f in unit.functions if f.is_kernel and f.name_span == kernel.name_span), None)
    if function is None:
        return None
    try:
        (knob,) = find_knobs(unit, survey_file(unit), function, config, (word[0],))
    except FitError:
        return None
    if len(knob.spans) != 1 or knob.parameter or not NUMBER.fullmatch(report.source.slice(knob.spans[0])):
        return None
    number = int(report.source.slice(knob.spans[0]))
    return Constant(kernel.instance or kernel.name, word[0], number, knob.spans)


def _kernel_of(report: FileReport, offset: int, name: str) -> Kernel | None:
    """The kernel around the cursor, or launched there, else the first that names the constant, else the only one."""
    kernels = [facts.kernel for facts in report.facts if facts.kernel.buffers]
    around = (kernel for kernel in kernels if offset in kernel.span)
    launched = (kernel for kernel in kernels if any(offset in site.span for site in kernel.launches))
    naming = (kernel for kernel in kernels if name in kernel.identifiers)
    only = kernels[0] if len({kernel.name_span for kernel in kernels}) == 1 else None
    return next(around, None) or next(launched, None) or next(naming, None) or only


def what_if(
    constant: Constant, value: int, text: str, *, path: str, config: Config, reader: FileReader | None
) -> KnobValues | None:
    """The kernel with another value of the constant; None where there is no answer."""
    try:
        found = fit(
            text,
            constant.kernel,
            [(constant.name, (value,))],
            path=path,
            config=config,
            reader=reader,
        )
    except FitError:
        return None
    return found.combinations[0]


def words(now: KnobValues, then: KnobValues) -> str | None:
    """``32,768 B shared, 24,576 merged, 4 → 3 blocks/SM (sm_90)``; None where nothing changes or nothing fits."""
    if then.declared is None or now.declared is None or not then.fits or then.declared == now.declared:
        return None
    merged = f", {then.merged:,} merged" if then.merged is not None and then.merged < then.declared else ""
    pairs = list(zip(now.targets, then.targets))
    changed = (pair for pair in pairs if pair[0].blocks_merged != pair[1].blocks_merged)
    return f"{then.declared:,} B shared{merged}{_blocks(next(changed, pairs[0]))}"


def brief_words(now: KnobValues, then: KnobValues) -> str:
    """The same without the layouts: ``32,768 B, 4 → 3 blocks``."""
    pairs = list(zip(now.targets, then.targets))
    changed = (pair for pair in pairs if pair[0].blocks_merged != pair[1].blocks_merged)
    return f"{then.declared or 0:,} B{_blocks(next(changed, pairs[0]), brief=True)}"


def _blocks(pair: Sequence[TargetFit], *, brief: bool = False) -> str:
    now, then = pair
    if then.blocks_merged is None or now.blocks_merged is None:
        return ""
    most = "≤ " if then.registers is None else ""
    where = "" if brief else f"/SM ({then.arch})"
    before = "same" if now.blocks_merged == then.blocks_merged else f"{now.blocks_merged} →"
    return f", {before} {most}{then.blocks_merged} blocks{where}"
