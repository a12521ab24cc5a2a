"""A line over each kernel with shared memory: its bytes, what they allow, and the way to its map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types

from smem_lsp.engine.measured import BEFORE_THIS_EDIT
from smem_lsp.facts.occupied import Occupied
from smem_lsp.facts.terms import passed_words
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
    least_bytes,
    shown_row,
)
from smem_lsp.server.analysis import Analysis
from smem_lsp.server.documents import Document
from smem_lsp.server.handshake import Features
from smem_lsp.server.positions import client_text
from smem_lsp.server.to_lsp import to_offset, to_range
from smem_lsp.source import Span, listed, plural
from smem_lsp.source.record import dataclass

OPEN_MAP = "smem.openMap"
"""The client's command; its one argument is ``{uri, position}``, as ``smem/layout`` takes them."""


CHOOSE_CONTEXT = "smem.chooseContext"
"""The client's command; its one argument is ``{uri, contexts: [{path, macros}], chosen}``. The choice is the setting
``smem.contexts``."""

CHOOSE_INSTANCE = "smem.chooseInstance"
"""The client's command; its one argument is ``{uri, position, instances: [{name, title}]}``. It opens the map of
one."""

_LONGEST = 90  # characters of a lens
_RACE_FREE = " · race-free ✓"
_WORTH_SAYING = 128  # bytes: what saves less and gives no block is not shown


def lenses(analysis: Analysis, features: Features) -> Iterator[types.CodeLens]:
    """One over each kernel, where its declaration begins; beside it what there is to choose: instances, contexts."""
    if analysis.report is None:
        return
    uri = analysis.snapshot.uri
    source = analysis.report.source
    seen = client_text(source, features.encoding)
    for found in kernels_of(analysis.report.facts):
        kernel = found[0].kernel
        first = kernel.span.start
        where = to_range(seen, Span(first, max(first, source.line_end(first))))
        name = to_range(seen, kernel.name_span).start
        place: dict[str, object] = {
            "uri": uri,
            "position": {"line": name.line, "character": name.character},
        }
        yield types.CodeLens(where, types.Command(lens_title(found), OPEN_MAP, arguments=[place]))
        instances = {each.kernel.instance: each for each in found if each.kernel.instance is not None}
        if len(instances) > 1:
            titles = [{"name": each, "title": lens_title([facts])} for each, facts in instances.items()]
            choices: dict[str, object] = {**place, "instances": titles}
            title = f"{len(instances)} instances ▾"
            yield types.CodeLens(where, types.Command(title, CHOOSE_INSTANCE, arguments=[choices]))
        if kernel.contexts:
            choice: dict[str, object] = {
                "uri": uri,
                "contexts": _choices(found),
                "chosen": analysis.snapshot.within.chosen,
            }
            title = context_title(kernel)
            yield types.CodeLens(where, types.Command(title, CHOOSE_CONTEXT, arguments=[choice]))


@dataclass(frozen=True, slots=True)
class KeptLenses:
    """Lenses of one edition of a document, each with the offset of its line."""

    edition: int
    lenses: tuple[tuple[int, types.CodeLens], ...]

    def moved(self, document: Document, features: Features) -> list[types.CodeLens]:
        """Where their lines are now."""
        seen = document.seen(features.encoding)
        found: list[types.CodeLens] = []
        for offset, lens in self.lenses:
            at = document.forward(self.edition, offset)
            if at is not None:
                found.append(types.CodeLens(to_range(seen, Span(at, at)), lens.command))
        return found


def kept_lenses(analysis: Analysis, found: Sequence[types.CodeLens], features: Features) -> KeptLenses:
    """Lenses of an analysed text, to be shown again while its next one is half typed."""
    assert analysis.report is not None
    seen = client_text(analysis.report.source, features.encoding)
    placed = ((to_offset(seen, lens.range.start), lens) for lens in found)
    return KeptLenses(analysis.snapshot.edition, tuple(placed))


def kernels_of(every: Sequence[KernelFacts]) -> list[list[KernelFacts]]:
    """The kernels with shared memory, each with all of its instances and readings."""
    found: dict[Span, list[KernelFacts]] = {}
    for facts in every:
        if facts.kernel.buffers or facts.kernel.helper_bytes:
            found.setdefault(facts.kernel.name_span, []).append(facts)
    return list(found.values())


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


def _choices(readings: Sequence[KernelFacts]) -> list[dict[str, object]]:
    """The contexts of all readings of a kernel, each once."""
    found: dict[str, dict[str, object]] = {}
    for facts in readings:
        for context in facts.kernel.contexts:
            found.setdefault(context.main, {"path": context.main, "macros": list(context.macros)})
    return list(found.values())


def lens_title(instances: Sequence[KernelFacts]) -> str:
    """What the largest of its instances costs, and `` · race-free ✓`` where that is proved of all; see ``_cost``."""
    end = _RACE_FREE if all(map(surely_race_free, instances)) else ""
    largest = max(instances, key=lambda facts: facts.static_bytes or 0)
    return _fitting(_cost(largest), end)


def _cost(facts: KernelFacts) -> list[str]:
    """``12.0 → 8.0 KiB · 5 → 7 blocks/SM (256 threads, 40 registers)``, or ``8.0 KiB · 6 blocks/SM, limited by
    registers`` where nothing can be gained. Where shared memory alone limits the blocks, how many fewer bytes give one
    more. What is not known makes it a bound: ``≤ 8 blocks/SM (256 threads, registers not known)``, ``≤ 8 blocks/SM by
    shared memory alone, block not known``. The target is named only where several are in force."""
    before, after = facts.static_bytes, best_bytes(facts)
    if before is None or after is None:
        return _of_least(facts)
    row = shown_row(facts, before, after)
    if before - after < _WORTH_SAYING and (
        row is None or facts.blocks(row, before) == facts.blocks(row, after)
    ):
        after = before
    title = _bytes(facts, row, before, after)
    if row is None:
        bound = _bound(facts)
        return [title, *bound] if bound or "shared" in title else [f"{title} shared"]
    now, limits = facts.resident(row, before)
    then = facts.blocks(row, after)
    earlier = " before this edit" if row.registers_from == BEFORE_THIS_EDIT else ""
    limited = f"limited by {listed(limits)}{earlier}" if limits else ""
    held = f"{title} · {blocks(row, now, then)}"
    on = f"{row.arch}, " if len(facts.occupied) > 1 else ""
    if row.registers is None:
        return [held, f" ({on}{row.threads} threads, registers not known)", f" · {limited}"]
    if now != then:
        counted = f"{row.threads} threads, {plural(row.registers, 'register')}{earlier}"
        return [f"{held} ({on}{counted})", f" · {limited}" if limited else ""]
    less = facts.next_steps(row, before)[0] if limits == ("shared",) else None
    if less is not None:
        limited += f": −{less:,} B → {facts.blocks(row, before - less)}"
    return [f"{held} ({row.arch})" if on else held, f", {limited}" if limited else ""]


def _bytes(facts: KernelFacts, row: Occupied | None, before: int, after: int) -> str:
    """``12.0 → 8.0 KiB``, ``8.0 KiB + 4.0 KiB dynamic``, ``8·n → 4·n B dynamic``, ``dynamic shared memory, size
    unknown``."""
    own = amount(before, after)
    if row is not None and row.dynamic_bytes:
        dynamic = f"{kib(row.dynamic_bytes)} KiB dynamic"
        return f"{own} + {dynamic}" if before else dynamic
    if row is None and any(buffer.space is AddressSpace.DYNAMIC for buffer in facts.kernel.buffers):
        terms = _in_terms(facts)
        if terms:
            return f"{own} + {terms}" if before else terms
        return f"{own} + dynamic, size unknown" if before else "dynamic shared memory, size unknown"
    return own


def _in_terms(facts: KernelFacts) -> str:
    """``8·n → 4·n B dynamic``: what launches pass, and what would do without an added barrier; empty: not known, or too
    long for a lens."""
    free = next((each for each in facts.term_plans if not each.candidate.plan.barriers), None)
    proved = free is not None and free.doubt is None and not free.open_end
    words = free.words if free is not None and proved else passed_words(facts.kernel)
    return f"{words} dynamic" if 0 < len(words) <= _LONGEST // 2 else ""


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
    if len(title + end) <= _LONGEST:
        return title + end
    return title if len(title) <= _LONGEST else f"{title[: _LONGEST - 1]}…"
