"""Wavefronts of random accesses against the executor, which counts what 32 lanes ask for when they run."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from analysis.banks.test_conflicts import bank_conflicts_of
from executor import Programs, build, missing
from executor.cases import source
from harness import kernel_facts
from toolchain import require

from smem_lsp.analysis.values.block_shape import BlockShape
from smem_lsp.ir.nodes import Access, walk

ROWS, COLUMNS = 40, 48


def random_index(rng: random.Random) -> str:
    """An index below ROWS * COLUMNS from the number of the lane."""
    a, b, c = rng.choice((1, 2, 3, 4, 5, 8, 16, 31, 32, 33)), rng.randrange(40), rng.choice((2, 4, 8, 16, 32))
    return rng.choice(
        (
            f"t * {a} + {b}",
            f"(t ^ {b}) * {min(a, 8)}",
            f"t % {c} * {a} + t / {c}",
            f"t / {c} * {a} + t % {c} * {min(a, 5)}",
            f"(t * {a} + {b}) % {c * 8}",
            f"(31 - t) * {a} + {b}",
            f"(t & {b}) * {min(a, 16)}",
            f"(t < {b} ? t * {a} : t * {c})",
            f"(t << {rng.randrange(5)}) + {b}",
        )
    )


def random_matrices(rng: random.Random, count: int) -> str:
    """``ldmatrix``, ``stmatrix`` and ``cp.async``, whose addresses are multiples of what they move."""
    lines = [f"  __shared__ __align__(16) unsigned short a[{ROWS * COLUMNS * 8}];"]
    lines += ["  if (t == 0) memset(a, 0, sizeof a);", "  __syncthreads();", "  unsigned r[4] = {};"]
    for _ in range(count):
        matrices, trans = rng.choice((1, 2, 4)), rng.choice(("", ".trans"))
        listed = ", ".join(f"%{number}" for number in range(matrices))
        registers = ", ".join(f'"=r"(r[{number}])' for number in range(matrices))
        name = f"matrix.sync.aligned.m8n8.x{matrices}{trans}.shared.b16"
        index = random_index(rng)
        guard = rng.choice(
            ("", "", f"if (t < {rng.randrange(1, 32)}) ", f"if (t % {rng.randrange(2, 5)} == 1) ")
        )
        match rng.randrange(3):
            case 0:
                act = f'asm volatile("ld{name} {{{listed}}}, [%{matrices}];" : {registers} : "r"(p));'
                step = f"{{ unsigned p = __cvta_generic_to_shared(&a[({index}) * 8]); {act} }}"
            case 1:
                stored = ", ".join(f"%{number + 1}" for number in range(matrices))
                given = registers.replace("=", "")
                act = f'asm volatile("st{name} [%0], {{{stored}}};" :: "r"(p), {given});'
                step = f"{{ unsigned p = __cvta_generic_to_shared(&a[({index}) * 8]); {act} }}"
            case _:
                width = rng.choice((4, 8, 16))
                cache = "cg" if width == 16 else "ca"
                act = (
                    f'asm volatile("cp.async.{cache}.shared.global [%0], [%1], {width};" :: "r"(p), "l"(in));'
                )
                step = (
                    f"{guard}{{ unsigned p = __cvta_generic_to_shared(&a[({index}) * {width // 2}]); {act} }}"
                )
        lines += [f"  {step}  // here", "  __syncwarp();"]
    lines += ['  asm volatile("cp.async.wait_all;");', "  __syncthreads();", "  out[t] = r[0] + a[t];"]
    return kernel("\n".join(lines))


def random_program(rng: random.Random, reads: int) -> str:
    types = ("unsigned char", "short", "float", "int", "double")
    lines = [f"  __shared__ {each} a{number}[{ROWS * COLUMNS}];" for number, each in enumerate(types)]
    lines += [f"  __shared__ float tile[{ROWS}][{COLUMNS}];", "  if (t == 0) { memset(tile, 0, sizeof tile);"]
    lines += [f"    memset(a{number}, 0, sizeof a{number});" for number in range(len(types))]
    lines += ["  }", "  __syncthreads();"]
    for _ in range(reads):
        guard = rng.choice(
            ("", "", "", f"if (t < {rng.randrange(1, 32)}) ", f"if (t % {rng.randrange(2, 5)} == 1) ")
        )
        if rng.random() < 0.2:
            row, column = rng.choice((("t", "5"), ("t / 8", "t % 8 * 4"), ("t % 8", "t / 8"), ("7", "t")))
            lines.append(f"  {guard}out[t] += tile[{row}][{column}];  // here")
        else:
            lines.append(f"  {guard}out[t] += a{rng.randrange(len(types))}[{random_index(rng)}];  // here")
    return kernel("\n".join(lines))


def kernel(body: str) -> str:
    head = "static __global__ void k(const float* in, float* out, int n) {\n  const int t = threadIdx.x;\n"
    return f"// smem: assume(blockDim.x == 32)\n{head}{body}\n}}\n"


@pytest.mark.slow(seconds=3)
@pytest.mark.sampled(one_in=8)
@pytest.mark.parametrize("seed", range(8))
def test_three_hundred_random_patterns_as_the_executor_counts_them(seed: int) -> None:
    """Every access that is known takes as many wavefronts as its 32 lanes take when they run."""
    why = missing()
    require(None if why else Path("g++"), why)
    rng = random.Random(seed)
    plain = [source(f"random_{number}", random_program(rng, 30), threads=32) for number in range(12)]
    wide = [source(f"matrices_{number}", random_matrices(rng, 30), threads=32) for number in range(8)]
    with build([*plain, *wide]) as built:
        compared = sum(agree(each.name, each.text, built, seed) for each in plain)
        matrices = sum(agree(each.name, each.text, built, seed) for each in wide)
    print(f"seed {seed}: {compared} accesses, {matrices} matrices and copies")
    assert compared >= 300 and matrices >= 200, (compared, matrices, seed)


def agree(name: str, text: str, programs: Programs, seed: int) -> int:
    """How many accesses of the program were compared."""
    kernel, warp = kernel_facts(text).kernel, BlockShape((32, 1, 1), "assume", fact=True)
    lines = {
        node.point: kernel.places.line(node.line) for node in walk(kernel.body) if isinstance(node, Access)
    }
    # what is silent because lanes coincide in pairs has no wavefronts
    known = {lines[each.point]: each.wavefronts for each in bank_conflicts_of(kernel, warp, 0.5)}
    run = {each.line: each.wavefronts for each in programs.run(name, banks=True).banks}
    compared = [line for line in marked_lines(text) if line in known]
    wrong = {line: (known[line], run.get(line, 0)) for line in compared if known[line] != run.get(line, 0)}
    assert not wrong, (seed, {text.splitlines()[line - 1]: counts for line, counts in wrong.items()})
    return len(compared)


def marked_lines(text: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("// here")]
