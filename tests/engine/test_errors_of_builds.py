"""``#error``: nobody compiles a file where it is reached, so its build must define the macros that it asks for."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.engine.report import FileReport
from smem_lsp.syntax.preprocess import preprocess

_KERNEL = """
__global__ void k(float* out, const float* in) {
  ARRAY(float, s, 64);
  s[threadIdx.x] = in[threadIdx.x];
  SYNC
  out[threadIdx.x] = s[63 - threadIdx.x];
}
void host(float* out, const float* in) { k<<<1, 64>>>(out, in); }
"""
_OTHERS = """
#{asks} BUILD_{own}
#define ARRAY(T, name, n) __shared__ T name[n]
#define SYNC __syncthreads();
#elif {other}
#define ARRAY(T, name, n) OTHER_ARRAY(T, name, n)
#define SYNC OTHER_SYNC
#else
#error "choose a platform"
#endif
"""


def _verdicts(text: str, path: str = "k.cu") -> list[str]:
    return [each.verdict.kind.value for each in _report(text, path).kernels if each.verdict is not None]


def _report(text: str, path: str = "k.cu") -> FileReport:
    return check(text, path=path)


@pytest.mark.parametrize("asks", ["if", "ifdef"])
@pytest.mark.parametrize("other", ["BUILD_ROCM", "defined(WITH_HIP)", "defined BUILD_OPENCL"])
def test_the_macro_that_chooses_cuda(asks: str, other: str) -> None:
    assert _verdicts(_OTHERS.format(asks=asks, own="CUDA", other=other) + _KERNEL) == ["race-free"]


def test_it_is_found_behind_others() -> None:
    head = "#if BUILD_ROCM\n#define SYNC\n#elif BUILD_CUDA\n#define SYNC __syncthreads();\n#else\n#error no\n#endif\n"
    text = head + "#define ARRAY(T, name, n) __shared__ T name[n]\n" + _KERNEL
    assert _verdicts(text) == ["race-free"]
    assert _verdicts(text.replace("BUILD_CUDA", "BUILD_METAL")) == ["undecided"]  # `SYNC` is not known


def test_a_hip_file_takes_that_of_hip() -> None:
    text = _OTHERS.format(asks="if", own="ROCM", other="BUILD_CUDA") + _KERNEL
    assert _verdicts(text, "k.hip") == ["race-free"]
    assert _verdicts(text.replace("BUILD_CUDA", "BUILD_SYCL"), "k.cu") != ["race-free"]


def test_the_only_macro_that_is_asked_for() -> None:
    asked = "#ifndef USE_TILES\n#error define USE_TILES\n#else\n#define SYNC __syncthreads();\n#endif\n"
    text = asked + "#define ARRAY(T, name, n) __shared__ T name[n]\n" + _KERNEL
    assert _verdicts(text) == ["race-free"]


def test_a_number_that_a_build_gives_is_not_made_up() -> None:
    """With 1 in its place the array would have one element."""
    text = """
    #ifndef SIZE
    #error "define SIZE"
    #endif
    __global__ void k(float* out) {
      __shared__ float s[SIZE];
      s[threadIdx.x] = out[threadIdx.x];
      __syncthreads();
      out[threadIdx.x] = s[0];
    }
    """
    assert [each.static_bytes for each in _report(text).kernels] == [None]
    assert preprocess(text).errors == [()]


def test_what_a_build_defines_stands() -> None:
    text = "#define BUILD_ROCM 1\n" + _OTHERS.format(asks="if", own="CUDA", other="BUILD_ROCM") + _KERNEL
    assert preprocess(text).errors == []


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("#if A\n#else\n#error\n#endif\n", [("A",)]),
        ("#ifdef A\n#elif defined(B) || defined(C)\n#else\n#error\n#endif\n", [("A", "B")]),
        ("#ifndef A\n#error\n#endif\n", [("A",)]),
        ("#if !defined(A)\n#error\n#endif\n", [("A",)]),
        ("#if A\n#else\n#if B\n#else\n#error\n#endif\n#endif\n", [("A", "B")]),
        ("#if A > 3\n#else\n#error\n#endif\n", [()]),
        ("#if __A\n#else\n#error\n#endif\n", [()]),
        ("#if A\n#else\n#error\n#endif\nint n = A;\n", [()]),
        ("#if A\n#else\n#error\n#endif\n#define N A\n", [()]),
        ("#error\n", [()]),
        ("#if 0\n#error\n#endif\n", []),
        ("#if A\n#endif  // A\n#if A\n#else  // A\n#error A\n#endif\n", [("A",)]),
    ],
)
def test_what_an_error_asks_for(text: str, errors: list[tuple[str, ...]]) -> None:
    assert preprocess(text).errors == errors


def test_regions_that_begin_inside_of_it() -> None:
    text = "#if A\nint a() { return 1; }\n#else\n\nint b() { return 2; }\n\n#error no\n#endif\n"
    assert preprocess(text).errors == [("A",)]


def test_a_second_error_is_no_better() -> None:
    """Where another error stands behind the macro, the file is read as it stands."""
    text = "#ifdef CUDA_A\n#error not this\n#define SYNC __syncthreads();\n#else\n#error nor this\n#endif\n"
    assert preprocess(text).errors == [("CUDA_A",)]
    text += "#define ARRAY(T, name, n) __shared__ T name[n]\n" + _KERNEL.replace("SYNC", "")
    assert _verdicts(text) == ["racy"]
