"""The kernels of a file as its units read them: what the units agree on is one reading."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property

from smem_lsp.engine.contexts import Units
from smem_lsp.ir.nodes import MORE_CONTEXTS, MORE_INSTANCES, HeaderContext, LaunchSite
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.unit.instances import InstanceArguments, Instances
from smem_lsp.unit.joined_bindings import joined
from smem_lsp.unit.unit_facts import KernelKey, UnitFacts, kernel_key

MOST_READINGS = 8  # of one kernel, at normal effort
_SHORT = 3  # tokens of a macro's value


@dataclass(frozen=True)
class KernelConfiguration:
    """A kernel, or one instance of it, in the first of the units that read it alike. ``others``: how many more readings
    it has; ``foremost``: it is the first of them; ``differs``: another one has the same template arguments, or none
    either."""

    around: UnitFacts
    function: Function
    binding: InstanceArguments | None
    key: KernelKey
    alike: tuple[KernelConfiguration, ...] = field(default=(), repr=False)  # in the other units
    others: int = 0
    foremost: bool = True
    differs: bool = False
    left_out: tuple[str, ...] = ()  # what of the kernel is in sight and not looked at
    unread: tuple[tuple[UnitFacts, Function], ...] = ()  # in units with instances that are left out

    @cached_property
    def launches(self) -> tuple[LaunchSite, ...]:
        """In all units that read it so."""
        own = self.around.launches_of(self.function, self.binding)
        return tuple(dict.fromkeys((*own, *(site for other in self.alike for site in other.launches))))

    @cached_property
    def contexts(self) -> tuple[HeaderContext, ...]:
        """These units; none where the file stands alone."""
        units = [self.around.unit, *(other.around.unit for other in self.alike)]
        found = (
            HeaderContext(unit.main, _macros(unit, self.function))
            for unit in units
            if unit.main != unit.source.path
        )
        return tuple(dict.fromkeys(found))

    def others_in_sight(self, most: int) -> tuple[KernelConfiguration, ...]:
        """All instances that are left out, in at most ``most`` readings: those of one reading differ in numbers. Empty
        where they are more, too many even for a proof, or not known."""
        found: dict[object, KernelConfiguration] = {}
        for around, function in self.unread:
            whole = around.with_all_instances
            known = whole.instances[function.number]
            told = {each.arguments for each in around.instances[function.number].bindings}
            if known.left_out or not told.issubset(each.arguments for each in known.bindings):
                return ()
            more = [each for each in known.bindings if each.arguments not in told]
            for binding, members in joined(more, most):
                checkpoint()
                each, *others = (
                    KernelConfiguration(whole, function, member, kernel_key(whole, function, member))
                    for member in members
                )
                for other in others:
                    each = each.joined(other)
                if others:  # launched as they are
                    key = replace(each.key, text=kernel_key(whole, function, binding).text)
                    alike = (*each.alike, replace(each, alike=()))
                    each = KernelConfiguration(whole, function, binding, key, alike)
                same = found.get(each.key.text)
                found[each.key.text] = each if same is None else same.joined(each)
        return tuple(found.values()) if len(found) <= most else ()

    @cached_property
    def rest(self) -> tuple[KernelConfiguration, ...]:
        """What stands for all instances that are left out, whatever their numbers are; empty where nothing does."""
        found: dict[object, KernelConfiguration] = {}
        for around, function in self.unread:
            bindings = around.instances[function.number].rest
            if not bindings:
                return ()
            for binding in bindings:
                reading = KernelConfiguration(
                    around, function, binding, kernel_key(around, function, binding)
                )
                same = found.get(reading.key.text)
                found[reading.key.text] = reading if same is None else same.joined(reading)
        return tuple(found.values()) if len(found) <= MOST_READINGS else ()

    def joined(self, other: KernelConfiguration) -> KernelConfiguration:
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


def readings_of(units: Units, most: int = MOST_READINGS) -> list[tuple[KernelConfiguration, ...]]:
    """The kernels of a file in order, each with its readings, which differ, up to ``most``."""
    found: dict[int, dict[object, KernelConfiguration]] = {}  # by where the kernel begins
    more: dict[int, set[str]] = {}  # what is left out of it
    bare: set[int] = set()  # more readings than are looked at, that nothing stands for
    rest: dict[int, list[tuple[UnitFacts, Function]]] = {}  # of those with instances that are left out
    for around in units.read:
        for function, instances in around.keyed:
            checkpoint()
            here = found.setdefault(function.start, {})
            missing = more.setdefault(function.start, {MORE_CONTEXTS} if units.left_out else set())
            if around.instances.get(function.number, Instances()).left_out:
                missing.add(MORE_INSTANCES)
                rest.setdefault(function.start, []).append((around, function))
            for binding, key in instances:
                reading = KernelConfiguration(around, function, binding, key)
                same = here.get(key.text)
                if same is not None:
                    here[key.text] = same.joined(reading)
                elif len(here) < most:
                    here[key.text] = reading
                else:
                    missing.add(MORE_INSTANCES)
                    bare.add(function.start)
    return [
        _counted(
            tuple(found[start].values()),
            tuple(sorted(more[start])),
            () if start in bare else tuple(rest.get(start, ())),
        )
        for start in sorted(found)
    ]


def _counted(
    readings: tuple[KernelConfiguration, ...],
    left_out: tuple[str, ...],
    unread: tuple[tuple[UnitFacts, Function], ...],
) -> tuple[KernelConfiguration, ...]:
    instances = tuple(each for each in readings if each.binding is not None)
    made = tuple(each for each in instances if each.binding is not None and each.binding.made)
    readings = (
        made or instances or readings
    )  # a unit that makes no instance of a template tells nothing of it
    if len(readings) == 1 and not left_out:
        return readings
    spelled = [None if each.binding is None else each.binding.text for each in readings]
    others = len(readings) - 1
    return tuple(
        replace(
            each,
            others=others,
            foremost=each is readings[0],
            differs=spelled.count(text) > 1 and bool(each.contexts),
            left_out=left_out,
            unread=unread,
        )
        for each, text in zip(readings, spelled)
    )
