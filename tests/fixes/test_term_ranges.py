"""Ranges of dynamic shared memory that are carved by numbers that a kernel gets: pointers and launches change."""

from __future__ import annotations

import pytest

from smem_lsp.engine import apply, check
from smem_lsp.engine.merges import merges
from smem_lsp.fixes.model import Fix, Safety

pytest.importorskip("z3")

KERNEL = """\
static __global__ void k(const float* in, float* out, int n, int m) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = x + n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = in[i];
  __syncthreads();
  float v = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v += x[n - 1 - i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = v;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = y[n - 1 - i];
}
void run(const float* in, float* out, int n, int m) {
  k<<<2, 128, 2 * n * sizeof(float)>>>(in, out, n, m);
}
"""
SECOND = "  __syncthreads();\n  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = v;"
LAUNCH = "  k<<<2, 128, 2 * n * sizeof(float)>>>(in, out, n, m);\n"
NO_PROOF = "that the access stays inside of"
ASSUMED = "assumes that n is not negative and no size overflows"


def edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


def offered(text: str) -> list[Fix]:
    report = check(text)
    return [fix for facts in report.facts for each in merges(facts) for fix in report.fixes_for(each)]


def changes(text: str, fix: Fix) -> list[str]:
    """The lines that are new."""
    before = text.splitlines()
    return [line.strip() for line in apply(text, fix).splitlines() if line not in before]


def refusal(text: str) -> str:
    (fix,) = offered(text)
    assert (fix.safety, fix.edits) == (Safety.DISPLAY, ())
    return fix.title


def test_a_second_range_takes_the_place_of_the_first_one() -> None:
    (fix,) = offered(KERNEL)
    assert fix.title == f"Move y in smem: 8·n → 4·n B of dynamic shared memory; {ASSUMED}; unconfirmed"
    assert fix.safety is Safety.UNSAFE  # of what is assumed
    assert changes(KERNEL, fix) == ["float* y = x;", "k<<<2, 128, n * sizeof(float)>>>(in, out, n, m);"]
    assert offered(apply(KERNEL, fix)) == []


def test_a_barrier_that_is_missing_is_put_in() -> None:
    text = edited(KERNEL, (SECOND, SECOND.removeprefix("  __syncthreads();\n")))
    (fix,) = offered(text)
    assert "8·n → 4·n B of dynamic shared memory, 1 barrier added" in fix.title
    assert changes(text, fix)[1] == "__syncthreads();  // y reuses x: every warp must be done reading it"
    after = check(apply(text, fix))
    assert after.kernels[0].verdict.kind.value == "race-free"


@pytest.mark.parametrize(
    ("places", "after"),
    [
        ("float* y = smem + n;", "float* y = x;"),
        ("float* y = &smem[n];", "float* y = x;"),
        ("auto y = (float*)((char*)smem + n * sizeof(float));", "auto y = x;"),
        ("int* y = reinterpret_cast<int*>(x + n);", "int* y = reinterpret_cast<int*>(x);"),
        ("float* y = x + n; float* half = y;", "float* y = x; float* half = y;"),
        ("float *z = smem, *y = x + n;", "float *z = smem, *y = x;"),
        ("float *y = (x + n), *z = y + n;", "float *y = x, *z = y + n;"),
        ("int size = n; float* y = x + size;", "int size = n; float* y = x;"),
    ],
)
def test_how_a_place_is_spelled(places: str, after: str) -> None:
    text = edited(KERNEL, ("float* y = x + n;", places))
    (fix,) = offered(text)
    assert changes(text, fix)[0] == after


@pytest.mark.parametrize(
    ("bytes_", "after"),
    [
        ("n * 2 * sizeof(float)", "n * sizeof(float)"),
        ("2 * sizeof(float) * n", "sizeof(float) * n"),
        ("8 * n", "4 * n"),
        ("(n + n) * sizeof(float)", "(n) * sizeof(float)"),
        ("n * sizeof(float) + n * sizeof(int)", "n * sizeof(float)"),
        ("sizeof(float) * n + 64 + 4 * n", "sizeof(float) * n + 64"),
        ("3 * n * sizeof(float)", "2 * n * sizeof(float)"),
        ("(2 * n + m) * sizeof(float)", "(n + m) * sizeof(float)"),
    ],
)
def test_how_a_launch_spells_its_bytes(bytes_: str, after: str) -> None:
    text = edited(KERNEL, ("2 * n * sizeof(float)", bytes_))
    (fix,) = offered(text)
    assert changes(text, fix)[1] == f"k<<<2, 128, {after}>>>(in, out, n, m);"


def test_what_the_launch_passes_goes_by_its_own_name() -> None:
    text = edited(KERNEL, (LAUNCH, "  k<<<2, 128, 2 * m * sizeof(float)>>>(in, out, m, n);\n"))
    (fix,) = offered(text)
    assert changes(text, fix)[1] == "k<<<2, 128, m * sizeof(float)>>>(in, out, m, n);"


def test_a_number_is_passed() -> None:
    text = edited(KERNEL, (LAUNCH, "  k<<<2, 128, 2 * 300 * sizeof(float)>>>(in, out, 300, n);\n"))
    (fix,) = offered(text)
    assert changes(text, fix)[1] == "k<<<2, 128, 300 * sizeof(float)>>>(in, out, 300, n);"


LIMIT = "cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, {});"


def test_the_limit_follows_its_launch() -> None:
    limit = LIMIT.format("2 * n * sizeof(float)")
    text = edited(KERNEL, (LAUNCH, f"  {limit}\n{LAUNCH}"))
    (fix,) = offered(text)
    assert changes(text, fix)[1] == LIMIT.format("n * sizeof(float)")


def test_a_local_constant_counts_the_bytes() -> None:
    made = "  const size_t bytes = 2 * n * sizeof(float);\n  k<<<2, 128, bytes>>>(in, out, n, m);\n"
    text = edited(KERNEL, (LAUNCH, made), ("void run", "static void run"))
    text += "void entry(const float* in, float* out, int n, int m) { run(in, out, n, m); }\n"
    (fix,) = offered(text)
    assert changes(text, fix)[1:] == ["const size_t bytes = n * sizeof(float);"]


@pytest.mark.parametrize(
    ("size", "bytes_", "after"),
    [
        (
            "(n + 31) / 32 * 32",
            "2 * ((n + 31) / 32 * 32) * sizeof(float)",
            "((n + 31) / 32 * 32) * sizeof(float)",
        ),
        ("((n + 3) & ~3)", "8 * ((n + 3) / 4 * 4)", None),  # the same number, but in other words
        ("(n + 7) / 8 * 8", "((n + 7) / 8 * 8 + n + 8) * sizeof(float)", None),  # so many more that it does
        ("(n / 4 * 4 + 4)", "2 * (n / 4 * 4 + 4) * sizeof(float)", "(n / 4 * 4 + 4) * sizeof(float)"),
        ("((n + 31) / 32 << 5)", "256 * ((n + 31) / 32)", "128 * ((n + 31) / 32)"),
        ("(n >> 5) * 32 + 32", "2 * ((n >> 5) * 32 + 32) * 4", "((n >> 5) * 32 + 32) * 4"),
    ],
)
def test_sizes_that_are_rounded_up(size: str, bytes_: str, after: str | None) -> None:
    text = edited(KERNEL, ("x + n;", f"x + {size};"), ("2 * n * sizeof(float)", bytes_))
    (fix,) = offered(text)
    assert ASSUMED in fix.title
    line = [] if after is None else [f"k<<<2, 128, {after}>>>(in, out, n, m);"]
    assert changes(text, fix) == ["float* y = x;", *line]


@pytest.mark.parametrize(
    "size", ["n / 32 * 32", "n / 2", "(n - 31) / 32 * 32", "(n + 31) / 32", "(n & ~3)", "m / n"]
)
def test_sizes_that_are_too_small(size: str) -> None:
    """What the kernel fills is more than that for some `n`."""
    found = offered(edited(KERNEL, ("x + n;", f"x + {size};")))
    assert [fix for fix in found if fix.edits] == []


@pytest.mark.parametrize(
    ("launch", "why"),
    [
        ("k<<<2, 128, count()>>>(in, out, n, m);", "what they are counted with is not known"),
        ("k<<<2, 128, n * sizeof(float)>>>(in, out, n, m);", "they may be fewer than the 8·n B"),
        ("k<<<2, 128, 2 * m * sizeof(float)>>>(in, out, n, m);", "they may be fewer than the 8·n B"),
        ("k<<<2, 128, (m - n) * sizeof(float)>>>(in, out, n, m);", "they may be fewer than the 8·n B"),
        # another number by the time of the launch
        (
            "const size_t bytes = 2 * n * sizeof(float);\n  n += 1;\n  k<<<2, 128, bytes>>>(in, out, n, m);",
            "they may be fewer than the 8·n B",
        ),
        # something else uses it
        (
            "const size_t bytes = 2 * n * sizeof(float);\n  use(bytes);\n  k<<<2, 128, bytes>>>(in, out, n, m);",
            "they may be fewer than the 8·n B",
        ),
        (
            "k<<<2, 128, 2 * f(n) * sizeof(float)>>>(in, out, f(n), m);",
            "what they are counted with is not known",
        ),
    ],
)
def test_a_launch_that_cannot_be_edited_keeps_its_bytes(launch: str, why: str) -> None:
    above = "#define COUNT n + m\nsize_t count();\nint f(int);\nvoid use(size_t);\n"
    text = above + edited(KERNEL, (LAUNCH, f"  {launch}\n"))
    (fix,) = offered(text)
    assert changes(text, fix) == ["float* y = x;"]
    assert "still passes its bytes" in fix.title and why in fix.title


def test_a_kernel_that_asks_for_its_bytes_keeps_them() -> None:
    asking = 'float v = 0;\n  unsigned s;\n  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(s));\n  out[n] = s;'
    text = edited(KERNEL, ("float v = 0;", asking))
    (fix,) = offered(text)
    assert changes(text, fix) == ["float* y = x;"]
    assert "still passes its bytes: line 9 asks how many there are" in fix.title


LEFT_OUT = "#ifdef MORE\n  out[0] += x[0];\n#endif\n  return;\n}\nvoid run"


def test_what_a_configuration_leaves_out_was_not_checked() -> None:
    (fix,) = offered(edited(KERNEL, ("}\nvoid run", LEFT_OUT)))
    assert "; the other branches of #if (line 13) were not checked" in fix.title


def test_a_pointer_of_one_configuration_stays() -> None:
    text = edited(KERNEL, ("  float* y = x + n;", "#ifndef MORE\n  float* y = x + n;\n#endif"))
    assert "`y` is declared in an #if branch" in refusal(text)


def test_one_of_two_launches_keeps_its_bytes() -> None:
    text = edited(KERNEL, (LAUNCH, f"{LAUNCH}  k<<<1, 32, BYTES>>>(in, out, n, m);\n"))
    text = f"#define BYTES 100\n{text}"
    (fix,) = offered(text)
    assert changes(text, fix)[1:] == ["k<<<2, 128, n * sizeof(float)>>>(in, out, n, m);"]
    assert "the launch at line 17 still passes its bytes" in fix.title


def test_without_a_launch_in_sight_nothing_is_saved_yet() -> None:
    text = edited(KERNEL, (LAUNCH, ""), ("static __global__", "__global__"))
    (fix,) = offered(text)
    assert "nothing is saved until the launches, which are not in this file, pass 4·n B less" in fix.title
    assert changes(text, fix) == ["float* y = x;"]


def test_an_unsigned_size_that_is_rounded_up() -> None:
    text = edited(
        KERNEL,
        ("int n, int m) {\n  extern", "unsigned n, unsigned m) {\n  extern"),
        ("int i", "unsigned i"),
        ("x + n;", "x + (n + 3) / 4 * 4;"),
        ("2 * n * sizeof", "2 * ((n + 3) / 4 * 4) * sizeof"),
    )
    (fix,) = offered(text)
    assert changes(text, fix)[1] == "k<<<2, 128, ((n + 3) / 4 * 4) * sizeof(float)>>>(in, out, n, m);"
    assert offered(edited(text, ("y[n - 1 - i]", "y[n + 3 - i]"))) == []


def test_an_unsigned_size_is_never_negative() -> None:
    (fix,) = offered(
        edited(
            KERNEL,
            ("int n, int m) {\n  extern", "unsigned n, unsigned m) {\n  extern"),
            ("int i", "unsigned i"),
        )
    )
    assert "; assumes that no size overflows" in fix.title


def test_a_launch_may_pass_more_than_the_ranges_take() -> None:
    """Of a negative `m` fewer: then nothing may be left out."""
    text = edited(KERNEL, ("2 * n * sizeof(float)", "(2 * n + m) * sizeof(float)"))
    (fix,) = offered(text)
    assert "; assumes that m and n are not negative and no size overflows" in fix.title
    assert changes(text, fix)[1:] == ["k<<<2, 128, (n + m) * sizeof(float)>>>(in, out, n, m);"]


BLOCKS = """\
static __global__ void k(const float* in, float* out, {type} n) {{
  extern __shared__ float smem[];
  float* x = smem;
  float* y = x + blockDim.x;
  float* z = y + blockDim.x;
  for (int i = threadIdx.x; i < n; i += blockDim.x) z[i] = in[i];
  x[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float v = x[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = v;
  __syncthreads();
  out[threadIdx.x] = y[blockDim.x - 1 - threadIdx.x] + z[0];
}}
void run(const float* in, float* out, int n, int m) {{
  k<<<2, 128, (2 * 128 + m) * sizeof(float)>>>(in, out, n);
}}
"""


def test_what_a_block_takes_is_no_assumption_but_for_the_launch() -> None:
    text = BLOCKS.format(type="int")
    (fix,) = offered(text)
    assert (
        "8·blockDim.x → 4·blockDim.x B of dynamic shared memory below `z`; assumes that m is not negative;"
        in fix.title
    )
    assert changes(text, fix) == ["float* y = x;", "k<<<2, 128, (128 + m) * sizeof(float)>>>(in, out, n);"]
    (fix,) = offered(edited(text, ("(2 * 128 + m) * sizeof(float)", "2 * 128 * sizeof(float)")))
    assert fix.safety is Safety.SAFE


THREE = edited(
    KERNEL,
    ("  float* y = x + n;\n", "  float* y = x + n;\n  float* z = y + n;\n"),
    ("y[i] = v;", "y[i] = v, z[i] = 1.0f;"),
    ("y[n - 1 - i];", "y[n - 1 - i] + z[n - 1 - i];"),
    ("2 * n * sizeof", "3 * n * sizeof"),
)


def test_a_pointer_behind_a_moved_one_moves_with_it() -> None:
    (fix,) = offered(THREE)
    assert fix.title.startswith("Move y, z in smem: 12·n → 8·n B of dynamic shared memory;")
    assert changes(THREE, fix) == ["float* y = x;", "k<<<2, 128, 2 * n * sizeof(float)>>>(in, out, n, m);"]


def test_a_pointer_that_is_counted_from_the_array_gets_another_place() -> None:
    text = edited(THREE, ("float* z = y + n;", "float* z = smem + 2 * n;"))
    (fix,) = offered(text)
    assert changes(text, fix)[:2] == ["float* y = x;", "float* z = smem + n;"]


def test_a_smaller_range_shares_with_a_larger_one() -> None:
    text = edited(KERNEL, ("float* y = x + n;", "float* y = x + 2 * n;"), ("2 * n *", "3 * n *"))
    (fix,) = offered(text)
    assert "12·n → 8·n B" in fix.title
    assert changes(text, fix)[1] == "k<<<2, 128, 2 * n * sizeof(float)>>>(in, out, n, m);"


OPEN = edited(
    KERNEL,
    ("  float* y = x + n;\n", "  float* y = x + n;\n  float* z = y + n;\n"),
    (
        "float v = 0;",
        "float v = 0;\n  for (int i = threadIdx.x; i < (int)in[0]; i += blockDim.x) z[i] = 1.0f;",
    ),
    ("2 * n * sizeof(float)", "(2 * n + m) * sizeof(float)"),
    ("y[n - 1 - i];", "y[n - 1 - i] + z[i];"),
)


def test_a_last_range_of_any_size_follows_the_others() -> None:
    (fix,) = offered(OPEN)
    assert fix.title.startswith("Move y, z in smem: 8·n → 4·n B of dynamic shared memory below `z`;")
    assert changes(OPEN, fix)[1] == "k<<<2, 128, (n + m) * sizeof(float)>>>(in, out, n, m);"


def test_a_last_range_that_may_begin_further_down_stays() -> None:
    """Of a negative `m` nothing is known."""
    assert NO_PROOF in refusal(edited(OPEN, ("z[i] = 1.0f", "z[m] = 1.0f")))


def test_a_last_range_ends_where_the_bytes_of_the_launch_end() -> None:
    text = edited(
        KERNEL, ("y[i] = v", "y[i + 1] = v"), ("2 * n * sizeof(float)", "(2 * n + 1) * sizeof(float)")
    )
    (fix,) = offered(text)
    assert "8·n + 4 → 4·n + 4 B" in fix.title
    assert changes(text, fix)[1] == "k<<<2, 128, (n + 1) * sizeof(float)>>>(in, out, n, m);"


VECTORS = """\
static __global__ void k(const float4* in, float4* out, int n) {{
  extern __shared__ float smem[];
  float* x = smem;
  float* y = x + {first} * n;
  float4* z = (float4*)(y + {second} * n);
  for (int i = threadIdx.x; i < n; i += blockDim.x) z[i] = in[i];
  for (int i = threadIdx.x; i < {first} * n; i += blockDim.x) x[i] = i;
  __syncthreads();
  float v = 0;
  for (int i = threadIdx.x; i < {first} * n; i += blockDim.x) v += x[{first} * n - 1 - i];
  __syncthreads();
  for (int i = threadIdx.x; i < {second} * n; i += blockDim.x) y[i] = v;
  __syncthreads();
  for (int i = threadIdx.x; i < {second} * n; i += blockDim.x) v += y[{second} * n - 1 - i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = make_float4(z[n - 1 - i].x, v, v, v);
}}
"""


def test_what_would_lose_its_alignment_stays() -> None:
    """`z` at 12·n bytes is no place for a `float4`, at 16·n it is."""
    assert offered(VECTORS.format(first=1, second=3)) == []
    (fix,) = offered(VECTORS.format(first=4, second=4))
    assert "48·n → 32·n B" in fix.title


@pytest.mark.parametrize(
    ("edits", "why"),
    [
        # another number than the range is made with
        ((("i < n; i += blockDim.x) x[i]", "i < m; i += blockDim.x) x[i]"),), NO_PROOF),
        ((("x[i] = in[i]", "x[i + 1] = in[i]"),), NO_PROOF),
        ((("v += x[n - 1 - i]", "v += x[n - 2 - i]"),), NO_PROOF),
        ((("v += x[n - 1 - i]", "v += x[(int)in[i]]"),), NO_PROOF),
        # one range through the pointer of another one
        ((("y[n - 1 - i];", "y[n - 1 - i] + x[n + i];"),), "what goes through `x` is in several ranges"),
        # what is asked of addresses
        ((("v = 0;", "v = y - x;"),), "the distance of two addresses in `smem`"),
        ((("v = 0;", "v = 0; for (float* p = x; p < y; ++p) v += 1.0f;"),), "or their order, is asked for"),
        ((("float* y", "float* __restrict__ y"),), "`y` is `__restrict__`"),
        ((("float* x", "float* __restrict__ x"),), "`x` is `__restrict__`"),
        # not set where it is declared
        ((("float* y = x + n;", "float* y; y = x + n;"),), "`y` is not set where it is declared"),
        (
            (("  float* y = x + n;\n", ""), ("y[i] = v", "smem[n + i] = v"), ("y[n - 1 - i]", "smem[n + i]")),
            "`smem + 4·n` is not set where it is declared",
        ),
    ],
)  # fmt: skip
def test_what_is_not_proved_is_refused(edits: tuple[tuple[str, str], ...], why: str) -> None:
    assert why in refusal(edited(KERNEL, *edits))


@pytest.mark.parametrize(
    "edits",
    [
        # `x` is read while `y` holds a value
        (("y[n - 1 - i];", "y[n - 1 - i] + x[i];"),),
        # `y` is filled before `x` is read
        (("float v = 0;", "float v = 0; y[n - 1] = 3.0f;"),),
        # beyond what `x` has
        (("y[i] = v", "y[i + 1] = v"),),
        (("i < n; i += blockDim.x) y[i]", "i < m; i += blockDim.x) y[i]"),),
        # places that depend on data, on the thread, on a condition
        (("float* y = x + n;", "float* y = x + (int)in[0];"),),
        (("float* y = x + n;", "float* y = m ? x + n : x + 2 * n;"),),
        (("float* y = x + n;", "float* y = x + n; if (m) y += n;"),),
        (("float* y = x + n;", "float* y = x - n;"),),
        # pointers that others get
        (("float v = 0;", "float v = 0; keep(y);"),),
        (("float v = 0;", "float v = 0; kept[0] = y;"),),
    ],
)
def test_what_cannot_share_is_not_offered(edits: tuple[tuple[str, str], ...]) -> None:
    above = "__device__ void keep(float*);\n__device__ float* kept[4];\n"
    found = offered(above + edited(KERNEL, *edits))
    assert [fix.title for fix in found if fix.edits] == []


def test_a_range_that_the_launch_has_no_bytes_for_moves_and_the_launch_stays() -> None:
    """It wrote past the end; at the start of the other one it has room. How many bytes the launch can do without is not
    said then."""
    (fix,) = offered(edited(KERNEL, ("i < n; i += blockDim.x) y[i]", "i < 2 * n; i += blockDim.x) y[i]")))
    assert fix.title.startswith("Move y in smem: 12·n → 8·n B of dynamic shared memory; ")
    assert "still passes its bytes: they may be fewer than the 12·n B that the ranges may reach" in fix.title


HELPER = """\
__device__ void carve(float* base, int n, float*& one, float*& other) {
  one = base;
  other = base + n;
}
"""


def test_a_helper_that_carves_for_two_kernels_stays_as_it_is() -> None:
    text = HELPER + edited(
        KERNEL, ("  float* x = smem;\n  float* y = x + n;\n", "  float *x, *y;\n  carve(smem, n, x, y);\n")
    )
    text += text[text.index("static") : text.index("void run")].replace("void k(", "void other(")
    assert [fix for fix in offered(text) if fix.edits] == []


def test_a_helper_that_counts_for_two_kernels_stays_as_it_is() -> None:
    helper = "__device__ float* behind(float* base, int n) { return base + n; }\n"
    text = helper + edited(KERNEL, ("float* y = x + n;", "float* y = behind(x, n);"))
    text += text[text.index("static") : text.index("void run")].replace("void k(", "void other(")
    first, second = offered(text)
    for fix in (first, second):
        assert apply(text, fix).startswith(helper)
        assert changes(text, fix)[0] == "float* y = x;"


def test_instances_that_agree() -> None:
    text = edited(
        KERNEL,
        ("static __global__", "template <int T> static __global__"),
        (LAUNCH, LAUNCH.replace("k<<<", "k<1><<<") + LAUNCH.replace("k<<<", "k<2><<<")),
    )
    first, second = offered(text)
    assert first.edits == second.edits
    assert changes(text, first)[1:] == [
        "k<1><<<2, 128, n * sizeof(float)>>>(in, out, n, m);",
        "k<2><<<2, 128, n * sizeof(float)>>>(in, out, n, m);",
    ]


def test_instances_that_do_not_agree() -> None:
    text = edited(
        KERNEL,
        ("static __global__", "template <int T> static __global__"),
        ("out[i] = y", "out[i] = (T == 2 ? x[i] : 0.0f) + y"),
        (LAUNCH, LAUNCH.replace("k<<<", "k<1><<<") + LAUNCH.replace("k<<<", "k<2><<<")),
    )
    assert [fix for fix in offered(text) if fix.edits] == []
