"""Rewrites of declarations that random kernels (tests/executor/written_kernels.py) have shown to be delicate."""

from __future__ import annotations

import pytest
from harness import check_fix, compile_cubin, plan_fix

from smem_lsp.engine import apply, check
from smem_lsp.engine.merges import merge_finding
from smem_lsp.fixes.model import Fix, Safety

READ_BY_ALL = "  __syncthreads();\n  out[t] = {}[255 - t] + in[t];\n"


def test_a_host_that_is_not_the_first_of_its_statement_stays_behind_the_first() -> None:
    """As a host there `host` would begin at 16, behind `small`: 1,044 B, 12 more than a byte buffer takes."""
    text = """
__global__ void k(const float* in, float* out) {
  __shared__ __align__(16) float small, host[256];
  __shared__ float last;
  __shared__ __align__(16) double guest[128];
  const int t = threadIdx.x;
  if (t == 0) small = in[0];
  if (t == 1) last = in[1];
  host[t] = in[t];
  __syncthreads();
  float v = host[255 - t];
  __syncthreads();
  if (t < 128) guest[t] = v;
  __syncthreads();
  out[t] = v + guest[(t + 1) & 127] + small + last;
}
"""
    fix = plan_fix(text, 0)
    after = apply(text, fix)
    assert fix.static_bytes == check(after).kernels[0].static_bytes == 1024 + 4 + 4
    assert compile_cubin(after, "sm_90").bytes == fix.static_bytes


@pytest.mark.parametrize(("name", "loop"), [("phase1", ""), ("mainloop", "for (int i = 0; i < n; ++i) ")])
def test_members_of_the_union_do_not_have_the_name_of_a_macro(name: str, loop: str) -> None:
    text = f"""
#define {name} 7
__global__ void k(const float* in, float* out, int n) {{
  __shared__ float a[256], b[256];
  __shared__ float c[384];
  const int t = threadIdx.x;
  float v = {name};
  {loop}{{
    a[t] = in[t];
    b[t] = in[t + 1];
    __syncthreads();
    v += a[255 - t] + b[255 - t];
    __syncthreads();
  }}
  for (int i = t; i < 384; i += 256) c[i] = v;
{READ_BY_ALL.format("c")}}}
"""
    after = apply(text, plan_fix(text, 0))
    assert "union Smem" in after
    assert f" {name};" not in after.partition("union")[2].partition("};\n  __shared__")[0]
    assert compile_cubin(after, "sm_90").bytes == 2048


def test_comments_inside_a_declaration_stay() -> None:
    before = """
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float w[512 /* two for each thread */];
  __shared__ double /* sums */ red[256 /* one each */], spare;  // of the second half
  const int t = threadIdx.x;
  if (t == 0) spare = in[t];
  for (int i = t; i < 512; i += 256) w[i] = in[i];
  __syncthreads();
  float v = w[511 - t] + spare;
  __syncthreads();
  red[t] = v;
  __syncthreads();
  out[t] = red[255 - t];
}
"""
    after = """
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  alignas(double) __shared__ float w[512 /* two for each thread */];
  __shared__ double /* sums */ spare;  // of the second half
  double (&red)[256] = *reinterpret_cast<double (*)[256]>(&w); /* one each */  // shares w's bytes: w is dead by then
  static_assert(sizeof(red) <= sizeof(w), "red must fit in w");
  const int t = threadIdx.x;
  if (t == 0) spare = in[t];
  for (int i = t; i < 512; i += 256) w[i] = in[i];
  __syncthreads();
  float v = w[511 - t] + spare;
  __syncthreads();
  red[t] = v;
  __syncthreads();
  out[t] = red[255 - t];
}
"""
    check_fix(before, after)


def test_a_comment_of_a_line_becomes_one_that_ends() -> None:
    """A reference and its reason stand on one line: what was said of it goes between them."""
    text = """
__global__ void k(const float* in, float* out) {
  __shared__ float host[256];
  __shared__ float guest[256  // a row
                         ];
  const int t = threadIdx.x;
  host[t] = in[t];
  __syncthreads();
  float v = host[255 - t];
  __syncthreads();
  guest[t] = v;
  __syncthreads();
  out[t] = guest[255 - t];
}
"""
    after = apply(text, plan_fix(text, 0))
    assert "  float (&guest)[256] = host; /* a row */  // shares host's bytes" in after


def test_a_merge_for_one_instance_of_a_template_has_to_be_right_in_the_others() -> None:
    """In k<float, 64> each thread has the elements of `b` that it has of `a`; in k<short, 64> it has not."""
    text = """
template <typename T, int N>
static __global__ void k(const float* in, float* out) {
  __shared__ float a[N];
  __shared__ T b[N];
  const int t = threadIdx.x;
  a[t] = in[t];
  float v = a[t];
  b[t] = (T)v;
  out[t] = (float)b[t];
}
void run(const float* in, float* out) {
  k<float, 64><<<1, 64>>>(in, out);
}
"""
    alone = check(text)
    assert alone.facts[0].best[0].plan.bytes == 256
    both = check(text.replace("out);\n}\n", "out);\n  k<short, 64><<<1, 64>>>(in, out);\n}\n"))
    finding = merge_finding(both.facts[0], both.facts[0].best[0])
    (fix,) = both.fixes_for(finding)
    assert fix.safety is Safety.DISPLAY
    assert "in k<short, 64> no barrier between a" in fix.title


def test_a_barrier_of_one_instance_is_found_in_another_that_has_fewer_statements() -> None:
    text = """
template <int K>
static __global__ void k(const float* in, float* out) {
  __shared__ float a[256], b[256];
  const int t = threadIdx.x;
  if constexpr (K > 1) {
    for (int i = 0; i < K; ++i) out[256 * i + t] = 0.0f;
  }
  a[t] = in[t];
  __syncthreads();
  float v = a[255 - t];
  b[t] = v;
  __syncthreads();
  out[t] = b[255 - t];
}
void run(const float* in, float* out) {
  k<1><<<1, 256>>>(in, out);
  k<4><<<1, 256>>>(in, out);
}
"""
    report = check(text)
    for facts in report.facts:
        (fix,) = report.fixes_for(merge_finding(facts, facts.best[-1]))
        assert "1 barrier added" in fix.title and fix.safety is Safety.UNSAFE
        assert apply(text, fix).count("__syncthreads();") == 3


PHASES = """\
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
    const int tid = threadIdx.x;

    // What is read,
    // and its neighbour.
    __shared__ float a[256];
    __shared__ float b[256];
    // What is written.
    __shared__ double c[192];
    a[tid] = in[tid];
    b[tid] = in[tid + 256];
    __syncthreads();
    const float s = a[255 - tid] + b[255 - tid];
    __syncthreads();
    if (tid < 192) c[tid] = s;
    __syncthreads();
    out[tid] = c[tid / 2];
}
"""
UNION = """
    union Smem {
        struct { float a[256]; float b[256]; } phase1;
        struct { double c[192]; } phase2;
    };
    __shared__ Smem smem;  // phase1 and phase2 share their bytes: never live together
    // What is read,
    // and its neighbour.
    auto& a = smem.phase1.a;
    auto& b = smem.phase1.b;
    // What is written.
    auto& c = smem.phase2.c;
"""


@pytest.mark.parametrize("unit", ["    ", "\t", "  "])
def test_a_union_is_indented_like_the_file_and_leaves_comments_with_their_buffers(unit: str) -> None:
    """`c` is larger than `a` or `b` alone, and smaller than both."""
    text = PHASES.replace("    ", unit)
    (finding,) = (each for each in check(text).findings if each.code == "SMEM301")
    (fix,) = check(text).fixes_for(finding)
    assert UNION.replace("    ", unit) in apply(text, fix)


LATE_TYPE = """\
struct Number {{ float x; }};
__global__ void __launch_bounds__(256) k(const float* in, float* out) {{
  __shared__ float a[256];
  __shared__ float c[256];
  const int t = threadIdx.x;
  a[t] = in[t];
  c[t] = in[t + 256];
  {type}
  __shared__ {name} b[384];
  __syncthreads();
  float v = a[255 - t] + c[255 - t];
  __syncthreads();
  b[t].x = v;
  __syncthreads();
  out[t] = b[255 - t].x;
}}
"""


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        ("using Local = Number;", "Local"),
        ("typedef Number Local;", "Local"),
        ("struct Local { float x; };", "Local"),
        ("struct Local : Number {};", "Local"),
    ],
)
def test_a_union_does_not_stand_above_a_type_of_the_kernel_that_it_names(type_: str, name: str) -> None:
    text = LATE_TYPE.format(type=type_, name=name)
    (finding,) = (each for each in check(text).findings if each.code == "SMEM301")
    (fix,) = check(text).fixes_for(finding)
    why = f"`{name}`, which `b` needs, is declared below the first merged buffer"
    assert (fix.title, fix.edits) == (f"Cannot merge a, c, b: {why}", ())
    text = LATE_TYPE.format(type="struct Number n{};", name="Number")
    (fix,) = check(text).fixes_for(next(each for each in check(text).findings if each.code == "SMEM301"))
    assert "union Smem" in apply(text, fix)


def test_a_guest_moves_below_its_host_though_a_function_writes_it() -> None:
    """Nothing but a comment stands between the two declarations: a function is called behind both."""
    check_fix(
        """
static __device__ void put(float* to, float v) { *to = v; }
static __global__ void k(const float* in, float* out) {
  __shared__ float few[32];
  // What is sorted.
  __shared__ float many[256];
  const int t = threadIdx.x;
  if (t < 32) put(few + t, in[t]);
  __syncthreads();
  float v = few[t / 8];
  __syncthreads();
  put(many + t, v);
  __syncthreads();
  out[t] = many[255 - t];
}
void run(const float* in, float* out) { k<<<1, 256>>>(in, out); }
""",
        """
static __device__ void put(float* to, float v) { *to = v; }
static __global__ void k(const float* in, float* out) {
  // What is sorted.
  __shared__ float many[256];
  // shares many's bytes: few is dead before many is written
  float (&few)[32] = *reinterpret_cast<float (*)[32]>(&many);
  static_assert(sizeof(few) <= sizeof(many), "few must fit in many");
  const int t = threadIdx.x;
  if (t < 32) put(few + t, in[t]);
  __syncthreads();
  float v = few[t / 8];
  __syncthreads();
  put(many + t, v);
  __syncthreads();
  out[t] = many[255 - t];
}
void run(const float* in, float* out) { k<<<1, 256>>>(in, out); }
""",
    )


VECTORS = """
static __global__ void k(const float4* in, float* out) {
  __shared__ float row[256];
  const int t = threadIdx.x;
  if (t < 64) reinterpret_cast<float4*>(row)[t] = in[t];
  __syncthreads();
  float v = row[255 - t];
  __syncthreads();
  __shared__ int counts[512];
  counts[t] = v;
  counts[t + 256] = t;
  __syncthreads();
  out[t] = counts[511 - t] + counts[t ^ 1];
}
void run(const float4* in, float* out) { k<<<1, 256>>>(in, out); }
"""


def test_a_member_of_the_union_is_aligned_for_its_vectors() -> None:
    """`row` is used where `counts`, which would cover it, is not declared yet."""
    (finding,) = (each for each in check(VECTORS).findings if each.code == "SMEM301")
    (fix,) = check(VECTORS).fixes_for(finding)
    after = apply(VECTORS, fix)
    assert (
        """
  union Smem {
    alignas(16) float row[256];
    int counts[512];
  };
  __shared__ Smem smem;  // row and counts share their bytes: never live together
  auto& row = smem.row;
"""
        in after
    )
    assert "\n  auto& counts = smem.counts;\n" in after
    assert fix.static_bytes == check(after).kernels[0].static_bytes == 2048
    assert not check(after).facts[0].best[1:]
    assert compile_cubin(after, "sm_90").bytes == fix.static_bytes


WIDER = """
template <typename V>
static __global__ void k(const V* in, float* out) {{
  __shared__ float a[256];
  __shared__ float odd[3];
  __shared__ {qualifier}float b[512];
  const int t = threadIdx.x;
  if (t < 3) odd[t] = t;
  if (t < 1024 / sizeof(V)) reinterpret_cast<V*>(a)[t] = in[t];
  __syncthreads();
  float v = a[255 - t];
  __syncthreads();
  b[t] = v;
  b[t + 256] = v;
  __syncthreads();
  out[t] = b[t ^ 1] + b[511 - t] + odd[t % 3];
}}
void run(const float* in, float* out) {{
  k<float><<<1, 256>>>(in, out);
  k<float4><<<1, 256>>>((const float4*)in, out);
}}
"""


def merged_in_each_instance(text: str) -> list[Fix]:
    report = check(text)
    return [fix for f in report.facts for fix in report.fixes_for(merge_finding(f, f.best[0]))]


def test_a_buffer_that_another_instance_reads_as_wider_vectors_is_aligned_for_them() -> None:
    """The union of one instance is that of the other."""
    text = WIDER.format(qualifier="volatile ")
    for fix in merged_in_each_instance(text):
        assert "    alignas(16) float a[256];\n" in apply(text, fix)


def test_a_host_where_another_instance_would_read_vectors_across_their_alignment_is_none() -> None:
    """Behind `odd`, at 12, `a` was not before: as a guest of `b` it would be there, which only `k<float>` can bear."""
    text = WIDER.format(qualifier="")
    for fix in merged_in_each_instance(text):
        after = apply(text, fix) if fix.edits else ""
        assert "*)[256]>(&b)" not in after
        assert fix.safety is Safety.DISPLAY or "  alignas(16) __shared__ unsigned char smem_storage[" in after


def test_a_long_line_is_broken_and_its_comment_stands_above() -> None:
    text = """
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
    __shared__ float values_that_were_read[256];
    __shared__ unsigned numbers_of_what_is_left[256];
    const int t = threadIdx.x;
    values_that_were_read[t] = in[t];
    __syncthreads();
    float v = values_that_were_read[255 - t];
    __syncthreads();
    numbers_of_what_is_left[t] = v;
    __syncthreads();
    out[t] = numbers_of_what_is_left[255 - t];
}
"""
    after = apply(text, plan_fix(text, 0))
    assert (
        """
    // shares values_that_were_read's bytes: values_that_were_read is dead by then
    unsigned (&numbers_of_what_is_left)[256] = *reinterpret_cast<unsigned (*)[256]>(&values_that_were_read);
    static_assert(sizeof(numbers_of_what_is_left) <= sizeof(values_that_were_read),
        "numbers_of_what_is_left must fit in values_that_were_read");
    const int t"""
        in after
    )
    assert not check(after).facts[0].best[1:]


SCALARS = """
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float most;
  __shared__ int place;
  const int t = threadIdx.x;
  if (t == 0) most = in[blockIdx.x];
  __syncthreads();
  const float v = most;
  __syncthreads();
  if (in[t] == v) place = t;
  __syncthreads();
  out[t] = place;
}
"""


@pytest.mark.parametrize(("type_", "asserted"), [("int", 0), ("T", 1)])
def test_a_scalar_of_four_bytes_surely_fits_in_another(type_: str, asserted: int) -> None:
    text = SCALARS.replace("int place", f"{type_} place").replace("__global__", "using T = int;\n__global__")
    after = apply(text, plan_fix(text, 0))
    assert f"  {type_}& place = *reinterpret_cast<{type_}*>(&most);" in after
    assert after.count("static_assert") == asserted


def test_a_barrier_that_goes_leaves_one_blank_line() -> None:
    check_fix(
        """
static __global__ void k(const float* in, float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float v = a[255 - threadIdx.x];

  __syncthreads();

  out[threadIdx.x] = v;
}
void run(const float* in, float* out) { k<<<1, 256>>>(in, out); }
""",
        """
static __global__ void k(const float* in, float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float v = a[255 - threadIdx.x];

  out[threadIdx.x] = v;
}
void run(const float* in, float* out) { k<<<1, 256>>>(in, out); }
""",
        code="SMEM204",
    )


def test_an_attribute_of_a_member_is_spelled_as_before() -> None:
    text = PHASES.replace("__shared__ float a", "__shared__ alignas(long long) float a")
    (finding,) = (each for each in check(text).findings if each.code == "SMEM301")
    (fix,) = check(text).fixes_for(finding)
    assert "struct { alignas(long long) float a[256]; float b[256]; } phase1;" in apply(text, fix)
