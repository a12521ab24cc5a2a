"""How far threads agree on a value, and which barriers they all run."""

from __future__ import annotations

import pytest
from analysis.asking import analyse
from carets import codes

from smem_lsp import check
from smem_lsp.terms.language import Level


@pytest.mark.parametrize(
    "index",
    [
        "3",
        "n",
        "blockIdx.x * blockDim.x + gridDim.x",
        "WIDTH",
        "table[n]",
        "Scale",
        "tid / blockDim.x",
        "in[n]",
        "out[n]",
        "__ldg(out + n)",
        "__syncthreads_count(tid)",
        "__syncthreads_or(tid > 3)",
        "min(n, m) + abs(n)",
        "__popc(n)",
        "(int)sqrtf(n)",
        "(char)n",
        "sizeof(int) * 4",
    ],
)
def test_all_threads_of_the_block_agree(index: str) -> None:
    above = "__constant__ int table[8]; constexpr int WIDTH = other(); template <int Scale>"
    found = analyse(f"s[{index}] = 0;", above=above)
    assert found.levels.level(found.index()) <= Level.BLOCK


@pytest.mark.parametrize(
    "index",
    [
        "tid",
        "threadIdx.y + n",
        "tid & 31",
        "in[tid]",
        "*(volatile int*)(out + n)",
        "atomicAdd(out, 1)",
        "clock()",
        "unseen(n)",
        "Unseen",
        "s[tid]",
        "__shfl_down_sync(0xffffffff, n, 1)",
        "__shfl_sync(0xffffffff, tid, 0, 16)",
        "__shfl_sync(0xffff, tid, 0)",
        "__shfl_sync(0xffffffff, tid, tid)",
        "__ballot_sync(0xffff, tid)",
        "__activemask()",
        "tid > 0 ? n : m",
    ],
)
def test_threads_may_disagree(index: str) -> None:
    found = analyse(f"s[{index}] = 0;")
    assert found.levels.level(found.index()) == Level.THREAD


@pytest.mark.parametrize(
    "index",
    [
        "tid / 32",
        "tid >> 5",
        "tid / 64 + n",
        "__ballot_sync(0xffffffff, tid > 3)",
        "__any_sync(0xffffffff, tid)",
        "__all_sync(~0, tid)",
        "__reduce_add_sync(0xffffffff, tid)",
        "__shfl_sync(0xffffffff, tid, 0)",
        "__shfl_sync(0xffffffff, tid, 0, 32)",
        "__shfl_sync(0xffffffff, tid, tid / 32)",
        "__popc(__ballot_sync(0xffffffff, tid > 3))",
    ],
)
def test_warps_agree(index: str) -> None:
    found = analyse(f"s[{index}] = 0;", shape=(128, 2, 1))
    assert found.levels.level(found.index()) == Level.WARP


def test_rows_that_are_no_whole_warps() -> None:
    found = analyse("s[tid / 32] = 0;", shape=(48, 2, 1))
    assert found.levels.level(found.index()) == Level.THREAD


@pytest.mark.parametrize(
    "statements",
    [
        "int u = n; if (m > 2) u = m; s[u] = 0;",
        "int u = 0; for (int i = 0; i < n; ++i) u += i; s[u] = 0;",
        "int u = n; while (u > m) u /= 2; s[u] = 0;",
        "int u = tid; u = n; s[u] = 0;",
        "int2 v = make_int2(n, n); v.x = tid; s[v.y] = 0;",
        "if (tid > 3) return; int u = n; s[u] = 0;",
        "int u = n; if (tid > 2) { u = m; return; } s[u] = 0;",
        "struct P { int a; }; s[p.a] = 0;",
        "flag = 3; __syncthreads(); s[flag] = 0;",
        "s[tid] = 3; __syncthreads(); int u = s[n]; __syncthreads(); s[u] = 0;",
    ],
)
def test_a_variable_stays_uniform(statements: str) -> None:
    found = analyse(statements, parameters="int n, int m, P p")
    assert found.levels.uniform(found.index()) or _loads_agree(statements)


def _loads_agree(statements: str) -> bool:
    """A load is looked into only where a decision rests on it."""
    decided = analyse(
        statements.rsplit("s[", 1)[0] + "if (" + statements.rsplit("s[", 1)[1].split("]")[0] + ") *out = 2;"
    )
    return decided.levels.uniform(decided.condition())


@pytest.mark.parametrize(
    "statements",
    [
        "int u = n; if (tid > 2) u = m; s[u] = 0;",
        "int u = 0; for (int i = 0; i < tid; ++i) u = 3; s[u] = 0;",
        "int u = 0; for (int i = 0; i < n; ++i) { if (i == tid) break; u = i; } s[u] = 0;",
        "int u = 0; for (int i = 0; i < n; ++i) { if (i == tid) continue; u += i; } s[u] = 0;",
        "int u = 0; for (int i = 0; i < n; ++i) { ++u; if (tid & 1) continue; if (m) break; } s[u] = 0;",
        "int u = 0; do { ++u; } while (in[tid] > u); s[u] = 0;",
        "int2 v = make_int2(n, n); v.x = tid; s[v.x] = 0;",
    ],
)
def test_a_variable_loses_it(statements: str) -> None:
    found = analyse(statements)
    assert not found.levels.uniform(found.index())


@pytest.mark.parametrize(
    ("statements", "agrees"),
    [
        ("if (tid == 0) flag = n; __syncthreads(); if (flag) *out = 2;", True),
        ("if (tid == 0) flag = n; if (flag) *out = 2;", False),
        ("__syncthreads(); if (flag) *out = 2; flag = 0;", False),
        ("__syncthreads(); if (flag) *out = 2; __syncthreads(); flag = 0;", True),
        ("if (tid < n) __syncthreads(); flag = 1; if (tid < n) __syncthreads(); if (flag) *out = 2;", False),
        ("for (;;) { if (tid == 0) flag = n--; __syncthreads(); if (!flag) break; __syncthreads(); }", True),
        ("for (;;) { if (tid == 0) flag = n--; __syncthreads(); if (!flag) break; }", False),
        ("keep(&flag); __syncthreads(); if (flag) *out = 2;", False),
        ("s[tid] = 1; __syncthreads(); if (s[n]) *out = 2;", True),
        ("s[tid] = 1; __syncthreads(); if (s[tid]) *out = 2;", False),
        ("flag = 1; __syncthreads(); if (s[flag]) *out = 2;", True),  # two loads, one after the other
    ],
)
def test_loads_from_shared_memory(statements: str, agrees: bool) -> None:
    found = analyse(statements)
    assert found.levels.uniform(found.condition()) is agrees


@pytest.mark.parametrize(
    ("parameters", "statements", "agrees"),
    [
        ("const int* __restrict__ p, int* q", "q[0] = 1;", True),
        ("const int* p, int* q", "q[0] = 1;", True),  # that races with the load, or a barrier orders the two
        ("int* p", "", True),
        ("int* p, int* q", "q[tid] = 1;", True),
        ("const volatile int* p", "", False),
        ("int* p", "p[tid] = 1;", False),
        ("int* p", "int* q = p + n; *q = 1;", False),
        ("int* p", "p[tid]++;", False),
        ("int* p", "atomicAdd(p + 1, 1);", False),
        ("int* p", "unseen(p);", False),
        ("int* p", "int& r = p[3]; r = 1;", False),
        ("int* p", "volatile int* q = p; if (*q) { }", False),
        ("int* p", "if (*(volatile int*)p) { }", False),
        ("int* p", 'asm("st.global.u32 [%0], 1;" :: "l"(p));', False),
        ("int* p", "auto f = [&](int* q) { *q = 1; }; f(p);", False),
    ],
)
def test_loads_from_global_memory(parameters: str, statements: str, agrees: bool) -> None:
    found = analyse(f"{statements} s[p[blockIdx.x]] = 0;", parameters=f"{parameters}, int n")
    assert found.levels.uniform(found.index()) is agrees


@pytest.mark.parametrize(
    ("statements", "agrees"),
    [
        ("", True),
        ("a.out[tid] = 1;", True),
        ("a.in[tid] = 1;", False),
        ("int* q = a.in; q += n; q[0] = 1;", False),
        ("Args b = a; b.in[0] = 1;", False),
        ("unseen(a);", False),
    ],
)
def test_loads_through_members_of_a_parameter(statements: str, agrees: bool) -> None:
    above = "struct Args { int* in; int* out; };"
    found = analyse(f"{statements} s[a.in[n]] = 0;", parameters="Args a, int n", above=above)
    assert found.levels.uniform(found.index()) is agrees


# ---- barriers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statements", "barriers"),
    [
        ("__syncthreads();", ["proved"]),
        ("if (n) __syncthreads();", ["proved"]),
        ("for (int i = 0; i < in[n]; ++i) __syncthreads();", ["proved"]),
        ("for (int i = n; i > 0; i >>= 1) __syncthreads();", ["proved"]),
        ("if (tid >= n) return; __syncthreads();", ["proved"]),
        ("for (int i = 0; i < n; ++i) { __syncthreads(); if (i == tid) continue; s[i] = 0; }", ["proved"]),
        ("auto f = [&] { __syncthreads(); if (tid > 3) return; s[tid] = 0; }; f();", ["proved"]),
        ("if (tid < 1024) __syncthreads();", ["proved"]),  # every thread of any block
        ("if (tid < 32) __syncthreads();", ["unknown"]),
        ("if (tid / 32 == 0) __syncthreads();", ["unknown"]),
        ("if (tid == 0) { if (n > 3) __syncthreads(); }", ["unknown"]),
        ("for (int i = tid; i < 40; i += 40) __syncthreads();", ["unknown"]),
        ("for (int i = 0; i < tid; ++i) __syncthreads();", ["unknown"]),
        ("if (tid < 512) __syncthreads();", ["unknown"]),  # all threads of smaller blocks
        ("if (tid < n) __syncthreads();", ["unknown"]),
        ("if (in[tid]) __syncthreads();", ["unknown"]),
        ("for (int i = tid; i < n; i += blockDim.x) __syncthreads();", ["unknown"]),
        ("if (tid < 32 && tid >= 32) __syncthreads();", ["unknown"]),
        ("for (int i = 0; i < n; ++i) { if (i == tid) break; __syncthreads(); }", ["unknown"]),
        # behind a `continue` of some threads the others leave on what all would decide alike
        (
            "for (int i = 0; i < n; ++i) { __syncthreads(); if (tid & 1) continue; if (m) break; }",
            ["unknown"],
        ),
        (
            "for (int i = 0; i < n; ++i) { __syncthreads(); if (m) { if (tid & 1) continue; break; } }",
            ["unknown"],
        ),
        ("for (int i = 0; i < n; ++i) { __syncthreads(); if (m) break; if (tid & 1) continue; }", ["proved"]),
        ("if (tid < 64) __syncthreads(); else __syncthreads();", ["unknown", "unknown"]),
    ],
)
def test_barriers(statements: str, barriers: list[str]) -> None:
    found = analyse(statements)
    expected = barriers if "else" not in statements else ["paired", "paired"]
    assert found.barriers() == expected


@pytest.mark.parametrize(
    ("statements", "barriers"),
    [
        ("if (tid < 256) __syncthreads();", ["proved"]),
        ("if (tid / 256 == 0) __syncthreads();", ["proved"]),
        ("if ((tid & 1) * 0 == 0) __syncthreads();", ["proved"]),
        ("if (tid < 255) __syncthreads();", ["unknown"]),
        ("for (int i = tid; i < 512; i += 256) __syncthreads();", ["unknown"]),
        ("if (tid < 128) { s[0] = 1; __syncthreads(); } else { __syncthreads(); }", ["paired", "paired"]),
        (
            "if (tid < 100) { s[0] = 1; __syncthreads(); } else { __syncthreads(); }",
            ["unknown", "unknown"],
        ),
        ("if (tid < 128) { __syncthreads(); __syncthreads(); } else __syncthreads();", ["unknown"] * 3),
    ],
)
def test_barriers_of_256_threads(statements: str, barriers: list[str]) -> None:
    assert analyse(statements, shape=(256, 1, 1)).barriers((256, 1, 1)) == barriers


def test_default_arguments() -> None:
    above = (
        "__device__ void f(int* s, int b = blockIdx.x, int t = threadIdx.x) {"
        " s[b] = 0; s[t] = 1; __syncthreads(); }"
    )
    found = analyse("f(s);", above=above)
    levels = []
    for access in found.accesses:
        offset = found.values.offset(access, found.kernel.buffers[access.buffer])
        assert offset is not None
        levels.append(found.levels.level(offset))
    assert levels == [Level.BLOCK, Level.THREAD]


@pytest.mark.parametrize(
    ("captures", "barriers"),
    [("=", ["unknown"]), ("u, n", ["unknown"]), ("=, &u", ["proved"]), ("&", ["proved"])],
)
def test_a_lambda_keeps_what_it_copied(captures: str, barriers: list[str]) -> None:
    found = analyse(f"int u = in[tid]; auto f = [{captures}] {{ if (u > n) __syncthreads(); }}; u = n; f();")
    assert found.barriers() == barriers


def test_a_truth_value_is_the_same_in_every_type() -> None:
    found = analyse("bool inside = tid < n; s[0] = 1; if (inside) s[tid] = 0;")
    (condition,) = found.values.conditions.values()
    assert condition.known


def test_bytes_are_not_shared_over_a_loop_that_threads_leave_one_by_one() -> None:
    """Odd threads read ``b`` in the second iteration, when even ones may be writing ``c`` behind the loop."""
    text = """
__global__ void k(const float* in, float* out, int n, int m) {
  __shared__ float b[256];
  __shared__ float c[256];
  int t = threadIdx.x;
  float s = 0;
  for (int i = 0; i < n; ++i) {
    b[t] = in[t + i];
    __syncthreads();
    s += b[255 - t];
    __syncthreads();
    if (%s) continue;
    if (m > 5) break;
  }
  c[t] = s;
  out[t] = c[t];
}
static void launch(const float* in, float* out, int n, int m) { k<<<1, 256>>>(in, out, n, m); }
"""
    assert "SMEM301" not in codes(check(text % "t & 1"))
    assert "SMEM301" in codes(check(text % "n & 1"))
