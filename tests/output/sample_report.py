"""Reports built by hand, so that outputs are tested without parsing anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from smem_lsp.allocation.plan import Plan
from smem_lsp.engine.report import BarrierRow, FileReport, FileStatistics, KernelReport, OccupancyRow
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    AddressSpace,
    Barrier,
    BarrierKind,
    Buffer,
    DeclarationSite,
    Kernel,
    LaunchSite,
    Loop,
    Seq,
    Written,
)
from smem_lsp.ir.places import At, Row, SourceMap
from smem_lsp.ir.values import Unknown
from smem_lsp.lowering.numbered import numbered
from smem_lsp.rules.model import Finding, Note, Severity
from smem_lsp.source import SourceText, Span, TextEdit

GEMM = """\
#define BM 32
__global__ void gemm(const float* in, float* out) {
  __shared__ float As[BM][16];
  __shared__ float Bs[16][BM];
  for (int t = 0; t < 4; ++t) {
    As[threadIdx.y][threadIdx.x] = in[t];
    Bs[threadIdx.y][threadIdx.x] = in[t + 4];
    __syncthreads();
    acc += As[threadIdx.y][t] * Bs[t][threadIdx.x];
    __syncthreads();
  }
  __shared__ float Cs[BM][BM];
  Cs[threadIdx.y][threadIdx.x] = acc;
  __syncthreads();
  out[threadIdx.x] = Cs[threadIdx.x][threadIdx.y];
}
void run(float* a, float* b) { gemm<<<2, 256>>>(a, b); }
"""

NAMES = {"SMEM101": "unused-buffer", "SMEM201": "missing-barrier", "SMEM301": "mergeable-buffers"}


def span_of(text: str, part: str, occurrence: int = 0) -> Span:
    """Span of the n-th ``part`` in ``text``."""
    start = -1
    for _ in range(occurrence + 1):
        start = text.index(part, start + 1)
    return Span(start, start + len(part))


def make_buffer(text: str, index: int, name: str, dims: tuple[int, ...], line_text: str) -> Buffer:
    place = span_of(text, line_text)
    declared = Span(place.start + line_text.index(name), place.start + line_text.index(name) + len(name))
    size = 4
    for dim in dims:
        size *= dim
    site = DeclarationSite(At.of(place), None, None, At.of(declared), 0, 1, At(0, len(text)))
    return Buffer(
        index=index,
        name=name,
        type="float",
        written=Written("float", dims=tuple(map(str, dims))),
        dims=dims,
        element_bytes=4,
        bytes=size,
        align=4,
        space=AddressSpace.STATIC,
        declared=At.of(declared),
        site=site,
        function="gemm",
    )


def gemm_kernel(text: str = GEMM) -> Kernel:
    def access(point: int, buffer: int, kind: AccessKind, line: int) -> Access:
        return Access(point, buffer, kind, None, None, Row(line))

    def barrier(point: int, line: int) -> Barrier:
        return Barrier(point, BarrierKind.BLOCK, None, Row(line), "__syncthreads();")

    body = Seq(
        (
            access(1, 0, AccessKind.WRITE, 6),
            access(2, 1, AccessKind.WRITE, 7),
            barrier(3, 8),
            access(4, 0, AccessKind.READ, 9),
            access(5, 1, AccessKind.READ, 9),
            barrier(6, 10),
        )
    )
    loop_span = At(span_of(text, "for (").start, span_of(text, "  }\n").end - 1)
    loop = Loop(0, 7, 4, 4, Unknown(0), None, body, loop_span, Row(5))
    after = (access(8, 2, AccessKind.WRITE, 13), barrier(9, 14), access(10, 2, AccessKind.READ, 15))
    kernel = Kernel(
        name="gemm",
        at=At(span_of(text, "__global__").start, len(text)),
        name_at=At.of(span_of(text, "gemm")),
        row=Row(2),
        buffers=(
            make_buffer(text, 0, "As", (32, 16), "__shared__ float As"),
            make_buffer(text, 1, "Bs", (16, 32), "__shared__ float Bs"),
            make_buffer(text, 2, "Cs", (32, 32), "__shared__ float Cs"),
        ),
        body=Seq((loop, *after)),
        variables=(),
        template=False,
        internal=False,
        may_opt_in=False,
        launch_bounds=None,
        launches=(LaunchSite("gemm", (256, 1, 1), 0, None, span_of(text, "gemm<<<2, 256>>>(a, b)"), 17),),
    )
    return numbered(kernel, SourceMap())


def gemm_plans() -> tuple[Plan, ...]:
    return (
        Plan("declared", 8192, {0: 0, 1: 2048, 2: 4096}),
        Plan("stack", 8192, {0: 0, 1: 2048, 2: 4096}, 4096),
        Plan("best", 4096, {0: 0, 1: 2048, 2: 0}, 4096, True, (2,)),
    )


def gemm_kernel_report(text: str = GEMM) -> KernelReport:
    return KernelReport(
        kernel=gemm_kernel(text),
        static_bytes=8192,
        exact=True,
        plans=gemm_plans(),
        live={0: (5, 11), 1: (5, 11), 2: (13, 15)},
        occupancy=(OccupancyRow("sm_90", 256, 34, "nvcc", 7, 8, ("threads",)),),
        barriers=tuple(BarrierRow(line, BarrierKind.BLOCK, "proved") for line in (8, 10, 14)),
    )


def gemm_findings(text: str = GEMM) -> tuple[Finding, ...]:
    return (
        Finding(
            code="SMEM301",
            words="`Cs` can reuse `As`, `Bs` (dead after the barrier at 10): 8,192 → 4,096 B",
            span=Span(span_of(text, "Cs").start, span_of(text, "Cs").end),
            severity=Severity.WARNING,
            kernel="gemm",
            buffers=("Cs", "As", "Bs"),
            related=(
                Note(span_of(text, "As"), "`As` is dead after line 11"),
                Note(span_of(text, "Bs"), "`Bs` is dead after line 11"),
            ),
            data={"bytes_before": 8192, "bytes_after": 4096, "bytes_saved": 4096},
        ),
    )


def merge_fix(text: str = GEMM) -> Fix:
    line = "  __shared__ float Cs[BM][BM];\n"
    return Fix(
        Title("Put `Cs` in the bytes of `As` and `Bs`"),
        Safety.SAFE,
        (TextEdit(span_of(text, line), "  auto& Cs = merged;\n"),),
    )


def no_fixes(finding: Finding, _: FileReport) -> tuple[Fix, ...]:
    return ()


def make_report(
    text: str,
    findings: tuple[Finding, ...] = (),
    fixes: Callable[[Finding, FileReport], tuple[Fix, ...]] = no_fixes,
    path: str = "kernels/gemm.cu",
    kernels: tuple[KernelReport, ...] = (),
) -> FileReport:
    source = SourceText(text, path)
    return FileReport(source, findings, kernels, FileStatistics(source.line_count(), 2, 10, 0), fixes)


def gemm_report(path: str = "kernels/gemm.cu") -> FileReport:
    fix = merge_fix()
    return make_report(GEMM, gemm_findings(), lambda *_: (fix,), path, (gemm_kernel_report(),))


def with_plans(report: KernelReport, *plans: Plan) -> KernelReport:
    return replace(report, plans=plans)
