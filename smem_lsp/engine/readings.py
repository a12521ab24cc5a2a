"""The kernels of a file as its units read them: what the units agree on is one reading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property

from smem_lsp.ir.nodes import Context, LaunchSite
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.unit.instances import Binding
from smem_lsp.unit.unit_facts import KernelKey, UnitFacts, kernels_of

MOST_READINGS = 8  # of one kernel
_SHORT = 3  # tokens of a macro's value


@dataclass(frozen=True)
class Reading:
    """A kernel, or one instance of it, in the first of the units that read it alike. ``others``: how many more readings
    it has; ``differs``: another one has the same template arguments, or none either."""

    around: UnitFacts
    function: Function
    binding: Binding | None
    key: KernelKey
    alike: tuple[Reading, ...] = field(default=(), repr=False)  # in the other units
    others: int = 0
    differs: bool = False

    @cached_property
    def launches(self) -> tuple[LaunchSite, ...]:
        """In all units that read it so."""
        own = self.around.launches_of(self.function, self.binding)
        return tuple(dict.fromkeys((*own, *(site for other in self.alike for site in other.launches))))

    @cached_property
    def contexts(self) -> tuple[Context, ...]:
        """These units; none where the file stands alone."""
        units = [self.around.unit, *(other.around.unit for other in self.alike)]
        found = (
            Context(unit.main, _macros(unit, self.function))
            for unit in units
            if unit.main != unit.source.path
        )
        return tuple(dict.fromkeys(found))

    def joined(self, other: Reading) -> Reading:
        key = replace(self.key, launched=self.key.launched.joined(other.key.launched))
        return replace(self, key=key, alike=(*self.alike, other))


def _macros(unit: TranslationUnit, function: Function) -> tuple[str, ...]:
    """Macros with short values that the text of a kernel names and that other files define."""
    regions = unit.preprocessed.preprocessed_regions
    own = {name for _, region in regions for name, _ in region.changes}
    here = (region for start, region in regions if start <= function.start < start + len(region))
    return tuple(
        f"{name}={''.join(macro.texts)}"
        for region in here
        for name, macro in sorted(region.uses.items())
        if name not in own and macro.parameters is None and not (macro.weak or name.startswith("_"))
        if 0 < len(macro.texts) <= _SHORT
    )


def readings_of(units: Sequence[UnitFacts]) -> list[tuple[Reading, ...]]:
    """The kernels of a file in order, each with its readings, which differ."""
    found: dict[int, dict[object, Reading]] = {}  # by where the kernel begins
    for around in units:
        for function, instances in kernels_of(around):
            checkpoint()
            here = found.setdefault(function.start, {})
            for binding, key in instances:
                reading = Reading(around, function, binding, key)
                same = here.get(key.text)
                if same is not None:
                    here[key.text] = same.joined(reading)
                elif len(here) < MOST_READINGS:
                    here[key.text] = reading
    return [_counted(tuple(found[start].values())) for start in sorted(found)]


def _counted(readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
    instances = tuple(each for each in readings if each.binding is not None)
    made = tuple(each for each in instances if each.binding is not None and each.binding.made)
    readings = (
        made or instances or readings
    )  # a unit that makes no instance of a template tells nothing of it
    if len(readings) == 1:
        return readings
    spelled = [None if each.binding is None else each.binding.text for each in readings]
    others = len(readings) - 1
    return tuple(
        replace(each, others=others, differs=spelled.count(text) > 1 and bool(each.contexts))
        for each, text in zip(readings, spelled)
    )
