"""The verdict on a kernel: what it is proved for, what it takes for granted, and what limits it most."""

from __future__ import annotations

from dataclasses import replace

import pytest

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.engine.report import KernelReport
from smem_lsp.facts.attempts import LIMITS
from smem_lsp.output import verdicts
from smem_lsp.rules.kernel_verdict import KernelVerdict
from smem_lsp.server.code_lens import lens_title
from smem_lsp.source.queries import Store

ORDERED = """\
__global__ void k(const float* in, float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
"""
CROSSED = ORDERED.replace("  __syncthreads();\n", "")
WITHIN_WARP = """\
__global__ void k(const float* in, float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
"""
SCATTERED = """\
__global__ void k(const int* in, int* out) {
  __shared__ int s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  s[in[threadIdx.x] & 255] = in[2 * threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
"""


def kernel_of(text: str, host: str = "") -> KernelReport:
    (kernel,) = check(text + host).kernels
    return kernel


def verdict_of(text: str, host: str = "") -> KernelVerdict:
    return kernel_of(text, host).verdict


def launched(*blocks: str) -> str:
    launches = " ".join(f"k<<<1, {block}>>>(p, p);" for block in blocks)
    return f"void h(float* p, int n) {{ {launches} }}\n"


def test_a_kernel_that_nobody_launches_is_judged_for_every_block_in_its_axes() -> None:
    found = verdict_of(ORDERED)
    assert (found.kind.value, found.proved_for) == ("race-free", ("every block of threads in x",))
    assert found.assumes == ("no index leaves its buffer",)
    assert found.words == (
        "race-free (1 pair, every block of threads in x; assumes that no index leaves its buffer)"
    )


def test_a_bound_of_the_block_belongs_to_what_is_proved() -> None:
    bounded = ORDERED.replace("void k", "void __launch_bounds__(256) k")
    found = verdict_of(bounded)
    assert found.proved_for == ("every block of threads in x, at most 256 in x",)
    assert found.assumes == ()


def test_a_launch_names_the_block() -> None:
    found = verdict_of(ORDERED, launched("256"))
    assert found.words == "race-free (1 pair, the 256×1×1 block of line 7)"


def test_it_is_race_free_only_if_all_of_its_blocks_are() -> None:
    assert verdict_of(WITHIN_WARP, launched("32")).kind.value == "race-free"
    found = verdict_of(WITHIN_WARP, launched("32", "64"))
    assert (found.kind.value, found.proved_for) == ("racy", ("the 32×1×1 block of line 7",))


def test_a_launch_with_an_unknown_block_asks_for_a_proof_for_every_block() -> None:
    found = verdict_of(ORDERED, launched("256", "n"))
    assert (found.kind.value, found.proved_for) == ("race-free", ("every block of threads in x",))


def test_without_one_it_is_undecided_at_the_launch() -> None:
    found = verdict_of(WITHIN_WARP, launched("32", "n"))
    assert (found.kind.value, found.proved_for) == ("undecided", ("the 32×1×1 block of line 7",))
    assert str(found.reasons[0]) == "line 7: the block of this launch is not looked at"


def test_a_race_is_told_with_its_threads_and_its_block() -> None:
    found = verdict_of(CROSSED, launched("256"))
    assert (found.kind.value, found.pairs - found.apart) == ("racy", 1)
    assert found.words.startswith("racy: thread 0 writes `s[0]` (line 3), thread 255 reads it (line 4)")
    assert found.words.endswith("with the 256×1×1 block of line 6")


def test_what_data_decide_is_undecided_at_the_line_of_the_access() -> None:
    found = verdict_of(SCATTERED, launched("256").replace("float", "int"))
    assert found.words == f"undecided (1 of {found.pairs} pairs): line 5: data decide"


def test_a_macro_that_is_not_in_sight_is_named_once() -> None:
    text = ORDERED.replace("in[threadIdx.x]", "SCALED(in[threadIdx.x])")
    found = verdict_of(text, launched("256"))
    assert found.words == "undecided: line 3: macro SCALED is not in sight"


def test_what_leaves_every_pair_open_comes_before_what_leaves_most_open() -> None:
    text = """\
__device__ int f(int);
__global__ void k(const int* in, int* out, int n) {
  __shared__ int s[256], a[256];
  s[f(threadIdx.x)] = 1;
  out[1] = s[0];
  a[in[threadIdx.x]] = in[threadIdx.x + 1];
  if (--n > 0) goto inside;
  { inside: ; }
  __syncthreads();
}
"""
    found = verdict_of(text)
    assert found.kind.value == "undecided"
    pairs = [reason.pairs for reason in found.reasons]
    assert pairs[0] == 0 and pairs == sorted(pairs, key=lambda count: (count > 0, -count))
    assert len({(reason.line, reason.words) for reason in found.reasons}) == len(found.reasons)


def test_an_access_that_leaves_its_buffer_is_no_assumption_any_more() -> None:
    found = verdict_of(ORDERED.replace("s[255 -", "s[355 -"), launched("256"))
    assert found.kind.value == "undecided"
    assert "line 5: an index leaves its buffer" in map(str, found.reasons)


def test_a_stopped_verdict_says_so() -> None:
    limits = replace(LIMITS, pass_units=0)
    (kernel,) = check(ORDERED, config=Config(select=("SMEM101",)), limits=limits).kernels
    assert kernel.verdict.words == "undecided: line 1: out of effort"


def test_a_kernel_that_was_not_analysed_is_undecided() -> None:
    report = check(ORDERED, limits=replace(LIMITS, kernel_units=0))
    assert list(verdicts.lines(report)) == ["<memory>:1 k: shared memory undecided: out of effort"]
    assert verdicts.kinds(report) == ["undecided"]


def test_lines_are_those_of_the_present_text() -> None:
    store = Store()
    host = launched("256").replace("float", "int")
    check(SCATTERED + host, cache=store)
    (kernel,) = check("\n\n" + SCATTERED + host, cache=store).kernels
    assert kernel.verdict.words.endswith("line 7: data decide")


@pytest.mark.parametrize(("text", "marked"), [(ORDERED, True), (CROSSED, False), (SCATTERED, False)])
def test_the_lens_carries_the_mark_for_a_proof_alone(text: str, marked: bool) -> None:
    (facts,) = check(text).facts
    title = lens_title([facts])
    assert title.endswith(" · race-free ✓") is marked
    assert len(title) <= 90


def test_each_instance_of_a_template_has_its_line() -> None:
    text = """\
template <int N> __global__ void k(const float* in, float* out) {
  __shared__ float s[N];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[N - 1 - threadIdx.x];
}
void h(float* p) { k<64><<<1, 64>>>(p, p); k<128><<<1, 128>>>(p, p); }
"""
    assert list(verdicts.lines(check(text, path="k.cu"))) == [
        "k.cu:1 k<64>: shared memory race-free (1 pair, the 64×1×1 block of line 7)",
        "k.cu:1 k<128>: shared memory race-free (1 pair, the 128×1×1 block of line 7)",
    ]


def test_a_kernel_without_shared_memory_has_no_line() -> None:
    report = check("__global__ void k(float* p) { p[threadIdx.x] = 0.0f; }\n")
    assert list(verdicts.lines(report)) == []


def test_a_warp_of_which_some_lanes_wait_elsewhere_is_not_race_free() -> None:
    waits = "  if (threadIdx.x MEETS) __syncwarp();\n  __syncthreads();"
    text = ORDERED.replace("  __syncthreads();", waits)
    found = verdict_of(text.replace("MEETS", "< 2"), launched("256"))
    assert found.kind.value == "undecided"
    assert "line 4: lanes that its mask names do not come here" in map(str, found.reasons)
    assert verdict_of(text.replace("MEETS", "< 64"), launched("256")).kind.value == "race-free"


def test_an_exchange_that_lanes_miss_orders_nothing() -> None:
    votes = "  if (threadIdx.x < 2) __any_sync(0xffffffff, 1);\n"
    text = ORDERED.replace("  __syncthreads();", votes + "  __syncthreads();")
    found = verdict_of(text, launched("256"))
    assert found.kind.value == "race-free"
    assert "all lanes that its mask names come to line 4" in found.assumes
    assert verdict_of(text.replace("  __syncthreads();", ""), launched("256")).kind.value != "race-free"
