"""What is computed from loaded values, in whatever way, decides like loaded values do who comes to an access."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import KernelVerdict

_FRAME = """
__global__ void k(const float* in, const int* key, float* out, int n) {{
  __shared__ float s[256];
  __shared__ int count;
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += in[t * n + i];
  int place = 0;
  while (place < n) place += key[place + t];
  {body}
}}
void host(const float* in, const int* key, float* out, int n) {{ k<<<8, 256>>>(in, key, out, n); }}
"""


def _verdict(body: str) -> KernelVerdict:
    (kernel,) = check(_FRAME.format(body=body)).kernels
    assert kernel.verdict is not None
    return kernel.verdict


def _data_decide(found: KernelVerdict) -> bool:
    return any(each.words == "data decide" for each in found.reasons)


@pytest.mark.parametrize("condition", ["sum > 1", "place == 5", "sqrtf(sum) < in[t]", "place % 3 == t"])
def test_what_a_loop_makes_of_them_decides(condition: str) -> None:
    """Nobody is told more than that: what it comes to may be the same for all."""
    found = _verdict(f"if ({condition}) s[t] = 1; out[t] = s[255 - t];")
    assert found.kind is VerdictKind.UNDECIDED and _data_decide(found)


@pytest.mark.parametrize("condition", ["expf(in[t]) > in[0]", "isnan(in[t])", "__popc(key[t]) < 3"])
def test_what_a_function_makes_of_them_decides(condition: str) -> None:
    found = _verdict(f"if ({condition}) s[t] = 1; out[t] = s[255 - t];")
    assert found.kind is VerdictKind.RACY and "may write" in found.races[0]


@pytest.mark.parametrize(
    "condition",
    ["clock() > 5", "place + clock() > 5", "atomicAdd(&count, 1) == 9", "place > atomicAdd(&count, 1)"],
)
def test_others_have_a_hand_in_it(condition: str) -> None:
    body = f"if (t == 0) count = 0; __syncthreads(); if ({condition}) s[t] = 1; out[t] = s[255 - t];"
    found = _verdict(body)
    assert found.kind is VerdictKind.UNDECIDED and not _data_decide(found)


def test_what_excludes_each_other() -> None:
    body = "if (expf(sum) > 1) s[t] = 1; else return; __syncthreads(); out[t] = s[t];"
    assert _verdict(body).kind is VerdictKind.RACE_FREE


_MEMBERS = """
struct Task {{ int first, second; }};
__global__ void k(const Task* task, const float* in, float* out) {{
  __shared__ float s[256];
  if ({one}) s[threadIdx.x] = in[threadIdx.x];
  if ({other}) out[threadIdx.x] = s[255 - threadIdx.x];
}}
void host(const Task* task, const float* in, float* out) {{ k<<<8, 256>>>(task, in, out); }}
"""


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("task->first", "!task->second", VerdictKind.RACY),  # two numbers
        ("task->first", "task->first", VerdictKind.RACY),
        ("task->first", "!task->first", VerdictKind.UNDECIDED),  # most likely one number
    ],
)
def test_members_behind_a_pointer_are_loaded_one_by_one(one: str, other: str, kind: VerdictKind) -> None:
    (kernel,) = check(_MEMBERS.format(one=one, other=other)).kernels
    assert kernel.verdict is not None and kernel.verdict.kind is kind, kernel.verdict.reasons


_LIMITS = """
__global__ void k(const int* in, int* out, int n) {{
  __shared__ int first, limit, winner, x;
  const int t = threadIdx.x;
  if (t == 0) {{ first = in[blockIdx.x]; limit = in[blockIdx.x + 1]; winner = in[n]; }}
  __syncthreads();
  {body}
}}
void host(const int* in, int* out, int n) {{ k<<<8, 256>>>(in, out, n); }}
"""


@pytest.mark.parametrize(
    "body",
    [
        "if (t == 255) x = in[3]; if (t < limit) out[t] = x;",
        "if (t == 255) x = in[3]; if (first * 256 + t < n) out[t] = x;",
        "if (t == 0) x = in[3]; for (int i = first + t; i < limit; i += 256) out[i] = x;",
        "if (t == 0) x = in[3]; for (int i = t; i < min(limit, 99); i += 256) out[i] = x;",
    ],
)
def test_a_limit_that_the_block_shares_is_a_size(body: str) -> None:
    (kernel,) = check(_LIMITS.format(body=body)).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind is VerdictKind.RACY and "may write" in kernel.verdict.races[0]


@pytest.mark.parametrize(
    "body",
    [
        "if (t == 255) x = in[3]; if (t == winner) out[t] = x;",
        "if (t == winner) x = in[3]; if (t != winner) out[t] = x;",  # it may be one that there is not
        "if (t < first) x = in[3]; if (t >= limit) out[t] = x;",  # perhaps no thread is both
        "if (t == 255) x = in[3]; if (t < limit && t == winner) out[t] = x;",
    ],
)
def test_what_else_is_asked_of_shared_numbers_may_have_its_reasons(body: str) -> None:
    (kernel,) = check(_LIMITS.format(body=body)).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind is VerdictKind.UNDECIDED


_COUNTS = """
__global__ void k(const {type}* in, int* out, int n) {{
  __shared__ int h[8][256];
  const int t = threadIdx.x;
  {clear}
  {between}
  int* own = h[t / 32];
  for (int i = t; i < n; i += 256) atomicAdd(own + in[i], 1);
  __syncthreads();
  int sum = 0;
  for (int w = 0; w < 8; ++w) sum += h[w][t];
  out[t] = sum;
}}
void host(const {type}* in, int* out, int n) {{ k<<<8, 256>>>(in, out, n); }}
"""
_BY_ALL = "for (int i = t; i < 8 * 256; i += 256) (&h[0][0])[i] = 0;"
_BY_WARP = "for (int i = t % 32; i < 256; i += 32) h[t / 32][i] = 0;"


@pytest.mark.parametrize(
    ("type", "clear", "between", "kind"),
    [
        ("unsigned char", _BY_ALL, "", VerdictKind.RACY),
        ("uint8_t", _BY_ALL, "", VerdictKind.RACY),
        ("unsigned char", _BY_ALL, "__syncthreads();", VerdictKind.RACE_FREE),
        ("unsigned char", _BY_WARP, "__syncthreads();", VerdictKind.RACE_FREE),
        ("int", _BY_ALL, "", VerdictKind.UNDECIDED),  # it may count in some of them only
    ],
)
def test_counts_of_bytes_in_arrays_of_warps(type: str, clear: str, between: str, kind: VerdictKind) -> None:
    (kernel,) = check(_COUNTS.format(type=type, clear=clear, between=between)).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind is kind, kernel.verdict


def test_a_warp_that_clears_its_own_counts() -> None:
    """No other warp counts there as long as all bytes stay inside: what is told is of lanes, or nothing."""
    report = check(_COUNTS.format(type="unsigned char", clear=_BY_WARP, between="__syncwarp();"))
    assert not {"SMEM201", "SMEM205"} & {each.code for each in report.findings}
