"""A header is read through the files that include it."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.config import Config
from smem_lsp.engine import FileReport, Within, check, forget_files
from smem_lsp.ir.nodes import HeaderContext, Kernel
from smem_lsp.output.verdicts import lines
from smem_lsp.source import FileReader
from smem_lsp.source.queries import Store


@dataclass(frozen=True)
class Project(FileReader):
    """Files in memory, with who includes whom."""

    texts: Mapping[str, str]
    mains: Mapping[str, Sequence[str]] = field(default_factory=dict)
    named: Sequence[str] = ()

    def read(self, path: str) -> str | None:
        return self.texts.get(path)

    def search(self, name: str, including: str) -> str | None:
        return None

    def includers(self, path: str) -> Sequence[str]:
        return self.mains.get(path, ())

    def naming(self, path: str, names: Collection[str]) -> Sequence[str]:
        return self.named


TILE = """\
#pragma once
template <typename T>
__global__ void scale(T* out, int n) {
  __shared__ T tile[BM][BN];
  tile[threadIdx.y][threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""
RUNNER = """\
#define BM 16
#define BN 32
typedef double real;
#include "tile.cuh"
void run(real* p, int n) {
  scale<real><<<n, dim3(BN, BM)>>>(p, n);
}
"""


def mains(kernel: Kernel) -> tuple[str, ...]:
    return tuple(context.main for context in kernel.contexts)


def seen(project: Project, path: str) -> FileReport:
    return check(project.texts[path], path=path, reader=project)


def test_macros_types_and_launches_of_the_includer() -> None:
    report = seen(Project({"tile.cuh": TILE, "run.cu": RUNNER}, {"tile.cuh": ["run.cu"]}), "tile.cuh")

    (kernel,) = (each.kernel for each in report.kernels)
    assert kernel.instance == "scale<double>"
    assert report.kernels[0].static_bytes == 16 * 32 * 8
    assert kernel.contexts == (HeaderContext("run.cu", ("BM=16", "BN=32")),)
    (launch,) = kernel.launches
    assert (launch.path, launch.line, launch.block) == ("run.cu", 6, (32, 16, 1))


def test_files_that_differ_are_told_apart() -> None:
    other = RUNNER.replace("BM 16", "BM 8").replace("double", "float")
    files = {"tile.cuh": TILE, "run.cu": RUNNER, "other.cu": other, "same.cu": RUNNER}
    report = seen(Project(files, {"tile.cuh": ["run.cu", "other.cu", "same.cu"]}), "tile.cuh")

    found = [(each.kernel.instance, each.static_bytes, mains(each.kernel)) for each in report.kernels]
    assert found == [
        ("scale<double>", 4096, ("run.cu", "same.cu")),
        ("scale<float>", 1024, ("other.cu",)),
    ]


def test_a_header_that_nobody_reads_stands_alone() -> None:
    unread = RUNNER.replace("#include", "// #include")
    report = seen(Project({"tile.cuh": TILE, "run.cu": unread}, {"tile.cuh": ["run.cu"]}), "tile.cuh")

    (kernel,) = (each.kernel for each in report.kernels)
    assert kernel.template
    assert kernel.contexts == ()
    assert report.kernels[0].static_bytes is None


def test_an_include_in_an_inactive_branch_is_none() -> None:
    inactive = RUNNER.replace('#include "tile.cuh"', '#if 0\n#include "tile.cuh"\n#endif')
    report = seen(Project({"tile.cuh": TILE, "run.cu": inactive}, {"tile.cuh": ["run.cu"]}), "tile.cuh")

    assert report.kernels[0].kernel.contexts == ()


def test_a_header_included_twice_under_different_macros_is_two_contexts() -> None:
    kernel = """\
__global__ void NAME(float* out) {
  __shared__ float s[SIZE];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[SIZE - 1 - threadIdx.x];
}
"""
    main = """\
#define NAME small
#define SIZE 64
#include "kernel.inl"
#undef NAME
#undef SIZE
#define NAME large
#define SIZE 256
#include "kernel.inl"
void run(float* p) { small<<<1, 64>>>(p); large<<<1, 256>>>(p); }
"""
    report = seen(Project({"kernel.inl": kernel, "main.cu": main}, {"kernel.inl": ["main.cu"]}), "kernel.inl")

    found = {each.kernel.name: (each.static_bytes, each.kernel.launches[0].block) for each in report.kernels}
    assert found == {"small": (256, (64, 1, 1)), "large": (1024, (256, 1, 1))}


def test_a_launcher_between_the_kernel_and_its_user() -> None:
    launcher = """\
#pragma once
#include "tile.cuh"
template <typename T, int N>
void launch(T* p, int n) {
  scale<T><<<n, N>>>(p, n);
}
"""
    main = """\
#define BM 4
#define BN 4
#include "launch.cuh"
void run(float* p) { launch<float, 96>(p, 3); }
"""
    files = {"tile.cuh": TILE, "launch.cuh": launcher, "main.cu": main}
    report = seen(Project(files, {"tile.cuh": ["main.cu"]}), "tile.cuh")

    (kernel,) = (each.kernel for each in report.kernels)
    (launch,) = kernel.launches
    assert kernel.instance == "scale<float>"
    assert (launch.path, launch.line, launch.block) == ("launch.cuh", 5, (96, 1, 1))


def test_a_launch_behind_a_declaration_in_another_file() -> None:
    kernel = """\
__global__ void fill(float* out) {
  __shared__ float s[128];
  s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];
}
"""
    host = "__global__ void fill(float*);\nvoid run(float* p) { fill<<<1, 128>>>(p); }\n"
    report = seen(Project({"fill.cu": kernel, "host.cu": host}, named=["host.cu"]), "fill.cu")

    (launch,) = report.kernels[0].kernel.launches
    assert (launch.path, launch.line, launch.block) == ("host.cu", 2, (128, 1, 1))


def test_a_launch_that_another_file_gains_is_seen_by_a_store_that_knows_the_kernel() -> None:
    kernel = "__global__ void fill(float* out) {\n  __shared__ float s[128];\n  s[threadIdx.x] = *out;\n}\n"
    host = "__global__ void fill(float*);\nvoid run(float* p) { fill<<<1, %d>>>(p); }\n"
    alone = Project({"fill.cu": kernel})
    launched = [Project({"fill.cu": kernel, "host.cu": host % n}, named=["host.cu"]) for n in (64, 128)]
    store, verdicts = Store(), list[str]()
    for project in (alone, *launched, alone):
        found = check(kernel, path="fill.cu", reader=project, cache=store).kernels[0]
        verdicts.append(found.verdict.words)
        assert verdicts[-1] == seen(project, "fill.cu").kernels[0].verdict.words

    assert len(set(verdicts)) == 3


def test_launches_that_contradict_each_other_are_both_told() -> None:
    kernel = "#pragma once\n__global__ void k(float* p) { __shared__ float s[64]; s[threadIdx.x] = *p; }\n"
    files = {
        "k.cuh": kernel,
        "a.cu": '#include "k.cuh"\nvoid a(float* p) { k<<<1, 64>>>(p); }\n',
        "b.cu": '#include "k.cuh"\nvoid b(float* p) { k<<<1, 32>>>(p); }\n',
    }
    report = seen(Project(files, {"k.cuh": ["a.cu", "b.cu"]}), "k.cuh")

    (found,) = report.kernels
    assert [(each.path, each.threads) for each in found.kernel.launches] == [("a.cu", 64), ("b.cu", 32)]
    assert mains(found.kernel) == ("a.cu", "b.cu")


def test_an_unsaved_text_is_the_one_that_is_read() -> None:
    project = Project({"tile.cuh": TILE, "run.cu": RUNNER}, {"tile.cuh": ["run.cu"]})
    typed = TILE.replace("[BM][BN]", "[BM][BN + 1]")
    report = check(typed, path="tile.cuh", reader=project)

    assert report.kernels[0].static_bytes == 16 * 33 * 8


def test_a_includer_that_does_not_parse_lends_what_it_can() -> None:
    broken = RUNNER + "void half( {{{ <<<\n"
    report = seen(Project({"tile.cuh": TILE, "run.cu": broken}, {"tile.cuh": ["run.cu"]}), "tile.cuh")

    assert report.kernels[0].static_bytes == 4096


def test_files_that_include_each_other() -> None:
    files = {"tile.cuh": '#include "run.cu"\n' + TILE, "run.cu": RUNNER}
    report = seen(Project(files, {"tile.cuh": ["run.cu"]}), "tile.cuh")

    assert mains(report.kernels[0].kernel) == ("run.cu",)
    assert report.kernels[0].static_bytes == 4096


def test_the_chosen_context_is_the_only_one() -> None:
    other = RUNNER.replace("BM 16", "BM 8")
    project = Project(
        {"tile.cuh": TILE, "run.cu": RUNNER, "other.cu": other}, {"tile.cuh": ["run.cu", "other.cu"]}
    )
    chosen = check(TILE, path="tile.cuh", reader=project, within=Within(chosen="other.cu"))
    gone = check(TILE, path="tile.cuh", reader=project, within=Within(chosen="gone.cu"))

    assert [mains(each.kernel) for each in chosen.kernels] == [("other.cu",)]
    assert [mains(each.kernel) for each in gone.kernels] == [("run.cu",), ("other.cu",)]


def test_the_first_context_says_that_there_are_more() -> None:
    other = RUNNER.replace("BM 16", "BM 8")
    project = Project(
        {"tile.cuh": TILE, "run.cu": RUNNER, "other.cu": other}, {"tile.cuh": ["run.cu", "other.cu"]}
    )
    first = check(TILE, path="tile.cuh", reader=project, within=Within(first=True))

    assert first.more_contexts
    assert [mains(each.kernel) for each in first.kernels] == [("run.cu",)]
    assert not seen(project, "tile.cuh").more_contexts


def test_contexts_for_which_there_is_no_effort_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = importlib.import_module("smem_lsp.engine.kernels")
    monkeypatch.setattr(kernels, "_FOR_KERNELS", 0)
    unordered = TILE.replace("  __syncthreads();\n", "")
    other = RUNNER.replace("BM 16", "BM 8")
    files = {"tile.cuh": unordered, "run.cu": RUNNER, "other.cu": other}
    report = seen(Project(files, {"tile.cuh": ["run.cu", "other.cu"]}), "tile.cuh")

    assert [mains(each.kernel) for each in report.kernels] == [("run.cu",)]
    assert [each.words for each in report.stopped] == ["1 more instance or contexts of scale: effort"]
    race = next(finding for finding in report.findings if finding.code == "SMEM201")
    assert report.fixes_for(race) == ()


def test_a_header_included_500_times_under_different_macros() -> None:
    kernel = "__global__ void NAME(float* p) { __shared__ float s[SIZE]; s[threadIdx.x] = *p; *p = s[0]; }\n"
    main = "".join(
        f'#undef NAME\n#undef SIZE\n#define NAME k{i}\n#define SIZE {i + 1}\n#include "k.inl"\n'
        for i in range(500)
    )
    report = seen(Project({"k.inl": kernel, "main.cu": main}, {"k.inl": ["main.cu"]}), "k.inl")

    assert [each.static_bytes for each in report.kernels] == [4 * (i + 1) for i in range(8)]


@pytest.mark.parametrize(
    "host",
    [
        "void run(float* p) { fill<<<1, 128>>>(p); }\n",  # declared nowhere
        "__global__ void fill(float*, int);\nvoid run(float* p) { fill<<<1, 128>>>(p, 1); }\n",  # another one
        "__global__ void fill(float* p) {}\nvoid run(float* p) { fill<<<1, 128>>>(p); }\n",  # its own
    ],
)
def test_a_launch_of_another_kernel_of_that_name_is_none(host: str) -> None:
    kernel = (
        "__global__ void fill(float* out) { __shared__ float s[128]; s[threadIdx.x] = 1; *out = s[0]; }\n"
    )
    report = seen(Project({"fill.cu": kernel, "host.cu": host}, named=["host.cu"]), "fill.cu")

    assert report.kernels[0].kernel.launches == ()


def test_a_kernel_of_its_file_alone_is_launched_there() -> None:
    kernel = "static __global__ void fill(float* out) { __shared__ float s[128]; s[threadIdx.x] = 1; *out = s[0]; }\n"
    host = "__global__ void fill(float*);\nvoid run(float* p) { fill<<<1, 128>>>(p); }\n"
    report = seen(Project({"fill.cu": kernel, "host.cu": host}, named=["host.cu"]), "fill.cu")

    assert report.kernels[0].kernel.launches == ()


# ---- too many of them ------------------------------------------------------------------------------------------------

REVERSE = """\
#pragma once
__global__ void reverse(const float* in, float* out) {
  __shared__ float s[512];
  s[threadIdx.x] = in[threadIdx.x];
  SYNC;
  out[threadIdx.x] = s[N - 1 - threadIdx.x];
}
"""


def reversing(n: int, sync: str = "__syncthreads()") -> str:
    launch = f"void run(float* p) {{ reverse<<<1, {n}>>>(p, p); }}\n"
    return f'#define N {n}\n#define SYNC {sync}\n#include "reverse.cuh"\n{launch}'


def reversed_in(including: Sequence[str], **others: str) -> FileReport:
    files = {f"m{n:03}.cu": text for n, text in enumerate(including)}
    texts = {"reverse.cuh": REVERSE, **files, **others}
    return seen(Project(texts, {"reverse.cuh": list(files)}), "reverse.cuh")


def codes(report: FileReport) -> set[str]:
    return {each.code for each in report.findings}


def test_a_ninth_context_that_differs_leaves_all_of_them_undecided() -> None:
    few = [reversing(32 * n) for n in range(1, 9)]
    judged = reversed_in(few)
    assert {each.verdict.kind for each in judged.kernels} == {VerdictKind.RACE_FREE}
    assert judged.stopped == ()

    racy = reversed_in([*few, reversing(512, "((void)0)")])
    assert len(racy.kernels) == 8
    for kernel in racy.kernels:
        assert kernel.verdict.kind is VerdictKind.UNDECIDED
        assert "not all files that include it are read" in kernel.verdict.words
    assert [each.words for each in racy.stopped] == ["more contexts of reverse: too many"]
    (said,) = (each for each in racy.findings if each.code == "SMEM004")
    assert (
        said.message
        == "not all of this file was looked at: too many to look at: more contexts of `reverse`; "
        "`--effort thorough` goes on"
    )
    assert list(lines(racy))[-1] == "reverse.cuh:2 reverse: shared memory undecided: more contexts: too many"


def test_nothing_that_has_to_hold_in_all_contexts_is_said_of_some() -> None:
    """The ninth is the only one in which lanes of other warps read what the barrier orders."""
    own = """\
#pragma once
__global__ void reverse(float* p, float*) {
  __shared__ float s[512];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[N > 32 ? N - 1 - threadIdx.x : threadIdx.x];
}
"""
    few = [reversing(n) for n in range(1, 9)]
    assert "SMEM204" in codes(reversed_in(few, **{"reverse.cuh": own}))
    assert "SMEM204" not in codes(reversed_in([*few, reversing(512)], **{"reverse.cuh": own}))


def test_what_is_proposed_must_hold_in_all_contexts() -> None:
    """In the ninth the second buffer is read after the first one is filled again."""
    text = """\
#pragma once
__global__ void reverse(const float* in, float* out) {
  __shared__ float s[512];
  __shared__ float t[512];
  s[threadIdx.x] = in[threadIdx.x];
  SYNC;
  out[threadIdx.x] = s[N - 1 - threadIdx.x];
  __syncthreads();
  t[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = t[N - 1 - threadIdx.x] LATER;
}
"""
    few = ["#define LATER\n" + reversing(32 * n) for n in range(1, 9)]
    judged = reversed_in(few, **{"reverse.cuh": text})
    assert any(judged.fixes_for(each) for each in judged.findings if each.code == "SMEM301")
    ninth = "#define LATER + s[0]\n" + reversing(512)
    partly = reversed_in([*few, ninth], **{"reverse.cuh": text})
    assert not any(partly.fixes_for(each) for each in partly.findings)


def test_contexts_that_differ_in_launches_alone_are_all_read() -> None:
    launching = [reversing(256).replace("<<<1, 256>>>", f"<<<1, {n}>>>") for n in (*range(1, 20), 300)]
    report = reversed_in(launching)
    (kernel,) = report.kernels
    assert len(kernel.kernel.launches) == 20
    assert report.stopped == ()
    assert mains(kernel.kernel)[-1] == "m019.cu"


def test_files_that_neither_launch_nor_change_it_are_one() -> None:
    """Five hundred files include it as the first one does, and say nothing of it behind that."""
    only = (
        '#define N 256\n#define SYNC __syncthreads()\n#include "reverse.cuh"\nint f{n}() {{ return {n}; }}\n'
    )
    report = reversed_in([reversing(256), *(only.format(n=n) for n in range(500))])
    (kernel,) = report.kernels
    assert report.stopped == ()
    assert kernel.verdict.kind is VerdictKind.RACE_FREE
    assert mains(kernel.kernel) == ("m000.cu",)


@pytest.mark.parametrize(
    ("header", "call"),
    [
        ("inline void start(float* p, int n) { reverse<<<1, n>>>(p, p); }\n", "start(p, 512)"),
        ("#define START(p, n) reverse<<<1, n>>>(p, p)\n", "START(p, 512)"),
        ("struct Start { Start(float* p, int n) { reverse<<<1, n>>>(p, p); } };\n", "Start one(p, 512)"),
    ],
)
def test_a_file_that_leads_to_a_launch_is_read(header: str, call: str) -> None:
    include = '#define N 512\n#define SYNC __syncthreads()\n#include "reverse.cuh"\n#include "start.cuh"\n'
    quiet, launching = include + "int f() { return 1; }\n", include + f"void run(float* p) {{ {call}; }}\n"
    report = reversed_in([quiet, quiet, launching], **{"start.cuh": header})
    assert mains(report.kernels[0].kernel) == ("m000.cu", "m002.cu")


def test_a_ninth_instance_is_told_and_nothing_is_proposed() -> None:
    kernel = """\
template <int N>
__global__ void k(const float* in, float* out) {
  __shared__ float s[N];
  __shared__ float t[N];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[N - 1 - threadIdx.x];
  __syncthreads();
  t[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = t[N - 1 - threadIdx.x];
}
"""

    def launched(count: int) -> FileReport:
        launches = "".join(f"k<{32 * n}><<<1, {32 * n}>>>(p, p);" for n in range(1, count + 1))
        return check(f"{kernel}void run(float* p) {{ {launches} }}\n", path="k.cu")

    eight, nine = launched(8), launched(9)
    assert any(eight.fixes_for(each) for each in eight.findings)
    assert not any(nine.fixes_for(each) for each in nine.findings)
    assert [each.words for each in nine.stopped] == ["findings in more instances of k: too many"]
    assert not any(each.code == "SMEM004" for each in nine.findings)  # what is left out is proved
    assert list(lines(nine))[-1].startswith("k.cu:2 k<288>: shared memory race-free (")


# ---- source files that are included ----------------------------------------------------------------------------------


def test_a_source_file_that_is_included_does_not_stand_alone() -> None:
    kernel = "__global__ void k(real* p) { __shared__ real s[TILE]; s[threadIdx.x] = *p; *p = s[0]; }\n"
    main = '#define TILE 64\ntypedef double real;\n#include "k.cu"\nvoid run(real* p) { k<<<1, 64>>>(p); }\n'
    report = seen(Project({"k.cu": kernel, "main.cu": main}, {"k.cu": ["main.cu"]}), "k.cu")
    assert [(each.static_bytes, mains(each.kernel)) for each in report.kernels] == [(512, ("main.cu",))]


def test_one_that_is_compiled_by_itself_stands_alone_as_well() -> None:
    kernel = (
        "#ifndef TILE\n#define TILE 32\n#endif\n"
        "__global__ void k(float* p) { __shared__ float s[TILE]; s[threadIdx.x] = *p; *p = s[0]; }\n"
    )
    main = '#define TILE 64\n#include "k.cu"\n'
    project = Project({"k.cu": kernel, "main.cu": main}, {"k.cu": ["k.cu", "main.cu"]})
    found = [(each.static_bytes, mains(each.kernel)) for each in seen(project, "k.cu").kernels]
    assert found == [(128, ()), (256, ("main.cu",))]


def test_a_launch_by_the_driver_in_a_file_that_does_not_include_the_kernel() -> None:
    kernel = "__global__ void k(float* p) { __shared__ float s[64]; s[threadIdx.x] = 1; p[0] = s[63 - threadIdx.x]; }\n"
    host = """\
void run(CUmodule m, CUdeviceptr p) {
  CUfunction f;
  cuModuleGetFunction(&f, m, "k");
  void* a[] = {&p};
  cuLaunchKernel(f, 1, 1, 1, 48, 1, 1, 0, 0, a, 0);
}
"""
    project = Project({"k.cu": kernel, "host.cpp": host}, named=["host.cpp"])
    (found,) = check(kernel, path="k.cu", reader=project).kernels
    assert [(site.path, site.block) for site in found.kernel.launches] == [("host.cpp", (48, 1, 1))]


def test_effort_says_how_many_contexts_are_looked_at() -> None:
    mains_of = [f"run{n}.cu" for n in range(10)]
    files = {name: RUNNER.replace("BM 16", f"BM {16 + n}") for n, name in enumerate(mains_of)}
    project = Project({"tile.cuh": TILE, **files}, {"tile.cuh": mains_of})

    def looked_at(effort: str) -> int:
        return len(check(TILE, path="tile.cuh", reader=project, config=Config(effort=effort)).kernels)

    assert [looked_at(effort) for effort in ("quick", "normal", "thorough")] == [2, 8, 10]


SMALL = """\
#pragma once
__global__ void k(float* o) {
  __shared__ float s[64];
  s[threadIdx.x] = o[threadIdx.x];
  o[threadIdx.x] = s[63 - threadIdx.x];
}
"""
TOO_LARGE = '#include "k.cuh"\nvoid run(float* p) { k<<<1, 2048>>>(p); }\n'


def test_launches_that_come_and_go_are_told_where_they_stand() -> None:
    """The same launch in another file more, or in one less."""
    cache, none = Store(), '#include "k.cuh"\n'
    for first, second in (
        (TOO_LARGE, TOO_LARGE),
        (TOO_LARGE, none),
        (none, TOO_LARGE),
        (TOO_LARGE, "\n" + TOO_LARGE),
    ):
        project = Project({"k.cuh": SMALL, "a.cu": first, "b.cu": second}, {"k.cuh": ["a.cu", "b.cu"]})
        forget_files()
        known = check(SMALL, path="k.cuh", reader=project, cache=cache)
        fresh = check(SMALL, path="k.cuh", reader=project)
        assert [(each.message, each.span) for each in known.findings] == [
            (each.message, each.span) for each in fresh.findings
        ]
        assert "SMEM505" in {each.code for each in known.findings}
