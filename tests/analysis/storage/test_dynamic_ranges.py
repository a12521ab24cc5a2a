"""Ranges of dynamic shared memory: found where every access is known to stay in one, and planned as buffers are."""

from __future__ import annotations

import pytest
from carets import expect
from harness import kernel_facts

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.engine.merges import merges
from smem_lsp.fixes.model import Safety
from smem_lsp.output.memory_map import memory_map

KERNEL = """\
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + 256;
  float* z = y + 512;
  int tid = threadIdx.x;
  x[tid] = in[tid];
  __syncthreads();
  y[tid] = x[255 - tid];
  y[tid + 256] = x[tid];
  __syncthreads();
  z[tid] = y[2 * tid];
  __syncthreads();
  out[tid] = z[(tid + 3) & 255];
}
void go(const float* in, float* out) { k<<<2, 256, 1024 * sizeof(float)>>>(in, out, 1000); }
"""


def ranges(text: str) -> list[tuple[str, int, int]]:
    divided = kernel_facts(text).dynamic_partition
    return [] if divided is None else [(r.name, r.offset, r.size) for r in divided.partition.ranges]


def test_pointers_with_constant_offsets_begin_ranges() -> None:
    assert ranges(KERNEL) == [("x", 0, 1024), ("y", 1024, 2048), ("z", 3072, 1024)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # an access that reaches across joins what it reaches
        ("y[2 * tid]", "y[3 * tid]", [("x", 0, 1024), ("y", 1024, 3072)]),
        ("x[255 - tid]", "x[2 * tid]", [("x", 0, 3072), ("z", 3072, 1024)]),
        # the array itself is the first range, where no pointer is
        ("float* x = smem;", "", None),
        # views into a range that do not begin one
        ("float* z = y + 512;", "float* z = y + 512; float* row = y + threadIdx.x; row[0] = 1;", None),
        ("x[255 - tid]", "x[(int)in[tid]]", []),
        ("x[255 - tid]", "x[-tid]", []),
        ("k<<<2, 256", "k<<<2, 1024", []),
        ("__syncthreads();\n  y", "keep(smem); __syncthreads();\n  y", []),
        ("__syncthreads();\n  y", "somewhere(); __syncthreads();\n  y", []),
        ("float* y = smem + 256;", "float* y = smem + n;", []),
        ("float* z = y + 512;", "float* z = y + 512; if (n) z = y;", [("x", 0, 1024), ("y", 1024, 3072)]),
    ],
)
def test_what_is_not_sure_is_no_range(
    old: str, new: str, expected: list[tuple[str, int, int]] | None
) -> None:
    text = KERNEL.replace(old, new)
    assert text != KERNEL
    if old.startswith("float* x"):
        text = text.replace("x[", "smem[")
        expected = [("smem", 0, 1024), ("y", 1024, 2048), ("z", 3072, 1024)]
    if "row" in new:
        expected = [("x", 0, 1024), ("y", 1024, 2048), ("z", 3072, 1024)]
    assert ranges(text) == expected


def test_what_all_launches_pass_bounds_accesses_and_the_plan_says_so() -> None:
    text = KERNEL.replace("x[255 - tid]", "x[n + tid]").replace(", 1000)", ", 0)")
    assert ranges(text) == [("x", 0, 1024), ("y", 1024, 2048), ("z", 3072, 1024)]
    (finding,) = (each for each in check(text).findings if each.code == "SMEM301")
    assert finding.message.endswith("assumes the 256×1×1 block of line 16; assumes n == 0")
    again = text.replace(
        "void go", "void more(const float* in, float* out) { k<<<9, 256, 4096>>>(in, out, 64); }\nvoid go"
    )
    assert ranges(again) == [("x", 0, 3072), ("z", 3072, 1024)]
    divided = kernel_facts(again).dynamic_partition
    assert divided is not None and divided.partition.assumes == "assumes 0 <= n <= 64"
    unknown = text.replace(
        "void go", "void more(int m, float* out) { k<<<9, 256, 4096>>>(out, out, m); }\nvoid go"
    )
    assert ranges(unknown) == []
    own = text.replace("__global__", "static __global__")
    divided = kernel_facts(own).dynamic_partition
    assert divided is not None and not divided.partition.assumes and ranges(own) == ranges(text)


def test_the_layouts_are_those_of_buffers() -> None:
    divided = kernel_facts(KERNEL).dynamic_partition
    assert divided is not None
    assert divided.declared.bytes == 4096
    assert [(len(each.plan.barriers), each.plan.bytes) for each in divided.best] == [(0, 3072)]
    assert all(each.assumes_shape for each in divided.best)


Z_REUSES_X = "//                        ^^^^ SMEM301 `z` can reuse `x` in `smem`: 4,096 → 3,072 B of dynamic"


def test_the_finding_and_its_fix_name_what_they_assume() -> None:
    report = expect(KERNEL.replace("smem[];\n", f"smem[];\n{Z_REUSES_X}\n"), among=("SMEM301",))
    (finding,) = (each for each in report.findings if each.code == "SMEM301")
    assert finding.message.endswith(
        "shared memory, no barrier added (dead after the barrier at line 11); assumes the 256×1×1 block of line 16"
    )
    (fix,) = report.fixes_for(finding)
    assert fix.title.endswith("; assumes the 256×1×1 block of line 16; unconfirmed")


def test_a_value_that_is_read_later_keeps_its_range() -> None:
    expect(KERNEL.replace("out[tid] = z", "out[tid] = x[tid] + z"), among=("SMEM301",))


def test_the_map_draws_the_ranges() -> None:
    drawn = memory_map(check(KERNEL), 0)
    assert [drawing.plan.bytes for drawing in drawn.worth_drawing] == [4096, 3072]
    names = {drawn.names[rectangle.buffer] for rectangle in drawn.worth_drawing[0].rectangles}
    assert names == {"x", "y", "z"}
    assert drawn.report.live[drawn.kernel.buffers[3].index] == (12, 14)


def test_the_step_that_the_bytes_buy_is_told() -> None:
    text = """
__global__ void k(const float* in, float* out) {
  extern __shared__ float smem[];
//                        ^^^^ SMEM301 16,384 → 8,192 B of dynamic shared memory, 5 → 11 blocks/SM on sm_86, no barrier
  float* x = smem;
  float* y = smem + 2048;
  for (int i = threadIdx.x; i < 2048; i += 128) x[i] = in[i];
  __syncthreads();
  float v = x[2047 - threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.x; i < 2048; i += 128) y[i] = v;
  __syncthreads();
  out[threadIdx.x] = y[2047 - threadIdx.x];
}
void go(const float* in, float* out) { k<<<2, 128, 16384>>>(in, out); }
"""
    report = expect(text, among=("SMEM301",), config=Config(arch=("sm_86",), registers=32))
    (finding,) = (each for each in report.findings if each.code == "SMEM301")
    assert (finding.data["blocks_before"], finding.data["blocks_after"]) == (5, 11)


TAKE_TURNS = """\
__global__ void __launch_bounds__(256) k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + 256;
  int tid = threadIdx.x;
  GUARD x[tid] = in[tid];
  __syncthreads();
  float v = x[tid / 2];
  __syncthreads();
  GUARD y[tid] = v;
  __syncthreads();
  out[tid] = y[tid / 2];
}
"""


@pytest.mark.parametrize(
    ("bounds", "guard", "expected"),
    [
        # no launch is in sight: what no block can exceed
        (" __launch_bounds__(256)", "", [("x", 0, 1024), ("y", 1024, 1024)]),
        ("", "", [("x", 0, 1024), ("y", 1024, 1024)]),  # as far as the pointers have room
        # threads that a condition lets through
        ("", "if (tid < 16)", [("x", 0, 1024), ("y", 1024, 1024)]),
        (" __launch_bounds__(512)", "if (tid < 16)", [("x", 0, 1024), ("y", 1024, 1024)]),
    ],
)
def test_the_block_need_not_be_known(bounds: str, guard: str, expected: list[tuple[str, int, int]]) -> None:
    text = TAKE_TURNS.replace(" __launch_bounds__(256)", bounds).replace("GUARD", guard)
    text = text.replace("tid / 2", "tid / 4") if guard and not bounds else text
    assert ranges(text) == expected


GUARDED = """\
__global__ void k(const float* in, float* out, int n, unsigned u) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + 16;
  int tid = threadIdx.x;
  CONDITION x[INDEX] = in[tid];
  if (tid < 8) y[tid] = in[tid];
  __syncthreads();
  if (tid < 8) out[tid] = x[tid] + y[tid];
}
"""


@pytest.mark.parametrize(
    ("condition", "index", "high"),
    [
        ("if (tid < 16)", "tid", 64),
        ("if (16 > tid)", "tid", 64),
        ("if (!(tid >= 16))", "tid", 64),
        ("if (n > 3 && tid <= 15)", "tid", 64),
        ("if (tid == 5)", "tid", 32),
        ("if (tid >= 16) return; else", "tid", 64),
        ("if (tid >= 16) return;", "tid", 64),
        ("if (tid >= 8 && tid < 24)", "tid - 8", 64),
        ("for (int i = 0; i < 4; ++i) if (i * 32 + tid < 16)", "i * 32 + tid", 64),
        ("if (in[tid] > 1) if (tid < 16)", "tid", 64),
    ],
)
def test_conditions_bound_what_an_access_touches(condition: str, index: str, high: int) -> None:
    text = GUARDED.replace("CONDITION", condition).replace("INDEX", index)
    assert ranges(text) == [("x", 0, high), ("y", 64, 32)]


@pytest.mark.parametrize(
    ("condition", "index"),
    [
        ("if (tid < 17)", "tid"),
        ("if (tid < 16 || n)", "tid"),
        ("if (!(tid < 16 && n))", "tid"),
        ("if (tid != 16)", "tid"),
        ("if (tid < n)", "tid"),
        ("if (tid >= 16) out[0] = 1;", "tid"),  # and goes on
        ("if (tid >= 16 && n) return;", "tid"),
        ("if (tid - 8 < 8u)", "tid"),  # nothing that an unsigned type reads: tid < 8 passes as well
        ("if (tid < 16) tid += 16; else return;", "tid"),  # another value by now
        ("for (int i = 0; i < 4; ++i) { if (i * 32 + tid >= 16) continue; out[i] = 1; }", "tid"),
    ],
)
def test_conditions_that_do_not_bound_it(condition: str, index: str) -> None:
    found = ranges(GUARDED.replace("CONDITION", condition).replace("INDEX", index))
    assert len(found) < 2 or found[0][2] > 64


def test_offsets_in_the_accesses_begin_ranges() -> None:
    text = """
__global__ void __launch_bounds__(128) k(const float* in, float* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  int tid = threadIdx.x;
  *(float*)(raw + tid * 4) = in[tid];
  __syncthreads();
  *(double*)(raw + tid * 8 + 512) = *(float*)(raw + 508 - tid * 4);
  __syncthreads();
  ((float*)raw)[tid + 384] = *(double*)(raw + 512 + (127 - tid) * 8);
  __syncthreads();
  out[tid] = ((float*)raw)[511 - tid];
}
"""
    assert ranges(text) == [("raw", 0, 512), ("raw+512", 512, 1024), ("raw+1536", 1536, 512)]
    divided = kernel_facts(text).dynamic_partition
    assert divided is not None
    assert [(len(each.plan.barriers), each.plan.bytes) for each in divided.best] == [(0, 1536)]
    across = text.replace("508 - tid * 4", "1020 - tid * 8")
    assert ranges(across) == [("raw", 0, 1536), ("raw+1536", 1536, 512)]


def test_bytes_that_are_only_written_are_no_range_of_their_own() -> None:
    text = """
__global__ void k(const float* in, float* out) {
  extern __shared__ float s[];
  s[threadIdx.x] = in[threadIdx.x];
  s[threadIdx.x + 256] = in[threadIdx.x + 256];
  __syncthreads();
  out[threadIdx.x] = s[511 - threadIdx.x];
}
void go(const float* in, float* out) { k<<<1, 256, 2048>>>(in, out); }
"""
    assert ranges(text) == []
    assert len(ranges(text.replace("= s[511", "= s[threadIdx.x ^ 1] + s[511"))) == 2


NEIGHBOURS = """\
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + 256;
  int tid = threadIdx.x;
  for (int i = 0; i < 2; ++i) x[i * 128 + tid] = in[i * 128 + tid];
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    float v = 0;
    if (CONDITION) v = x[i * 128 + tid - 1];
    y[i * 128 + tid] = v;
  }
  __syncthreads();
  for (int i = 0; i < LAST; ++i) if (LIMIT) out[i * 128 + tid] = y[i * 128 + tid];
}
void go(const float* in, float* out) { k<<<1, 128, 2048>>>(in, out, 5); }
"""


@pytest.mark.parametrize(
    ("condition", "last", "limit", "found"),
    [
        ("tid % 64 >= 1", "2", "true", True),
        ("tid >= 1", "3", "i * 16 + tid / 8 < 32", True),
        ("(tid & 63) != 0", "2", "true", True),
        ("tid % 64 >= 0", "2", "true", False),
        ("tid % 64 >= n", "2", "true", False),
        ("in[tid] > 0", "2", "true", False),
    ],
)
def test_the_threads_that_run_an_access_bound_it(condition: str, last: str, limit: str, found: bool) -> None:
    text = NEIGHBOURS.replace("CONDITION", condition).replace("LAST", last).replace("LIMIT", limit)
    assert ranges(text) == ([("x", 0, 1024), ("y", 1024, 1024)] if found else [])


@pytest.mark.parametrize(
    ("old", "new", "sizes"),
    [
        ("i < LAST", "i < 3", (1024, 1536)),  # beyond what is written
        ("x[i * 128 + tid] = in", "x[i * 192 + tid] = in", None),  # across
        ("x[i * 128 + tid - 1]", "x[i * 128 + tid * 2]", None),
        ("i < 2; ++i) x", "i < n; ++i) x", ()),
        ("i < 2; ++i) x", "i < 2; ++i) if (in[i] > 2) break; else x", (1024, 1024)),
        ("k<<<1, 128, 2048>>>", "k<<<1, n, 2048>>>", ()),
    ],
)
def test_threads_and_turns_that_are_not_known_count_as_any(
    old: str, new: str, sizes: tuple[int, int] | tuple[()] | None
) -> None:
    assert old in NEIGHBOURS
    text = NEIGHBOURS.replace(old, new).replace("CONDITION", "tid % 64 >= 1")
    text = text.replace("LAST", "2").replace("LIMIT", "true")
    expected = [] if not sizes else [("x", 0, sizes[0]), ("y", 1024, sizes[1])]
    assert ranges(text) == expected


COPIED = """
__device__ __forceinline__ void copy(void* to, const void* from) {
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(from));
}
__global__ void __launch_bounds__(64) k(const float* in, float* out) {
  extern __shared__ __align__(16) float smem[];
  float* x = smem;
  float* y = smem + 256;
  float* z = smem + 512;
  int tid = threadIdx.x;
  copy(x + tid * 4, in + tid * 4);
  copy(y + tid * 4, in + tid * 4);
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  float v = x[255 - tid] + y[255 - tid];
  __syncthreads();
  for (int i = 0; i < 8; ++i) z[i * 64 + tid] = v;
  __syncthreads();
  out[tid] = z[511 - tid];
}
"""


def best(text: str) -> list[tuple[int, int]]:
    divided = kernel_facts(text).dynamic_partition
    return [] if divided is None else [(len(each.plan.barriers), each.plan.bytes) for each in divided.best]


def test_copies_land_in_the_ranges_that_they_are_issued_into() -> None:
    assert ranges(COPIED) == [("x", 0, 1024), ("y", 1024, 1024), ("z", 2048, 2048)]
    assert best(COPIED) == [(0, 2048)]
    late = COPIED.replace('  asm volatile("cp.async.wait_group 0;");\n', "", 1).replace(
        "  out[tid]", '  asm volatile("cp.async.wait_group 0;");\n  out[tid]'
    )
    assert best(late) == [(0, 4096)]  # until then they may land in any of the bytes
    never = COPIED.replace('  asm volatile("cp.async.wait_group 0;");\n', "", 1)
    assert ranges(never) == ranges(COPIED)
    assert best(never) == [(0, 4096)]  # they may land when the kernel has ended


def test_a_call_that_is_not_followed_but_in_sight_has_no_shared_memory_of_its_own() -> None:
    other = "struct Other { __device__ static void run(float* v) { if (v[0] < 9) run(v); v[0] += 1; } };\n"
    other += "template <int N> __device__ void apply(float* v) { if constexpr (N) Other::run(v); }\n"
    text = other + TAKE_TURNS.replace("GUARD ", "").replace(
        "__syncthreads();\n  y", "float w[1]; apply<1>(w); __syncthreads();\n  y"
    )
    assert ranges(text) == [("x", 0, 1024), ("y", 1024, 1024)]
    hidden = text.replace(
        "if (v[0] < 9) run(v); v[0] += 1;",
        "extern __shared__ float smem[]; if (v[0] < 9) run(v); v[0] += smem[300];",
    )
    assert ranges(hidden) == []
    outside = "extern __shared__ float smem[];\n" + hidden.replace("extern __shared__ float smem[]; if", "if")
    assert ranges(outside) == []
    assert ranges(text.replace(other, "template <int N> __device__ void apply(float* v);\n")) == []


CHOSEN = """\
__device__ void put(float* to, int i, float v) { to[i] = v; }
__device__ void put(float* to, int i, int v) { to[i] = v; }
template <typename T> __global__ void k(const T* in, float* out) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + 256;
  int tid = threadIdx.x;
  y[tid] = 1;
  __syncthreads();
  x[tid] = in[tid];
  __syncthreads();
  float v = x[255 - tid];
  __syncthreads();
  typename traits<T>::type first = in[0];
  put(y, tid, first);
  __syncthreads();
  out[tid] = y[tid ^ 1] + v;
}
void go(const float* in, float* out) { k<<<2, 256, 512 * sizeof(float)>>>(in, out); }
"""


def test_one_of_several_functions_touches_the_bytes_of_each() -> None:
    assert ranges(CHOSEN) == [("x", 0, 1024), ("y", 1024, 1024)]
    partly = CHOSEN.replace("int v) { to[i]", "int v) { if (v > 0) to[i]")
    further = CHOSEN.replace("int v) { to[i]", "int v) { to[i - 1]")
    assert ranges(partly) == [("x", 0, 1024), ("y", 1024, 1024)]
    whole = kernel_facts(further).analysis.dynamic_partition
    assert whole is not None and whole.partition.bytes == 2048  # it may cross from one to the other
    assert ranges(further) == []
    sizes = [
        min(each.plan.bytes for each in kernel_facts(text).dynamic_partition.best)  # type: ignore[union-attr]
        for text in (CHOSEN, partly)
    ]
    assert sizes == [1024, 2048]  # where only one of them overwrites all of `y`, it holds its first values


REFILLED = """\
__global__ void __launch_bounds__(128) k(const float* in, float* out, int n) {
  DECLARED
  int tid = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < TURNS; ++i)
      *(float4*)(a + (i * 128 + tid) * 4) = *(const float4*)(in + (k * 1024 + (i * 128 + tid) * 4));
    __syncthreads();
    float v = a[(tid * 7 + k) & 1023];
    __syncthreads();
    for (int i = 0; i < 2; ++i)
      *(float4*)(b + (i * 128 + tid) * 4) = make_float4(v, v, v, v);
    __syncthreads();
    out[k * 128 + tid] = b[1023 - tid];
    __syncthreads();
  }
}
void go(const float* in, float* out) { k<<<1, 128, 8192>>>(in, out, 9); }
"""
STATIC = "__shared__ __align__(16) float a[1024], b[1024];"
DYNAMIC = "extern __shared__ __align__(16) float raw[]; float* a = raw; float* b = raw + 1024;"


@pytest.mark.parametrize(
    ("turns", "bytes_"),
    [
        (2, 4096),
        (1, 8192),  # the second half of `a` is what an earlier turn left
    ],
)
def test_tiles_that_are_filled_again_share_bytes_inside_the_loop(turns: int, bytes_: int) -> None:
    text = REFILLED.replace("TURNS", str(turns))
    assert best(text.replace("DECLARED", DYNAMIC))[-1] == (0, bytes_)
    facts = kernel_facts(text.replace("DECLARED", STATIC))
    assert [(len(each.plan.barriers), each.plan.bytes) for each in facts.best][-1] == (0, bytes_)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i * 128 + tid) * 4) = *", "i * 128 + (tid ^ n)) * 4) = *"),  # not known
        ("i * 128 + tid) * 4) = *", "i * 128 + tid / 2) * 4) = *"),  # half of it
        ("for (int i = 0; i < TURNS; ++i)\n", "for (int i = 0; i < n; ++i)\n"),
        ("for (int i = 0; i < TURNS; ++i)\n", "for (int i = 0; i < TURNS; ++i) if (in[tid] > 0)\n"),
        ("for (int i = 0; i < TURNS; ++i)\n", "if (k & 1) for (int i = 0; i < TURNS; ++i)\n"),
        ("for (int i = 0; i < TURNS; ++i)\n", "for (int i = 0; i < TURNS; ++i, i += n)\n"),
        ("k<<<1, 128, 8192>>>", "k<<<1, 64, 8192>>>"),
    ],
)
def test_what_may_leave_a_part_of_a_tile_is_no_refill(old: str, new: str) -> None:
    assert old in REFILLED
    text = REFILLED.replace(old, new).replace("TURNS", "2")
    assert best(text.replace("DECLARED", DYNAMIC))[-1:] in ([], [(0, 8192)])
    facts = kernel_facts(text.replace("DECLARED", STATIC))
    assert [each.plan.bytes for each in facts.best][-1] == 8192


ROOM = """\
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ __align__(16) float raw[];
  BEGINS
  int t = threadIdx.x;
  FILL
  __syncthreads();
  READ
}
"""


def at_most(begins: str, fill: str, read: str, launch: str = "") -> tuple[int, int, int] | None:
    text = ROOM.replace("BEGINS", begins).replace("FILL", fill).replace("READ", read)
    divided = kernel_facts(text + launch).dynamic_partition
    assert divided is None or (divided.partition.most is None) == (divided.partition.assumes == "")
    return None if divided is None else divided.partition.most


TWO = "float* a = raw; float* b = raw + 1024;"


@pytest.mark.parametrize(
    ("begins", "fill", "read", "threads"),
    [
        (TWO, "for (int i = 0; i < 4; ++i) { a[i * 256 + t] = in[t]; b[t] = 0; }", "out[t] = a[t] + b[t];", 256),
        (TWO, "((float4*)a)[t] = ((const float4*)in)[t]; b[t] = 0;", "out[t] = a[t] + b[t];", 256),
        (TWO, "for (int i = 0; i < 4; ++i) a[t * 4 + i] = in[i]; b[t] = 0;", "out[t] = a[t] + b[t];", 256),
        (TWO, "a[t] = in[t]; b[t] = 0;", "out[t] = a[511 - t] + b[t];", 512),
        (
            "float (*a)[33] = (float (*)[33])raw; float* b = raw + 8 * 33;",
            "a[t / 32][t % 32] = in[t]; b[t] = 0;", "out[t] = a[t / 32][31 - t % 32] + b[t];", 256,
        ),
    ],
)  # fmt: skip
def test_the_next_pointer_says_how_large_a_block_is(begins: str, fill: str, read: str, threads: int) -> None:
    most = at_most(begins, fill, read)
    assert most is not None and most[0] == threads


def test_and_in_two_axes() -> None:
    fill = "a[threadIdx.y * 16 + t] = in[t]; b[threadIdx.y * 16 + t] = 0;"
    read = "out[t] = a[threadIdx.y * 16 + t] + b[t];"
    assert at_most("float* a = raw; float* b = raw + 256;", fill, read) == (16, 16, 64)


@pytest.mark.parametrize(
    ("begins", "fill", "read", "launch"),
    [
        # a launch, a condition or thread 0 says that the block is larger, or that bytes serve twice
        (TWO, "((float4*)a)[t] = ((const float4*)in)[t]; b[t] = 0;", "out[t] = a[t] + b[t];",
         "void go(const float* in, float* out, int n) { k<<<1, 512, n>>>(in, out, n); k<<<1, n, n>>>(in, out, n); }"),
        (TWO, "((float4*)a)[t] = ((const float4*)in)[t]; if (t < 512) b[t] = 0;", "out[t] = a[t] + b[0];", ""),
        (TWO, "((float4*)a)[t] = ((const float4*)in)[t]; b[t] = 0;", "out[t] = a[1500 - t] + b[t];", ""),
        # no warp has room
        ("float* a = raw; float* b = raw + 16;", "a[t] = in[t]; b[t] = 0;", "out[t] = a[t] + b[t];", ""),
    ],
)  # fmt: skip
def test_what_speaks_against_it(begins: str, fill: str, read: str, launch: str) -> None:
    assert at_most(begins, fill, read, launch) is None


def test_the_fix_names_the_block_that_the_pointers_have_room_for() -> None:
    text = TAKE_TURNS.replace(" __launch_bounds__(256)", "").replace("GUARD ", "")
    report = check(text)
    (finding,) = merges(report.facts[0])
    (fix,) = report.fixes_for(finding)
    assert fix.safety is Safety.UNSAFE
    assert "2,048 → 1,024 B" in fix.title
    assert "assumes blocks of at most 256 threads in x: no pointer has room for more" in fix.title


RING = """\
#include <cuda_pipeline.h>
__global__ void __launch_bounds__(128) k(const float* __restrict__ x, float* y, int n, int tiles) {
  DECLARED
  const int t = threadIdx.x;
  for (int tile = 0; tile < tiles; ++tile) {
    float s = 0.0f;
    for (int p = 0; p < STAGES - 1; ++p) {
      __pipeline_memcpy_async(&ring[p * 512 + t * 4], x + (tile * n + p) * 512 + t * 4, 16);
      __pipeline_commit();
    }
    for (int k = 0; k < n; ++k) {
      __pipeline_wait_prior(STAGES - 2);
      __syncthreads();
      const int next = k + STAGES - 1;
      if (next < n)
        __pipeline_memcpy_async(&ring[next % STAGES * 512 + t * 4], x + (tile * n + next) * 512 + t * 4, 16);
      __pipeline_commit();
      for (int j = 0; j < 512; j += 128) s += ring[k % STAGES * 512 + (511 - j - t)];
    }
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = s;
    __syncthreads();
    y[tile * 128 + t] = out[127 - t];
    __syncthreads();  // last
  }
}
void go(const float* x, float* y, int n, int m) { k<<<4, 128, BYTES>>>(x, y, n, m); }
"""


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize(
    ("declared", "bytes_"),
    [
        ("__shared__ __align__(16) float ring[WHOLE]; __shared__ float out[128];", "0"),
        ("extern __shared__ __align__(16) float raw[]; float* ring = raw; float* out = raw + WHOLE;", "BOTH"),
    ],
    ids=["static", "dynamic"],
)
def test_a_ring_of_stages_is_one_range_that_keeps_its_bytes(stages: int, declared: str, bytes_: str) -> None:
    """What the stages hold passes from turn to turn, and a tile may have fewer turns than there are stages."""
    whole = 512 * stages
    text = RING.replace("DECLARED", declared).replace("BYTES", bytes_).replace("STAGES", str(stages))
    text = text.replace("WHOLE", str(whole)).replace("BOTH", str((whole + 128) * 4))
    report = check(text)
    facts = report.facts[0]
    of = facts.of_ranges or facts
    assert [(item.name, item.size) for item in of.items] == [("ring", whole * 4), ("out", 512)]
    assert {each.plan.bytes for each in of.best} == {whole * 4 + 512}
    assert report.kernels[0].verdict is not None and report.kernels[0].verdict.kind.value == "race-free"
    lines = text.splitlines()
    for (
        finding
    ) in report.findings:  # the next tile's barriers order what the last one does, in arrays of their own
        assert finding.code == "SMEM204" and "// last" in lines[text.count("\n", 0, finding.span.start)]
