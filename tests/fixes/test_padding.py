"""Rows made longer against bank conflicts (SMEM401): the edit, what it promises, and when it is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from executor import Programs, build, missing
from executor.cases import source
from executor.model import Outcome
from executor.programs import Run
from executor.rewriting import differences
from harness import compile_cubin, promised_bytes
from toolchain import require

from smem_lsp import apply, check
from smem_lsp.config import Config
from smem_lsp.fixes.model import Fix, Safety

ONLY_BANKS = Config(select=("SMEM401",))
SHAPE = "// smem: assume(blockDim.x == 256)\n"
TRANSPOSE = (
    SHAPE
    + """\
__global__ void k(const float* in, float* out, int n) {
  __shared__ float tile[32][32];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (int r = y; r < 32; r += 8) tile[r][x] = in[r * 32 + x];
  __syncthreads();
  for (int r = y; r < 32; r += 8) atomicAdd(&out[r * 8 + x % 8], tile[x][r]);
}
"""
)
MATRIX = (
    SHAPE
    + """\
__device__ void copy(void* p, const void* g) {
  unsigned a = static_cast<unsigned>(__cvta_generic_to_shared(p));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a), "l"(g));
}
__global__ void k(const float* in, float* out, int n) {
  __shared__ __align__(16) unsigned short a[16][64];
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  if (t < 128) copy(&a[t / 8][t % 8 * 8], in + t * 4);
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    unsigned r[4], p = __cvta_generic_to_shared(&a[lane % 16][i * 32 + lane / 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p));
    if (warp == 0) out[lane * 8 + i * 4] = (r[0] ^ r[1] ^ r[2] ^ r[3]) % 1024;
  }
}
"""
)
INSTANCES = (
    TRANSPOSE.replace("__global__", "template <int TILE> __global__").replace(
        "tile[32][32]", "tile[TILE][TILE]"
    )
    + """\
template __global__ void k<32>(const float*, float*, int);
template __global__ void k<64>(const float*, float*, int);
"""
)
PADDED = {
    "a tile": (TRANSPOSE, "tile[32][32];", "tile[32][32 + 1];"),
    "a macro": (
        "#define TILE 32\n" + TRANSPOSE.replace("tile[32][32]", "tile[TILE][TILE]"),
        "tile[TILE][TILE];",
        "tile[TILE][TILE + 1];",
    ),
    "of another precedence": (
        TRANSPOSE.replace("tile[32][32]", "tile[32][1 << 5]"),
        "tile[32][1 << 5];",
        "tile[32][(1 << 5) + 1];",
    ),
    "padded already": (
        TRANSPOSE.replace("tile[32][32]", "tile[32][28 + 4]"),
        "tile[32][28 + 4];",
        "tile[32][28 + 5];",
    ),
    "among other declarators": (
        TRANSPOSE.replace("tile[32][32]", "flag, tile[32] [ 32 ], last").replace(
            "  __syncthreads();\n",
            "  if (threadIdx.x == 0) flag = last = in[0];\n  __syncthreads();\n  out[0] = flag + last;\n",
        ),
        "tile[32] [ 32 ], last;",
        "tile[32] [ 32 + 1 ], last;",
    ),
    "three dimensions": (
        TRANSPOSE.replace("tile[32][32]", "tile[1][32][32]")
        .replace("tile[r][x] =", "tile[0][r][x] =")
        .replace("tile[x][r]", "tile[0][x][r]"),
        "tile[1][32][32];",
        "tile[1][32][32 + 1];",
    ),
    "rows of ldmatrix": (MATRIX, "a[16][64];", "a[16][64 + 8];"),
    "through the address of an element": (
        TRANSPOSE.replace("tile[r][x] = in", "*(&tile[r][0] + x) = in"),
        "tile[32][32];",
        "tile[32][32 + 1];",
    ),
    "CRLF": (TRANSPOSE.replace("\n", "\r\n"), "tile[32][32];", "tile[32][32 + 1];"),
}


def offered(text: str) -> Fix:
    """The fix of every conflict of the text: they have one."""
    report = check(text)
    fixes = [
        fix for finding in report.findings if finding.code == "SMEM401" for fix in report.fixes_for(finding)
    ]
    assert fixes and len({fix.edits for fix in fixes}) == 1, fixes
    return fixes[0]


@pytest.mark.parametrize("name", PADDED)
def test_only_the_last_extent_changes(name: str) -> None:
    text, before, after = PADDED[name]
    fix = offered(text)
    assert fix.safety is Safety.SAFE, fix.title
    padded = apply(text, fix)
    assert padded == text.replace(before, after)
    assert not [finding for finding in check(padded).findings if finding.code == "SMEM401"]
    assert "assumes" not in fix.title
    report = check(padded)
    assert report.kernels[0].static_bytes == fix.static_bytes == promised_bytes(fix.title)


def test_the_title_says_what_it_costs_and_gains() -> None:
    assert offered(TRANSPOSE).title == (
        "Pad tile[32][32 + 1]: 4,096 → 4,224 B, 32 → 1 wavefronts, "
        "same ≤ 8 blocks/SM (sm_80, 256 threads, shared memory alone); unconfirmed"
    )


@pytest.mark.parametrize("name", PADDED)
def test_ptxas_reports_the_bytes_that_are_promised(name: str) -> None:
    text = PADDED[name][0]
    fix = offered(text)
    compiled = compile_cubin(apply(text, fix), "sm_90")
    assert (compiled.error, compiled.warnings, compiled.bytes) == ("", (), fix.static_bytes)


def test_every_instance_is_padded_and_checked() -> None:
    text = INSTANCES
    fix = offered(text)
    assert (fix.safety, apply(text, fix)) == (
        Safety.SAFE,
        text.replace("tile[TILE][TILE]", "tile[TILE][TILE + 1]"),
    )


# ---- run -----------------------------------------------------------------------------------------------------------


@dataclass
class Ran:
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    wavefronts: dict[str, int] = field(default_factory=dict)


@pytest.fixture(scope="module")
def ran() -> Iterator[Ran]:
    why = missing()
    require(None if why else build, why)
    texts = {name: text for name, (text, _, _) in PADDED.items()}
    texts |= {f"{name}, padded": apply(text, offered(text)) for name, text in texts.items()}
    found = Ran()
    programs: Programs
    with build([source(name, text, threads=256) for name, text in texts.items()]) as programs:
        for name in texts:
            runs = [Run(name, seed, banks=True) for seed in range(5)]
            found.outcomes[name] = programs.run_all(runs)
            found.wavefronts[name] = sum(each.wavefronts for each in found.outcomes[name][0].banks)
        yield found


@pytest.mark.parametrize("name", PADDED)
def test_results_stay_and_wavefronts_go(name: str, ran: Ran) -> None:
    before, after = ran.outcomes[name], ran.outcomes[f"{name}, padded"]
    assert differences(before, before) == ""
    assert differences(before, after) == ""
    assert ran.wavefronts[f"{name}, padded"] < ran.wavefronts[name]


# ---- refused -------------------------------------------------------------------------------------------------------

FLAT = TRANSPOSE.replace("tile[r][x] = in[r * 32 + x];", "flat[r * 32 + x] = in[r * 32 + x];").replace(
    "  for (int r = y; r < 32; r += 8) flat",
    "  float* flat = &tile[0][0];\n  for (int r = y; r < 32; r += 8) flat",
)
REFUSED = {
    "a flat pointer": (FLAT, "line 6 counts with the length of the rows of `tile`"),
    "a pointer to rows": (
        TRANSPOSE.replace(
            "  __syncthreads();", "  float (*p)[32] = tile;\n  p[2 * y][x] = 1;\n  __syncthreads();"
        ),
        "`tile` is used without all its subscripts at line 6",
    ),
    "a reference to a row": (
        TRANSPOSE.replace(
            "  __syncthreads();", "  float (&p)[32] = tile[y];\n  p[x] = 1;\n  __syncthreads();"
        ),
        "`tile` is used without all its subscripts at line 6",
    ),
    "sizeof": (
        TRANSPOSE.replace("  __syncthreads();", "  if (sizeof(tile) > 4096) return;\n  __syncthreads();"),
        "`tile` is used without all its subscripts at line 6",
    ),
    "the distance of two rows": (
        TRANSPOSE.replace(
            "  __syncthreads();", "  float* p = &tile[1][0];\n  n = p - &tile[0][0];\n  __syncthreads();"
        ),
        "the distance of two addresses in `tile` is asked for",
    ),
    "a macro that uses it": (
        "#define ALL (sizeof tile)\n"
        + TRANSPOSE.replace("  __syncthreads();", "  if (ALL > 4096) return;\n  __syncthreads();"),
        "`tile` is used without all its subscripts in a macro",
    ),
    "rows as one long array": (
        TRANSPOSE.replace("tile[r][x] = in[r * 32 + x]", "tile[r / 2][r % 2 * 32 + x] = in[r * 32 + x]"),
        "",
    ),
    "a vector across the end of a row": (
        TRANSPOSE.replace("tile[32][32]", "tile[32][32 + 0]").replace(
            "  __syncthreads();",
            "  for (int c = 0; c < 32; ++c) { float2 v = *(float2*)&tile[y * 2][c | 1]; n += v.x; }\n"
            "  __syncthreads();",
        ),
        "the access to `tile` at line 6 may leave its row",
    ),
    "a declaration out of a macro": (
        "#define SHARED __shared__ float tile[32][32]\n"
        + TRANSPOSE.replace("__shared__ float tile[32][32]", "SHARED"),
        "the declaration of `tile` (line 4) comes from a macro",
    ),
    "a declaration in an #if branch": (
        TRANSPOSE.replace(
            "  __shared__ float tile[32][32];\n", "#if 1\n  __shared__ float tile[32][32];\n#endif\n"
        ),
        "`tile` (line 4) is declared in an #if branch",
    ),
    "another thing of its name": (
        TRANSPOSE.replace("  __syncthreads();", "  { int tile = 1; n += tile; }\n  __syncthreads();"),
        "more than one thing is called `tile`",
    ),
    "rows of a type": (
        "typedef float Row[32];\n" + TRANSPOSE.replace("float tile[32][32]", "Row tile[32]"),
        "",
    ),
    "a neighbour that rests on its place": (
        TRANSPOSE.replace("tile[32][32];", "tile[31][32];\n  __shared__ float next[128];")
        .replace("tile[r][x] =", "if (r < 31) tile[r][x] =")
        .replace("tile[x][r]);", "x < 31 ? tile[x][r] : 0);")
        .replace(
            "  __syncthreads();",
            "  if (threadIdx.x < 32) reinterpret_cast<float4*>(next)[x] = float4();\n  __syncthreads();\n"
            "  out[0] += next[y];",
        ),
        "`next` would lose the alignment that its accesses need",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_why(name: str) -> None:
    text, reason = REFUSED[name]
    report = check(text)
    fixes = [
        fix for finding in report.findings if finding.code == "SMEM401" for fix in report.fixes_for(finding)
    ]
    assert all((fix.safety, fix.edits) == (Safety.DISPLAY, ()) for fix in fixes)
    assert {re.sub(r".*?`?: (?!the size)", "", fix.title, count=1) for fix in fixes} == (
        {reason} if reason else set()
    ), fixes


def test_columns_of_a_block_of_unknown_size() -> None:
    text = TRANSPOSE.replace(SHAPE, "").replace(
        "x = threadIdx.x % 32, y = threadIdx.x / 32", "x = threadIdx.x, y = 0"
    )
    assert offered(text).title == (
        "Cannot pad `tile`: the access to `tile` at line 4 may leave its row: the size of the block is not known"
    )
    bounded = text.replace("void k", "void __launch_bounds__(32) k")
    assert offered(bounded).title.startswith("Cannot pad `tile`: it costs a block, 20 → ≤ 19 blocks/SM")
    guarded = text.replace("tile[r][x] =", "if (x < 32) tile[r][x] =").replace(
        "tile[x][r])", "tile[x % 32][r])"
    )
    assert offered(guarded).safety is Safety.UNSAFE
    assert offered(guarded).title.endswith(
        "; assumes that no resident block is lost (the launches are not known); unconfirmed"
    )


def test_where_padding_costs_a_block_a_swizzle_is_shown() -> None:
    text = TRANSPOSE.replace("256", "64").replace("r += 8", "r += 2")
    (finding,) = check(text, config=ONLY_BANKS).findings
    assert finding.message.endswith(
        "one column of padding (`tile[32][32 + 1]`) removes it, and costs a block: "
        "20 → ≤ 19 blocks/SM on sm_120 (shared memory alone); "
        "a swizzled column (`column ^ row % 32` in every index of `tile`) removes it, "
        "with the 64×1×1 block that `assume` states"
    )
    assert offered(text).title == (
        "Cannot pad `tile`: it costs a block, 20 → ≤ 19 blocks/SM on sm_120 (shared memory alone); "
        "a swizzled column (`column ^ row % 32` in every index of `tile`) does not"
    )


def test_a_swizzle_is_shown_where_padding_has_no_room() -> None:
    text = TRANSPOSE.replace("tile[32][32]", "tile[384][32]")
    fix = offered(text)
    assert (fix.safety, fix.title) == (
        Safety.DISPLAY,
        "Swizzle the columns: `column ^ row % 32` in every index of `tile`",
    )
