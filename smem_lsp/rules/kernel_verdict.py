"""The verdict on the shared memory of a kernel, over all of its blocks, in the words that every output prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from smem_lsp.analysis.decision.model import Decision, PairVerdict, Undecided, Verdict, VerdictKind
from smem_lsp.analysis.decision.reasons import Assumption, Reason, ReasonKind
from smem_lsp.analysis.hazards.model import Race
from smem_lsp.analysis.hazards.replayed import not_shown
from smem_lsp.analysis.values.block_shape import most_threads
from smem_lsp.facts.stopped import Why
from smem_lsp.ir.causes import CauseKind, Opens
from smem_lsp.ir.nodes import (
    MORE_CONTEXTS,
    Barrier,
    Dims,
    Kernel,
    LaunchSite,
    WarpCollective,
)
from smem_lsp.rules import cause_words, ground, racing
from smem_lsp.rules.decision_words import assumed, why
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Severity
from smem_lsp.rules.words import Words, ended
from smem_lsp.source import listed, plural, record
from smem_lsp.targets.every import MAX_BLOCK

AS_PASSED = "parameters are what the launches in sight pass"
_FLOW = ("data flow", "verdict")  # the analyses that it needs
_OUTSIDE = "an index leaves its buffer"
_UNFOLLOWED = "code in sight computes the block of this launch, and is not followed"
_UNREAD = "not all files that include it are read: they are too many"
_MISSED = "lanes that its mask names do not come here"


@record
class StatedReason:
    """Why a kernel is undecided, in words. ``pairs``: of accesses that it leaves open; 0: all of them, whatever they
    are."""

    line: int  # 1-based, where the kernel stands now
    words: str
    pairs: int = 0

    def __str__(self) -> str:
        return f"line {self.line}: {self.words}"


@record
class KernelVerdict:
    """Of the shared memory of one kernel. ``proved_for``: the blocks under which it is race-free, in words;
    ``assumes``: what that takes for granted; ``pairs`` of accesses were asked about, ``apart`` of them are safe under
    every block; ``reasons``: why it is undecided, the most limiting first; ``races``: what makes it racy, in words."""

    kind: VerdictKind
    proved_for: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    pairs: int = 0
    apart: int = 0
    reasons: tuple[StatedReason, ...] = ()
    races: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """``race-free (12 pairs, the 256×1×1 block of line 40)``, ``undecided (3 of 12 pairs): line 40: a loaded value
        decides (+3 more)``, ``racy: thread 0 writes …``."""
        if self.kind is VerdictKind.RACE_FREE:
            told = [plural(self.pairs, "pair"), *self.proved_for]
            assumed = f"; assumes that {' and that '.join(self.assumes)}" if self.assumes else ""
            return f"race-free ({', '.join(told)}{assumed})"
        if self.kind is VerdictKind.RACY:
            return f"racy: {self.races[0]}{_more(self.races)}" if self.races else "racy"
        left = self.pairs - self.apart
        of = f" ({left:,} of {plural(self.pairs, 'pair')})" if left else ""
        why = f": {self.reasons[0]}{_more(self.reasons)}" if self.reasons else ""
        return f"undecided{of}{why}"


def not_asked() -> KernelVerdict:
    """Of a kernel that nobody has judged."""
    return KernelVerdict(VerdictKind.UNDECIDED)


def _more(of: Sequence[object]) -> str:
    return f" (+{len(of) - 1:,} more)" if len(of) > 1 else ""


def concerns(kernel: Kernel) -> bool:
    """Has the kernel shared memory?"""
    return bool(kernel.buffers or kernel.helper_bytes)


def kernel_verdict(facts: KernelFacts) -> KernelVerdict:
    """What the verdicts under the blocks of a kernel come to: race-free only if all are, racy if one is."""
    verdicts = _verdicts(facts)
    if not verdicts:
        return KernelVerdict(VerdictKind.UNDECIDED, reasons=tuple(_stopped(facts)))
    races, outside, reasons = _against(facts, verdicts)
    free = [] if outside else [each for each in verdicts if _is_free(facts, each, races)]
    pairs = max(each.pairs for each in verdicts)
    unsafe = {_key(decision) for each in verdicts for decision in each.decisions}
    return KernelVerdict(
        _kind(races, reasons),
        proved_for=tuple(_blocks(facts, free)),
        assumes=tuple(dict.fromkeys(_assumed(facts, free))),
        pairs=pairs,
        apart=max(0, pairs - len(unsafe)),
        reasons=tuple(reasons),
        races=tuple(dict.fromkeys(_told(facts, races))),
    )


def verdict_kind(facts: KernelFacts) -> VerdictKind:
    """The kind of ``kernel_verdict`` alone, which is the same wherever the kernel stands."""
    verdicts = _verdicts(facts)
    if not verdicts:
        return VerdictKind.UNDECIDED
    races, _, reasons = _against(facts, verdicts)
    return _kind(races, reasons)


def _kind(races: Sequence[Race], reasons: Sequence[StatedReason]) -> VerdictKind:
    return VerdictKind.RACY if races else VerdictKind.UNDECIDED if reasons else VerdictKind.RACE_FREE


def _against(
    facts: KernelFacts, verdicts: Sequence[Verdict]
) -> tuple[list[Race], list[StatedReason], list[StatedReason]]:
    """What speaks against a proof: races, accesses outside of their buffers and lanes that a barrier misses, and all
    reasons, those among them."""
    outside, races = [*_outside(facts), *_missed(facts)], _races(facts, verdicts)
    told = {frozenset(race.pair) for race in races}
    reasons = [*outside, *_not_looked_at(facts, verdicts), *_unfollowed(facts, verdicts, told)]
    return races, outside, [*reasons, *_undecided(facts, verdicts, told)]


def _verdicts(facts: KernelFacts) -> Sequence[Verdict]:
    """One for each block that somebody names; one for every block, if there are other launches and it is race-free."""
    named = facts.analysis.verdicts
    if not _other_launches(facts.kernel, named):
        return named
    every = facts.analysis.any_block if all(each.kind is VerdictKind.RACE_FREE for each in named) else None
    return named if every is None or every.kind is not VerdictKind.RACE_FREE else (every,)


def _is_free(facts: KernelFacts, verdict: Verdict, races: Sequence[Race]) -> bool:
    """Under its block, of which no run has shown a race?"""
    shown = [shape for race in races for shape in facts.ground(race).named]
    seen = any(shape in shown for shape in verdict.blocks) if verdict.blocks else bool(races)
    return verdict.kind is VerdictKind.RACE_FREE and not facts.kernel.helper_bytes and not seen


def surely_race_free(facts: KernelFacts) -> bool:
    """Is it race-free, and is there anything that could race? Where that cannot be, no pair is looked at."""
    kernel = facts.kernel
    if (
        facts.withheld
        or not kernel.complete
        or kernel.open(Opens.ANYTHING | Opens.ACCESSES)
        or kernel.helper_bytes
    ):
        return False
    if kernel.open(Opens.ASSUMED) or any(_missing(facts, WarpCollective)):
        return False
    found = kernel_verdict(facts)
    return found.kind is VerdictKind.RACE_FREE and found.pairs > 0


def _key(decision: Decision) -> tuple[int, int, bool]:
    return decision.first.point, decision.second.point, decision.lanes


def _stopped(facts: KernelFacts) -> Iterator[StatedReason]:
    why = dict.fromkeys(ended(each.why) for each in facts.analysis.stopped if each.what in _FLOW)
    for each in why or (ended(Why.EFFORT),):
        yield StatedReason(facts.kernel.line, each)


def _outside(facts: KernelFacts) -> Iterator[StatedReason]:
    """Accesses that are shown to leave their buffers, where a proof would take for granted that none does."""
    for each in facts.hazards.overruns:
        if facts.ground(each).is_certain:
            yield StatedReason(facts.line(each.access.line), _OUTSIDE)


def _not_looked_at(facts: KernelFacts, verdicts: Sequence[Verdict]) -> Iterator[StatedReason]:
    """Files that may launch it and are not read, functions with shared memory that are not followed, and launches in
    sight with blocks that were not looked at."""
    kernel = facts.kernel
    if MORE_CONTEXTS in kernel.left_out:
        yield StatedReason(kernel.line, _UNREAD)
    for name in dict.fromkeys(buffer.function for buffer in kernel.helper_bytes):
        yield StatedReason(kernel.line, f"`{name}` is not followed")
    left = _other_launches(kernel, verdicts)
    if left:
        site, more = left[0], f", and of {len(left) - 1:,} more," if len(left) > 1 else ""
        line = kernel.line if site.path is not None else site.line
        yield StatedReason(line, f"the block of this launch{more} is not looked at")


def _unfollowed(
    facts: KernelFacts, verdicts: Sequence[Verdict], told: Collection[frozenset[int]]
) -> Iterator[StatedReason]:
    """The launch whose block would have to be known to tell a race."""
    open_ = (each for verdict in verdicts if not verdict.blocks for each in verdict.decisions)
    races = (frozenset((each.first.point, each.second.point)) for each in open_ if each.answer.is_race)
    if any(pair not in told for pair in races):
        for site in facts.kernel.unfollowed_launches[:1]:
            yield StatedReason(facts.kernel.line if site.path is not None else site.line, _UNFOLLOWED)


def _other_launches(kernel: Kernel, verdicts: Sequence[Verdict]) -> list[LaunchSite]:
    """Those in sight whose block is none of those that the verdicts are about."""
    shapes = [shape for each in verdicts for shape in each.blocks]
    if kernel.stated.dims or any(shape.source != "launch" for shape in shapes) or not shapes:
        return []
    known = {shape.dims for shape in shapes}
    return [site for site in kernel.launches if site.block not in known]


def _undecided(
    facts: KernelFacts, verdicts: Sequence[Verdict], told: Collection[frozenset[int]]
) -> list[StatedReason]:
    """The reasons, each once a line: those that leave every pair open first, then by how many pairs they do. ``told``:
    pairs of points of which a race is told."""
    open_ = {
        _key(each): (each, bool(verdict.blocks))
        for verdict in verdicts
        for each in verdict.decisions
        if frozenset((each.first.point, each.second.point)) not in told
    }
    blocked = Counter(_reason(facts, each, named=named) for each, named in open_.values())
    whole = dict.fromkeys(each for verdict in verdicts for each in verdict.reasons if each not in blocked)
    ordered = [*((each, 0) for each in whole), *blocked.most_common()]
    found: dict[tuple[int, str], int] = {}
    for each, pairs in ordered:
        found.setdefault((facts.line(each.line), _words(facts, each.reason)), pairs)
    return [StatedReason(line, words, pairs) for (line, words), pairs in found.items()]


def _missed(facts: KernelFacts) -> Iterator[StatedReason]:
    """Barriers of a warp to which not all lanes of their mask come."""
    for line in _missing(facts, Barrier):
        yield StatedReason(line, _MISSED)


def _missing(facts: KernelFacts, kind: type[Barrier | WarpCollective]) -> Iterator[int]:
    """The lines of operations of a warp to which not all lanes of their mask come."""
    found = {each.node.point: each.node for each in facts.hazards.missing_lanes}
    yield from (facts.line(node.line) for node in found.values() if isinstance(node, kind))


def _placed(facts: KernelFacts, words: Words) -> str:
    """Words of the kernel, with lines of the file."""
    return str(words.placed(facts.kernel, facts.source))


def _words(facts: KernelFacts, reason: Reason) -> str:
    return _placed(facts, why(reason))


def _reason(facts: KernelFacts, decision: Decision, *, named: bool) -> Undecided:
    reason = decision.why
    if reason is None and not racing.followed(facts):
        reason = Reason(ReasonKind.NOT_FOLLOWED)
    elif reason is None and decision.answer is PairVerdict.LIKELY:
        reason = Reason(ReasonKind.DATA)
    elif reason is None and not facts.kernel.dialect.nvidia:
        reason = Reason(ReasonKind.IN_STEP)
    return Undecided(decision.second.line, reason or not_shown(decision, named=named))


def _races(facts: KernelFacts, verdicts: Sequence[Verdict]) -> list[Race]:
    """Races that are decided, and those that runs show, in a block that somebody names or in most of them. Where data
    decide, too, a block that was only tried is no ground."""
    decided = {
        frozenset((each.first.point, each.second.point))
        for verdict in verdicts
        for each in verdict.decisions
        if each.answer.is_race
    }

    # by somebody, who may choose a block that shows it
    chosen = not (facts.kernel.unfollowed_launches or facts.kernel.doubtful_blocks)

    def counts(race: Race) -> bool:
        on = facts.ground(race)
        if not (chosen or on.is_certain or on.above is not None):
            return False
        if frozenset(race.pair) in decided and not (race.data and on.above is None and on.tried is not None):
            return True
        return on.is_certain or on.covers_most or on.above == 0

    return [race for race in facts.hazards.races if counts(race) and _may_tell(facts, lanes=race.lanes)]


def _may_tell(facts: KernelFacts, *, lanes: bool) -> bool:
    """May a rule speak of a race, of two lanes of one warp (``lanes``)? Of other warps than NVIDIA's none does."""
    return racing.followed(facts) and not (lanes and not facts.kernel.dialect.nvidia)


def _told(facts: KernelFacts, races: Sequence[Race]) -> Iterator[str]:
    for race in races:
        back = race.first.point > race.second.point
        yield _placed(
            facts, racing.sentence(facts, race, back=back) + facts.graded(race, Severity.ERROR).words
        )


def _blocks(facts: KernelFacts, verdicts: Sequence[Verdict]) -> Iterator[str]:
    for each in verdicts:
        for shape in each.blocks:
            yield _placed(facts, ground.block(facts.kernel, shape))
        if not each.blocks:
            yield _every(each.axes, each.most or most_threads(facts.kernel))


def _every(axes: str, most: Dims) -> str:
    """``every block of threads in x``, ``every block of threads in x and y, at most 256 in x and 256 in y``."""
    words = f"every block of threads in {listed(axes)}"
    limits = dict(zip("xyz", zip(most, MAX_BLOCK)))
    bounds = [f"{limits[axis][0]:,} in {axis}" for axis in axes if limits[axis][0] < limits[axis][1]]
    return f"{words}, at most {listed(bounds)}" if bounds else words


def _assumed(facts: KernelFacts, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What a proof takes for granted, in words."""
    analysis = facts.analysis
    for each in verdicts:
        yield from map(assumed, each.assumes)
        taken = facts.kernel.open(Opens.ASSUMED)
        last = sorted(taken, key=lambda each: each.kind is CauseKind.UNDECLARED)
        yield from (cause_words.told(facts.kernel, each) for each in last)
    for line in _missing(facts, WarpCollective):  # it orders nothing, but what it gives may decide
        yield f"all lanes that its mask names come to line {line}"
    unwrapped = analysis.launched_flow.values.unwrapped()
    if unwrapped:
        yield f"no unsigned number that is computed of {listed(unwrapped)} wraps"
    if analysis.launched_flow is not analysis.flow:
        yield AS_PASSED
    if not all(analysis.in_bounds(shape) for each in verdicts for shape in each.blocks or (None,)):
        yield assumed(Assumption())
