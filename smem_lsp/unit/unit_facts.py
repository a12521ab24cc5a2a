"""Facts of a file about its kernels, before any kernel is lowered: constants, helpers, launches, instances.

Most facts come from one block of the file and are cached with it: a keystroke costs the work of one block.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial

from smem_lsp.elaborate.range_for import OF_RANGES
from smem_lsp.ir.causes import Cause
from smem_lsp.ir.nodes import Configuration, LaunchSite
from smem_lsp.semantics.argument_identity import identify_arguments
from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.file_scope import file_constants
from smem_lsp.semantics.function_scope import identify, qualifiers_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.specialization import is_specialization
from smem_lsp.source import checkpoint, record
from smem_lsp.source.queries import PROCESS, Query, Store, question
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.blocks import SourceBlock
from smem_lsp.syntax.parse import OTHER_FILE, Function, TranslationUnit, UnitFile
from smem_lsp.syntax.questions import of_block, of_unit
from smem_lsp.targets.dialects import CUDA, Dialect
from smem_lsp.unit import ptxas_rounding
from smem_lsp.unit.clusters import may_be_non_portable
from smem_lsp.unit.host_frames import names_text
from smem_lsp.unit.instances import (
    MOST_INSTANCES,
    MOST_PROVED,
    InstanceArguments,
    Instances,
    InstanceTable,
    find_instances,
)
from smem_lsp.unit.kernel_addresses import ANY_KERNEL, kernels_with_address
from smem_lsp.unit.kernel_words import in_kernel_words
from smem_lsp.unit.launches import Callers, FoundLaunches, HostCode, Named, Spot, find_launches
from smem_lsp.unit.opt_in import is_launch, opted_in
from smem_lsp.unit.outside_calls import ExternalFunction
from smem_lsp.unit.overloads import signature

Key = tuple[object, ...]


class Fingerprint:
    """The identity of all that a file's kernels depend on outside themselves: one object for equal dependencies."""

    __slots__ = ()


_FINGERPRINT = Query[Key, Fingerprint]("what kernels depend on outside themselves", each=15_000)
_BY_HELPERS = Query[Key, Fingerprint]("what kernels depend on, by all helpers of a file", each=15_000)


def forget_fingerprints() -> None:
    """Drop the cached fingerprints of all files."""
    for query in (_FINGERPRINT, _BY_HELPERS):
        query.forget(PROCESS)


@dataclass(frozen=True)
class UnitFacts:
    """Facts of a file about its kernels. ``unexact``: why no shared-memory total of the file is exact."""

    unit: TranslationUnit
    constants: Scope
    found: Sequence[FoundLaunches]  # by block
    unexact: Cause | None
    rounding: ptxas_rounding.Rounding
    instances: InstanceTable  # of templates, by the number of the function
    dialect: Dialect = CUDA
    foreign: Mapping[str, tuple[LaunchSite, ...]] = field(default_factory=dict)  # of other units, by kernel
    store: Store = field(
        default_factory=Store, init=False, repr=False, compare=False
    )  # facts about this version

    @cached_property
    def helpers(self) -> Mapping[str, list[Function]]:
        """Functions other than kernels, by name."""
        helpers: dict[str, list[Function]] = defaultdict(list)
        for function in self.unit.functions:
            if not function.is_kernel:
                helpers[function.name].append(function)
        return helpers

    @cached_property
    def helper_names(self) -> frozenset[str]:
        return frozenset(self.helpers)

    @cached_property
    def unnamed(self) -> tuple[Function, ...]:
        """Constructors and operators: a caller need not name them."""
        return tuple(f for group in self.helpers.values() for f in group if is_unnamed(f))

    @cached_property
    def called_outside(self) -> frozenset[str]:
        """Helpers that are called outside of functions: by what a class initialises its members with, perhaps."""
        found: set[str] = set()
        for placed in self.unit.all_blocks:
            found.update(_called_outside(placed.block, self.helper_names))
        return frozenset(found)

    @cached_property
    def callers(self) -> Mapping[str, int]:
        """How many kernels reach each function; empty if only kernels have shared arrays."""
        counts: Counter[str] = Counter()
        if any(placed.block.shares_in_helpers for placed in self.unit.all_blocks):
            for kernel in self.unit.all_functions:
                checkpoint()
                if kernel.is_kernel:
                    counts.update({helper.name for helper in parts_of(kernel, self)[1:]})
        return counts

    @cached_property
    def overloads(self) -> Mapping[str, Sequence[Function]]:
        """Kernels that share a name with others."""
        names = Counter(name for placed in self.unit.all_blocks for _, name in placed.block.kernels)
        shared = {name for name, count in names.items() if count > 1}
        if not shared:
            return {}
        kernels = [f for f in self.unit.all_functions if f.is_kernel]
        return {name: [kernel for kernel in kernels if kernel.name == name] for name in shared}

    @cached_property
    def launches(self) -> Mapping[str, Sequence[tuple[UnitFile, int, LaunchSite]]]:
        """(file, offset of the block, site in it) of each launch of a kernel of this file, by its name."""
        found: dict[str, dict[tuple[UnitFile, int, LaunchSite], None]] = {
            name: {} for placed in self.unit.blocks for _, name in placed.block.kernels
        }
        for file, placed, launches, _ in self.found:
            checkpoint()
            for site in launches.sites:
                if site.kernel in found:
                    found[site.kernel][file, placed.start, site] = None
        return {name: tuple(sites) for name, sites in found.items()}

    @cached_property
    def launched(self) -> Mapping[tuple[int, InstanceArguments | None], Mapping[Unplaced, None]]:
        """The launches of each instance, and of each specialization, wherever their blocks stand."""
        return _LAUNCHED.of(self.instances.store, self.said_by_host, self._find_launched)

    @cached_property
    def said_by_host(self) -> tuple[object, ...]:
        """The identity of all that is known of launches in the unit, wherever they stand."""
        return self._host.text, *[each.launches for each in self.found]

    def _find_launched(self) -> Mapping[tuple[int, InstanceArguments | None], Mapping[Unplaced, None]]:
        unit = self.unit
        named: dict[Named, list[Unplaced]] = defaultdict(list)
        for each in self.found:
            for site, where in zip(each.launches.sites, each.launches.named):
                checkpoint()
                if where is not None:
                    named[where].append((each.spot, site))
        walked: set[tuple[int, str]] = set()
        found: dict[tuple[int, InstanceArguments | None], dict[Unplaced, None]] = defaultdict(dict)
        for number, known in self.instances.items():
            if not unit.function(number).is_kernel:  # a host function, which nobody launches
                continue
            for mention in known.mentions:
                bound = dict(mention.bound)
                context = mention.function, names_text(bound)
                where = mention.function, mention.name, mention.table or context[1]
                if (
                    where not in named and bound and context not in walked
                ):  # in a template that nothing enters
                    walked.add(context)
                    for launch in self._host.in_context(mention.function, bound):
                        if launch.named is not None:
                            start = unit.function(launch.function).start
                            named[launch.named].append(self._in_block(launch.function, start, launch.site))
                sites: Sequence[Unplaced] = named.get(where, ())
                if not sites and mention.launch is not None:  # in code that is not followed
                    span = unit.function(mention.function).body.site(*mention.launch)
                    site = LaunchSite(unit.function(number).name, None, None, None, span, 0)
                    sites = [self._in_block(mention.function, 0, site)]
                own = [each for each in sites if self._means(each[1], unit.function(number))]
                if mention.launch is None:
                    own += self._through_pointers(unit.function(number))
                found[number, mention.binding].update(dict.fromkeys(own))
        return found

    def _in_block(self, function: int, start: int, site: LaunchSite) -> Unplaced:
        """A launch in the function with this number, whose span counts from ``start`` in the file."""
        blocks = self.unit.file_of(function).blocks
        at = bisect_right(blocks, self.unit.function(function).start, key=lambda placed: placed.start) - 1
        span = site.span.moved(start - blocks[at].start)
        return Spot(function // OTHER_FILE, at), site.at(span, 0)

    def _place(self, launch: Unplaced) -> LaunchSite:
        (number, at), site = launch
        file = self.unit.files[number]
        return self._at(file, file.blocks[at].start, site)

    def _at(self, file: UnitFile, start: int, site: LaunchSite) -> LaunchSite:
        """A launch in a file, whose span counts from ``start``."""
        line = file.source.line_number(start + site.span.start)
        return replace(site, span=site.span.moved(start), line=line, path=self._path(file))

    def _means(self, site: LaunchSite, function: Function) -> bool:
        """May a launch of a kernel of this name be one of ``function``? It names the template of a specialization."""
        return site.signature in (None, signature(function)) or is_specialization(function)

    def _placed(self, function: Function) -> Iterator[LaunchSite]:
        """The launches of a kernel in the unit."""
        return (
            self._at(file, start, site)
            for file, start, site in self.launches.get(function.name, ())
            if self._means(site, function)
        )

    def _through_pointers(self, function: Function) -> Sequence[Unplaced]:
        """The launches through pointers that are not followed and may point to a kernel."""
        if function.name not in self.pointed_to:
            return ()
        count = len(function.parameters or ())
        return [
            (spot, replace(site, kernel=function.name))
            for spot, site in self.any_kernel
            if len(site.terms.arguments) in (0, count) or function.parameters is None
        ]

    @cached_property
    def any_kernel(self) -> Sequence[Unplaced]:
        """The launches through pointers that are not followed."""
        return [
            (each.spot, site)
            for each in self.found
            for site in each.launches.sites
            if site.kernel == ANY_KERNEL
        ]

    @cached_property
    def pointed_to(self) -> frozenset[str]:
        """The kernels that such a launch may start."""
        if not self.any_kernel:
            return frozenset()
        work = partial(kernels_with_address, self.unit, self.constants, self.own_kernels)
        return _POINTED_TO.of(self._host.store, (), work)

    @cached_property
    def own_kernels(self) -> frozenset[str]:
        """Names of the kernels of the file."""
        return _own_kernels(self.unit)

    @cached_property
    def shared_outside(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names in declarations of shared memory outside functions, in those of one size and in all: what stands
        in one that is half typed may be an array that any kernel names."""
        return ptxas_rounding.static_outside(self.unit), self.unit.shared_names

    @cached_property
    def opted_in(self) -> frozenset[str]:
        """The kernels whose limit of dynamic shared memory calls may raise."""
        return opted_in(self.unit, self.own_kernels, self.dialect)

    def foreign_to(self, function: Function) -> Sequence[LaunchSite]:
        """The launches of a kernel in other units."""
        sites = self.foreign.get(function.name, ())
        return () if sites and function.name in self.overloads else sites

    def _path(self, file: UnitFile) -> str | None:
        """None: the file that the unit is seen from."""
        return None if file.source is self.unit.source else file.source.path

    def launches_of(self, function: Function, binding: InstanceArguments | None) -> tuple[LaunchSite, ...]:
        """The known launches of a kernel, or of one instance of it."""
        sites: Iterable[LaunchSite]
        if binding is None and not is_specialization(function):
            sites = self._all_placed(function)
        elif self.of_rest(function, binding):
            sites = self._for_any_arguments[function.number]
        else:
            launched = self.launched.get((function.number, binding), ())
            sites = dict.fromkeys(map(self._place, launched))
        bound = None if binding is None else binding.names
        given = None if binding is None else self.identity_of(binding)
        identity = identify(self.unit, self.constants, function), given
        return tuple(in_kernel_words(site, function, self.constants, bound, identity) for site in sites)

    def _all_placed(self, function: Function) -> list[LaunchSite]:
        pointers = map(self._place, self._through_pointers(function))
        return [*self._placed(function), *self.foreign_to(function), *pointers]

    @cached_property
    def _said(self) -> tuple[object, ...]:
        """What kernels depend on outside themselves beside the fingerprint."""
        said = self.said_by_host if self.instances or self.any_kernel else ()
        return said, self.opted_in, may_be_non_portable(self.unit)

    def outside(self, function: Function) -> tuple[object, ...]:
        """What one kernel depends on outside itself and its instances, beside the fingerprint."""
        foreign = tuple([site.configuration for site in self.foreign_to(function)])
        return self._said, function.scopes, foreign, internal(self.unit, function)

    def identity_of(self, binding: InstanceArguments) -> tuple[object, ...]:
        """A key of template arguments: equal keys mean equal arguments, in every version of the file."""
        key = self.constants.declarations.mark, binding
        return _GIVEN.of(self.instances.store, key, partial(self._identify, binding))

    def _identify(self, binding: InstanceArguments) -> tuple[object, ...]:
        given = (value for _, value in binding.arguments)
        return binding.text, binding.made, identify_arguments(self.unit, self.constants, given)

    def of_rest(self, function: Function, binding: InstanceArguments | None) -> bool:
        """Does it stand for instances that are left out?"""
        known = self.instances.get(function.number)
        return known is not None and binding in known.rest

    @cached_property
    def with_all_instances(self) -> UnitFacts:
        """The same with the instances that are left out, as far as they are not too many for a proof."""
        return replace(self, instances=find_instances(self.unit, self.constants, MOST_PROVED))

    @cached_property
    def _for_any_arguments(self) -> Mapping[int, Sequence[LaunchSite]]:
        """The launches of the kernels of which instances are left out, by number; those in other templates as they are
        for any arguments of these."""
        numbers = (number for number, known in self.instances.items() if known.rest)
        every = map(self.unit.function, numbers)
        return {each.number: self._launched_by_templates(each) for each in every if each.is_kernel}

    def _launched_by_templates(self, function: Function) -> Sequence[LaunchSite]:
        """A template that names the kernel and does not launch it itself may hand it to who launches it in any way."""
        found: dict[LaunchSite, None] = {}
        sites = self._all_placed(function)
        for host in self.unit.all_functions:
            if host.is_kernel or not host.island.template or function.name not in host.definition.body_words:
                continue
            checkpoint()
            span, file = host.span, self.unit.file_of(host.number)
            sites = [each for each in sites if each.path != self._path(file) or not span.covers(each.span)]
            own = [
                self._at(file, host.start, launch.site)
                for launch in self._host.in_context(host.number, None)
                if launch.function == host.number and launch.site.kernel == function.name
            ]
            unknown = LaunchSite(function.name, None, None, None, host.name_span, 0)
            found |= dict.fromkeys(own or [self._at(file, 0, unknown)])
        return [*sites, *found]

    @cached_property
    def _host(self) -> HostCode:
        return HostCode(self.unit, self.constants, self.own_kernels)

    def unplaced(self, function: Function, binding: InstanceArguments | None) -> Sequence[LaunchSite]:
        """Like ``launches_of``, for their configurations only."""
        if self.of_rest(function, binding):
            return self._for_any_arguments[function.number]
        if binding is None and not is_specialization(function):
            sites = (site for _, _, site in self.launches.get(function.name, ()))
            placed = (site for site in sites if self._means(site, function))
            pointers = (site for _, site in self._through_pointers(function))
            return [*placed, *self.foreign_to(function), *pointers]
        return [site for _, site in self.launched.get((function.number, binding), ())]

    @cached_property
    def keyed(self) -> Sequence[tuple[Function, Sequence[tuple[InstanceArguments | None, KernelKey]]]]:
        """See ``kernels_of``."""
        return kernels_of(self)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """What all kernels depend on outside themselves: the same object for two versions of the file if nothing of
        it differs. Instances of kernel templates depend on more."""
        around = (
            self.constants.declarations.mark,
            tuple([each.launches.said for each in self.found]),
            frozenset(self.overloads),
            self.unexact,
            self.rounding,
            tuple(sorted(self.callers.items())),
            self.dialect,
            self.constants.state.packed,
            self.shared_outside,
            self.unit.preprocessed.exhausted,
            self.unit.preprocessed.refused,
        )
        helpers = tuple([(p.block.helpers, p.scopes) for p in self.unit.blocks if p.block.helpers])

        def find() -> Fingerprint:
            reached = [(each.definition.mark, each.scopes) for each in self._reached()]
            return _FINGERPRINT.of(PROCESS, (*around, tuple(reached)), Fingerprint)

        return _BY_HELPERS.of(PROCESS, (*around, helpers), find)

    def _reached(self) -> Sequence[Function]:
        """The functions that some kernel is made of, but for kernels, in source order; see ``parts_of``."""
        found = {
            part.number: part
            for each in self.unit.functions
            if each.is_kernel
            for part in parts_of(each, self)
        }
        return [found[number] for number in sorted(found) if not found[number].is_kernel]


Unplaced = tuple[Spot, LaunchSite]  # a launch in a block, at an offset in it
_LAUNCHED = Query[tuple[object, ...], Mapping[tuple[int, InstanceArguments | None], Mapping[Unplaced, None]]](
    "launches of instances, by the host code", most=2
)
_GIVEN = Query[tuple[object, InstanceArguments], tuple[object, ...]](
    "identity of template arguments", most=1_000
)
_PARTS = Query[int, tuple[Function, ...]]("functions that a kernel is made of, by its number")
_POINTED_TO = Query[tuple[()], frozenset[str]]("kernels that are launched through pointers")


def survey_file(
    unit: TranslationUnit,
    dialect: Dialect = CUDA,
    also: Collection[str] = (),
    most_instances: int = MOST_INSTANCES,
) -> UnitFacts:
    """Constants, helpers and launches of a file: of its kernels, and of those with the names ``also``.
    ``most_instances``: of each template."""
    wanted = _own_kernels(unit)
    constants = file_constants(unit, dialect.warp_size)
    return UnitFacts(
        unit,
        constants,
        find_launches(unit, constants, wanted.union(also)),
        ptxas_rounding.file_unexact(unit),
        ptxas_rounding.rounding(unit, constants) if dialect.nvidia else ptxas_rounding.Rounding(),
        find_instances(unit, constants, most_instances),
        dialect,
    )


def host_code(around: UnitFacts, outside: Mapping[str, ExternalFunction] | None = None) -> HostCode:
    """The host functions that lead to launches of the file's kernels, or to calls of functions ``outside``."""
    return HostCode(around.unit, around.constants, around.own_kernels, outside)


def with_callers(around: UnitFacts, callers: Callers) -> UnitFacts:
    """The same file with the launches that follow from calls in other files."""
    found = find_launches(around.unit, around.constants, around.own_kernels, callers)
    return replace(around, found=found)


def _own_kernels(unit: TranslationUnit) -> frozenset[str]:
    return frozenset(name for placed in unit.blocks for _, name in placed.block.kernels)


def launched_elsewhere(around: UnitFacts, names: Collection[str]) -> Mapping[str, tuple[LaunchSite, ...]]:
    """The launches of kernels with these names that the unit declares and does not define, with the files they stand
    in."""
    own = {name for placed in around.unit.all_blocks for _, name in placed.block.kernels}
    declared = {decl.name for decl in around.constants.declarations.walk() if isinstance(decl, FunctionDecl)}
    found: dict[str, tuple[LaunchSite, ...]] = {}
    for file, placed, launches, _ in around.found:
        for site in launches.sites:
            if site.kernel not in names or site.kernel in own:
                continue
            if site.kernel not in declared and not site.in_string:
                continue
            span = site.span.moved(placed.start)
            there = replace(site.at(span, file.source.line_number(span.start)), path=file.source.path)
            found[site.kernel] = (*found.get(site.kernel, ()), there)
    return found


def bindings_of(around: UnitFacts, function: Function) -> Sequence[InstanceArguments | None]:
    """The instances of a kernel to analyse: the known ones, or the kernel itself (None)."""
    found = around.instances.get(function.number)
    return found.bindings if found is not None and found.bindings else (None,)


@record(deep=True)
class Launched:
    """What the host does with a kernel, without places: the configurations of its launches, and whether calls may raise
    its limit of dynamic shared memory or allow clusters that not every device takes. ``open``: other files may lead to
    a launch with other numbers."""

    configurations: tuple[Configuration, ...]
    may_opt_in: bool
    non_portable: bool
    open: bool = False

    def joined(self, other: Launched) -> Launched:
        """What two units do with it."""
        return Launched(
            tuple(dict.fromkeys((*self.configurations, *other.configurations))),
            self.may_opt_in or other.may_opt_in,
            self.non_portable or other.non_portable,
            self.open or other.open,
        )


@record(deep=True)
class KernelKey:
    """``text``: all that a kernel depends on but its launches."""

    text: Key
    launched: Launched

    @property
    def parts(self) -> Key:
        """What the kernel says, and each function that it may contain."""
        parts = self.text[0]
        assert isinstance(parts, tuple)
        return parts

    @property
    def rest(self) -> Key:
        """The rest of ``text``."""
        return self.text[1:]


def kernels_of(
    around: UnitFacts,
) -> list[tuple[Function, Sequence[tuple[InstanceArguments | None, KernelKey]]]]:
    """The kernels of a file in order, each with the instances to analyse and their keys. Equal keys mean equal kernels
    apart from their place, so a key is the cache key of all facts about a kernel."""
    functions = around.unit.functions
    fingerprint = around.fingerprint
    found: list[tuple[Function, Sequence[tuple[InstanceArguments | None, KernelKey]]]] = []
    first = 0
    for placed in around.unit.blocks:
        checkpoint()
        block = placed.block
        if block.kernels:
            kernels = [functions[first + at] for at, _ in block.kernels]
            key = (fingerprint, *[around.outside(each) for each in kernels])
            work = partial(_all_instances, around, kernels)
            if around.instances:  # they keep what the file declares, as the table does
                keys = _KEYS_OF_TEMPLATES.of(
                    around.instances.store, (block.mark, kernels[0].number, *key), work
                )
            else:
                keys = _KEYS.of(block.store, key, work)
            found += zip(kernels, keys)
        first += len(block.functions)
    return found


_Keyed = tuple[tuple[InstanceArguments | None, KernelKey], ...]  # instances of one kernel with their keys
_KEYS = Query[tuple[object, ...], tuple[_Keyed, ...]](
    "keys of the kernels of a block, by all that they depend on outside of it", most=1
)
_KEYS_OF_TEMPLATES = Query[tuple[object, ...], tuple[_Keyed, ...]](
    "keys of the kernels of a block and of their instances, by all that they depend on", most=2_000
)


def _all_instances(around: UnitFacts, kernels: Sequence[Function]) -> tuple[_Keyed, ...]:
    return tuple([_instances(around, each) for each in kernels])


def _instances(around: UnitFacts, function: Function) -> _Keyed:
    return tuple(
        [(binding, kernel_key(around, function, binding)) for binding in bindings_of(around, function)]
    )


def kernel_key(around: UnitFacts, function: Function, binding: InstanceArguments | None) -> KernelKey:
    """See ``kernels_of``."""
    if binding is None:
        return _found_key(around, function, binding)
    context = function.definition.mark, function.number, around.fingerprint, around.outside(function)
    keys = _KEYS_OF.of(around.instances.store, context, Store)
    return _KEY.of(keys, binding, partial(_found_key, around, function, binding))


_KEYS_OF = Query[tuple[object, ...], Store](
    "keys of the instances of a kernel, by what they depend on", most=200
)
_KEY = Query[InstanceArguments, KernelKey]("key of an instance")


def _found_key(around: UnitFacts, function: Function, binding: InstanceArguments | None) -> KernelKey:
    unit = around.unit
    parts = parts_of(function, around)
    sites = around.unplaced(function, binding)
    launched = Launched(
        tuple([site.configuration for site in sites]),
        any(site.dynamic_bytes for site in sites) and function.name in around.opted_in,
        _clusters(function, sites) and may_be_non_portable(unit),
        any(site.open for site in sites),
    )
    text = (
        tuple([identify(unit, around.constants, part) for part in parts]),
        around.unexact,
        around.rounding,
        tuple(around.callers.get(part.name, 0) for part in parts) if around.callers else (),
        internal(unit, function),
        around.dialect,
        around.constants.state.packed,
        around.shared_outside,
        any(unit.preprocessed.leaves_open(part.definition.words) for part in parts),
        None if binding is None else around.identity_of(binding),
        around.instances.get(function.number, Instances()).why if around.instances else None,
    )
    return KernelKey(text, launched)


def parts_of(function: Function, around: UnitFacts) -> tuple[Function, ...]:
    """The functions that the IR of a kernel may contain: itself, those that it reaches by name, and those that are
    called without a name; after the kernel, in source order."""
    if function.number < 0:  # of a header
        return _found_parts(function, around)
    return _PARTS.of(around.store, function.number, partial(_found_parts, function, around))


def _found_parts(function: Function, around: UnitFacts) -> tuple[Function, ...]:
    helpers, names = around.helpers, around.helper_names
    reached: dict[int, Function] = {each.number: each for each in around.unnamed}
    stack = [*around.unnamed]
    met = set[str]()
    words = around.called_outside | _words(function)
    while not words <= met:
        checkpoint()
        for helper in (each for text in names & (words - met) for each in helpers[text]):
            if helper.number not in reached:
                reached[helper.number] = helper
                stack.append(helper)
        met |= words
        while stack and words <= met:
            words = _words(stack.pop())
        if words <= met:  # what functions of headers name, too
            words = around.unit.header_reach(frozenset(met))[0]
    return (function, *(reached[key] for key in sorted(reached)))


def _words(function: Function) -> frozenset[str]:
    """Of the body of a function, of its parameters where they have default arguments, and of member initializers."""
    definition = function.definition
    island, texts = definition.island, definition.tokens.texts
    defaults = definition.parameters.texts if "=" in definition.parameters.texts else ()
    given = texts[island.parameters[1] + 1 : island.body[0] - 1]
    initializers = given if ":" in given else ()
    more = (*defaults, *initializers)
    return definition.body_words.union(more) if more else definition.body_words


# In front of the name of a function that is declared; a call there is one of an operand.
_OF_DECLARATIONS = frozenset(
    ("NAME", "TYPE", "QUALIFIER", "STORAGE", "GT", "SHIFT", "RB", "SCOPE", "TAG", "ATTRIBUTE")
)


def _called_outside(block: SourceBlock, names: frozenset[str]) -> Iterator[str]:
    """Of ``names`` those that stand in front of `(` outside of the functions of a block, and declare nothing there."""
    kinds, texts = block.tokens.kinds, block.tokens.texts
    at = 0
    for first, last in (
        *((each.head, each.head + each.definition.island.end) for each in block.functions),
        (len(kinds), len(kinds)),
    ):
        checkpoint()
        for i in range(max(at, 1), first - 1):
            if kinds[i + 1] == "LP" and texts[i] in names and kinds[i - 1] not in _OF_DECLARATIONS:
                yield texts[i]
        at = max(at, last)


def is_unnamed(function: Function) -> bool:
    """Is it called without its name: a constructor, a destructor, an operator or a conversion of a class, or what a
    range-based loop calls?"""
    around = (*function.island.enclosing[-1:], *qualifiers_of(function)[-1:])
    at = function.definition.island.name
    operator = "OPERATOR" in function.definition.tokens.kinds[max(at - 2, 0) : at]  # also `operator""_km`
    named = function.name.isidentifier() and function.name != "operator" and not operator
    return not named or function.name in around or (bool(around) and function.name in OF_RANGES)


def internal(unit: TranslationUnit, function: Function) -> bool:
    """Does this file contain all launches of the kernel? Unseen code may launch one of internal linkage, too, if its
    name occurs outside its definition, prototypes and launches, or if part of the program is in unread files."""
    if not (function.is_kernel and internally_linked(function)):
        return False
    if "<<<" in unit.header_words or unit.preprocessed.missing_quoted or unit.main != unit.source.path:
        return False
    if any(function.name in text for text in unit.files[0].inactive_text):
        return False  # another configuration may launch it otherwise
    named, odd = _all_elsewhere(unit)
    island, kinds = function.definition.island, function.definition.tokens.kinds
    own = kinds[island.name - 1 : island.name] != ["TYPE"] or kinds[island.name + 1] != "LP"
    return function.name not in named and odd[function.name] <= own


def internally_linked(function: Function) -> bool:
    island = function.definition.island
    return "static" in island.specifiers or "" in function.scopes or "" in island.enclosing


def _clusters(function: Function, launches: Iterable[LaunchSite]) -> bool:
    return "__cluster_dims__" in function.definition.head.texts or any(
        site.cluster is not None for site in launches
    )


@question(of_unit)
def _all_elsewhere(unit: TranslationUnit) -> tuple[frozenset[str], Counter[str]]:
    """The kernels that a file names elsewhere, and its definitions that do not look like a prototype."""
    kernels = _own_kernels(unit)
    blocks = (placed.block for placed in unit.blocks)
    found = [_elsewhere(block, kernels) for block in blocks]
    named = frozenset[str]().union(*(each for each, _ in found))
    return named, Counter(name for _, odd in found for name in odd)


@question(of_block, most=2)
def _elsewhere(block: SourceBlock, kernels: frozenset[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """The kernels that a block names outside definitions, prototypes and launches in functions, and the names of its
    definitions that do not look like a prototype."""
    kinds, texts = block.tokens.kinds, block.tokens.texts
    defined = {each.head + each.definition.island.name: each.definition for each in block.functions}
    heads = [each.head for each in block.functions]
    found: set[str] = set()
    odd: list[str] = []
    for i, text in enumerate(texts):
        if text not in kernels or kinds[i] != "NAME":
            continue
        checkpoint()
        if kinds[i - 1 : i] == ["TYPE"] and kinds[i + 1 : i + 2] == ["LP"]:
            continue  # a prototype
        if i in defined and defined[i].is_kernel:
            odd.append(text)
            continue
        at = bisect_right(heads, i) - 1
        lo, hi = block.functions[at].definition.island.body if at >= 0 else (0, 0)
        if not (at >= 0 and lo <= i - heads[at] < hi and is_launch(texts, i)):
            found.add(text)
    return frozenset(found), tuple(odd)
