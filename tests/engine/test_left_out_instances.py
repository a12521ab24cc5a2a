"""Verdicts where a template has more instances than are looked at, one by one."""

from __future__ import annotations

import pytest

from smem_lsp.config import Config
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
    """What is said of the instances that no rule looks at."""
    report = check(text, path="k.cu")
    proved = [f"{each.kernel.instance}: shared memory {each.verdict.words}" for each in report.rest]
    told = [line.partition(" ")[2] for line in lines(report)]
    return [each.partition(" (")[0] for each in (*proved, *(line for line in told if "too many" in line))]


def launches(kernel: str, count: int, threads: int = 32) -> str:
    each = "".join(f"{kernel}<{32 * n}><<<1, {threads * n}>>>(p, p);\n" for n in range(1, count + 1))
    return f"void run(float* p) {{\n{each}}}\n"


def test_what_holds_for_any_number_holds_for_the_ninth_instance() -> None:
    assert of_rest(REVERSES + launches("reverse", 8)) == []
    assert of_rest(REVERSES + launches("reverse", 9)) == ["reverse<288, float>: shared memory race-free"]
    assert of_rest(REVERSES + launches("reverse", 41)) == ["reverse<?, float>: shared memory race-free"]


@pytest.mark.parametrize(("effort", "looked_at"), [("quick", 2), ("normal", 8), ("thorough", 12)])
def test_effort_says_how_many_are_looked_at(effort: str, looked_at: int) -> None:
    racing = FOLDS + launches("fold", 12, threads=64)
    report = check(racing, config=Config(effort=effort), path="k.cu")
    assert len(report.kernels) == looked_at
    told = [each.message for each in report.findings if each.code == "SMEM004"]
    assert [each.endswith("`--effort thorough` goes on") for each in told] == [True] * (looked_at < 12)


def test_no_instance_that_is_left_out_may_race() -> None:
    host = "template <int N, typename T> void launch(T* p) { fold<N><<<1, N>>>(p, p); }\n"
    calls = "".join(f"launch<{32 * n}>(p);\n" for n in range(1, 10))
    text = f"{FOLDS}{host}void run(float* p) {{\n{calls}MORE}}\n"
    assert of_rest(text.replace("MORE", "")) == ["fold<288, float>: shared memory race-free"]
    more = text.replace("MORE", "fold<320><<<1, 640>>>(p, p);\n")
    assert of_rest(more) == [f"fold<{n}, float>: shared memory race-free" for n in (256, 288)]  # 320 is told
    assert any("racy" in line for line in lines(check(more, path="k.cu")))
    last = text.replace("fold<N><<<1, N>>>", "fold<N><<<1, N == 288 ? 2 * N : N>>>").replace("MORE", "")
    assert of_rest(last) == ["fold: shared memory undecided: more instances: too many"]


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


@pytest.mark.sampled(one_in=3)
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


@pytest.mark.parametrize(
    ("starts", "count", "told"),
    [
        ("N", 9, ["fold<288, float>: shared memory race-free"]),
        ("N > 256 ? 2 * N : N", 9, ["fold: shared memory undecided: more instances: too many"]),
        ("N", 41, ["fold: shared memory undecided: more instances: too many"]),
    ],
)
def test_a_template_that_hands_the_kernel_on(starts: str, count: int, told: list[str]) -> None:
    """Where it is given one instance, it says how that one is launched; for any number it does not."""
    calls = "".join(f"launch<{32 * n}>(p);\n" for n in range(1, count + 1))
    started = STARTED.replace("STARTS", f"start(fold<N, T>, {starts}, p)")
    assert of_rest(f"{FOLDS}{started}void run(float* p) {{\n{calls}}}\n") == told


@pytest.mark.defects
def test_a_defect_in_what_stands_for_others_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(facts: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(kernels, "verdict_kind", broken)
    report = check(REVERSES + launches("reverse", 9), path="k.cu")
    (told,) = report.defects
    assert told.startswith("internal error in more instances of reverse: ValueError")


def test_too_many_types_are_left_out_as_well() -> None:
    """Numbers are left open, types are not."""
    types = [f"struct T{n} {{ int i[{n + 1}]; }};\n" for n in range(41)]
    each = "".join(f"reverse<32><<<1, 32>>>((T{n}*)p, (T{n}*)p);\n" for n in range(41))
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
    assert any("reverse<320, float>: shared memory race-free" in line for line in told)


FILLS = """\
template <int N_, int W_> struct Traits { static constexpr int N = N_; static constexpr int W = W_; };
template <int N> __device__ int at(int i) { return i; }
MORE
template <typename T>
__global__ void fill(float* out, const float* in) {
  __shared__ float s[T::N];
  s[at<T::N>(threadIdx.x) / T::W] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[T::N - 1 - threadIdx.x];
}
"""


def fills(widths: list[int], more: str = "") -> list[str]:
    """Of launches of ``fill`` with one class each, told apart by how many threads they have."""
    each = "".join(
        f"fill<Traits<{8 * n}, {width}>><<<1, {8 * n}>>>(p, p);\n" for n, width in enumerate(widths, 1)
    )
    return of_rest(f"{FILLS.replace('MORE', more)}void run(float* p) {{\n{each}}}\n")


UNDECIDED = ["fill: shared memory undecided: more instances: too many"]


def test_numbers_in_a_class_template_are_open_where_they_differ() -> None:
    """The width is known: in all of them it is 1."""
    assert fills([1] * 50) == ["fill<Traits<?, 1>>: shared memory race-free"]


@pytest.mark.parametrize("racing", [9, 30, 50])
def test_no_class_hides_the_instance_that_races(racing: int) -> None:
    assert fills([1] * (racing - 1) + [2] + [1] * (50 - racing)) == UNDECIDED


def test_few_classes_are_proved_one_by_one() -> None:
    assert fills([1] * 10) == [f"fill<Traits<{8 * n}, 1>>: shared memory race-free" for n in (9, 10)]
    assert fills([1] * 9 + [2]) == UNDECIDED


@pytest.mark.parametrize(
    "special",
    [
        "template <> struct Traits<320, 1> { static constexpr int N = 320; static constexpr int W = 2; };",
        "template <> __device__ int at<320>(int i) { return i / 2; }",
    ],
)
def test_a_specialization_that_races_is_no_instance_of_its_template(special: str) -> None:
    assert fills([1] * 50, special) == UNDECIDED
    assert fills([1] * 50, special.replace("320", "4000")) != []


def test_a_group_is_launched_as_its_instances_are() -> None:
    """``half`` races under more than its number of threads: under any launch it is not race-free."""
    half = FOLDS.replace("N - 1 - threadIdx.x % N", "threadIdx.x % N")
    assert of_rest(half + launches("fold", 12)) == [
        f"fold<{32 * n}, float>: shared memory race-free" for n in range(9, 13)
    ]
    more = launches("fold", 12).replace("<<<1, 384>>>", "<<<1, 416>>>")
    assert of_rest(half + more) == ["fold: shared memory undecided: more instances: too many"]
