"""The verdict on a kernel: every pair of accesses of one barrier interval decided, or the reason why not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from smem_lsp.analysis.decision.barriers import BarrierJudge
from smem_lsp.analysis.decision.divergence import Reachability
from smem_lsp.analysis.decision.either import at_least, either
from smem_lsp.analysis.decision.interval_starts import IntervalStarts
from smem_lsp.analysis.decision.kernel_model import KernelModel, Ways, Where
from smem_lsp.analysis.decision.model import Decision, PairVerdict, Undecided, Verdict, VerdictKind
from smem_lsp.analysis.decision.most_telling import most_telling
from smem_lsp.analysis.decision.orderings import (
    halves_of,
    of_all,
    of_arms,
    orderings,
    orders_a_tile,
    orders_a_warp,
    orders_warps,
)
from smem_lsp.analysis.decision.path_classes import SAME_TURN, Open, Ordering, Pair, PathClass, by_place
from smem_lsp.analysis.decision.question import RaceQueries
from smem_lsp.analysis.decision.reasons import Assumption, Reason, ReasonKind
from smem_lsp.analysis.decision.reply import PairResult
from smem_lsp.analysis.decision.unknowns import Origin
from smem_lsp.analysis.threads.divergence import Verdicts
from smem_lsp.analysis.threads.uniformity import Control
from smem_lsp.analysis.values.block_shape import BlockShape, most_threads
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.causes import Opens
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Axes,
    BarrierKind,
    Branch,
    Dims,
    Kernel,
    Loop,
    Proxy,
)
from smem_lsp.ir.places import At, Row
from smem_lsp.ir.values import Const, Sym
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.terms import language
from smem_lsp.terms.language import POINTS, LoopVar, OpaqueTerm

_MOST = 160_000  # meetings of the accesses of a kernel, as ``KernelModel`` counts them
_FEW = 400  # accesses that have no more however they meet
_TO_TELL = (
    700_000  # about all pairs of it, shared among the instances of a template: the first one may tell with it
)
_TO_DECIDE = 2_800_000  # the same, where its verdict is asked for
_LEAST_TO_TELL = 120_000
_LEAST_EFFORT = 250_000  # one hard pair
_MANY_WAYS = 4  # that are asked about together first
_OF_THE_REST = 350_000  # where the kernel stays undecided whatever the rest comes to
_MOST_HARD = 6  # pairs too hard, behind which others most likely are, too
_LEAST_OF_BARRIERS = 150_000
_OF_BARRIERS = 240_000  # effort about the barriers of a kernel
_OF_PLACES = 240_000  # about the places of a kernel with many accesses
_TOO_HARD = Reason(ReasonKind.TOO_HARD)


@dataclass(slots=True)
class RaceChecker:
    """Decides the pairs of accesses of one kernel. ``dims``: the block; None: every block with threads in ``axes``, of
    ``most`` threads in x, y and z, where these are fewer than a launch may have;
    ``added``: places (points) where a barrier of the block is taken to stand; ``in_warps``: one of a warp;
    ``covering``: waits for copies, as in ``Ordering``. What was decided once, for whatever use, is kept."""

    of: KernelModel
    verdicts: Verdicts
    dims: Dims | None
    added: frozenset[int] = frozenset()
    in_warps: frozenset[int] = frozenset()
    covering: frozenset[tuple[int, int]] = frozenset()
    most: Dims | None = None
    asker: RaceQueries = field(init=False)
    barriers: BarrierJudge = field(init=False)
    _every: list[Open] | None = None
    _own: frozenset[Where] | None = None
    _given: int = 0

    def __post_init__(self) -> None:
        of = self.of
        self.asker = asker_of(of, self.dims, most=self.most)
        effort = max(_LEAST_OF_BARRIERS, _OF_BARRIERS // (of.kernel.siblings + 1))
        asker = replace(self.asker, effort=of.effort(effort))
        self.barriers = BarrierJudge(asker, of.control, self.verdicts.paired)

    def decisions(
        self, asked: Collection[Pair] | None = None, *, to_tell: bool = False
    ) -> Iterator[Decision]:
        """Of all pairs that no proved barrier separates. ``asked``: only of these; ``to_tell``: only of those that may
        be told, with known addresses and nothing unknown that may order them."""
        kernel, accesses = self.of.kernel, self.of.accesses
        if kernel.irregular is not None or self.is_too_large:
            return
        self.asker.to_tell = to_tell
        if asked is None:
            opened = self.every_pair()
        else:
            points = {point for pair in asked for point in pair}
            opened = self.open_pairs([access for access in accesses if access.point in points])
        if not to_tell:
            share = max(_LEAST_EFFORT, _TO_DECIDE // (kernel.siblings + 1))
        elif kernel.foremost:
            share = _TO_TELL  # what one instance shows is told, whatever is left for the others
        else:
            share = max(_LEAST_TO_TELL, _TO_TELL // (kernel.siblings + 1))
        self.asker.effort = self._given = self.of.effort(share)
        hard = 0
        first, others = self.to_be_told(opened)
        told = (replace(each, ways=each.surely) for each in first)
        for each in told if to_tell else (*first, *others):
            checkpoint()
            if to_tell and self.asker.effort <= 0:
                return
            if asked is None or (each.first.point, each.second.point) in asked:
                decision = decide(self.asker, each)
                hard += decision.reason == _TOO_HARD
                settled = (
                    asked is None
                    and not to_tell
                    and decision.answer in (PairVerdict.UNDECIDED, PairVerdict.PRESUMED)
                )
                if settled or hard >= _MOST_HARD:
                    self.asker.effort = min(self.asker.effort, self.of.effort(_OF_THE_REST))
                yield decision

    def to_be_told(self, opened: Sequence[Open]) -> tuple[list[Open], list[Open]]:
        """The pairs that may be told, with known addresses and nothing unknown that may order them, and all others."""
        first, others = list[Open](), list[Open]()
        for each in opened:
            known = each.surely and self.is_followed(each.first) and self.is_followed(each.second)
            (first if known else others).append(each)
        return most_telling(self.of, first), others

    @property
    def is_too_large(self) -> bool:
        """Are there too many pairs to ask about?"""
        return len(self.of.accesses) > _FEW and self.of.meetings(self.own_places, _MOST) > _MOST

    @property
    def own_places(self) -> frozenset[Where]:
        """Of a kernel with many accesses, the places where each thread touches bytes of its own: whatever stands around
        two accesses there, they are apart."""
        if self._own is None:
            asker = replace(self.asker, effort=self.of.effort(_OF_PLACES))
            shared = self.of.shared_places.items()
            self._own = frozenset(place for place, access in shared if asker.is_of_each_thread(access))
        return self._own

    @property
    def valid(self) -> Control:
        """The control flow of every run in which no thread misses a barrier that others wait at."""
        control, reached = self.of.control, self.barriers.reached
        taken = reached.meant | control.alike | reached.uniform
        return self.of.control_where(taken) if reached.meant else control

    @property
    def spent(self) -> int:
        """Effort of the decisions that were asked for last."""
        return self._given - self.asker.effort

    def every_pair(self) -> list[Open]:
        if self._every is None:
            self._every = self.open_pairs(self.of.accesses)
        return self._every

    def is_followed(self, access: Access) -> bool:
        """Is it known what the access touches?"""
        if access.guess or access.is_unplaced:
            return False
        values = self.of.values
        known = access.point in values.indices or access.point in values.offsets
        return known or (access.asynchronous and access.point in values.copied)

    def verdict(self, shape: BlockShape | None, decisions: Sequence[Decision]) -> Verdict:
        """What the decisions on all pairs come to, under a block that is named, or under every one."""
        kernel = self.of.kernel
        reasons = list(_incomplete(self.of, self.barriers))
        if self.is_too_large:
            reasons.append(Undecided(kernel.row, Reason(ReasonKind.MANY_PAIRS)))
        unsafe = [each for each in decisions if not each.answer.is_safe]
        reasons += [Undecided(each.second.line, each.why) for each in unsafe if each.why is not None]
        racy = any(each.answer.is_race for each in unsafe)
        kind = VerdictKind.RACY if racy else VerdictKind.UNDECIDED if reasons else VerdictKind.RACE_FREE
        in_bounds = any(each.answer is PairVerdict.IN_BOUNDS for each in decisions)
        signed = tuple(sorted(self.asker.not_negative))
        return Verdict(
            kind,
            () if shape is None else (shape,),
            self.asker.axes,
            len(decisions),
            len(decisions) - len(unsafe),
            (*((Assumption(),) if in_bounds else ()), *((Assumption(signed),) if signed else ())),
            tuple(reasons),
            tuple(unsafe),
            self.most,
        )

    def open_pairs(
        self, accesses: Sequence[Access], removed: frozenset[int] | None = None, *, prove: bool = False
    ) -> list[Open]:
        """All pairs that may conflict and that no proved barrier separates. ``removed``: barriers that are taken away;
        then nothing counts that holds only in runs without a race; ``prove``: nothing is to be told of them.

        Surely in one interval are those that are so in every run in which no thread misses a barrier that others wait
        at: what threads decide in front of it is taken to be the same for all, unless their numbers decide."""
        of, control, own = self.of, self.of.control, self.own_places
        if removed is None:
            reached = self.barriers.reached
            alike = control.alike | reached.uniform
            self.asker.meant = reached.meant
            valid = self.valid
            proved = control.barriers | control.alike | self.verdicts.paired | reached.ordering
        else:
            alike, proved, valid = frozenset[int](), control.barriers - removed, control
        proved = proved & {node.point for node in of.barriers} | self.added | of_all(of, self.dims)
        warps = self.in_warps.union(node.point for node in of.barriers if orders_a_warp(of, node))
        uniform = control.uniform | alike
        surely = Ordering(
            proved,
            uniform,
            covering=self.covering,
            halves=halves_of(of),
            paired=self.verdicts.paired if removed is None else frozenset(),
            of_arms=of_arms(of, self.dims) if removed is None else frozenset(),
        )
        plain = partial(orderings, of, surely, meant=uniform | valid.uniform, prove=prove)
        wide = {node.point: node.lanes for node in of.barriers if orders_warps(of, node)}
        tiles = {node.point: node.lanes for node in of.barriers if orders_a_tile(node)}
        warps = warps.union(wide)
        across = [of.ways(accesses, each, own) for each in plain()]
        together = [of.ways(accesses, each, own) for each in plain(frozenset(wide))] if wide else across
        within = across
        if warps or of.kernel.presumed or (of.delivered and not prove):
            within = [of.ways(accesses, each, own) for each in plain(warps, in_warp=True)]
        beside = within
        if tiles:
            beside = [of.ways(accesses, each, own) for each in plain(warps.union(tiles), in_warp=True)]
        nodes, ours = {access.point: access for access in accesses}, _collectives(of.accesses)
        found = [
            *_opened(nodes, together, beside, ours),
            *_beside(nodes, within, beside, tiles.values(), lanes=True),
            *_beside(nodes, across, together, wide.values(), lanes=False),
        ]
        return list(map(self.starts(proved | valid.barriers).told, found))

    def starts(self, proved: Collection[int]) -> IntervalStarts:
        """``proved``: barriers (points) that order all threads, in every run that is right."""
        of = self.of
        doubtful = [
            each for each in of.barriers if each.kind is not BarrierKind.WARP and each.point not in proved
        ]
        branches = frozenset(each.point for each in of.nodes if isinstance(each, Branch))
        return IntervalStarts(of.positions, doubtful, branches)


def _opened(
    nodes: Mapping[int, Access],
    across: Sequence[Ways],
    within: Sequence[Ways],
    collectives: Mapping[int, int],
) -> Iterator[Open]:
    none = frozenset[PathClass]()
    for pair, ways in across[0].items():
        first, second = nodes[pair[0]], nodes[pair[1]]
        mine = collectives.get(first.point)
        if mine is not None and mine == collectives.get(second.point) and ways <= {SAME_TURN}:
            continue  # a collective orders its own threads
        # threads that copy together divide the bytes among them
        apart = frozenset((SAME_TURN,)) if first is second and first.divided else none
        surely, near = (
            found[1].get(pair, none) - apart if len(found) > 1 else none for found in (across, within)
        )
        presumed, likely = (
            found[2].get(pair, none) - apart - sure if len(found) > 2 else none
            for found, sure in ((across, surely), (within, near))
        )
        ways = (ways | surely | presumed) - apart
        inside = (within[0].get(pair, none) | near | likely) - apart
        if ways and inside == ways and near == surely and likely == presumed:
            yield Open(first, second, ways, surely, None, presumed=presumed)
            continue
        if ways:
            yield Open(first, second, ways, surely, lanes=False, presumed=presumed)
        if inside:
            yield Open(first, second, inside, near, lanes=True, presumed=likely)


def _beside(
    nodes: Mapping[int, Access],
    every: Sequence[Ways],
    inside: Sequence[Ways],
    sizes: Collection[int],
    *,
    lanes: bool,
) -> Iterator[Open]:
    """Pairs that only barriers of tiles order, for threads of different tiles: ``lanes`` of one warp, or threads of
    different ones. ``every``: the ways of such threads; ``inside``: of those of one tile; ``sizes``: of the tiles that
    barriers are for."""
    none = frozenset[PathClass]()
    for pair, ways in every[0].items() if sizes else ():
        left = ways - inside[0].get(pair, none)
        if left:
            surely = len(set(sizes)) == 1 and len(every) > 1
            known = every[1].get(pair, none) & left if surely else none
            yield Open(nodes[pair[0]], nodes[pair[1]], left, known, lanes, min(sizes))


def _collectives(accesses: Iterable[Access]) -> Mapping[int, int]:
    """The collective call that an access (point) to its storage belongs to: each has one in front and one behind."""
    calls: dict[int, int] = {}
    open_: dict[tuple[int, At | None, Row], int] = {}  # storage and place in the text -> the access in front
    for access in sorted(accesses, key=lambda each: each.point):
        if access.serves:
            key = access.buffer, access.span, access.line
            front = open_.pop(key, None)
            if front is None:
                open_[key] = front = access.point
            calls[access.point] = front
    return calls


def _grid(kernel: Kernel, dims: Dims | None, of_all: Callable[[list[int]], int]) -> Axes:
    """``of_all`` blocks, per axis, of the launches with this block; None where one is not known."""
    sites = [site for site in kernel.launches if dims is None or site.block in (None, dims)]
    known = ([n for site in sites if (n := site.grid_axes[axis]) is not None] for axis in range(3))
    x, y, z = (of_all(each) if sites and len(each) == len(sites) else None for each in known)
    return x, y, z


def asker_of(of: KernelModel, dims: Dims | None, effort: int = 0, most: Dims | None = None) -> RaceQueries:
    """Asks about the kernel in a block of ``dims``; None: in any block, of ``most`` threads in x, y and z."""
    most = dims or most or most_threads(of.kernel)
    bounds = Bounds(of.values.loops, most, exact=dims is not None, given=of.begun(dims))
    passed = tuple(_passed(of.kernel, dims))
    grid = _grid(of.kernel, dims, max)
    fewest = _grid(of.kernel, dims, min)
    return RaceQueries(of, dims, _axes(of.values, dims), bounds, grid, passed, effort=effort, fewest=fewest)


def _passed(kernel: Kernel, dims: Dims | None) -> Iterator[Mapping[str, int]]:
    """The parameters that each launch with this block passes as numbers."""
    for site in kernel.launches:
        if site.block is not None and site.block == dims:
            sides = ((each.left, each.right) for each in site.equalities)
            yield {one.name: n.n for one, n in sides if isinstance(one, Sym) and isinstance(n, Const)}


def _axes(values: ValueFacts, dims: Dims | None) -> str:
    """The axes in which a block has more than one thread: not those of which all launches say that it has one."""
    if dims is not None:
        return "".join(axis for axis, size in zip("xyz", dims) if size > 1) or "x"
    single = {_that_is_one(each) for each in values.given}
    return "".join(axis for axis in values.axes() if f"blockDim.{axis}" not in single) or "x"


def _that_is_one(fact: language.Term) -> str | None:
    """The symbol of ``n == 1``. It is read, not compared with a term made for that: which terms a kernel has says what
    it asks for."""
    if isinstance(fact, language.Op) and fact.operator == "==":
        one, other = fact.args
        if isinstance(one, language.Sym) and isinstance(other, language.Const) and other.n == 1:
            return one.name
    return None


def decide(asker: RaceQueries, pair: Open) -> Decision:
    """The worst answer on any way."""
    worst: Decision | None = None
    for way in _left_open(asker, pair, by_place(_widest(pair.ways))):
        checkpoint()
        certain = not (pair.first.guess or pair.second.guess)
        if certain and way in pair.presumed:
            found = _presumed(asker, pair, way)
            if found is not None:
                worst = _worse(worst, found)
                continue
        unsure = not (certain and way in pair.surely)
        reply = asker.ask(pair.first, pair.second, way, lanes=pair.lanes, tile=pair.tile, prove=unsure)
        if pair.lanes is None and reply.answer.is_race and not unsure:
            # between warps, too? No barrier of a warp would do then
            wider = asker.ask(pair.first, pair.second, way, lanes=False)
            reply = wider if wider.answer.is_race else reply
        if pair.lanes is None and reply.answer is PairVerdict.DATA and not unsure:
            # within a warp, and only there, for data of no special kind?
            if asker.ask(pair.first, pair.second, way, lanes=False).answer.is_safe:
                near = asker.ask(pair.first, pair.second, way, lanes=True)
                reply = near if near.answer is PairVerdict.LIKELY else reply
        worst = _worse(worst, _decision(asker.of, pair, way, reply))
        if worst.answer.is_race and worst.answer is not PairVerdict.CONDITION:
            break
    if worst is None:
        return _decision(asker.of, pair, by_place(pair.ways)[0], PairResult(PairVerdict.APART))
    if worst.answer.is_race and asker.of.kernel.presumed:
        crossing = (each for each in by_place(pair.ways) if each.crossed is not None)
        way = next(crossing) if worst.back else SAME_TURN
        return replace(worst, calls=tuple(_named_between(asker.of, pair, way)))
    return worst


def _worse(known: Decision | None, found: Decision) -> Decision:
    """The worse of two of the same pair, on different ways."""
    if known is None:
        return found
    if found.answer is known.answer is PairVerdict.CONDITION:
        return either(known, found)
    if _RANK[found.answer] > _RANK[known.answer]:
        return at_least(found, known)
    return at_least(known, found)


def _left_open(asker: RaceQueries, pair: Open, ways: Sequence[PathClass]) -> list[PathClass]:
    """Those that have to be asked about one by one: where there are many over one loop, or in one iteration, one
    question often shows that the accesses meet on none."""
    alike: dict[PathClass, list[PathClass]] = {}
    for way in ways:
        alike.setdefault(way.widest, []).append(way)
    answered = {
        widest
        for widest, found in alike.items()
        if len(found) >= _MANY_WAYS
        and asker.are_apart(pair.first, pair.second, widest, found, pair.lanes, pair.tile)
    }
    return [way for way in ways if way.widest not in answered]


_RANK = {answer: rank for rank, answer in enumerate(PairVerdict)}


def _widest(ways: frozenset[PathClass]) -> frozenset[PathClass]:
    """Without those that another one includes: several iterations may be one."""
    return frozenset(
        way for way in ways if way.several or way._replace(several=True, iterations=1) not in ways
    )


def _presumed(asker: RaceQueries, pair: Open, way: PathClass) -> Decision | None:
    """They meet, unless a call orders them of which nothing says so. None: they do not, or it is not known."""
    for lanes in (pair.lanes,) if pair.lanes is not None else (False, True):
        reply = asker.ask(pair.first, pair.second, way, lanes=lanes, tile=pair.tile)
        if reply.answer.is_race or reply.answer is PairVerdict.DATA:
            calls = _calls_between(asker.of, pair, way)
            reason = Reason(ReasonKind.CALL_ORDERS, calls[:1])
            found = _decision(asker.of, replace(pair, surely=frozenset((way,)), lanes=lanes), way, reply)
            return replace(found, answer=PairVerdict.PRESUMED, reason=reason, calls=calls)
    return None


def _what_may_order(of: KernelModel, pair: Open) -> Reason:
    exchanged = pair.lanes and any(load == pair.first.point for _, load in of.delivered)
    return Reason(ReasonKind.EXCHANGE_ORDERS if exchanged else ReasonKind.SOMETHING_ORDERS)


def _decision(of: KernelModel, pair: Open, way: PathClass, reply: PairResult) -> Decision:
    answer, reason = reply.answer, None
    if not answer.is_safe:
        if way not in pair.surely:
            answer, reason = PairVerdict.UNDECIDED, _what_may_order(of, pair)
        elif pair.first.guess or pair.second.guess:
            answer, reason = PairVerdict.UNDECIDED, Reason(ReasonKind.GUESSED)
        elif answer is PairVerdict.UNDECIDED:
            reason = _why(of, reply, pair)
    return Decision(
        pair.first,
        pair.second,
        answer,
        lanes=bool(pair.lanes),
        back=way.crossed is not None,
        witness=reply.witness,
        reason=reason,
        condition=reply.condition,
        any_block=reply.any_block,
    )


def _calls_between(of: KernelModel, pair: Open, way: PathClass) -> tuple[str, ...]:
    """The names of the calls between two accesses that are presumed to order nothing; of all, if none is found."""
    every = (each.name for point, each in of.kernel.presumed.items() if point not in of.control.split)
    return tuple(dict.fromkeys(_named_between(of, pair, way) or every))


def _named_between(of: KernelModel, pair: Open, way: PathClass) -> list[str]:
    first, second = pair.first.point, pair.second.point
    every = {point: each.name for point, each in of.kernel.presumed.items() if point not in of.control.split}
    around: tuple[range, ...] = (range(min(first, second) + 1, max(first, second) + 1),)
    if way.crossed is not None:
        loop = next(node for node in of.nodes if isinstance(node, Loop) and node.point == way.crossed)
        around = range(first + 1, loop.end_point + 1), range(loop.point, second + 1)
    found = [name for point, name in every.items() if any(point in each for each in around)]
    return list(dict.fromkeys(found))


def _why(of: KernelModel, reply: PairResult, pair: Open) -> Reason:
    unknown = Origin.UNKNOWN in reply.origin
    if reply.why is ReasonKind.NO_SOLVER or (reply.why is ReasonKind.TOO_HARD and not unknown):
        return Reason(reply.why)
    for term in reply.unknown:
        if isinstance(term, LoopVar):
            return Reason(ReasonKind.LOOP_VARIABLE, (_variable(of, term.variable),))
        if isinstance(term, OpaqueTerm):
            return _of_unknown(of, term)
        if isinstance(term, language.Op) and term.operator.endswith("()") and term.operator not in POINTS:
            return Reason(ReasonKind.CALLED_VALUE, (term.operator.removesuffix("()"),))
    if reply.why is not None and reply.why is not ReasonKind.TOO_HARD:
        return Reason(reply.why)
    if reply.unknown:
        return Reason(ReasonKind.VALUE)
    writes = all(each.kind is AccessKind.WRITE for each in (pair.first, pair.second))
    return Reason(ReasonKind.SAME_VALUE if writes else ReasonKind.ADDRESS)


def _of_unknown(of: KernelModel, term: OpaqueTerm) -> Reason:
    if term.call:
        return Reason(ReasonKind.CALLED_VALUE, (term.call,))
    if term.origin == "exit":
        left = (each.variable for exits in of.values.exits.values() for each in exits if each.value is term)
        return Reason(ReasonKind.VALUE_BEHIND_LOOP, (_variable(of, next(left, None)),))
    if term.origin == "load":
        return Reason(ReasonKind.LOADED_VALUE, (_memory(of, term),))
    return Reason(ReasonKind.VALUE)


def _variable(of: KernelModel, variable: int | None) -> str:
    name = "" if variable is None else of.kernel.variables[variable]
    return name if name.isidentifier() else "a variable"


def _memory(of: KernelModel, load: OpaqueTerm) -> str:
    """What it is loaded from."""
    if load.access is not None:
        read = next((each for each in of.accesses if each.point == load.access), None)
        return "shared memory" if read is None else of.kernel.buffers[read.buffer].name
    pointer = load.sources[0] if load.sources else None
    return pointer.name if isinstance(pointer, language.Sym) else "memory"


def _incomplete(of: KernelModel, barriers: BarrierJudge) -> Iterator[Undecided]:
    """What keeps a kernel from a proof, whatever its pairs are."""
    kernel = of.kernel
    causes = *kernel.open(Opens.FLOW)[:1], *kernel.open(Opens.TEXT)[:1], *kernel.open(Opens.ANYTHING)
    for cause in (*causes, *kernel.open(Opens.ACCESSES)):
        yield Undecided(cause.line or kernel.row, Reason(ReasonKind.NOT_READ, (cause,)))
    for buffer in kernel.buffers:
        if not buffer.placed and not kernel.open(Opens.ACCESSES):
            yield Undecided(kernel.row, Reason(ReasonKind.UNSEEN, (buffer.name,)))
    for site in barriers.sites:
        if barriers.prove(site) is Reachability.UNDECIDED:
            yield Undecided(site.node.line, Reason(_MISSED[barriers.told(site).reach]))
    for node in of.nodes:
        if isinstance(node, Proxy) or (isinstance(node, Access) and node.beside):
            yield Undecided(node.line, Reason(ReasonKind.PROXY))


_MISSED = dict.fromkeys(Reachability, ReasonKind.PERHAPS_MISSED) | {
    Reachability.DATA: ReasonKind.MISSED_BY_DATA,
    Reachability.SIZES: ReasonKind.MISSED_BY_SIZES,
    Reachability.CONDITION: ReasonKind.MISSED_BY_SIZES,
    Reachability.DIVERGES: ReasonKind.MISSED,
}
