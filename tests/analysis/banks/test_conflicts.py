"""Kernels with bank conflicts that must be found, and kernels of which nothing may be said."""

from __future__ import annotations

import pytest
from analysis.asking import analyse
from analysis.banks.test_wavefronts import Lanes, by_words
from harness import kernel_facts

from smem_lsp import check
from smem_lsp.analysis.banks.conflicts import BankConflict, bank_conflicts
from smem_lsp.analysis.threads.uniformity import prove_levels
from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.ir.nodes import Access, Kernel, walk
from smem_lsp.rules.facts import KernelFacts

LOOP = """{helpers}__global__ void k(const float* in, float* out, int n, int m) {{
  __shared__ {declared};
  const int t = threadIdx.x;
  float acc = 0;
  for (int i = 0; i < n; ++i) {{ {statement} }}
  out[t] = acc;
}}
"""
FLAT = LOOP.replace("for (int i = 0; i < n; ++i) {{ {statement} }}", "{statement}")


def text_of(declared: str, statement: str, *, helpers: str = "", loop: bool = True) -> str:
    return (LOOP if loop else FLAT).format(helpers=helpers, declared=declared, statement=statement)


def said(facts: KernelFacts) -> dict[str, BankConflict]:
    """What is found, by the text of the access."""
    spans = {node.point: node.span for node in walk(facts.kernel.body) if isinstance(node, Access)}
    found: dict[str, BankConflict] = {}
    for each in facts.banks:
        span = spans[each.point]
        assert span is not None
        found[facts.text(span)] = each
    return found


# Declaration, statement, the access, byte offset of a lane, bytes, wavefronts worked out by hand.
SPEAK = {
    "column": ("float a[32][32]", "acc += a[t][5];", "a[t][5]", lambda t: 128 * t, 4, 32),
    "column written": ("float a[32][32]", "a[t][5] = acc;", "a[t][5]", lambda t: 128 * t, 4, 32),
    "column updated": ("float a[32][32]", "a[t][5] += acc;", "a[t][5]", lambda t: 128 * t, 4, 32),
    "column of ints": ("int a[32][64]", "acc += a[t][9];", "a[t][9]", lambda t: 256 * t, 4, 32),
    "column of 16": ("float a[32][16]", "acc += a[t][3];", "a[t][3]", lambda t: 64 * t, 4, 16),
    "column of 8": ("float a[32][8]", "acc += a[t][3];", "a[t][3]", lambda t: 32 * t, 4, 8),
    "column of 4": ("float a[32][4]", "acc += a[t][3];", "a[t][3]", lambda t: 16 * t, 4, 4),
    "column of 40": ("float a[32][40]", "acc += a[t][3];", "a[t][3]", lambda t: 160 * t, 4, 8),
    "column of 36": ("float a[32][36]", "acc += a[t][3];", "a[t][3]", lambda t: 144 * t, 4, 4),
    "column of 48": ("float a[32][48]", "acc += a[t][3];", "a[t][3]", lambda t: 192 * t, 4, 16),
    "moving column": ("float a[32][64]", "acc += a[t][i % 64];", "a[t][i % 64]", lambda t: 256 * t, 4, 32),
    "uniform column": ("float a[32][64]", "acc += a[t][m];", "a[t][m]", lambda t: 256 * t, 4, 32),
    "from behind": ("float a[32][32]", "acc += a[31 - t][5];", "a[31 - t][5]", lambda t: 128 * (31 - t), 4, 32),
    "flat 32": ("float a[1024]", "acc += a[32 * t];", "a[32 * t]", lambda t: 128 * t, 4, 32),
    "flat 4": ("float a[1024]", "acc += a[4 * t];", "a[4 * t]", lambda t: 16 * t, 4, 4),
    "flat 12": ("float a[1024]", "acc += a[12 * t];", "a[12 * t]", lambda t: 48 * t, 4, 4),
    "shifted": ("float a[1024]", "acc += a[t << 3];", "a[t << 3]", lambda t: 32 * t, 4, 8),
    "wrapped": ("float a[1024]", "acc += a[t * 8 & 127];", "a[t * 8 & 127]", lambda t: (t * 8 & 127) * 4, 4, 4),
    "folded": ("float a[1024]", "acc += a[t % 8 * 32];", "a[t % 8 * 32]", lambda t: t % 8 * 128, 4, 8),
    "halves": (
        "float a[2048]", "acc += a[t / 16 * 1024 + t % 16 * 16];", "a[t / 16 * 1024 + t % 16 * 16]",
        lambda t: (t // 16 * 1024 + t % 16 * 16) * 4, 4, 16,
    ),
    "xor of rows": ("float a[2048]", "acc += a[(t ^ 5) * 16];", "a[(t ^ 5) * 16]", lambda t: (t ^ 5) * 64, 4, 16),
    "two cases": (
        "float a[2048]", "acc += a[t < 16 ? t * 8 : t * 16];", "a[t < 16 ? t * 8 : t * 16]",
        lambda t: 32 * t if t < 16 else 64 * t, 4, 12,
    ),
    "half of the lanes": ("float a[1024]", "if (t < 16) acc += a[t * 32];", "a[t * 32]",
                          lambda t: 128 * t if t < 16 else None, 4, 16),
    "odd lanes": ("float a[1024]", "if (t % 2) acc += a[t * 8];", "a[t * 8]",
                  lambda t: 32 * t if t % 2 else None, 4, 8),
    "the other lanes": ("float a[1024]", "if (t < 20) acc += 1; else acc += a[t * 32];", "a[t * 32]",
                        lambda t: 128 * t if t >= 20 else None, 4, 12),
    "both guards": ("float a[1024]", "if (t < 20 && t > 9) acc += a[t * 32];", "a[t * 32]",
                    lambda t: 128 * t if 9 < t < 20 else None, 4, 10),
    "under a uniform guard": ("float a[32][32]", "if (m > i) acc += a[t][5];", "a[t][5]", lambda t: 128 * t, 4, 32),
    "uniform and lanes": ("float a[32][32]", "if (m > i && t < 24) acc += a[t][5];", "a[t][5]",
                          lambda t: 128 * t if t < 24 else None, 4, 24),
    "after lanes that went on": ("float a[32][32]", "if (t >= 8) continue; acc += a[t][5];", "a[t][5]",
                                 lambda t: 128 * t if t < 8 else None, 4, 8),
    "short": ("unsigned short a[2048]", "acc += a[64 * t];", "a[64 * t]", lambda t: 128 * t, 2, 32),
    "char": ("unsigned char a[4096]", "acc += a[64 * t];", "a[64 * t]", lambda t: 64 * t, 1, 16),
    "rows of chars": ("unsigned char a[32][128]", "acc += a[t][i % 128];", "a[t][i % 128]", lambda t: 128 * t, 1, 32),
    "double": ("double a[1024]", "acc += a[16 * t];", "a[16 * t]", lambda t: 128 * t, 8, 32),
    "double 4": ("double a[1024]", "acc += a[4 * t];", "a[4 * t]", lambda t: 32 * t, 8, 8),
    "float4 rows": ("float4 a[32][8]", "float4 v = a[t][0]; acc += v.x;", "a[t][0]", lambda t: 128 * t, 16, 32),
    "float4 every fourth": ("float4 a[128]", "float4 v = a[4 * t]; acc += v.x;", "a[4 * t]", lambda t: 64 * t, 16, 16),
    "cast to float4": (
        "float a[32][64]", "float4 v = *reinterpret_cast<float4*>(&a[t][4]); acc += v.x;",
        "*reinterpret_cast<float4*>(&a[t][4])", lambda t: 256 * t, 16, 32,
    ),
    "half2 in rows of 64": (
        "short a[32][64]", "int v = *(int*)&a[t][4]; acc += v;", "*(int*)&a[t][4]", lambda t: 128 * t, 4, 32,
    ),
    "member": ("float4 a[128]", "acc += a[t].y;", "a[t].y", lambda t: 16 * t + 4, 4, 4),
    "unrolled row": ("float a[32][32]", "for (int j = 0; j < 32; ++j) acc += a[t][j];", "a[t][j]",
                     lambda t: 128 * t, 4, 32),
    "unrolled row of 16": ("float a[32][16]", "for (int j = 0; j < 16; ++j) acc += a[t][j];", "a[t][j]",
                           lambda t: 64 * t, 4, 16),
    "strided fill": ("float a[2048]", "for (int j = t; j < 64; j += 32) a[j * 32] = acc;", "a[j * 32]",
                     lambda t: 128 * t, 4, 32),
    "transposing fill": (
        "float a[32][32]", "for (int j = t; j < 1024; j += 32) a[j % 32][j / 32] = acc;", "a[j % 32][j / 32]",
        lambda t: t % 32 * 128, 4, 32,
    ),
    "through a pointer": ("float a[1024]", "float* p = a + t * 32; acc += *p;", "*p", lambda t: 128 * t, 4, 32),
    "atomic": ("int a[1024]", "atomicAdd(&a[t * 32], 1);", "&a[t * 32]", lambda t: 128 * t, 4, 32),
    "lane of a variable": ("float a[1024]", "int lane = t & 31; acc += a[lane * 32];", "a[lane * 32]",
                           lambda t: 128 * t, 4, 32),
    "swizzle of the wrong bits": ("float a[32][32]", "acc += a[t][5 ^ (t / 8)];", "a[t][5 ^ (t / 8)]",
                                  lambda t: 128 * t + (5 ^ t // 8) * 4, 4, 8),
}  # fmt: skip


@pytest.mark.parametrize("name", SPEAK)
def test_a_conflict_is_found(name: str) -> None:
    declared, statement, access, offset, width, expected = SPEAK[name]
    lanes: Lanes = [offset(t) for t in range(32)]
    assert by_words(lanes, width) == expected
    found = said(kernel_facts(text_of(declared, statement)))
    assert list(found) == [access]
    conflict = found[access]
    assert (conflict.wavefronts, conflict.alike, conflict.looped) == (expected, True, True)
    assert conflict.wavefronts >= 4 * conflict.least


# ---- kernels that must be silent -----------------------------------------------------------------------------------

SILENT = {
    "row": ("float a[32][32]", "acc += a[5][t];"),
    "padded column": ("float a[32][33]", "acc += a[t][5];"),
    "padded tile, both ways": ("float a[32][33]", "a[i % 32][t] = acc; acc += a[t][i % 32];"),
    "broadcast": ("float a[32][32]", "acc += a[3][3];"),
    "stride 2": ("float a[1024]", "acc += a[2 * t];"),
    "stride 3": ("float a[1024]", "acc += a[3 * t];"),
    "stride 33": ("float a[2048]", "acc += a[33 * t];"),
    "stride of 34 words": ("float a[32][34]", "acc += a[t][1];"),
    "bytes": ("unsigned char a[1024]", "acc += a[4 * t];"),
    "shorts in a word": ("short a[1024]", "acc += a[t / 2];"),
    "permuted": ("float a[1024]", "acc += a[t ^ 13];"),
    "swizzled column": ("float a[32][32]", "acc += a[t][5 ^ t];"),
    "rotated column": ("float a[32][32]", "acc += a[t][(t + 5) % 32];"),
    "double": ("double a[512]", "acc += a[t];"),
    "double, every other": ("double a[512]", "acc += a[2 * t];"),
    "float2": ("float2 a[512]", "float2 v = a[t]; acc += v.x;"),
    "float3 member": ("float3 a[128]", "acc += a[t].y;"),
    "float4": ("float4 a[128]", "float4 v = a[t]; acc += v.x;"),
    "float4 fragment of B": ("float4 a[128]", "float4 v = a[i % 16 * 8 + t % 8]; acc += v.x;"),
    "float4 fragment of A": ("float4 a[128]", "float4 v = a[i % 16 * 8 + t / 8]; acc += v.x;"),
    "float4 for all": ("float4 a[128]", "float4 v = a[i % 128]; acc += v.x;"),
    "float4 in pairs": ("float4 a[32][8]", "float4 v = a[t / 2][0]; acc += v.x;"),
    "all members": ("float4 a[128]", "acc += a[t].x + a[t].y + a[t].z + a[t].w;"),
    "unrolled into float4": ("float a[1024]", "for (int j = 0; j < 4; ++j) acc += a[4 * t + j];"),
    "in front of each other": ("float a[1024]", "acc += a[4 * t] + a[4 * t + 1] + a[4 * t + 2] + a[4 * t + 3];"),
    "unrolled stores": ("float a[1024]", "for (int j = 0; j < 4; ++j) a[t * 4 + j] = acc;"),
    "unrolled twice": ("float a[32][8]", "for (int j = 0; j < 8; ++j) acc += a[t][j];"),
    "unrolled by hand": ("float a[1024]", "for (int j = 0; j < 4; j += 2) acc += a[4 * t + j] + a[4 * t + j + 1];"),
    "runtime trips": ("float a[1024]", "for (int j = 0; j < m; ++j) acc += a[4 * t + j];"),
    "folded unrolling": ("float a[1024]", "for (int j = 0; j < 8; ++j) acc += a[j / 4 * 128 + t * 4 + j % 4];"),
    "unrolled under a mask": ("float a[256]", "for (int j = 0; j < 8; ++j) acc += a[(t * 8 + j) & 255];"),
    "by hand under a mask": (
        "float a[128]",
        "int j = t * 4; acc += a[j & 127] + a[(j & 127) + 1] + a[j + 2 & 127] + a[j + 3 & 127];",
    ),
    "members of several types": (
        "struct { int key; float w[3]; } a[64]",
        "a[t].key = 1; for (int j = 0; j < 3; ++j) a[t].w[j] = acc;",
    ),
    "unrolled chars": ("char a[2048]", "for (int j = 0; j < 16; ++j) acc += a[16 * t + j];"),
    "unknown pitch": ("float a[1024]", "acc += a[t * m];"),
    "unknown pitch of a tile": ("float a[1024]", "acc += a[t * m + i];"),
    "data-dependent": ("float a[1024]", "acc += a[int(in[t])];"),
    "data-dependent row": ("float a[32][32]", "acc += a[int(in[t])][5];"),
    "permutation in shared memory": ("int a[1024]", "acc += a[a[t] * 32];"),
    "unknown guard": ("float a[1024]", "if (in[t] > 0) acc += a[t * 32];"),
    "unknown bound": ("float a[1024]", "if (t < m) acc += a[t * 32];"),
    "unknown lanes have left": ("float a[1024]", "if (in[t] > 0) continue; acc += a[t * 32];"),
    "lanes leave early": ("float a[1024]", "for (int j = 0; j < 9; ++j) { if (t == j) break; acc += a[t * 32]; }"),
    "few lanes": ("float a[1024]", "if (t < 3) acc += a[t * 32];"),
    "one lane": ("float a[1024]", "if (t == 0) acc += a[t * 32];"),
    "unknown symbol in a remainder": ("float a[1024]", "acc += a[(t + m) % 32 * 32];"),
    "long loop in a remainder": ("float a[4096]", "for (int j = 0; j < m; ++j) acc += a[(t * 32 + j) % 4096 / 3];"),
    "wmma": ("float a[32][32]", "wmma::load_matrix_sync(f, &a[0][0], 32);"),
    "two dimensions of unknown size": ("float a[32][32]", "acc += a[t][threadIdx.y];"),
    "size of the block": ("float a[1024]", "acc += a[t * blockDim.x];"),
    "class of 12 bytes": ("float3 a[128]", "float3 v = a[t]; acc += v.x;"),
    "class of four floats": ("struct { float x, y, z, w; } a[256]", "auto v = a[8 * t]; acc += v.x;"),
    "reduction": ("float a[64]", "for (int s = 16; s > 0; s >>= 1) if (t < s) a[t] += a[t + s];"),
    "interleaved reduction": (
        "float a[64]", "for (int s = 1; s < 32; s *= 2) if (t % (2 * s) == 0) a[t] += a[t + s];"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_said(name: str) -> None:
    declared, statement = SILENT[name]
    assert said(kernel_facts(text_of(declared, statement))) == {}


def test_there_are_enough_of_them() -> None:
    assert len(SPEAK) + len(SILENT) >= 60


# ---- blocks of known shape -----------------------------------------------------------------------------------------

SHAPED = """static __global__ void k(const float* in, float* out, int n) {{
  __shared__ {declared};
  const int x = threadIdx.x, y = threadIdx.y;
  float acc = 0;
  for (int i = 0; i < n; ++i) {{ {statement} }}
  out[y * blockDim.x + x] = acc;
}}
void host(float* p) {{ k<<<1, dim3({block})>>>(p, p, 4); }}
"""


@pytest.mark.parametrize(
    ("block", "declared", "statement", "expected"),
    [
        ("32, 8", "float a[32][32]", "acc += a[y][x];", None),
        ("32, 8", "float a[32][32]", "acc += a[x][y];", 32),
        ("32, 8", "float a[32][33]", "acc += a[x][y];", None),
        ("16, 16", "float a[16][16]", "acc += a[x][y];", 8),  # 32 words in 4 banks
        ("16, 16", "float a[16][17]", "acc += a[x][y];", None),
        ("16, 16", "float a[16][16]", "acc += a[y][x];", None),
        ("8, 8", "float a[8][8]", "acc += a[x][y];", None),  # 2 words of each bank of four columns
        ("8, 32", "float a[32][32]", "acc += a[y][x];", 4),
        ("128, 1", "float a[4096]", "acc += a[(y * blockDim.x + x) * 32];", 32),
        ("64, 4", "float a[64][65]", "acc += a[x][y];", None),
        ("64, 4", "float a[64][64]", "acc += a[x / 2 + y][0];", 16),
        ("256, 1", "float a[32][32]", "a[x % 32][x / 32] = acc;", 32),
        ("256, 1", "float a[32][32]", "for (int j = x; j < 1024; j += blockDim.x) a[j % 32][j / 32] = acc;", 32),
        ("256, 1", "float a[32][32]", "for (int j = x; j < 1024; j += blockDim.x) a[j / 32][j % 32] = acc;", None),
        ("96, 1", "float a[3072]", "if (x / 32 == 2) acc += a[x * 32];", 32),
        ("64, 1", "float a[64]", "if (x < 64) acc += a[x];", None),
    ],
)  # fmt: skip
def test_a_known_block(block: str, declared: str, statement: str, expected: int | None) -> None:
    found = said(kernel_facts(SHAPED.format(block=block, declared=declared, statement=statement)))
    assert [each.wavefronts for each in found.values()] == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("head", "blocks", "speaks"),
    [
        ("", [], True),
        ("", ["64", "128"], True),
        ("", ["n"], True),
        ("", ["dim3(8, 32)", "64"], False),
        ("", ["16", "64"], False),
        ("__launch_bounds__(16)", [], False),
        ("__launch_bounds__(128)", [], True),
    ],
)
def test_lanes_in_a_row(head: str, blocks: list[str], speaks: bool) -> None:
    """Without one shape for all launches a warp counts as 32 threads in a row, unless a launch says otherwise."""
    text = text_of("float a[1024]", "acc += a[t * 32];").replace("__global__ void", f"__global__ void {head}")
    launches = " ".join(f"k<<<1, {block}>>>(p, p, 1, 1);" for block in blocks)
    found = said(kernel_facts(f"{text}void host(float* p, int n) {{ {launches} }}\n"))
    assert bool(found) == speaks


def test_a_reduction_with_strides_that_grow() -> None:
    """Active lanes t < 128 / s at 2 * s * t: 2-way in the first turns, and the fewer lanes the wider apart."""
    body = "for (int s = 1; s < 256; s *= 2) { int j = 2 * s * x; if (j < 256) a[j] += a[j + s]; }"
    facts = kernel_facts(SHAPED.format(block="256, 1", declared="float a[256]", statement=body))
    total = least = 0
    for step in (1, 2, 4, 8, 16, 32, 64, 128):
        for warp in range(8):
            threads = range(32 * warp, 32 * warp + 32)
            lanes: Lanes = [8 * step * t if 2 * step * t < 256 else None for t in threads]
            total += by_words(lanes, 4)
            least += bool(by_words(lanes, 4))
    found = bank_conflicts_of(facts.kernel, facts.shape, 1.0)
    assert {(each.total_wavefronts, each.total_least) for each in found} == {(total, least)}
    assert bool(facts.banks) == (total >= 4 * least)


def test_a_reduction_with_many_threads() -> None:
    """4 warps of 8 wavefronts, 2 of 16, 1 of 32; then 16, 8, 4, 2 lanes and one in one bank. From s = 1 on two words
    go at once in the first turn, which takes half of the wavefronts of the block."""
    body = "for (int s = {first}; s < 1024; s *= 2) {{ int j = 2 * s * x; if (j < 1024) a[j] = a[j] + a[j + s]; }}"
    every = body.format(first=1)
    shaped = SHAPED.format(block="1024, 1", declared="float a[1024]", statement=every)
    assert "a[j + s]" not in said(kernel_facts(shaped))
    body = body.format(first=4)
    facts = kernel_facts(SHAPED.format(block="1024, 1", declared="float a[1024]", statement=body))
    found = said(facts)["a[j + s]"]
    assert (found.total_wavefronts, found.total_least) == (127, 12)
    assert (found.wavefronts, found.least, found.alike) == (32, 1, False)


def bank_conflicts_of(kernel: Kernel, shape: BlockShape | None, excess: float) -> tuple[BankConflict, ...]:
    """With another threshold."""
    values = propagate(kernel.body, memory=kernel.memory)
    _, levels = prove_levels(kernel.body, values, buffers=kernel.buffers, shape=shape)
    return bank_conflicts(kernel, values, levels, shape, excess=excess)


# ---- instructions for matrices, copies -----------------------------------------------------------------------------

MATRIX = """__device__ void load(unsigned* r, const void* p) {
  unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(p));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
}
__device__ void copy(void* p, const void* g) {
  unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(p));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a), "l"(g));
}
"""


@pytest.mark.parametrize(
    ("declared", "statement", "expected"),
    [
        ("half a[16][64]", "unsigned r[4]; load(r, &a[t % 16][t / 16 * 8]);", (32, 4)),
        ("half a[16][72]", "unsigned r[4]; load(r, &a[t % 16][t / 16 * 8]);", None),
        ("half a[16][32]", "unsigned r[4]; load(r, &a[t % 16][t / 16 * 8]);", (16, 4)),
        ("half a[16][64]", "unsigned r[4]; load(r, &a[t % 16][((t / 16) ^ (t % 8)) * 8]);", None),
        ("half a[32][64]", "copy(&a[t][0], in);", (32, 4)),
        ("half a[32][64]", "copy(&a[t / 8][t % 8 * 8], in);", None),
    ],
)
def test_rows_of_sixteen_bytes(declared: str, statement: str, expected: tuple[int, int] | None) -> None:
    (*found,) = said(kernel_facts(text_of(declared, statement, helpers=MATRIX))).values()
    assert [(each.wavefronts, each.least) for each in found] == ([] if expected is None else [expected])


def test_only_the_lanes_that_give_an_address_count() -> None:
    text = text_of("half a[32][64]", "unsigned r[4]; load(r, &a[t][0]);", helpers=MATRIX)
    (whole,) = said(kernel_facts(text)).values()
    (half,) = said(kernel_facts(text.replace(".x4.", ".x2."))).values()
    assert (whole.wavefronts, half.wavefronts) == (32, 16)


@pytest.mark.parametrize(
    ("fragment", "call", "expected"),
    [
        (
            "matrix_a, 16, 16, 16, half, wmma::row_major",
            "load_matrix_sync(f, &a[0][i % 4 * 16], 64)",
            (16, 4),
        ),
        (
            "matrix_b, 16, 16, 16, half, wmma::col_major",
            "load_matrix_sync(f, &a[0][i % 4 * 16], 64)",
            (16, 4),
        ),
        ("matrix_b, 8, 32, 16, half, wmma::row_major", "load_matrix_sync(f, &a[0][0], 64)", (16, 8)),
        ("matrix_a, 16, 16, 16, half, wmma::row_major", "load_matrix_sync(f, &a[0][0], 72)", None),
        ("matrix_a, 16, 16, 16, half, wmma::row_major", "load_matrix_sync(f, &a[0][0], m)", None),
        ("matrix_a, 16, 16, 16, half, Layout", "load_matrix_sync(f, &a[0][0], 64)", None),
        ("matrix_a, 16, 16, 16, Number, wmma::row_major", "load_matrix_sync(f, &a[0][0], 64)", None),
        ("accumulator, 16, 16, 16, half", "store_matrix_sync(&a[0][0], f, 64, wmma::mem_row_major)", (16, 4)),
        ("accumulator, 16, 16, 16, half", "store_matrix_sync(&a[0][0], f, 64, layout)", None),
    ],
)
def test_matrices_of_a_warp(fragment: str, call: str, expected: tuple[int, int] | None) -> None:
    """A lower bound, whatever lane moves what."""
    text = text_of("half a[32][64]", f"wmma::fragment<wmma::{fragment}> f; wmma::{call};")
    found = bank_conflicts_of((facts := kernel_facts(text)).kernel, facts.shape, 1.5)
    assert [(each.wavefronts, each.least) for each in found] == ([] if expected is None else [expected])
    assert all(each.at_least for each in found)
    assert {each.code for each in check(text).findings if each.code == "SMEM401"} == (
        {"SMEM401"} if expected == (16, 4) else set()
    )


def test_padding_names_the_leading_dimension_that_has_to_follow() -> None:
    fragment = "wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> f;"
    text = text_of(
        "half a[32][64]", f"{fragment} wmma::load_matrix_sync(f, &a[0][0], 64); acc += a[t % 32][5];"
    )
    told = [each.message for each in check(text).findings if each.code == "SMEM401"]
    assert len(told) == 2
    assert all("8 columns of padding (`a[32][64 + 8]`, leading dimension 64 + 8) " in each for each in told)


def test_what_the_other_lanes_give_is_no_access() -> None:
    """Lanes from 8 on: outside of the array, and rows of other warps."""
    store = 'asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(p), "r"(n));'
    text = f"""// smem: assume(blockDim.x == 64)
static __global__ void k(const float* in, float* out, int n) {{
  __shared__ half a[16][72];
  const int t = threadIdx.x;
  unsigned p = __cvta_generic_to_shared(&a[t % 32 + t / 32 * 8][0]);
  {store}
}}
"""
    found = {finding.code for finding in check(text).findings}
    assert "SMEM402" not in found and "SMEM201" not in found
    assert "SMEM402" in {finding.code for finding in check(text.replace(".x1.", ".x4.")).findings}


# ---- remedies ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "statement", "pad", "rows"),
    [
        ("float a[32][32]", "a[i % 32][t] = acc; acc += a[t][i % 32];", 1, 0),
        ("float a[32][32]", "a[t][i % 32] = acc;", 1, 0),
        ("double a[32][16]", "a[t][i % 16] = acc;", 1, 0),
        ("short a[32][64]", "acc += a[t][i % 64];", 2, 0),
        ("float a[32][36]", "acc += a[t][5];", 1, 0),
        ("float4 a[32][8]", "float4 v = a[t][0]; acc += v.x;", 1, 0),
        ("half a[32][64]", "unsigned r[4]; load(r, &a[t % 16][t % 32 / 16 * 8]);", 8, 0),
        (
            "half a[32][64]",
            "unsigned r[4]; load(r, &a[t % 16][t % 32 / 16 * 8]); copy(&a[t % 32][0], in);",
            8,
            0,
        ),
        ("half a[384][64]", "unsigned r[4]; load(r, &a[t % 16][t % 32 / 16 * 8]);", 0, 8),
        ("float a[384][32]", "acc += a[t][5]; a[7][t] = acc;", 0, 32),  # 48 KiB: there is no room for padding
    ],
)
def test_a_remedy_takes_the_excess_away(declared: str, statement: str, pad: int, rows: int) -> None:
    every = said(kernel_facts(text_of(declared, statement, helpers=MATRIX))).values()
    assert every
    for found in every:
        change = found.layout_changes[0]
        assert (change.pad, change.rows) == (pad, rows)
        assert change.wavefronts == change.least


@pytest.mark.parametrize(
    ("declared", "statement"),
    [
        ("float a[1024]", "acc += a[t * 32];"),  # the pitch is in the index
        ("float a[32][32]", "acc += a[t][5]; acc += a[0][t * i % 7];"),  # rows as one long array
        ("float a[32][32]", "acc += a[t][5]; acc += a[int(in[t])][t];"),  # not known where
        ("float a[32][32]", "acc += a[t][5]; acc += reinterpret_cast<float*>(a)[t];"),
        (
            "float a[32][32]",
            "acc += a[t][5]; float4 v = *reinterpret_cast<float4*>(&a[t / 8][t % 8 * 4]); acc += v.x;",
        ),
        ("float a[32][32]", "acc += a[t][5]; fill(a);"),
    ],
)
def test_no_remedy_where_not_every_access_is_known(declared: str, statement: str) -> None:
    found = said(kernel_facts(text_of(declared, statement)))
    assert found["a[t][5]" if "[t][5]" in statement else "a[t * 32]"].layout_changes == ()


def test_no_remedy_that_makes_another_access_worse() -> None:
    """What is read at a stride of 31 words has no conflict as long as the rows have 32."""
    clean = "acc += a[t % 8 * 4][t / 8 + t % 8 * 4];"
    (alone,) = said(kernel_facts(text_of("float a[32][32]", "acc += a[t][5];"))).values()
    assert alone.layout_changes[0].pad == 1
    both = said(kernel_facts(text_of("float a[32][32]", f"acc += a[t][5]; {clean}")))
    assert all(change.pad != 1 for change in both["a[t][5]"].layout_changes)


# ---- bounds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "for (int j = 0; j < 1000000; ++j) for (int l = 0; l < 1000000; ++l) acc += a[(t + j * l) % 32 * 32];",
        "for (int j = t; j < 1000000; j += 1) acc += a[j % 32 * 32];",
        "for (int j = t; j; j = j / 2 + j % 3) acc += a[j % 32 * 32];",
        "acc += a[" + "(" * 300 + "t * 32" + ")" * 300 + "];",
        "int p = t; " + "p = p * 3 % 64; " * 40 + "acc += a[p * 32];",
        "acc += a[t * 32",
        "while (t < ) acc += a[t * 32];",
    ],
)
def test_hard_questions_end_without_an_answer(statement: str) -> None:
    assert said(kernel_facts(text_of("float a[4096]", statement))) == {}


def test_the_analysis_asks_for_32_lanes_in_a_row() -> None:
    found = analyse("s[threadIdx.x * 32] = 0;")
    assert bank_conflicts(found.kernel, found.values, found.levels, None)
