"""Which host functions are walked for their template arguments, beside the walk that every one of them gets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Dims
from smem_lsp.semantics.entities import Argument
from smem_lsp.source.queries import PROCESS
from smem_lsp.syntax.parse import Function
from smem_lsp.unit import host_text, launches
from smem_lsp.unit.host_frames import names_text
from smem_lsp.unit.outside_calls import Passed

KERNEL = """\
template <int N> __global__ void k(float* d, int n) {
  __shared__ float s[N];
  s[threadIdx.x % N] = d[n];
  __syncthreads();
  d[threadIdx.x] = s[0];
}
typedef void (*F)(float*, int);
"""


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The functions that are walked for template arguments, with these."""
    found: list[tuple[str, str]] = []
    answer = launches.HostCode._answer

    def counted(
        self: launches.HostCode,
        reached: Sequence[Function],
        bound: dict[str, Argument] | None,
        passed: Passed,
    ) -> launches._Answer:
        if bound is not None:
            found.append((reached[0].name, names_text(bound)))
        return answer(self, reached, bound, passed)

    monkeypatch.setattr(launches.HostCode, "_answer", counted)
    launches._WALK.forget(PROCESS)
    host_text.forget_host_code()
    return found


def blocks(text: str) -> dict[str | None, set[Dims | None]]:
    """The blocks of the launches of each instance."""
    report = check(KERNEL + text)
    return {each.kernel.instance: {site.block for site in each.kernel.launches} for each in report.kernels}


def test_a_function_that_gives_a_kernel_is_not_walked_for_its_arguments(
    walked: list[tuple[str, str]],
) -> None:
    text = (
        "struct Spec { F kernel; int threads; };\n"
        "template <int M> Spec pick() { Spec s; s.kernel = k<M>; s.threads = 2 * M; return s; }\n"
        "template Spec pick<32>();\n"
        "template <int M> F choose(int n) { if (n > M) return k<M>; return k<M + 1>; }\n"
        "void go(float* d, int n) { F f = choose<7>(n); f<<<1, 64>>>(d, n); }\n"
    )
    found = blocks(text)
    assert walked == []
    assert found["k<7>"] == found["k<8>"] == {(64, 1, 1)}
    assert "k<32>" in found


def test_a_template_that_is_instantiated_explicitly_is_walked_with_what_it_calls(
    walked: list[tuple[str, str]],
) -> None:
    text = (
        "template <int M> void run(float* d) { k<M><<<1, 2 * M>>>(d, 1); }\n"
        "template <int M> void outer(float* d) { run<M>(d); }\n"
        "template void outer<32>(float*);\n"
    )
    assert blocks(text) == {"k<32>": {(64, 1, 1)}}
    assert walked == [("outer", "M = 32")]


def test_a_template_that_a_function_enters_is_not_walked_again(walked: list[tuple[str, str]]) -> None:
    text = (
        "template <int M> void run(float* d) { k<M><<<1, 2 * M>>>(d, 1); }\n"
        "template <int M> void outer(float* d) { run<M>(d); }\n"
        "void go(float* d) { outer<32>(d); }\n"
    )
    assert blocks(text) == {"k<32>": {(64, 1, 1)}}
    assert walked == []


@pytest.mark.parametrize(
    "run",
    [
        "template <int M> void run(float* d) { k<M><<<1, 2 * M>>>(d, 1); }",
        "#define GO(M, T) k<M><<<1, T>>>(d, 1)\ntemplate <int M> void run(float* d) { GO(M, 2 * M); }",
        "template <int M> void run(float* d) { auto f = [&] { k<M><<<1, 2 * M>>>(d, 1); }; f(); }",
        "template <int M> void run(float* d) { void* a[] = {&d}; cudaLaunchKernel((void*)k<M>, 1, 2 * M, a, 0, 0); }",
        "void start(F f, int t, float* d) { f<<<1, t>>>(d, 1); }\n"
        "template <int M> void run(float* d) { start(k<M>, 2 * M, d); }",
        "template <typename T> void start(T f, int t, float* d) { f<<<1, t>>>(d, 1); }\n"
        "template <int M> void run(float* d) { start(k<M>, 2 * M, d); }",
        "void threads(int& t, int m) { t = 2 * m; }\n"
        "template <int M> void run(float* d) { int t; threads(t, M); k<M><<<1, t>>>(d, 1); }",
    ],
    ids=["launch", "macro", "lambda", "call", "helper", "template", "reference"],
)
def test_a_launch_in_a_template_that_nothing_enters_follows_its_arguments(run: str) -> None:
    text = f"{run}\ntemplate void run<32>(float*);\ntemplate void run<16>(float*);\n"
    assert blocks(text) == {"k<32>": {(64, 1, 1)}, "k<16>": {(32, 1, 1)}}


def test_a_specialization_is_launched_by_a_template_that_nothing_enters() -> None:
    text = (
        "template <> __global__ void k<32>(float* d, int n) { __shared__ float t[4]; t[n] = 1; d[0] = t[0]; }\n"
        "template <int M> void run(float* d) { k<M><<<1, 2 * M>>>(d, 1); }\n"
        "template <int M> void outer(float* d) { run<M>(d); }\n"
        "template void outer<32>(float*);\n"
    )
    assert set().union(*blocks(text).values()) == {(64, 1, 1)}
