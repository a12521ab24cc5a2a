"""What a compiler says of the kernels of a text, in the place of what is worked out here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Protocol

from smem_lsp.ir.bindings import Binding
from smem_lsp.rules.subject import KernelFacts, Occupied
from smem_lsp.syntax.parse import Function, TranslationUnit


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


@dataclass(frozen=True)
class Measured:
    """``kernels``: of the very text that is checked; empty when it was not compiled. ``under``: the compiler and its
    flags, as one value. What was measured under the same one before holds for kernels that have not changed since."""

    kernels: Sequence[Measurement] = ()
    under: object = None

    @cached_property
    def _by_name(self) -> dict[str, list[Measurement]]:
        found: dict[str, list[Measurement]] = {}
        for each in self.kernels:
            found.setdefault(each.name, []).append(each)
        return found

    def of(
        self, unit: TranslationUnit, function: Function, binding: Binding | None
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


@dataclass(frozen=True)
class MeasuredFacts(KernelFacts):
    """A kernel whose registers, and bytes, a compiler has reported. Its bytes win over those worked out here."""

    measured: tuple[Measurement, ...] = ()

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


def measure(facts: KernelFacts, measured: Iterable[Measurement]) -> KernelFacts:
    """``facts`` with what was measured of the kernel. Where bytes that were certain differ from ptxas's, one of our
    proofs is wrong: nothing is offered then, and the kernel is not exact."""
    found = MeasuredFacts(
        **{field.name: getattr(facts, field.name) for field in fields(KernelFacts)},
        measured=tuple(measured),
    )
    rows: list[Occupied] = []
    for row in facts.occupied:
        there = found.on(row.arch)
        if there is not None:
            barriers = max(1, there.barriers)
            row = replace(row, registers=there.registers, registers_from="nvcc", barriers=barriers)
        rows.append(row)
    found = replace(found, occupied=tuple(rows))
    theirs = found.measured_bytes
    if theirs is None or not facts.exact or theirs == facts.static_bytes:
        return found
    reason = f"ptxas reports {theirs:,} B of static shared memory, {facts.static_bytes:,} B were expected"
    return replace(found, best=(), kernel=replace(found.kernel, unexact=reason))
