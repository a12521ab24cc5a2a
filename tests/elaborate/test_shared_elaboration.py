"""What is found out about the body of a function is found out once, however many kernels call it."""

from __future__ import annotations

import pytest

from smem_lsp.elaborate import expression_types
from smem_lsp.engine import check
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Type
from smem_lsp.syntax import tree

_HELPER = """
template <class T>
__device__ float sum(T* s, int t, int n) {
  float a = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned at = (t * i + n) % 64u;
    a += s[at] * (float)(n + i) + (short)(t + i);
  }
  return a;
}
"""


def _kernels(count: int, element: str = "float", parameter: str = "n") -> str:
    kernels = "".join(
        f"__global__ void k{i}(float* out, int {parameter}) {{\n"
        f"  __shared__ {element} s[64];\n  s[threadIdx.x] = {i};\n  __syncthreads();\n"
        f"  out[threadIdx.x] = sum(s, threadIdx.x, {parameter});\n}}\n"
        for i in range(count)
    )
    launches = "".join(f"  k{i}<<<1, 64>>>(out, 3);\n" for i in range(count))
    return f"{_HELPER}{kernels}void run(float* out) {{\n{launches}}}\n"


def _typed(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a check works out the type of an operator."""
    found = 0
    real = expression_types._combined

    def counted(expr: tree.Binary | tree.Ternary | tree.Unary, scope: Scope, depth: int) -> Type | None:
        nonlocal found
        found += 1
        return real(expr, scope, depth)

    with monkeypatch.context() as patch:
        patch.setattr(expression_types, "_combined", counted)
        check(text)
    return found


def test_a_helper_that_forty_kernels_call_is_typed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    one, forty = _typed(_kernels(1), monkeypatch), _typed(_kernels(40), monkeypatch)
    assert one == forty > 5


def test_another_instance_has_types_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    both = _kernels(1) + _kernels(1, "int").removeprefix(_HELPER).replace("k0", "k9").replace("run", "run9")
    assert _typed(both, monkeypatch) > _typed(_kernels(1), monkeypatch)
