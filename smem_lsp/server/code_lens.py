"""A line over each kernel with shared memory: its bytes, what they allow, and the way to its map."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from smem_lsp.ir.nodes import AddressSpace, Kernel
from smem_lsp.rules.buffers import unsized
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.kernel_verdict import surely_race_free
from smem_lsp.server.amounts import (
    amount,
    best_bytes,
    blocks,
    bound_words,
    kib,
    launch,
    least_bytes,
    shown_row,
)
from smem_lsp.server.analysis import Analysis
from smem_lsp.server.handshake import Features
from smem_lsp.server.positions import client_text
from smem_lsp.server.to_lsp import to_range
from smem_lsp.source import Span, listed, plural

OPEN_MAP = "smem.openMap"
"""The client's command; its one argument is ``{uri, position}``, as ``smem/layout`` takes them."""


CHOOSE_CONTEXT = "smem.chooseContext"
"""The client's command; its one argument is ``{uri, contexts: [{path, macros}], chosen}``. The choice is the setting
``smem.contexts``."""

_LONGEST = 90  # characters of a lens
_RACE_FREE = " · race-free ✓"


def lenses(analysis: Analysis, features: Features) -> Iterator[types.CodeLens]:
    if analysis.report is None:
        return
    seen = client_text(analysis.report.source, features.encoding)
    for facts in analysis.report.facts:
        kernel = facts.kernel
        if not kernel.buffers and not kernel.helper_bytes:
            continue
        where = to_range(seen, kernel.name_span)
        position = {"line": where.start.line, "character": where.start.character}
        argument: dict[str, object] = {"uri": analysis.snapshot.uri, "position": position}
        yield types.CodeLens(where, types.Command(lens_title(facts), OPEN_MAP, arguments=[argument]))
        if kernel.contexts:
            choice: dict[str, object] = {
                "uri": analysis.snapshot.uri,
                "contexts": _choices(analysis, kernel.name_span),
                "chosen": analysis.snapshot.within.chosen,
            }
            title = context_title(kernel)
            yield types.CodeLens(where, types.Command(title, CHOOSE_CONTEXT, arguments=[choice]))


def context_title(kernel: Kernel) -> str:
    """``BM=128, BN=128 · runner.cu:203 ▾``: what a header gets from the file through which it is read."""
    context = kernel.contexts[0]
    site = next((site for site in kernel.launches if site.path is not None), None)
    place = context.main if site is None or site.path is None else f"{site.path}:{site.line}"
    name = place.replace("\\", "/").rpartition("/")[2]
    macros = list(context.macros)
    while macros and len(", ".join(macros)) + len(name) + 5 > _LONGEST:
        macros.pop()
    return " · ".join(filter(None, (", ".join(macros), name))) + " ▾"


def _choices(analysis: Analysis, name: Span) -> list[dict[str, object]]:
    """The contexts of all readings of a kernel, each once."""
    assert analysis.report is not None
    found: dict[str, dict[str, object]] = {}
    for facts in analysis.report.facts:
        if facts.kernel.name_span == name:
            for context in facts.kernel.contexts:
                found.setdefault(context.main, {"path": context.main, "macros": list(context.macros)})
    return list(found.values())


def lens_title(facts: KernelFacts) -> str:
    """What it costs, and `` · race-free ✓`` where that is proved; see ``_cost``."""
    end = _RACE_FREE if surely_race_free(facts) else ""
    return _fitting(_cost(facts, _LONGEST - len(end)), end)


def _cost(facts: KernelFacts, room: int) -> list[str]:
    """``12.0 → 8.0 KiB shared · 5 → 7 blocks/SM (sm_90, 256 threads, 40 registers nvcc) · limited by shared``, or
    ``8.0 KiB shared · 6 blocks/SM (sm_90), limited by registers`` where nothing can be gained. Where shared memory
    alone limits the blocks, how many fewer bytes give one more. What is not known makes it a bound: ``≤ 8 blocks/SM
    (256 threads, registers not known)``, ``≤ 8 blocks/SM by shared memory alone, block not known``, ``≤ 4 blocks/SM
    with 512 threads, dynamic bytes not known``. ``room``: characters."""
    before, after = facts.static_bytes, best_bytes(facts)
    if before is None or after is None:
        return _of_least(facts)
    row = shown_row(facts, before, after)
    dynamic = row.dynamic_bytes if row is not None else 0
    title = f"{amount(before, after)} shared" if before or not dynamic else "shared"
    if dynamic:
        title += f" + {kib(dynamic)} KiB dynamic" if before else f": {kib(dynamic)} KiB dynamic"
    elif row is None and any(buffer.space is AddressSpace.DYNAMIC for buffer in facts.kernel.buffers):
        title += " + dynamic"
    if row is None:
        return [title, *_bound(facts)]
    now, limits = facts.resident(row, before)
    then = facts.blocks(row, after)
    limited = f"limited by {listed(limits)}" if limits else ""
    held = f" · {blocks(row, now, then)}"
    if row.registers is None:
        title += held
        return [title, f" ({row.threads} threads, registers not known)", f" · {limited}"]
    if now != then:
        title += held
        counted = f" ({launch(row)})"
        if len(title) + len(counted) > room:
            counted = f" ({row.threads} threads, {row.registers} registers)"
        return [title, counted, f" · {limited}" if limited else ""]
    less = facts.next_steps(row, before)[0] if limits == ("shared",) else None
    if less is not None:
        limited += f": −{less:,} B → {facts.blocks(row, before - less)}"
    return [f"{title}{held} ({row.arch})", f", {limited}" if limited else ""]


def _of_least(facts: KernelFacts) -> list[str]:
    """Where sizes are not known: ``shared memory: at least 512 B, plus tmp of T · ≤ 18 blocks/SM``."""
    least, lacking = least_bytes(facts), unsized(facts.kernel)
    title = f"shared memory: {f'at least {least:,} B' if least else 'bytes not known'}"
    plus = f", plus {listed(lacking)}".replace("`", "") if least and lacking else ""
    bound = _bound(facts)
    if len(title) + len(plus) + len("".join(bound[:1])) > _LONGEST:
        plus = f", plus {plural(len(lacking), 'more array')}"
    return [title + plus, *bound]


def _bound(facts: KernelFacts) -> tuple[str, ...]:
    """What that which is known allows, where launches differ in their blocks or something is not known."""
    words = bound_words(facts)
    if words is None:
        return ()
    unknown = f", {listed(words.unknown)} not known" if words.unknown else ""
    return f" · {words.held}", f" {words.by}", unknown


def _fitting(parts: list[str], end: str) -> str:
    """As many of the parts, from the front, as a lens has room for, and ``end``."""
    title = parts[0]
    for part in parts[1:]:
        if len(title) + len(part) + len(end) > _LONGEST:
            break
        title += part
    return title + end if len(title + end) <= _LONGEST else title
