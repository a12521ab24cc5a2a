"""A value that one thread stores and all read decides when they leave a loop: the next turn stores over what others
have yet to read."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.rules.model import Finding, Severity

QUEUE = """\
__global__ void work(const int* queue, int* out, int n) {
  __shared__ int head;
  for (;;) {
    if (threadIdx.x == 0) head = NEXT;
    __syncthreads();
    int item = head + threadIdx.x;
    if (LEAVE) break;
    if (item < n) out[item + 1] = queue[item];
BEHIND  }
}
void host(const int* queue, int* out, int n) { work<<<1, 256>>>(queue, out, n); }
"""
SCAN = """\
__global__ void scan(float* d, int n) {
  extern __shared__ float t[];
  int tid = threadIdx.x;
  t[tid] = d[tid];
  __syncthreads();
  for (int off = 1; off < n; off *= 2) {
    float v = 0;
    if (tid >= off) v = t[tid - off];
BETWEEN    t[tid] += v;
    __syncthreads();
  }
  d[tid] = t[tid];
}
void host(float* d, int n) { scan<<<1, n, n * sizeof(float)>>>(d, n); }
"""
BARRIER = "    __syncthreads();\n"


def races(text: str) -> list[Finding]:
    return [each for each in check(text).findings if each.code in ("SMEM201", "SMEM202")]


@pytest.mark.parametrize("taken", ["atomicAdd(out, 256)", "queue[out[0]]"])
@pytest.mark.parametrize("leave", ["head >= n", "head", "head == 7", "head < 0"])
def test_a_queue_whose_head_is_stored_again(taken: str, leave: str) -> None:
    text = QUEUE.replace("NEXT", taken).replace("LEAVE", leave)
    (found,) = races(text.replace("BEHIND", ""))
    assert found.severity is Severity.WARNING
    assert "thread 0 may write it in the next iteration of the loop" in found.message
    assert not races(text.replace("BEHIND", BARRIER))


def test_a_block_of_as_many_threads_as_a_parameter_says() -> None:
    (found,) = races(SCAN.replace("BETWEEN", ""))
    assert found.severity is Severity.WARNING
    assert "thread 32 reads `t[31]` (line 8), thread 31 updates it (line 9)" in found.message
    assert "for every block of more than 32 threads in x" in found.message
    assert not races(SCAN.replace("BETWEEN", BARRIER))
