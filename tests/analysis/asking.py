"""Questions to the analysis about a few statements of CUDA."""

from __future__ import annotations

from dataclasses import dataclass

from smem_lsp.analysis.threads.divergence import Verdicts, judge
from smem_lsp.analysis.threads.uniformity import Control, Levels, prove_levels
from smem_lsp.analysis.values.affine import Forms
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Barrier, BarrierKind, Branch, Kernel, walk
from smem_lsp.lowering.kernel import build_kernels
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse
from smem_lsp.terms.intervals import Interval
from smem_lsp.terms.language import Term

PARAMETERS = "int n, int m, const int* __restrict__ in, int* out"


@dataclass(frozen=True)
class Analysed:
    kernel: Kernel
    values: ValueFacts
    control: Control
    levels: Levels

    @property
    def accesses(self) -> list[Access]:
        return [node for node in walk(self.kernel.body) if isinstance(node, Access)]

    def index(self, number: int = -1) -> Term:
        """The last index of the access with this number."""
        return self.values.indices[self.accesses[number].point][-1]

    def condition(self) -> Term:
        """Of the last branch."""
        branches = [node for node in walk(self.kernel.body) if isinstance(node, Branch)]
        return self.values.conditions[branches[-1].point]

    def interval(self, number: int = -1, dims: tuple[int, int, int] | None = None) -> Interval:
        bounds = Bounds(self.values.loops, dims, exact=True) if dims else Bounds(self.values.loops)
        return bounds.interval(self.index(number))

    def forms(self, dims: tuple[int, int, int] = (256, 1, 1)) -> Forms:
        return Forms(self.values.table, Bounds(self.values.loops, dims, exact=True))

    def barriers(self, dims: tuple[int, int, int] | None = None) -> list[str]:
        """ "proved", "paired" or "unknown" for each block barrier."""
        found: Verdicts = judge(self.kernel.body, self.levels, self.control, dims)
        names: list[str] = []
        for node in walk(self.kernel.body):
            if isinstance(node, Barrier) and node.kind is BarrierKind.BLOCK:
                name = "paired" if node.point in found.paired else "unknown"
                names.append("proved" if node.point in self.control.barriers else name)
        return names


def analyse(
    statements: str,
    *,
    parameters: str = PARAMETERS,
    above: str = "",
    attributes: str = "",
    shape: tuple[int, int, int] | None = None,
) -> Analysed:
    """``statements`` with ``__shared__ int s[1024]``, ``t[32][33]`` and ``flag`` in sight."""
    text = (
        f"{above}\n__global__ void {attributes} k({parameters}) {{\n"
        "__shared__ int s[1024]; __shared__ int t[32][33]; __shared__ int flag; int tid = threadIdx.x;\n"
        f"{statements}\n}}\n"
    )
    kernel = build_kernels(parse(SourceText(text)))[0]
    values = propagate(kernel.body, memory=kernel.memory, rows=shape is not None and shape[0] % 32 == 0)
    fact = None if shape is None else BlockShape(shape, "assume", fact=True)
    control, levels = prove_levels(kernel.body, values, buffers=kernel.buffers, shape=fact)
    return Analysed(kernel, values, control, levels)
