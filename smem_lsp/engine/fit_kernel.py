"""One kernel of one version of a text, with the template arguments that somebody asks for."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from smem_lsp.analysis.values.sums import number_of, passed_by, sizes_of
from smem_lsp.config import Config
from smem_lsp.engine.check import newest_target, suppressions_of
from smem_lsp.engine.contexts import read_alone
from smem_lsp.engine.stated import stated_of
from smem_lsp.ir.nodes import HostTerms, LaunchSite
from smem_lsp.lowering.kernel import build_kernel
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.suppressions import Suppressions
from smem_lsp.semantics import template_arguments
from smem_lsp.semantics.declarations import TemplateParameter
from smem_lsp.semantics.entities import Argument, TypedConstant
from smem_lsp.semantics.function_scope import function_scope, parameters_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.spell_type import spell_argument
from smem_lsp.semantics.types import INT
from smem_lsp.source import FileReader, SourceText
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.unit.instances import InstanceArguments
from smem_lsp.unit.unit_facts import UnitFacts, bindings_of

NOTHING: Mapping[str, int] = {}


@dataclass(frozen=True)
class TunedKernel:
    """A version of the text. ``base``: the instance whose arguments are taken where nothing else is said."""

    unit: TranslationUnit
    around: UnitFacts
    function: Function
    base: InstanceArguments | None
    suppressions: Suppressions


@dataclass(frozen=True, slots=True)
class KernelPlace:
    """Where the text stands."""

    path: str
    reader: FileReader | None

    def read(self, text: str, config: Config, number: int, ordinal: int) -> TunedKernel | None:
        """A version of the text, and in it kernel ``number`` with its instance ``ordinal``, in source order; None where
        there is no such kernel."""
        source = SourceText(text, self.path)
        around = read_alone(source, self.reader, config, newest_target(config))
        unit = around.unit
        kernels = [function for function in unit.functions if function.is_kernel]
        if number >= len(kernels):
            return None
        function = kernels[number]
        bindings = bindings_of(around, function)
        base = bindings[min(ordinal, len(bindings) - 1)]
        return TunedKernel(unit, around, function, base, suppressions_of(source))


def choose_kernel(reading: TunedKernel | None, wanted: str) -> tuple[int, int] | None:
    """(number among the kernels, number among its instances) of the kernel that is called ``wanted``."""
    if reading is None:
        return None
    squeezed = "".join(wanted.split())
    name = squeezed.partition("<")[0].rpartition("::")[2]
    for number, function in enumerate(f for f in reading.unit.functions if f.is_kernel):
        if function.name != name:
            continue
        if "<" not in squeezed:
            return number, 0
        for ordinal, binding in enumerate(bindings_of(reading.around, function)):
            spelled = "" if binding is None else f"{name}<{binding.text}>"
            if "".join(spelled.split()) == squeezed[squeezed.index(name) :]:
                return number, ordinal
    return None


def no_kernel(reading: TunedKernel | None, wanted: str) -> str:
    if reading is None:
        return "no kernel in this file"
    names: dict[str, None] = {}
    for function in reading.unit.functions:
        if function.is_kernel:
            for binding in bindings_of(reading.around, function):
                names[function.name if binding is None else f"{function.name}<{binding.text}>"] = None
    near = difflib.get_close_matches(wanted, [*names, *(name.partition("<")[0] for name in names)], n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"it has {', '.join(list(names)[:8])}"
    return f"no kernel is called `{wanted}`, {hint}"


def plan(
    reading: TunedKernel, given: Mapping[str, int], config: Config, passed: Mapping[str, int] = NOTHING
) -> tuple[KernelFacts, InstanceArguments | None]:
    """The kernel with the template arguments ``given``, and all of its arguments; the others are those of the instance
    in sight, or defaults. ``passed``: arguments of its launches, of which their dynamic bytes are made; an
    instance that nothing launches gets as many as its ranges take."""
    unit, around, function = reading.unit, reading.around, reading.function
    binding = reading.base
    launches: tuple[LaunchSite, ...] | None = None
    if function.island.template and (given or binding is None):
        binding = _rebound(reading, given)
        seen = next((b for b in bindings_of(around, function) if b is not None and _alike(b, binding)), None)
        if seen is None:
            launches = _launches_like(reading)
        binding = seen or binding
    stated = stated_of(function, reading.suppressions, around, binding)
    kernel = build_kernel(unit, around, function, binding, stated)
    if launches is not None:
        kernel = replace(kernel, launches=launches)
    kernel = replace(kernel, siblings=0, more_instances=None)  # nobody asks about the others
    if passed:
        kernel = replace(kernel, launches=tuple(_passing(site, passed) for site in kernel.launches))
    facts = KernelFacts.of(0, unit.source, kernel, config)
    ranges = None if launches is None else facts.analysis.dynamic_partition
    if ranges is not None:
        sites = tuple(replace(site, dynamic_bytes=ranges.partition.bytes) for site in kernel.launches)
        facts = KernelFacts.of(0, unit.source, replace(kernel, launches=sites), config)
    return facts, binding


def _passing(site: LaunchSite, passed: Mapping[str, int]) -> LaunchSite:
    """With the dynamic bytes that these arguments make."""
    total = passed_by(site)
    if total is None:
        return site
    dims = {} if site.block is None else sizes_of(site.block)
    return replace(site, dynamic_bytes=number_of(total, {**passed, **dims}))


def _alike(a: InstanceArguments, b: InstanceArguments) -> bool:
    return a.text == b.text and "?" not in a.text


def _rebound(reading: TunedKernel, given: Mapping[str, int]) -> InstanceArguments:
    """An argument that is equal to its default follows the others."""
    function, top = reading.function, reading.around.constants
    parameters = parameters_of(function)
    home = function_scope(top, function).parent or top
    base = {} if reading.base is None else reading.base.names
    bound: list[Argument] = []
    usual: list[Argument] = []  # what the instance in sight has, or would have by its defaults
    for number, parameter in enumerate(parameters):
        default: Argument = None
        if parameter.default is not None:
            filled = template_arguments.fit(parameters[: number + 1], bound, home)
            default = None if filled is None else filled[-1]
        there = base.get(parameter.name)
        if parameter.name in given:
            argument: Argument = TypedConstant(INT, given[parameter.name])
        elif there is None or (default is not None and _is_default(parameters, number, usual, home, there)):
            argument = default
        else:
            argument = there
        bound.append(argument)
        usual.append(there if there is not None else argument)
    fitted = template_arguments.fit(parameters, bound, home) or tuple(bound)
    return InstanceArguments(
        tuple((p.name, argument) for p, argument in zip(parameters, fitted) if p.name),
        ", ".join(spell_argument(argument) for argument in fitted),
    )


def _is_default(
    parameters: Sequence[TemplateParameter],
    number: int,
    usual: Sequence[Argument],
    home: Scope,
    argument: Argument,
) -> bool:
    filled = template_arguments.fit(parameters[: number + 1], usual, home)
    return filled is not None and template_arguments.same(filled[-1], argument) is True


def _launches_like(reading: TunedKernel) -> tuple[LaunchSite, ...]:
    """The launches of the instance in sight, for one that is not: their configuration is the same where no template
    parameter of the launching function can be in it. Else there is a launch of which nothing is known."""
    function, around = reading.function, reading.around
    sites = around.launches_of(function, reading.base)
    plain = [f.span for f in reading.unit.functions if not f.island.template]
    return tuple(
        site
        if any(span.covers(site.span) for span in plain)
        else replace(site, block=None, dynamic_bytes=None, impossible=None, terms=HostTerms())
        for site in sites
    )
