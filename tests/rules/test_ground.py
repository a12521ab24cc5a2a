"""What a finding rests on: a block that somebody names, a proof for every block above some size, or neither."""

from __future__ import annotations

import pytest

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.rules.model import Finding, Severity

CROSSED = """\
__global__ void {bounds} k(const float* in, float* out) {{
  __shared__ float s[1024];
  {first}
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[threadIdx.x ^ {distance}];
  __syncthreads();
}}
{host}
"""

TILE = """\
__global__ void k(const float* in, float* out, int n) {{
  __shared__ float tile[{size}][{size}];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
  out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
  __syncthreads();
}}
{host}
"""


def race(text: str, config: Config | None = None) -> Finding:
    (finding,) = [each for each in check(text, config=config).findings if each.code == "SMEM201"]
    return finding


def crossed(host: str = "", first: str = "", bounds: str = "", distance: int = 32) -> str:
    return CROSSED.format(host=host, first=first, bounds=bounds, distance=distance)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (crossed("void h(float* p) { k<<<1, 256>>>(p, p); }"), "with the 256×1×1 block of line 8"),
        (
            TILE.format(size=16, host="void h(float* p) { k<<<1, dim3(16, 16)>>>(p, p, 4); }"),
            "with the 16×16 block of line 7",
        ),
        (crossed(first="// smem: assume(blockDim.x == 128)"), "with the 128×1×1 block that `assume` states"),
        (crossed(first="assert(blockDim.x == 2 * 64);"), "with the 128×1×1 block that the kernel asserts"),
        (crossed(first="if (blockDim.x != 96) return;"), "with the 96×1×1 block that the kernel asserts"),
        (
            crossed(first="if (96 != blockDim.x) { __trap(); }"),
            "with the 96×1×1 block that the kernel asserts",
        ),
    ],
)
def test_a_named_block_is_an_error_that_names_it(text: str, words: str) -> None:
    found = race(text)
    assert (found.severity, found.verdict) == (Severity.ERROR, "proved")
    assert found.message.endswith(f", {words}")


def test_a_block_that_the_user_states() -> None:
    for text, threads, shown in (
        (crossed(), 256, "256×1×1"),
        (crossed(), (256, 1, 1), "256×1×1"),
        (TILE.format(size=16, host=""), (16, 8, 1), "16×8"),
    ):
        found = race(text, Config(threads=threads))
        assert found.severity is Severity.ERROR
        assert found.message.endswith(f", with the {shown} block that --threads states")


def test_launch_bounds_name_no_block() -> None:
    """They are a limit: a warning needs a proof for the blocks that they allow."""
    found = race(crossed(bounds="__launch_bounds__(128)"))
    assert (found.severity, found.verdict) == (Severity.WARNING, "likely")
    assert found.message.endswith("; put one before line 5, for every block of more than 32 threads in x")
    only = race(crossed(distance=64, bounds="__launch_bounds__(128)"))
    assert (only.severity, only.verdict) == (Severity.INFO, "likely")
    assert only.message.endswith("; put one before line 5, for every block of more than 64 threads in x")


def test_a_shape_made_of_launch_bounds_is_a_guess() -> None:
    text = """\
__global__ void __launch_bounds__(512) k(const float* in, float* out) {
  __shared__ float s[512];
  int t = threadIdx.y * blockDim.x + threadIdx.x;
  s[t] = in[t];
  out[t] = s[511 - t];
}
"""
    assert {each.severity for each in check(text).findings} <= {Severity.INFO, Severity.HINT}


def test_what_the_first_threads_show_holds_for_every_larger_block() -> None:
    found = race(crossed())
    assert (found.severity, found.verdict) == (Severity.WARNING, "likely")
    assert found.message.endswith(", for every block of more than 32 threads in x")


def test_a_kernel_that_asks_for_its_block_is_run_with_every_block_of_whole_warps() -> None:
    text = crossed().replace("threadIdx.x ^ 32", "blockDim.x - 1 - threadIdx.x")
    found = race(text)
    assert found.severity is Severity.WARNING
    assert found.message.endswith(", for every block of more than 32 threads in x, in whole warps")


def test_a_race_that_only_large_blocks_have_is_info() -> None:
    found = race(crossed(distance=256).replace("s[1024]", "s[512]"))
    assert (found.severity, found.verdict) == (Severity.INFO, "likely")
    assert found.message.endswith(", for every block of more than 256 threads in x")


def test_rows_of_whole_warps() -> None:
    found = race(TILE.format(size=32, host=""))
    assert found.severity is Severity.WARNING
    assert found.message.endswith(", for every block of more than 32 threads, in rows of whole warps")


def test_a_block_that_nobody_names_is_the_condition_of_an_info() -> None:
    found = race(TILE.format(size=16, host=""))
    assert (found.severity, found.verdict) == (Severity.INFO, "likely")
    assert found.message.endswith(", when the block is 16×16")


def test_launches_with_different_blocks_are_told_apart() -> None:
    host = "void h(float* p) { k<<<1, 32>>>(p, p); k<<<1, 64>>>(p, p); k<<<1, 512>>>(p, p); }"
    found = race(crossed(host, distance=256))
    assert found.severity is Severity.ERROR
    assert found.message.endswith(", with the 512×1×1 block of line 8")
    both = race(crossed(host, distance=32))
    assert both.message.endswith(", with the 64×1×1 block of line 8 and 512×1×1 block of line 8")


def test_launches_that_all_race() -> None:
    host = "void h(float* p) {\n  k<<<1, 64>>>(p, p);\n  k<<<1, 512>>>(p, p);\n}"
    assert race(crossed(host)).message.endswith(
        ", with each of the 2 blocks that are launched: 64×1×1 block of line 9 and 512×1×1 block of line 10"
    )


def test_an_assume_of_a_part_does_not_hide_a_launch() -> None:
    host = "void h(float* p) { k<<<1, dim3(16, 8)>>>(p, p, 4); k<<<1, 32>>>(p, p, 4); }"
    text = "// smem: assume(blockDim.x == 16)\n" + TILE.format(size=16, host=host)
    assert race(text).message.endswith(", with the 16×8 block of line 8")


def test_an_unknown_launch_leaves_the_others_named() -> None:
    found = race(crossed("void h(float* p, int n) { k<<<1, n>>>(p, p); k<<<1, 64>>>(p, p); }"))
    assert found.severity is Severity.ERROR
    assert found.message.endswith(", with the 64×1×1 block of line 8")


def test_one_thread_in_y_is_known_of_a_launch_whose_x_is_not() -> None:
    text = """\
__global__ void k(const float* in, float* out) {
  __shared__ float s[1024];
  const int t = threadIdx.x + threadIdx.y * blockDim.x;
  s[t] = in[t];
  out[t] = s[t ^ 33];
  __syncthreads();
}
"""
    assert race(text + "void h(float* p, int n) { k<<<4, dim3(n, 1)>>>(p, p); }").severity is Severity.WARNING


def test_what_a_launch_passes_is_the_size_of_its_block() -> None:
    reverse = """\
__global__ void k(float* d, int len) {
  __shared__ float s[1024];
  const int t = threadIdx.x;
  s[t] = d[t];
  __syncthreads();
  d[t] = s[len - 1 - t];
  s[len - 1 - t] = 0;
}
"""
    launch = "void h(float* p, int n) { k<<<1, n>>>(p, n); }"
    assert not check(reverse + launch).findings
    crossed = race(reverse.replace("  __syncthreads();\n", "") + launch)
    assert crossed.message.endswith(", for every block of more than 32 threads in x, in whole warps")


def test_no_block_is_larger_than_the_largest() -> None:
    """What the largest block does not show is told of the block that was tried, as info."""
    text = """\
__global__ void k(const float* in, float* out, int n) {
  __shared__ float s[1024];
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = in[i];
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = s[n - 1 - i];
}
"""
    found = race(text)
    assert "1024 threads" not in found.message and ", when the block is " in found.message
    assert found.severity is Severity.INFO


def test_a_launch_with_one_thread_stands_for_no_other() -> None:
    """A helper of the host returns one thread where there is nothing to do, else a number that is not known."""
    threads = """
int threads(int n) {
  if (n == 0) return 1;
  int most = 256;
  while (most > n) most >>= 1;
  return most;
}
void h(float* p, int n) { k<<<8, threads(n)>>>(p, p); }
"""
    found = race(crossed(threads))
    assert found.severity is Severity.WARNING
    assert found.message.endswith(", for every block of more than 32 threads in x, in whole warps")
    alone = check(crossed("void h(float* p) { k<<<1, 1>>>(p, p); }"))
    assert not any(each.code == "SMEM201" for each in alone.findings)
