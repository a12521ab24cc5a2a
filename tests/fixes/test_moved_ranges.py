"""Ranges of dynamic shared memory that share bytes: pointers and launches are rewritten (SMEM301)."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lsp.engine import apply, check
from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.source.queries import Store

KERNELS = Path(__file__).parents[1] / "kernels"

KERNEL = """\
{above}
static __global__ void k(const float* in, float* out) {{
  extern __shared__ {type} smem[];
  {x}
  {y}
  {z}
  int tid = threadIdx.x;
  x[tid] = in[tid];
  __syncthreads();
  y[tid] = x[255 - tid];
  __syncthreads();
  z[tid] = y[255 - tid];
  __syncthreads();
  out[tid] = z[255 - tid] {end};
}}
void run(const float* in, float* out) {{
  k<<<1, 256, {bytes}>>>(in, out);
}}
"""
PLAIN = {
    "above": "",
    "type": "float",
    "x": "float* x = smem;",
    "y": "float* y = smem + 256;",
    "z": "float* z = y + 256;",
    "end": "",
    "bytes": "3072",
}


def offered(**changed: str) -> tuple[str, Fix]:
    text = KERNEL.format(**(PLAIN | changed))
    return text, offered_for(text)


def offered_for(text: str) -> Fix:
    report = check(text)
    (finding,) = (each for each in report.findings if each.code == "SMEM301")
    (fix,) = report.fixes_for(finding)
    return fix


def changes(text: str, fix: Fix) -> list[str]:
    """The lines that are new."""
    before, after = text.splitlines(), apply(text, fix).splitlines()
    assert len(before) == len(after)
    return [new.strip() for old, new in zip(before, after) if old != new]


def test_a_pointer_and_its_launch() -> None:
    text, fix = offered()
    assert fix.title == "Move z in smem: 3,072 → 2,048 B of dynamic shared memory; unconfirmed"
    assert fix.safety is Safety.SAFE
    assert changes(text, fix) == ["float* z = x;", "k<<<1, 256, 2048>>>(in, out);"]
    assert not [each for each in check(apply(text, fix)).findings if each.code != "SMEM501"]


def test_the_reference_kernel_becomes_the_reference_rewrite() -> None:
    text = (KERNELS / "29_dynamic_carve.cu").read_text()
    fix = offered_for(text)
    assert "assumes the 256×1×1 block" in fix.title  # `k` may be launched from elsewhere
    assert changes(text, fix) == ["float* z = x;", "k<<<2, 256, 768 * sizeof(float)>>>(in, out, 1000);"]


@pytest.mark.parametrize(
    ("bytes_", "after"),
    [
        ("768 * sizeof(float)", "512 * sizeof(float)"),
        ("sizeof(float) * 768u", "sizeof(float) * 512"),
        (" 4096 ", " 3072 "),  # more than the ranges take
    ],
)
def test_how_launches_spell_their_bytes(bytes_: str, after: str) -> None:
    text, fix = offered(bytes=bytes_)
    assert changes(text, fix)[1] == f"k<<<1, 256, {after}>>>(in, out);"


def test_a_launch_that_cannot_be_edited_is_named() -> None:
    text, fix = offered(above="#define BYTES 3072", bytes="BYTES")
    assert fix.safety is Safety.UNSAFE
    assert fix.title.endswith("; the launch at line 17 still passes 3,072 B; unconfirmed")
    assert changes(text, fix) == ["float* z = x;"]


def test_bytes_that_are_seen_as_other_types() -> None:
    text, fix = offered(
        type="unsigned char",
        x="float* x = reinterpret_cast<float*>(smem);",
        y="int* y = (int*)(smem + 1024);",
        z="auto z = reinterpret_cast<float*>(y + 256);",
    )
    assert changes(text, fix)[0] == "auto z = x;"


def test_ranges_change_places_where_a_large_one_needs_room() -> None:
    text, fix = offered(
        type="unsigned char",
        x="float* x = (float*)smem;",
        y="int* y = (int*)(smem + 1024);",
        z="double* z = (double*)(y + 256);",
        bytes="4096",
    )
    assert fix.title == "Move y, z in smem: 4,096 → 3,072 B of dynamic shared memory; unconfirmed"
    assert changes(text, fix)[:2] == [
        "int* y = reinterpret_cast<int*>(smem + 2048);",
        "double* z = reinterpret_cast<double*>(x);",
    ]


def test_what_rests_on_constants_says_so() -> None:
    _, fix = offered(above="constexpr int N = 256;", y="float* y = smem + N;")
    assert fix.safety is Safety.UNSAFE
    assert fix.title.endswith("; right for what N is now; unconfirmed")


def test_another_pointer_to_the_same_place_is_not_left_behind() -> None:
    _, fix = offered(z="float* z = y + 256; float* same = smem + 512;", end="+ same[tid]")
    assert (fix.safety, fix.edits) == (Safety.DISPLAY, ())
    assert fix.title.endswith(": other pointers are counted from where they point now")


def test_a_pointer_that_is_counted_from_a_moved_one_moves_with_it() -> None:
    text, fix = offered(z="float* z = y + 256; float* half = z + 128;", end="+ half[tid % 128]")
    assert changes(text, fix)[0] == "float* z = x; float* half = z + 128;"


def test_a_pointer_that_is_set_later_stays() -> None:
    _, fix = offered(z="float* z; z = y + 256;")
    assert (fix.safety, fix.edits) == (Safety.DISPLAY, ())
    assert fix.title.endswith(": `z` is not set where it is declared")


def test_what_a_configuration_leaves_out_was_not_checked() -> None:
    text, fix = offered(end=";\n#ifdef MORE\n  out[0] = x[0]\n#endif\n ")
    assert fix.safety is Safety.UNSAFE
    assert "; the other branches of #if (line 15) were not checked" in fix.title
    assert changes(text, fix)[0] == "float* z = x;"


def test_a_pointer_of_one_configuration_stays() -> None:
    _, fix = offered(z="\n#ifndef MORE\n  float* z = y + 256;\n#endif")
    assert fix.title.endswith(": `z` is declared in an #if branch")


@pytest.mark.parametrize("name", ["x", "z"])
def test_what_nothing_else_may_lead_to_shares_with_nothing(name: str) -> None:
    place = PLAIN[name].replace("float*", "float* __restrict__")
    _, fix = offered(**{name: place})
    assert (fix.safety, fix.edits) == (Safety.DISPLAY, ())
    assert fix.title.endswith(f": `{name}` is `__restrict__`: no other pointer may lead to its bytes")


def test_one_that_shares_with_nothing_may_stay_so() -> None:
    text, fix = offered(y="float* __restrict__ y = smem + 256;")
    assert changes(text, fix)[0] == "float* z = x;"


@pytest.mark.parametrize(
    ("end", "asked"),
    [
        ("+ (z - x)", True),
        ("+ (x < z)", True),
        ("+ (z != nullptr)", False),
    ],
)
def test_what_asks_for_the_order_of_addresses_keeps_them(end: str, asked: bool) -> None:
    text, fix = offered(end=end)
    if asked:
        assert (fix.safety, fix.edits) == (Safety.DISPLAY, ())
        assert fix.title.endswith(": the distance of two addresses in `smem`, or their order, is asked for")
    else:
        assert changes(text, fix)[0] == "float* z = x;"


LAUNCH = "  k<<<1, 256, 3072>>>(in, out);\n"
LIMIT = "cudaFuncSetAttribute({}, cudaFuncAttributeMaxDynamicSharedMemorySize, {});"


def with_host(host: str, *, above: str = "") -> tuple[str, Fix]:
    text = KERNEL.format(**(PLAIN | {"above": above}))
    assert LAUNCH in text
    text = text.replace(LAUNCH, "".join(f"  {line}\n" for line in host.splitlines()))
    return text, offered_for(text)


def test_a_product_that_counts_the_ranges() -> None:
    text, fix = with_host("k<<<1, 256, 3 * N * sizeof(float)>>>(in, out);", above="constexpr int N = 256;")
    assert changes(text, fix)[1] == "k<<<1, 256, 2 * N * sizeof(float)>>>(in, out);"
    assert fix.safety is Safety.UNSAFE and "; right for what N is now" in fix.title


def test_the_limit_follows_its_launch() -> None:
    limit = LIMIT.format("k", "768 * sizeof(float)")
    text, fix = with_host(f"{limit}\nk<<<1, 256, 768 * sizeof(float)>>>(in, out);")
    assert changes(text, fix)[1:] == [
        LIMIT.format("k", "512 * sizeof(float)"),
        "k<<<1, 256, 512 * sizeof(float)>>>(in, out);",
    ]


TERMS = "(M + 0) * sizeof(float) + M * sizeof(float) + M * sizeof(int)"
CONSTANT = "constexpr int M = 256;"


def test_a_sum_loses_the_term_that_is_saved() -> None:
    limit = LIMIT.format("k", TERMS)
    text, fix = with_host(f"{limit}\nk<<<1, 256, {TERMS}>>>(in, out);", above=CONSTANT)
    less = "(M + 0) * sizeof(float) + M * sizeof(float)"
    assert changes(text, fix)[1:] == [LIMIT.format("k", less), f"k<<<1, 256, {less}>>>(in, out);"]
    assert fix.safety is Safety.UNSAFE and "; right for what M is now" in fix.title


@pytest.mark.parametrize(
    ("bytes_", "after"),
    [
        ("1024 + 2 * M * sizeof(float)", "2 * M * sizeof(float)"),
        ("2 * M * sizeof(float) + 16 + 1016", "1 * M * sizeof(float) + 16 + 1016"),
        ("512 + M * sizeof(float) + 512 + 1024", "512 + M * sizeof(float) + 512"),
        ("24 + 1000 + 2048", "2048"),
    ],
)
def test_a_constant_that_is_a_sum(bytes_: str, after: str) -> None:
    host = f"const size_t bytes = {{}};\n{LIMIT.format('k', 'bytes')}\nk<<<1, 256, bytes>>>(in, out);"
    text, fix = with_host(host.format(bytes_), above=CONSTANT)
    assert changes(text, fix)[1:] == [f"const size_t bytes = {after};"]


@pytest.mark.parametrize(
    ("bytes_", "after"),
    [
        ("(256 + M + 256) * sizeof(float)", "(256 + M) * sizeof(float)"),
        ("sizeof(float) * (M * 2 + 128 + 128)", "sizeof(float) * (M * 2)"),
        ("4 * (2 * M + 100 + 156) * 1", "4 * (2 * M) * 1"),
        ("(300 + 2 * M - 44) * sizeof(float)", None),  # no sum of what is counted
        ("(100 + 3 * M - 100) * sizeof(float)", None),
        ("(2 * 16 * 12 + 64 + 320) * 4", "(1 * 16 * 12 + 320) * 4"),  # a smaller factor and one part less
        ("(M + 512) * sizeof(float) + 0", None),
        ("rounded((M + 512) * sizeof(float))", None),
        ("(M + M) * sizeof(float) + 1024", "(M + M) * sizeof(float)"),
        ("all * sizeof(float)", None),  # counted elsewhere
    ],
)
def test_a_sum_in_brackets(bytes_: str, after: str | None) -> None:
    above = f"{CONSTANT}\nconstexpr int all = M + M + M;\nconstexpr size_t rounded(size_t n) {{ return n; }}"
    text, fix = with_host(f"k<<<1, 256, {bytes_}>>>(in, out);", above=above)
    launch = [] if after is None else [f"k<<<1, 256, {after}>>>(in, out);"]
    assert changes(text, fix)[1:] == launch
    assert (" still passes " in fix.title) is (after is None)


def test_a_sum_of_what_is_not_known_stays() -> None:
    host = "const size_t bytes = 2 * M * sizeof(float) + (M > 3 ? 1024 : 0);\nk<<<1, 256, bytes>>>(in, out);"
    text, fix = with_host(host, above="constexpr int M = 256;\nint count();")
    assert changes(text, fix)[1:] == ["const size_t bytes = 2 * M * sizeof(float);"]
    text, fix = with_host(host.replace("1024", "count()"), above="constexpr int M = 256;\nint count();")
    assert "; the launch at line 19 still passes its bytes" in fix.title


def test_ranges_that_all_begin_at_one_place() -> None:
    text = KERNEL.format(**PLAIN)
    text = text.replace(
        "y[tid] = x[255 - tid];", "float v = x[255 - tid];\n  __syncthreads();\n  y[tid] = v;"
    )
    text = text.replace("z[tid] = y[255 - tid];", "v = y[255 - tid];\n  __syncthreads();\n  z[tid] = v;")
    fix = offered_for(text)
    assert changes(text, fix) == ["float* y = x;", "float* z = x;", "k<<<1, 256, 1024>>>(in, out);"]


def test_the_limit_of_another_kernel_stays() -> None:
    text, fix = with_host(f"{LIMIT.format('other', '3072')}\n{LAUNCH.strip()}")
    assert changes(text, fix)[1:] == ["k<<<1, 256, 2048>>>(in, out);"]


def test_a_constant_for_launch_and_limit() -> None:
    limit = LIMIT.format("k", "bytes")
    host = f"const size_t bytes = 3 * 256 * sizeof(float);\n{limit}\nk<<<1, 256, bytes>>>(in, out);"
    text, fix = with_host(host)
    assert changes(text, fix)[1:] == ["const size_t bytes = 2 * 256 * sizeof(float);"]


def test_a_constant_that_something_else_uses_stays() -> None:
    host = 'const size_t bytes = 3072;\nk<<<1, 256, bytes>>>(in, out);\nprintf("%zu", bytes);'
    text, fix = with_host(host)
    assert changes(text, fix) == ["float* z = x;"]
    assert "; the launch at line 18 still passes 3,072 B" in fix.title


def instances(*launches: str) -> str:
    text = KERNEL.format(**PLAIN).replace("static __global__", "template <typename T> static __global__")
    return text.replace(LAUNCH, "".join(f"  k<{each}>>>(in, out);\n" for each in launches))


def test_a_template_with_one_instance() -> None:
    text = instances("float><<<1, 256, 3072")
    fix = offered_for(text)
    assert changes(text, fix) == ["float* z = x;", "k<float><<<1, 256, 2048>>>(in, out);"]


def test_instances_that_agree() -> None:
    text = instances("float><<<1, 256, 3072", "int><<<1, 256, 4096")
    fix = offered_for(text)
    assert changes(text, fix) == [
        "float* z = x;",
        "k<float><<<1, 256, 2048>>>(in, out);",
        "k<int><<<1, 256, 3072>>>(in, out);",
    ]


def test_instances_that_do_not_agree() -> None:
    text = instances("float><<<1, 256, 3072", "char><<<1, 256, 3072").replace(
        "out[tid] = z", "if (sizeof(T) == 1) out[tid + 256] = x[tid];\n  out[tid] = z"
    )
    assert "x[tid];" in text
    report = check(text)
    assert not [
        fix
        for each in report.findings
        if each.code == "SMEM301"
        for fix in report.fixes_for(each)
        if fix.edits
    ]


def test_a_pointer_that_is_counted_from_a_moved_one_gets_its_own_place() -> None:
    """`w` would move with `z`, on top of `y`; all the while it holds what is read at the end."""
    declared = {"z": "float* z = y + 256;\n  float* w = z + 256;", "end": "+ w[tid]", "bytes": "4096"}
    text = KERNEL.format(**(PLAIN | declared)).replace("x[tid] =", "w[tid] = in[tid + 1];\n  x[tid] =")
    fix = offered_for(text)
    assert fix.safety is Safety.SAFE
    assert changes(text, fix) == [
        "float* z = x;",
        "float* w = smem + 512;",
        "k<<<1, 256, 3072>>>(in, out);",
    ]


def test_a_range_that_two_pointers_name_is_not_moved_by_one_of_them() -> None:
    """An access through `z` reaches into what `w` names, so both are one range; but `w` is not counted from `z`, and
    where it stays `y` would come to lie. The bytes of the edited text alone do not tell: `y` would end it, too."""
    declared = {
        "y": "float* z = smem + 256;\n  float* w = smem + 512;",
        "z": "float* y = smem + 768;",
        "end": "+ w[tid]",
        "bytes": "4096",
    }
    text = KERNEL.format(**(PLAIN | declared))
    text = text.replace("  z[tid] =", "  z[tid + 128] = 1.0f;\n  w[tid] = 2.0f;\n  z[tid] =")
    fix = offered_for(text)
    assert fix.safety is Safety.DISPLAY
    assert "other pointers are counted from where they point now" in fix.title


def test_a_launch_that_passes_less_than_the_ranges_may_reach() -> None:
    """Taking as much off as the ranges shrink would leave it with less than the new layout needs."""
    _, fix = with_host("k<<<1, 256, 3000>>>(in, out);")
    assert fix.safety is Safety.DISPLAY
    assert fix.title.endswith(
        "the launch at line 17 passes 3,000 B, fewer than the 3,072 B that the ranges may reach"
    )


COUNTED = "static size_t counted(int n) {{ return {}; }}"


def with_function(function: str, host: str = "k<<<1, 256, counted(256)>>>(in, out);") -> tuple[str, Fix]:
    text = KERNEL.format(**PLAIN).replace(LAUNCH, "".join(f"  {line}\n" for line in host.splitlines()))
    text = text.replace("void run", f"{function}\nvoid run")
    return text, offered_for(text)


@pytest.mark.parametrize(
    ("returned", "after"),
    [
        ("3 * n * sizeof(float)", "2 * n * sizeof(float)"),
        ("2 * n * sizeof(float) + n * sizeof(int)", "2 * n * sizeof(float)"),
        ("3072", "2048"),
    ],
)
def test_a_function_that_counts_the_bytes(returned: str, after: str) -> None:
    text, fix = with_function(COUNTED.format(returned))
    assert fix.safety is Safety.SAFE
    assert changes(text, fix) == ["float* z = x;", COUNTED.format(after)]


def test_a_function_for_a_constant_and_the_limit() -> None:
    host = f"const size_t bytes = counted(N);\n{LIMIT.format('k', 'bytes')}\nk<<<1, N, bytes>>>(in, out);"
    function = f"constexpr int N = 256;\n{COUNTED.format('3 * n * sizeof(float)')}"
    text, fix = with_function(function, host)
    assert changes(text, fix)[1:] == [COUNTED.format("2 * n * sizeof(float)")]
    assert "; right for what N is now" in fix.title


def test_a_function_that_another_file_may_use() -> None:
    _, fix = with_function("size_t counted(int n) { return 3 * n * sizeof(float); }")
    assert fix.safety is Safety.UNSAFE
    assert "; assumes that no other file uses counted()" in fix.title


@pytest.mark.parametrize(
    ("other", "line"),
    [
        ('printf("%zu", counted(256));', 18),
        ("#ifdef TRACE\nother<<<1, 256, counted(256)>>>(in, out);\n#endif", 19),
        ("#define AGAIN counted(256)", 18),
    ],
)
def test_a_function_that_something_else_uses_stays(other: str, line: int) -> None:
    host = f"{other}\nk<<<1, 256, counted(256)>>>(in, out);"
    text, fix = with_function(COUNTED.format("3 * n * sizeof(float)"), host)
    assert changes(text, fix) == ["float* z = x;"]
    assert f" still passes 3,072 B: counted() is used at line {line}, too" in fix.title


def test_a_function_that_launches_need_different_results_of_stays() -> None:
    host = "k<<<1, 256, counted(256)>>>(in, out);\nk<<<1, 256, counted(512)>>>(in, out);"
    text, fix = with_function(COUNTED.format("3 * n * sizeof(float)"), host)
    assert changes(text, fix) == ["float* z = x;"]
    assert "6,144 B: counted() would have to differ between launches" in fix.title


def test_a_local_of_the_name_of_the_function_is_not_the_function() -> None:
    host = "auto counted = [](int n) { return 4096; };\nk<<<1, 256, counted(256)>>>(in, out);"
    text, fix = with_function(COUNTED.format("3 * n * sizeof(float)"), host)
    assert changes(text, fix) == ["float* z = x;"]


def test_another_body_of_the_function_is_seen_at_once() -> None:
    """The function with the launch stays as it is, and so does all that the file declares."""
    cache = Store()
    for count in (3, 2):
        text, _ = with_function(f"static int counted(int n) {{\n  return {count} * n * sizeof(float);\n}}")
        report = check(text, cache=cache)
        (launch,) = report.facts[0].kernel.launches
        assert launch.dynamic_bytes == count * 1024


WITH_BARRIER = """\
static __global__ void k(const float* in, float* out) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + 7000;
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) x[i] = in[i];
  __syncthreads();
  float s = x[6999 - tid];
  for (int i = tid; i < 7000; i += 256) y[i] = s;
  __syncthreads();
  out[tid] = y[6999 - tid];
}
void run(const float* in, float* out) {
  k<<<1, 256, 56000>>>(in, out);
}
"""


def test_a_barrier_that_gains_a_block_is_told_and_put_in() -> None:
    report = check(WITH_BARRIER)
    (finding,) = (each for each in report.findings if each.code == "SMEM302")
    assert "with 1 added barrier 56,000 → 28,000 B of dynamic shared memory" in str(finding.message)
    (fix,) = report.fixes_for(finding)
    assert fix.safety is Safety.SAFE
    after = apply(WITH_BARRIER, fix)
    assert "float* y = x;" in after and "k<<<1, 256, 28000>>>" in after
    assert "  __syncthreads();  // y reuses x: every warp must be done reading it\n  for (int i" in after
    (kernel,) = check(after).kernels
    assert kernel.verdict.kind.value == "race-free"


def test_a_barrier_that_gains_nothing_is_not_told() -> None:
    small = WITH_BARRIER.replace("7000", "512").replace("6999", "511").replace("56000", "4096")
    assert not [each for each in check(small).findings if each.code == "SMEM302"]
