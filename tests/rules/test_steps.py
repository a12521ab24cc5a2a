"""What a merge gains, on real devices: nvFuser's table for its matrix products, and how loud a finding may be."""

from __future__ import annotations

import random

import pytest

from smem_lsp import occupancy
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.rules.model import Finding, Severity

STATIC_LIMIT = 48 * 1024
PRODUCT = """\
static __global__ void __launch_bounds__({threads}) k(const float* in, float* out) {{
  __shared__ float a[{a}];
  __shared__ float b[{b}];
  __shared__ float c[{c}];
  const int t = threadIdx.x;
  for (int i = t; i < {a}; i += {threads}) a[i] = in[i];
  for (int i = t; i < {b}; i += {threads}) b[i] = in[i];
  __syncthreads();
  const float v = a[{a} - 1 - t] * b[{b} - 1 - t];
  {barrier}
  for (int i = t; i < {c}; i += {threads}) c[i] = v;
  __syncthreads();
  out[t] = c[{c} - 1 - t];
}}
"""


def product(a: int, b: int, c: int, threads: int, *, barrier: bool = False) -> str:
    """Bytes of the two operands and of the result, as numbers of floats in the text."""
    sizes = {"a": a // 4, "b": b // 4, "c": c // 4}
    return PRODUCT.format(**sizes, threads=threads, barrier="__syncthreads();" if barrier else "")


# Bytes of the operands and of the result, threads; then blocks/SM without an epilogue in shared memory, with one that
# reuses the operands' bytes, with one that does not, and whether reusing them, which takes a barrier, pays (nvFuser,
# generateSharedMemoryEpilogueHeuristics, in the mode that looks at occupancy; 255 registers per thread).
TABLE = [
    ((32768, 32768, 65536, 128), "sm_80", (2, 2, 1), True),
    ((32768, 32768, 65536, 128), "sm_86", (1, 1, 0), True),
    ((32768, 32768, 65536, 128), "sm_89", (1, 1, 0), True),
    ((32768, 32768, 65536, 128), "sm_90", (2, 2, 1), True),
    ((24576, 24576, 65536, 128), "sm_80", (2, 2, 1), True),
    ((24576, 24576, 65536, 128), "sm_86", (2, 1, 0), True),
    ((24576, 24576, 65536, 128), "sm_89", (2, 1, 0), True),
    ((24576, 24576, 65536, 128), "sm_90", (2, 2, 2), False),
    ((16384, 16384, 16384, 128), "sm_80", (2, 2, 2), False),
    ((16384, 16384, 16384, 128), "sm_86", (2, 2, 2), False),
    ((16384, 16384, 16384, 128), "sm_89", (2, 2, 2), False),
    ((16384, 16384, 16384, 128), "sm_90", (2, 2, 2), False),
    ((32768, 65536, 131072, 256), "sm_80", (1, 1, 0), True),
    ((32768, 65536, 131072, 256), "sm_86", (1, 0, 0), False),
    ((32768, 65536, 131072, 256), "sm_89", (1, 0, 0), False),
    ((32768, 65536, 131072, 256), "sm_90", (1, 1, 1), False),
]


@pytest.mark.parametrize(("shape", "arch", "expected", "promoted"), TABLE)
def test_a_barrier_for_the_epilogue_pays_where_nvfuser_says_so(
    shape: tuple[int, int, int, int], arch: str, expected: tuple[int, int, int], promoted: bool
) -> None:
    a, b, c, threads = shape

    def blocks(size: int) -> int:
        found = occupancy(arch, threads=threads, registers=255, static_shared=size, opt_in=True)
        return found.blocks

    assert (blocks(a + b), blocks(max(a + b, c)), blocks(a + b + c)) == expected
    config = Config(arch=(arch,), registers=255)
    found = check(product(a, b, c, threads), config=config).findings
    assert [f.severity for f in found if f.code == "SMEM302"] == [Severity.WARNING] * promoted


def test_a_finding_is_a_warning_only_for_a_block_or_a_limit() -> None:
    """301 and 302 by their numbers, 501 by what limits, all of them worked out again."""
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    told = {"SMEM301": 0, "SMEM302": 0, "SMEM501": 0}
    loud = 0
    for _ in range(150):
        arch = rng.choice(("sm_75", "sm_80", "sm_86", "sm_90", "sm_120"))
        registers = rng.choice((None, None, 32, 64, rng.randint(16, 255)))
        threads = rng.choice((64, 128, 256))
        a, b, c = (4 * rng.randint(256, rng.choice((1000, 4000, 7000))) for _ in range(3))
        text = product(a, b, c, threads, barrier=rng.random() < 0.5)
        config = Config(arch=(arch,), registers=registers)
        for finding in check(text, config=config).findings:
            if finding.code in told:
                told[finding.code] += 1
                loud += finding.severity is Severity.WARNING
                assert is_as_loud_as_it_may(finding, arch, threads, registers), (seed, finding, text)
    print(f"seed {seed}: {told}, {loud} warnings")
    assert min(told.values()) >= 5 and loud >= 10, (seed, told, loud)


def is_as_loud_as_it_may(finding: Finding, arch: str, threads: int, registers: int | None) -> bool:
    data = finding.data

    def held(size: int) -> tuple[int, tuple[str, ...]]:
        found = occupancy(arch, threads=threads, registers=registers or 0, static_shared=size, opt_in=True)
        return found.blocks, found.limited_by

    if finding.code == "SMEM501":
        size, less, free = data["bytes"], data["bytes_less"], data["bytes_free"]
        assert isinstance(size, int) and isinstance(less, int)
        blocks, limited = held(size)
        nearest = held(size - less)[0] == blocks + 1 and held(size - less + 1)[0] == blocks
        spare = not isinstance(free, int) or (
            held(size + free)[0] == blocks and held(size + free + 1)[0] < blocks
        )
        return finding.severity is Severity.HINT and limited == ("shared",) and nearest and spare
    after, saved = data["bytes_after"], data.get("bytes_saved_over_301", data["bytes_saved"])
    assert isinstance(after, int) and isinstance(saved, int)
    before = after + saved
    limit = (
        before > STATIC_LIMIT >= after
    )  # more is for dynamic shared memory, whatever the target allows a block
    gains = held(after)[0] > held(before)[0]
    expected = Severity.WARNING if limit or (gains and registers is not None) else Severity.INFO
    if finding.code == "SMEM302" and not (limit or gains):
        return False  # it is not worth a barrier
    return finding.severity is expected
