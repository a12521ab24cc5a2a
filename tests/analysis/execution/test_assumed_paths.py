"""Code that a launch runs which the sample does not: what decides it is not what the sample has."""

from __future__ import annotations

import pytest
from carets import expect

KERNEL = """\
__global__ void __launch_bounds__(256) k(int* o, const int* in, int n) {{
  // smem: assume(blockDim.x == 256)
  __shared__ int s[512];
  const int t = threadIdx.x;
{body}
}}
"""
RACES = ("SMEM201", "SMEM205")


@pytest.mark.parametrize(
    "body",
    [
        "s[t] = 1; if (blockIdx.x == 0) o[t] = s[t + blockIdx.x];",  # its own slot: blockIdx.x is 0 there
        "s[(t + blockIdx.x) % 512] = 1; if (blockIdx.x == 0) o[t] = s[t];",
        "s[(t + n) % 512] = 1; if (n == 0) o[t] = s[t];",
        "s[t] = 1; if (n == 0) o[t] = s[(t + n) % 512];",
        "for (int i = blockIdx.x; i < blockIdx.x + 2; ++i) { s[t] = i; if (blockIdx.x == 0) o[t] = s[t + i % 1]; }",
    ],
)
def test_what_decides_is_not_known_there(body: str) -> None:
    expect(KERNEL.format(body=body), among=RACES)


@pytest.mark.parametrize("condition", ["blockIdx.x == 0", "n == 0", "n > 3 && gridDim.x == 1"])
def test_what_does_not_rest_on_it_races(condition: str) -> None:
    body = f"""
  s[t] = 1;
  if ({condition})
    o[t] = s[t ^ 64];
//         ^^^^^^^^^ SMEM201
"""
    expect(KERNEL.format(body=body), among=RACES)


@pytest.mark.parametrize(
    "arms",
    [
        "if (n > 1) r += s[(t + 1) % 256]; else s[t] = r;",
        "if (n > 1) s[t] = r; else r += s[(t + 1) % 256];",
        "if (n > 1) { r += s[(t + 1) % 256]; continue; } s[t] = r;",
        "const bool wide = n > 1; if (wide) r += s[(t + 1) % 256]; if (!wide) s[t] = r;",
        "switch (n) { case 1: r += s[(t + 1) % 256]; break; case 2: s[t] = r; break; }",
        "if (n == 1) r += s[(t + 1) % 256]; else if (n == 2) s[t] = r;",
    ],
)
def test_a_launch_only_ever_takes_one_of_the_arms(arms: str) -> None:
    body = f"int r = t; s[t] = 0; __syncthreads(); for (int i = 0; i < 3; ++i) {{ {arms} }} o[t] = r;"
    expect(KERNEL.format(body=body), among=RACES)


def test_an_arm_that_no_thread_comes_to_whatever_a_launch_passes() -> None:
    body = "s[t] = 1; if (n == 1 || t < 256) o[t] = s[t]; else s[0] += 1;"
    expect(KERNEL.format(body=body), among=RACES)


@pytest.mark.parametrize(
    "body",
    [
        "if (blockIdx.x == 0) { s[t] = 1; if (blockIdx.x == 0) return; o[t] = s[t ^ 64]; }",
        "if (blockIdx.x > 3) { s[t] = 1; if (blockIdx.x < 2) o[t] = s[t ^ 64]; }",
        "s[t] = 1; if (blockIdx.x == 0) return; if (blockIdx.x == 0) o[t] = s[t ^ 64];",
        "for (int i = o[0]; i < n; ++i) if (i == 0) { s[t] = 1; if (i > 1) o[t] = s[t ^ 64]; }",
        "for (int i = 0; i < n; ++i) if (in[i] == 0) { s[t] = i; if (in[i] > 1) o[t] = s[t ^ 64]; }",
    ],
)
def test_conditions_that_contradict_each_other(body: str) -> None:
    expect(KERNEL.format(body=body), among=RACES)


def test_conditions_of_the_block_that_stand_behind_one_of_a_size() -> None:
    body = """
  if (blockIdx.x >= n) return;
  s[t] = 1;
  if (blockIdx.x == 0) o[t] = s[t ^ 64];
//                            ^^^^^^^^^ SMEM201
"""
    expect(KERNEL.format(body=body), among=RACES)


def test_arms_that_take_turns_race() -> None:
    body = """
  int r = t;
  s[t] = 0;
  __syncthreads();
  for (int i = 0; i < 3; ++i) {
    if (i != n) r += s[(t + 1) % 256];
    else s[t] = r;
//       ^^^^ SMEM201 thread 255 reads `s[0]`
  }
  o[t] = r;
"""
    expect(KERNEL.format(body=body), among=RACES)


def test_a_loop_that_never_runs_has_no_barrier_that_some_miss() -> None:
    body = "if (t < 1) for (int d = 32; d > 32; d >>= 1) __syncthreads();\n  __syncthreads();\n  o[t] = s[t] = 1;"
    expect(KERNEL.format(body=body), among=("SMEM203",))
