"""A race under a block that nobody names is told as a warning only where the kernel is written for such blocks."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.rules.model import Finding, Severity

HALO = """\
__global__ void k(float* out, const float* in) {
  ARRAY
  int t = threadIdx.x;
  s[t + 1] = in[t];
  if (t == 0) {
    s[0] = in[0];
    s[33] = in[1];
  }
  __syncthreads();
  out[t] = s[t] + s[t + 2];
}
"""


def races(text: str) -> list[Finding]:
    return [each for each in check(text).findings if each.code == "SMEM201"]


@pytest.mark.parametrize("launch", ["", "void host(float* o, float* i, int n) { k<<<5, n>>>(o, i); }\n"])
def test_a_halo_of_one_warp(launch: str) -> None:
    """Threads behind the first 33 would leave the array: such a block is not what the kernel is written for."""
    small = HALO.replace("ARRAY", "__shared__ float s[34];") + launch
    assert {each.severity for each in races(small)} <= {Severity.INFO}
    (found,) = races(HALO.replace("ARRAY", "__shared__ float s[258];") + launch)
    assert found.severity is Severity.WARNING
    assert "thread 32 writes `s[33]` (line 4), thread 0 writes it (line 7)" in found.message
    assert "for every block of more than 32 threads in x" in found.message


def test_the_launch_names_the_block() -> None:
    launch = "void host(float* o, float* i) { k<<<5, THREADS>>>(o, i); }\n"
    text = HALO.replace("ARRAY", "extern __shared__ float s[];") + launch
    (found,) = races(text.replace("THREADS", "64"))
    assert found.severity is Severity.ERROR
    assert not races(text.replace("THREADS", "32"))


def test_loads_from_one_address_are_one_value() -> None:
    text = """\
__global__ void k(float* out, const float* in) {
  __shared__ float s[64];
  STORES
  __syncthreads();
  out[0] = s[0];
}
void host(float* o, float* i) { k<<<1, 64>>>(o, i); }
"""
    assert races(text.replace("STORES", "s[0] = in[threadIdx.x];"))
    assert not races(text.replace("STORES", "s[0] = in[1];"))
    assert not races(text.replace("STORES", "s[0] = in[1]; s[0] = in[1];"))
    assert races(text.replace("STORES", "s[0] = in[1]; s[0] = in[threadIdx.x];"))
