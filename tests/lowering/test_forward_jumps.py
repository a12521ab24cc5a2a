"""``goto`` to a label further on, in a block around it."""

from __future__ import annotations

import pytest
from harness import kernel_facts
from lowering.interpret import Run

from smem_lsp.ir.nodes import Jump, JumpKind, walk


def touched(statements: str, n: int, above: str = "") -> list[str]:
    text = f"{above}\n__global__ void k(int n) {{ __shared__ int a[64]; int i = 0; {statements} }}\n"
    kernel = kernel_facts(text).kernel
    assert kernel.irregular is None
    assert not any(isinstance(node, Jump) and node.kind is JumpKind.LEAVE for node in walk(kernel.body))
    found = Run(kernel, {"n": n, "blockDim.x": 64}, {"x": 5}).run()
    return [each.removesuffix("+4") for each in found]


@pytest.mark.parametrize(
    ("statements", "n", "expected"),
    [
        ("if (n > 2) goto end; a[1] = 0; end: a[2] = 0;", 3, ["W a 8"]),
        ("if (n > 2) goto end; a[1] = 0; end: a[2] = 0;", 2, ["W a 4", "W a 8"]),
        ("a[1] = 0; goto end; a[2] = 0; end: ;", 2, ["W a 4"]),
        (
            "if (n == 1) goto p; if (n == 2) goto q; a[1] = 0; p: a[2] = 0; q: a[3] = 0;",
            1,
            ["W a 8", "W a 12"],
        ),
        ("if (n == 1) goto p; if (n == 2) goto q; a[1] = 0; p: a[2] = 0; q: a[3] = 0;", 2, ["W a 12"]),
        ("if (n == 2) goto q; if (n == 1) goto p; a[1] = 0; p: a[2] = 0; q: a[3] = 0;", 2, ["W a 12"]),
        # out of loops
        (
            "for (; i < 3; ++i) { for (int j = 0; j < 3; ++j) { if (j == n) goto out; a[3 * i + j] = 0; } }"
            " out: a[20] = 0;",
            1,
            ["W a 0", "W a 80"],
        ),
        (
            "for (; i < 2; ++i) { for (int j = 0; j < 3; ++j) { if (j == n) goto next; a[3 * i + j] = 0; }"
            " a[30] = 0; next: ; } a[20] = 0;",
            1,
            ["W a 0", "W a 12", "W a 80"],
        ),
        # two labels, of two loops
        (
            "for (; i < 3; ++i) { for (int j = 0; j < 3; ++j) { if (i == n) goto out; if (j == n) goto next;"
            " a[3 * i + j] = 0; } next: ; } out: a[20] = 0;",
            1,
            ["W a 0", "W a 80"],
        ),
        # what leaves the loop around the region
        *(
            (f"for (; i < 3; ++i) {{ {leaves} p: a[9] = 0; }}", n, [f"W a {4 * at}" for at in expected])
            for leaves, n, expected in (
                ("if (i == n) continue; if (i > 5) goto p; a[i] = 0;", 0, [1, 9, 2, 9]),
                ("if (i == n) break; if (i > 5) goto p; a[i] = 0;", 1, [0, 9]),
                ("if (i > 1) goto p; if (i == n) continue; a[i] = 0;", 0, [1, 9, 9]),
                ("if (i > 1) goto p; if (i == n) break; a[i] = 0;", 1, [0, 9]),
                ("if (i == n) goto p; while (1) { a[i] = 0; break; }", 0, [9, 1, 9, 2, 9]),
            )
        ),
        # the kernel ends inside
        ("if (n == 1) goto p; if (n == 2) return; a[1] = 0; p: a[2] = 0;", 2, []),
    ],
)
def test_jumps_forward_are_followed(statements: str, n: int, expected: list[str]) -> None:
    assert touched(statements, n) == expected


FIND = """
__device__ int find(int* a, int n) {
  int i = 0;
  for (; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) { if (i == n) goto found; if (j == 9) return 7; if (n == 8 && j == 1) return 8; }
  }
  return 5;
found:
  a[10] = 0;
  return i;
}
"""


@pytest.mark.parametrize(("n", "expected"), [(1, ["W a 40", "W a 4"]), (6, ["W a 20"]), (8, ["W a 32"])])
def test_a_function_that_jumps_is_inlined(n: int, expected: list[str]) -> None:
    assert touched("a[find(a, n)] = 0;", n, FIND) == expected


@pytest.mark.parametrize(
    "statements",
    [
        "if (n > 1) goto inside; for (; i < n; ++i) { inside: a[1] = 0; }",
        "if (n > 1) goto later; again: a[1] = 0; later: a[2] = 0; if (i++ < n) goto later;",
    ],
)
def test_other_jumps_are_not(statements: str) -> None:
    text = f"__global__ void k(int n) {{ __shared__ int a[64]; int i = 0; {statements} }}\n"
    assert kernel_facts(text).kernel.irregular is not None
