"""Kernels with named barriers: runs of what is called right have no race, of what is called wrong one."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from analysis.hazards.named_patterns import COUNT, HEAD, PATTERNS, Warps

from executor import Launch, Programs, Source, build, filled, zeroed
from executor.cases import under_all_seeds
from smem_lsp.engine import check


def _source(pattern: Warps, number: int) -> Source:
    text = pattern.text(number).partition("void host")[0]
    return Source(
        f"{pattern.name}, {number}",
        text,
        Launch("k", (1,), (256,), (filled("float", 4096), zeroed("float", 256), 5)),
    )


CASES = [
    (pattern, number, number < 0)
    for pattern in PATTERNS
    for number in range(-1, len(pattern.broken))
    if number < 0 or pattern.broken[number][1] != COUNT  # a run of those never ends
]


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    with build([_source(pattern, number) for pattern, number, _ in CASES]) as found:
        yield found


@pytest.mark.parametrize(("pattern", "number", "right"), CASES)
def test_runs_agree(pattern: Warps, number: int, right: bool, programs: Programs) -> None:
    outcomes = under_all_seeds(programs, f"{pattern.name}, {number}")
    assert any(outcome.races for outcome in outcomes) == (not right)


# ---- random ones -----------------------------------------------------------------------------------------------------

STEPS = (
    "s[u] = in[t];",
    "s[u] = in[t];",
    "r[u] = in[t];",
    "out[t] += s[127 - u];",
    "out[t] += s[u];",
    "out[t] += r[u ^ 1];",
    "sync(1, 256);",
    "sync(2, 256);",
    "arrive(1, 256);",
    "arrive(2, 256);",
    "sync(3 + t / 128, 128);",
    "__syncthreads();",
)


def _random_arm(rng: random.Random) -> str:
    lines = []
    for _ in range(rng.randrange(1, 5)):
        steps = " ".join(rng.choices(STEPS, k=rng.choice((1, 1, 2, 3))))
        lines.append(rng.choice(("{}", "{}", "for (int i = 0; i < 2; ++i) {{ {} }}")).format(steps))
    return "\n    ".join(lines)


def _random_text(rng: random.Random) -> str:
    then, otherwise = _random_arm(rng), _random_arm(rng)
    arms = f"  if (t < 128) {{\n    {then}\n  }} else {{\n    {otherwise}\n  }}\n"
    head = "static __global__ void __launch_bounds__(256) k(const float* in, float* out, int n) {\n"
    shared = (
        "  __shared__ float s[128];\n  __shared__ float r[128];\n  const int t = threadIdx.x, u = t % 128;\n"
    )
    launch = "void host(const float* in, float* out, int n) { k<<<1, 256>>>(in, out, n); }\n"
    return f"{HEAD}{head}{shared}{arms}}}\n{launch}"


@pytest.mark.slow(seconds=3)
def test_what_is_told_of_random_warps_happens() -> None:
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    texts = [_random_text(rng) for _ in range(200)]
    told = [text for text in texts if any(each.code == "SMEM201" for each in check(text).findings)]
    launch = Launch("k", (1,), (256,), (filled("float", 256), zeroed("float", 256), 5))
    sources = [Source(f"p{i}", text.partition("void host")[0], launch) for i, text in enumerate(told)]
    with build(sources) as built:
        ended = 0
        for source in sources:
            outcomes = under_all_seeds(built, source.name)
            if not any(outcome.deadlock for outcome in outcomes):
                ended += 1
                assert any(outcome.races for outcome in outcomes), (seed, source.text)
    assert ended >= 5, (ended, seed)
