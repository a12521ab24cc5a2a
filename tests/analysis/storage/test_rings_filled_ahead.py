"""A ring of bulk copies that is filled ahead of a loop of run-time length: free when each copy was waited for, however
many turns there are."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from carets import codes
from harness import kernel_facts
from ring_texts import DYNAMIC, LOAD, LOOP, ODD, READ, STATIC, assert_compiled, shares, text_of

from smem_lsp.engine import check

FIRST = f"for (int j = 0; j < STAGES; ++j) if (t == 0 && j < n) {{ const int s = j; {LOAD} }} "
TURN = f"const int s = k % STAGES; await(&full[s], {ODD}); {READ} __syncthreads();"
MAIN = f"{LOOP}{{ {TURN} const int j = k + STAGES; if (t == 0 && j < n) {{ {LOAD} }} }}"
AHEAD = FIRST + MAIN
LEADER = f"if (t == 0) for (int j = 0; LIMIT; ++j) {{ const int s = j; {LOAD} }} {MAIN}"
MOST = "const int most = n < STAGES ? n : STAGES; "
BEFORE_USE = (
    f"for (int j = 0; j < STAGES - 1; ++j) if (t == 0 && j < n) {{ const int s = j; {LOAD} }} "
    f"{LOOP}{{ const int j = k + STAGES - 1; if (t == 0 && j < n) {{ const int s = j % STAGES; {LOAD} }} {TURN} }}"
)
COUNTED = (
    f"int j = 0; for (; j < STAGES && j < n; ++j) if (t == 0) {{ const int s = j; {LOAD} }} "
    f"{LOOP}{{ {TURN} if (j < n) {{ if (t == 0) {{ {LOAD} }} ++j; }} }}"
)
DRAINED = (
    f"{FIRST} int k = 0; for (; k < n - STAGES; ++k) {{ {TURN} const int j = k + STAGES; if (t == 0) {{ {LOAD} }} }} "
    f"for (; k < n; ++k) {{ {TURN} }}"
)
EMPTIED = FIRST + MAIN.replace("__syncthreads();", "arrive(&empty[s]);").replace(
    "{ expect", f"{{ await(&empty[s], {ODD}); expect"
)
STEPS = f"int s = 0; uint32_t phase = 0; {MAIN}".replace("const int s = k % STAGES;", "").replace(
    ODD, "phase"
)
STEPS = FIRST + STEPS[:-1] + "if (++s == STAGES) { s = 0; phase ^= 1; } }"
UNSIGNED = (
    AHEAD.replace("int j", "uint32_t j").replace("int k", "uint32_t k").replace("int s", "uint32_t s")
    .replace("< n", "< count")
)  # fmt: skip

OVER = [
    AHEAD,
    AHEAD.replace("t == 0 && j < n", "n > j && t == 0"),
    AHEAD.replace("t == 0 && j < n", "j < n) if (t == 0"),
    FIRST + MAIN.replace("j < n", "k + STAGES < n"),
    FIRST + MAIN.replace("j < n", "k < n - STAGES"),
    FIRST + MAIN.replace("j < n", "!(j >= n)"),
    LEADER.replace("LIMIT", "j < STAGES && j < n"),
    LEADER.replace("LIMIT", "j < min(STAGES, n)"),
    MOST + LEADER.replace("LIMIT", "j < most"),
    BEFORE_USE,
    COUNTED,
    COUNTED.replace("k % STAGES", "k & (STAGES - 1)"),
    DRAINED,
    STEPS,
    EMPTIED,
    "const int turns = (n + 31) / 32; " + AHEAD.replace("< n", "< turns"),
    AHEAD.replace("< n", "< (n + 31) / 32"),
    "const uint32_t count = n; " + UNSIGNED,
    "--n; " + AHEAD,
]
GOES_ON = [
    FIRST + MAIN.replace("k < n", "k < n - 1"),
    FIRST + MAIN.replace("k = 0", "k = 1"),
    FIRST + MAIN.replace("++k", "k += 2"),
    FIRST + MAIN.replace("j < n", "j <= n"),
    FIRST.replace("j < n", "j <= n") + MAIN,
    FIRST.replace(" && j < n", "") + MAIN,
    FIRST + MAIN.replace(" && j < n", ""),
    FIRST + MAIN.replace("k + STAGES", "k + STAGES - 1"),
    FIRST.replace("j < n", "j < in[0]") + MAIN,
    AHEAD.replace(ODD, f"({ODD}) ^ 1"),
    AHEAD.replace("&full[s], (", "&full[(k + 1) % STAGES], ("),
    AHEAD.replace("__syncthreads();", "__syncthreads(); if (v > 9) break;"),
    AHEAD.replace("__syncthreads();", "__syncthreads(); if (v > 9) return;"),
    AHEAD.replace("await", "if (v > 9) continue; await"),
    AHEAD.replace("__syncthreads();", "__syncthreads(); if (in[k] > 9) n = k;"),
    FIRST + "--n; " + MAIN,
    "int* where = &n; " + FIRST + "*where = in[0]; " + MAIN,
    LEADER.replace("LIMIT", "j < max(STAGES, n)"),
    LEADER.replace("LIMIT", "j < min(STAGES, n + 1)"),
    MOST.replace("<", "<=").replace("? n", "? n + 1") + LEADER.replace("LIMIT", "j < most"),
    COUNTED.replace("if (j < n)", "if (j <= n)"),
    DRAINED[: DRAINED.rindex("for")],
    DRAINED.replace("k < n;", "k < n - 1;"),
    FIRST.replace("j < n", "(uint32_t)j < (uint32_t)n") + MAIN,
    "const uint32_t count = n; " + UNSIGNED.replace("j < count) { expect", "k < count - STAGES) { expect"),
]


@pytest.mark.parametrize("body", OVER)
def test_the_ring_is_free_behind_the_loop(body: str) -> None:
    assert shares(body)


@pytest.mark.parametrize("body", GOES_ON)
def test_it_is_not_where_a_copy_may_go_on(body: str) -> None:
    assert not shares(body)


@pytest.mark.parametrize("stages", [2, 3, 8])
def test_with_any_number_of_stages(stages: int) -> None:
    for body in (AHEAD, BEFORE_USE, DRAINED):
        assert shares(body, stages)
        assert not shares(body.replace("k < n;", "k < n - 1;"), stages)


def test_a_barrier_has_to_stand_behind_the_last_use() -> None:
    """The plan with no barrier behind the loop needs one more."""
    last = AHEAD.replace("__syncthreads();", "__syncwarp();")
    text = text_of(last).replace("  __syncthreads();\n  for (int i = t;", "  for (int i = t;")
    facts = kernel_facts(text)
    ring, tile = (next(b.index for b in facts.kernel.buffers if b.name == name) for name in ("ring", "tile"))
    sharing = [
        each for each in facts.best if abs(each.plan.offsets[ring] - each.plan.offsets[tile]) < 4 * 2048
    ]
    assert all(each.plan.barriers for each in sharing)


@pytest.mark.parametrize("body", [AHEAD, BEFORE_USE, DRAINED, *GOES_ON[:2], GOES_ON[5]])
def test_ranges_of_dynamic_memory_are_told_as_arrays_are(body: str) -> None:
    facts = kernel_facts(text_of(body, DYNAMIC))
    divided = facts.dynamic_partition
    assert divided is not None
    free = body in OVER
    assert min(candidate.plan.bytes for candidate in divided.best) == (8192 if free else 16384) + 64


@pytest.mark.parametrize("body", [AHEAD, BEFORE_USE, COUNTED, DRAINED, STEPS, EMPTIED])
def test_no_race_is_told(body: str) -> None:
    for arrays in (STATIC, DYNAMIC):
        assert not codes(check(text_of(body, arrays)), among=("SMEM1", "SMEM2", "SMEM4"))


def in_flight_at_the_end(stages: int, turns: int, numbers: dict[str, int]) -> bool:
    """Is a copy in flight behind the loop, where each lands as late as it can? False where a thread waits forever."""
    phases, flights = [0] * stages, [0] * stages
    for j in range(numbers["first"]):
        if j < turns + numbers["guard"]:
            flights[j % stages] += 1
    for k in range(turns + numbers["turns"]):
        slot, parity = (k + numbers["slot"]) % stages, (k + numbers["phase"]) // stages % 2
        if phases[slot] == parity:
            if not flights[slot]:
                return False
            flights[slot] -= 1
            phases[slot] ^= 1
        if k + numbers["ahead"] < turns + numbers["ends"]:
            flights[(k + numbers["into"]) % stages] += 1
    return any(flights)


USUAL = {"first": 0, "guard": 0, "turns": 0, "slot": 0, "phase": 0, "ahead": 0, "ends": 0, "into": 0}


def body_of(n: dict[str, int]) -> str:
    first, guard, ahead, ends, into = (n[each] for each in ("first", "guard", "ahead", "ends", "into"))
    return (
        f"for (int j = 0; j < {first}; ++j) if (t == 0 && j < n + {guard}) {{ const int s = j % STAGES; {LOAD} }} "
        f"for (int k = 0; k < n + {n['turns']}; ++k) {{ const int s = (k + {n['slot']}) % STAGES; "
        f"await(&full[s], ((k + {n['phase']}) / STAGES) & 1); {READ} __syncthreads(); const int j = k + {into}; "
        f"if (t == 0 && k + {ahead} < n + {ends}) {{ const int s = j % STAGES; {LOAD} }} }}"
    )


@pytest.mark.slow(seconds=8)
def test_rings_with_random_distances_share_where_nothing_can_be_in_flight() -> None:
    source, shared = random.Random(20), 0
    for _ in range(30):
        stages = source.choice((2, 3, 4))
        numbers = USUAL | {"first": stages, "ahead": stages, "into": stages}
        for name in source.sample(sorted(numbers), source.randrange(4)):
            numbers[name] = max(0 if name == "first" else -2, numbers[name] + source.choice((-1, 1)))
        if shares(body_of(numbers), stages):
            shared += 1
            assert not any(in_flight_at_the_end(stages, n, numbers) for n in range(-3, 4 * stages)), numbers
    assert shared >= 5


@pytest.mark.slow(seconds=25)
def test_the_texts_are_programs(tmp_path: Path) -> None:
    assert_compiled([*((body, STATIC) for body in OVER + GOES_ON), (OVER[0], DYNAMIC)], tmp_path)
