"""Launch sites of a file: ``kernel<<<grid, block, dynamic>>>(...)`` in its host code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

from smem_lsp.interpret.frame import TooMuch
from smem_lsp.ir.nodes import Configuration, HostTerms, LaunchSite
from smem_lsp.semantics.declarations import ClassDecl, FunctionDecl
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.function_scope import identify
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import Span, checkpoint
from smem_lsp.source.queries import PROCESS, Query, Store
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.blocks import Placed
from smem_lsp.syntax.blocks import site as site_of
from smem_lsp.syntax.host_functions import kernel_getters
from smem_lsp.syntax.parse import Function, TranslationUnit, UnitFile
from smem_lsp.targets.dialects import CUDA
from smem_lsp.terms.symbolic import Symbol
from smem_lsp.unit.changed_arguments import changed_arguments
from smem_lsp.unit.explicit_instantiations import bound_names, instantiations
from smem_lsp.unit.host_callees import Callees
from smem_lsp.unit.host_expressions import Effort
from smem_lsp.unit.host_frames import names_text
from smem_lsp.unit.host_text import HostText, host_text, launches_in
from smem_lsp.unit.kernel_addresses import ANY_KERNEL, kernels_with_address
from smem_lsp.unit.kernel_tables import IN_TABLE, KernelTable, kernel_tables
from smem_lsp.unit.launch_walk import FoundLaunch, LaunchFinder
from smem_lsp.unit.outside_calls import NOTHING, ExternalFunction, Passed, bound_to_unit, outside_of, unseen
from smem_lsp.unit.overloads import signature
from smem_lsp.unit.size_functions import filled, gives_number, gives_object, gives_one_of

T = TypeVar("T")

Said = tuple[tuple[str, Configuration], ...]  # the kernel that is named, and how it is launched
Named = tuple[
    int, int, str
]  # number of a function, token in its body, template arguments that are bound there
MOST_VARIANTS = 8  # of one launch

Callers = Mapping[int, tuple[Passed, ...]]
"""What other files pass to functions, by the number of the function; those of which nobody asked are missing."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockLaunches:
    """The launches of one block in order, at offsets in the block, without lines. ``said``: their configurations
    without places; one object for equal ones. ``named``: where the kernel of each is named."""

    sites: tuple[LaunchSite, ...]
    said: Said
    named: tuple[Named | None, ...]


class Spot(NamedTuple):
    """A block of a unit, wherever it stands: the number of its file, and of the block in it."""

    file: int
    block: int


class FoundLaunches(NamedTuple):
    """The launches in one block of a file of the unit."""

    file: UnitFile
    placed: Placed
    launches: BlockLaunches
    spot: Spot


class HostLaunch(NamedTuple):
    """A launch in host function ``function``, with its span from the start of that function."""

    function: int
    site: LaunchSite
    named: Named | None
    opening: int | None  # token of its ``<<<``


def find_launches(
    unit: TranslationUnit, constants: Scope, wanted: Collection[str], callers: Callers | None = None
) -> list[FoundLaunches]:
    """The launches of the unit, block by block; those of kernels that are not ``wanted`` may be missing. What may not
    be constant is no number."""
    found = HostCode(unit, constants, wanted).found(callers)
    files = unit.files
    return [
        FoundLaunches(files[file], files[file].blocks[at], launches, Spot(file, at))
        for file, at, launches in found
    ]


def _in_block(
    placed: Placed,
    functions: Sequence[Function],
    by_function: Mapping[int, Sequence[HostLaunch]],
    walked: _Walked,
) -> BlockLaunches:
    found: list[tuple[LaunchSite, Named | None]] = []
    read: Counter[int] = Counter()
    for function in functions:
        checkpoint()
        launches = by_function.get(function.number, ())
        by = function.start - placed.start
        found += [(each.site.at(each.site.span.moved(by), 0), each.named) for each in launches]
        openings = {each.opening for each in launches if each.opening is not None}
        kinds = function.definition.body.kinds
        for lo, hi in walked.skipped.get(function.number, ()):
            openings |= {at for at in range(lo, min(hi, len(kinds))) if kinds[at] == "LAUNCH_OPEN"}
        for at in openings:
            read[by + site_of(function.definition.body.offsets[at])] += 1
    for name, start in placed.block.launches:
        checkpoint()
        if read[start]:
            read[start] -= 1
        else:  # in an initializer, a statement that does not parse ...: a launch with unknown configuration
            found.append((LaunchSite(name, None, None, None, Span(start, start + 3), 0), None))
    found.sort(key=lambda each: each[0].span.start)
    sites = tuple(site for site, _ in found)
    said = tuple((site.kernel, site.configuration) for site in sites)
    return BlockLaunches(sites, _SAID.of(PROCESS, said, lambda: said), tuple(named for _, named in found))


_SAID = Query[Said, Said]("the one object for equal launches", each=1_200)


@dataclass(frozen=True, slots=True)
class _Walked:
    """The launches of all host functions; ``skipped``: token ranges of a function that nothing leads to; ``passed``:
    what calls of functions of other files pass, None: not known of all calls."""

    launches: Sequence[HostLaunch]
    skipped: Mapping[int, Sequence[tuple[int, int]]]
    passed: Mapping[str, Sequence[Passed] | None]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the walk of one function finds; functions by their position among those that it may enter. ``cut``: it was
    too much for all of it."""

    found: tuple[FoundLaunch, ...]
    entered: frozenset[int]
    named: frozenset[str]
    skipped: frozenset[tuple[int, int, int]]
    passed: tuple[tuple[str, int, int, Passed], ...] = ()
    seen: frozenset[tuple[int, int, int]] = frozenset()
    cut: bool = False


@dataclass(eq=False, slots=True)
class _Gathered:
    """What the walks so far have found; functions by their numbers. ``called``: names of functions that others call;
    ``passed``: to each function outside, with the place of the first call that does; ``named``: names of functions that
    are used for something else than a call; ``skipped``, ``seen``: token ranges that nothing leads to, and of names of
    functions outside in calls that were read; ``unread``: functions outside of which not all calls were read."""

    called: frozenset[str]
    passed: dict[str, dict[Passed, str]]
    launches: dict[HostLaunch, None] = field(default_factory=dict)
    entered: set[int] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    skipped: dict[int, set[tuple[int, int]]] = field(default_factory=lambda: defaultdict(set))
    seen: dict[int, set[tuple[int, int]]] = field(default_factory=lambda: defaultdict(set))
    unread: set[str] = field(default_factory=set)

    def add(self, answer: _Answer, reached: Sequence[Function]) -> None:
        """Note where a walk of the functions ``reached`` was, and where not."""
        for at, lo, hi in answer.seen:
            self.seen[reached[at].number].add((lo, hi))
        for at, lo, hi in answer.skipped:
            self.skipped[reached[at].number].add((lo, hi))
        self.entered.update(reached[at].number for at in answer.entered)
        self.named.update(answer.named)

    def misses(self, function: Function) -> bool:
        """Does somebody have the name of a function, but not, or not only, to call it where a walk came by?"""
        only_called = function.number in self.entered and function.name not in self.named
        return function.name in self.called and not only_called

    @property
    def known(self) -> dict[int, list[tuple[int, int]]]:
        """The token ranges in which calls of functions outside are read, or lead nowhere."""
        return {
            number: [*self.seen.get(number, ()), *self.skipped.get(number, ())]
            for number in self.seen.keys() | self.skipped.keys()
        }

    def walked(self) -> _Walked:
        return _Walked(
            _bounded(self.launches),
            {number: sorted(ranges) for number, ranges in self.skipped.items()},
            {
                name: None
                if name in self.unread
                else tuple(Passed(each.values, each.facts, place) for each, place in calls.items())
                for name, calls in self.passed.items()
            },
        )


_OF_ABOUT = 600  # bytes, beside the function's text
_OF_REACHED = 100  # bytes for each function that it may enter: their texts are kept with their own walks
_WALK = Query[tuple[object, ...], _Answer]("launches that a host function leads to", each=2_000)
_ABOUT = Query[tuple[object, ...], object]("what decides about the walk of a host function", each=1)


_Numbers = Mapping[str, tuple[int, ...]]  # of functions, by their name
_LAUNCHING = Query[tuple[()], tuple[int, ...]]("functions that launch")
_LEADING = Query[tuple[()], _Numbers]("functions that lead to launches")
_VALUED = Query[tuple[()], _Numbers]("host functions that give numbers or kernels")
_BY_VALUE = Query[tuple[()], Mapping[str, frozenset[int]]]("arguments that functions may change")
_ABOUT_OF = Query[int, tuple[tuple[int, ...], bool, object]]("what decides about a walk, by function")
_WALKED = Query[object, "_Walked"]("launches of the host code, by what other files pass", most=2)
_FOUND = Query[object, tuple[tuple[int, int, BlockLaunches], ...]](
    "launches by file and block, by what other files pass", most=2
)
_ASKING = Query[tuple[()], tuple[tuple[int, ExternalFunction], ...]]("functions that other files may call")


class HostCode:
    """The host functions of a unit that lead to launches of kernels with the ``wanted`` names, or to calls of functions
    ``outside`` of it. What it finds is found once for all versions of the files in which their host code is the same;
    so whatever it keeps names functions by their numbers."""

    def __init__(
        self,
        unit: TranslationUnit,
        constants: Scope,
        wanted: Collection[str],
        outside: Mapping[str, ExternalFunction] | None = None,
    ) -> None:
        self.unit = unit
        self.constants = constants
        self.outside = outside or {}
        self._wanted = frozenset(wanted)
        self._bodies = Store()

    @cached_property
    def text(self) -> HostText:
        """Holds what is found. Calls of functions outside are told with their lines, which move."""
        return HostText() if self.outside else host_text(self.unit, self.constants, self._wanted)

    @property
    def store(self) -> Store:
        return self.text.store

    @cached_property
    def launching(self) -> Sequence[Function]:
        numbers = _LAUNCHING.of(self.store, (), lambda: tuple(each.number for each in self._find_launching()))
        return [*map(self.unit.function, numbers)]

    def _find_launching(self) -> Sequence[Function]:
        if self.outside:
            return [f for f in self.unit.all_functions if not f.is_kernel and self._ends(f)]
        found = _launching(self.unit.all_functions, self._wanted, self._tables_of(self._wanted))
        return [*found, *self._through_pointers(found)]

    def found(self, callers: Callers | None = None) -> Sequence[tuple[int, int, BlockLaunches]]:
        """The launches, each with the number of the file, and of its block."""
        return _FOUND.of(self.store, _key_of(callers), partial(self._find, callers))

    def _find(self, callers: Callers | None) -> tuple[tuple[int, int, BlockLaunches], ...]:
        if not self.launching and not any(placed.block.launches for placed in self.unit.all_blocks):
            return ()
        walked = self.walked(callers)
        by_function: dict[int, list[HostLaunch]] = defaultdict(list)
        for launch in walked.launches:
            by_function[launch.function].append(launch)
        found: list[tuple[int, int, BlockLaunches]] = []
        for number, file in enumerate(self.unit.files):
            first = 0
            for at, placed in enumerate(file.blocks):
                checkpoint()
                functions = file.functions[first : first + len(placed.block.functions)]
                first += len(placed.block.functions)
                if placed.block.launches or any(function.number in by_function for function in functions):
                    found.append((number, at, _in_block(placed, functions, by_function, walked)))
        return tuple(found)

    def _by_name(self, functions: Iterable[Function]) -> _Numbers:
        table: dict[str, list[int]] = defaultdict(list)
        for function in functions:
            table[function.name].append(function.number)
        return {name: tuple(numbers) for name, numbers in table.items()}

    def _functions(self, numbers: _Numbers) -> Mapping[str, Sequence[Function]]:
        return {name: [*map(self.unit.function, group)] for name, group in numbers.items()}

    def _ends(self, function: Function) -> bool:
        """Does it launch or call what is wanted?"""
        if self.outside:
            return not self.outside.keys().isdisjoint(function.definition.body_words)
        return launches_in(function)

    def _tables_of(self, wanted: Collection[str]) -> list[str]:
        """The lists with one of these kernels."""
        return [table.name for table in kernel_tables(self.constants, wanted)]

    def _through_pointers(self, launching: Sequence[Function]) -> list[Function]:
        """The other functions that launch what is no kernel by its name, where it may point to a wanted one."""
        known = {function.number for function in launching}
        rest = [f for f in self.unit.all_functions if f.number not in known and launches_in(f)]
        if not rest or not kernels_with_address(self.unit, self.constants, self._wanted):
            return []
        declared = {
            each.name for each in self.constants.declarations.walk() if isinstance(each, FunctionDecl)
        }
        named = self._kernels[0] | declared
        return [f for f in rest if not f.definition.launched <= named or "<<<" not in f.definition.words]

    @cached_property
    def leading(self) -> Mapping[str, Sequence[Function]]:
        """The functions that lead to launches over three calls at most, by name."""
        return self._functions(_LEADING.of(self.store, (), lambda: self._by_name(self._find_leading())))

    def _find_leading(self) -> Iterable[Function]:
        leading = {function.number: function for function in self.launching}
        for _ in range(_DEEPEST):
            names = frozenset(f.name for f in leading.values() if not f.is_kernel)
            for function in self.unit.all_functions:
                checkpoint()
                if function.number not in leading and not function.is_kernel:
                    if not names.isdisjoint(function.definition.body_words):
                        leading[function.number] = function
        return leading.values()

    @cached_property
    def valued(self) -> Mapping[str, Sequence[Function]]:
        """Host functions that return a number, a ``dim3`` or a kernel, by name."""
        return self._functions(_VALUED.of(self.store, (), lambda: self._by_name(self._find_valued())))

    def _find_valued(self) -> Iterator[Function]:
        kernels = self._kernels[0]
        for function in self.unit.all_functions:
            if function.is_kernel or function.name in self.leading:
                continue
            if (
                gives_number(function)
                or gives_one_of(function, kernels)
                or gives_object(function, self._aggregates)
                or filled(function)
            ):
                yield function

    @cached_property
    def _aggregates(self) -> frozenset[str]:
        """Names of the classes in sight."""
        return frozenset(
            each.name for each in self.constants.declarations.walk() if isinstance(each, ClassDecl)
        )

    @cached_property
    def by_value(self) -> Mapping[str, frozenset[int]]:
        """See ``changed_arguments``."""
        return _BY_VALUE.of(self.store, (), partial(changed_arguments, self.unit, self.constants))

    @cached_property
    def _kernels(self) -> tuple[frozenset[str], frozenset[str]]:
        """Names of the kernels, and of those with launch bounds."""
        kernels = [function for function in self.unit.all_functions if function.is_kernel]
        bounded = (f.name for f in kernels if CUDA.launch_bounds in f.definition.head.texts)
        return frozenset(f.name for f in kernels), frozenset(bounded)

    @cached_property
    def overloads(self) -> Mapping[str, Sequence[Function]]:
        """Kernels that share a name with others."""
        table: dict[str, list[Function]] = defaultdict(list)
        for function in self.unit.all_functions:
            if function.is_kernel:
                table[function.name].append(function)
        return {name: kernels for name, kernels in table.items() if len(kernels) > 1}

    @cached_property
    def tables(self) -> Mapping[str, KernelTable]:
        """Lists of kernels at namespace scope, by name."""
        found = [
            table for table in kernel_tables(self.constants, self._kernels[0]) if table.value is not None
        ]
        counts = Counter(table.name for table in found)
        return {table.name: table for table in found if counts[table.name] == 1}

    def walked(self, callers: Callers | None = None) -> _Walked:
        """Walk every function that leads to launches, those that others call from there only, and from the calls of
        other files, where these are known."""
        return _WALKED.of(self.store, _key_of(callers), partial(self._walk_all, callers))

    def _walk_all(self, callers: Callers | None) -> _Walked:
        everything = [function for group in self.leading.values() for function in group]
        everything.sort(key=lambda function: function.number)
        gathered = _Gathered(self._called(everything), {name: {} for name in self.outside})
        for function in everything:
            self._gather_from_outside(gathered, function, callers)
        for each in instantiations(self.unit, self.constants, self.leading):
            for function in self.leading[each.template]:
                if function.island.template and not function.is_kernel:
                    self._gather(gathered, function, bound=bound_names(function, each, self.constants))
        for function in everything:
            if gathered.misses(function) and self._ends(function):
                self._gather(gathered, function)
        if self.outside:
            gathered.unread |= unseen(self.unit, self.outside, gathered.known)
        return gathered.walked()

    def _called(self, functions: Iterable[Function]) -> frozenset[str]:
        """The names of functions that lead to launches, as far as another of the ``functions`` has them."""
        called: set[str] = set()
        for function in functions:
            checkpoint()
            called |= (self.leading.keys() & function.definition.body_words) - {function.name}
        return frozenset(called)

    def _gather_from_outside(self, gathered: _Gathered, function: Function, callers: Callers | None) -> None:
        """Walk a function as other files call it: with what they pass, or with anything where nothing here calls it."""
        called = function.name in gathered.called
        if not called and self.outside and self._unused(function):
            gathered.seen[function.number].add((0, len(function.definition.body)))
            return
        others = None if callers is None else callers.get(function.number)
        if others is None:
            others = () if called else (NOTHING,)
        for given in others:
            self._gather(gathered, function, given)

    def _gather(
        self,
        gathered: _Gathered,
        function: Function,
        given: Passed = NOTHING,
        bound: dict[str, Argument] | None = None,
    ) -> None:
        """Add what a function leads to, with what it is ``given`` and the template arguments that are ``bound``."""
        reached, answer = self._walk(function, bound, given.unplaced)
        for name, at, start, each in answer.passed:
            gathered.passed[name].setdefault(each, self._place(reached[at], start))
        gathered.unread.update(self.outside if answer.cut else answer.named & self.outside.keys())
        gathered.add(answer, reached)
        found = _numbered(answer, reached)
        if given.place:
            found = [each._replace(site=replace(each.site, caller=given.place)) for each in found]
        if function.name not in gathered.called and self._unused(function):
            found = [each for each in found if each.site.kernel != ANY_KERNEL]
        gathered.launches.update(dict.fromkeys(found))

    def _place(self, function: Function, offset: int) -> str:
        """``main.cu:12``, of an offset in a function."""
        source = self.unit.file_of(function.number).source
        return f"{source.path}:{source.line_number(function.start + offset)}"

    def _unused(self, function: Function) -> bool:
        """Is it a function of a header that only units which read it can call, as this one does not?"""
        path = self.unit.file_of(function.number).source.path
        return path != self.unit.main and bound_to_unit(function)

    def asking(self) -> Iterator[tuple[Function, ExternalFunction]]:
        """The functions that other files may call, and that pass on what they are given to the block or the dynamic
        bytes of a launch, or to a function outside."""
        asking = _ASKING.of(self.store, (), lambda: tuple(self._find_asking()))
        return ((self.unit.function(number), outside) for number, outside in asking)

    def _find_asking(self) -> Iterator[tuple[int, ExternalFunction]]:
        for group in self.leading.values():
            for function in group:
                checkpoint()
                names = [d.name for each in function.parameters or () for d in each.declarators if d.name]
                if not names or function.is_kernel:
                    continue
                own = {*names, *(f"{name}.{axis}" for name in names for axis in "xyz")}
                outside = outside_of(self.unit, self.constants, function)
                if outside is None:
                    continue
                _, answer = self._walk(function, None)
                if any(each.name in own for each in _decisive(answer)):
                    yield function.number, outside

    def in_context(self, number: int, bound: dict[str, Argument] | None) -> list[HostLaunch]:
        """The launches that a function leads to where these template arguments are bound; None: whatever they are."""
        function = self.unit.function(number)
        if not any(
            map(launches_in, self._about(function)[0])
        ):  # it gives a kernel to others, which launch it
            return []
        reached, answer = self._walk(function, bound)
        return _numbered(answer, reached)

    def _walk(
        self, function: Function, bound: dict[str, Argument] | None, passed: Passed = NOTHING
    ) -> tuple[Sequence[Function], _Answer]:
        reached, open_, about = self._about(function)
        key = (
            about,
            None if bound is None else names_text(bound),
            None if bound is None and not open_ else self.constants.declarations.mark,
            passed,
        )
        answer = partial(self._answer, reached, bound, passed)
        return reached, _WALK.of(PROCESS, key, answer)

    def _about(self, function: Function) -> tuple[Sequence[Function], bool, object]:
        """The functions that a walk of one may enter; whether more of the file may decide about it; and the one object
        for all else that decides, whatever is passed and bound."""
        work = partial(self._find_about, function)
        numbers, open_, about = _ABOUT_OF.of(self.store, function.number, work)
        return [*map(self.unit.function, numbers)], open_, about

    def _find_about(self, function: Function) -> tuple[tuple[int, ...], bool, object]:
        reached = self._reached(function)
        words = frozenset().union(*(each.definition.words for each in reached))
        kernels, bounded = self._kernels
        overloads = [
            (name, tuple(map(signature, self.overloads[name])))
            for name in sorted(self.overloads.keys() & words)
        ]
        outside = tuple(self.outside[name] for name in sorted(self.outside.keys() & words))
        key = (
            tuple(identify(self.unit, self.constants, each) for each in reached),
            tuple(each.definition.text for each in reached),  # places are told, and comments move them
            tuple(each.is_kernel for each in reached),
            tuple(sorted((name, self.by_value[name]) for name in words & self.by_value.keys())),
            words & kernels,
            words & bounded,
            tuple(overloads),
            tuple(self.tables[name] for name in sorted(self.tables.keys() & words)),
            outside,
        )
        weight = _OF_ABOUT + len(function.definition.text) + _OF_REACHED * len(reached)
        about = _ABOUT.of(PROCESS, key, object, weigh=lambda _: weight)
        return tuple(each.number for each in reached), bool(overloads or outside), about

    def _reached(self, function: Function) -> list[Function]:
        """A function and those that a walk of it may enter."""
        found = {function.number: function}
        stack = [function]
        while stack:
            checkpoint()
            words = stack.pop().definition.body_words
            for table in (self.leading, self.valued):
                for name in sorted(table.keys() & words):
                    for other in table[name]:
                        if other.number not in found and not other.is_kernel:
                            found[other.number] = other
                            stack.append(other)
        return list(found.values())

    def _answer(
        self, reached: Sequence[Function], bound: dict[str, Argument] | None, passed: Passed
    ) -> _Answer:
        tables: list[dict[str, list[tuple[int, Function]]]] = [{}, {}]
        for at, function in enumerate(reached):
            table = tables[function.name not in self.leading]
            table.setdefault(function.name, []).append((at, function))
        kernels, bounded = self._kernels
        callees = Callees(
            self.constants,
            tables[0],
            tables[1],
            self.by_value,
            kernels,
            bounded,
            self.overloads,
            self.tables,
            self.outside,
            self._bodies,
        )
        for effort in _EFFORTS:
            finder = LaunchFinder(callees, effort)
            try:
                finder.run(0, reached[0], bound, passed)
            except TooMuch:
                continue
            return _Answer(
                tuple(dict.fromkeys(finder.found)),
                frozenset(finder.entered),
                frozenset(finder.named),
                frozenset(finder.skipped),
                tuple(dict.fromkeys(finder.passed)),
                frozenset(finder.seen),
            )
        found = dict.fromkeys(finder.found_open())  # up to where it was too much
        return _Answer(tuple(found), frozenset(), frozenset(tables[0]), frozenset(), cut=True)


def _decisive(answer: _Answer) -> Iterator[Symbol]:
    """The symbols in blocks and dynamic bytes of launches, and in what is passed to other files."""
    for found in answer.found:
        for term in (*found.site.terms.block, found.site.terms.dynamic):
            yield from () if term is None else term.symbols
    for *_, passed in answer.passed:
        yield from passed.names


_DEEPEST = 3  # calls between a function and the launch that it leads to
_EFFORTS = (Effort(2_500, 8, _DEEPEST), Effort(5_000, 1, 0))  # the second one where the first one is too much


def _launching(
    functions: Sequence[Function], wanted: Collection[str], tables: Collection[str]
) -> list[Function]:
    """The functions with launches that name a wanted kernel, or ask for one by a string, that one which names it may
    pass it on to, or that get it from a function which returns it, or from one of the ``tables``."""
    launching = [function for function in functions if launches_in(function)]
    if not launching:
        return []
    kernels = frozenset(wanted)
    telling = [f for f in functions if not (kernels | kernel_getters()).isdisjoint(f.definition.body_words)]
    names = kernels.union(kernel_getters(), tables, (f.name for f in telling if gives_one_of(f, kernels)))
    passed = frozenset[str]().union(*(function.definition.body_words for function in telling))
    passing = [*launching, *(f for f in functions if f.island.template and not f.is_kernel)]
    for _ in range(_DEEPEST):
        more = [function for function in passing if function.name in passed]
        passed = passed.union(*(function.definition.body_words for function in more))
    return [f for f in launching if f.name in passed or not names.isdisjoint(f.definition.body_words)]


def _key_of(callers: Callers | None) -> object:
    return None if callers is None else tuple(sorted(callers.items()))


def _numbered(answer: _Answer, reached: Sequence[Function]) -> list[HostLaunch]:
    found: list[HostLaunch] = []
    for each in answer.found:
        named = each.named
        where = named
        if named is not None and named[0] != IN_TABLE:
            where = reached[named[0]].number, named[1], named[2]
        found.append(HostLaunch(reached[each.function].number, each.site, where, each.opening))
    return found


def _bounded(launches: Iterable[HostLaunch]) -> list[HostLaunch]:
    """At most eight variants of each launch of one kernel; more of them as one that says only what all share."""
    groups: dict[object, list[HostLaunch]] = defaultdict(list)
    for launch in launches:
        site = launch.site
        groups[launch.function, launch.named, site.kernel, site.signature, site.span].append(launch)
    kept: list[HostLaunch] = []
    for group in groups.values():
        checkpoint()
        if len(group) > MOST_VARIANTS:
            site = group[0].site
            for other in group[1:]:
                site = _shared(site, other.site)
            group = [group[0]._replace(site=site)]
        count = len(group)
        kept += (
            [each._replace(site=replace(each.site, variants=count)) for each in group] if count > 1 else group
        )
    return kept


def _shared(one: LaunchSite, other: LaunchSite) -> LaunchSite:
    """What two variants of a launch have in common."""
    mine, theirs = one.terms, other.terms
    block = tuple(map(_if_equal, mine.block, theirs.block))
    grid = tuple(map(_if_equal, mine.grid, theirs.grid))
    same = len(mine.arguments) == len(theirs.arguments)
    terms = HostTerms(
        (block[0], block[1], block[2]),
        (grid[0], grid[1], grid[2]),
        _if_equal(mine.dynamic, theirs.dynamic),
        tuple(map(_if_equal, mine.arguments, theirs.arguments)) if same else (),
        tuple(fact for fact in mine.conditions if fact in theirs.conditions),
        mine.template if mine.template == theirs.template else (),
        tuple(each for each in mine.members if each in theirs.members) if same else (),
    )
    return replace(
        one,
        block=_if_equal(one.block, other.block),
        grid=_if_equal(one.grid, other.grid),
        cluster=_if_equal(one.cluster, other.cluster),
        dynamic_bytes=_if_equal(one.dynamic_bytes, other.dynamic_bytes),
        impossible=_if_equal(one.impossible, other.impossible),
        addends=one.addends if one.addends == other.addends else (),
        open=one.open or other.open,
        unfollowed=one.unfollowed or other.unfollowed,
        doubted=one.doubted or other.doubted,
        caller=_if_equal(one.caller, other.caller),
        terms=terms,
    )


def _if_equal(one: T, other: T) -> T | None:
    return one if one == other else None
