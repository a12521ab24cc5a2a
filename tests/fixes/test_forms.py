"""Every form of a declaration that a merge rewrites: what it becomes, and the bytes that ptxas reports for it."""

from __future__ import annotations

import pytest
from harness import check_no_fix, compile_cubin, merges_offered

from smem_lsp import apply, check
from smem_lsp.fixes.model import Safety

KERNEL = """\
{above}static __global__ void k(const float* in, float* out) {{
  int tid = threadIdx.x;
  {a}
  {b}
  {put_a} = in[tid];
  __syncthreads();
  float s = {get_a};
  __syncthreads();
  {put_b} = s;
  __syncthreads();
  out[tid] = {get_b};
}}
void run(float* p) {{ k{instance}<<<1, 256>>>(p, p); }}
"""
GUEST = "float (&b)[256] = *reinterpret_cast<float (*)[256]>(&a);"


def text_of(
    a: str, b: str, *, of_a: str = "a[tid]", of_b: str = "b[tid]", above: str = "", instance: str = ""
) -> str:
    return KERNEL.format(
        above=above,
        a=a,
        b=b,
        put_a=of_a,
        get_a=of_a.replace("tid", "255 - tid"),
        put_b=of_b,
        get_b=of_b.replace("tid", "255 - tid"),
        instance=instance,
    )


# declarations, a line afterwards, bytes
FORMS = {
    "several dimensions": (
        text_of(
            "__shared__ float a[2][16][16];",
            "__shared__ float b[16][16];",
            of_a="a[tid / 128][tid / 16 % 8][tid % 16]",
            of_b="b[tid / 16][tid % 16]",
        ),
        "float (&b)[16][16] = *reinterpret_cast<float (*)[16][16]>(&a);",
        2048,
    ),
    "a class": (
        text_of(
            "__shared__ Point a[256];",
            "__shared__ float b[256];",
            of_a="a[tid].x",
            above="struct Point { float x, y; };\n",
        ),
        GUEST,
        2048,
    ),
    "a class without a name": (
        text_of("__shared__ struct { float v[512]; } a;", "__shared__ float b[256];", of_a="a.v[tid]"),
        GUEST,
        2048,
    ),
    "a type of an array": (
        text_of("__shared__ Row a;", "__shared__ float b[256];", above="typedef float Row[512];\n"),
        GUEST,
        2048,
    ),
    "a member type": (
        text_of(
            "__shared__ typename C::Element a[512];",
            "__shared__ float b[256];",
            above="struct C { typedef float Element; };\n",
        ),
        GUEST,
        2048,
    ),
    "sizes of a template": (
        text_of(
            "__shared__ T a[N];",
            "__shared__ float b[256];",
            above="template <typename T, int N> ",
            instance="<float, 512>",
        ),
        'static_assert(sizeof(b) <= sizeof(a), "b must fit in a");',
        2048,
    ),
    "static": (text_of("static __shared__ float a[512];", "static __shared__ float b[256];"), GUEST, 2048),
    "an attribute behind the type": (
        text_of("float __shared__ a[512];", "float __shared__ b[256];"),
        GUEST,
        2048,
    ),
    "several lines": (
        text_of("__shared__\n      float\n      a[512];", "__shared__ float\n    b\n    [256];"),
        GUEST,
        2048,
    ),
    "comments": (
        text_of("__shared__ float a[512]; // first", "/* second */ __shared__ float b[256]; /* tail */"),
        f"{GUEST} /* tail */",
        2048,
    ),
    "an array in a loop": (
        text_of(
            "__shared__ float a[512];",
            "for (int i = 0; i < 1; ++i) {\n    __shared__ float c[256];\n    c[tid] = 1;\n    out[tid] = c[tid];\n"
            "  }\n  __shared__ float b[256];",
        ),
        "float (&c)[256] = *reinterpret_cast<float (*)[256]>(&a);",
        2048,
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_is_rewritten_and_compiles(name: str) -> None:
    text, line, size = FORMS[name]
    (fix,) = merges_offered(text)
    after = apply(text, fix)
    assert fix.safety is Safety.SAFE
    assert line in after
    compiled = compile_cubin(after, "sm_90")
    assert (compiled.error, compiled.warnings, compiled.bytes) == ("", (), size)
    assert fix.static_bytes == size
    assert not merges_offered(after)


def test_an_array_of_the_file_keeps_its_place() -> None:
    """Another kernel may rely on it."""
    text = "__shared__ float a[512];\n" + text_of("", "__shared__ float b[256];")
    assert [finding for finding in check(text).findings if finding.code == "SMEM301"] == []


def test_a_jump_refuses_every_merge() -> None:
    text = text_of("__shared__ float a[512];", "__shared__ float b[256];")
    check_no_fix(text.replace("  float s =", " if (in[0] > 3) goto inside;\n  { inside: ; }\n  float s ="))
