"""What a compiler says of the kernels of a text, in the place of what is worked out here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Protocol

from smem_lsp.facts.layouts import LayoutCandidate
from smem_lsp.facts.occupied import Occupied
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AddressSpace, Buffer, Kernel
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.unit.instances import InstanceArguments


class Measurement(Protocol):
    """One kernel, or one instance, on one target, as ptxas reports it."""

    @property
    def name(self) -> str:
        """``ns::k``; without namespaces where ``scoped`` is False."""

    @property
    def arguments(self) -> tuple[str, ...] | None:
        """Of the template, as C++ spells them; empty: no template; None: not understood."""

    @property
    def scoped(self) -> bool: ...

    @property
    def arch(self) -> str: ...

    @property
    def registers(self) -> int:
        """Per thread."""

    @property
    def spill_bytes(self) -> int: ...

    @property
    def shared_bytes(self) -> int:
        """Static."""

    @property
    def barriers(self) -> int: ...

    @property
    def sizes(self) -> Sequence[tuple[str, int, int]]:
        """Name, bytes and alignment of the shared variables that the kernel itself declares."""


@dataclass(frozen=True)
class Measured:
    """``kernels``: of the very text that is checked; empty when it was not compiled. ``under``: the compiler and its
    flags, as one value. What was measured under the same one before holds for kernels that have not changed since.
    ``rewritten``: what was measured of another text in the place of this one; nothing where it was not compiled.
    ``followed``: the text is one state of a document that is edited, so what was measured of a kernel before it was
    edited is shown until new numbers come."""

    kernels: Sequence[Measurement] = ()
    under: Hashable = None
    rewritten: Callable[[str], Sequence[Measurement]] = field(default=lambda text: (), compare=False)
    followed: bool = False

    @cached_property
    def _by_name(self) -> dict[str, list[Measurement]]:
        found: dict[str, list[Measurement]] = {}
        for each in self.kernels:
            found.setdefault(each.name, []).append(each)
        return found

    def of(
        self, unit: TranslationUnit, function: Function, binding: InstanceArguments | None
    ) -> tuple[Measurement, ...]:
        """What was measured of a kernel or of one instance, one item per target at most. Nothing where it is not clear
        which kernel is meant: overloads, arguments that are not spelled alike."""
        if not self.kernels:
            return ()
        path = _path(function)
        if sum(other.is_kernel and _path(other) == path for other in unit.functions) > 1:
            return ()
        spelled = "" if binding is None else binding.text
        if "?" in spelled or (binding is None and function.island.template):
            return ()
        scoped = self._by_name.get(path, ())
        unscoped = [each for each in self._by_name.get(function.name, ()) if not each.scoped]
        alike = [
            each
            for each in dict.fromkeys((*scoped, *unscoped))
            if each.arguments is not None and ", ".join(each.arguments) == spelled
        ]
        count = Counter(each.arch for each in alike)
        return tuple(each for each in alike if count[each.arch] == 1)


NOT_MEASURED = Measured()


def _path(function: Function) -> str:
    """``ns::k``, anonymous namespaces left out."""
    around = (part for part in function.island.enclosing if part and part != "extern")
    return "::".join((*around, function.name))


def sized(kernel: Kernel, measured: Sequence[Measurement]) -> Kernel | None:
    """``kernel`` with the sizes that only a compiler knows: those of types of a library whose headers are not read, and
    any that are not certain and that it finds to be others. None: nothing is to be changed, or it is not the same on
    all targets."""
    names = Counter(buffer.name for buffer in kernel.buffers)
    found: dict[int, tuple[int, int]] = {}
    for buffer in kernel.buffers:
        checkpoint()
        known = buffer.bytes is not None and buffer.align is not None
        if buffer.space is not AddressSpace.STATIC or (known and kernel.unexact is None):
            continue
        sizes = {
            (size, align) for each in measured for name, size, align in each.sizes if name == buffer.name
        }
        if names[buffer.name] == 1 and buffer.function == kernel.name and len(sizes) == 1:
            size, align = sizes.pop()
            if not known or size != buffer.bytes:
                found[buffer.index] = size, align
    if not found:
        return None
    buffers = (_sized(b, *found[b.index]) if b.index in found else b for b in kernel.buffers)
    return replace(kernel, buffers=tuple(buffers))


def _sized(buffer: Buffer, size: int, align: int) -> Buffer:
    count = 1
    for dim in buffer.dims:
        count *= dim or 0
    element = size // count if count and size % count == 0 else None
    return replace(buffer, bytes=size, align=align, element_bytes=element)


@dataclass(frozen=True)
class MeasuredFacts(KernelFacts):
    """A kernel whose registers, and bytes, a compiler has reported. Its bytes win over those worked out here."""

    measured: tuple[Measurement, ...] = ()
    contradicted: bool = False  # the bytes worked out here were certain, and are others

    @cached_property
    def occupied(self) -> tuple[Occupied, ...]:
        rows = ((row, self.on(row.arch)) for row in self.analysis.occupied)
        return tuple(row if there is None else _as_measured(row, there) for row, there in rows)

    @property
    def best(self) -> tuple[LayoutCandidate, ...]:
        return () if self.contradicted and self.instead is None else super().best

    @property
    def measured_bytes(self) -> int | None:
        """Static bytes by ptxas; None when the targets differ."""
        found = {each.shared_bytes for each in self.measured}
        return found.pop() if len(found) == 1 else None

    @property
    def predicted_bytes(self) -> int | None:
        """Static bytes as worked out here; None when a size is not known."""
        if self.declared is None or any(b.bytes is None or b.align is None for b in self.kernel.helper_bytes):
            return None
        return super().total(self.declared.bytes)

    @property
    def static_bytes(self) -> int | None:
        return self.predicted_bytes if self.measured_bytes is None else self.measured_bytes

    @property
    def exact(self) -> bool:
        return self.measured_bytes is not None or super().exact

    def on(self, arch: str) -> Measurement | None:
        """What was measured on one target."""
        return next((each for each in self.measured if each.arch == arch), None)

    def total(self, own: int) -> int:
        """As ptxas would report it: what it adds to the bytes worked out here stays the same in every layout."""
        theirs = self.measured_bytes
        if theirs is None or self.declared is None:
            return super().total(own)
        return super().total(own) + theirs - super().total(self.declared.bytes)


BEFORE_THIS_EDIT = "nvcc_before_this_edit"
"""Who says so, of registers that were measured of an earlier text of the kernel."""


@dataclass(frozen=True)
class EarlierFacts(KernelFacts):
    """A kernel that has been edited since a compiler reported its registers: they are the best guess until it reports
    new ones. Its bytes and spills are not carried over: those are facts of a text."""

    measured: tuple[Measurement, ...] = ()

    @cached_property
    def occupied(self) -> tuple[Occupied, ...]:
        earlier = {each.arch: each.registers for each in self.measured}
        return tuple(
            replace(row, registers=earlier[row.arch], registers_from=BEFORE_THIS_EDIT)
            if row.arch in earlier and row.registers is None
            else row
            for row in self.analysis.occupied
        )


def as_before(facts: KernelFacts, measured: Iterable[Measurement]) -> KernelFacts:
    """``facts`` with the registers that were measured before the kernel was edited."""
    return EarlierFacts(facts.index, facts.source, facts.kernel, facts.analysis, measured=tuple(measured))


def kernel_key(function: Function, binding: InstanceArguments | None) -> tuple[object, ...]:
    """Names a kernel, or one instance, in its file whatever its text is."""
    return _path(function), "" if binding is None else binding.text


def _as_measured(row: Occupied, there: Measurement) -> Occupied:
    return replace(
        row,
        registers=there.registers,
        registers_from="nvcc",
        barriers=max(1, there.barriers),
        spill_bytes=there.spill_bytes,
    )


def lost(facts: KernelFacts, after: Sequence[Measurement]) -> str | None:
    """What a rewrite of the kernel costs on some target, in words. ``after``: what was measured of the rewritten text.
    None: nothing, or it was not compiled."""
    if not isinstance(facts, MeasuredFacts) or facts.static_bytes is None:
        return None
    for row in facts.occupied:
        checkpoint()
        before = facts.on(row.arch)
        alike = [each for each in after if before is not None and _same_kernel(each, before)]
        if before is None or len(alike) != 1:
            continue
        now = alike[0]
        blocks = facts.blocks(row, facts.static_bytes), facts.blocks(_as_measured(row, now), now.shared_bytes)
        if blocks[1] < blocks[0]:
            more = now.registers - before.registers
            words = f"it costs {more} register{'' if more == 1 else 's'}: " if more > 0 else ""
            return f"{words}{blocks[0]} → {blocks[1]} blocks/SM on {row.arch}"
        if now.spill_bytes > before.spill_bytes:
            return f"it spills {now.spill_bytes - before.spill_bytes:,} B of registers more on {row.arch}"
    return None


def broken_promise(facts: KernelFacts, after: Sequence[Measurement], promised: int | None) -> str | None:
    """In words, when ptxas reports other static bytes for a rewrite than were promised."""
    if promised is None or not isinstance(facts, MeasuredFacts):
        return None
    for before in facts.measured:
        checkpoint()
        now = next((each for each in after if _same_kernel(each, before)), None)
        if now is not None and now.shared_bytes != promised:
            return f"{promised:,} B were promised, ptxas reports {now.shared_bytes:,} B on {before.arch}"
    return None


def is_covered(facts: KernelFacts, after: Sequence[Measurement]) -> bool:
    """Was the kernel compiled for every target in force that the compiler knows, before and after a rewrite?"""
    if not isinstance(facts, MeasuredFacts) or not facts.measured:
        return False
    return all(any(_same_kernel(each, before) for each in after) for before in facts.measured)


def _same_kernel(one: Measurement, other: Measurement) -> bool:
    return (one.name, one.arguments, one.arch) == (other.name, other.arguments, other.arch)


def measure(facts: KernelFacts, measured: Iterable[Measurement]) -> KernelFacts:
    """``facts`` with what was measured of the kernel. Where bytes that were certain differ from ptxas's, one of our
    proofs is wrong: nothing is offered then, and the kernel is not exact. Of code for other devices it says nothing."""
    if not facts.kernel.dialect.nvidia:
        return facts
    found = MeasuredFacts(facts.index, facts.source, facts.kernel, facts.analysis, measured=tuple(measured))
    theirs = found.measured_bytes
    if theirs is None or not facts.exact or theirs == facts.static_bytes:
        return found
    why = Cause(CauseKind.MEASURED, names=(f"{theirs:,}", f"{facts.static_bytes:,}"))
    kernel = replace(found.kernel, limits=(*found.kernel.limits, why))
    return replace(found, contradicted=True, kernel=kernel)
