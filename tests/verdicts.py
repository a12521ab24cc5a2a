"""The verdict on a few statements of CUDA, in a block of 64 threads with shared memory ``s`` of 128 ints."""

from __future__ import annotations

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

_KERNEL = "__global__ void k(int* o, int* out) {{ {shared} int t = threadIdx.x; {body} }}\n"


def kind(
    prelude: str, body: str, *, threads: int = 64, shared: str = "__shared__ int s[128];"
) -> VerdictKind:
    """``prelude``: what is declared in front of the kernel, whose parameters are ``o`` and ``out``; ``t``: the
    thread."""
    text = f"{prelude}\n{_KERNEL.format(shared=shared, body=body)}"
    host = f"void host(int* o, int* out) {{ k<<<1, {threads}>>>(o, out); }}"
    (found,) = check(text + host).facts[0].analysis.verdicts
    return found.kind


def twins(prelude: str, free: str, racy: str) -> tuple[VerdictKind, VerdictKind]:
    """Of a kernel that is right, and of one that races."""
    return kind(prelude, free), kind(prelude, racy)
