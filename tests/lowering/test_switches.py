"""``switch``: labels, statements that fall through to others, and ways out."""

from __future__ import annotations

import pytest
from harness import kernel_facts
from lowering.interpret import Run

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Branch, Jump, JumpKind, Loop, walk


def touched(statements: str, n: int, above: str = "") -> list[str]:
    """What a thread writes, by element."""
    text = f"{above}\n__global__ void k(int n) {{ __shared__ int a[64]; int i = 0; {statements} }}\n"
    kernel = kernel_facts(text).kernel
    assert kernel.irregular is None
    assert not any(isinstance(node, Jump) and node.kind is JumpKind.LEAVE for node in walk(kernel.body))
    found = Run(kernel, {"n": n, "blockDim.x": 64}, {"x": 5}).run()
    return [str(int(each.removeprefix("W a ").removesuffix("+4")) // 4) for each in found]


FALL = "switch (n) { case 0: a[0] = 1; case 1: a[1] = 1; break; case 2: a[2] = 1; }"
MIDDLE = "switch (n) { case 0: a[0] = 1; default: a[9] = 1; case 1: a[1] = 1; break; case 2: a[2] = 1; }"
FIRST = "switch (n) { default: a[9] = 1; case 1: case 2: a[1] = 1; break; case 3: return; } a[5] = 1;"
LOOP = "for (; i < 3; ++i) "


@pytest.mark.parametrize(
    ("statements", "n", "expected"),
    [
        (FALL, 0, "0 1"),
        (FALL, 1, "1"),
        (FALL, 2, "2"),
        (FALL, 3, ""),
        (MIDDLE, 0, "0 9 1"),
        (MIDDLE, 1, "1"),
        (MIDDLE, 2, "2"),
        (MIDDLE, 7, "9 1"),
        (FIRST, 0, "9 1 5"),
        (FIRST, 1, "1 5"),
        (FIRST, 2, "1 5"),
        (FIRST, 3, ""),
        # the way out in a branch, and in both arms of one
        ("switch (n) { case 1: a[0] = 1; if (i == 0) break; a[1] = 1; default: a[2] = 1; } a[3] = 1;", 1, "0 3"),
        ("switch (n) { case 1: a[0] = 1; if (i != 0) break; a[1] = 1; default: a[2] = 1; }", 1, "0 1 2"),
        ("switch (n) { case 1: if (i) { a[0] = 1; break; } else { a[1] = 1; break; } default: a[2] = 1; }", 1, "1"),
        # the value is asked for once
        ("switch (n) { case 0: n = 5; a[0] = 1; case 1: a[1] = 1; case 2: a[2] = 1; }", 0, "0 1 2"),
        ("switch (++n) { case 1: a[n] = 1; }", 0, "1"),
        ("switch (int m = n + 1) { case 1: a[m] = 1; }", 0, "1"),
        # one in another, and around and in loops
        ("switch (n) { case 1: switch (i) { case 0: a[0] = 1; break; default: a[1] = 1; } a[2] = 1; }", 1, "0 2"),
        (LOOP + "{ switch (i) { case 1: continue; case 0: break; default: a[9] = 1; } a[i] = 1; }", 0, "0 9 2"),
        (LOOP + "{ switch (i) { case 1: if (n) continue; default: a[9] = 1; } a[i] = 1; }", 1, "9 0 9 2"),
        ("switch (n) { case 1: for (;;) { a[0] = 1; break; } a[1] = 1; break; default: a[2] = 1; }", 1, "0 1"),
        # labels that are constants of other kinds, and none that fits
        ("enum E { p, q = 4, r }; switch (n) { case q: a[0] = 1; break; case r: a[1] = 1; break; }", 5, "1"),
        ("switch (n) { case 'a' - 96: a[0] = 1; break; case ~1: a[1] = 1; break; }", 1, "0"),
        ("switch (n) { case 'a' - 96: a[0] = 1; break; case ~1: a[1] = 1; break; }", -2, "1"),
        # which is known: what is in front of the labels never runs
        ("switch (2) { a[0] = 1; case 1: a[1] = 1; case 2: a[2] = 1; case 3: a[3] = 1; break; default: ; }", 0, "2 3"),
        ("switch (9) { case 1: a[1] = 1; break; default: a[4] = 1; case 2: a[2] = 1; }", 0, "4 2"),
        ("switch (n) { int m; case 1: m = 3; a[m] = 1; break; case 2: m = 4; a[m] = 1; }", 2, "4"),
    ],
)  # fmt: skip
def test_a_thread_goes_on_behind_its_label(statements: str, n: int, expected: str) -> None:
    assert " ".join(touched(statements, n)) == expected


PICK = """
__device__ int pick(int* a, int n) {
  switch (n) { case 0: return 7; case 1: a[30] = 1; break; default: a[31] = 1; case 2: return 8; }
  return 9;
}
"""


@pytest.mark.parametrize(("n", "expected"), [(0, "7"), (1, "30 9"), (2, "8"), (3, "31 8")])
def test_a_function_that_returns_from_a_switch_is_inlined(n: int, expected: str) -> None:
    assert " ".join(touched("a[pick(a, n)] = 1;", n, PICK)) == expected


@pytest.mark.parametrize("statements", [FALL, MIDDLE, FIRST])
def test_a_switch_whose_breaks_stand_last_is_a_tree_of_branches(statements: str) -> None:
    nodes = list(
        walk(kernel_facts(f"__global__ void k(int n) {{ __shared__ int a[64]; {statements} }}").kernel.body)
    )
    assert any(isinstance(node, Branch) for node in nodes)
    assert not any(isinstance(node, Loop) for node in nodes)


def test_a_long_switch_is_read() -> None:
    cases = " ".join(f"case {i}: if (n & {i}) break; a[0] = {i}; break;" for i in range(200))
    assert touched(f"switch (n) {{ {cases} }} a[1] = 1;", 128) == ["1"]


@pytest.mark.parametrize(
    "statements",
    [
        "switch (n) case 1: a[1] = 1;",  # what stands behind the label belongs to it
        "switch (n) { case 0: do { a[0] = 1; case 1: a[1] = 1; } while (--n); }",
        "switch (n) { case 0: again: a[0] = 1; if (--n > 0) goto again; }",
    ],
)
def test_labels_that_are_not_followed_are_said(statements: str) -> None:
    text = f"__global__ void k(int n) {{ __shared__ int a[64]; {statements} }}"
    assert kernel_facts(text).kernel.irregular is not None


def test_a_label_of_a_range_may_be_of_any_thread() -> None:
    body = "a[threadIdx.x] = 1; switch (n) { case 1 ... 3: __syncthreads(); } o[threadIdx.x] = a[63 - threadIdx.x];"
    launched = "void host(int* o, int n) { k<<<1, 64>>>(o, n); }"
    (kernel,) = check(
        f"__global__ void k(int* o, int n) {{ __shared__ int a[64]; {body} }}\n{launched}"
    ).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value != "race-free"
