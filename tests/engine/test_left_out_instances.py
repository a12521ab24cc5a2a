"""Verdicts where a template has more instances than are looked at, one by one."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check, kernels
from smem_lsp.output.verdicts import lines

REVERSES = """\
template <int N, typename T>
__global__ void reverse(T* out, const T* in) {
  __shared__ T s[N];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[N - 1 - threadIdx.x];
}
"""
FOLDS = """\
template <int N, typename T>
__global__ void fold(T* out, const T* in) {
  __shared__ T s[N];
  s[threadIdx.x % N] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[N - 1 - threadIdx.x % N];
}
"""


def of_rest(text: str) -> list[str]:
    """What is said of the instances that are not looked at one by one."""
    told = [line.partition(" ")[2] for line in lines(check(text, path="k.cu"))]
    return [each.partition(" (")[0] for each in told if "?" in each or "too many" in each]


def launches(kernel: str, count: int, threads: int = 32) -> str:
    each = "".join(f"{kernel}<{32 * n}><<<1, {threads * n}>>>(p, p);\n" for n in range(1, count + 1))
    return f"void run(float* p) {{\n{each}}}\n"


def test_what_holds_for_any_number_holds_for_the_ninth_instance() -> None:
    assert of_rest(REVERSES + launches("reverse", 8)) == []
    assert of_rest(REVERSES + launches("reverse", 9)) == ["reverse<?, float>: shared memory race-free"]


def test_no_instance_that_is_left_out_may_race() -> None:
    host = "template <int N, typename T> void launch(T* p) { fold<N><<<1, N>>>(p, p); }\n"
    calls = "".join(f"launch<{32 * n}>(p);\n" for n in range(1, 10))
    text = f"{FOLDS}{host}void run(float* p) {{\n{calls}MORE}}\n"
    assert of_rest(text.replace("MORE", "")) == ["fold<?, float>: shared memory race-free"]
    more = text.replace("MORE", "fold<320><<<1, 640>>>(p, p);\n")
    assert of_rest(more) == ["fold: shared memory undecided: more instances: too many"]
    assert any("racy" in line for line in lines(check(more, path="k.cu")))


HOST = """\
template <int N, typename T>
void launch(int n, T* p) {
  if constexpr (N <= 1024) {
    if (N >= n) fold<N><<<1, THREADS>>>(p, p);
    else launch<N + 32>(n, p);
  }
}
void run(int n, float* p, double* q) { launch<32>(n, p); launch<32>(n, q); }
"""


@pytest.mark.parametrize(
    ("threads", "told"),
    [
        ("N", ["fold<?, float>: shared memory race-free", "fold<?, double>: shared memory race-free"]),
        ("N / 2", ["fold<?, float>: shared memory race-free", "fold<?, double>: shared memory race-free"]),
        ("N + 32", ["fold: shared memory undecided: more instances: too many"]),
        ("2 * N", ["fold: shared memory undecided: more instances: too many"]),
        ("n", ["fold<?, float>: shared memory race-free", "fold<?, double>: shared memory race-free"]),
        ("n + 32", ["fold: shared memory undecided: more instances: too many"]),
    ],
)
def test_a_host_template_that_calls_itself(threads: str, told: list[str]) -> None:
    """The kernel has no more than eight instances through those of the host function that are looked at."""
    assert of_rest(FOLDS + HOST.replace("THREADS", threads)) == told


STARTED = """\
template <typename K, typename T> void start(K kernel, int threads, T* p) { kernel<<<1, threads>>>(p, p); }
template <int N, typename T> void launch(T* p) { STARTS; }
"""


@pytest.mark.parametrize("starts", ["start(fold<N, T>, N, p)", "start(fold<N, T>, N > 256 ? 2 * N : N, p)"])
def test_a_template_that_hands_the_kernel_on_does_not_say_how_it_is_launched(starts: str) -> None:
    calls = "".join(f"launch<{32 * n}>(p);\n" for n in range(1, 10))
    text = f"{FOLDS}{STARTED.replace('STARTS', starts)}void run(float* p) {{\n{calls}}}\n"
    assert of_rest(text) == ["fold: shared memory undecided: more instances: too many"]


@pytest.mark.defects
def test_a_defect_in_what_stands_for_others_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(facts: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(kernels, "kernel_verdict", broken)
    report = check(REVERSES + launches("reverse", 9), path="k.cu")
    (told,) = report.defects
    assert told.startswith("internal error in more instances of reverse: ValueError")


def test_too_many_types_are_left_out_as_well() -> None:
    """Numbers are left open, types are not: of the seventeenth type nothing is known."""
    types = [f"struct T{n} {{ int i[{n + 1}]; }};\n" for n in range(17)]
    each = "".join(f"reverse<32><<<1, 32>>>((T{n}*)p, (T{n}*)p);\n" for n in range(17))
    text = "".join(types) + REVERSES + f"void run(void* p) {{\n{each}}}\n"
    assert of_rest(text) == ["reverse: shared memory undecided: more instances: too many"]


def test_a_specialization_is_none_of_those_that_are_left_out() -> None:
    special = """\
template <>
__global__ void reverse<288, float>(float* out, const float* in) {
  __shared__ float s[288];
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[287 - threadIdx.x];
}
"""
    told = list(lines(check(REVERSES + special + launches("reverse", 10), path="k.cu")))
    racy = [line for line in told if "racy" in line]
    assert len(racy) == 1 and "k.cu:9" in racy[0]
    assert any("reverse<?, float>: shared memory race-free" in line for line in told)
