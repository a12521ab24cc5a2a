"""Ranges of dynamic shared memory whose bounds are parameters, and what could share bytes, in terms."""

from __future__ import annotations

import json

import pytest
from harness import kernel_facts

from smem_lsp.engine import check
from smem_lsp.output.json_ import kernel_object
from smem_lsp.rules.cause_words import bare

KERNEL = """\
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + n;
  float* z = y + n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = in[i];
  __syncthreads();
  float v = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v += x[n - 1 - i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) { y[i] = v; z[i] = v; }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = y[n - 1 - i] + z[n - 1 - i];
}
"""

Ranges = list[tuple[str, str, str | None]]


def ranges(text: str) -> Ranges:
    found = kernel_facts(text).dynamic_terms
    return [] if found is None else list(found.ranges)


def reading(places: str, access: str) -> str:
    return f"""
struct sizes {{ int rows; int columns; }};
__global__ void k(float* out, int n, int m, sizes s) {{
  extern __shared__ float smem[];
  {places}
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = {access};
}}
"""


def test_pointers_with_starts_in_terms_begin_ranges() -> None:
    assert ranges(KERNEL) == [("x", "0", "4·n"), ("y", "4·n", "4·n"), ("z", "8·n", None)]
    assert kernel_facts(KERNEL).dynamic_refusals == ()


@pytest.mark.parametrize(
    ("places", "access", "expected"),
    [
        ("float* a = smem; float* b = a + n * m;", "a[i] + b[i]", ["0", "4·m·n"]),
        ("int size = n * m; float* b = smem + size;", "smem[i] + b[i]", ["0", "4·m·n"]),
        ("int* b = (int*)(smem + n);", "smem[i] + b[i]", ["0", "4·n"]),
        ("double* b = reinterpret_cast<double*>((char*)smem + 16 * n);", "smem[i] + b[i]", ["0", "16·n"]),
        ("float* b = smem + blockDim.x;", "smem[i] + b[i]", ["0", "4·blockDim.x"]),
        ("float* b = smem + s.rows * s.columns;", "smem[i] + b[i]", ["0", "4·s.columns·s.rows"]),
        ("float* b = smem + (n + 31) / 32 * 32;", "smem[i] + b[i]", ["0", "128·((n + 31) / 32)"]),
        # written into each access, with no pointer at all
        ("", "smem[i] + smem[n + i]", ["0", "4·n"]),
        # what is counted from a pointer per thread or per turn belongs to it
        ("float* b = smem + n; float* row = b + threadIdx.x * m;", "smem[i] + row[i]", ["0", "4·n"]),
        (
            "float* b = smem + n; float* row = b; for (int j = 0; j < m; ++j) row += m;",
            "smem[i] + row[i]",
            ["0", "4·n"],
        ),
        # further behind than the next pointer: what is there
        ("float* a = smem; float* b = smem + n;", "a[i] + a[n + i] + b[i]", ["0", "4·n"]),
    ],
)
def test_starts(places: str, access: str, expected: list[str]) -> None:
    text = reading(places, access)
    assert [begin for _, begin, _ in ranges(text)] == expected


def test_what_a_call_gives_is_a_size_where_it_is_the_same_at_all_times() -> None:
    places = "int w = t.size(0); float* b = smem + w; float* row = b; for (int j = 0; j < m; ++j) row += w;"
    text = reading(places, "smem[i] + row[i]").replace(
        "sizes s)", "torch::PackedTensorAccessor32<float, 2> t)"
    )
    assert [begin for _, begin, _ in ranges(text)] == ["0", "4·size(t, 0)"]
    assert ranges(text.replace("row += w", "row += (int)out[0]")) == []


def test_what_one_of_several_functions_does_stays_in_its_range_too() -> None:
    text = """
__device__ float of(float* from, int i) { return from[i]; }
__device__ float of(float* from, long i) { return from[i + 1]; }
template <typename T> __global__ void k(float* out, T n) {
  extern __shared__ float smem[];
  float* b = smem + n;
  smem[threadIdx.x] = 1;
  b[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = of(b, n) + of(smem, n);
}
"""
    assert ranges(text) == [("smem", "0", "4·n"), ("b", "4·n", None)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("float* z = y + n;", "float* z = n > 8 ? smem : y + n;", "`z` points to several places"),
        ("float* z = y + n;", "float* z = smem + m;", "begins first is not known"),
        ("float* z = y + n;", "float* z = y + n; if (m) z = smem;", "points to several places"),
        ("float* z = y + n;", "float* z = smem - n;", ""),
    ],
)
def test_what_has_no_order_is_refused(old: str, new: str, words: str) -> None:
    text = KERNEL.replace("int n)", "int n, int m)").replace(old, new)
    facts = kernel_facts(text)
    assert facts.dynamic_terms is None
    assert any(words in bare(each) for each in facts.dynamic_refusals)


def test_what_is_dead_can_share_in_terms() -> None:
    found = kernel_facts(KERNEL).dynamic_terms
    assert found is not None
    assert found.named_columns == (("x", "y"), ("z",))
    assert (found.before, found.after) == ("8·n", "4·n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # x is read while y holds a value
        ("out[i] = y[n - 1 - i]", "out[i] = x[i] + y[n - 1 - i]"),
        # no barrier between the last read of x and the first write of y
        ("v += x[n - 1 - i];\n  __syncthreads();", "v += x[n - 1 - i];"),
        # which of the two is the larger is not known
        ("float* z = y + n;", "float* z = y + m;"),
    ],
)
def test_what_cannot_share_stays(old: str, new: str) -> None:
    text = KERNEL.replace("int n)", "int n, int m)").replace(old, new)
    found = kernel_facts(text).dynamic_terms
    assert found is not None
    assert found.saves is None


def test_a_smaller_range_shares_with_a_larger_one() -> None:
    found = kernel_facts(KERNEL.replace("float* z = y + n;", "float* z = y + 2 * n;")).dynamic_terms
    assert found is not None
    assert (found.before, found.after) == ("12·n", "8·n")


TURNS = """\
__global__ void k(const float* in, float* out, unsigned n, unsigned m) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + n;
  float* z = y + n;
  z[threadIdx.x] = 0.0f;
  for (int i = 0; i < 8; ++i) {
    for (unsigned j = threadIdx.x; j < n; j += blockDim.x) x[j] = in[i * n + j];
    __syncthreads();
    for (unsigned j = threadIdx.x; j < n; j += blockDim.x) z[threadIdx.x] += x[n - 1 - j];
    __syncthreads();
    for (unsigned j = threadIdx.x; j < n; j += blockDim.x) y[j] = in[j];
    __syncthreads();
    for (unsigned j = threadIdx.x; j < n; j += blockDim.x) z[threadIdx.x] += y[n - 1 - j];
    __syncthreads();
  }
  out[threadIdx.x] = z[threadIdx.x];
}
"""


def test_ranges_that_each_turn_of_a_loop_fills_again_can_share_in_terms() -> None:
    pytest.importorskip("z3")
    found = kernel_facts(TURNS).dynamic_terms
    assert found is not None
    assert found.named_columns == (("x", "y"), ("z",))
    assert (found.before, found.after) == ("8·n", "4·n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("j < n; j += blockDim.x) y[j]", "j < n - 1; j += blockDim.x) y[j]"),
        ("j < n; j += blockDim.x) y[j]", "j < m; j += blockDim.x) y[j]"),
        ("y[j] = in[j]", "y[j / 2] = in[j]"),
        ("y[j] = in[j]", "if (in[j] > 0.0f) y[j] = in[j]"),
        ("+= y[n - 1 - j]", "+= y[n - j]"),
    ],
)
def test_ranges_that_are_filled_in_part_stay(old: str, new: str) -> None:
    assert old in TURNS
    found = kernel_facts(TURNS.replace(old, new)).dynamic_terms
    assert found is not None
    assert found.saves is None


def test_what_the_ranges_rest_on_is_told() -> None:
    report = check(KERNEL)
    (kernel,) = (kernel_object(report.source, each) for each in report.kernels)
    told = json.loads(json.dumps(kernel["carved_terms"]))
    assert told["assumes"] == "assumes that what goes through `x` stays below `y`, `y` stays below `z`"
    assert {each["line"] for each in told["open"]} == {6, 9, 11, 13}
    assert kernel["carved"] is None


def told_plans(text: str) -> list[tuple[int, str, str, int | None]]:
    """(added barriers, bytes before, bytes after, line of what is not proved)"""
    report = check(text)
    (kernel,) = (kernel_object(report.source, each) for each in report.kernels)
    return [
        (
            plan["barriers_added"],
            plan["bytes_before"],
            plan["bytes_after"],
            plan["not_proved"] and plan["not_proved"]["line"],
        )
        for plan in kernel["carved_terms"]["plans"]
    ]


def test_what_a_rewrite_would_do_is_told() -> None:
    pytest.importorskip("z3")
    assert told_plans(KERNEL) == [(0, "12·n", "8·n", None)]
    assert told_plans(TURNS) == [(0, "8·n", "4·n", None)]  # and `z`, which ends nobody knows where
    beyond = KERNEL.replace("x[i] = in[i]", "x[i + 1] = in[i]")
    assert told_plans(beyond) == [(0, "12·n", "8·n", 6)]
    alive = KERNEL.replace("out[i] = y", "out[i] = x[i] + y")
    assert told_plans(alive) == []


def test_an_access_before_the_array_is_in_no_range() -> None:
    text = KERNEL.replace("v += x[n - 1 - i];", "v += x[-1];")
    assert kernel_facts(text).dynamic_terms is None
    # of a remainder only its bounds are known, and those of a signed one begin below 0: nobody says that it gets there
    loose = KERNEL.replace("v += x[n - 1 - i];", "v += x[i % 32];").replace(
        "int i = threadIdx.x;", "int i = n;"
    )
    assert ranges(loose) == [("x", "0", "4·n"), ("y", "4·n", "4·n"), ("z", "8·n", None)]


def test_what_is_known_to_cross_from_one_range_to_the_next_joins_them() -> None:
    places = "float* a = smem; float* b = smem + 64; float* c = smem + 128; float* d = c + n;"
    apart = reading(places, "a[i & 31] + b[i] + c[i] + d[i]")
    assert [begin for _, begin, _ in ranges(apart)] == ["0", "256", "512", "4·n + 512"]
    joined = reading(places, "a[i & 127] + b[i] + c[i] + d[i]")
    assert [begin for _, begin, _ in ranges(joined)] == ["0", "512", "4·n + 512"]


def test_where_all_starts_are_crossed_there_are_no_ranges() -> None:
    text = """
__global__ void k(float* o, int n) {
  extern __shared__ float s[];
  float* p = s + 16;
  p[(int)(threadIdx.x & 15) - 4] = 1.0f;
  __syncthreads();
  o[threadIdx.x] = p[n];
}
"""
    facts = kernel_facts(text)
    assert facts.dynamic_terms is None and facts.stopped == ()


def test_the_array_itself_beside_a_pointer_to_its_start_may_mean_all_of_it() -> None:
    places = "float* a = smem; float* b = smem + n;"
    assert [begin for _, begin, _ in ranges(reading(places, "a[i] + b[i] + smem[threadIdx.x & 7]"))] == [
        "0",
        "4·n",
    ]
    (refusal,) = kernel_facts(reading(places, "a[i] + b[i] + smem[i]")).dynamic_refusals
    assert bare(refusal) == "how far `smem` reaches is not known, of which `a` is only a part"


@pytest.mark.parametrize(
    ("places", "found"),
    [
        # a number of each thread, or of each turn, counts from where the pointer begins
        ("float* b = smem + n; float* at = b + order[threadIdx.x];", True),
        ("float* b = smem + n; float* at = b; for (int j = 0; j < m; ++j) at = b + order[j];", True),
        # one that is the same for all may be where another range begins
        ("float* b = smem + n; float* at = b + order[0];", False),
        ("float* b = smem + n; float* at = b + order[n];", False),
        ("float* b = smem + n; float* at = smem + order[0];", False),
        ("float* b = smem + n; int far = 0; if (m) far = n; float* at = smem + far;", False),
    ],
)
def test_ranges_that_begin_where_data_says_are_refused(places: str, found: bool) -> None:
    text = reading(places, "smem[i] + b[i] + at[i]").replace("int m,", "int m, int* order,")
    text = text.replace("out[i] =", "order[i] = 0; out[i] =")
    assert ranges(text) == ([("smem", "0", "4·n"), ("b", "4·n", None)] if found else [])
    assert found or any("`at`" in bare(each) for each in kernel_facts(text).dynamic_refusals)


def test_a_number_from_memory_that_the_kernel_leaves_alone_is_a_size() -> None:
    text = reading("float* b = smem + order[blockIdx.x];", "smem[i] + b[i]").replace(
        "int m,", "int m, int* order,"
    )
    assert ranges(text) == [("smem", "0", "4·order[blockIdx.x]"), ("b", "4·order[blockIdx.x]", None)]
    written = text.replace("out[i] =", "order[i] = 0; out[i] =")
    assert ranges(written) == []
    assert [bare(each) for each in kernel_facts(written).dynamic_refusals] == [
        "where `b` begins is not followed"
    ]


COPIED = """\
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float* a = smem;
  float* b = smem + n;
  float* c = b + n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    unsigned to = __cvta_generic_to_shared(a + i);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + i));
  }
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) { b[i] = a[n - 1 - i]; }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) { c[i] = b[n - 1 - i]; }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = c[n - 1 - i];
}
"""


@pytest.mark.parametrize("wait", ['asm volatile("cp.async.wait_all;");', ""])
def test_copies_have_ranges_that_stay(wait: str) -> None:
    text = COPIED.replace('asm volatile("cp.async.wait_all;");', wait)
    assert ranges(text) == [("a", "0", "4·n"), ("b", "4·n", "4·n"), ("c", "8·n", None)]
    facts = kernel_facts(text)
    assert facts.dynamic_terms is not None and facts.dynamic_terms.saves is None
    assert facts.term_plans == ()


OBJECT = """\
template <typename T> struct Tiles { typename T::A a; typename T::B b; float scale; };
template <typename T> __global__ void k(float* out, int n) {
  extern __shared__ char raw[];
  auto& tiles = *reinterpret_cast<Tiles<T>*>(raw);
  float* more = reinterpret_cast<float*>(raw + n);
  tiles.scale = out[0];
  more[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = tiles.scale + more[threadIdx.x ^ 1];
}
"""


def test_an_object_whose_layout_is_not_known_is_one_range() -> None:
    assert ranges(OBJECT) == [("raw", "0", "n"), ("more", "n", None)]
    swapped = OBJECT.replace("(raw + n)", "(raw)").replace("Tiles<T>*>(raw)", "Tiles<T>*>(raw + n)")
    assert [begin for _, begin, _ in ranges(swapped)] == ["0", "n"]
    facts = kernel_facts(OBJECT)
    assert facts.term_plans == ()
    assert facts.dynamic_terms is not None
    told = [bare(each) for each in facts.dynamic_terms.partition.doubts]
    assert "where the write through `raw` to scale begins: the layout of its class is not known" in told


@pytest.mark.parametrize("start", ["raw", "raw + 4 * n"])
def test_an_address_that_is_rounded_up_begins_no_range(start: str) -> None:
    text = (
        "__global__ void k(const float* in, float* out, int n) {\n  extern __shared__ unsigned char raw[];\n"
        f"  unsigned char* base = (unsigned char*)(((unsigned long long)({start}) + 127) & ~127ull);\n"
        "  float* a = (float*)base;\n  float* b = (float*)(base + 4 * n);\n"
        "  a[threadIdx.x] = in[threadIdx.x];\n  __syncthreads();\n  b[threadIdx.x] = a[threadIdx.x ^ 1];\n"
        "  __syncthreads();\n  out[threadIdx.x] = b[threadIdx.x ^ 1];\n}\n"
    )
    facts = kernel_facts(text)
    assert facts.dynamic_terms is None and facts.dynamic_partition is None
    assert {bare(each) for each in facts.dynamic_refusals} == {
        "where `a` begins is not followed",
        "where `b` begins is not followed",
    }
