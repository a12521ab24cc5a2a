"""The programs that ``on_gpu.py`` compiles and runs, and what smem-lsp says of each.

    python tests/executor/gpu_programs.py FOLDER [--kernels N] [--seed N]

writes them to a folder, for a machine with a GPU that has no smem-lsp: the reference programs, the families and random
kernels with all their rewrites; each of them without one of its barriers; the host programs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from families.kernels import FAMILIES  # noqa: E402
from host.programs import PROGRAMS  # noqa: E402

from executor.deletion import deletions  # noqa: E402
from executor.model import Source  # noqa: E402
from executor.on_gpu import LISTING, Program, Said  # noqa: E402
from executor.random_kernels import TRIPS, Generator  # noqa: E402
from executor.rewriting import rewrites  # noqa: E402

_HOST = """
#include <cstdio>
#include <cstdlib>
int main() {{
  const int inputs = {inputs}, outputs = {outputs}, trips[] = {{{trips}}};
  float* host = (float*)malloc(sizeof(float) * inputs);
  for (int i = 0; i < inputs; ++i) host[i] = (float)((i * 2654435761u >> 16) % 1024) * 0.125f;
  float *in, *out;
  cudaMalloc((void**)&in, sizeof(float) * inputs);
  cudaMalloc((void**)&out, sizeof(float) * outputs);
  cudaMemcpy(in, host, sizeof(float) * inputs, cudaMemcpyHostToDevice);
  unsigned long long hash = 1469598103934665603ull;
  for (int t = 0; t < {launches}; ++t) {{
    cudaMemset(out, 0, sizeof(float) * outputs);
    k<<<2, {threads}>>>(in, out, trips[t]);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    cudaMemcpy(host, out, sizeof(float) * outputs, cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < sizeof(float) * outputs; ++i)
      hash = (hash ^ ((unsigned char*)host)[i]) * 1099511628211ull;
  }}
  printf("%016llx\\n", hash);
  return 0;
}}
"""
_SCRATCH = """
#include <cuda_runtime.h>
static float* scratch() {
  static float* memory = nullptr;
  if (memory == nullptr) cudaMalloc((void**)&memory, 1 << 16);
  return memory;
}
"""
_RUN = """
int main() {
  program();
  const bool ended = cudaDeviceSynchronize() == cudaSuccess;
  cudaFree(scratch());
  return ended ? 0 : 3;
}
"""


def programs(kernels: int, seed: int) -> Iterator[Program]:
    """All, each behind the one that it is compared with."""
    for name, text, host in _kernels(kernels, seed):
        yield Program(name, name, text + host)
        for number, each in enumerate(rewrites(text)):
            if each.safe:
                yield Program(f"{name}_{number}", name, each.text + host)
        for gone in deletions(Source(name, text)):
            said = Said.RACE if gone.reported else Said.REDUNDANT if gone.redundant else Said.NOTHING
            yield Program(f"{name}_without_{gone.line}", name, gone.source.text + host, said)
    for program in PROGRAMS:
        said = Said.HOST if program.expected else Said.HOST_CLEAN
        if "int main(" not in program.text:
            yield Program(f"host_{program.name}", program.name, _with_memory(program.text), said)


def _with_memory(text: str) -> str:
    """A host program with a ``main``, and memory on the device in place of the null pointers that it is called with."""
    host, called, program = text.partition("void program()")
    return _SCRATCH + host + called + program.replace("nullptr", "scratch()") + _RUN


def _kernels(kernels: int, seed: int) -> Iterator[tuple[str, str, str]]:
    """Name, text, and the host part where the text has none."""
    for path in sorted((TESTS / "kernels").glob("*.cu")):
        if ".wrong." not in path.name:
            yield path.stem, path.read_bytes().decode(), ""
    for family in FAMILIES:
        yield f"{family.kernel}_static", family.static, ""
        yield f"{family.kernel}_dynamic", family.dynamic, ""
    for number in range(seed, seed + kernels):
        generator = Generator(number)
        text = generator.text()
        host = _HOST.format(
            inputs=8192,
            outputs=2 * generator.threads,
            trips=", ".join(map(str, TRIPS)),
            launches=len(TRIPS),
            threads=generator.threads,
        )
        yield f"random_{number}", text, host


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kernels", type=int, default=60, help="random ones")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    options = parser.parse_args()
    found = list(programs(options.kernels, options.seed))
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / LISTING).write_text(json.dumps([asdict(each) for each in found]), encoding="utf-8")
    print(f"{len(found)} programs; random kernels from seed {options.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
