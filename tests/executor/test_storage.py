"""The class that SMEM301 shows for members in shared memory, put in the place of the declared one: the same bytes come
out, nothing races, and ptxas counts the bytes that were told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from harness import compile_cubin

from executor import Outcome, Programs, Source, build_what_compiles
from executor.rewriting import differences, outcomes
from smem_lsp.engine import check
from smem_lsp.rules.model import ShowStorage

_CLASS = re.compile(r"struct Storage \{.*?\n\};", re.DOTALL)
_MAIN = """
int main() {
  float *in, *out;
  cudaMalloc((void**)&in, sizeof(float) * 65536);
  cudaMalloc((void**)&out, sizeof(float) * 512);
  float* host = (float*)malloc(sizeof(float) * 65536);
  for (int i = 0; i < 65536; ++i) host[i] = (float)((i * 2654435761u >> 16) % 1024) * 0.125f;
  cudaMemcpy(in, host, sizeof(float) * 65536, cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof(float) * 512);
  k<<<2, 256>>>(in, out);
  cudaDeviceSynchronize();
  return 0;
}
"""
_HEAD = "#include <cstdlib>\n#include <cuda_runtime.h>\n#include <cstdint>\n"


@dataclass(frozen=True)
class Case:
    """``shown``: the class as it is shown; ``bytes``: before and after."""

    text: str
    shown: str
    bytes: tuple[int, int]


CASES = {
    "tiles and an epilogue": Case(
        """
struct Storage {
  alignas(128) float a[1024];
  alignas(128) float b[1024];
  float epilogue[1536];
  int count;
};
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ Storage s;
  int tid = threadIdx.x;
  if (tid == 0) s.count = 3;
  float sum = 0;
  for (int t = 0; t < 4; ++t) {
    for (int i = tid; i < 1024; i += 256) {
      s.a[i] = in[i + t * 1024];
      s.b[i] = in[i + t * 2048];
    }
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum += s.a[i * 32 + tid % 32] * s.b[i * 32 + tid / 32];
    __syncthreads();
  }
  for (int i = tid; i < 1536; i += 256) s.epilogue[i] = sum + s.count + i;
  __syncthreads();
  out[blockIdx.x * 256 + tid] = s.epilogue[tid * 5 + 17];
}
""",
        "union { struct { alignas(128) float a[1024]; alignas(128) float b[1024]; }; float epilogue[1536]; }; "
        "int count;",
        (14464, 8320),
    ),
    "a union among the members": Case(
        """
template <int N>
struct Tile {
  float data[N];
  __device__ void load(const float* in) { this->data[threadIdx.x] = in[threadIdx.x]; }
  __device__ float at(int i) const { return data[i]; }
};
struct Storage {
  Tile<256> tile;
  union { float row[320]; int scan[64]; };
  double total;
};
__device__ float fold(Storage& s) { return s.tile.at(255 - threadIdx.x); }
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ Storage s;
  Storage* p = &s;
  int tid = threadIdx.x;
  if (tid == 0) p->total = 0.5;
  s.tile.load(in);
  __syncthreads();
  float v = fold(s);
  __syncthreads();
  if (tid < 64) p->scan[tid] = int(v);
  __syncthreads();
  float w = p->scan[tid % 64];
  __syncthreads();
  p->row[tid] = w;
  __syncthreads();
  out[blockIdx.x * 256 + tid] = s.row[255 - tid] + float(s.total);
}
""",
        "union { Tile<256> tile; union { float row[320]; int scan[64]; }; }; double total;",
        (2312, 1288),
    ),
    "one after the other": Case(
        """
struct Storage {
  float first[256];
  float second[256];
  float third[256];
  float fourth[256];
};
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float other[64];
  __shared__ Storage s;
  int tid = threadIdx.x;
  if (tid < 64) other[tid] = in[tid];
  s.first[tid] = in[tid];
  __syncthreads();
  s.second[tid] = s.first[255 - tid];
  __syncthreads();
  s.third[tid] = s.second[(tid + 7) & 255];
  __syncthreads();
  s.fourth[tid] = s.third[(tid + 9) & 255];
  __syncthreads();
  out[blockIdx.x * 256 + tid] = s.fourth[255 - tid] + other[tid & 63];
}
""",
        "union { float first[256]; float third[256]; }; union { float second[256]; float fourth[256]; };",
        (4352, 2304),
    ),
}


@dataclass
class Ran:
    told: dict[str, tuple[int, int]] = field(default_factory=dict)
    texts: dict[str, tuple[str, str]] = field(default_factory=dict)
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def ran() -> Iterator[Ran]:
    found = Ran()
    sources: list[Source] = []
    for name, case in CASES.items():
        text = _HEAD + case.text + _MAIN
        (finding,) = (each for each in check(text).findings if each.code == "SMEM301")
        assert isinstance(finding.remedy, ShowStorage)
        shown = finding.remedy.text
        after = _CLASS.sub(lambda _, shown=shown: f"struct Storage {{ {shown} }};", text, count=1)
        assert after != text
        before, bytes_after = finding.data["bytes_before"], finding.data["bytes_after"]
        assert isinstance(before, int) and isinstance(bytes_after, int)
        found.told[name] = before, bytes_after
        found.texts[name] = text, after
        sources += [Source(name, text), Source(f"{name}, shown", after)]
    programs: Programs
    programs, refused = build_what_compiles(sources)
    assert not refused
    with programs:
        found.outcomes.update(outcomes(programs, [source.name for source in sources], range(5)))
        yield found


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown(name: str, ran: Ran) -> None:
    assert f"struct Storage {{ {CASES[name].shown} }};" in ran.texts[name][1]
    assert ran.told[name] == CASES[name].bytes


@pytest.mark.parametrize("name", CASES)
def test_the_class_that_is_shown_changes_nothing(name: str, ran: Ran) -> None:
    before, after = ran.outcomes[name], ran.outcomes[f"{name}, shown"]
    assert differences(before, before) == ""
    assert differences(before, after) == ""


@pytest.mark.parametrize("name", CASES)
def test_ptxas_counts_the_bytes_that_are_told(name: str, ran: Ran) -> None:
    found = [compile_cubin(text, "sm_90").bytes for text in ran.texts[name]]
    assert tuple(found) == ran.told[name]
