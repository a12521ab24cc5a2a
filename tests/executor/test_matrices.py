"""``ldmatrix`` and ``stmatrix``: which lane gets which element (PTX ISA, "ldmatrix"), and who races with them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from executor import Programs
from executor.cases import built, source, under_all_seeds

HEAD = """__global__ void k(const float* in, float* out, int n) {
  const int t = threadIdx.x;
  __shared__ __align__(16) unsigned short a[4][8][8];
  __shared__ __align__(16) unsigned short b[4][8][8];
  for (int i = t; i < 256; i += 32) a[i / 64][i / 8 % 8][i % 8] = i;
  __syncthreads();
  unsigned r[4], from = __cvta_generic_to_shared(&a[t / 8][t % 8][0]);
  unsigned to = __cvta_generic_to_shared(&b[t / 8][t % 8][0]);
"""
LOAD = """
  asm volatile("ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{%0,%1,%2,%3}}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from));
"""
STORE = """
  asm volatile("stmatrix.sync.aligned.m8n8.x4{}.shared.b16 [%0], {{%1,%2,%3,%4}};"
               :: "r"(to), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
"""
CHECK = """
  for (int j = 0; j < 4; ++j) {{
    out[t] += (r[j] & 0xffff) != j * 64 + {low};
    out[t] += (r[j] >> 16) != j * 64 + {high};
  }}
  out[64 + t] = 1;
}}
"""
ROUND = """
  __syncthreads();
  for (int i = t; i < 256; i += 32) out[i] = b[i / 64][{row}][{column}] != i;
  if (t == 0) out[0] += 1;
}}
"""
TEXTS = {
    "load": HEAD
    + LOAD.format("")
    + CHECK.format(low="t / 4 * 8 + t % 4 * 2", high="t / 4 * 8 + t % 4 * 2 + 1"),
    "load_trans": HEAD
    + LOAD.format(".trans")
    + CHECK.format(low="t % 4 * 16 + t / 4", high="t % 4 * 16 + 8 + t / 4"),
    "round": HEAD + LOAD.format("") + STORE.format("") + ROUND.format(row="i / 8 % 8", column="i % 8"),
    "turned": HEAD + LOAD.format("") + STORE.format(".trans") + ROUND.format(row="i % 8", column="i / 8 % 8"),
    "race": HEAD.replace("__syncthreads();", "") + LOAD.format("") + CHECK.format(low="0", high="0"),
}
SOURCES = {name: source(name, text, threads=32) for name, text in TEXTS.items()}


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    with built(SOURCES) as all_of_them:
        yield all_of_them


@pytest.mark.parametrize("name", ["load", "load_trans", "round", "turned"])
def test_each_lane_gets_its_elements(name: str, programs: Programs) -> None:
    for outcome in under_all_seeds(programs, name):
        assert outcome.clean, outcome.complaints
        told = memoryview(outcome.buffers[1]).cast("f").tolist()
        done = 64 if name.startswith("load") else 0  # where the kernel says that it came to its end
        assert sum(told) == told[done] * (32 if done else 1) and told[done] == 1


def test_a_row_that_another_lane_wrote_needs_a_barrier(programs: Programs) -> None:
    assert all(outcome.races for outcome in under_all_seeds(programs, "race"))
