"""The kernels of a file: what a report prints of each of them comes first, then what the rules look for, so that a file
without time loses findings before it loses kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine.cache import DECIDED, JUDGED, PLACED, PlacedKernel, Setting
from smem_lsp.engine.instances import join_instances, without_narrower
from smem_lsp.engine.readings import MOST_READINGS, KernelConfiguration, readings_of
from smem_lsp.engine.stated import stated_of
from smem_lsp.facts.attempts import Attempts, Limits
from smem_lsp.facts.stopped import EVERYTHING, FINDINGS, Stopped, Why
from smem_lsp.ir.nodes import MORE_INSTANCES, Barrier, BarrierKind, Kernel, LaunchSite, walk
from smem_lsp.lowering.shares_or_waits import may_share_or_wait
from smem_lsp.rules import ground
from smem_lsp.rules.kernel_verdict import verdict_kind
from smem_lsp.rules.model import Finding, Rule
from smem_lsp.rules.words import said
from smem_lsp.source import OutOfBudget, plural
from smem_lsp.source.budget import SECOND, look, used_up
from smem_lsp.source.pauses import PAUSES
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Function
from smem_lsp.targets.every import MAX_THREADS
from smem_lsp.unit.unit_facts import parts_of

_FOR_KERNELS = 0.6  # of a file's work: for what a report prints of all of them
_FOR_PROOFS = 0.85  # of a file's work: when no proof of instances that are left out is begun any more
_MOST_PROVED = 32  # readings of one kernel that stand for instances which are left out
_FOR_VERDICT = SECOND  # units: one that is begun is finished
_LEAST_SHARE = 1 / 64  # of a kernel's work, whatever the others of the file need
_SHARES = 4  # even shares of what is left that one kernel may take


@dataclass(slots=True)
class Pool:
    """The units of work that the kernels of a file share. Every kernel counts what its passes take, also where that is
    remembered, so that what is left for others depends on the text alone."""

    limits: Limits
    kernels: int = 1  # that may need some of it
    spent: int = 0

    @property
    def left(self) -> int:
        return self.limits.file_units - self.spent

    @property
    def to_place(self) -> Limits:
        """What a report prints of one kernel may take. That of all of them leaves a part of the pool for the rules."""
        limits = self.limits
        left = int(limits.file_units * _FOR_KERNELS) - self.spent
        return limits.within(min(limits.kernel_units, max(self._least, left)))

    def to_judge(self, placed: int, waiting: int) -> Limits:
        """What one kernel may take, the ``placed`` units included, while so many are ``waiting`` to be judged. The
        cheap ones are judged first, so each may have a few times the even share of what is left."""
        times = max(1, _SHARES * self.left // max(1, waiting) // max(1, self._least))
        share = self._least << (
            times.bit_length() - 1
        )  # in few steps, which stay the same while a text is edited
        return self.limits.within(min(self.limits.kernel_units, placed + share))

    @property
    def _least(self) -> int:
        """What each kernel may take whatever the others took. All of these together are no more than the pool."""
        limits = self.limits
        return min(int(limits.kernel_units * _LEAST_SHARE), limits.file_units // max(1, self.kernels))


@dataclass(frozen=True, slots=True)
class JudgedKernel:
    """A kernel with its instances, one where it is no template, and what the rules find in it. ``judged``: so many of
    them they have looked at; ``rest``: what stands for the instances that are left out, where all of it is race-free;
    no rule looks at it."""

    instances: tuple[PlacedKernel, ...]
    findings: tuple[tuple[Rule, Finding], ...]
    judged: int
    rest: tuple[PlacedKernel, ...] = ()

    @property
    def every(self) -> tuple[PlacedKernel, ...]:
        """All that it keeps."""
        return (*self.instances, *self.rest)

    @property
    def stopped_in_check(self) -> Iterator[Stopped]:
        """Analyses without a result that the check has asked for, and where they are told."""
        for index, kernel in enumerate(self.instances):
            analysis = kernel.known.facts.analysis
            placed = analysis.stopped_in(PLACED)
            stopped = kernel.known.stopped_in_check if index < self.judged else placed
            yield from _placed_stops(stopped, kernel.reading)

    @property
    def stopped(self) -> Iterator[Stopped]:
        """The same, with what was asked for later."""
        for kernel in self.instances:
            yield from _placed_stops(kernel.known.stopped, kernel.reading)


def _placed_stops(stopped: Iterable[Stopped], reading: KernelConfiguration) -> Iterator[Stopped]:
    """At the name of their kernel."""
    for each in stopped:
        yield replace(
            each, span=reading.function.name_span, matters=each.matters and _may_share_or_wait(reading)
        )


def _may_share_or_wait(reading: KernelConfiguration) -> bool:
    try:
        return may_share_or_wait(reading.around, reading.function, reading.binding)
    except OutOfBudget:
        return True


Read = Callable[[], list[tuple[KernelConfiguration, ...]]]
_Told = dict[Rule, Sequence[Finding]]


@dataclass(slots=True)
class _Placed:
    """A kernel of which is known what a report prints. ``whole``: all of its instances are there; ``unread``: its first
    reading, where all readings are there; ``rest``: what stands for instances that are left out; ``told``: what the
    rules find in the first of them, as many as were judged."""

    function: Function
    instances: list[PlacedKernel]
    whole: bool
    unread: KernelConfiguration | None
    rest: Sequence[PlacedKernel] = ()
    told: list[_Told] = field(default_factory=list)

    @property
    def took(self) -> int:
        """Units of work for each of them."""
        return sum(each.known.cost for each in self.instances) // len(self.instances)


def judge_kernels(
    setting: Setting, rules: Sequence[Rule], attempts: Attempts, pool: Pool, *, every: bool
) -> list[JudgedKernel]:
    """The kernels that can be analysed within the budget: ``every`` one, or those that concern a rule. ``attempts``
    notes those that cannot. What a report prints of them comes first; then the rules look at the first instance of each
    kernel, then at the second ones; then, of ``every`` one, instances that are left out are proved. The cheap ones
    come first, and each may have a few times the even share of what is left (``Pool.to_judge``). Of a kernel that takes
    more the other instances and contexts are left out: then nothing is said, or done to it, that has to hold in all of
    them."""
    of_kernels = tuple(rule for rule in rules if rule.on_kernel is not None)
    read = partial(readings_of, setting.units, setting.config.scaled(MOST_READINGS))
    return _judged(setting, of_kernels, read, attempts, pool, every=every)


def judge_functions(
    setting: Setting, rules: Sequence[Rule], read: Read, attempts: Attempts, pool: Pool
) -> list[JudgedKernel]:
    """The device functions of ``read`` that no kernel calls. A barrier of the block tells that all its threads call a
    function together, one of a warp tells that of its lanes. How they are called is not known, so no remedy is
    offered."""
    of_functions = tuple(rule for rule in rules if rule.of_functions)
    found = _judged(setting, of_functions, read, attempts, pool) if of_functions else []
    attempts.stopped += (stop for judged in found for stop in judged.stopped_in_check)
    return [replace(judged, findings=tuple(_of_callers(setting, judged, attempts))) for judged in found]


def _of_callers(setting: Setting, judged: JudgedKernel, attempts: Attempts) -> Iterator[tuple[Rule, Finding]]:
    if not judged.findings:
        return
    function, kernel = judged.instances[0].function, judged.instances[0].known.facts.kernel
    one = Attempts(setting.limits, function.name)
    kinds = one.run(FINDINGS, partial(_barriers, kernel), set[BarrierKind](), setting.limits.reading_units)
    attempts.stopped += _placed_stops(one.stopped, judged.instances[0].reading)
    for rule, finding in judged.findings:
        if BarrierKind.BLOCK in kinds or (rule.in_warps and BarrierKind.WARP in kinds):
            yield rule, replace(finding, remedy=None)


def _barriers(kernel: Kernel) -> set[BarrierKind]:
    """The kinds of those that surely stand in it."""
    return {node.kind for node in walk(kernel.body) if isinstance(node, Barrier) and not node.guess}


def _judged(
    setting: Setting,
    rules: tuple[Rule, ...],
    read: Read,
    attempts: Attempts,
    pool: Pool,
    *,
    every: bool = False,
) -> list[JudgedKernel]:
    placed = _place(setting, rules, read, attempts, pool, every=every)
    _judge(setting, rules, placed, attempts, pool, every=every)
    if every:
        _prove(setting, placed, attempts, pool)
    else:
        for each in placed:
            if each.unread is not None:
                _leave_out(each.unread, attempts)
    return [
        JudgedKernel(
            tuple(each.instances),
            tuple(without_narrower(list(_findings(each)))),
            len(each.told),
            tuple(each.rest),
        )
        for each in placed
    ]


def _place(
    setting: Setting, rules: tuple[Rule, ...], read: Read, attempts: Attempts, pool: Pool, *, every: bool
) -> list[_Placed]:
    """The kernels, with what a report prints of them."""
    limits = setting.limits
    wanted = attempts.run(EVERYTHING, read, list[tuple[KernelConfiguration, ...]](), limits.reading_units)
    pool.kernels = max(1, len(wanted))
    found: list[_Placed] = []
    first = 0  # index of the next instance among all
    for_all = int(limits.file_units * _FOR_KERNELS)
    for at, readings in enumerate(wanted):
        most, within = max(0, for_all - pool.spent) // (len(wanted) - at), pool.to_place
        function = readings[0].function
        one = Attempts(limits, function.name)
        concerned: bool | None = every
        if not every:
            work = partial(_concerned, setting, readings, rules)
            concerned = one.run(EVERYTHING, work, None, limits.reading_units)
        if concerned is False:
            continue
        if (reason := used_up()) is not None:
            others = len(wanted) - at - 1
            name = f"{function.name} and {plural(others, 'more kernel')}" if others else function.name
            attempts.stopped += _placed_stops([Stopped(EVERYTHING, Why(reason), name)], readings[0])
            break
        if concerned is None:
            attempts.stopped += _placed_stops(one.stopped, readings[0])
            continue
        placed: list[PlacedKernel] = []
        known: list[PlacedKernel] = []
        work = partial(
            _place_readings, setting, readings, first, rules, within, one, placed, known, most, every=every
        )
        whole = None
        try:
            whole = one.run(EVERYTHING, work, None, limits.reading_units)
        finally:
            setting.forget_cut(placed, every=whole is None)
        PAUSES.here()
        pool.spent += sum(each.known.placed_cost for each in placed)
        attempts.stopped += _placed_stops(one.stopped, readings[0])
        if known:
            every_known = whole is not None and len(known) == len(readings)
            found.append(_Placed(function, known, bool(whole), readings[0] if every_known else None))
            first += len(known)
        if not (known and every_known):
            _leave_out(readings[0], attempts)
    return found


def _place_readings(
    setting: Setting,
    readings: Sequence[KernelConfiguration],
    first: int,
    rules: Sequence[Rule],
    limits: Limits,
    attempts: Attempts,
    placed: list[PlacedKernel],
    known: list[PlacedKernel],
    most: int,
    *,
    every: bool,
) -> bool:
    """Add the readings of a kernel to ``placed``, each to ``known`` too once its report is worked out, until they have
    taken ``most`` units. Are these all that it has? ``first``: index of the first of them among all of the file."""
    for index, reading in enumerate(readings, first):
        if placed and sum(each.known.placed_cost for each in placed) > most:
            others = f"{plural(len(readings) - len(placed), 'more instance')} or contexts"
            attempts.stopped.append(Stopped(others, Why.EFFORT, reading.function.name, parts=True))
            return False
        placed.append(_placed(setting, reading, index, rules, limits))
        _work_out(placed[-1], every=every)
        known.append(placed[-1])
    return not readings[0].left_out


def _placed(
    setting: Setting, reading: KernelConfiguration, index: int, rules: Sequence[Rule], limits: Limits
) -> PlacedKernel:
    stated = stated_of(reading.function, setting.suppressions, reading.around, reading.binding)
    return setting.place(reading, index, stated, rules, limits)


def _work_out(kernel: PlacedKernel, *, every: bool) -> None:
    """What a report prints of a kernel, of ``every`` one. Raises OutOfBudget where its data flow was cut off."""
    analysis = kernel.known.facts.analysis
    if not analysis.has_ended(PLACED):
        if every:
            analysis.require_report()
        analysis.mark(PLACED)


def _prove(setting: Setting, kernels: Sequence[_Placed], attempts: Attempts, pool: Pool) -> None:
    """Look for proofs of the instances that are left out: with what is left of the work after all findings."""
    waiting = [each for each in kernels if each.unread is not None and each.unread.left_out]
    end = int(setting.limits.file_units * _FOR_PROOFS)
    for at, each in enumerate(waiting):
        assert each.unread is not None
        if each.unread.unread and pool.spent < end:
            more, tried = Attempts(setting.limits, each.function.name), list[PlacedKernel]()
            share = pool.spent + (end - pool.spent) // (len(waiting) - at)
            work = partial(_proofs, setting, each, tried, pool, share)
            each.rest = more.run(MORE_INSTANCES, work, each.rest, setting.limits.reading_units)
            setting.forget_cut(tried, every=False)
            stopped = [stop for stop in more.stopped if stop.why is Why.DEFECT]
            attempts.stopped += _placed_stops(stopped, each.unread)
        _leave_out(each.unread, attempts, covered=bool(each.rest))


def _are_decided(kernel: _Placed, pool: Pool, end: int) -> bool:
    """Is there work left, and is every instance decided that is looked at? Else proofs of the others change nothing."""
    for each in kernel.instances:
        if pool.spent + _FOR_VERDICT > end:
            return False
        analysis = each.known.facts.analysis
        undecided = verdict_kind(each.known.facts) is VerdictKind.UNDECIDED
        analysis.mark(DECIDED)
        pool.spent += analysis.cost(DECIDED) - each.known.cost
        if undecided:
            return False
    return True


def _leave_out(reading: KernelConfiguration, attempts: Attempts, *, covered: bool = False) -> None:
    """Tell what is left out of a kernel. ``covered``: its instances are proved, so only a rewrite may be missing."""
    function = reading.function
    for parts in reading.left_out:
        proved = covered and parts == MORE_INSTANCES
        what = f"findings in {parts}" if proved else parts
        stopped = Stopped(what, Why.MANY, function.name, parts=not proved, matters=not proved)
        attempts.stopped += _placed_stops([stopped], reading)


def _proofs(
    setting: Setting, of: _Placed, tried: list[PlacedKernel], pool: Pool, end: int
) -> Sequence[PlacedKernel]:
    """What stands for all instances that are left out, each of it proved; empty if one is not. First in as many groups
    as there is work left for until the pool has spent ``end``, with their own launches; then with all numbers open,
    under any launch."""
    assert of.unread is not None
    most = min(_MOST_PROVED, (end - pool.spent) // max(1, of.took))
    groups = of.unread.others_in_sight(most) if _are_decided(of, pool, end) else ()
    for readings, any_block in ((groups, False), (of.unread.rest, True)):
        proved: list[PlacedKernel] = []
        for reading in readings:
            if pool.spent > end:
                break
            kernel = _placed(setting, reading, -1, (), pool.to_judge(0, 1))
            tried.append(kernel)
            every = kernel.known.facts.analysis.any_block if any_block else None
            free = not any_block or (every is not None and every.kind is VerdictKind.RACE_FREE)
            free = free and verdict_kind(kernel.known.facts) is VerdictKind.RACE_FREE
            kernel.known.facts.analysis.mark(DECIDED)
            pool.spent += kernel.known.facts.analysis.cost(DECIDED)
            if not free:
                break  # no race is looked for
            proved.append(kernel)
        if readings and len(proved) == len(readings):
            return proved
    return ()


def _judge(
    setting: Setting,
    rules: tuple[Rule, ...],
    kernels: Sequence[_Placed],
    attempts: Attempts,
    pool: Pool,
    *,
    every: bool,
) -> None:
    """Let the rules look at the first instances, then at the second ones, the cheap ones of a turn first: then one that
    takes all there is takes nothing from the others."""
    for turn in range(max((len(each.instances) for each in kernels), default=0)):
        waiting = [each for each in kernels if turn < len(each.instances) and turn == len(each.told)]
        waiting.sort(key=lambda each: each.instances[turn].known.placed_cost)
        stopped: dict[int, list[Stopped]] = {}
        for at, each in enumerate(waiting):
            if turn and pool.left <= 0:
                others = f"findings in {plural(len(each.instances) - turn, 'more instance')} or contexts"
                stopped[id(each)] = [Stopped(others, Why.EFFORT, each.function.name, parts=True)]
                continue
            told, stopped[id(each)] = _looked_into(
                setting, rules, each, turn, pool, len(waiting) - at, every=every
            )
            if told is not None:
                each.told.append(told)
        for each in kernels:
            attempts.stopped += _placed_stops(stopped.get(id(each), ()), each.instances[0].reading)
    for each in kernels:
        for turn in range(len(each.told), len(each.instances)):
            each.instances[turn] = _only_placed(setting, rules, each.instances[turn], every=every)


def _only_placed(
    setting: Setting, rules: tuple[Rule, ...], instance: PlacedKernel, *, every: bool
) -> PlacedKernel:
    """An instance that was not judged, without what another check, which had more left for it, has found out."""
    known = instance.known
    if known.is_no_more_than_placed:
        return instance
    one = Attempts(setting.limits, instance.function.name)

    def again() -> PlacedKernel:
        setting.forget(instance)
        fresh = _placed(setting, instance.reading, instance.index, rules, known.placed_within)
        _work_out(fresh, every=every)
        return fresh

    return one.run(FINDINGS, again, instance, setting.limits.reading_units)


def _looked_into(
    setting: Setting,
    rules: tuple[Rule, ...],
    kernel: _Placed,
    turn: int,
    pool: Pool,
    waiting: int,
    *,
    every: bool,
) -> tuple[_Told | None, list[Stopped]]:
    """What the rules find in one instance, None where they did not come to an end, and what stopped them."""
    instance, one = kernel.instances[turn], Attempts(setting.limits, kernel.function.name)
    counted = instance.known.placed_cost
    limits = pool.to_judge(counted, waiting)

    def look_into() -> _Told:
        nonlocal instance
        look()
        if not instance.known.is_judged(limits):
            within, reading = instance.known.placed_within, instance.reading
            setting.forget(instance)
            instance = _placed(setting, reading, instance.index, rules, within)
            _work_out(instance, every=every)
        instance.known.facts.analysis.allow(limits)
        told = {rule: instance.findings(rule) for rule in instance.known.telling(rules)}
        instance.known.facts.analysis.mark(JUDGED)
        instance.known.let_go()
        return told

    told = None
    try:
        told = one.run(FINDINGS, look_into, None, setting.limits.reading_units)
    finally:
        setting.forget_cut([instance], every=told is None)
    PAUSES.here()
    kernel.instances[turn] = instance
    pool.spent += max(0, instance.known.cost - counted)
    return told, one.stopped


def _concerned(setting: Setting, readings: Sequence[KernelConfiguration], rules: Sequence[Rule]) -> bool:
    """May a rule have anything to say of a kernel? All are about shared memory, what orders threads, or launches."""
    if not any(map(_may_matter, readings)):
        return False
    if any(rule.concerns is None for rule in rules):
        return True
    parts = parts_of(readings[0].function, setting.around) if rules else ()
    return any(
        rule.concerns(setting.around.unit.source, parts) for rule in rules if rule.concerns is not None
    )


def _may_matter(reading: KernelConfiguration) -> bool:
    around, function, dialect = reading.around, reading.function, reading.around.dialect
    limited = {dialect.launch_bounds, dialect.cluster_dims}
    return (
        not limited.isdisjoint(function.head.texts)
        or any(map(_asks_for_more, reading.launches))
        or may_share_or_wait(around, function, reading.binding)
    )


def _asks_for_more(site: LaunchSite) -> bool:
    """Has a launch more than blocks of threads that every device runs?"""
    bytes_ = site.dynamic_bytes or site.impossible
    return bool(bytes_ or site.cluster or (site.threads or 0) > MAX_THREADS)


def _findings(of: _Placed) -> Iterator[tuple[Rule, Finding]]:
    """What the rules find in a kernel. Where an instance is not wholly known, or not all of them were judged, nothing
    is proposed: a rewrite changes all of them."""
    contexts = [context for kernel in of.instances for context in kernel.reading.contexts]
    through = ground.through(contexts) if of.instances[0].known.facts.kernel.through else ""
    whole = of.whole and len(of.told) == len(of.instances)
    whole = whole and not any(kernel.known.stopped_in_check for kernel in of.instances)
    for rule in dict.fromkeys(rule for told in of.told for rule in told):
        if rule.unanimous and not whole:
            continue
        told = [(kernel, each.get(rule, ())) for kernel, each in zip(of.instances, of.told)]
        for finding in join_instances(told, unanimous=rule.unanimous):
            if rule.unanimous and through:  # in others it may not hold
                finding = replace(finding, words=said(finding.words, f" ({through})"))
            yield rule, finding if whole else replace(finding, remedy=None)
