"""``smem-lsp fit``"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from output.test_layout_in_terms import CARVE
from toolchain import nvcc, require

from smem_lsp.cli import main
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.engine.fit import FitResult, fit
from smem_lsp.environment.nvcc import compile_statistics

pytestmark = pytest.mark.real_engine

PIPE = """\
#define PAD 4  // floats
#ifndef WIDTH
#define WIDTH 64
#endif
constexpr int ROWS = 16, EXTRA{2};
const int HALVES = ROWS * 2;
template <typename T, int BM, int STAGES = 2, int HALF = BM / 2>
__global__ void __launch_bounds__(128) pipe(const T* a, T* c, int n) {
  constexpr int ROW = 32 + PAD;
  __shared__ T As[STAGES][BM][ROW];
  __shared__ T Cs[HALF][WIDTH + EXTRA];
  const int t = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    As[i % STAGES][t % BM][t % 32] = a[i];
    __syncthreads();
    c[t] += As[i % STAGES][0][t % 32];
    __syncthreads();
  }
  for (int i = t; i < HALF * WIDTH; i += 128) Cs[i / WIDTH][i % WIDTH] = c[i];
  __syncthreads();
  c[t] = Cs[t % HALF][5];
}
template __global__ void pipe<float, 64>(const float*, float*, int);
__global__ void rows(const float* in, float* out) {
  __shared__ float s[ROWS][HALVES];
  s[threadIdx.x % ROWS][0] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[(threadIdx.x + 1) % ROWS][0];
}
void run(const float* in, float* out) { rows<<<1, 96>>>(in, out); }
"""


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.cu").write_text(PIPE, encoding="utf-8")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["fit", *arguments, "--isolated"])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def data(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    _, out, err = run(capsys, *arguments, "--format", "json", "--arch", "sm_90")
    assert err == ""
    found: dict[str, Any] = json.loads(out)
    return found


def declared(found: dict[str, Any]) -> dict[tuple[int, ...], int]:
    return {tuple(c["values"].values()): c["bytes_declared"] for c in found["combinations"]}


def pipe_bytes(bm: int = 64, stages: int = 2, pad: int = 4, width: int = 64, extra: int = 2) -> int:
    return 4 * (stages * bm * (32 + pad) + bm // 2 * (width + extra))


def test_template_parameters_and_defaults_that_follow(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "k.cu:pipe", "--vary", "STAGES=2..4", "--vary", "BM=32,64")
    assert found["vary"] == ["STAGES", "BM"] and found["instance"] == "pipe<float, 64, 2, 32>"
    assert declared(found) == {(s, bm): pipe_bytes(bm, s) for s in (2, 3, 4) for bm in (32, 64)}
    assert list(declared(found)) == [(2, 32), (2, 64), (3, 32), (3, 64), (4, 32), (4, 64)]


def test_macros_and_constants(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "k.cu:pipe", "--vary", "PAD=0..4:2", "--vary", "WIDTH=32,64", "--vary", "EXTRA=2,8")
    assert declared(found) == {
        (pad, width, extra): pipe_bytes(pad=pad, width=width, extra=extra)
        for pad in (0, 2, 4)
        for width in (32, 64)
        for extra in (2, 8)
    }
    found = data(capsys, "k.cu:rows", "--vary", "ROWS=4,16")
    assert declared(found) == {(4,): 4 * 8 * 4, (16,): 16 * 32 * 4}  # HALVES follows
    found = data(capsys, "k.cu:rows", "--vary", "HALVES=5")
    assert declared(found) == {(5,): 16 * 5 * 4}


def test_a_macro_of_the_settings_is_varied_there(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "k.cu:pipe", "--vary", "WIDTH=16,32", "-D", "WIDTH=8")
    assert declared(found) == {(w,): pipe_bytes(width=w) for w in (16, 32)}


def test_a_constant_of_the_kernel_alone(capsys: pytest.CaptureFixture[str]) -> None:
    found = data(capsys, "k.cu:pipe", "--vary", "ROW=16")
    assert declared(found) == {(16,): 4 * (2 * 64 * 16 + 32 * 66)}


def test_each_row_is_what_check_says_of_the_edited_text() -> None:
    config = Config(arch=("sm_80", "sm_120"), arch_configured=True, registers=40)
    found = fit(PIPE, "pipe", [("PAD", (0, 4, 9)), ("EXTRA", (2, 40))], config=config)
    for row in found.combinations:
        pad, extra = row.values
        text = PIPE.replace("PAD 4", f"PAD {pad}").replace("EXTRA{2}", f"EXTRA{{{extra}}}")
        (report,) = [k for k in check(text, config=config).kernels if k.kernel.name == "pipe"]
        assert (row.declared, row.exact) == (report.static_bytes, report.exact)
        assert report.best is not None and row.merged == report.best.bytes
        expected = [(o.arch, o.blocks_before, o.blocks_after) for o in report.occupancy]
        assert [(t.arch, t.blocks_declared, t.blocks_merged) for t in row.targets] == expected


def test_the_bytes_are_those_of_ptxas() -> None:
    compiler = str(require(nvcc(), "no nvcc: bytes are not compared with ptxas"))
    found = fit(PIPE, "pipe", [("STAGES", (1, 3)), ("WIDTH", (7, 32)), ("BM", (6, 64))])
    wanted = {
        f"template __global__ void pipe<float, {bm}, {stages}>(const float*, float*, int);\n": (stages, bm)
        for stages in (1, 3)
        for bm in (6, 64)
    }
    more = "".join(line for line in wanted if "<float, 64, 2>" not in line)
    rows = {row.values: row.declared for row in found.combinations}
    for width in (7, 32):
        told = compile_statistics(compiler, PIPE + more, "sm_80", [f"-DWIDTH={width}"]).values()
        sizes = {s.arguments: s.shared_bytes for s in told if s.name == "pipe"}
        for stages, bm in wanted.values():
            assert sizes["float", str(bm), str(stages), str(bm // 2)] == rows[stages, width, bm]


def test_an_instance_is_named_as_it_is_spelled(capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.cu").write_text(
        PIPE + "template __global__ void pipe<double, 8, 3>(const double*, double*, int);\n"
    )
    found = data(capsys, "k.cu:pipe<double,8, 3, 4>", "--vary", "STAGES=1,2")
    assert found["instance"] == "pipe<double, 8, 3, 4>"
    assert declared(found) == {(s,): 2 * pipe_bytes(8, s) for s in (1, 2)}


def test_verdicts_and_the_best() -> None:
    config = Config(arch=("sm_90", "sm_120"), arch_configured=True, registers=32)
    found = fit(PIPE, "pipe", [("STAGES", (1, 2, 5, 8, 12, 40))], config=config)
    verdicts = {row.values[0]: [t.verdict for t in row.targets] for row in found.combinations}
    assert verdicts[1] == verdicts[2] == ["declared", "declared"]
    assert verdicts[5] == ["merged", "merged"]  # 54,528 B declared, 46,080 B merged
    assert verdicts[8] == ["opt-in", "opt-in"] and verdicts[12] == ["opt-in", "no"]
    assert verdicts[40] == ["no", "no"]
    for index in range(2):
        (best,) = [row for row in found.combinations if row.targets[index].best]
        fitting = [r for r in found.combinations if r.targets[index].verdict in ("declared", "merged")]
        resident = [(r.declared or 0) * (r.targets[index].blocks_merged or 0) for r in fitting]
        assert (best.declared or 0) * (best.targets[index].blocks_merged or 0) == max(resident)


def test_blocks_need_threads(capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.cu").write_text(PIPE.replace("__launch_bounds__(128) ", ""))
    code, out, _ = run(capsys, "k.cu:pipe", "--vary", "STAGES=2,3", "--arch", "sm_90")
    assert code == 0 and "--threads N says how many" in out and "fits" in out
    _, out, _ = run(capsys, "k.cu:pipe", "--vary", "STAGES=2", "--arch", "sm_90", "--threads", "64")
    assert "64 threads (setting)" in out


def test_a_launch_whose_block_may_depend_on_the_parameter_is_not_believed() -> None:
    text = """\
template <int S> __global__ void k(float* p) {
  __shared__ float s[S][32];
  s[threadIdx.x % S][0] = p[0];
  __syncthreads();
  p[1] = s[0][0];
}
template <int S> void go(float* p) { k<S><<<1, S * 32>>>(p); }
void f(float* p) { go<2>(p); }
"""
    seen, other = fit(text, "k", [("S", (2, 4))]).combinations
    assert seen.targets[0].threads == 64
    assert other.targets[0].threads is None and other.declared == 4 * 4 * 32


RING = """\
template <int S> __global__ void ring(const float* in, float* out, int n) {
  extern __shared__ float smem[];
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    float* tile = smem + STAGE * 512;
    for (int i = threadIdx.x; i < 512; i += 128) tile[i] = in[k * 512 + i];
    __syncthreads();
    sum += tile[511 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
template <int S> void go(const float* in, float* out, int n) {
  ring<S><<<1, 128, S * 512 * sizeof(float)>>>(in, out, n);
}
void plain(const float* in, float* out, int n) { LAUNCH; }
"""


@pytest.mark.parametrize("launch", ["go<4>(in, out, n)", "ring<4><<<1, 128, 8192>>>(in, out, n)"])
def test_an_instance_that_nothing_launches_needs_what_its_ranges_take(launch: str) -> None:
    text = RING.replace("STAGE", "unsigned(k) % S").replace("LAUNCH", launch)
    rows = fit(text, "ring", [("S", (2, 4, 40))], config=Config(arch=("sm_80",), threads=128)).combinations
    assert [row.dynamic for row in rows] == [(4096,) * 3, (8192,) * 3, (81_920,) * 3]
    assert [row.targets[0].blocks_declared for row in rows] == [16, 16, 2]


def test_dynamic_bytes_that_are_not_known_may_not_fit() -> None:
    text = RING.replace("STAGE", "(int)in[k]").replace("LAUNCH", "go<4>(in, out, n)")
    seen, other = fit(text, "ring", [("S", (4, 40))], config=Config(arch=("sm_80",))).combinations
    assert (seen.targets[0].verdict, seen.dynamic) == ("declared", (8192,) * 3)
    assert (other.targets[0].verdict, other.dynamic) == ("unknown", None)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys, "k.cu:pipe", "--vary", "STAGES=2,5,8", "--arch", "sm_90", "--registers", "32"
    )
    assert (code, err) == (0, "")
    assert (
        out
        == """\
pipe<float, 64, 2, 32> (k.cu:8)
128 threads (launch bounds), 32 registers setting

STAGES  declared  merged  sm_90
     2    26,880  18,432  8 → 12 shared *
     5    54,528  46,080  - → 4 shared
     8    82,176  73,728  over 48 KiB: dynamic only

Static bytes; blocks/SM declared → merged → with added barriers, and what limits them.
*: keeps the most bytes of buffers on an SM (bytes declared × blocks/SM merged).
-: no block fits, over 48 KiB ptxas refuses the kernel.
"""
    )


def test_arguments_of_a_launch(capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.cu").write_text(CARVE, encoding="utf-8")
    arguments = ("c.cu:carve", "--vary", "n=1024,8192", "--vary", "m=512", "--arch", "sm_90")
    code, out, err = run(capsys, *arguments, "--registers", "32")
    assert (code, err) == (0, "")
    assert (
        out
        == """\
carve (c.cu:1)
256 threads (launch line 21), 32 registers setting

   n    m  declared          dynamic  sm_90
1024  512         0   10,240 → 6,144  8 warps+registers
8192  512         0  67,584 → 34,816  3 → 6 shared *

dynamic: bytes that the launches pass, declared → merged → with added barriers; of an
instance that nothing launches those that its ranges take.
Static bytes; blocks/SM declared → merged → with added barriers, and what limits them.
*: keeps the most bytes of buffers on an SM (bytes declared × blocks/SM merged).
"""
    )
    row = data(capsys, *arguments[:-2])["combinations"][1]
    assert row["dynamic"] == {"declared": 67_584, "merged": 34_816, "with_barriers": 34_816}


@pytest.mark.parametrize(
    ("launch", "vary", "message"),
    [
        ("2 * n * sizeof(float) + m * 4", "n=8", "the bytes depend on `m`, too: vary all of them"),
        ("2 * n * sizeof(float)", "m=8", "the bytes that the launches pass do not depend on `m`"),
        ("4096", "n=8", "no launch in sight passes dynamic bytes in terms of the kernel's parameters"),
        ("4096", "in=8", "no constant, macro or parameter of the kernel is called `in`"),
    ],
)
def test_arguments_that_decide_nothing(
    launch: str, vary: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    head, _, tail = CARVE.partition("2 * n * sizeof(float) + m * sizeof(float)")
    Path("c.cu").write_text(f"{head}{launch}{tail}", encoding="utf-8")
    code, out, err = run(capsys, "c.cu:carve", "--vary", vary)
    assert (code, out) == (2, "") and message in err


def test_nothing_fits(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "k.cu:pipe", "--vary", "STAGES=100,200")
    assert code == 1 and "Nothing fits." in out


def test_sizes_that_are_not_known_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "k.cu:pipe", "--vary", "BM=-3", "--arch", "sm_90")
    assert code == 1 and "?: the size of `As`" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("k.cu:pipe", "--vary", "STAGE=2"), "called `STAGE`, did you mean `STAGES`?"),
        (("k.cu:pipe", "--vary", "zzz=2"), "called `zzz`; there are `BM`, `EXTRA`, `HALF`, `HALVES`, `PAD`"),
        (("k.cu:pipe", "--vary", "t=2"), "called `t`"),  # no constant
        (("k.cu:rows", "--vary", "ROW=2"), "called `ROW`, did you mean `ROWS`?"),  # another kernel's
        (("k.cu:pipe", "--vary", "T=2"), "`T` is a type parameter; only numbers can be varied"),
        (("k.cu:pipes", "--vary", "PAD=2"), "no kernel is called `pipes`, did you mean `pipe`?"),
        (("k.cu", "--vary", "PAD=2"), "name one of its kernels: pipe, rows"),
        (("k.cu:pipe", "--vary", "PAD"), "--vary: `PAD` is not NAME=RANGE"),
        (("k.cu:pipe", "--vary", "PAD=a"), "--vary PAD: `a` is neither a value nor a range"),
        (("k.cu:pipe", "--vary", "PAD=9..2"), "--vary PAD: `9..2` is empty"),
        (("k.cu:pipe", "--vary", "PAD=2..9:0"), "--vary PAD: `2..9:0` is empty"),
        (("k.cu:pipe", "--vary", "PAD=1", "--vary", "PAD=2"), "--vary: `PAD` is varied twice"),
        (("k.cu:pipe", "--vary", "PAD=0..200000"), "200,001 values; 10,000 at most"),
        (
            ("k.cu:pipe", "--vary", "PAD=0..200", "--vary", "BM=1..100"),
            "20,100 combinations; 10,000 at most",
        ),
        (("k.cu:pipe",), "the following arguments are required: --vary"),
        (("no.cu:pipe", "--vary", "PAD=1"), "no.cu"),
        (("k.cu:pipe", "--vary", "PAD=1", "--arch", "sm_9"), "sm_9"),
        ((".", "--vary", "PAD=1"), "a folder; fit takes one file"),
    ],
)
def test_wrong_questions(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1


def test_a_macro_that_is_defined_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    Path("size.h").write_text("#define DEPTH 3\n")
    Path("k.cu").write_text('#include "size.h"\n' + PIPE.replace("32 + PAD", "32 + PAD + DEPTH"))
    code, _, err = run(capsys, "k.cu:pipe", "--vary", "DEPTH=1,2")
    assert code == 2 and "the macro `DEPTH` is not defined in this file" in err


def test_only_the_definition_is_edited() -> None:
    """Other occurrences of the number, of the name in comments, strings and other scopes stay."""
    text = """\
// N 4 #define N 4
#define N /* four */ 4 /* of them */
struct Other { static constexpr int N4 = 4; };
__global__ void k(float* p) {
  __shared__ float s[N][4];
  s[0][threadIdx.x % 4] = p[0];
  __syncthreads();
  p[0] = s[N - 1][0] + "N 4"[0];
}
"""
    (row,) = fit(text, "k", [("N", (6,))]).combinations
    assert row.declared == 6 * 4 * 4


@pytest.mark.parametrize("end", range(0, len(PIPE), 37))
def test_half_a_file_raises_nothing_else(end: int) -> None:
    try:
        found = fit(PIPE[:end], "pipe", [("STAGES", (2, 3))])
    except ValueError as error:
        assert re.search("kernel|called|STAGES", str(error))
    else:
        assert isinstance(found, FitResult)


def test_the_table_in_the_docs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """``SMEM_UPDATE=1`` writes it again."""
    root = Path(__file__).parents[2]
    page = root / "docs" / "layouts.md"
    text = page.read_text(encoding="utf-8")
    ((command,),) = [re.findall(r"^`smem-lsp fit (tests/\S+ .*)`:$", text, re.M)]
    block = re.compile(r"(<!-- fit:begin -->\n```\n)(.*?)(```\n<!-- fit:end -->)", re.S)
    (found,) = block.findall(text)
    monkeypatch.chdir(root)
    code, out, _ = run(capsys, *command.split())
    assert code == 0
    if os.environ.get("SMEM_UPDATE") == "1":
        page.write_text(block.sub(lambda match: match[1] + out + match[3], text), encoding="utf-8")
    else:
        assert found[1] == out
