"""Which accesses need no run: those that proved barriers or slots of the thread's own keep apart."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from executor.racy_kernels import Generator

from smem_lsp.analysis.execution.program import NONE_RACE_FREE, RaceFree
from smem_lsp.analysis.hazards.candidates import race_free_accesses
from smem_lsp.analysis.hazards.races import find_hazards
from smem_lsp.engine import check
from smem_lsp.facts import kernel_analysis
from smem_lsp.ir.nodes import Access, walk


def race_free_lines(body: str) -> set[int]:
    """Lines of ``body``, from 1, all of whose accesses are kept apart."""
    text = f"static __global__ void __launch_bounds__(64) k(const float* in, float* out, int n) {{{body}}}\n"
    text += "void host(const float* in, float* out) { k<<<1, 64>>>(in, out, 3); }\n"
    found: list[RaceFree] = []

    def noted(*arguments: object) -> RaceFree:
        found.append(race_free_accesses(*arguments))  # type: ignore[arg-type]
        return found[-1]

    with patch.object(kernel_analysis, "race_free_accesses", noted):
        kernel = check(text).facts[0].kernel
    accesses = [node for node in walk(kernel.body) if isinstance(node, Access)]
    open_ = [a for a in accesses if a.point not in found[0].no_conflict]
    return {kernel.places.line(a.line) for a in accesses} - {kernel.places.line(a.line) for a in open_}


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        # a barrier on both sides
        (
            """ __shared__ float s[64]; int t = threadIdx.x;
            s[t] = in[t];
            __syncthreads();
            out[t] = s[63 - t];""",
            {2, 4},
        ),
        # over the back edge
        (
            """ __shared__ float s[64]; int t = threadIdx.x; for (int i = 0; i < n; ++i) {
            s[t] = in[t];
            __syncthreads();
            out[t] = s[63 - t]; }""",
            set(),
        ),
        # one access meets itself
        (
            """ __shared__ float s[64]; int t = threadIdx.x;
            s[t / 2] = in[t];
            __syncthreads();
            out[t] = s[63 - t];""",
            {4},
        ),
        # slots of the thread's own
        (
            """ __shared__ float s[64]; int t = threadIdx.x;
            s[t] = in[t];
            s[t] += 1;
            out[t] = s[t];""",
            {2, 3, 4},
        ),
        # a copy passes the barrier
        (
            """ __shared__ float s[64]; int t = threadIdx.x;
            __pipeline_memcpy_async(&s[t], &in[t], 4);
            __syncthreads();
            out[t] = s[t];""",
            set(),
        ),
    ],
)
def test_what_is_kept_apart(body: str, lines: set[int]) -> None:
    assert race_free_lines(body) == lines


def test_what_is_kept_apart_shows_nothing_in_a_run() -> None:
    """Random kernels, with and without what is left out."""
    left_out = 0

    def both(*arguments: object, race_free: RaceFree = NONE_RACE_FREE, **named: object) -> object:
        nonlocal left_out
        left_out += len(race_free.no_conflict)
        found = find_hazards(*arguments, race_free=race_free, **named)  # type: ignore[arg-type]
        assert found == find_hazards(*arguments, **named)  # type: ignore[arg-type]
        return found

    with patch.object(kernel_analysis, "find_hazards", both):
        for seed in range(60):
            assert check(Generator(seed).kernel().text).kernels
    assert left_out > 60
