"""Expressions of mixed integer types have the value that a C++ compiler computes."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest
import toolchain
from analysis.asking import analyse

from smem_lsp.analysis.values.evaluate import Evaluator
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.terms.intervals import INFINITE

THREADS = 8
COUNT = 400
SYMBOLS = {"n": 5, "m": 3, "k": 6, "z": 7, "q": 2}
PARAMETERS = "int n, int m, unsigned k, size_t z, long q"
LOCALS = "int tid = threadIdx.x;"
_LEAVES = ("tid", "threadIdx.x", "n", "k", "z", "q", "i", "u", "w", "j", "1", "2u", "3", "-1", "4ul", "5l")
_TYPES = ("int", "unsigned", "size_t", "long", "unsigned int", "int64_t", "uint32_t")
_RING = ("+", "-", "-", "*", "&", "|", "^")
_READING = ("<", "<=", ">", ">=", "==", "!=")


class Expressions:
    """Random expressions; divisors are odd, so never 0."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def statements(self) -> tuple[str, str]:
        """Declarations of variables, and an expression that may use them."""
        declared = [f"{kind} {name} = {self.plain(2)};" for kind, name in zip(self._kinds(), "iuwj")]
        return " ".join(declared), self.expression(3)

    def _kinds(self) -> list[str]:
        return ["int", "unsigned", "size_t", "long"]

    def plain(self, depth: int) -> str:
        """Without the variables of the statements."""
        text = self.expression(depth)
        for name in ("i", "u", "w", "j"):
            text = " ".join("threadIdx.x" if word == name else word for word in text.split(" "))
        return text

    def expression(self, depth: int) -> str:
        choose = self.random
        if depth == 0 or choose.random() < 0.1:
            return choose.choice(_LEAVES)
        kind = choose.randrange(12)
        left, right = self.expression(depth - 1), self.expression(depth - 1)
        if kind < 5:
            return f"( {left} {choose.choice(_RING)} {right} )"
        if kind < 7:
            return f"( {left} {choose.choice(_READING)} {right} )"
        if kind == 7:
            return f"( {left} {choose.choice('/%')} ( {right} | 1 ) )"
        if kind == 8:
            return f"( {left} >> {choose.randrange(4)} )"
        if kind == 9:
            return f"( {choose.choice(_TYPES)} ) {left}" if left[0] == "(" else f"( - {left} )"
        if kind == 10:
            return f"( {left} < {right} ? {left} : {right} )"
        return f"( {choose.choice('-~')} {left} )"


def real_values(cases: list[tuple[str, str]], folder: Path) -> list[list[int]]:
    """Of each expression in each thread, modulo 2**64."""
    compiler = toolchain.require(toolchain.cxx(), "g++ is needed")
    bodies = "".join(
        f"static unsigned long f{number}() {{ {LOCALS} {before} return (unsigned long)({after}); }}\n"
        for number, (before, after) in enumerate(cases)
    )
    calls = "".join(f'    printf("%lu\\n", f{number}());\n' for number in range(len(cases)))
    known = " ".join(
        f"static {parameter.strip().rpartition(' ')[0]} {name} = {SYMBOLS[name]};"
        for parameter in PARAMETERS.split(",")
        for name in [parameter.split()[-1]]
    )
    source = folder / "values.cpp"
    source.write_text(
        "#include <cstdio>\n#include <cstdint>\n#include <cstddef>\nusing std::size_t;\n"
        f"static struct {{ unsigned x; }} threadIdx;\n{known}\n{bodies}"
        f"int main() {{\n  for (threadIdx.x = 0; threadIdx.x < {THREADS}; ++threadIdx.x) {{\n{calls}  }}\n}}\n"
    )
    program = folder / "values"
    subprocess.run([compiler, "-w", "-O0", "-fwrapv", source, "-o", program], check=True, timeout=120)
    told = subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    return [
        [int(told[thread * len(cases) + case]) for thread in range(THREADS)] for case in range(len(cases))
    ]


def alike(found: int, real: int) -> bool:
    """Equal but for a multiple of 2**32?"""
    return (found - real) % (1 << 32) == 0


@pytest.mark.parametrize("part", range(2))
def test_expressions_have_the_value_that_cpp_gives_them(part: int, tmp_path: Path) -> None:
    cases = [Expressions(seed).statements() for seed in range(part * COUNT, (part + 1) * COUNT)]
    known, negative = 0, 0
    for (before, after), real in zip(cases, real_values(cases, tmp_path)):
        found = analyse(f"{before} s[{after}] = 0;", parameters=PARAMETERS)
        values = Evaluator((THREADS, 1, 1), SYMBOLS).values(found.index())
        if values is None:
            continue
        known += 1
        negative += min(values) < 0
        assert all(map(alike, values, real)), (before, after, values, real)
    assert known > 0.75 * COUNT
    assert negative > 0.1 * COUNT


def test_bounds_hold_for_the_value_that_cpp_gives(tmp_path: Path) -> None:
    cases = [Expressions(seed).statements() for seed in range(5000, 5000 + COUNT)]
    narrow = 0
    for before, after in cases:
        found = analyse(f"{before} s[{after}] = 0;", parameters=PARAMETERS)
        low, high = Bounds(found.values.loops, (THREADS, 1, 1), exact=True).interval(found.index())
        values = Evaluator((THREADS, 1, 1), SYMBOLS).values(found.index())
        narrow += high - low < INFINITE
        if values is not None:
            assert low <= min(values) and max(values) <= high, (before, after, values, low, high)
    assert narrow > 0.2 * COUNT
