"""SMEM203 speaks where barriers are mispaired, and nowhere else."""

from __future__ import annotations

import pytest
from carets import expect

from smem_lsp.engine import FileReport, apply, check
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.rules.model import Finding, Severity

JUDGED = ("SMEM203",)


def kernel(body: str, *, head: str = "", launch: str = "") -> str:
    text = (
        f"__global__ void {head} k(float* p, int n) {{\n"
        "  __shared__ float s[1024];\n  const int tid = threadIdx.x;\n  s[tid] = p[tid];\n"
        f"{body}\n}}\n"
    )
    if launch:
        text += f"void host(float* p) {{ {launch} }}\n"
    return text


def findings(found: FileReport) -> list[Finding]:
    return [finding for finding in found.findings if finding.code == "SMEM203"]


@pytest.mark.parametrize(
    "body",
    [
        "if (tid < 32) { s[tid] += 1; __syncthreads(); } __syncthreads(); p[tid] = s[tid];",
        "if (tid < 32) __syncthreads(); else s[tid] = 0; __syncthreads(); p[tid] = s[tid ^ 1];",
        "if (tid == 0) { s[0] = 1; __syncthreads(); } __syncthreads(); p[tid] = s[0];",
        "if (tid % 2) __syncthreads(); __syncthreads(); p[tid] = s[tid ^ 1];",
        "if (n > 3) { if (tid < 16) __syncthreads(); __syncthreads(); } p[tid] = s[tid ^ 1];",
        # the barrier of the next iteration
        "for (int i = 0; i < n; ++i) { __syncthreads(); if (tid < 32) { s[tid] = i; __syncthreads(); } }",
        # threads that run the loop less often come to the barrier behind it
        "for (int i = tid; i < 500; i += blockDim.x) { s[i % 32] = i; __syncthreads(); } __syncthreads();",
        # both arms, but within a warp
        "if (tid % 2) { s[tid] = 1; __syncthreads(); } else { s[tid] = 2; __syncthreads(); } __syncthreads();",
        # those who leave come to it in a later turn
        "for (int i = 0; i < 8; ++i) { if (tid > i) continue; s[tid] += 1; __syncthreads(); }",
        "for (int i = 0; i < n; ++i) { if (tid > i) continue; s[tid] += 1; __syncthreads(); }",
        "for (int i = 0; i < 8; ++i) { if (tid < i) { s[tid] += 1; __syncthreads(); } }",
        # nested
        "if (tid < 512) { if (tid < 16) { s[tid] = 0; __syncthreads(); } } __syncthreads(); p[tid] = s[tid ^ 1];",
    ],
)
def test_mispaired(body: str) -> None:
    for text in (
        kernel(body),
        kernel(body, launch="k<<<1, 128>>>(p, 5);"),
        kernel(body, head="__launch_bounds__(256)"),
    ):
        (finding, *_) = findings(check(text))
        assert finding.severity is Severity.ERROR
        assert finding.verdict == "proved"
        assert "goes on to the one at line" in finding.message


@pytest.mark.parametrize(
    ("body", "options"),
    [
        # those who miss it exit: they count as arrived
        ("if (tid < 32) { s[tid] += 1; __syncthreads(); p[tid] = s[31 - tid]; }", {}),
        (
            "if (tid >= 64) return; __syncthreads(); p[tid] = s[tid ^ 1]; __syncthreads(); p[tid] += s[tid];",
            {},
        ),
        ("if (tid < 32) { __syncthreads(); } else { return; } __syncthreads(); p[tid] = s[tid];", {}),
        (
            "for (int h = blockDim.x / 2; h > 0; h /= 2) { if (tid < h) { s[tid] += s[tid + h]; __syncthreads(); } }"
            " if (tid == 0) p[0] = s[0];",
            {},
        ),
        ("for (int i = 0; i < 8; ++i) { if (tid >= 32) continue; s[tid] += i; __syncthreads(); }", {}),
        # uniform
        ("if (n > 4) { __syncthreads(); } __syncthreads(); p[tid] = s[tid ^ 1];", {}),
        ("if (blockIdx.x == 7) { __syncthreads(); } __syncthreads(); p[tid] = s[tid ^ 1];", {}),
        (
            "for (int i = 0; i < n; ++i) { s[tid] = i; __syncthreads(); } __syncthreads(); p[tid] = s[tid ^ 1];",
            {},
        ),
        # all threads load one element
        ("if (p[0] > 0) { __syncthreads(); } __syncthreads(); p[tid] = s[tid ^ 1];", {}),
        # warps of one kind each: as many barriers on both sides
        (
            "if (tid / 32 < 2) { s[tid] = 1; __syncthreads(); } else { s[tid] = 2; __syncthreads(); } __syncthreads();"
            " p[tid] = s[tid ^ 1];",
            {},
        ),
        # the block is one of those that take it
        (
            "if (tid < 64) { __syncthreads(); } __syncthreads(); p[tid] = s[tid ^ 1];",
            {"launch": "k<<<1, 64>>>(p, 1);"},
        ),
        (
            "if (tid < 64) { __syncthreads(); } __syncthreads(); p[tid] = s[tid ^ 1];",
            {"head": "__launch_bounds__(64)"},
        ),
        ("if (tid < 128) { __syncthreads(); } __syncthreads(); p[tid] = s[tid ^ 1];", {}),
        ("if (tid < n) { __syncthreads(); } __syncthreads(); p[tid] = s[tid ^ 1];", {}),
        # no barrier of the block
        ("if (tid < 32) { __syncwarp(); } __syncthreads(); p[tid] = s[tid ^ 1];", {}),
        # what the condition means is not known
        ("if (elected()) { __syncthreads(); } __syncthreads(); p[tid] = s[tid ^ 1];", {}),
        ("if (tid < LIMIT) { __syncthreads(); } __syncthreads(); p[tid] = s[tid ^ 1];", {}),
        # nobody comes to the second one
        ("if (tid < 32) { __syncthreads(); } if (n == 0) { __syncthreads(); } p[tid] = s[tid ^ 1];", {}),
    ],
)
def test_silent(body: str, options: dict[str, str]) -> None:
    expect(kernel(body, **options), among=JUDGED)


@pytest.mark.parametrize(
    ("body", "words", "severity"),
    [
        # sizes that end in the midst of a block
        (
            "if (blockIdx.x * 256 + tid < n) __syncthreads(); __syncthreads();",
            "when n is no multiple of 256",
            Severity.HINT,
        ),
        (
            "for (int i = tid; i < n; i += 256) { s[i % 256] = i; __syncthreads(); } __syncthreads();",
            "when n is no multiple of 256",
            Severity.HINT,
        ),
        ("if (tid < n) __syncthreads(); __syncthreads();", "when n is 1 to 255", Severity.HINT),
        (
            "int i = blockIdx.x * 256 + tid; if (i < n - 3) __syncthreads(); __syncthreads();",
            "when n - 3 is no multiple of 256",
            Severity.HINT,
        ),
        # from some size on
        (
            "if (tid + 100 < n && tid < 64) __syncthreads(); __syncthreads();",
            "when n ≥ 101",
            Severity.WARNING,
        ),
        ("for (int i = 0; i < n - tid; i += 7) __syncthreads(); __syncthreads();", "", Severity.ERROR),
    ],
)
def test_the_condition_is_solved_for(body: str, words: str, severity: Severity) -> None:
    (finding,) = findings(check(kernel(body, launch="k<<<blocks, 256>>>(p, m);")))
    assert finding.severity is severity
    assert finding.message.endswith(words)
    assert (finding.verdict == "proved") is (words == "")


def test_two_sizes_that_end_in_the_midst_of_a_block() -> None:
    body = "if (blockIdx.x * 256 + tid + n < width - 3) __syncthreads(); __syncthreads();"
    text = kernel(body, launch="k<<<blocks, 256>>>(p, m);")
    (finding,) = findings(check("__constant__ int width;\n" + text))
    assert finding.severity is Severity.HINT and finding.verdict == "likely"
    assert finding.message.endswith("for some ::width and n")


TREE = """\
__global__ void sum(const float* in, float* out) {{
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid] = in[tid];
  __syncthreads();
  for (int shift = 128; shift > 32; shift >>= 1) {{
    if (tid < shift) {{
      s[tid] += s[tid + shift];
      {inside}
    }}
    {behind}
  }}
  __syncthreads();
  out[tid] = s[0];
}}
void go(int grid, int block, const float* in, float* out) {{ sum<<<grid, block>>>(in, out); }}
"""


def test_a_block_that_nobody_names_is_told_from_some_size_on() -> None:
    """All 64 threads of a small block come to the barrier; of the block that the sum is written for, half of it."""
    (finding,) = findings(check(TREE.format(inside="__syncthreads();", behind="")))
    assert (finding.severity, finding.verdict) == (Severity.WARNING, "likely")
    assert finding.message.startswith("only threads 0 to 127 of 256 reach this barrier")
    assert finding.message.endswith("for every block of more than 64 threads in x, in whole warps")
    assert not findings(check(TREE.format(inside="", behind="__syncthreads();")))


def test_a_function_that_may_not_be_called() -> None:
    """Of two that a call may mean, neither is taken to run."""
    body = "if (threadIdx.x < 32) __syncthreads();"
    one = f"template <class T> __device__ void f(T x, int) {{ {body} }}\n"
    both = one + f"template <class T> __device__ void f(T x, long) {{ {body} }}\n"
    calls = kernel("f(n, unseen); __syncthreads();", launch="k<<<8, 256>>>(p, m);")
    assert not findings(check(both + calls))
    assert findings(check(one + calls))


def test_what_a_launch_passes_decides() -> None:
    body = "if (blockIdx.x * 256 + tid < n) __syncthreads(); __syncthreads();"
    assert not findings(check(kernel(body, launch="k<<<8, 256>>>(p, 2048);")))
    (finding,) = findings(check(kernel(body, launch="k<<<8, 256>>>(p, 2000);")))
    assert finding.severity is Severity.ERROR and "when" not in finding.message


@pytest.mark.parametrize(
    "body",
    [
        "if (p[tid] > 0) __syncthreads(); __syncthreads();",
        # a row that is done goes on to the next turn
        "for (int i = 0; i < n; ++i) { if (s[tid] < i) continue; __syncthreads(); p[tid] += i; }",
        # some return in a turn before, or leave an outer loop: not in the first one
        "for (int i = tid; i < n; i += 256) { if (p[i] > 0) { if (n > 99) return; continue; }"
        " __syncthreads(); p[i] = s[tid ^ 1]; __syncthreads(); if (n > 99) return; }",
        "for (int i = 0; i < 30; ++i) { bool any = false; for (int j = 0; j < n; ++j) {"
        " if (s[(tid + j) % 256] < 1) continue; __syncthreads(); s[tid] = 0; __syncthreads(); any = true; }"
        " if (!any) break; } __syncthreads();",
        # as many turns as the data say
        "for (int i = 0; i < p[tid]; ++i) { s[tid] += i; __syncthreads(); } __syncthreads();",
        "while (true) { if (p[tid] > 5) break; __syncthreads(); p[tid] += 1; __syncthreads(); } __syncthreads();",
        "if (tid < n) { if (p[tid] > 0) __syncthreads(); } __syncthreads();",
        # what is computed from them
        "float v = p[tid] * 0.5f; if (v > 1.5f) __syncthreads(); __syncthreads();",
        "float v = 0; for (int i = 0; i < n; ++i) v += p[tid * n + i]; if (v > 1) __syncthreads(); __syncthreads();",
        "float v = 0; for (int i = 0; i < n; ++i) v += p[tid * n + i]; if (v > least()) __syncthreads();"
        " __syncthreads();",
    ],
)
def test_data_decide(body: str) -> None:
    for launch in ("", "k<<<8, 256>>>(p, m);"):
        (finding, *_) = findings(check(kernel(body, launch=launch)))
        assert finding.severity is Severity.INFO and finding.verdict == "likely"
        assert finding.message.startswith("loaded values decide which threads come to this barrier")


@pytest.mark.parametrize(
    "body",
    [
        # the data of one address
        "if (p[n] > 0) __syncthreads(); __syncthreads();",
        "if (p[blockIdx.x] > 0) __syncthreads(); __syncthreads();",
        "for (int i = 0; i < p[blockIdx.x]; ++i) { s[tid] += i; __syncthreads(); } __syncthreads();",
        "float v = 0; for (int i = 0; i < n; ++i) v += p[i]; if (v > 1) __syncthreads(); __syncthreads();",
        # those who go elsewhere return
        "if (p[tid] > 0) { s[tid] += 1; __syncthreads(); p[tid] = s[tid ^ 1]; }",
        "if (p[tid] > 0) return; __syncthreads(); p[tid] = s[tid ^ 1]; __syncthreads();",
        "for (int i = tid; i < n; i += 256) { s[tid] = i; __syncthreads(); p[i] = s[tid ^ 1]; }",
        "for (int i = 0; i < n; ++i) { if (p[tid] > i) return; __syncthreads(); p[tid] += s[tid ^ 1]; }",
        # warps of one kind each, with barriers of their own in loops of as many turns
        "if (tid / 32 < 4) { for (int i = 0; i < n; ++i) __syncthreads(); }"
        " else { for (int i = 0; i < n; ++i) __syncthreads(); } __syncthreads();",
        # some may have returned before
        "if (n > 3) { if (tid >= 32) return; p[0] = 1; } if (tid < 32) __syncthreads(); __syncthreads();",
        # all come
        "if (tid < 256) __syncthreads(); __syncthreads();",
        "if (tid / 256 == 0) { s[tid] = 0; __syncthreads(); } __syncthreads();",
        "for (int i = tid; i < 1024; i += 256) { s[i] = i; __syncthreads(); } __syncthreads();",
        "for (int i = tid; i < n * 256; i += 256) { s[tid] = i; __syncthreads(); } __syncthreads();",
    ],
)
def test_nothing_is_said(body: str) -> None:
    assert not findings(check(kernel(body, launch="k<<<8, 256>>>(p, m);")))


def test_the_example_names_threads_lines_and_the_launch() -> None:
    report = expect(
        """
__global__ void k(float* p, int n) {
  __shared__ float s[1024];
  const int tid = threadIdx.x;
  s[tid] = p[tid];
  if (tid < 32) {
    __syncthreads();
//  ^^^^^^^^^^^^^^^ SMEM203 only threads 0 to 31 of 96 reach this barrier
  }
  __syncthreads();
  p[tid] = s[tid ^ 1];
}
void host(float* p) { k<<<1, 96>>>(p, 1); }
""",
        among=JUDGED,
    )
    (finding,) = findings(report)
    assert "thread 32 goes on to the one at line 8" in finding.message
    assert finding.message.endswith(", with the 96×1×1 block of line 11")
    assert [note.message for note in finding.related] == [
        "only some threads take this",
        "the others wait here",
    ]


HOISTED = """\
static __global__ void __launch_bounds__(256) k(float* p) {
  __shared__ float s[256];
  const int tid = threadIdx.x;
  s[tid] = p[tid];
  __syncthreads();
  if (tid < 128) {
    p[tid] = s[255 - tid];
    __syncthreads();
  }
  s[tid] = p[tid + 256];
  __syncthreads();
  p[tid] = s[255 - tid];
}
void host(float* p) { k<<<1, 256>>>(p); }
"""


def moves(text: str) -> list[Fix]:
    found = check(text)
    return [fix for finding in findings(found) for fix in found.fixes_for(finding)]


def test_the_last_barrier_of_a_branch_moves_behind_it() -> None:
    (fix,) = moves(HOISTED)
    assert fix.title == "Move the barrier out, before line 10" and fix.safety is Safety.SAFE
    text = apply(HOISTED, fix)
    assert "s[255 - tid];\n  }\n  __syncthreads();\n  s[tid] = p[tid + 256];" in text
    assert not {finding.code for finding in check(text).findings} & {"SMEM201", "SMEM203"}


def test_the_first_barrier_of_a_branch_moves_in_front_of_it() -> None:
    text = HOISTED.replace(
        "  __syncthreads();\n  if (tid < 128) {\n", "  if (tid < 128) {\n    __syncthreads();\n"
    )
    text = text.replace("    p[tid] = s[255 - tid];\n    __syncthreads();\n", "    p[tid] = s[255 - tid];\n")
    text = text.replace("  s[tid] = p[tid + 256];", "  __syncthreads();\n  s[tid] = p[tid + 256];")
    (fix,) = moves(text)
    assert apply(text, fix) == HOISTED.replace("    __syncthreads();\n  }\n", "  }\n  __syncthreads();\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    __syncthreads();\n  }", "    __syncthreads();\n    s[tid] = 0;\n  }"),  # neither first nor last
        ("p[tid] = s[255 - tid];\n    __", "s[tid] = s[tid + 1];\n    __"),  # a race stays
        (
            "  if (tid < 128) {",
            "#ifdef X\n  s[tid] = 0;\n#endif\n  for (int i = tid; i < 128; i += 256) {",
        ),  # a loop
        (
            "  if (tid < 128) {",
            "  if (tid % 2 == 0) if (tid < 128) {",
        ),  # the branch around it is divergent, too
    ],
)
def test_nothing_moves_where_that_would_not_make_it_right(old: str, new: str) -> None:
    assert HOISTED.count(old) == 1
    assert moves(HOISTED.replace(old, new)) == []


def test_a_block_that_is_not_a_fact_is_named() -> None:
    (fix,) = moves(HOISTED.replace("static ", "").replace("__launch_bounds__(256) ", ""))
    assert fix.safety is Safety.UNSAFE and "assumes the 256×1×1 block" in fix.title
