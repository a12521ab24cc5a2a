"""The kernels of a file: what a report prints of each of them comes first, then what the rules look for, so that a file
without time loses findings before it loses kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine.cache import PlacedKernel, Setting
from smem_lsp.engine.instances import join_instances, without_narrower
from smem_lsp.engine.readings import Reading, readings_of
from smem_lsp.engine.stated import stated_of
from smem_lsp.facts.attempts import Attempts
from smem_lsp.facts.stopped import Stopped, Why
from smem_lsp.ir.nodes import MORE_INSTANCES, Barrier, BarrierKind, Kernel, LaunchSite, walk
from smem_lsp.lowering.shares_or_waits import may_share_or_wait
from smem_lsp.rules import ground
from smem_lsp.rules.kernel_verdict import verdict_kind
from smem_lsp.rules.model import Finding, Rule
from smem_lsp.rules.words import said
from smem_lsp.source import plural
from smem_lsp.source.budget import look, processor_time, used_up
from smem_lsp.source.pauses import PAUSES
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Function
from smem_lsp.targets.every import MAX_THREADS
from smem_lsp.unit.unit_facts import parts_of

_FOR_KERNELS = 0.6  # of a file's time
_FOR_PROOFS = 0.85  # of a file's time: when no proof of instances that are left out is begun any more
_MOST_PROVED = 32  # readings of one kernel that stand for instances which are left out
_FOR_VERDICT = 1.0  # seconds: one that is begun is finished in the file's time
_LEAST_SHARE = 0.2  # of a kernel's time, whatever the others of the file need


@dataclass(frozen=True, slots=True)
class JudgedKernel:
    """A kernel with its instances, one where it is no template, and what the rules find in it. ``rest``: what stands
    for the instances that are left out, where all of it is race-free; no rule looks at it."""

    instances: tuple[PlacedKernel, ...]
    findings: tuple[tuple[Rule, Finding], ...]
    rest: tuple[PlacedKernel, ...] = ()

    @property
    def every(self) -> tuple[PlacedKernel, ...]:
        """All that it keeps."""
        return (*self.instances, *self.rest)

    @property
    def stopped(self) -> Iterator[Stopped]:
        """Analyses without a result, and where they are told."""
        for kernel in self.instances:
            for each in kernel.known.stopped:
                yield replace(each, span=kernel.function.name_span)


Read = Callable[[], list[tuple[Reading, ...]]]
_Told = dict[Rule, Sequence[Finding]]


@dataclass(slots=True)
class _Placed:
    """A kernel of which is known what a report prints. ``whole``: all of its instances are there; ``unread``: its first
    reading, where all readings are there; ``took``: seconds for each of them; ``rest``: what stands for instances that
    are left out; ``told``: what the rules find in the first of them, as many as were judged."""

    function: Function
    instances: Sequence[PlacedKernel]
    whole: bool
    unread: Reading | None
    took: float
    rest: Sequence[PlacedKernel] = ()
    told: list[_Told] = field(default_factory=list)


def judge_kernels(
    setting: Setting, rules: Sequence[Rule], attempts: Attempts, *, every: bool, started: float
) -> list[JudgedKernel]:
    """The kernels that can be analysed within the budget: ``every`` one, or those that concern a rule. ``attempts``
    notes those that cannot. ``started``: when the check began, in processor seconds. What a report prints of them comes
    first; then the rules look at the first instance of each kernel, then at the second ones; then, of ``every`` one,
    instances that are left out are proved. Of a kernel that takes more than its share the other instances and contexts
    are left out: then nothing is said, or done to it, that has to hold in all of them."""
    of_kernels = tuple(rule for rule in rules if rule.on_kernel is not None)
    read = partial(readings_of, setting.units)
    until = started + setting.limits.file_seconds * _FOR_PROOFS
    return _judged(setting, of_kernels, read, attempts, every=every, until=until)


def judge_functions(
    setting: Setting, rules: Sequence[Rule], read: Read, attempts: Attempts
) -> list[JudgedKernel]:
    """The device functions of ``read`` that no kernel calls. A barrier of the block tells that all its threads call a
    function together, one of a warp tells that of its lanes. How they are called is not known, so no remedy is
    offered."""
    of_functions = tuple(rule for rule in rules if rule.of_functions)
    found = _judged(setting, of_functions, read, attempts) if of_functions else []
    attempts.stopped += (stop for judged in found for stop in judged.stopped)
    return [replace(judged, findings=tuple(_of_callers(setting, judged, attempts))) for judged in found]


def _of_callers(setting: Setting, judged: JudgedKernel, attempts: Attempts) -> Iterator[tuple[Rule, Finding]]:
    if not judged.findings:
        return
    function, kernel = judged.instances[0].function, judged.instances[0].known.facts.kernel
    one = Attempts(setting.limits, function.name)
    kinds = one.run("findings", partial(_barriers, kernel), set[BarrierKind](), setting.limits.file_seconds)
    attempts.stopped += (replace(stop, span=function.name_span) for stop in one.stopped)
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
    *,
    every: bool = False,
    until: float = 0.0,
) -> list[JudgedKernel]:
    """``until``: there is time for proofs."""
    placed = _place(setting, rules, read, attempts, every=every)
    _judge(setting, rules, placed, attempts)
    _prove(setting, placed, attempts, until, every=every)
    return [
        JudgedKernel(tuple(each.instances), tuple(without_narrower(list(_findings(each)))), tuple(each.rest))
        for each in placed
    ]


def _place(
    setting: Setting, rules: tuple[Rule, ...], read: Read, attempts: Attempts, *, every: bool
) -> list[_Placed]:
    """The kernels, with what a report prints of them."""
    limits = setting.limits
    wanted = attempts.run("everything", read, list[tuple[Reading, ...]](), limits.file_seconds)
    found: list[_Placed] = []
    first = 0  # index of the next instance among all
    started = processor_time()
    for at, readings in enumerate(wanted):
        left = limits.file_seconds * _FOR_KERNELS - (processor_time() - started)
        end = processor_time() + max(limits.kernel_seconds * _LEAST_SHARE, left / (len(wanted) - at))
        function = readings[0].function
        one = Attempts(limits, function.name)
        concerned: bool | None = every
        if not every:
            work = partial(_concerned, setting, readings, rules)
            concerned = one.run("everything", work, None, limits.file_seconds)
        if concerned is False:
            continue
        if used_up():
            others = len(wanted) - at - 1
            name = f"{function.name} and {plural(others, 'more kernel')}" if others else function.name
            attempts.stopped.append(Stopped("everything", Why.TIME, name, function.name_span))
            break
        if concerned is None:
            attempts.stopped += (replace(each, span=function.name_span) for each in one.stopped)
            continue
        placed: list[PlacedKernel] = []
        known: list[PlacedKernel] = []

        def place(
            readings: Sequence[Reading] = readings,
            first: int = first,
            placed: list[PlacedKernel] = placed,
            known: list[PlacedKernel] = known,
            end: float = end,
            one: Attempts = one,
            function: Function = function,
        ) -> bool:
            for index, reading in enumerate(readings, first):
                if placed and processor_time() > end:
                    others = f"{plural(len(readings) - len(placed), 'more instance')} or contexts"
                    one.stopped.append(Stopped(others, Why.TIME, reading.function.name, parts=True))
                    return False
                stated = stated_of(reading.function, setting.suppressions, reading.around, reading.binding)
                placed.append(setting.place(reading, index, stated, rules))
                if every:
                    placed[-1].known.facts.analysis.require_report()
                known.append(placed[-1])
            return not readings[0].left_out

        whole, began = None, processor_time()
        try:
            whole = one.run("everything", place, None, limits.file_seconds)
        finally:
            setting.forget_cut(placed, every=whole is None)
        PAUSES.here()
        attempts.stopped += (replace(each, span=function.name_span) for each in one.stopped)
        if known:
            took = (processor_time() - began) / len(known)
            every_known = whole is not None and len(known) == len(readings)
            found.append(_Placed(function, known, bool(whole), readings[0] if every_known else None, took))
            first += len(known)
        if not (known and every_known):
            _leave_out(readings[0], attempts)
    return found


def _prove(
    setting: Setting, kernels: Sequence[_Placed], attempts: Attempts, end: float, *, every: bool
) -> None:
    """Look for proofs of the instances that are left out: in what is left of the time after all findings."""
    waiting = [each for each in kernels if each.unread is not None and each.unread.left_out]
    for at, each in enumerate(waiting):
        assert each.unread is not None
        if every and each.unread.unread and processor_time() < end:
            more, tried = Attempts(setting.limits, each.function.name), list[PlacedKernel]()
            work = partial(_proofs, setting, each, tried, end, len(waiting) - at)
            each.rest = more.run(MORE_INSTANCES, work, each.rest, setting.limits.file_seconds)
            setting.forget_cut(tried, every=False)
            stopped = (stop for stop in more.stopped if stop.why is Why.DEFECT)
            attempts.stopped += (replace(stop, span=each.function.name_span) for stop in stopped)
        _leave_out(each.unread, attempts, covered=bool(each.rest))


def _worth_proofs(kernel: _Placed, end: float) -> bool:
    """Is there time, and is every instance decided that is looked at? Else proofs of the others change nothing."""
    for each in kernel.instances:
        if processor_time() + _FOR_VERDICT > end:
            return False
        if verdict_kind(each.known.facts) is VerdictKind.UNDECIDED:
            return False
    return True


def _leave_out(reading: Reading, attempts: Attempts, *, covered: bool = False) -> None:
    """Tell what is left out of a kernel. ``covered``: its instances are proved."""
    function = reading.function
    for parts in reading.left_out:
        proved = covered and parts == MORE_INSTANCES
        what = f"findings in {parts}" if proved else parts
        stopped = Stopped(what, Why.MANY, function.name, function.name_span, parts=not proved)
        attempts.stopped.append(stopped)


def _proofs(
    setting: Setting, of: _Placed, tried: list[PlacedKernel], end: float, sharing: int
) -> Sequence[PlacedKernel]:
    """What stands for all instances that are left out, each of it proved; empty if one is not. First in as many groups
    as there is time for, with their own launches; then with all numbers open, under any launch. ``sharing``: so many
    kernels need the time until ``end``."""
    assert of.unread is not None
    most = min(_MOST_PROVED, int((end - processor_time()) / sharing / of.took))
    groups = of.unread.others_in_sight(most) if _worth_proofs(of, end) else ()
    now = processor_time()  # the launches of all kernels are known
    end = now + (end - now) / sharing
    for readings, any_block in ((groups, False), (of.unread.rest, True)):
        proved: list[PlacedKernel] = []
        for reading in readings:
            if processor_time() > end:
                break
            stated = stated_of(reading.function, setting.suppressions, reading.around, reading.binding)
            kernel = setting.place(reading, -1, stated, ())
            tried.append(kernel)
            every = kernel.known.facts.analysis.any_block if any_block else None
            if any_block and (every is None or every.kind is not VerdictKind.RACE_FREE):
                break  # no race is looked for
            if verdict_kind(kernel.known.facts) is not VerdictKind.RACE_FREE:
                break
            proved.append(kernel)
        if readings and len(proved) == len(readings):
            return proved
    return ()


def _judge(setting: Setting, rules: tuple[Rule, ...], kernels: Sequence[_Placed], attempts: Attempts) -> None:
    """Let the rules look at the first instances, then at the second ones, as long as there is time."""
    for turn in range(max((len(each.instances) for each in kernels), default=0)):
        for each in kernels:
            if turn >= len(each.instances) or turn > len(each.told):
                continue
            instance, one = each.instances[turn], Attempts(setting.limits, each.function.name)

            def look_into(instance: PlacedKernel = instance) -> _Told:
                look()
                told = {rule: instance.findings(rule) for rule in instance.known.telling(rules)}
                instance.known.let_go()
                return told

            told, began = None, processor_time()
            try:
                told = one.run("findings", look_into, None, setting.limits.file_seconds)
            finally:
                setting.forget_cut([instance], every=told is None)
            PAUSES.here()
            each.took += (processor_time() - began) / len(each.instances)
            attempts.stopped += (replace(stop, span=each.function.name_span) for stop in one.stopped)
            if told is not None:
                each.told.append(told)


def _concerned(setting: Setting, readings: Sequence[Reading], rules: Sequence[Rule]) -> bool:
    """May a rule have anything to say of a kernel? All are about shared memory, what orders threads, or launches."""
    if not any(map(_may_matter, readings)):
        return False
    if any(rule.concerns is None for rule in rules):
        return True
    parts = parts_of(readings[0].function, setting.around) if rules else ()
    return any(
        rule.concerns(setting.around.unit.source, parts) for rule in rules if rule.concerns is not None
    )


def _may_matter(reading: Reading) -> bool:
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
    whole = whole and not any(kernel.known.stopped for kernel in of.instances)
    for rule in dict.fromkeys(rule for told in of.told for rule in told):
        if rule.unanimous and not whole:
            continue
        told = [(kernel, each.get(rule, ())) for kernel, each in zip(of.instances, of.told)]
        for finding in join_instances(told, unanimous=rule.unanimous):
            if rule.unanimous and through:  # in others it may not hold
                finding = replace(finding, words=said(finding.words, f" ({through})"))
            yield rule, finding if whole else replace(finding, remedy=None)
