"""What every other analysis of a kernel starts from: values, the block, uniformity, proved facts, liveness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from smem_lsp.analysis.dataflow.facts import Facts
from smem_lsp.analysis.dataflow.interference import Interference, interference
from smem_lsp.analysis.decision.kernel_model import KernelModel
from smem_lsp.analysis.decision.verdict import RaceChecker
from smem_lsp.analysis.threads.block_shape import block_shape, named_shapes, only_shape, shape_of_threads
from smem_lsp.analysis.threads.divergence import Verdicts, judge
from smem_lsp.analysis.threads.ordering_calls import split_calls
from smem_lsp.analysis.threads.prove import prove
from smem_lsp.analysis.threads.uniformity import Control, Levels, prove_levels
from smem_lsp.analysis.values.block_shape import BlockShape, dims_of, most_threads
from smem_lsp.analysis.values.symbolic_execution import NOTHING_PASSED, propagate
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.config import Config
from smem_lsp.facts.layouts import kept_buffers, pinned_buffers
from smem_lsp.ir.nodes import Axes, Buffer, Dims, Kernel, LaunchFact, LaunchSite
from smem_lsp.ir.values import Const, Op, Sym, Value
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.operators import Operator

_MOST_ALTERNATIVES = 8  # launches that say something else


@dataclass(frozen=True, slots=True)
class DataFlow:
    """``kernel``: the one that was followed, without its flow of control where that was out of budget. ``shapes``: the
    blocks that somebody names; ``shape``: the one of all launches. ``facts``: proved for every block that can be
    launched; ``assuming``: for the block of ``shape``, which may be no fact. ``followed`` and ``judges``: shared
    by all questions about its accesses."""

    kernel: Kernel
    values: ValueFacts
    shapes: tuple[BlockShape, ...]
    shape: BlockShape | None
    control: Control
    levels: Levels
    verdicts: Verdicts
    judged: tuple[
        tuple[BlockShape | None, Verdicts], ...
    ]  # the same for each of ``shapes``; None: there is none
    facts: Facts
    assuming: Facts
    kept: Sequence[Buffer]  # buffers that ptxas keeps
    pinned: frozenset[int]  # buffers that never share
    interference: Interference
    followed: KernelModel
    judges: dict[tuple[Verdicts, Dims | None], RaceChecker] = field(default_factory=dict, compare=False)

    @property
    def fact(self) -> BlockShape | None:
        """The block, where no other one can be launched."""
        return self.shape if self.shape is not None and self.shape.fact else None


def passed_by_all(kernel: Kernel) -> Mapping[str, Value]:
    """Parameters for which every launch in sight passes the same number, in terms of the block and the grid."""
    found: dict[str, Value] | None = None
    for site in kernel.launches:
        own: dict[str, Value] = {}
        for fact in site.equalities:
            checkpoint()
            for one, other in ((fact.left, fact.right), (fact.right, fact.left)):
                if isinstance(one, Sym) and not _of_launch(one) and _is_of_launch(other):
                    own.setdefault(one.name, other)
        found = own if found is None else {name: v for name, v in found.items() if own.get(name) == v}
    return found or {}


def given_by_all(kernel: Kernel) -> Sequence[Value]:
    """What the launches in sight say: how the block's sizes are made of parameters, numbers that are passed, and what
    the host has checked. Where they differ, one of them is true; nothing, where one says nothing."""
    passed = passed_by_all(kernel)
    launches = [dict.fromkeys(_said(site, passed)) for site in kernel.launches]
    if not launches:
        return []
    common = [each for each in launches[0] if all(each in other for other in launches)]
    rest = [[each for each in one if each not in common] for one in launches]
    blocks = [list(_block_of(site)) for site in kernel.launches]
    either = list(dict.fromkeys((*own, *block) for own, block in zip(rest, blocks)))
    if not any(rest) or () in either or len(either) > _MOST_ALTERNATIVES:
        return common
    return [*common, _joined(Operator.OR, [_joined(Operator.AND, one) for one in either])]


def _block_of(site: LaunchSite) -> Iterator[Value]:
    """Its sizes, where all are numbers."""
    return _sizes(site.block or (None, None, None))


def _sizes(axes: Axes) -> Iterator[Value]:
    for axis, size in zip("xyz", axes):
        if size is not None:
            yield Op(Operator.EQUAL, (Sym(f"blockDim.{axis}"), Const(size)))


def _said(site: LaunchSite, passed: Mapping[str, Value]) -> Iterator[Value]:
    """``passed``: see ``passed_by_all``; it stands for the parameter wherever that is."""
    if site.block is None:
        yield from _sizes(site.axes)
    for fact in site.equalities:
        sides = fact.left, fact.right
        known = next((each for each in sides if isinstance(each, Sym) and each.name in passed), None)
        if known is not None and not _is_of_sizes(fact):
            other = fact.right if known is fact.left else fact.left
            if _is_size(other) and _is_size(passed[known.name]) and other != passed[known.name]:
                yield Op(Operator.EQUAL, (passed[known.name], other))  # two sides of the block are one
            continue
        # how many blocks there are is known through the number of its own block to a thread, and hard to solve for
        if not any(_is_of_grid(each) for each in sides) or any(isinstance(each, Const) for each in sides):
            yield Op(fact.operator, (fact.left, fact.right))
    for fact in site.conditions:
        yield Op(fact.operator, (fact.left, fact.right))


def _has_lanes_in_x(kernel: Kernel) -> bool:
    """Is a warp of one row in every block that the kernel is launched with, as far as is known? Then no other block is
    judged."""
    blocks = [site.block for site in kernel.launches]
    return bool(blocks) and all(
        each is not None and (each[0] % WARP_SIZE == 0 or each[1:] == (1, 1)) for each in blocks
    )


def _joined(operator: Operator, values: Sequence[Value]) -> Value:
    whole = values[0]
    for each in values[1:]:
        whole = Op(operator, (whole, each))
    return whole


def _is_of_sizes(fact: LaunchFact) -> bool:
    """Does it say how a size of the block is made of parameters?"""
    sides = fact.left, fact.right
    sizes = any(isinstance(each, Sym) and each.name.startswith("blockDim.") for each in sides)
    return sizes and any(isinstance(each, Op) and not _is_of_launch(each) for each in sides)


def _is_size(value: Value) -> bool:
    return isinstance(value, Sym) and value.name.startswith("blockDim.")


def _is_of_grid(value: Value) -> bool:
    return isinstance(value, Sym) and value.name.startswith("gridDim.")


def _of_launch(symbol: Sym) -> bool:
    return symbol.name.startswith(("blockDim.", "gridDim.", "blockIdx."))


def _is_of_launch(value: Value) -> bool:
    """Is it a number, or made of the block's and the grid's sizes?"""
    if isinstance(value, Op):
        return all(map(_is_of_launch, value.args))
    return isinstance(value, Const) or (isinstance(value, Sym) and _of_launch(value))


def data_flow(
    kernel: Kernel,
    config: Config,
    passed: Mapping[str, Value] = NOTHING_PASSED,
    given: Sequence[Value] = (),
) -> DataFlow:
    """Follow a kernel once. ``passed``: what its launches pass, where that is taken for granted; ``given``: what else
    is true of them."""
    assumed = dict(kernel.stated.dims)
    shape = block_shape(kernel, assumed=assumed, setting=config.threads)
    sizes = kernel.dialect.warp_sizes
    rows = sizes == (WARP_SIZE,) and shape is not None and shape.fact and shape.dims[0] % WARP_SIZE == 0
    values = propagate(
        kernel.body,
        memory=kernel.memory,
        rows=rows,
        lanes_in_x=_has_lanes_in_x(kernel),
        agreed=kernel.agreed,
        warp_sizes=sizes,
        passed=passed,
        given=given,
    )
    shapes = named_shapes(kernel, assumed=assumed, setting=config.threads, axes=values.table.axes())
    shape = only_shape(kernel, shapes)
    fact = shape if shape is not None and shape.fact else None
    control, levels = prove_levels(
        kernel.body, values, buffers=kernel.buffers, shape=fact, upper=most_threads(kernel)
    )
    if not shapes and isinstance(config.threads, int) and not assumed:
        shape = shape_of_threads(config.threads, kernel, values, control)
        shapes = () if shape is None else (shape,)
    control = replace(control, split=split_calls(kernel, values, control, shapes))
    facts = prove(kernel, control, fact, values)
    verdicts = judge(kernel.body, levels, control, dims_of(shape))
    kept = kept_buffers(kernel)
    pinned = pinned_buffers(kernel, kept)
    return DataFlow(
        kernel=kernel,
        values=values,
        shapes=shapes,
        shape=shape,
        control=control,
        levels=levels,
        verdicts=verdicts,
        judged=tuple(
            (each, verdicts if each == shape else judge(kernel.body, levels, control, dims_of(each)))
            for each in shapes or (None,)
        ),
        facts=facts,
        assuming=facts if shape is None or shape.fact else prove(kernel, control, shape, values),
        kept=kept,
        pinned=pinned,
        interference=interference(kernel.body, facts, pinned),
        followed=KernelModel(kernel, values, control, levels, config.factor),
    )
