"""``goto`` back to a label in a block around it."""

from __future__ import annotations

import pytest
from harness import kernel_facts
from lowering.test_switches import touched

from smem_lsp.engine import check


@pytest.mark.parametrize(
    ("statements", "n", "expected"),
    [
        ("again: a[i] = 0; if (++i < n) goto again; a[9] = 0;", 3, "0 1 2 9"),
        ("again: a[i] = 0; if (++i < n) goto again; a[9] = 0;", 0, "0 9"),
        # several ways back, and out
        (
            "again: a[i] = 0; if (i == 1) { i = 4; goto again; } if (++i < n) goto again; a[9] = 0;",
            3,
            "0 1 4 9",
        ),
        ("again: if (i > 2) goto out; a[i] = 0; ++i; goto again; out: a[9] = 0;", 3, "0 1 2 9"),
        ("top: if (i == 1) goto next; a[i] = 0; next: if (++i < n) goto top; a[9] = 0;", 3, "0 2 9"),
        ("again: a[i] = 0; if (i == n) return; ++i; goto again;", 2, "0 1 2"),
        (
            "if (n > 2) goto later; a[5] = 0; later: ; again: a[i] = 0; if (++i < 2) goto again;",
            3,
            "0 1",
        ),
        # in, around and out of others
        (
            "outer: ; int j; j = 0; inner: a[8 * i + j] = 0; if (++j < 2) goto inner; if (++i < n) goto outer;",
            2,
            "0 1 8 9",
        ),
        (
            "for (int j = 0; j < 2; ++j) { i = 0; l: a[4 * j + i] = 0; if (i++ < 1) goto l; }",
            2,
            "0 1 4 5",
        ),
        ("again: for (;;) { a[i] = 0; if (++i < n) goto again; break; } a[9] = 0;", 3, "0 1 2 9"),
        (
            "again: switch (i) { case 0: ++i; a[1] = 0; goto again; case 1: a[2] = 0; break; } a[9] = 0;",
            2,
            "1 2 9",
        ),
    ],
)
def test_statements_run_again(statements: str, n: int, expected: str) -> None:
    assert " ".join(touched(statements, n)) == expected


@pytest.mark.parametrize(
    "statements",
    [
        "if (n > 1) goto inside; for (; i < n; ++i) { inside: a[1] = 0; }",
        "if (n > 1) goto again; a[0] = 0; again: a[1] = 0; if (i++ < n) goto again;",
        "for (;;) { again: a[i] = 0; if (i > 7) break; if (++i < n) goto again; }",
    ],
)
def test_other_jumps_are_said(statements: str) -> None:
    text = f"__global__ void k(int n) {{ __shared__ int a[64]; int i = 0; {statements} }}\n"
    assert kernel_facts(text).kernel.irregular is not None


KERNEL = """
__global__ void k(int* out, int n) {
  __shared__ int s[256];
  int i = 0;
again:
  s[threadIdx.x] = i;
  __syncthreads();
  out[threadIdx.x] += s[255 - threadIdx.x];
  BEHIND
  if (++i < n) goto again;
}
void h(int* p) { k<<<1, 256>>>(p, 5); }
"""


@pytest.mark.parametrize(("behind", "kind"), [("__syncthreads();", "race-free"), (";", "racy")])
def test_accesses_meet_over_the_jump(behind: str, kind: str) -> None:
    (kernel,) = check(KERNEL.replace("BEHIND", behind)).kernels
    assert kernel.verdict.kind.value == kind
