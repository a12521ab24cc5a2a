"""What the other files of a project pass to the functions that launch the kernels of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from smem_lsp.engine import FileReport, check
from smem_lsp.ir.nodes import LaunchSite
from smem_lsp.source import FileReader

KERNEL = """\
__global__ void k(float* out, int n) {
  __shared__ float s[1024];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[n - 1 - threadIdx.x];
}
"""
RUN = KERNEL + "void run(float* p, int n, int threads) { k<<<n, threads>>>(p, n); }\n"
DECLARED = "void run(float* p, int n, int threads);\n"


@dataclass(frozen=True)
class Files(FileReader):
    """Files in memory. ``mains``: who includes whom."""

    texts: Mapping[str, str]
    mains: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def read(self, path: str) -> str | None:
        return self.texts.get(path)

    def search(self, name: str, including: str) -> str | None:
        return None

    def includers(self, path: str) -> Sequence[str]:
        return self.mains.get(path, ())

    def calling(self, path: str, name: str) -> Sequence[str] | None:
        return sorted(other for other, text in self.texts.items() if other != path and name in text)


def seen(texts: Mapping[str, str], path: str = "ops.cu", **mains: Sequence[str]) -> FileReport:
    included = {f"{name}.cuh": files for name, files in mains.items()}
    return check(texts[path], path=path, reader=Files(texts, included))


def launches(texts: Mapping[str, str], path: str = "ops.cu", **mains: Sequence[str]) -> list[LaunchSite]:
    (kernel,) = (each.kernel for each in seen(texts, path, **mains).kernels)
    return list(kernel.launches)


def blocks(texts: Mapping[str, str], path: str = "ops.cu", **mains: Sequence[str]) -> list[str]:
    return sorted({each.block_text for each in launches(texts, path, **mains)})


OPEN = ["threads x 1 x 1"]


def test_a_caller_in_another_file_gives_the_block() -> None:
    main = DECLARED + "int main() { run(nullptr, 8, 256); }\n"
    (launch,) = launches({"ops.cu": RUN, "main.cu": main})

    assert launch.block == (256, 1, 1)
    assert launch.grid == (8, 1, 1)
    assert launch.open
    assert (launch.caller, launch.place) == ("main.cu:2", "line 7, called from main.cu:2")


def test_all_callers_count() -> None:
    one = DECLARED + "void one(float* p, int n) { run(p, n, 128); }\n"
    two = DECLARED + "void two(float* p, int n) { for (int t = 32; t <= 64; t *= 2) run(p, n, t); }\n"
    own = RUN + "void three(float* p) { run(p, 1, 512); }\n"

    assert blocks({"ops.cu": own, "one.cpp": one, "two.cpp": two}) == [
        "128 x 1 x 1",
        "32 x 1 x 1",
        "512 x 1 x 1",
        "64 x 1 x 1",
    ]


def test_what_the_caller_checks_holds_at_the_launch() -> None:
    main = DECLARED + "void go(float* p, int n) { TORCH_CHECK(n <= 512, n); run(p, n, n); }\n"
    (launch,) = launches({"ops.cu": RUN, "main.cpp": main})

    assert [each.text for each in launch.equalities] == ["n == blockDim.x", "n == gridDim.x"]
    assert "n <= 512" in [each.text for each in launch.conditions]


def test_extents_and_defaults_of_the_declaration() -> None:
    run = (
        KERNEL
        + "namespace ops { void run(float* p, dim3 block, int rows) {\n k<<<1, dim3(block.x, rows)>>>(p, 1); } }\n"
    )
    main = (
        "namespace ops { void run(float* p, dim3 block, int rows = 4); }\n"
        "void go(float* p) { ops::run(p, dim3(32, 8)); }\n"
    )

    assert blocks({"ops.cu": run, "main.cpp": main}) == ["32 x 4 x 1"]


def test_from_file_to_file() -> None:
    texts = {
        "ops.cu": RUN,
        "b.cpp": DECLARED + "void middle(float* p, int t) { run(p, 1, 2 * t); }\n",
        "c.cpp": "void middle(float*, int);\nvoid outer(float* p, int t) { middle(p, t + 32); }\n",
        "d.cpp": "void outer(float*, int);\nint main() { outer(nullptr, 32); }\n",
    }
    assert blocks(texts) == ["128 x 1 x 1"]
    # one file more is too far
    texts |= {
        "d.cpp": "void outer(float*, int);\nvoid last(int t) { outer(nullptr, t); }\n",
        "e.cpp": "void last(int);\nint main() { last(32); }\n",
    }
    assert blocks(texts) == ["2 * t + 64 x 1 x 1"]


def test_a_caller_in_a_header_is_read_through_its_includers() -> None:
    header = (
        "#pragma once\n"
        + DECLARED
        + "__global__ void other();\ninline void go(float* p) { run(p, 1, THREADS); }\n"
    )
    texts = {
        "ops.cu": RUN,
        "go.cuh": header,
        "a.cu": '#define THREADS 64\n#include "go.cuh"\nvoid a(float* p) { go(p); }\n',
        "b.cu": '#define THREADS 96\n#include "go.cuh"\nvoid b(float* p) { go(p); }\n',
    }
    assert blocks(texts, go=["a.cu", "b.cu"]) == ["64 x 1 x 1", "96 x 1 x 1"]
    texts["c.cu"] = '#define THREADS 128\n#include "go.cuh"\n'  # calls nothing
    assert blocks(texts, go=["a.cu", "b.cu", "c.cu"]) == ["64 x 1 x 1", "96 x 1 x 1"]


def test_the_kernel_of_a_header() -> None:
    texts = {
        "k.cuh": "#pragma once\n" + KERNEL,
        "ops.cu": '#include "k.cuh"\nvoid run(float* p, int n, int threads) { k<<<n, threads>>>(p, n); }\n',
        "main.cu": DECLARED + "int main() { run(nullptr, 8, 256); }\n",
    }
    assert blocks(texts, "k.cuh", k=["ops.cu"]) == ["256 x 1 x 1"]


CALLS = DECLARED + "void one(float* p) { run(p, 1, 256); }\n"


@pytest.mark.parametrize(
    "other",
    [
        DECLARED + "void two(float* p, int n) { run(p, 1, n); }\n",  # not known what it passes
        DECLARED + 'PYBIND11_MODULE(ext, m) { m.def("run", &run); }\n',
        DECLARED + 'TORCH_LIBRARY(ext, m) { m.def("run", run); }\n',
        DECLARED + "void (*table[])(float*, int, int) = {run};\n",
        DECLARED + "void two(float* p) { auto f = run; f(p, 1, 64); }\n",
        DECLARED + "REGISTER(run);\n",
        "void two(float* p) { run(p, 1, 64); }\n",  # declared out of sight
        DECLARED + "void run(double*, int, int);\nvoid two(double* p) { run(p, 1, 64); }\n",  # which one?
        DECLARED + "void two(float* p) { ((( run(p, 1, 64); }\n",
        DECLARED + "int done = (run(nullptr, 1, 64), 1);\n",
    ],
)
def test_one_caller_that_is_not_understood_leaves_the_block_open(other: str) -> None:
    texts = {"ops.cu": RUN, "one.cpp": CALLS, "other.cpp": other}
    found = blocks(texts)

    assert any(not each[0].isdigit() for each in found), found


@pytest.mark.parametrize(
    "other",
    [
        "static void run(float* p, int n, int t) {}\nvoid two(float* p) { run(p, 1, 64); }\n",  # its own
        "struct A { void run(float*, int, int); };\nvoid two(A a, float* p) { a.run(p, 1, 64); }\n",
        "namespace b { void run(float*, int, int); void two(float* p) { run(p, 1, 64); } }\n",
        DECLARED + "// run(p, 1, 64)\n",
        DECLARED + "#if 0\nvoid two(float* p) { run(p, 1, 64); }\n#endif\n",
        "void run(float*, int);\nvoid two(float* p) { run(p, 1); }\n",
    ],
)
def test_another_function_of_that_name_says_nothing(other: str) -> None:
    assert blocks({"ops.cu": RUN, "one.cpp": CALLS, "other.cpp": other}) == ["256 x 1 x 1"]


@pytest.mark.parametrize(
    "run",
    [
        RUN.replace("void run", "static void run"),
        "namespace {\n" + RUN + "}\n",
        KERNEL + "struct A { void run(float* p, int n, int threads) { k<<<n, threads>>>(p, n); } };\n",
        KERNEL
        + "struct A { void run(float*, int, int); };\n"
        + "void A::run(float* p, int n, int threads) { k<<<n, threads>>>(p, n); }\n",
    ],
)
def test_what_other_files_cannot_call_by_name_asks_nobody(run: str) -> None:
    class Unasked(Files):
        def calling(self, path: str, name: str) -> Sequence[str] | None:
            raise AssertionError(name)

    report = check(run, path="ops.cu", reader=Unasked({"ops.cu": run, "one.cpp": CALLS}))
    assert [each.block_text for each in report.kernels[0].kernel.launches] == OPEN


def test_without_a_caller_the_block_is_open() -> None:
    assert blocks({"ops.cu": RUN, "other.cpp": DECLARED}) == OPEN


def test_too_many_callers_leave_the_block_open() -> None:
    texts = {f"c{i}.cpp": CALLS.replace("one", f"one{i}") for i in range(9)}
    assert blocks({"ops.cu": RUN, **texts}) == OPEN
    texts.pop("c0.cpp")
    assert blocks({"ops.cu": RUN, **texts}) == ["256 x 1 x 1"]


def test_files_that_call_each_other() -> None:
    texts = {
        "ops.cu": "void back(float*, int);\n"
        + KERNEL
        + "void run(float* p, int t) { if (t > 64) back(p, t); k<<<1, t>>>(p, 1); }\n",
        "back.cpp": "void run(float*, int);\nvoid back(float* p, int t) { run(p, t / 2); }\n",
        "main.cpp": "void run(float*, int);\nint main() { run(nullptr, 128); }\n",
    }
    assert any(not each[0].isdigit() for each in blocks(texts))


def test_two_copies_of_a_project() -> None:
    texts = {
        f"/p/{copy}/{name}": text
        for copy, threads in (("one", 128), ("two", 256))
        for name, text in (
            ("src/ops.cu", RUN),
            ("src/main.cpp", DECLARED + f"void go(float* p) {{ run(p, 1, {threads}); }}\n"),
        )
    }
    assert blocks(texts, "/p/one/src/ops.cu") == ["128 x 1 x 1"]
    assert blocks(texts, "/p/two/src/ops.cu") == ["256 x 1 x 1"]
    # a function of its file alone takes no calls of others
    texts["/p/two/src/ops.cu"] = RUN.replace("void run", "static void run")
    assert blocks(texts, "/p/one/src/ops.cu") == ["128 x 1 x 1", "256 x 1 x 1"]
