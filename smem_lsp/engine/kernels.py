"""The kernels of a file, one after the other: each analysed and judged before the next, so that what a file without
time loses is the kernels at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from smem_lsp.engine.cache import PlacedKernel, Setting
from smem_lsp.engine.instances import join_instances
from smem_lsp.engine.readings import Reading, readings_of
from smem_lsp.engine.stated import stated_of
from smem_lsp.facts.attempts import Attempts
from smem_lsp.facts.stopped import Stopped, Why
from smem_lsp.rules.model import Finding, Rule
from smem_lsp.source import plural
from smem_lsp.source.budget import processor_time, used_up
from smem_lsp.syntax.parse import Function
from smem_lsp.unit.unit_facts import parts_of

_FOR_KERNELS = 0.6  # of a file's time
_LEAST_SHARE = 0.2  # of a kernel's time, whatever the others of the file need


@dataclass(frozen=True, slots=True)
class JudgedKernel:
    """A kernel with its instances, one where it is no template, and what the rules find in it."""

    instances: tuple[PlacedKernel, ...]
    findings: tuple[tuple[Rule, Finding], ...]

    @property
    def stopped(self) -> Iterator[Stopped]:
        """Analyses without a result, and where they are told."""
        for kernel in self.instances:
            for each in kernel.known.stopped:
                yield replace(each, span=kernel.facts.kernel.name_span)


def judge_kernels(
    setting: Setting, rules: Sequence[Rule], attempts: Attempts, *, every: bool
) -> list[JudgedKernel]:
    """The kernels that can be analysed within the budget: ``every`` one, or those that concern a rule. ``attempts``
    notes those that cannot. Of a kernel that takes more than its share the other instances and contexts are left out:
    then nothing is said, or done to it, that has to hold in all of them."""
    limits = setting.limits
    of_kernels = tuple(rule for rule in rules if rule.on_kernel is not None)
    found: list[JudgedKernel] = []
    first = 0  # index of the next instance among all

    wanted = attempts.run(
        "everything",
        partial(readings_of, setting.units),
        list[tuple[Reading, ...]](),
        limits.file_seconds,
    )
    started = processor_time()
    for at, instances in enumerate(wanted):
        left = limits.file_seconds * _FOR_KERNELS - (processor_time() - started)
        share = max(limits.kernel_seconds * _LEAST_SHARE, left / (len(wanted) - at))
        function = instances[0].function
        if not every and not _concerned(setting, function, of_kernels):
            continue
        if used_up():
            others = len(wanted) - at - 1
            name = f"{function.name} and {plural(others, 'more kernel')}" if others else function.name
            attempts.stopped.append(Stopped("everything", Why.TIME, name, function.name_span))
            break
        one = Attempts(limits, function.name)
        placed: list[PlacedKernel] = []

        def judge(
            instances: Sequence[Reading] = instances,
            first: int = first,
            placed: list[PlacedKernel] = placed,
            share: float = share,
            one: Attempts = one,
        ) -> JudgedKernel:
            end = processor_time() + share
            for index, reading in enumerate(instances, first):
                if placed and processor_time() > end:
                    others = f"{plural(len(instances) - len(placed), 'more instance')} or contexts"
                    one.stopped.append(Stopped(others, Why.TIME, reading.function.name))
                    break
                stated = stated_of(reading.function, setting.suppressions, reading.around, reading.binding)
                placed.append(setting.place(reading, index, stated))
                if every:
                    placed[-1].known.facts.analysis.require_report()
            whole = len(placed) == len(instances)
            return JudgedKernel(tuple(placed), tuple(_findings(of_kernels, placed, whole=whole)))

        judged = None
        try:
            judged = one.run("everything", judge, None, limits.file_seconds)
        finally:
            setting.forget_cut(placed, every=judged is None)
        attempts.stopped += (replace(each, span=function.name_span) for each in one.stopped)
        if judged is not None:
            found.append(judged)
            first += len(placed)
    return found


def _concerned(setting: Setting, function: Function, rules: Sequence[Rule]) -> bool:
    """May a rule have anything to say of a kernel?"""
    if any(rule.concerns is None for rule in rules):
        return True
    parts = parts_of(function, setting.around) if rules else ()
    return any(
        rule.concerns(setting.around.unit.source, parts) for rule in rules if rule.concerns is not None
    )


def _findings(
    rules: tuple[Rule, ...], instances: Sequence[PlacedKernel], *, whole: bool
) -> Iterator[tuple[Rule, Finding]]:
    """What the rules find in a kernel. Where an instance is not wholly known, or these are not the ``whole`` of them,
    nothing is proposed: a rewrite changes all of them."""
    telling = dict.fromkeys(rule for kernel in instances for rule in kernel.known.telling(rules))
    whole = whole and not any(kernel.known.stopped for kernel in instances)
    for rule in telling:
        if rule.unanimous and not whole:
            continue
        told = [(kernel, kernel.findings(rule)) for kernel in instances]
        for finding in join_instances(told, unanimous=rule.unanimous):
            yield rule, finding if whole else replace(finding, remedy=None)
