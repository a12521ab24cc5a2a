"""Stages of a ring that bulk copies fill and an ``mbarrier`` each tells about: free when every phase was waited for."""

from __future__ import annotations

from pathlib import Path

import pytest
from carets import codes
from harness import kernel_facts
from ring_texts import DYNAMIC, LOAD, LOOP, ODD, READ, STATIC, assert_compiled, shares, text_of

from smem_lsp.engine import check

FILLS = f"{LOOP}{{ const int s = k % STAGES, j = k; await(&empty[s], ((k / STAGES) & 1) ^ 1); {LOAD} }}"
TAKES = f"{LOOP}{{ const int s = k % STAGES; await(&full[s], (k / STAGES) & 1); {READ} arrive(&empty[s]); }}"
STEPS = "if (++s == STAGES) { s = 0; phase ^= 1; }"
FILLS_BY_STEPS = (
    "{ int s = 0; uint32_t phase = 1; "
    f"{LOOP}{{ const int j = k; await(&empty[s], phase); {LOAD} {STEPS} }} }}"
)
TAKES_BY_STEPS = (
    f"int s = 0; uint32_t phase = 0; {LOOP}{{ await(&full[s], phase); {READ} arrive(&empty[s]); {STEPS} }}"
)
NESTED = "for (int o = 0; o < n; ++o) for (int s = 0; s < STAGES; ++s) "
TILES = "for (int each = blockIdx.x; each < n; each += gridDim.x) for (int k = 0; k < n / 64; ++k, ++it) "
AHEAD = (
    f"for (int j = 0; j < STAGES; ++j) {{ const int s = j; if (t == 0) {{ {LOAD} }} }} for (int k = 0; k < TURNS; ++k) "
    f"{{ const int s = k % STAGES, j = k + STAGES; await(&full[s], (k / STAGES) & 1); {READ} __syncthreads(); "
    f"if (t == 0 && j < TURNS) {{ {LOAD} }} }}"
)


def roles(fills: str = FILLS, takes: str = TAKES, who: str = "t >= 128", one: str = "if (t == 128) ") -> str:
    return f"if ({who}) {{ {one}{fills} }} else {{ {takes} }}"


OVER = [
    roles(),
    roles(FILLS_BY_STEPS, TAKES_BY_STEPS),
    roles(FILLS, TAKES_BY_STEPS),
    roles(FILLS, TAKES_BY_STEPS.replace(STEPS, "s = (s + 1) % STAGES; phase ^= s == 0;")),
    roles(
        FILLS,
        f"for (int k = 0, s = 0, p = 0; k < n; ++k, ++s) {{ if (s == STAGES) {{ s = 0; p = !p; }} "
        f"await(&full[s], p); {READ} arrive(&empty[s]); }}",
    ),
    roles(
        f"{NESTED}{{ const int j = o; await(&empty[s], (o & 1) ^ 1); {LOAD} }}",
        f"{NESTED}{{ await(&full[s], o & 1); {READ} arrive(&empty[s]); }}",
    ),
    roles(
        "{ int it = 0; " + FILLS.replace(LOOP, TILES).replace("k % S", "it % S").replace("k / S", "it / S") + " }",
        "int it = 0; " + TAKES.replace(LOOP, TILES).replace("k % S", "it % S").replace("k / S", "it / S"),
    ),
    f"if (t < 128) {{ {TAKES} }} else if (t == 128) {{ {FILLS} }}",
    "const int warp = t / 32; " + roles(who="warp == 4", one="if (t % 32 == 0) "),
    "const int warp = __shfl_sync(0xffffffff, t / 32, 0); " + roles(who="warp == 4", one="if (t % 32 == 0) "),
    "const int turns = n / 32; " + roles().replace("k < n", "k < turns"),
    roles("{ const int turns = n / 32; " + FILLS + " }", "const int turns = n / 32; " + TAKES).replace(
        "k < n", "k < turns"
    ),
    roles().replace("k < n", "k < 40"),
    roles(FILLS.replace("await", "if (t == 128) { await").replace("[s]);", "[s]); }"), TAKES, one=""),
    roles().replace("int k = 0", "uint32_t k = 0").replace("int s =", "uint32_t s =").replace("< n;", "< (uint32_t)n;"),
    roles(takes=TAKES.replace(f"await(&full[s], {ODD});", f"while (!over(&full[s], {ODD})) {{}}")),
    AHEAD.replace("TURNS", "12"),
    f"{LOOP}{{ const int s = k % STAGES, j = k; if (t == 0) {{ {LOAD} }} await(&full[s], {ODD}); {READ} "
    "__syncthreads(); }",
]  # fmt: skip
GOES_ON = [
    roles(takes=TAKES.replace(ODD, f"({ODD}) ^ 1")),
    roles(takes=TAKES.replace("k < n", "k < n - 1")),
    roles(takes=TAKES.replace("int k = 0", "int k = 1")),
    roles(takes=TAKES.replace("&full[s]", "&full[(k + 1) % STAGES]")),
    roles(takes=TAKES.replace("STAGES", "(STAGES - 1)")),
    roles(takes=TAKES.replace("await", "if (v < 3) await")),
    roles(takes=TAKES.replace("await", "if (v > 100) break; await")),
    roles(takes=TAKES.replace("await", "if (v > 100) return; await")),
    roles(takes=f"if (n > 3) {{ {TAKES} }}"),
    roles(who="n > 4"),
    roles(who="in[0] > 4"),
    roles(FILLS.replace("expect", "arrive(&full[s]); expect")),
    roles(FILLS_BY_STEPS, TAKES_BY_STEPS.replace("phase ^= 1;", "")),
    roles().replace("k < n", "k < (int)in[0]"),
    roles().replace("k < n", "k < n + t"),
    "if (t == 128) { const int s = 0, j = 0; " + LOAD + " } " + roles(),
    AHEAD.replace("TURNS", "2"),
    AHEAD.replace("TURNS", "n").replace("j < n", "j <= n"),
]


@pytest.mark.parametrize("body", OVER)
def test_the_ring_is_free_when_each_of_its_phases_was_waited_for(body: str) -> None:
    assert shares(body)


@pytest.mark.parametrize("body", GOES_ON)
def test_it_is_not_where_a_copy_may_go_on(body: str) -> None:
    assert not shares(body)


@pytest.mark.parametrize("stages", [2, 3, 6, 8])
def test_with_any_number_of_stages(stages: int) -> None:
    for body in (OVER[0], OVER[-1]):
        assert shares(body, stages)
        assert not shares(body.replace(f"await(&full[s], {ODD})", f"await(&full[s], ({ODD}) ^ 1)"), stages)


@pytest.mark.parametrize("body", [*OVER[:8], *GOES_ON[:4], *OVER[-2:]])
def test_ranges_of_dynamic_memory_are_told_as_arrays_are(body: str) -> None:
    facts = kernel_facts(text_of(body, DYNAMIC))
    divided = facts.dynamic_partition
    assert divided is not None
    ranges = [(each.name, each.offset, each.size) for each in divided.partition.ranges]
    assert ranges == [("ring", 0, 8192), ("tile", 8192, 8192), ("full", 16384, 32), ("empty", 16416, 32)]
    free = body in OVER
    assert min(candidate.plan.bytes for candidate in divided.best) == (8192 if free else 16384) + 64


@pytest.mark.parametrize("body", OVER)
@pytest.mark.parametrize("arrays", [STATIC, DYNAMIC])
def test_no_race_is_told(body: str, arrays: str) -> None:
    assert not codes(check(text_of(body, arrays)), among=("SMEM1", "SMEM2", "SMEM4"))


@pytest.mark.slow(seconds=25)
def test_the_texts_are_programs(tmp_path: Path) -> None:
    assert_compiled([*((body, STATIC) for body in OVER + GOES_ON), (OVER[0], DYNAMIC)], tmp_path)
