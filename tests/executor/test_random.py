"""Random kernels and each rewrite of them, applied as text: only declarations, launches and new barriers change,
nothing is left to rewrite, equal bytes and no race.

``python -m tests.benchmarks executor --kernels 10000`` runs more; a failure prints the command that shows it again.
"""

from __future__ import annotations

import os
import re
import sys

import pytest

from executor import Run, build
from executor.merging import Result, check_kernels
from executor.random_kernels import Generator, host_program
from executor.written_kernels import WrittenKernel

KERNELS = int(
    os.environ.get("SMEM_RANDOM_KERNELS", "500")
)  # with their rewrites about 300 ms of one core each
FIRST = int(os.environ.get("SMEM_SEED", "0"))  # the seeds are fixed: another number asks for others
PARTS = 4  # of which a run takes one
BATCH = 125
_BARRIER = re.compile(r"^\s*__syncthreads\(\);\n", re.M)


@pytest.mark.slow(seconds=8)
@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("part", range(PARTS))
def test_merged_memory_gives_the_bytes_of_the_original(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    first, kernels = FIRST + part * KERNELS, KERNELS // PARTS
    with capsys.disabled():  # pytest-xdist shows what its processes write to stderr only
        print(f"{kernels} random kernels from seed {first}", file=sys.stderr, flush=True)
    again = f"python -m tests.benchmarks executor --seed {first} --kernels {kernels}"
    total = Result()
    for at in range(first, first + kernels, BATCH):
        total.add(check_kernels(list(range(at, min(at + BATCH, first + kernels))), 2))
    assert total.unfit == [], again
    assert total.mismatches == [], again
    assert total.races == 0, again
    assert total.rewritten > kernels // 5  # enough of them have a merge at all


@pytest.mark.parametrize("kind", [Generator, WrittenKernel])
def test_a_kernel_comes_from_its_seed(kind: type[Generator]) -> None:
    assert [kind(seed).text() for seed in range(20)] == [kind(seed).text() for seed in range(20)]
    assert len({kind(seed).text() for seed in range(20)}) == 20


FORMS = {
    "a scalar": r"__shared__ (?:float|int|double) b\d+;",
    "three dimensions and more": r"__shared__ .*b\d+(?:\[[^]]+\]){3}",
    "several declarators": r"__shared__ .*b\d+(?:\[[^]]+\])?, b\d+",
    "declarators below each other": r"__shared__ .*,\r?\n\s+b\d+",
    "a structure": r"Cell .*b\d+\[",
    "a vector": r"float4 .*b\d+\[",
    "pointers": r"const float\* .*b\d+\[",
    "an array type": r"typedef .* Rowb\d+\[",
    "volatile": r"volatile .*b\d+",
    "static": r"static .*__shared__|__shared__ .*static",
    "alignas": r"alignas\(16\)",
    "__align__": r"__align__\(16\)",
    "a macro in a size": r"b\d+\[.*(?:SIZE_\d|THREADS)",
    "a constant in the kernel": r"\n\s+constexpr int kSize",
    "a declaring macro": r"\n\s+SHARED_F\(b\d+",
    "a template": r"template <typename T, int N>",
    "a size of a template": r"__shared__ .*\[N",
    "carved": r"extern __shared__ [^;]*;\r?\n.*\*",
    "launched with bytes": r"<<<2, [^>]*, .*sizeof",
    "a comment in a declaration": r"__shared__ .*/\* note \d+ \*/.*;",
    "tabs": r"\n\t__shared__",
    "CRLF": r"\r\n",
    "a name that a rewrite would take": r"__shared__ .*\b(?:smem|phase1|smem_storage)\b",
    "two buffers of one name": r"(?s)__shared__ [^;]*\bstage\b.*__shared__ [^;]*\bstage\b",
    "a switch": r"switch \(",
    "no braces": r"\n\s+if \(n > 1\)\r?\n",
    "over 48 KiB": r"\[7168\].*\n(?:.*\n)*.*\[7168\]|\[7168\].*\[7168\]",
}


def test_every_form_occurs() -> None:
    texts = [WrittenKernel(seed).text() for seed in range(400)]
    assert [name for name, form in FORMS.items() if not any(re.search(form, text) for text in texts)] == []


def test_barriers_are_needed() -> None:
    """A kernel without its barriers races, or they were extra ones; of most kernels at least one is not."""
    sources, needy = [], 0
    for seed in range(30):
        source = Generator(seed).source(f"{seed}")
        text, removed = _BARRIER.subn("", source.text)
        if removed:
            sources.append(type(source)(source.name, text))
    with build(sources) as programs:
        for outcome in programs.run_all([Run(source.name, 1) for source in sources]):
            needy += bool(outcome.races)
    assert len(sources) > 20
    assert needy > len(sources) // 2


def test_the_host_program_runs_the_kernel_with_every_number_of_trips() -> None:
    source = Generator(5).source("5")
    assert source.text.endswith(host_program(Generator(5).threads))
    with build([source]) as programs:
        assert programs.run("5").launches == 3
