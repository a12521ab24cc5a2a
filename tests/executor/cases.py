"""Kernels for the tests of the executor: small texts that are built together once and run one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from .model import Launch, Outcome, Source, filled, zeroed
from .programs import Programs, Run, build

SEEDS = range(8)
HEADERS = (
    "cuda_runtime.h",
    "cuda_pipeline.h",
    "cooperative_groups.h",
    "cuda/barrier",
    "cuda/pipeline",
)
PREFIX = "".join(f"#include <{name}>\n" for name in HEADERS)
SIGNATURE = "__global__ void k(const float* in, float* out, int n)"


def source(name: str, text: str, *, threads: int = 64, dynamic_bytes: int = 0, blocks: int = 1) -> Source:
    """A kernel ``k`` with the arguments in (4,096 floats), out (256 floats, zero) and n (7).

    A text without ``__global__`` is the kernel's body, with ``tid`` for the thread's index.
    """
    if "__global__" not in text:
        text = f"{SIGNATURE} {{ const int tid = threadIdx.x;{text}}}\n"
    arguments = (filled("float", 4096), zeroed("float", 256), 7)
    return Source(name, PREFIX + text, Launch("k", (blocks,), (threads,), arguments, dynamic_bytes))


def marked(source: Source, mark: str) -> list[int]:
    """Lines that end in the comment ``// mark``, 1-based."""
    lines = source.text.splitlines()
    return [number for number, line in enumerate(lines, 1) if line.rstrip().endswith(f"// {mark}")]


@contextmanager
def built(texts: Mapping[str, Source]) -> Iterator[Programs]:
    with build(list(texts.values())) as programs:
        yield programs


def under_all_seeds(programs: Programs, name: str) -> list[Outcome]:
    return programs.run_all([Run(name, seed) for seed in SEEDS])
