"""What is found out about the body of a function is found out once, however many kernels call it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

import pytest

from smem_lsp.elaborate import best_function, callees, expression_types
from smem_lsp.engine import check
from smem_lsp.lowering.body import expression_types as called_types
from smem_lsp.lowering.callees import may_wait, presumed
from smem_lsp.lowering.state.context import Context
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Type
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function

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


_CALLING = """
struct V {
  float x, y;
  __device__ V operator+(const V& o) const { V r; r.x = x + o.x; r.y = y + o.y; return r; }
  __device__ float at(int i) const { return i ? y : x; }
  __device__ float at(float f) const { return f > 0 ? y : x; }
};
__device__ V operator*(const V& a, float s) { V r; r.x = a.x * s; r.y = a.y * s; return r; }
__device__ V operator*(const V& a, const V& b) { V r; r.x = a.x * b.x; r.y = a.y * b.y; return r; }
__device__ float pick(int a) { return a + 1; }
__device__ float pick(float a) { return a * 2; }
template <class T> __device__ T most(T a, T b) { return a < b ? b : a; }
__device__ float beyond(int n);
__device__ float deep(int n) { return n ? deep(n - 1) + beyond(n) : 1; }
template <class T>
__device__ float sum(T* s, int t, int n) {
  V v; v.x = t; v.y = n;
  V w = v + v * 2.0f;
  w = w * v;
  const float a = pick(n) + pick(1.5f) + w.at(t) + w.at(1.0f) + deep(n);
  __syncthreads();
  s[t] = most(a, 4.0f);
  __syncthreads();
  return a;
}
"""


def _is_own(ctx: Context, expr: tree.Expr) -> bool:
    """Does it stand in a kernel itself, or is no function asked what it is?"""
    return ctx.at.function.is_kernel or isinstance(expr, tree.Name | tree.Number)


def _names(functions: Sequence[Function]) -> str:
    return " ".join(each.name for each in functions)


_ASKED: Mapping[str, tuple[ModuleType, str, Callable[..., str]]] = {
    "functions": (callees, "candidates", lambda _site, callee, *_: callee.text),
    "overloads": (best_function, "_left", lambda _site, found, *_: _names(found)),
    "types": (
        called_types,
        "_by_functions",
        lambda ctx, expr, _: "sum" if _is_own(ctx, expr) else type(expr).__name__,
    ),
    "may wait": (may_wait, "_calm", lambda _ctx, functions, *_: _names(functions)),
    "presumed to wait": (presumed, "_may_wait", lambda _ctx, functions, *_: _names(functions)),
}


def _counted(count: int) -> Mapping[str, Counter[str]]:
    """How often each question is answered anew while kernels are checked that call one helper, by what it is about."""
    found = {what: Counter[str]() for what in _ASKED}

    def counting(what: str, real: Callable[..., object], about: Callable[..., str]) -> Callable[..., object]:
        def counted(*args: object, **kwargs: object) -> object:
            found[what][about(*args)] += 1
            return real(*args, **kwargs)

        return counted

    with pytest.MonkeyPatch.context() as patch:
        for what, (module, name, about) in _ASKED.items():
            patch.setattr(module, name, counting(what, getattr(module, name), about))
        check(_kernels(count).replace(_HELPER, _CALLING))
    for each in found.values():
        del each["sum"]  # the call that stands in the kernels themselves
    return found


def test_what_a_call_means_and_does_is_found_once() -> None:
    one, forty = _counted(1), _counted(40)
    assert one == forty
    assert all(one.values())


_CALLED = {
    "reference": """
struct V { float x; };
__device__ void put(float* s, V& v, int t) { s[t] = v.x; __syncthreads(); }
__device__ void put(float* s, const V& v, int t) { s[t] = v.x; }
""",
    "template": """
struct V { float x; };
template <class U>
__device__ void put(float* s, U& v, int t) { s[t] = v.x; __syncthreads(); }
__device__ void put(float* s, const V& v, int t) { s[t] = v.x; }
""",
    "friend": """
struct V { float x; friend __device__ void put(float* s, V& v, int t) { s[t] = v.x; __syncthreads(); } };
__device__ void put(float* s, const V& v, int t) { s[t] = v.x; }
""",
    "array": """
template <class U>
__device__ void put(float* s, U* v, int t) { s[t] = v[0]; __syncthreads(); }
__device__ void put(float* s, const float* v, int t) { s[t] = v[0]; }
""",
}
_BY_CONST = """
template <class T>
__device__ void run(float* s, T& v, int t) { put(s, v, t); s[63 - t] += 1; }
"""


@pytest.mark.parametrize("called", _CALLED)
@pytest.mark.parametrize("changing_first", [True, False])
def test_who_asks_first_decides_nothing(changing_first: bool, called: str) -> None:
    declared = "float v[1]" if called == "array" else "V v"
    made = {"changing": f"{declared} = {{1}};", "constant": f"const {declared} = {{1}};"}
    names = sorted(made, reverse=not changing_first)
    kernels = "".join(
        f"__global__ void {name}() {{ __shared__ float s[64]; {made[name]} run(s, v, threadIdx.x); }}\n"
        for name in names
    )
    launches = "".join(f"{name}<<<1, 64>>>(); " for name in names)
    report = check(f"{_CALLED[called]}{_BY_CONST}{kernels}void go() {{ {launches}}}\n")
    assert {each.kernel for each in report.findings if each.code == "SMEM201"} == {"constant"}
