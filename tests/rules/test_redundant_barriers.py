"""SMEM204: a barrier that no access needs."""

from __future__ import annotations

import pytest
from carets import expect

from smem_lsp.engine import check


def test_a_barrier_that_counts_threads_is_not_redundant() -> None:
    expect(
        """
__global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  float v = in[threadIdx.x];
  v += __syncthreads_count(threadIdx.x < 7);
  __syncthreads();
//^^^^^^^^^^^^^^^ SMEM204 no shared or global access needs this barrier
  out[threadIdx.x] = v;
}
"""
    )


IN_EVERY_INSTANCE = "//^^^^^^^^^^^^^^^ SMEM204 in any of the 2 instances"


@pytest.mark.parametrize(
    ("read", "launches", "first", "second"),
    [
        pytest.param(
            "N - 1 - tid", ("<256, true>", "<128, false>"), IN_EVERY_INSTANCE, "", id="the first in both"
        ),
        pytest.param(
            "Own ? tid : N - 1 - tid",
            ("<256, true>", "<128, true>"),
            IN_EVERY_INSTANCE,
            IN_EVERY_INSTANCE,
            id="both in both",
        ),
        pytest.param(
            "Own ? tid : N - 1 - tid",
            ("<256, true>", "<128, false>"),
            IN_EVERY_INSTANCE,
            "",
            id="one instance needs the second",
        ),
        pytest.param(
            "N - 1 - tid",
            ("<256, true>", "<size(), false>"),
            f"{IN_EVERY_INSTANCE}, for the launches in this project",
            "",
            id="an instance of unknown size",
        ),
        pytest.param(
            "N - 1 - tid",
            (),
            "//^^^^^^^^^^^^^^^ SMEM204 this barrier, when the block has threads in x only",
            "",
            id="no instance in sight",
        ),
    ],
)
def test_a_barrier_in_a_template_is_redundant_if_it_is_in_every_instance(
    read: str, launches: tuple[str, ...], first: str, second: str
) -> None:
    calls = "".join(f"  k{each}<<<1, {256 if '256' in each else 128}>>>(in, out);\n" for each in launches)
    report = expect(
        f"""
template <int N, bool Own>
static __global__ void k(const float* __restrict__ in, float* __restrict__ out) {{
  __shared__ float s[N];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  __syncthreads();
{first}
  s[tid] *= 2.0f;
  __syncthreads();
{second}
  out[tid] = s[{read}];
}}
void host(const float* in, float* out) {{
{calls}}}
""",
        among=("SMEM204",),
    )
    found = [finding for finding in report.findings if finding.code == "SMEM204"]
    closed = bool(launches) and "<size(), false>" not in launches
    assert all(bool(report.fixes_for(finding)) is closed for finding in found)


KERNEL = """
__global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
"""
IN_PROJECT = "no shared or global access needs this barrier, for the launches in this project"


def messages(text: str, path: str = "k.cu") -> list[str]:
    return [finding.message for finding in check(text, path=path).findings if finding.code == "SMEM204"]


@pytest.mark.parametrize(
    ("launches", "condition"),
    [
        ("", ", when the block has threads in x only"),
        ("k<<<1, 256>>>(in, out);", ", with the 256×1×1 block of line 8"),
        ("k<<<1, 256>>>(in, out); k<<<1, 128>>>(in, out);", ", for the launches in this project"),
        ("k<<<1, 256>>>(in, out); k<<<1, n>>>(in, out);", ", when the block has threads in x only"),
    ],
)
def test_it_names_the_blocks_that_it_is_proved_for(launches: str, condition: str) -> None:
    text = f"{KERNEL}void host(const float* in, float* out, int n) {{ {launches} }}\n"
    assert messages(text) == [f"no shared or global access needs this barrier{condition}"]


def test_a_block_with_two_threads_for_one_element_needs_it() -> None:
    text = f"{KERNEL}void host(const float* in, float* out) {{ k<<<1, dim3(32, 8)>>>(in, out); }}\n"
    assert messages(text) == []


def test_in_a_header_it_holds_for_the_launches_in_sight() -> None:
    text = f"{KERNEL}inline void host(const float* in, float* out) {{ k<<<1, 256>>>(in, out); }}\n"
    report = check(text, path="k.cuh")
    found = [finding for finding in report.findings if finding.code == "SMEM204"]
    assert [finding.message for finding in found] == [IN_PROJECT]
    assert not report.fixes_for(found[0])


HELPER = """
__device__ void scale(float* s, int from, float by) {
  float v = s[from] * by;
  __syncthreads();
  s[threadIdx.x] = v;
}
"""


def calls(name: str, from_: str) -> str:
    return f"""
static __global__ void {name}(const float* __restrict__ in, float* __restrict__ out) {{
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  scale(s, {from_}, 2);
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}}
void host_{name}(const float* in, float* out) {{ {name}<<<1, 256>>>(in, out); }}
"""


def test_in_a_function_every_kernel_that_calls_it_has_to_agree() -> None:
    own = HELPER + calls("one", "threadIdx.x")
    assert IN_PROJECT in messages(own)
    assert IN_PROJECT in messages(own + calls("two", "threadIdx.x"))
    assert IN_PROJECT not in messages(own + calls("two", "255 - threadIdx.x"))


def test_in_a_function_of_a_header_nothing_is_said() -> None:
    text = HELPER + calls("one", "threadIdx.x")
    header = check(text, path="k.cuh")
    lines = [header.source.line_number(f.span.start) for f in header.findings if f.code == "SMEM204"]
    assert 4 not in lines


def test_beside_a_fence_no_barrier_between_global_accesses_is_redundant() -> None:
    text = """
static __global__ void k(const float* __restrict__ in, float* __restrict__ out, int* __restrict__ flag) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  s[threadIdx.x] *= 2;
  out[threadIdx.x] = s[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); flag[0] = 1; }
}
void host(const float* in, float* out, int* flag) { k<<<1, 256>>>(in, out, flag); }
"""
    report = check(text)
    lines = [report.source.line_number(f.span.start) for f in report.findings if f.code == "SMEM204"]
    assert 8 not in lines


def test_instances_that_are_left_out_may_need_it() -> None:
    """Eight instances are looked at; the ninth reads what other warps have written."""
    kernel = (
        "template <int N> __global__ void k(float* p) { __shared__ float s[512]; s[threadIdx.x] = p[threadIdx.x];"
        " __syncthreads(); p[threadIdx.x] = s[N > 32 ? N - 1 - threadIdx.x : threadIdx.x]; }\n"
    )
    launches = [f"k<{n}><<<1, {n}>>>(p);" for n in (*range(1, 9), 512)]
    few = f"{kernel}void h(float* p) {{ {' '.join(launches[:8])} }}\n"
    assert [each.code for each in check(few).findings if each.code == "SMEM204"]
    many = f"{kernel}void h(float* p) {{ {' '.join(launches)} }}\n"
    assert not [each.code for each in check(many).findings if each.code == "SMEM204"]


# ---- code that machines write --------------------------------------------------------------------------------------

FILLS = {
    "copies": """\
    __asm__ __volatile__("cp.async.cg.shared.global [%0], [%1], %2;"
      :: "r"(cast_smem_ptr_to_int(buf_dyn_shmem + (((int)threadIdx.x) * 16))),
         "l"((void*)(A + ((k * 1024) + (((int)threadIdx.x) * 8)))), "n"(16));
    __asm__ __volatile__("{\\n  .reg .pred p;\\n  setp.ne.b32 p, %0, 0;\\n"
      "  @p cp.async.cg.shared.global [%1], [%2], %3;\\n}\\n"
      :: "r"((int)(k < 99)), "r"(cast_smem_ptr_to_int(buf_dyn_shmem + ((((int)threadIdx.x) * 16) + 2048))),
         "l"((void*)(B + ((k * 1024) + (((int)threadIdx.x) * 8)))), "n"(16));
    __asm__ __volatile__("cp.async.commit_group;");
    __asm__ __volatile__("cp.async.wait_group 0;");
""",
    "stores": """\
    *(uint4*)(((half_t*)buf_dyn_shmem) + (((int)threadIdx.x) * 8)) =
      *(uint4*)(A + ((k * 1024) + (((int)threadIdx.x) * 8)));
    *(uint4*)(((half_t*)buf_dyn_shmem) + ((((int)threadIdx.x) * 8) + 1024)) =
      *(uint4*)(B + ((k * 1024) + (((int)threadIdx.x) * 8)));
""",
}
GENERATED = """\
#include <cuda_fp16.h>
typedef unsigned char uchar;
typedef half half_t;
__forceinline__ __device__ unsigned int cast_smem_ptr_to_int(const void* const smem_ptr) {
  unsigned int smem_int;
  asm volatile ("{ .reg .u64 smem_int; cvta.to.shared.u64 smem_int, %1; cvt.u32.u64 %0, smem_int; }"
    : "=r"(smem_int) : "l"(smem_ptr));
  return smem_int;
}
extern "C" __global__ void __launch_bounds__(128) main_kernel(
    const half_t* __restrict__ A, const half_t* __restrict__ B, float* __restrict__ C) {
  extern __shared__ __align__(1024) uchar buf_dyn_shmem[];
  float C_local[8];
  for (int i = 0; i < 8; ++i) {
    C_local[i] = 0.000000e+00f;
  }
  for (int k = 0; k < 32; ++k) {
    __syncthreads();  // first in the turn
FILL    __syncthreads();  // behind the fill
    for (int j = 0; j < 8; ++j) {
      C_local[j] = C_local[j] + ((float)((half_t*)buf_dyn_shmem)[((((int)threadIdx.x) * 8) + j)] *
        (float)((half_t*)buf_dyn_shmem)[(((127 - (int)threadIdx.x) * 8) + j) + 1024]);
    }
    __syncthreads();  // last in the turn
  }
  __syncthreads();  // behind the loop
  for (int i_1 = 0; i_1 < 8; ++i_1) {
    ((float*)buf_dyn_shmem)[((((int)threadIdx.x) * 8) + i_1)] = C_local[i_1];
  }
  __syncthreads();  // for the epilogue
  for (int i_2 = 0; i_2 < 8; ++i_2) {
    C[((((int)blockIdx.x) * 1024) + (i_2 * 128)) + ((int)threadIdx.x)] =
      ((float*)buf_dyn_shmem)[((i_2 * 128) + ((int)threadIdx.x))];
  }
}
"""


def superfluous(text: str) -> list[str]:
    """The comments behind the barriers that are reported."""
    report = check(text)
    found = [each for each in report.findings if each.code == "SMEM204"]
    assert {each.code for each in report.findings} <= {"SMEM204", "SMEM206"}
    lines = (text.splitlines()[text.count("\n", 0, each.span.start)] for each in found)
    return [line.partition("// ")[2] for line in lines]


@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_barriers_that_a_generator_has_left(fill: str) -> None:
    text = GENERATED.replace("FILL", fill)
    assert superfluous(text) == ["first in the turn", "behind the loop"]
    left = "\n".join(
        line for line in text.splitlines() if "first in" not in line and "behind the loop" not in line
    )
    assert superfluous(left) == []
    report = check(left)
    assert report.kernels[0].verdict is not None and report.kernels[0].verdict.kind.value == "race-free"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # what is waited for is not all that was issued
        ("cp.async.wait_group 0;", "cp.async.wait_group 1;"),
        # an order for others, which nobody has asked the barrier for
        ('__asm__ __volatile__("cp.async.commit_group;");',
         '__asm__ __volatile__("cp.async.commit_group;"); asm volatile("fence.proxy.async;");'),
    ],
)  # fmt: skip
def test_nothing_is_said_beside_other_orders(old: str, new: str) -> None:
    text = GENERATED.replace("FILL", FILLS["copies"])
    assert old in text
    assert superfluous(text.replace(old, new)) == []


def test_beside_a_fence_only_one_of_two_in_a_row_is_redundant() -> None:
    text = GENERATED.replace("FILL", FILLS["copies"]).replace(
        '__asm__ __volatile__("cp.async.commit_group;");',
        '__asm__ __volatile__("cp.async.commit_group; membar.gl;");',
    )
    assert superfluous(text) == ["first in the turn", "behind the loop"]
    assert superfluous(text.replace("__syncthreads();  // last in the turn", "")) == []


def test_copies_that_others_read_need_their_barrier() -> None:
    """Each thread may only read what it has copied itself before one."""
    text = GENERATED.replace("FILL", FILLS["copies"]).replace(
        "(127 - (int)threadIdx.x)", "((int)threadIdx.x)"
    )
    assert "behind the fill" not in superfluous(text)


LOCAL = """\
__device__ void put(float* values, int i, float v) { values[i] = v; }
__global__ void k(const float* __restrict__ in, float* out, int n) {
  __shared__ float s[256];
  float own[8];
  float* to[2] = {out, out + 256};
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  own[0] = s[255 - t];
  WRITE
  __syncthreads();  // beside it
  out[n - t] = own[0] + own[1];
}
"""


@pytest.mark.parametrize(
    ("write", "found"),
    [
        ("own[1] = s[t];", ["beside it"]),
        ("for (int i = 0; i < 8; ++i) own[i] += s[t];", ["beside it"]),
        ("out[t] = s[t];", []),
        ("to[1][t] = s[t];", []),
        ("put(out, t, s[t]);", []),
        ("float (&there)[8] = *reinterpret_cast<float (*)[8]>(out); there[t & 7] = s[t];", []),
    ],
)
def test_an_array_of_a_thread_needs_no_order(write: str, found: list[str]) -> None:
    assert superfluous(LOCAL.replace("WRITE", write)) == found


STATES = """
struct State {{ Group group; Column column; }};
__global__ void k(const Group* __restrict__ groups, int* __restrict__ out) {{
  __shared__ State states[4];
  State* const s = &states[threadIdx.y];
  if (threadIdx.x == 0) s->group = groups[threadIdx.y];
  {first}
  if (threadIdx.x == {reader}) s->column = *(s->group.column);
  {second}
  if (threadIdx.x == {reader}) out[threadIdx.y] = s->group.first + s->column.last;
}}
void h(const Group* groups, int* out) {{ k<<<1, dim3(32, 4)>>>(groups, out); }}
"""
BARRIER = "__syncthreads();"


@pytest.mark.parametrize(
    ("first", "second", "reader", "told"),
    [
        pytest.param(BARRIER, "", 0, 1, id="what it reads lies in a member of its own element, or outside"),
        pytest.param(BARRIER, "", 1, 0, id="another thread reads the member"),
        pytest.param("", BARRIER, 0, 0, id="it may read, of all memory, what is written behind the barrier"),
    ],
)
def test_behind_a_member_of_a_class_out_of_sight(first: str, second: str, reader: int, told: int) -> None:
    report = check(STATES.format(first=first, second=second, reader=reader))
    assert [each.code for each in report.findings if each.code == "SMEM204"] == ["SMEM204"] * told
