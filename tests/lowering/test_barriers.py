"""A barrier counts where every thread is proved to run it, and nowhere else."""

from __future__ import annotations

import pytest
from harness import plan_fix, safe_merges

from smem_lsp.engine import apply, check

KERNEL = """\
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
{declarations}
__global__ void k(const float* in, float* out, int n) {{
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  a[tid] = in[tid];
  __syncthreads();
  float v = a[255 - tid];
  {between}
  b[tid] = v;
  __syncthreads();
  out[tid] = b[255 - tid];
}}
"""
WRITERS = """\
struct Wrap { int& r; __device__ void set(int t) { r = t; } };
struct Stream { __device__ void operator>>(int& u) { u = threadIdx.x; } };
__device__ void clamp(int& u, int t) { u = t; }
"""
SPLIT = """\
struct Split {
  int n;
  __device__ Split(int n) : n(n) {}
  __device__ int of(int x) const { return x / n; }
};
__device__ int of_value(const Split s) { return s.of(9); }
"""
BOTH = "__syncthreads(); else __syncthreads();"  # counts only where all threads agree on the condition


def merged(between: str, declarations: str = "") -> bool:
    """Do ``a`` and ``b`` share their bytes, because what stands between their accesses is a barrier?"""
    return safe_merges(KERNEL.format(between=between, declarations=declarations)) != []


@pytest.mark.parametrize(
    "between",
    [
        "__syncthreads();",
        "__syncthreads_count(tid);",
        "v += __syncthreads_or(tid > n);",
        "__barrier_sync(0);",
        "cg::this_thread_block().sync();",
        "auto g = cg::this_thread_block(); g.sync();",
        "cg::thread_block g = cg::this_thread_block(); cg::sync(g);",
        "cg::this_grid().sync();",
        'asm volatile("bar.sync 0;");',
        'asm volatile("bar.sync 0;" ::: "memory");',
        "{ __syncthreads(); }",
        "if (n > 3) { v += 1; __syncthreads(); } else __syncthreads();",
        "for (int i = 0; i < 4; ++i) __syncthreads();",
        "for (int i = 4; i > 0; i /= 2) __syncthreads();",
        "do { __syncthreads(); } while (n-- > 0);",
        "for (;;) { __syncthreads(); if (n) break; }",
        "while (true) { __syncthreads(); break; }",
        "auto f = [&] { __syncthreads(); }; f();",
        "if (tid < 2) v += 1; __syncthreads();",
        "switch (tid) { default: __syncthreads(); }",
        "switch (n) { case 0: __syncthreads(); break; default: return; }",
        "switch (n) { default: v += 1; case 2: __syncthreads(); break; case 1: return; }",
    ],
)
def test_a_barrier_is(between: str) -> None:
    assert merged(between)


@pytest.mark.parametrize(
    "between",
    [
        "",
        "__syncwarp();",
        "__threadfence_block();",
        "if (tid < 256) __syncthreads();",
        "if (tid / 32 == 0) " + BOTH,
        "if (n > 2) __syncthreads();",
        "n > 2 && __syncthreads_and(1);",
        "for (int i = 0; i < n; ++i) __syncthreads();",
        "for (int i = 0; i < 0; ++i) __syncthreads();",
        "for (int i = tid; i < 256; i += 256) __syncthreads();",
        "while (n--) __syncthreads();",
        "for (int i = 0; i < 4; ++i) { if (n > i) break; __syncthreads(); }",
        "for (int i = 0; i < 4; ++i) { if (n > i) continue; __syncthreads(); }",
        "for (int i = 0; i < 4; ++i) { __syncthreads(); if (tid > i) break; }",
        "for (int i = 0; i < 4; ++i) { if (tid > i) continue; __syncthreads(); }",
        "do { if (n > 2) continue; __syncthreads(); } while (--n > 0);",
        "switch (n) { case 0: __syncthreads(); break; case 1: __syncthreads(); break; }",
        "switch (n) { default: if (n > 4) break; __syncthreads(); }",
        "if (n > 2) goto over; __syncthreads(); over: ;",
        "auto f = [&] { if (n > 3) return; __syncthreads(); }; f();",
        "auto f = [&] { __syncthreads(); };",
        "(void)sizeof(__syncthreads_and(1));",
        "static_assert(noexcept(__syncthreads()) || true);",
        "\n#if 0\n  __syncthreads();\n#endif",
        "\n#ifdef SYNCHRONIZE\n  __syncthreads();\n#endif",
        "// down here: \\\n  __syncthreads();",
        'const char* s = R"(__syncthreads();)";',
        "\n#define __syncthreads() (void)0\n  __syncthreads();\n#undef __syncthreads",
        "__barrier_sync(1);",
        'asm volatile("bar.sync 1, 64;");',
        'asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p bar.sync 0; }" :: "r"(n));',
        "auto g = cg::tiled_partition<32>(cg::this_thread_block()); g.sync();",
        "auto g = cg::coalesced_threads(); g.sync();",
        "cg::thread_group g = cg::this_thread_block(); if (n) g = cg::tiled_partition(g, 32); g.sync();",
        pytest.param(
            "cg::thread_group g{cg::this_thread_block()}; g = cg::tiled_partition(g, 32); g.sync();"
        ),
        pytest.param(
            "cg::thread_group g{cg::this_thread_block()}; auto& h = g; h = cg::this_thread(); g.sync();"
        ),
        pytest.param(
            "cg::thread_group g{cg::this_thread_block()}; auto* h = &g; *h = cg::this_thread(); g.sync();"
        ),
        pytest.param("cg::thread_group g{cg::this_thread_block()}; shrink(g); g.sync();"),
    ],
)
def test_no_barrier_is(between: str) -> None:
    assert not merged(between)


def test_a_function_of_the_file_named_sync_may_do_anything() -> None:
    assert not merged("sync(cg::this_thread_block());", "__device__ void sync(cg::thread_block) { }")


@pytest.mark.parametrize(
    "variable",
    [
        "bool u = n > 2;",
        "bool u = blockIdx.x % 2 == 0;",
        "int u = n; u += blockDim.x;",
        "int u = 0; for (int i = 0; i < n; ++i) u ^= i;",
        "int u = __syncthreads_count(tid > 3);",
        "const int m = n * 2; int u = m > 4 ? m : n;",
        "int u = a[0];",
        "int u = in[0];",
        "int u = __ldg(in + n);",
        "int u = __shfl_sync(0xffffffffu, n, 0);",
        "Split w(n); int u = w.of(7);",
        "Split w(n); const Split& r = w; int u = of_value(r);",
    ],
)
def test_all_threads_agree_on(variable: str) -> None:
    assert merged(f"{variable} if (u) {BOTH}", SPLIT)


@pytest.mark.parametrize(
    ("alias", "agrees"),
    [
        ("using I = typename P::Index;", True),
        ("using Q = P; using I = typename Q::Index;", True),
        ("using I = Out::Of::Sight;", False),
    ],
)
def test_what_a_function_names_after_its_template_parameter_is_a_number_like_it(
    alias: str, agrees: bool
) -> None:
    text = KERNEL.format(between=f"{alias} I u = p.n; if (u) {BOTH}", declarations="template <class P>")
    assert (safe_merges(text.replace("int n)", "int n, const P p)")) != []) == agrees


def test_a_reference_to_a_member_of_a_constant_is_that_member() -> None:
    text = KERNEL.format(between=f"const T& u = p.n; ask(u); if (u) {BOTH}", declarations=SPLIT)
    assert safe_merges(text.replace("T&", "auto&").replace("int n)", "int n, const Split p)"))
    assert not safe_merges(text.replace("T&", "auto&").replace("int n)", "int n, Split p)"))


@pytest.mark.parametrize(
    "variable",
    [
        "int u = tid;",
        "int u = out[0];",
        "int u = in[tid];",
        "int u = a[tid & 1];",
        "int u = a[0]; a[0] = 3.f;",
        "a[n] = 3.f; int u = a[0];",
        "int u = __shfl_sync(0xffffffffu, tid, 0);",
        "int u = n; if (tid < 2) u = 3;",
        "int u = n; for (int i = 0; i < tid; ++i) u = i;",
        "int u = n; u += tid;",
        "int u = n; if ((u = tid) > 3) v += 1;",
        "int u = n; int* p = &u; *p = tid;",
        "int u = n; change(&u);",
        "int u = n; change(u);",
        "int u = n; memcpy(&u, in, 4);",
        "int u = n; Stream s; s >> u;",
        "int u = n; clamp(u, tid);",
        "int u = n; *std::addressof(u) = tid;",
        'int u = n; asm("mov.u32 %0, %%tid.x;" : "=r"(u));',
        # references
        "int u = n; int& r = u; r = tid;",
        "int u = n; auto& r = u; r = tid;",
        pytest.param("int u = n, w = 0; int& r = n > 2 ? u : w; r = tid;"),
        pytest.param("int u = n; int& r = (0, u); r = tid;"),
        pytest.param("int u = n; unsigned& r = reinterpret_cast<unsigned&>(u); r = tid;"),
        pytest.param("int u = n; int& r = u = 3; r = tid;"),
        pytest.param("int u = n; int& r = ++u; r = tid;"),
        "int x[1] = {n}; auto& [r] = x; r = tid; int u = x[0];",
        "int w[1] = {n}; int& u = w[0]; w[0] = tid;",
        # other spellings of an assignment
        "int u = n; (u) = tid;",
        pytest.param("int u = n; (u = 3) = tid;"),
        pytest.param("int u = n; ++u = tid;"),
        pytest.param("int u = n, w = 0; (n > 2 ? u : w) = tid;"),
        pytest.param("int u = n; (0, u) = tid;"),
        pytest.param("int u = n; (unsigned&)u = tid;"),
        pytest.param("int u = n; reinterpret_cast<unsigned&>(u) = tid;"),
        # objects that hold the variable
        "int u = n; Wrap r(u); r.set(tid);",
        "int u = n; Wrap r{u}; r.set(tid);",
        "int u = n; Wrap r = u; r.set(tid);",
        "int u = n; Wrap{u}.set(tid);",
        "int u = n; auto r = std::ref(u); r.get() = tid;",
        "int u = n; struct L { int& q; __device__ void set(int t) { q = t; } }; L{u}.set(tid);",
        # lambdas
        "int u = n; auto f = [&] { u = tid; }; f();",
        "int u = n; auto f = [&] { u = tid; }; run(f);",
        "int u = n; auto f = [](int& r) { r = threadIdx.x; }; f(u);",
        "int u = n; auto f = [&]() -> int& { return u; }; f() = tid;",
        "int u = n; auto f = [&r = u](int t) { r = t; }; f(tid);",
    ],
)
def test_threads_may_disagree_on(variable: str) -> None:
    assert not merged(f"{variable} if (u) {BOTH}", WRITERS)


def test_a_binding_hides_a_constant_of_its_name() -> None:
    assert not merged("constexpr int u = 4; { auto [u, w] = pair(tid); if (u == 4) __syncthreads(); }")


def test_a_binding_hides_a_variable_of_its_name() -> None:
    assert not merged(f"int u = n; {{ auto [u, w] = pair(tid); if (u) {BOTH} }}")


def test_a_capture_hides_a_variable_of_its_name() -> None:
    assert not merged(f"auto f = [n = tid] {{ if (n > 3) {BOTH} }}; f();")


@pytest.mark.parametrize(
    "loop",
    [
        pytest.param("for (unsigned i = 0; i - 1u < 4u; ++i)"),
        "unsigned char m = 256; for (int i = 0; i < m; ++i)",
        "const unsigned char m = 256; for (int i = 0; i < m; ++i)",
        "constexpr bool m = 2; for (int i = 1; i < m; ++i)",
        "for (int i = 0; i < (unsigned char)256; ++i)",
        "constexpr int m = 0.9; for (int i = 0; i < m; ++i)",
        "int m = int(0.5 * 3 - 1); for (int i = 0; i < m; ++i)",
        pytest.param("for (int i = -1; i < 1u; ++i)"),
        "for (int i = -1; i < sizeof(a); ++i)",
        "for (int i = 8; i < 010; ++i)",
        "int m = 0; int& r = m; m = 4; r = 0; for (int i = 0; i < m; ++i)",
        "int m = 0; int* p = &m; m = 4; *p = 0; for (int i = 0; i < m; ++i)",
        "int m = 4; auto f = [](int& r) { r = 0; }; f(m); for (int i = 0; i < m; ++i)",
        "int m = 4; if (n) m = 0; for (int i = 0; i < m; ++i)",
        "for (int i = 0, m = 4; i < m; ++i, m = 0) if (i)",
    ],
)
def test_a_loop_that_may_not_run_is_no_barrier(loop: str) -> None:
    assert not merged(f"{loop} __syncthreads();")


# ---- threads that have left --------------------------------------------------------------------------------


def test_a_barrier_after_a_divergent_return_counts() -> None:
    assert merged("if (tid >= 192) return; __syncthreads();")


def test_a_uniform_return_ends_its_path() -> None:
    assert merged("if (n > 3) return; __syncthreads();")


def test_a_barrier_is_added_before_a_divergent_return_or_not_at_all() -> None:
    text = KERNEL.format(between="if (tid >= 192) return;", declarations="")
    fixed = apply(text, plan_fix(text, 1))
    assert fixed.index("every warp must be done reading") < fixed.index("return;")


def test_no_barrier_is_added_in_a_loop_that_some_threads_leave() -> None:
    text = KERNEL.format(between="for (int i = 0; i < tid; ++i) { v += a[i]; b[i] = v; }", declarations="")
    places = [plan.barriers for plan in check(text).kernels[0].plans if plan.allocator == "best"]
    assert places == [()]


def test_the_report_says_which_barriers_are_proved() -> None:
    report = check(KERNEL.format(between="if (tid < 3) __syncthreads();", declarations=""))
    assert [row.uniform for row in report.kernels[0].barriers] == ["proved", "divergent", "proved"]
