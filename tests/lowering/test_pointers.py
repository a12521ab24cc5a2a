"""Every access through a pointer, a reference or a carved block resolves to bytes of a declared buffer."""

from __future__ import annotations

import pytest
from harness import kernel_facts
from interpret import Run

from smem_lsp import check
from smem_lsp.lowering import kernel as kernel_module
from smem_lsp.lowering.state.context import Context


def touched(statements: str, above: str = "", parameters: str = "float* out, int n") -> list[str]:
    """Bytes that the thread with threadIdx.x == 5 touches when n == 3, as ``W a 20+4``."""
    text = f"{above}\n__global__ void k({parameters}) {{ {statements} }}\n"
    kernel = kernel_facts(text).kernel
    return Run(kernel, {"n": 3, "blockDim.x": 256, "blockIdx.x": 0}, {"x": 5}).run()


FLAT = "__shared__ float a[64]; "
GRID = "__shared__ float a[4][8]; "
RAW = "extern __shared__ unsigned char raw[]; "


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("a[threadIdx.x] = 1;", ["W a 20+4"]),
        ("float* p = a; p[threadIdx.x] = 1;", ["W a 20+4"]),
        ("float* p = a + 8; p[threadIdx.x] = 1;", ["W a 52+4"]),
        ("float* p = &a[8]; *p = 1;", ["W a 32+4"]),
        ("float* p = a + 8; p += n; *p = 1;", ["W a 44+4"]),
        ("float* p = a + 8; p -= n; *p = 1;", ["W a 20+4"]),
        ("float* p = a; ++p; *p = 1;", ["W a 4+4"]),
        ("float* p = a + 8; --p; *p = 1;", ["W a 28+4"]),
        ("float* p = a; int i = 4; float* q = p + i; i = 9; *q = 1;", ["W a 16+4"]),
        ("float* p = a; *p++ = 1; *p = 2;", ["W a 0+4", "W a 4+4"]),
        ("float* p = a + 9; *p-- = 1; *p = 1;", ["W a 36+4", "W a 32+4"]),
        ("float* p = a; *++p = 1;", ["W a 4+4"]),
        ("float* p = a; float* q = p++; *q = 1; *p = 1;", ["W a 0+4", "W a 4+4"]),
        ("float* p = a; float* q = (p += 2); *q = 1;", ["W a 8+4"]),
        ("float* p = a; for (int i = 0; i < 2; ++i) *p++ = 1;", ["W a 0+4", "W a 4+4"]),
        ("float* p = a; for (int i = 0; i < 3; ++i) { *p = 1; p += 2; }", ["W a 0+4", "W a 8+4", "W a 16+4"]),
        ("float* p; p = a + 2; *p = 1; p = a + 4; *p = 1;", ["W a 8+4", "W a 16+4"]),
        ("float* p = n > 2 ? a : a + 8; *p = 1;", ["W a 0+4"]),
        ("float* p = n > 3 ? a : a + 8; *p = 1;", ["W a 32+4"]),
        ("float* p = n > 2 ? a + 8 : a + 8; *p = 1;", ["W a 32+4"]),
        ("auto p = a + 3; p[1] = 1;", ["W a 16+4"]),
        ("auto* p = &a[3]; p[1] = 1;", ["W a 16+4"]),
        ("volatile float* p = a; p[2] = 1;", ["W a 8+4"]),
        ("double* p = (double*)a; p[2] = 1;", ["W a 16+8"]),
        ("double* p = reinterpret_cast<double*>(a + 4); p[1] = 1;", ["W a 24+8"]),
        ("char* p = (char*)a; float* q = (float*)(p + 8); q[1] = 1;", ["W a 12+4"]),
        ("*reinterpret_cast<float4*>(&a[4]) = make_float4(1, 2, 3, 4);", ["W a 16+16"]),
        ("void* p = a; float* q = (float*)p; q[1] = 1;", ["W a 4+4"]),
        ("float& r = a[n]; n = 7; r = 1;", ["W a 12+4"]),
        ("float (&v)[64] = a; v[2] = 1;", ["W a 8+4"]),
        ("float* rows[2] = {a, a + 32}; rows[1][n] = 1;", ["W a ?"]),
        ("float* rows[2]; rows[0] = a; rows[0][n] = 1;", ["W a ?"]),
        ("float* p = a; p[1]++;", ["X a 4+4"]),
        ("atomicAdd(a + n, 1.0f);", ["X a 12+4"]),
        ("float* p = a; float* q = p; q[1] = 1;", ["W a 4+4"]),
        ("if (n) { float* p = a; p[1] = 1; }", ["W a 4+4"]),
    ],
)
def test_flat(statements: str, expected: list[str]) -> None:
    assert touched(FLAT + statements) == expected


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("a[1][2] = 1;", ["W a 40+4"]),
        ("float (*p)[8] = a; p[1][2] = 1;", ["W a 40+4"]),
        ("float (*p)[8] = a + 1; p[1][2] = 1;", ["W a 72+4"]),
        ("float* p = a[1]; p[2] = 1;", ["W a 40+4"]),
        ("float* p = &a[0][0]; p[n * 8 + 1] = 1;", ["W a 100+4"]),
        ("auto& row = a[n]; row[1] = 1;", ["W a 100+4"]),
        ("auto row = a[n]; row[1] = 1;", ["W a 100+4"]),
    ],
)
def test_dimensions(statements: str, expected: list[str]) -> None:
    assert touched(GRID + statements) == expected


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (
            "float* x = reinterpret_cast<float*>(raw); float* y = x + 64; int* z = (int*)(y + n);"
            "x[1] = 1; y[1] = 1; z[1] = 1;",
            ["W raw 4+4", "W raw 260+4", "W raw 272+4"],
        ),
        ("float* x = (float*)raw; double* y = (double*)&x[n + 1]; y[0] = 1;", ["W raw 16+8"]),
        ("auto x = reinterpret_cast<float (*)[16]>(raw); x[2][3] = 1;", ["W raw 140+4"]),
    ],
)
def test_a_block_that_is_carved(statements: str, expected: list[str]) -> None:
    assert touched(RAW + statements) == expected


def test_one_of_two_buffers_is_touched() -> None:
    assert touched(FLAT + "__shared__ float b[64]; float* p = n > 2 ? a : b; p[1] = 1;") == ["W a 4+4"]
    assert touched(FLAT + "__shared__ float b[64]; float* p = n > 3 ? a : b; p[1] = 1;") == ["W b 4+4"]


def test_both_are_touched_where_it_is_not_known_which() -> None:
    assert touched(FLAT + "__shared__ float b[64]; float* p[2] = {a, b}; p[n & 1][1] = 1;") == [
        "W a ?",
        "W b ?",
    ]


def test_swapped_pointers_point_to_the_other_one() -> None:
    found = touched(
        FLAT + "__shared__ float b[64]; float *p = a, *q = b; auto t = p; p = q; q = t; p[1] = 1;"
    )
    assert found == ["W b 4+4"]


@pytest.mark.parametrize(
    ("statements", "times"),
    [
        ("float* p; p = a + 8; p[threadIdx.x] = 1;", 1),
        ("float* p; if (n) p = a + 8; p[1] = 1;", 1),
        (
            "float* p; if (n) p = a; else p = b; p[1] = 1;",
            2,
        ),  # at the first it is not known that it may be two
        ("float *p = a, *q = b; for (int i = 0; i < n; ++i) { p[1] = 1; auto t = p; p = q; q = t; }", 2),
        ("float* p = out; p[1] = 1; p = a; p[1] = 1;", 2),
    ],
)
def test_a_kernel_is_lowered_again_only_for_what_was_not_known(
    statements: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a pointer led before it is assigned is nothing that anyone needs to know."""
    done: list[str] = []
    lower = kernel_module._lower

    def noted(ctx: Context) -> None:
        done.append(ctx.at.kernel.name)
        lower(ctx)

    monkeypatch.setattr(kernel_module, "_lower", noted)
    shared = FLAT + "__shared__ float b[64]; "
    kernel_facts(f"__global__ void k(float* out, int n) {{ {shared}{statements} }}\n")
    assert done == ["k"] * times


def test_a_pointer_that_is_assigned_behind_its_declaration_is_followed() -> None:
    assert touched(FLAT + "float* p; p = a + 8; p[1] = 1;") == ["W a 36+4"]
    both = FLAT + "__shared__ float b[64]; float* p; if (n > 2) p = a; else p = b + 1; p[1] = 1;"
    assert touched(both) == ["W a 4+4"]
    assert touched(both.replace("n > 2", "n > 3")) == ["W b 8+4"]


STRUCT = "struct Tile { float a[4][8]; int n; double d[2]; union { float u; char c[4]; }; };"


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("__shared__ Tile t; t.a[1][2] = 1;", ["W t 40+4"]),
        ("__shared__ Tile t; t.n = 1;", ["W t 128+4"]),
        ("__shared__ Tile t[2]; t[1].d[1] = 1;", ["W t 304+8"]),
        ("__shared__ Tile t; Tile* p = &t; p->n = 1;", ["W t 128+4"]),
        ("__shared__ Tile t; auto& a = t.a; a[n][1] = 1;", ["W t 100+4"]),
        ("__shared__ Tile t; t.c[3] = 1;", ["W t 155+1"]),
        ("__shared__ float4 v[8]; v[n].z = 1;", ["W v 56+4"]),
        ("__shared__ union { float a[8]; struct { int x, y; } s; } u; u.s.y = 1; u.a[n] = 1;", ["W u 4+4", "W u 12+4"]),
        (
            "extern __shared__ char raw[]; Tile& t = *reinterpret_cast<Tile*>(raw); t.n = 1; t.a[0][n] = 1;",
            ["W raw 128+4", "W raw 12+4"],
        ),
        ("__shared__ Tile t; t.other = 1;", ["W t ?"]),
        ("__shared__ std::array<float, 8> v; v[n] = 1;", ["W v 12+4"]),
    ],
)  # fmt: skip
def test_members(statements: str, expected: list[str]) -> None:
    assert touched(statements, STRUCT) == expected


@pytest.mark.parametrize(
    "moved", ["a + 255 - t", "a + (255 - t)", "&a[255] - t", "a + 255; q -= t", "a; q += 255; q -= t"]
)
def test_a_pointer_that_goes_back_is_followed(moved: str) -> None:
    """Its distance from the start of the array is never negative, though ``-t`` is."""
    text = f"""\
__global__ void k(int* o) {{
  // smem: assume(blockDim.x == 256)
  __shared__ int a[256];
  int t = threadIdx.x;
  a[t] = o[t];
  int* q = {moved};
  o[t] = *q;
}}
"""
    (found,) = check(text).findings
    assert found.code == "SMEM201"
    assert "thread 0 writes `a[0]` (line 5), thread 255 reads it (line 7)" in found.message


@pytest.mark.parametrize("pointer", ["int* const p", "auto* const p", "int* p"])
def test_a_pointer_keeps_its_place_where_a_lambda_captures_what_it_leads_to(pointer: str) -> None:
    text = f"""
__global__ void k(const int* in, int* out) {{
  __shared__ int s[64];
  {pointer} = s;
  int t = threadIdx.x;
  p[t] = in[t];
  __syncthreads();
  int v = [first = p[3]]() -> int {{ return first + 1; }}();
  __syncthreads();
  if (t == 0) p[0] += 1;
  out[t] = p[0] + v;
}}
void host(const int* in, int* out) {{ k<<<4, 64>>>(in, out); }}
"""
    assert [each.code for each in check(text).findings] == ["SMEM201"]
