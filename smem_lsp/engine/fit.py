"""What fits: a kernel with other constants or template arguments, its bytes and its resident blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from smem_lsp.config import Config
from smem_lsp.engine.asserted import broken
from smem_lsp.engine.fit_dynamic import DynamicBytes, dynamic_bytes, not_passed, uses_dynamic
from smem_lsp.engine.fit_kernel import KernelPlace, TunedKernel, choose_kernel, no_kernel, plan
from smem_lsp.engine.knobs import FitError, Knob, find_knobs
from smem_lsp.facts.occupied import Occupied
from smem_lsp.ir.nodes import AddressSpace
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.ground import launch_place
from smem_lsp.rules.words import said
from smem_lsp.source import FileReader, TextEdit, apply_edits
from smem_lsp.source.record import dataclass
from smem_lsp.targets import target
from smem_lsp.targets.every import STATIC_LIMIT

MOST_COMBINATIONS = 10_000

FITS = ("declared", "merged", "barriers")
"""Verdicts with which ptxas takes the kernel as static shared memory and a block can be resident."""


NOT_COMPILED = "it does not compile"
"""How the problem of values begins that the text itself says are wrong."""


@dataclass(frozen=True, slots=True)
class TargetFit:
    """One combination on one target. Blocks/SM are None where the threads of a block are not known."""

    arch: str
    threads: int | None
    registers: int | None  # per thread
    registers_from: str
    dynamic_bytes: int
    blocks_declared: int | None
    blocks_merged: int | None
    blocks_with_barriers: int | None
    limited_by: tuple[str, ...]  # of the merged kernel, or of the declared one that does not fit
    # declared | merged | barriers: fits so; opt-in: as dynamic shared memory only; no; unknown
    verdict: str
    best: bool = False


@dataclass(frozen=True, slots=True)
class KnobValues:
    """``values``: in the order of the knobs. Bytes are None where a size is not known; ``problem`` says why."""

    values: tuple[int, ...]
    declared: int | None
    merged: int | None  # the best plan without an added barrier
    with_barriers: int | None  # the best of all plans
    barriers_added: int
    exact: bool
    assumes: tuple[str, ...]  # what the merged bytes rest on beside facts
    targets: tuple[TargetFit, ...]
    problem: str | None = None
    dynamic: tuple[int, int, int] | None = (
        None  # dynamic bytes, as static ones: declared, merged, with barriers
    )

    @property
    def fits(self) -> bool:
        """On some target in force."""
        return any(each.verdict in FITS for each in self.targets)


@dataclass(frozen=True, slots=True)
class FitResult:
    """``instance``: the one that the arguments that are not varied come from."""

    kernel: str
    line: int  # 1-based
    instance: str | None
    threads: (
        str | None
    )  # where the threads of a block are from: launch line 40, setting, launch_bounds, assume
    names: tuple[str, ...]
    combinations: tuple[KnobValues, ...]

    @property
    def fits(self) -> bool:
        return any(each.fits for each in self.combinations)


def fit(
    text: str,
    kernel: str,
    vary: Sequence[tuple[str, Sequence[int]]],
    *,
    path: str = "<memory>",
    config: Config | None = None,
    reader: FileReader | None = None,
) -> FitResult:
    """Bytes and resident blocks/SM of a kernel for every combination of ``vary``, in the order of their product.

    ``kernel``: a name, or an instance as it is spelled, ``k<32, float>``. Raises FitError for a name that is not known,
    for too many combinations and for a file without the kernel.
    """
    config = config or Config()
    names = tuple(name for name, _ in vary)
    count = math.prod(len(values) for _, values in vary)
    if count > MOST_COMBINATIONS:
        raise FitError(f"{count:,} combinations; {MOST_COMBINATIONS:,} at most")
    place = KernelPlace(path, reader)
    here = place.read(text, config, 0, 0)
    found = choose_kernel(here, kernel)
    if found is None:
        raise FitError(no_kernel(here, kernel))
    assert here is not None
    if not here.around.dialect.nvidia:
        raise FitError(f"{here.around.dialect.name} code: what fits is known for NVIDIA devices only")
    first = place.read(text, config, *found)
    assert first is not None  # it is the same text
    knobs = find_knobs(first.unit, first.around, first.function, config, names)
    as_it_is, arguments = plan(first, {}, config)
    said = frozenset(broken(first, as_it_is.kernel, arguments))
    rows: dict[tuple[int, ...], KnobValues] = {}
    facts: KernelFacts | None = None
    outside = [list(values) if not _bound(knob) else [None] for knob, (_, values) in zip(knobs, vary)]
    inside = [list(values) if _bound(knob) else [None] for knob, (_, values) in zip(knobs, vary)]
    for outer in product(*outside):
        changed, setting = _with_values(text, config, knobs, outer)
        reading = place.read(changed, setting, *found)
        for inner in product(*inside):
            values = tuple(a if b is None else b for a, b in zip(outer, inner))
            whole = tuple(value for value in values if value is not None)
            assert len(whole) == len(knobs)
            if reading is None:
                rows[whole] = _missing(whole, config, "the kernel is not there with these values")
                continue
            tried = _tried(reading, knobs, whole, setting, said)
            facts = tried.facts
            rows[whole] = (
                _combination(facts, whole, setting, tried.passed)
                if tried.problem is None
                else _missing(whole, config, tried.problem)
            )
    ordered = [rows[values] for values in product(*(dict.fromkeys(values) for _, values in vary))]
    return FitResult(
        kernel=first.function.name,
        line=first.unit.source.line_number(first.function.name_span.start),
        instance=None if first.base is None else f"{first.function.name}<{first.base.text}>",
        threads=None if facts is None else _threads_from(facts),
        names=names,
        combinations=tuple(_with_best(ordered, config.arch)),
    )


def _with_values(
    text: str, config: Config, knobs: Sequence[Knob], values: Sequence[int | None]
) -> tuple[str, Config]:
    """The text and the settings in which the knobs have these values; None: as it is."""
    edits: list[TextEdit] = []
    for knob, value in zip(knobs, values):
        if value is not None:
            config = knob.in_settings(config, value)
            edits += knob.edits(value)
    edits.sort(key=lambda edit: edit.span.start)
    return apply_edits(text, edits), config


@dataclass(frozen=True, slots=True)
class _Tried:
    """The kernel with the values of one combination. ``passed``: those of arguments of its launch; ``problem``: why it
    does not compile with them."""

    facts: KernelFacts
    passed: Mapping[str, int]
    problem: str | None


def _tried(
    reading: TunedKernel, knobs: Sequence[Knob], values: Sequence[int], config: Config, said: frozenset[str]
) -> _Tried:
    """``said``: what the text as it is says of itself that is wrong. There it is we who are."""
    given = {knob.name: value for knob, value in zip(knobs, values) if knob.parameter}
    passed = {knob.name: value for knob, value in zip(knobs, values) if knob.argument}
    facts, binding = plan(reading, given, config, passed)
    wrong = [each for each in broken(reading, facts.kernel, binding) if each not in said]
    useless = not_passed(facts, passed)
    if useless is not None:
        raise FitError(useless)
    return _Tried(facts, passed, f"{NOT_COMPILED}: {wrong[0]}" if wrong else None)


def only_kernel(
    text: str, *, path: str = "<memory>", config: Config | None = None, reader: FileReader | None = None
) -> str:
    """The name of the one kernel of a text. Raises FitError where there are none or several."""
    reading = KernelPlace(path, reader).read(text, config or Config(), 0, 0)
    names = [] if reading is None else [f.name for f in reading.unit.functions if f.is_kernel]
    if len(set(names)) == 1:
        return names[0]
    raise FitError(
        f"name one of its kernels: {', '.join(dict.fromkeys(names))}" if names else "no kernel in this file"
    )


def _bound(knob: Knob) -> bool:
    """Is it decided by arguments alone, of the template or of the launch?"""
    return knob.argument or (knob.parameter and not knob.spans)


# ---- one combination -------------------------------------------------------------------------------------------------


def _combination(
    facts: KernelFacts, values: tuple[int, ...], config: Config, passed: Mapping[str, int]
) -> KnobValues:
    declared = facts.static_bytes
    if declared is None:
        return _missing(values, config, _why_unknown(facts))
    free = [facts.total(each.plan.bytes) for each in facts.best if not each.plan.barriers]
    merged = min([declared, *free])
    smallest = min(
        facts.best, key=lambda each: (facts.total(each.plan.bytes), len(each.plan.barriers)), default=None
    )
    with_barriers, added = merged, 0
    if smallest is not None and facts.total(smallest.plan.bytes) < merged:
        with_barriers, added = facts.total(smallest.plan.bytes), len(smallest.plan.barriers)
    sizes = declared, merged, with_barriers
    dynamic = dynamic_bytes(facts, passed)
    rows = {row.arch: row for row in facts.occupied}
    return KnobValues(
        values,
        *sizes,
        added + (0 if dynamic is None else dynamic.barriers),
        facts.exact,
        _assumed(facts, merged < declared, added > 0),
        tuple(_on_target(facts, arch, rows.get(arch), sizes, dynamic) for arch in config.arch),
        dynamic=None if dynamic is None else dynamic.sizes,
    )


def _assumed(facts: KernelFacts, merged: bool, barriers: bool) -> tuple[str, ...]:
    """What the plans that are shown rest on."""
    shown = [each for each in facts.best if (barriers if each.plan.barriers else merged)]
    return tuple(dict.fromkeys(words for each in shown for words in facts.told(facts.assumptions(each))))


def _on_target(
    facts: KernelFacts,
    arch: str,
    row: Occupied | None,
    sizes: tuple[int, int, int],
    dynamic: DynamicBytes | None,
) -> TargetFit:
    """``sizes``: static bytes declared, merged, with barriers."""
    if row is None:
        verdict = _verdict(arch, sizes, None, 0)
        if facts.occupied and verdict in FITS:
            verdict = "no"  # a block of that many threads
        elif verdict in FITS and dynamic is None and uses_dynamic(facts):
            verdict = "unknown"
        return TargetFit(arch, None, None, "unknown", 0, None, None, None, (), verdict)
    less = [0, 0, 0] if dynamic is None else [dynamic.sizes[0] - size for size in dynamic.sizes]
    held = [replace(row, dynamic_bytes=row.dynamic_bytes - each) for each in less]
    blocks = [facts.blocks(each, size) for each, size in zip(held, sizes)]
    verdict = _verdict(arch, sizes, blocks, held[2].dynamic_bytes)
    _, limited = facts.resident(held[1], sizes[1])
    return TargetFit(
        arch,
        row.threads,
        row.registers,
        row.registers_from,
        row.dynamic_bytes,
        blocks[0],
        blocks[1],
        blocks[2],
        limited,
        verdict,
    )


def _verdict(arch: str, sizes: Sequence[int], blocks: Sequence[int] | None, dynamic: int) -> str:
    for index, word in enumerate(FITS):
        if sizes[index] <= STATIC_LIMIT and (blocks is None or blocks[index] > 0):
            return word
    return (
        "opt-in"
        if min(sizes) + dynamic <= target(arch).shared_per_block_opt_in
        and not (blocks is not None and max(blocks) == 0)
        else "no"
    )


def _missing(values: tuple[int, ...], config: Config, problem: str) -> KnobValues:
    nothing = (
        TargetFit(arch, None, None, "unknown", 0, None, None, None, (), "unknown") for arch in config.arch
    )
    return KnobValues(values, None, None, None, 0, False, (), tuple(nothing), problem)


def _why_unknown(facts: KernelFacts) -> str:
    unknown = [
        buffer.name
        for buffer in (*facts.kernel.buffers, *facts.kernel.helper_bytes)
        if buffer.space is AddressSpace.STATIC and (buffer.bytes is None or buffer.align is None)
    ]
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(unknown))
    return f"the size of {names} is not known" if names else "bytes not known"


def _threads_from(facts: KernelFacts) -> str | None:
    if facts.shape is not None:
        launched = facts.shape.source == "launch"
        if not launched:
            return facts.shape.source
        (words,) = facts.told((said("launch ", launch_place(facts.kernel, facts.shape.dims)),))
        return words
    return "launch_bounds" if facts.occupied else None


# ---- the best --------------------------------------------------------------------------------------------------------


def _with_best(rows: Sequence[KnobValues], targets: Iterable[str]) -> Iterator[KnobValues]:
    """On each target the combination that keeps the most bytes of buffers resident on a multiprocessor is marked:
    bytes as declared times blocks/SM after merging. Of equal ones the one with more blocks, then the first."""
    best = {index: _best(rows, index) for index, _ in enumerate(targets)}
    for number, row in enumerate(rows):
        marked = tuple(replace(each, best=best[index] == number) for index, each in enumerate(row.targets))
        yield replace(row, targets=marked)


def _best(rows: Sequence[KnobValues], index: int) -> int | None:
    def worth(number: int) -> tuple[int, int, int]:
        row, there = rows[number], rows[number].targets[index]
        blocks = there.blocks_with_barriers if there.verdict == "barriers" else there.blocks_merged
        declared = (row.declared or 0) + (row.dynamic[0] if row.dynamic else 0)
        return declared * (1 if blocks is None else blocks), blocks or 0, -number

    fitting = [
        number
        for number, row in enumerate(rows)
        if (row.declared or row.dynamic) and row.targets[index].verdict in FITS
    ]
    return max(fitting, key=worth, default=None)
