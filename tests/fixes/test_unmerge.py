"""What a merge made is read as the arrays that it was made of, and can be taken back."""

from __future__ import annotations

import re

import pytest
from fixes import two_buffers
from harness import merges_offered

from smem_lsp.engine import FileReport, apply, check
from smem_lsp.engine.merges import merge_finding, merges, parts, unmerges
from smem_lsp.fixes.model import Fix, Safety

READ = "float s = tile[511 - tid]"
BOTH = f"{READ} + tile[255 - tid]"
TWO_BUFFERS = two_buffers.TWO_BUFFERS.replace(READ, BOTH)
TWO_BUFFERS_MERGED = two_buffers.TWO_BUFFERS_MERGED.replace(READ, BOTH)
LAUNCH = "void run(const float* in, float* out) { k<<<1, 256>>>(in, out); }\n"
UNION = """\
static __global__ void k(const float* in, float* out) {
  __shared__ float keys[256];
  __shared__ float values[256];
  __shared__ float sums[384];
  int tid = threadIdx.x;
  keys[tid] = in[tid];
  values[tid] = in[tid + 256];
  __syncthreads();
  float s = keys[255 - tid] * values[tid ^ 1];
  __syncthreads();
  sums[tid] = s;
  __syncthreads();
  out[tid] = sums[255 - tid];
}
"""
BYTES = """\
static __global__ void k(const float* in, float* out) {
  __shared__ float a[256];
  __shared__ float b[512];
  __shared__ float c[256];
  __shared__ float d[512];
  int tid = threadIdx.x;
  a[tid] = in[tid];
  b[tid] = in[tid];
  b[tid + 256] = in[tid];
  __syncthreads();
  float s = a[255 - tid];
  __syncthreads();
  c[tid] = s;
  __syncthreads();
  s = b[511 - tid] + c[255 - tid];
  __syncthreads();
  d[tid] = s;
  d[tid + 256] = s;
  __syncthreads();
  out[tid] = d[511 - tid] + d[tid ^ 32];
}
"""
MERGED = {
    "a guest in its host": TWO_BUFFERS,
    "a union of phases": UNION,
    "offsets": BYTES,
    "a guest of another type": TWO_BUFFERS.replace("float red[256]", "int red[256]"),
}


def offered(report: FileReport) -> list[Fix]:
    return [fix for facts in report.facts for each in unmerges(facts) for fix in report.fixes_for(each)]


def once_merged(text: str) -> str:
    (fix,) = merges_offered(text)
    return apply(text, fix)


@pytest.mark.parametrize("name", MERGED)
def test_a_merge_that_is_taken_back_gives_the_text_that_it_was_made_of(name: str) -> None:
    text = MERGED[name] + LAUNCH
    merged = once_merged(text)
    assert merged != text
    (fix,) = offered(check(merged))
    assert apply(merged, fix) == text


def test_the_title_has_the_bytes_and_what_it_rests_on() -> None:
    text = TWO_BUFFERS_MERGED.replace("__global__", "static __global__") + LAUNCH
    (fix,) = offered(check(text))
    assert fix.title.startswith("Unmerge tile and red: 2,048 → 3,072 B")
    assert fix.safety is Safety.UNSAFE  # `tile` is written in two steps: not proved to be all of it
    assert "right unless `tile` is read for what others have left" in fix.title


def test_it_is_safe_where_every_element_is_written_first() -> None:
    text = once_merged(UNION.replace("384", "256") + LAUNCH)
    (fix,) = offered(check(text))
    assert fix.safety is Safety.SAFE, fix.title


def test_values_that_pass_from_one_name_to_another_have_one_purpose() -> None:
    text = TWO_BUFFERS_MERGED.replace("  red[tid] = s;\n", "")
    assert not offered(check(text))  # `red` reads what was written as `tile`


def test_a_pointer_to_an_array_is_no_purpose_of_its_own() -> None:
    text = TWO_BUFFERS_MERGED.replace(
        "  __syncthreads();\n  float s", "  float* p = tile;\n  __syncthreads();\n  float s"
    )
    text = text.replace("= tile[511 - tid]", "= p[511 - tid]")
    (fix,) = offered(check(text))
    assert "Unmerge tile and red" in fix.title


def test_more_than_a_block_may_have_is_refused() -> None:
    text = once_merged(
        TWO_BUFFERS.replace("tile[512]", "tile[9000]").replace("red[256]", "red[8000]") + LAUNCH
    )
    (fix,) = offered(check(text))
    assert not fix.edits
    assert fix.title == "Cannot unmerge `tile`: 68,000 B are more than the 49,152 B that ptxas accepts"


@pytest.mark.parametrize("name", MERGED)
def test_a_merged_kernel_is_as_free_of_findings_as_before(name: str) -> None:
    report = check(once_merged(MERGED[name] + LAUNCH))
    assert not [each for each in report.findings if each.code < "SMEM3"]
    assert report.kernels[0].verdict.kind.value == "race-free"


@pytest.mark.parametrize("name", MERGED)
def test_without_the_barrier_between_the_purposes_they_race(name: str) -> None:
    """The last but one, in front of the purpose that takes the bytes over."""
    lines = once_merged(MERGED[name] + LAUNCH).splitlines(keepends=True)
    barriers = [number for number, line in enumerate(lines) if "__syncthreads();" in line]
    del lines[barriers[-2]]
    found = [each for each in check("".join(lines)).findings if each.code == "SMEM202"]
    assert found, name
    names = set(re.findall(r"`(\w+)\[", str(found[0].message)))
    assert len(names) == 2, found[0].message


IN_TURN = """\
static __global__ void k(const float* in, float* out) {
  __shared__ float a[512];
  __shared__ float b[256];
  __shared__ float c[256];
  int tid = threadIdx.x;
  a[tid] = in[tid];
  a[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = a[511 - tid] + a[255 - tid];
  __syncthreads();
  b[tid] = s;
  __syncthreads();
  s = b[255 - tid];
  __syncthreads();
  c[tid] = s;
  __syncthreads();
  out[tid] = c[255 - tid];
}
"""


def merged_in_part(text: str, names: str) -> str:
    report = check(text)
    facts = report.facts[0]
    picked = [each.index for each in facts.kernel.buffers if each.name in names]
    (fix,) = report.fixes_for(merge_finding(facts, parts(facts, picked)[0]))
    return apply(text, fix)


@pytest.mark.parametrize(
    "orders", [("ab", "ac"), ("ab", "bc"), ("ac", "ab"), ("ac", "bc"), ("bc", "ab"), ("bc", "ac")]
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("float c[256]", "int c[256]"),  # of another type than all
        ("float c[256]", "float c[512]"),  # as the host
    ],
)
def test_one_merge_after_the_other_gives_what_both_at_once_give(
    orders: tuple[str, str], old: str, new: str, newline: str
) -> None:
    text = (IN_TURN + LAUNCH).replace(old, new).replace("\n", newline)
    first, second = orders
    at_once = once_merged(text)
    in_iteration = merged_in_part(merged_in_part(text, first), second)
    assert check(at_once).kernels[0].static_bytes == check(in_iteration).kernels[0].static_bytes == 2048
    if "512" in new and first == "bc":  # `b` is a guest of `c` by then, which is as large as `a`
        assert "float (&b)[256] = *reinterpret_cast<float (*)[256]>(&a);  // shares a's bytes" in in_iteration
    else:
        assert in_iteration == at_once


def test_a_guest_of_a_guest_is_taken_apart_in_one_go() -> None:
    text = IN_TURN + LAUNCH
    chained = once_merged(text).replace(
        "float (&c)[256] = *reinterpret_cast<float (*)[256]>(&a);", "float (&c)[256] = b;"
    )
    (fix,) = offered(check(chained))
    assert apply(chained, fix) == text


# ---- dynamic shared memory -----------------------------------------------------------------------------------------

CARVED = """\
static __global__ void k(const float* in, float* out) {
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + 256;
  float* z = y + 256;
  int tid = threadIdx.x;
  x[tid] = in[tid];
  __syncthreads();
  y[tid] = x[255 - tid];
  __syncthreads();
  z[tid] = y[tid ^ 1];
  __syncthreads();
  out[tid] = z[255 - tid];
}
void run(const float* in, float* out) { k<<<1, 256, 768 * sizeof(float)>>>(in, out); }
"""


def moved(text: str) -> str:
    """With the first plan for its ranges."""
    report = check(text)
    (fix,) = [fix for facts in report.facts for each in merges(facts) for fix in report.fixes_for(each)]
    return apply(text, fix)


def test_ranges_that_share_bytes_get_their_own_again() -> None:
    merged = moved(CARVED)
    assert "float* z = x;" in merged and "512 * sizeof(float)" in merged
    (fix,) = offered(check(merged))
    assert fix.title == "Unmerge x, y and z in smem: 2,048 → 3,072 B of dynamic shared memory"
    assert fix.safety is Safety.SAFE
    apart = apply(merged, fix)
    assert apart == CARVED.replace("y + 256", "smem + 512")
    assert not offered(check(apart))
    assert moved(apart) == merged


def test_they_are_buffers_to_all_that_asks() -> None:
    (facts,) = check(moved(CARVED)).facts
    turns = facts.dynamic_purposes
    assert turns is not None and turns.by_names
    assert [(each.name, each.offset, each.size) for each in turns.partition.ranges] == [
        ("x", 0, 1024), ("y", 1024, 1024), ("z", 0, 1024)
    ]  # fmt: skip
    racing = moved(CARVED).replace("  __syncthreads();\n  z[tid]", "  z[tid]")
    assert [each.code for each in check(racing).findings] == ["SMEM202"]


def test_bytes_that_an_author_lets_serve_twice_can_be_taken_apart() -> None:
    text = CARVED.replace("float* z = y + 256;", "int* z = reinterpret_cast<int*>(smem);")
    text = text.replace("768 * sizeof(float)", "2048").replace(
        "z[tid] = y[tid ^ 1]", "z[tid] = (int)y[tid ^ 1]"
    )
    (fix,) = offered(check(text))
    apart = apply(text, fix)
    assert "int* z = reinterpret_cast<int*>(smem + 512);" in apart and "k<<<1, 256, 3072>>>" in apart


def test_pointers_between_which_values_pass_have_one_purpose() -> None:
    assert not offered(check(moved(CARVED).replace("out[tid] = z", "out[tid] = x[tid] + z")))
    (fix,) = offered(check(moved(CARVED).replace("z[tid] = y", "if (tid < 255) z[tid] = y")))
    assert fix.safety is Safety.UNSAFE
    assert "right unless `z` is read for what others have left" in fix.title


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("void run(const float* in, float* out) { k<<<1, 256, 512 * sizeof(float)>>>(in, out); }\n", "",
         "the launches, which are not in this file, would have to pass 1,024 B more"),
        ("512 * sizeof(float)>>>", "bytes()>>>", "the launch at line 16 still passes its bytes"),
        ("float* z = x;", "float* z; z = x;", "`z` is not set where it is declared"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_apart(old: str, new: str, why: str) -> None:
    text = moved(CARVED)
    assert old in text
    text = text.replace(old, new).replace(
        "static __global__", "// smem: assume(blockDim.x == 256)\n__global__"
    )
    (fix,) = offered(check(text))
    assert not fix.edits and why in fix.title
