"""``TempStorage`` of CUB's collectives: sizes against the headers, and whether ptxas keeps all of it."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from store import compiled

from smem_lsp.engine import check
from tests import toolchain

TYPES = ("char", "short", "int", "double", "float4", "float3", "Odd")
PROLOGUE = "#include <cub/cub.cuh>\nstruct Odd { double a; int b; long c; char d; };\n"


def spelled() -> Iterator[str]:
    """Instances of every collective that the table states."""
    for t in TYPES:
        for n in (1, 31, 32, 48, 64, 100, 256, 1024):
            for algorithm in ("RAKING_COMMUTATIVE_ONLY", "RAKING", "WARP_REDUCTIONS"):
                yield f"BlockReduce<{t}, {n}, cub::BLOCK_REDUCE_{algorithm}>"
            for algorithm in ("RAKING", "RAKING_MEMOIZE", "WARP_SCANS"):
                yield f"BlockScan<{t}, {n}, cub::BLOCK_SCAN_{algorithm}>"
        for n, items in ((32, 1), (64, 4), (128, 5), (256, 8)):
            for end in ("DIRECT", "STRIPED", "VECTORIZE", "TRANSPOSE", "WARP_TRANSPOSE_TIMESLICED"):
                yield f"BlockLoad<{t}, {n}, {items}, cub::BLOCK_LOAD_{end}>"
                yield f"BlockStore<{t}, {n}, {items}, cub::BLOCK_STORE_{end}>"
            yield from (f"BlockExchange<{t}, {n}, {items}>", f"BlockExchange<{t}, {n}, {items}, true>")
            yield from (f"BlockMergeSort<{t}, {n}, {items}>", f"BlockMergeSort<{t}, {n}, {items}, double>")
            yield from (f"BlockDiscontinuity<{t}, {n}>", f"BlockAdjacentDifference<{t}, {n}>")
        for lanes in (2, 5, 16, 24, 32):
            yield from (f"WarpReduce<{t}, {lanes}>", f"WarpScan<{t}, {lanes}>")
    for t in TYPES[:4]:
        for n, items in ((32, 1), (128, 4), (256, 9)):
            yield f"BlockRadixSort<{t}, {n}, {items}>"
            yield f"BlockRadixSort<{t}, {n}, {items}, float4, 6, true, cub::BLOCK_SCAN_RAKING>"
            yield f"BlockHistogram<{t}, {n}, {items}, 256>"
            yield f"BlockHistogram<{t}, {n}, {items}, 256, cub::BLOCK_HISTO_ATOMIC>"
    yield "BlockReduce<int, 16>"
    yield "BlockScan<int, 64>"
    yield "BlockReduce<int, 16, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 8, 2>"
    yield "BlockScan<cub::KeyValuePair<int, double>, 8, cub::BLOCK_SCAN_WARP_SCANS, 8, 2>"


def nvcc(text: str, folder: Path, *flags: str) -> str:
    """Compile ``text`` and return what the compiler says; the result is ``folder / "out"``."""
    compiler = toolchain.require(toolchain.nvcc(), "nvcc is not installed")
    source = folder / "a.cu"
    source.write_text(text, encoding="utf-8")
    command = [
        str(compiler),
        "-std=c++17",
        "-arch=sm_80",
        "-w",
        *flags,
        str(source),
        "-o",
        str(folder / "out"),
    ]
    include = toolchain.cuda_include()
    if include is not None and (include / "cccl").is_dir():
        command.insert(1, f"-I{include / 'cccl'}")
    done = compiled(command, folder, ["out"], seconds=300)
    if "cub/cub.cuh" in done.stderr and "No such file" in done.stderr:
        toolchain.require(None, "CUB is not installed")
    assert done.code == 0, done.stderr
    return done.stderr


def sizes(text: str) -> list[tuple[int | None, int | None]]:
    """(size, alignment) of the shared objects of the one kernel."""
    (facts,) = check(text).facts
    return [(buffer.bytes, buffer.align) for buffer in facts.kernel.buffers]


@pytest.mark.slow(seconds=40)
def test_sizes_are_those_of_the_headers(tmp_path: Path) -> None:
    names = [f"cub::{each}::TempStorage" for each in spelled()]
    table = ", ".join(f"sizeof({name}), alignof({name})" for name in names)
    nvcc(PROLOGUE + f'extern "C" __constant__ unsigned sizes[] = {{{table}}};', tmp_path, "-ptx")
    found = re.search(r"sizes\[\d+\] = \{([^}]*)\}", (tmp_path / "out").read_text(encoding="utf-8"))
    assert found is not None
    numbers = [int(each) for each in found[1].split(",")]
    if len(numbers) != 2 * len(names):  # listed byte by byte, zeros at the end left out
        numbers = list(struct.unpack(f"<{2 * len(names)}I", bytes(numbers).ljust(8 * len(names), b"\0")))
    theirs = dict(zip(names, zip(numbers[::2], numbers[1::2])))
    ours: dict[str, tuple[int | None, int | None]] = {}
    for start in range(0, len(names), 60):
        part = names[start : start + 60]
        declared = "".join(f"__shared__ {name} s{i};\n" for i, name in enumerate(part))
        ours |= zip(part, sizes(PROLOGUE + "__global__ void k() {\n" + declared + "}\n"))
    assert {name: (ours[name], theirs[name]) for name in names if ours[name] != theirs[name]} == {}


KERNELS = (
    "using R = cub::BlockReduce<float, 256>; __shared__ typename R::TempStorage s; p[1] = R(s).Sum(p[t]);",
    "using R = cub::BlockScan<float, 128>; __shared__ R::TempStorage s; float r; R(s).InclusiveSum(p[t], r); p[t] = r;",
    "using R = cub::BlockReduce<float, 256>; using S = cub::BlockScan<int, 256>;"
    " __shared__ union { R::TempStorage a; S::TempStorage b; } s; p[1] = R(s.a).Sum(p[t]);",
    "using R = cub::BlockReduce<float, 256>; __shared__ struct { R::TempStorage a; double b; } s;"
    " p[1] = R(s.a).Sum(p[t]);",
    "using R = cub::WarpReduce<float>; __shared__ R::TempStorage s[8]; p[t] = R(s[t / 32]).Sum(p[t]);",
    "using R = cub::BlockScan<float, 32>; __shared__ R::TempStorage s; float r; R(s).InclusiveSum(p[t], r); p[t] = r;",
    "using R = cub::BlockLoad<float, 128, 2>; __shared__ R::TempStorage s; float r[2]; R(s).Load(p, r); p[t] = r[1];",
    "p[t] = cub::BlockReduce<float, 256>().Sum(p[t]);",
)
EXACT = 4  # of them, from the first on


@pytest.mark.slow(seconds=20)
def test_bytes_are_exact_only_where_ptxas_reports_them(tmp_path: Path) -> None:
    text = PROLOGUE + "".join(
        f'extern "C" __global__ void k{i}(float *p) {{ int t = threadIdx.x; {body} }}\n'
        for i, body in enumerate(KERNELS)
    )
    said = nvcc(text, tmp_path, "-cubin", "-Xptxas", "-v")
    reported = {
        name: int((re.search(r"(\d+) bytes smem", used) or [0, 0])[1])
        for name, used in re.findall(r"entry function '(k\d+)'.*?(Used [^\n]*)", said, re.DOTALL)
    }
    report = check(text)
    exact = {facts.kernel.name: facts.static_bytes for facts in report.facts if facts.exact}
    assert exact == {name: reported[name] for name in exact}
    assert sorted(exact) == [f"k{i}" for i in range(EXACT)]


def test_what_is_not_stated_is_unknown() -> None:
    declared = (
        "__shared__ cub::BlockReduce<Unseen, 256>::TempStorage a;"
        "__shared__ cub::BlockTopK<int, 256>::TempStorage b;"
        "__shared__ cub::BlockReduce<float, N>::TempStorage c;"
        "__shared__ cub::BlockReduce<float, 4096>::TempStorage d;"
    )
    assert sizes(f"__global__ void k() {{ {declared} }}") == [(None, None)] * 4


def test_a_class_of_the_file_is_no_collective_of_cub() -> None:
    own = "template <class T, int N> struct BlockReduce { struct TempStorage { T a[N]; }; };\n"
    assert sizes(own + "__global__ void k() { __shared__ BlockReduce<int, 8>::TempStorage s; }") == [(32, 4)]
