"""How long the index of a project of 10,000 CUDA files takes, and how much memory.

It makes the project in a temporary folder, and reads it in processes of their own: cold, warm from the cache, then with
edits, a header that comes and goes, and the questions that a check asks. Times are those of one processor; memory is
what the process grew by, and what Python holds of it.
"""

from __future__ import annotations

import gc
import json
import random
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.figures import processor_ms
from benchmarks.runner.programs import calling

from smem_lsp.environment.disk_reader import DiskReader, Indexing
from smem_lsp.environment.index_store import IndexStore
from smem_lsp.source.budget import held_bytes
from smem_lsp.unit.file_index import summarise

FILES = 10_000
PER_MODULE = 100  # files of a folder, a third of them headers
_COMMENT = (
    "// Each thread loads one element, so that neighbours read neighbouring addresses of the row below.\n"
)


def make(root: Path, files: int) -> None:
    """A project: modules of headers with kernels, launchers, and files that declare kernels of others."""
    chance = random.Random(1)
    (root / "pyproject.toml").write_text("")
    for name in ("config", "types", "check"):
        path = root / "include" / "common" / f"{name}.cuh"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#pragma once\n#define {name.upper()}_VERSION 1\n")
    for number in range(files - 3):
        module = number // PER_MODULE
        folder = root / "csrc" / f"group_{module // 10}" / f"module_{module}"
        folder.mkdir(parents=True, exist_ok=True)
        at = number % PER_MODULE
        name, text = (
            (f"tile_{at}.cuh", _header(module, at))
            if at % 3 == 0
            else (f"run_{at}.cu", _launcher(module, at, chance))
        )
        (folder / name).write_text(text + _filler(chance))


def _header(module: int, at: int) -> str:
    inner = f'#include "tile_{at - 3}.cuh"\n' if at % 9 else ""
    return f"""#pragma once
#include <cuda_runtime.h>
#include "common/config.cuh"
{inner}
template <int N, typename T> __global__ void __launch_bounds__(N) kernel_{module}_{at}(const T* in, T* out) {{
  __shared__ T tile[TILE][TILE + 1];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}}
"""


def _launcher(module: int, at: int, chance: random.Random) -> str:
    tile = chance.choice((16, 32, 64, 128))
    used = at - at % 3
    return f"""#define TILE {tile}
#include <vector>
#include "tile_{used}.cuh"
#include "common/types.cuh"
#include "module_{max(0, module - 1)}/tile_{used}.cuh"
__global__ void elsewhere_{module}_{at % 7}(float* data);
template __global__ void kernel_{module}_{used}<{tile}, float>(const float*, float*);
void run_{module}_{at}(float* a, float* b, int n) {{
  kernel_{module}_{used}<{tile}, float><<<n / {tile}, dim3({tile}, {tile})>>>(a, b);
  elsewhere_{module}_{at % 7}<<<1, 256>>>(b);
  cudaFuncSetAttribute(kernel_{module}_{used}<{tile}, double>, cudaFuncAttributeMaxDynamicSharedMemorySize, n);
}}
"""


def _filler(chance: random.Random) -> str:
    """A body of the usual length: comments, strings, host and device functions."""
    lines = [
        f'static int helper_{n}(int a, const char* name = "value_{n}") {{ return static_cast<int>(a * {n}); }}\n'
        f"{_COMMENT}/* over\n   several lines */\n"
        f"__device__ __forceinline__ float step_{n}(float x, float y) {{ return x * {n}.0f + y / ({n} + 1); }}\n"
        for n in range(chance.randrange(5, 55))
    ]
    return "".join(lines)


def _reader(cache: str) -> DiskReader:
    return DiskReader(indexing=Indexing(summarise, IndexStore(Path(cache)), background=True))


def answer(root: str, cache: str, how: str) -> None:
    """In a process of its own: print what is measured as JSON. ``how``: time, edit or memory."""
    path = f"{root}/include/common/config.cuh"
    gc.collect()
    before = held_bytes() or 0
    if how == "memory":
        tracemalloc.start()
    reader = _reader(cache)
    steps: list[float] = []

    def build() -> None:
        reader.index(path)
        done = False
        while not done:
            start = time.process_time()
            done = reader.advance(partial(_is_late, start))
            steps.append(1e3 * (time.process_time() - start))

    found = {"build": processor_ms(build), "longest step": max(steps)}
    index = reader.index(path)
    assert index is not None
    gc.collect()
    found["files"] = len(index.files)
    found["links"] = sum(len(file.includes) for file in index.files.values())
    found["grown MB"] = ((held_bytes() or 0) - before) / 1e6
    if how == "memory":
        found["python MB"] = tracemalloc.get_traced_memory()[0] / 1e6
    if how == "edit":
        found |= _edits(reader, Path(root))
    print(json.dumps(found))


def _is_late(start: float) -> bool:
    return time.process_time() - start > 0.005


def _edits(reader: DiskReader, root: Path) -> dict[str, float]:
    def forgotten(*paths: Path) -> float:
        def again() -> None:
            reader.forget([str(path) for path in paths] or None)
            reader.advance()

        return processor_ms(again)

    edits: list[float] = []
    launchers = sorted(root.glob("csrc/group_0/module_*/run_*.cu"))[:200]
    for number, path in enumerate(launchers):
        text = path.read_text()
        path.write_text(f'#define NEW {number}\n#include "tile_{number % 30 * 3}.cuh"\n{text}')
        edits.append(forgotten(path))
        path.write_text(text)
    header = root / "include" / "common" / "config.cuh"
    kept = header.read_text()

    header.unlink()
    gone = forgotten(header)
    header.write_text(kept)
    came = forgotten(header)
    forgotten(*launchers)
    common = str(header)
    kernels = str(root / "csrc/group_0/module_1/tile_6.cuh")
    edits.sort()
    return {
        "edit, median": edits[len(edits) // 2],
        "edit, longest": edits[-1],
        "header of all gone": gone,
        "header of all back": came,
        "includers of a header of all": processor_ms(lambda: reader.includers(common)),
        "includers of one header": processor_ms(lambda: reader.includers(kernels)),
        "naming": processor_ms(lambda: reader.naming(kernels, ("elsewhere_1_6", "kernel_1_6"))),
        "walked again": forgotten(),
    }


UNITS = {"files": "", "links": "", "grown MB": "MB", "python MB": "MB"}  # of what is not in milliseconds


@benchmark(unit="ms", better="lower")
def measure(files: int = FILES) -> Iterator[Told]:
    with tempfile.TemporaryDirectory() as folder:
        root, cache = Path(folder, "project"), Path(folder, "cache")
        root.mkdir()
        make(root, files)
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
        yield Figure("project", size / 1e6, "MB", "neither")
        for title, how in (("cold", "time"), ("warm", "edit"), ("memory, warm", "memory")):
            command = calling("index", "answer", str(root), str(cache), how)
            found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            yield from (Figure(f"{title}: {name}", value, UNITS.get(name)) for name, value in found.items())
        yield Figure("cache", sum(path.stat().st_size for path in cache.iterdir()) / 1e6, "MB")
