"""Every analysis of one kernel: what each needs, what it gives, and the name that it is told by."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial

from smem_lsp.allocation.declared import declared
from smem_lsp.allocation.layouts import layouts, task
from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.analysis.banks.conflicts import BankConflict, bank_conflicts
from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import Interference, interference
from smem_lsp.analysis.dataflow.reaching_writes import unwritten_reads
from smem_lsp.analysis.decision.kernel_model import KernelModel
from smem_lsp.analysis.decision.mispaired import Mispaired
from smem_lsp.analysis.decision.model import Decision, Verdict
from smem_lsp.analysis.decision.verdict import RaceChecker
from smem_lsp.analysis.execution.conflicting_accesses import Pair
from smem_lsp.analysis.execution.named_barrier_arrivals import Miscount
from smem_lsp.analysis.execution.program import NONE_RACE_FREE, NOTHING_ADDED, Added, RaceFree
from smem_lsp.analysis.hazards.candidates import race_free_accesses
from smem_lsp.analysis.hazards.every_block import proved_grounds
from smem_lsp.analysis.hazards.model import (
    Hazards,
    Key,
    MissingLane,
    Overrun,
    ProxyHazard,
    Race,
    all_hazards,
    joined_races,
    with_races,
)
from smem_lsp.analysis.hazards.races import find_hazards
from smem_lsp.analysis.hazards.redundant_barriers import Redundant, redundant_barriers
from smem_lsp.analysis.repairs.barrier_hoisting import Hoist, possible_hoists
from smem_lsp.analysis.repairs.missing_barriers import MissingBarriers, find_missing_barriers, warp_places
from smem_lsp.analysis.storage.dynamic_need import Need, dynamic_need
from smem_lsp.analysis.threads.block_shape import evidence, launched_blocks
from smem_lsp.analysis.threads.divergence import judge
from smem_lsp.analysis.threads.prove import prove
from smem_lsp.analysis.threads.uniformity import prove_levels
from smem_lsp.analysis.values.block_shape import BlockAssumption, BlockShape, dims_of, most_threads
from smem_lsp.analysis.values.extents import extents, in_bounds
from smem_lsp.config import Config
from smem_lsp.facts.any_block import decide_any_block
from smem_lsp.facts.attempts import LIMITS, Limits
from smem_lsp.facts.called_again import called_again
from smem_lsp.facts.caller_reuse import CallerReuse, plan_caller_reuse
from smem_lsp.facts.class_partition import partition_classes, purposes_of_pointers
from smem_lsp.facts.data_dependence import Decides, data_dependences
from smem_lsp.facts.data_flow import DataFlow, data_flow, given_by_all, passed_by_all
from smem_lsp.facts.decided import (
    Races,
    decide_races,
    judge_of,
    not_refuted,
    of_the_block,
    still_racing,
    verdicts_of,
)
from smem_lsp.facts.divergent_barriers import mispairings
from smem_lsp.facts.dynamic_partition import partition_dynamic
from smem_lsp.facts.implied_blocks import as_facts, implied_sizes, races_in_implied_blocks
from smem_lsp.facts.layouts import (
    WORTH_SAYING,
    LayoutCandidate,
    curve_of,
    items_of,
    joined,
    kept_buffers,
    sharing,
)
from smem_lsp.facts.missing_lanes import decided_lanes, with_lanes
from smem_lsp.facts.occupied import Bound, Occupied, bounds, occupied
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.facts.passes import Passes, run_once
from smem_lsp.facts.refills import with_refills
from smem_lsp.facts.stopped import DATA_FLOW, OF_BUDGET
from smem_lsp.facts.term_plans import TermPlan, plans_in_terms, proved_in_terms
from smem_lsp.facts.term_purposes import TermPurposes, purposes_in_terms
from smem_lsp.facts.terms import TermLayout
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nesting import bounded, flattened
from smem_lsp.ir.nodes import AddressSpace, Dims, Kernel
from smem_lsp.source import OutOfBudget
from smem_lsp.targets.every import MAX_THREADS


def _is_followed(of: KernelAnalysis) -> bool:
    return not of.stopped_flow


def _can_share(of: KernelAnalysis) -> bool:
    return of.declared is not None and len(of.items) > 1


def _has_candidates(of: KernelAnalysis) -> bool:
    return of._race_free is not None


def _rests_on_tried_blocks(of: KernelAnalysis) -> bool:
    return not of.flow.shapes


def _has_hazards(of: KernelAnalysis) -> bool:
    return bool(of.hazards.races or of.hazards.proxies)


def _is_free_of_hazards(of: KernelAnalysis) -> bool:
    return of._searched is not None and not _has_hazards(of)


class KernelAnalysis(Passes):
    """What is found out about one kernel, piece by piece, as it is asked for.

    What a method takes from ``self`` is what its pass needs; a pass that was stopped gives what ``otherwise`` says.
    Where the data flow was stopped, what needs no flow of control is still known: buffers, bytes, launches.
    """

    def __init__(self, kernel: Kernel, config: Config, limits: Limits = LIMITS) -> None:
        super().__init__(kernel.instance or kernel.name, limits)
        self.kernel = bounded(kernel)
        self.config = config
        self._in_bounds: dict[BlockShape | None, bool] = {}

    # ---- what needs no flow of control

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Buffers that ptxas keeps, in the order in which it lays them out; empty where a size is not known."""
        return self._known_items or ()

    @cached_property
    def _known_items(self) -> tuple[Item, ...] | None:
        return items_of(kept_buffers(self.kernel))

    @cached_property
    def declared(self) -> Plan | None:
        """As ptxas lays them out; None where a size is not known."""
        if self._known_items is None:
            return None
        buffers = self.kernel.buffers
        return declared([Item(i.index, i.name, i.size, buffers[i.index].align or 1) for i in self.items])

    @cached_property
    def unwritten(self) -> frozenset[int]:
        """Reads (points) that no write can precede, the first of each buffer."""
        return frozenset(each.point for each in unwritten_reads(self.kernel))

    # ---- data flow

    @cached_property
    def flow(self) -> DataFlow:
        """Of the kernel; where that was stopped, of its accesses alone."""
        follow = partial(data_flow, self.kernel, self.config)
        followed = self.run(DATA_FLOW, follow, None, self.limits.kernel_units)
        return followed or data_flow(flattened(self.kernel, Cause(CauseKind.STOPPED)), self.config)

    @cached_property
    def launched_flow(self) -> DataFlow:
        """The same under what all launches in sight pass: a fact for findings, none for rewrites."""
        passed = passed_by_all(self.flow.kernel)
        given = given_by_all(self.flow.kernel)
        if not (passed or given) or self.stopped_flow:
            return self.flow
        follow = partial(data_flow, self.kernel, self.config, passed, given)
        return self.run(DATA_FLOW, follow, None, self.limits.kernel_units) or self.flow

    @property
    def stopped_flow(self) -> bool:
        """Is nothing known of the flow of control that a complete analysis would know?"""
        return self.flow.kernel is not self.kernel

    @property
    def withheld(self) -> Cause | None:
        """Why nothing that rests on control or data flow is said of this kernel."""
        return self.flow.kernel.irregular

    def require_data_flow(self) -> None:
        """Raises OutOfBudget where it was asked for and has used up all that the kernel may use."""
        for each in self.stopped:
            if each.what == DATA_FLOW and each.why in OF_BUDGET:
                raise OutOfBudget(each.why.value)

    def require_report(self) -> None:
        """Work out what a report on the kernel prints, whatever the rules ask for: within the budget of the check,
        which tells what has no result. Raises as ``require_data_flow``."""
        _ = self.compared
        self.require_data_flow()

    @cached_property
    def occupied(self) -> tuple[Occupied, ...]:
        """Per target in force; empty when the threads are not known."""
        return occupied(self.flow.kernel, self.flow.shape, self.config)

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """Per target in force, where ``occupied`` is empty or sizes are not known: what bounds the blocks of an SM."""
        return bounds(self.flow.kernel, self.flow.shape, self.flow.shapes, self.config)

    # ---- layouts

    @cached_property
    def best(self) -> tuple[LayoutCandidate, ...]:
        """The best plans, rising in added barriers."""
        found = joined(self._proved, self._assumed) if self._assumes_shape else self._proved
        return joined(found, self._filled)

    @property
    def _assumes_shape(self) -> bool:
        return self.flow.assuming is not self.flow.facts and len(self.items) > 1

    @run_once("layouts", tuple[LayoutCandidate, ...]())
    def _proved(self) -> tuple[LayoutCandidate, ...]:
        flow = self.flow
        if self.declared is None:
            return ()
        facts, found = self._sharing
        return curve_of(task(self.items, flow.kernel.body, facts, flow.pinned, found))

    @run_once("layouts for the assumed block", tuple[LayoutCandidate, ...]())
    def _assumed(self) -> tuple[LayoutCandidate, ...]:
        flow = self.flow
        facts, found = self._sharing_assumed
        of = task(self.items, flow.kernel.body, facts, flow.pinned, found)
        return curve_of(of, assumes_shape=True)

    @run_once("layouts for blocks that fill their tiles", tuple[LayoutCandidate, ...](), needs=_can_share)
    def _filled(self) -> tuple[LayoutCandidate, ...]:
        flow = self.flow
        if flow.shape is not None:
            return ()
        facts, found = self._sharing
        more, found = with_refills(flow.followed, facts, flow.pinned, found, None, named=flow.shapes)
        if more is facts:
            return ()
        return curve_of(task(self.items, flow.kernel.body, more, flow.pinned, found), fills=True)

    @property
    def _sharing(self) -> tuple[Facts, Interference]:
        """Facts of every block that can be launched, refills among them, and which buffers may share."""
        return self._refilled or (self.flow.facts, self.flow.interference)

    @property
    def _sharing_assumed(self) -> tuple[Facts, Interference]:
        """The same for the block that is assumed."""
        return self._refilled_assumed or self._assuming

    @cached_property
    def _assuming(self) -> tuple[Facts, Interference]:
        flow = self.flow
        return flow.assuming, interference(flow.kernel.body, flow.assuming, flow.pinned, flow.interference)

    @run_once("tiles that are filled again", None, needs=_can_share)
    def _refilled(self) -> tuple[Facts, Interference] | None:
        flow = self.flow
        return with_refills(flow.followed, flow.facts, flow.pinned, flow.interference, dims_of(flow.fact))

    @run_once("tiles that are filled again", None, needs=_can_share)
    def _refilled_assumed(self) -> tuple[Facts, Interference] | None:
        flow = self.flow
        facts, found = self._assuming
        return with_refills(flow.followed, facts, flow.pinned, found, dims_of(flow.shape))

    @run_once("compared layouts", dict[str, Plan](), needs=_is_followed)
    def compared(self) -> Mapping[str, Plan]:
        """Of the other allocators, by name."""
        flow = self.flow
        if self.declared is None:
            return {}
        facts, found = self._sharing
        return layouts(task(self.items, flow.kernel.body, facts, flow.pinned, found))

    @run_once("layouts with one more wait", tuple[LayoutCandidate, ...](), needs=_can_share)
    def with_wait(self) -> tuple[LayoutCandidate, ...]:
        """Like ``best``: what one more wait for copies could save."""
        flow, waited = self.flow, self.kernel.drained
        if waited is None or flow.kernel.irregular is not None:
            return ()
        pinned = flow.pinned - waited.buffers
        proved = curve_of(task(self.items, waited.body, self._sharing[0], pinned))
        if flow.assuming is flow.facts:
            return proved
        of = task(self.items, waited.body, self._sharing_assumed[0], pinned)
        return joined(proved, curve_of(of, assumes_shape=True))

    @run_once("members of classes", tuple[PartitionLayouts, ...](), needs=_is_followed)
    def class_partitions(self) -> tuple[PartitionLayouts, ...]:
        """Members of classes in static shared memory as buffers of their own, one item for each such class."""
        flow = self.flow
        if self.declared is None:
            return ()
        return partition_classes(
            flow.kernel, flow.control, flow.values, flow.shape, self.items, self.declared
        )

    @run_once("arrays of functions", None, needs=_is_followed)
    def caller_reuse(self) -> CallerReuse | None:
        """What arrays of called functions could save."""
        if self.declared is None:
            return None
        return plan_caller_reuse(self.flow.kernel, self.items, self._sharing[0], self.flow.pinned)

    @run_once("ranges of dynamic shared memory", tuple[Cause, ...](), needs=_is_followed)
    def _dynamic(self) -> PartitionLayouts | TermLayout | tuple[Cause, ...]:
        flow = self.flow
        return partition_dynamic(flow.kernel, flow.control, flow.values, flow.shape)

    @property
    def dynamic_partition(self) -> PartitionLayouts | None:
        """Ranges of dynamic shared memory as buffers of their own, perhaps only one; None: they are not known."""
        found = self._dynamic
        return found if isinstance(found, PartitionLayouts) else None

    @run_once("purposes of dynamic shared memory", None, needs=_is_followed)
    def dynamic_purposes(self) -> PartitionLayouts | None:
        """What takes turns in the bytes of dynamic shared memory, each as a buffer of its own."""
        flow, whole = self.flow, self.dynamic_partition
        if whole is None or any(each.members for each in whole.partition.ranges):
            return None
        return purposes_of_pointers(flow.kernel, flow.control, flow.values, flow.shape, whole.partition)

    @property
    def dynamic_terms(self) -> TermLayout | None:
        """The same in terms, under an assumption, where nothing bounds some access."""
        found = self._dynamic
        return found if isinstance(found, TermLayout) else None

    @run_once("ranges in terms that share bytes", tuple[TermPlan, ...](), needs=_is_followed)
    def term_plans(self) -> tuple[TermPlan, ...]:
        """Plans in terms that save bytes, rising in added barriers."""
        found = self.dynamic_terms
        return () if found is None else plans_in_terms(found.partition, self.flow)

    @run_once("lives of ranges in terms", None, needs=_is_followed)
    def of_terms(self) -> Facts | None:
        """What is proved of the kernel with its ranges in terms as buffers, where a map draws them."""
        found = self.dynamic_terms
        if found is None:
            return None
        last = found.partition.ranges[-1].index
        return proved_in_terms(found.partition, self.flow, frozenset((last,))).facts

    @run_once("purposes of dynamic shared memory in terms", None, needs=_is_followed)
    def term_purposes(self) -> TermPurposes | None:
        """What takes turns in the bytes of dynamic shared memory, where they are known in terms only."""
        found = self.dynamic_terms
        return None if found is None else purposes_in_terms(found.partition, self.flow)

    @property
    def dynamic_refusals(self) -> tuple[Cause, ...]:
        """Why the ranges of dynamic shared memory are not known, or why some of them are one."""
        if not any(buffer.space is AddressSpace.DYNAMIC for buffer in self.kernel.buffers):
            return ()
        found, kernel = self._dynamic, self.flow.kernel
        if isinstance(found, PartitionLayouts):
            return found.partition.joined
        if not isinstance(found, tuple):
            return ()
        if found:
            return found
        why = kernel.irregular or Cause(CauseKind.STOPPED if self.stopped else CauseKind.UNUSED)
        return (replace(why, line=why.line or kernel.row),)

    # ---- races and barriers

    @run_once("data races", None, needs=_is_followed)
    def _race_free(self) -> tuple[RaceFree, ...] | None:
        """Accesses that need no run, for each block that is named; else for every block."""
        flow = self.launched_flow
        found = []
        for shape, _ in flow.judged:
            assumed = flow.assuming
            if shape != flow.shape:
                assumed = prove(flow.kernel, flow.control, shape, flow.values)
            found.append(race_free_accesses(flow.kernel, flow.values, assumed, shape))
        return tuple(found)

    def _race_search(self, added: Added = NOTHING_ADDED, asked: frozenset[Pair] | None = None) -> Hazards:
        """Looks for races in each block of the kernel, or in the kernel with what its keywords change."""
        flow = self.launched_flow
        search = partial(find_hazards, flow.kernel, flow.values, flow.control, added=added, asked=asked)
        blocks = zip(flow.judged, self._race_free or ())
        shown = all_hazards([search(verdicts, shape, race_free=free) for (shape, verdicts), free in blocks])
        if added is NOTHING_ADDED:
            return shown
        decided = (race for race in self._decided_races if asked is None or race.pair in asked)
        return with_races(shown, still_racing(flow, decided, added))

    @run_once("data races", None, needs=_has_candidates)
    def _searched(self) -> Hazards | None:
        return self._race_search()

    @run_once("blocks that race", dict[Key, BlockAssumption](), needs=_rests_on_tried_blocks)
    def _grounds(self) -> Mapping[Key, BlockAssumption]:
        flow, (race_free, *_) = self.launched_flow, self._race_free or (NONE_RACE_FREE,)
        return proved_grounds(flow.kernel, flow.values, flow.control, flow.verdicts, self.hazards, race_free)

    def ground(self, shown: Race | Overrun | MissingLane | ProxyHazard | Miscount) -> BlockAssumption:
        """The blocks for which it is shown: named ones, every one above some size, or else only one that was tried. A
        condition was solved for in that one. Where code in sight that is not followed computes the block, what is not
        shown for every block of two threads may be shown for none that is launched."""
        of_block = isinstance(shown, Race) and shown.condition is not None and not shown.any_block
        named, doubtful = shown.ground.named, self.kernel.doubtful_blocks
        if named and doubtful and not shown.ground.all_named:
            if all(each.source == "launch" and each.dims in doubtful for each in named):
                return replace(shown.ground, named=(), tried=named[0].dims)
        if shown.ground.tried is None or of_block:
            return shown.ground
        found = self._grounds.get(shown.key, shown.ground)
        all_ = found.above is not None and found.above <= 1
        return found if all_ or not self.kernel.unfollowed_launches else shown.ground

    @cached_property
    def _decided(self) -> Races:
        if not _is_followed(self):
            return ()
        flow = self.launched_flow
        found = tuple(list[Race]() for _ in flow.judged)
        self.run("decided races", partial(decide_races, flow, found), None)
        return tuple(map(tuple, found))

    @run_once("verdict", tuple[Verdict, ...](), needs=_is_followed)
    def verdicts(self) -> tuple[Verdict, ...]:
        """From every pair of accesses, for each block that is named; else for every block."""
        grounds = ((race, self.ground(race)) for race in self.hazards.races)
        proved = [race for race, on in grounds if on.is_certain or on.above is not None]
        return verdicts_of(self.launched_flow, self._decided, proved)

    @run_once("verdict", None, needs=_is_followed)
    def any_block(self) -> Verdict | None:
        """The verdict on launches whose block is not known."""
        return decide_any_block(self.launched_flow)

    @run_once("data dependences", dict[int, Decides](), needs=_is_followed)
    def data_dependences(self) -> Mapping[int, Decides]:
        """By the point of an access: what loaded values decide of it."""
        return data_dependences(self.launched_flow)

    @run_once("two calls in a row", tuple[Decision, ...](), needs=_is_followed)
    def called_again(self) -> tuple[Decision, ...]:
        """Of a function that no kernel in sight calls: the accesses that meet if it is called twice in a row."""
        return called_again(self.launched_flow)

    @property
    def hazards(self) -> Hazards:
        """What runs show, and the races that are decided by their terms."""
        return self._hazards

    @cached_property
    def _hazards(self) -> Hazards:
        if self._searched is None:
            return Hazards()
        return with_lanes(self._of_the_block, self._decided_lanes)

    @run_once("races in memory of others", Hazards())
    def _of_the_block(self) -> Hazards:
        implied = {race.pair for race in self._implied}
        shown = self._not_refuted
        if implied:
            shown = replace(shown, races=tuple(race for race in shown.races if race.pair not in implied))
        return of_the_block(self.launched_flow, with_races(shown, self._decided_races))

    @run_once("missing lanes", tuple[MissingLane, ...](), needs=_is_followed)
    def _decided_lanes(self) -> tuple[MissingLane, ...]:
        return decided_lanes(self.launched_flow)

    @run_once("refuted races", Hazards())
    def _not_refuted(self) -> Hazards:
        return not_refuted(self.launched_flow, self._searched or Hazards())

    @property
    def _decided_races(self) -> tuple[Race, ...]:
        told = (tuple(race for race in of_block if not race.untold) for of_block in self._decided)
        implied = {race.pair for race in self._implied}
        return (*self._implied, *(race for race in joined_races(tuple(told)) if race.pair not in implied))

    @run_once("races in implied blocks", tuple[Race, ...](), needs=_rests_on_tried_blocks)
    def _implied(self) -> tuple[Race, ...]:
        """Those of blocks as large as arrays say whose extents are not known."""
        flow = self.launched_flow
        sizes = implied_sizes(flow) if not self.stopped_flow else {}
        if not sizes:
            return ()
        return races_in_implied_blocks(
            data_flow(self.kernel, self.config, given=as_facts(flow, sizes)), sizes
        )

    @run_once(
        "places of missing barriers",
        MissingBarriers(),
        needs=_has_hazards,
    )
    def missing_barriers(self) -> MissingBarriers:
        flow = self.flow
        in_warps = warp_places(flow.kernel, flow.values, flow.levels, flow.control.places)
        return find_missing_barriers(
            flow.kernel, self.hazards, flow.control.places, in_warps, self._race_search
        )

    @cached_property
    def redundant(self) -> tuple[Redundant, ...]:
        """Barriers that order nothing. Where buffers may share bytes nobody has asked which barriers that needs."""
        found = self._redundant
        if found and (self.caller_reuse is not None or any(map(_saves, self.class_partitions))):
            return tuple(replace(each, merging=True) for each in found)
        dynamic = self.dynamic_partition if found else None
        if (dynamic is not None and _saves(dynamic)) or (found and self.term_plans):
            return tuple(replace(each, ranges=True) for each in found)
        return found

    @run_once("redundant barriers", tuple[Redundant, ...](), needs=_is_free_of_hazards)
    def _redundant(self) -> tuple[Redundant, ...]:
        flow, best = self.flow, self.best
        total = sum(item.size for item in self.items)
        groups: list[list[int]] = []
        if best and not best[0].plan.barriers and total - best[0].plan.bytes >= WORTH_SAYING:
            groups = sharing(self.items, best[0].plan)
        blocks = launched_blocks(flow.kernel, flow.shapes)
        return redundant_barriers(flow.followed, flow.verdicts, blocks, groups)

    @run_once("divergent barriers", tuple[Mispaired, ...](), needs=_is_followed)
    def mispaired(self) -> tuple[Mispaired, ...]:
        """Barriers that some threads of the block miss."""
        flow = self.launched_flow
        judges = ((shape, judge_of(flow, verdicts, dims_of(shape))) for shape, verdicts in flow.judged)
        return mispairings(flow.followed, judges)

    @run_once("barriers to move", tuple[Hoist, ...](), needs=_is_followed)
    def hoists(self) -> tuple[Hoist, ...]:
        """Where those could stand instead, so that all threads come to them and nothing races."""
        found = possible_hoists(self.flow.kernel, self.mispaired)
        return tuple(hoist for hoist, moved in found if _is_right(moved, hoist.place, self.flow))

    # ---- banks and bytes

    @cached_property
    def names_of_several(self) -> frozenset[str]:
        """What more than one buffer is called."""
        counts = Counter(each.name for each in self.kernel.buffers)
        return frozenset(name for name, count in counts.items() if count > 1)

    @run_once("bank conflicts", tuple[BankConflict, ...](), needs=_is_followed)
    def banks(self) -> tuple[BankConflict, ...]:
        flow = self.flow
        return bank_conflicts(flow.kernel, flow.values, flow.levels, flow.shape)

    @run_once("dynamic bytes", dict[Dims, Need](), needs=_is_followed)
    def needs(self) -> Mapping[Dims, Need]:
        """By the block of a launch: the dynamic bytes that it is sure to touch."""
        sites = self.kernel.launches
        blocks = {site.block for site in sites if site.block is not None and site.dynamic_bytes is not None}
        found = {
            dims: dynamic_need(self.flow.kernel, self.flow.values, dims)
            for dims in blocks
            if math.prod(dims) <= MAX_THREADS
        }
        return {dims: need for dims, need in found.items() if need is not None}

    @run_once("bounds of the block", tuple[tuple[str, int, str], ...](), needs=_is_followed)
    def bounds_from_indices(self) -> tuple[tuple[str, int, str], ...]:
        """What indices say of the block: per axis the most threads, and the array that none of them leaves."""
        found = evidence(self.flow.kernel, self.flow.values, self.flow.control)
        bounded = [(axis, most) for axis, most in zip("xyz", found.upper) if axis in found.arrays]
        return tuple((axis, most, found.arrays[axis]) for axis, most in bounded)

    def in_bounds(self, shape: BlockShape | None) -> bool:
        """Is it proved of every access that it stays inside its buffer, in blocks of one shape? None: in all."""
        if shape not in self._in_bounds:
            flow = self.launched_flow
            self._in_bounds[shape] = in_bounds(flow.kernel, flow.values, shape)
        return self._in_bounds[shape]

    @run_once("touched bytes", dict[int, tuple[int, int]](), needs=_is_followed)
    def extents(self) -> Mapping[int, tuple[int, int]]:
        """By buffer: the first byte and the end of what is touched, where that is known."""
        return extents(self.flow.kernel, self.flow.values, self.flow.fact)


def _saves(classes: PartitionLayouts) -> bool:
    """May members of a class share bytes as the kernel stands, so many that it is worth saying?"""
    return any(
        not each.plan.barriers and classes.declared.bytes - each.plan.bytes >= WORTH_SAYING
        for each in classes.best
    )


def _is_right(changed: Kernel, barrier: int, flow: DataFlow) -> bool:
    """Do all threads come to the barrier with this point, and does nothing race?"""
    control, levels = prove_levels(
        changed.body, flow.values, buffers=changed.buffers, shape=flow.fact, upper=most_threads(changed)
    )
    if barrier not in control.barriers:
        return False
    judged = [(shape, judge(changed.body, levels, control, dims_of(shape))) for shape, _ in flow.judged]
    for shape, verdicts in judged:
        found = find_hazards(changed, flow.values, control, verdicts, shape)
        if found.races or found.missing_lanes:
            return False
    of = KernelModel(changed, flow.values, control, levels, flow.followed.factor)
    return not mispairings(
        of, ((shape, RaceChecker(of, verdicts, dims_of(shape))) for shape, verdicts in judged)
    )
