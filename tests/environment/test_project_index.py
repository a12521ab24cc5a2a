"""Which files of a project lend their context to another one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from smem_lsp.engine import summarise
from smem_lsp.environment import DiskReader, Indexing
from smem_lsp.environment.index_store import IndexStore
from smem_lsp.source.file_summary import FileSummary

KERNEL = "template <int N> __global__ void k(float* p) { __shared__ float s[TILE]; p[0] = s[0]; }\n"


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write({"p/setup.py": ""})


def write(texts: dict[str, str]) -> None:
    for name, text in texts.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def project(**options: object) -> DiskReader:
    return DiskReader(indexing=Indexing(summarise, **options))  # type: ignore[arg-type]


def includers(path: str, reader: DiskReader | None = None) -> list[str]:
    return [os.path.relpath(each, "p") for each in (reader or project()).includers(path)]


def naming(path: str, *names: str) -> list[str]:
    return [os.path.relpath(each, "p") for each in project().naming(path, names)]


# ---- includers -------------------------------------------------------------------------------------------------------


def test_the_main_files_of_a_header() -> None:
    write(
        {
            "p/k.cuh": KERNEL,
            "p/mid.cuh": '#include "k.cuh"\n',
            "p/direct.cu": '#include "k.cuh"\n',
            "p/far.cu": '#include "mid.cuh"\n',
            "p/other.cu": "int a;\n",
        }
    )
    assert includers("p/k.cuh") == ["direct.cu", "far.cu"]
    assert includers("p/mid.cuh") == ["far.cu"]
    assert includers("p/direct.cu") == []
    assert includers("p/nowhere.cuh") == []


def test_a_header_at_the_end_of_a_chain_is_its_main_file() -> None:
    write({"p/k.cuh": KERNEL, "p/api.h": '#include "k.cuh"\n'})
    assert includers("p/k.cuh") == ["api.h"]


def test_a_source_that_is_included_is_a_header() -> None:
    write({"p/k.cu": KERNEL, "p/a.cu": '#include "k.cu"\n', "p/b.cu": '#include "a.cu"\n'})
    assert includers("p/k.cu") == ["b.cu"]


def test_circles() -> None:
    write({"p/a.cuh": '#include "b.cuh"\n', "p/b.cuh": '#include "a.cuh"\n#include "b.cuh"\n'})
    assert includers("p/a.cuh") == ["b.cuh"]
    write({"p/m.cu": '#include "a.cuh"\n'})
    assert includers("p/b.cuh") == ["m.cu"]


def test_files_with_a_compile_command_come_first() -> None:
    write(
        {
            "p/k.cuh": KERNEL,
            "p/mid.cuh": '#include "k.cuh"\n',
            "p/a.cu": '#include "k.cuh"\n',
            "p/build/z.cu": '#include "mid.cuh"\n',
            "p/compile_commands.json": '[{"file": "build/z.cu", "directory": ".", "command": "nvcc build/z.cu"}]',
        }
    )
    assert includers("p/k.cuh") == ["build/z.cu", "a.cu"]


def test_the_first_eight_of_five_hundred_differ() -> None:
    write({"p/k.cuh": KERNEL})
    write({f"p/a{n:03}.cu": f'#define TILE {n // 60}\n#include "k.cuh"\n' for n in range(500)})
    found = includers("p/k.cuh")
    assert len(found) == 500
    assert len({Path("p", name).read_text() for name in found[:8]}) == 8


def test_instances_differ_too_and_unrelated_macros_do_not() -> None:
    write(
        {
            "p/k.cuh": KERNEL,
            "p/a.cu": '#define A 1\n#include "k.cuh"\ntemplate __global__ void k<1>(float*);\n',
            "p/b.cu": '#define B 1\n#include "k.cuh"\ntemplate __global__ void k<1>(float*);\n',
            "p/c.cu": '#include "k.cuh"\nvoid f() { k<2><<<1, 1>>>(0); }\n',
        }
    )
    assert includers("p/k.cuh") == ["a.cu", "c.cu", "b.cu"]


def test_a_file_that_launches_comes_before_one_that_does_not() -> None:
    write({f"p/a{n:03}.cu": '#include "k.cuh"\n' for n in range(20)})
    write({"p/k.cuh": KERNEL, "p/z.cu": '#include "k.cuh"\nvoid f() { k<<<1, 1>>>(0); }\n'})
    assert includers("p/k.cuh")[0] == "z.cu"


def test_a_source_that_is_compiled_by_itself_is_one_of_its_main_files() -> None:
    entry = '[{"file": "k.cu", "directory": ".", "command": "nvcc k.cu"}]'
    write({"p/k.cu": KERNEL, "p/a.cu": '#include "k.cu"\n', "p/compile_commands.json": entry})
    assert includers("p/k.cu") == ["k.cu", "a.cu"]
    assert includers("p/a.cu") == []


def test_the_nearest_come_first() -> None:
    write({"p/x/k.cuh": KERNEL})
    write({f"p/{name}": '#include "x/k.cuh"\n' for name in ("a/b/c.cu", "x/n.cu", "y/m.cu")})
    assert includers("p/x/k.cuh") == ["x/n.cu", "y/m.cu", "a/b/c.cu"]


def test_what_is_under_a_constant_condition_or_in_a_comment_is_no_include() -> None:
    write({"p/k.cuh": KERNEL, "p/a.cu": '#if 0\n#include "k.cuh"\n#endif\n// #include "k.cuh"\n'})
    assert includers("p/k.cuh") == []


def test_two_copies_of_a_project_do_not_mix() -> None:
    for copy in ("p/one", "p/two"):
        write({f"{copy}/include/lib/k.cuh": KERNEL, f"{copy}/src/m.cu": "#include <lib/k.cuh>\n"})
    assert includers("p/one/include/lib/k.cuh") == ["one/src/m.cu"]
    assert includers("p/two/include/lib/k.cuh") == ["two/src/m.cu"]


def test_outside_of_a_project_the_folder_counts() -> None:
    write(
        {"loose/k.cuh": KERNEL, "loose/m.cu": '#include "k.cuh"\n', "loose/in/n.cu": '#include "../k.cuh"\n'}
    )
    assert includers("loose/k.cuh") == ["../loose/m.cu"]
    named = project(folders=(str(Path("loose").absolute()),))
    assert includers("loose/k.cuh", named) == ["../loose/m.cu", "../loose/in/n.cu"]


def test_a_reader_without_an_index_knows_none() -> None:
    write({"p/k.cuh": KERNEL, "p/m.cu": '#include "k.cuh"\n'})
    assert DiskReader().includers("p/k.cuh") == DiskReader().naming("p/k.cuh", ["k"]) == ()


# ---- kernels of other files ------------------------------------------------------------------------------------------


def test_files_that_launch_a_kernel_they_only_declare() -> None:
    write(
        {
            "p/k.cu": "__global__ void k(float* p) { p[0] = 1; }\n",
            "p/k.h": "__global__ void k(float* p);\n",
            "p/main.cu": '#include "k.h"\nvoid f() { k<<<1, 64>>>(0); }\n',
            "p/pointer.cu": '#include "k.h"\nvoid f() { cudaLaunchKernel((void*)k, 1, 32, 0, 0, 0); }\n',
            "p/extern.cu": "void f() { k<<<1, 64>>>(0); }\n",
            "p/own.cu": "__global__ void k(float* p) { p[1] = 1; }\nvoid f() { k<<<1, 64>>>(0); }\n",
            "p/word.cu": "void f(int k) { launch(k, 1); }\n",
            "p/comment.cu": "// k<<<1, 64>>>(0);\n#if 0\nvoid f() { k<<<1, 64>>>(0); }\n#endif\n",
        }
    )
    assert naming("p/k.cu", "k") == ["main.cu", "pointer.cu", "extern.cu", "k.h"]
    assert naming("p/k.cu") == naming("p/k.cu", "j") == []


def test_includers_are_not_named_again() -> None:
    write({"p/k.cuh": KERNEL, "p/m.cu": '#include "k.cuh"\nvoid f() { k<2><<<1, 1>>>(0); }\n'})
    assert naming("p/k.cuh", "k") == []


def test_a_launch_belongs_to_the_nearest_kernel_of_that_name() -> None:
    for copy in ("p/one", "p/two"):
        write(
            {
                f"{copy}/k.cu": "__global__ void k(float* p) { p[0] = 1; }\n",
                f"{copy}/m.cu": "__global__ void k(float* p);\nvoid f() { k<<<1, 64>>>(0); }\n",
            }
        )
    assert naming("p/one/k.cu", "k") == ["one/m.cu"]


# ---- callers ---------------------------------------------------------------------------------------------------------


def calling(reader: DiskReader, path: str, name: str) -> list[str]:
    return [os.path.relpath(each, "p") for each in reader.calling(path, name) or ()]


def test_the_files_whose_code_names_a_function() -> None:
    write({"p/ops.cu": "void run(int t) {}\n", "p/a.cpp": "int main() { run(3); }\n", "p/b.cpp": "// run\n"})
    reader = project()
    assert calling(reader, "p/ops.cu", "run") == ["a.cpp"]
    assert reader.calling("p/a.cpp", "main") == []
    write({"p/b.cpp": "void go() { run(4); }\n"})
    reader.forget([str(Path("p/b.cpp").absolute())])
    assert calling(reader, "p/ops.cu", "run") == ["a.cpp", "b.cpp"]
    Path("p/a.cpp").unlink()
    reader.forget([str(Path("p/a.cpp").absolute())])
    assert calling(reader, "p/ops.cu", "run") == ["b.cpp"]
    assert DiskReader().calling("p/ops.cu", "run") is None


def test_other_words_of_a_file_leave_its_links_alone() -> None:
    write({"p/ops.cu": "void run(int t) {}\n", "p/a.cpp": "int main() {}\n"})
    reader = project()
    assert calling(reader, "p/ops.cu", "run") == []
    index = reader.index("p/ops.cu")
    assert index is not None
    before = index.generation, index.worded
    reader.show(str(Path("p/a.cpp").absolute()), "int main() { run(256); }\n")
    assert calling(reader, "p/ops.cu", "run") == ["a.cpp"]
    assert (index.generation, index.worded) == (before[0], before[1] + 1)


# ---- what changes ----------------------------------------------------------------------------------------------------


def test_an_includer_that_comes_changes_is_renamed_and_goes() -> None:
    write({"p/k.cuh": KERNEL, "p/a.cu": '#include "k.cuh"\n'})
    reader = project()
    assert includers("p/k.cuh", reader) == ["a.cu"]
    write({"p/new/b.cu": '#include "k.cuh"\n'})
    reader.forget([str(Path("p/new/b.cu").absolute())])
    assert includers("p/k.cuh", reader) == ["a.cu", "new/b.cu"]
    write({"p/a.cu": "int changed_to_another_size;\n"})
    reader.forget([str(Path("p/a.cu").absolute())])
    assert includers("p/k.cuh", reader) == ["new/b.cu"]
    Path("p/new/b.cu").rename("p/new/c.cu")  # and nobody says so
    assert includers("p/k.cuh", reader) == []
    reader.forget()
    assert includers("p/k.cuh", reader) == ["new/c.cu"]


def test_a_header_that_comes_is_found_by_those_that_wanted_it() -> None:
    write({"p/a.cu": '#include "lib/k.cuh"\n', "p/deep/lib/k.cuh": KERNEL})
    reader = project()
    assert includers("p/deep/lib/k.cuh", reader) == ["a.cu"]
    write({"p/lib/k.cuh": KERNEL})  # beside the file
    reader.forget([str(Path("p/lib/k.cuh").absolute())])
    assert includers("p/lib/k.cuh", reader) == ["a.cu"]
    assert includers("p/deep/lib/k.cuh", reader) == []


def test_a_folder_that_comes() -> None:
    write({"p/k.cuh": KERNEL})
    reader = project()
    assert includers("p/k.cuh", reader) == []
    write({"p/more/a.cu": '#include "k.cuh"\n'})
    reader.forget([str(Path("p/more").absolute())])
    assert includers("p/k.cuh", reader) == ["more/a.cu"]


def test_an_open_text_counts_instead_of_the_file() -> None:
    write({"p/k.cuh": KERNEL, "p/a.cu": "int a;\n"})
    reader = project()
    path = str(Path("p/a.cu").absolute())
    assert includers("p/k.cuh", reader) == []
    reader.show(path, '#include "k.cuh"\n')
    assert includers("p/k.cuh", reader) == ["a.cu"]
    reader.hide(path)
    assert includers("p/k.cuh", reader) == []


def test_an_include_of_a_link_is_one_of_the_file() -> None:
    write({"p/inc/k.cuh": KERNEL, "p/a.cu": '#include "own.cuh"\n', "p/b.cu": '#include "far/k.cuh"\n'})
    Path("p/own.cuh").symlink_to("inc/k.cuh")
    Path("p/far").symlink_to("inc", target_is_directory=True)
    assert includers("p/inc/k.cuh") == ["a.cu", "b.cu"]
    assert includers("p/own.cuh") == ["a.cu", "b.cu"]


# ---- bad input -------------------------------------------------------------------------------------------------------


def test_links_are_not_followed() -> None:
    write({"p/k.cuh": KERNEL, "outside/m.cu": '#include "../p/k.cuh"\n', "p/a.cu": '#include "k.cuh"\n'})
    Path("p/link").symlink_to("../outside", target_is_directory=True)
    Path("p/m.cu").symlink_to("../outside/m.cu")
    Path("p/up").symlink_to("..", target_is_directory=True)
    Path("shown.cuh").symlink_to("p/k.cuh")
    reader = project()
    assert includers("p/k.cuh", reader) == ["a.cu"]
    reader.forget([str(Path("p/m.cu").absolute()), str(Path("p/link/m.cu").absolute())])
    assert includers("p/k.cuh", reader) == ["a.cu"]


def test_what_cannot_be_read_is_left_out() -> None:
    write({"p/k.cuh": KERNEL, "p/a.cu": '#include "k.cuh"\n', "p/closed/b.cu": '#include "../k.cuh"\n'})
    Path("p/binary.cu").write_bytes(b'#include "k.cuh"\n\0')
    with Path("p/huge.cu").open("wb") as file:
        file.write(b'#include "k.cuh"\n')
        file.truncate(10_000_000)
    os.mkfifo("p/pipe.cu")
    Path("p/closed").chmod(0)
    try:
        found = includers("p/k.cuh")
    finally:
        Path("p/closed").chmod(0o755)
    assert [name for name in found if name != "closed/b.cu"] == ["a.cu"]  # root may read everything


def test_a_file_that_includes_a_header_five_hundred_times() -> None:
    write({"p/k.cuh": KERNEL})
    write({"p/a.cu": "".join(f'#define TILE {n}\n#include "k.cuh"\n#undef TILE\n' for n in range(500))})
    assert includers("p/k.cuh") == ["a.cu"]


# ---- include folders -------------------------------------------------------------------------------------------------


def test_the_include_folders_of_a_project() -> None:
    write(
        {
            "p/include/lib/a.h": "",
            "p/third/inc/b/c.h": "",
            "p/src/m.cu": "#include <lib/a.h>\n#include <b/c.h>\n",
        }
    )
    index = project().index("p/src/m.cu")
    assert index is not None
    assert {os.path.relpath(folder, "p"): count for folder, count in index.tree.roots.items()} == {
        "include": 1,
        "src": 0,
        "third/inc": 1,
    }


def test_an_include_folder_decides_between_files_that_are_equally_near() -> None:
    write({"p/include/x.h": "int a;", "p/tests/x.h": "int b;", "p/lib/m.cu": '#include "x.h"\n'})
    assert DiskReader().search("x.h", "p/lib/m.cu") is None
    reader = project()
    assert includers("p/include/x.h", reader) == ["lib/m.cu"]
    assert reader.search("x.h", "p/lib/m.cu") == str(Path("p/include/x.h"))
    write({"p/src/x.h": "int c;"})
    assert includers("p/include/x.h") == []  # which one?


def test_missing_includes_are_listed_once() -> None:
    write({f"p/{name}.cu": '#include "gone.h"\n#include <iosfwd>\n#include <lib/gone.h>\n' for name in "abc"})
    index = project().index("p/a.cu")
    assert index is not None
    assert [(each.name, each.files, Path(each.example).name) for each in index.missing()] == [
        ('"gone.h"', 3, "a.cu"),
        ("<lib/gone.h>", 3, "a.cu"),
    ]


# ---- steps and the store ---------------------------------------------------------------------------------------------


def test_in_the_background_nobody_waits() -> None:
    write({"p/k.cuh": KERNEL, "p/a.cu": '#include "k.cuh"\n'})
    reader = project(background=True)
    assert reader.advance()  # nobody has asked
    assert includers("p/k.cuh", reader) == []
    steps = 0
    while not reader.advance(lambda: True):
        steps += 1
        assert steps < 100
    assert steps > 2
    assert includers("p/k.cuh", reader) == ["a.cu"]


@pytest.fixture
def counted() -> list[str]:
    """The texts that are summarised."""
    return []


def counting(seen: list[str]) -> Callable[[str], FileSummary]:
    return lambda text: seen.append(text) or summarise(text)  # type: ignore[func-returns-value]


def test_an_index_is_kept_for_the_next_run(counted: list[str], tmp_path: Path) -> None:
    write({"p/k.cuh": KERNEL, "p/a.cu": '#include "k.cuh"\n'})
    store = IndexStore(tmp_path / "cache")

    def run() -> list[str]:
        return includers("p/k.cuh", DiskReader(indexing=Indexing(counting(counted), store)))

    assert (run(), len(counted)) == (["a.cu"], 2)
    assert (run(), len(counted)) == (["a.cu"], 2)
    write({"p/a.cu": '#include "k.cuh" // changed\n', "p/b.cu": '#include "k.cuh"\n'})
    assert (run(), len(counted)) == (["a.cu", "b.cu"], 4)
    (kept,) = (tmp_path / "cache").iterdir()
    whole = kept.read_bytes()
    for damaged in (
        b"",
        whole[:-30],
        whole[: len(whole) // 2],
        whole.replace(b"a.cu", b"c.cu"),
        b"[]\n" + whole,
    ):
        kept.write_bytes(damaged)
        assert run() == ["a.cu", "b.cu"]
        assert kept.read_bytes() == whole
    assert len(counted) == 4 + 5 * 3


def test_a_cache_that_cannot_be_written_does_not_matter(counted: list[str], tmp_path: Path) -> None:
    write({"p/k.cuh": KERNEL, "p/a.cu": '#include "k.cuh"\n', "cache": "a file"})
    reader = DiskReader(indexing=Indexing(counting(counted), IndexStore(tmp_path / "cache" / "index")))
    assert includers("p/k.cuh", reader) == ["a.cu"]
    assert len(counted) == 2
    assert Path("cache").read_text() == "a file"
