"""What a compiler said is kept for later sessions, as long as everything that it read is as it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from toolchain import nvcc, require

from smem_lsp.environment import compiler_store
from smem_lsp.environment.compiler import Compiler, Request
from smem_lsp.environment.compiler_process import Stop
from smem_lsp.environment.compiler_store import CompilerStore
from smem_lsp.environment.nvcc import read_files
from smem_lsp.source.cache_folder import cache_folder

TEXT = '#include "size.h"\n__global__ void k() { __shared__ float s[SIZE]; }\n'


def fake(folder: Path, *, says: bool = True) -> str:
    """An nvcc in shell that reads ``size.h``, says so, and leaves a line in ``runs`` each time."""
    place = folder / "nvcc"
    rule = f"printf 'kernel.cubin : kernel.cu \\\\\\n    {folder}/size.h\\n' > files.d\n" if says else ""
    place.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --list-gpu-code ]; then echo sm_80; echo sm_90; exit 0; fi\n'
        f"echo >> {folder}/runs\n{rule}"
        f"if grep -q wrong {folder}/size.h; then echo 'error: no'; exit 1; fi\n"
        "echo \"ptxas info    : Compiling entry function '_Z1kILi3EEvv' for 'sm_90'\"\n"
        "echo 'ptxas info    : Used 40 registers, used 1 barriers, 64 bytes smem'\n"
    )
    place.chmod(0o755)
    (folder / "size.h").write_text("#define SIZE 16\n")
    return str(place)


def runs(folder: Path) -> int:
    place = folder / "runs"
    return len(place.read_text().splitlines()) if place.exists() else 0


def asked(folder: Path, program: str, *, text: str = TEXT, defines: tuple[str, ...] = ()) -> list[int]:
    """Registers, as a new session gets them."""
    compiler = Compiler(CompilerStore(folder / "store"))
    request = compiler.request(
        text, None, ["sm_90"], setting=program, include_dirs=[str(folder)], defines=defines
    )
    assert isinstance(request, Request)
    compiler.compile(request, Stop(), lambda arch: None)
    return [each.registers for each in compiler.known(request)]


def test_the_next_session_does_not_compile_again(tmp_path: Path) -> None:
    program = fake(tmp_path)
    assert asked(tmp_path, program) == asked(tmp_path, program) == [40]
    assert runs(tmp_path) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "size.h").write_text("#define SIZE 17\n"),
        lambda folder: (folder / "size.h").unlink(),
        lambda folder: (folder / "nvcc").write_text((folder / "nvcc").read_text() + "\n"),
    ],
    ids=["a header", "a header that is gone", "the compiler"],
)
def test_what_was_read_has_to_be_the_same(change: Callable[[Path], object], tmp_path: Path) -> None:
    program = fake(tmp_path)
    asked(tmp_path, program)
    change(tmp_path)
    asked(tmp_path, program)
    assert runs(tmp_path) == 2


def test_another_text_or_another_flag_is_another_question(tmp_path: Path) -> None:
    program = fake(tmp_path)
    asked(tmp_path, program)
    asked(tmp_path, program, text=TEXT + "\n")
    asked(tmp_path, program, defines=("A=1",))
    assert runs(tmp_path) == 3


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    program = fake(tmp_path)
    (tmp_path / "size.h").write_text("wrong\n")
    assert asked(tmp_path, program) == asked(tmp_path, program) == []
    assert runs(tmp_path) == 2


def test_nothing_is_kept_where_it_is_not_known_what_was_read(tmp_path: Path) -> None:
    program = fake(tmp_path, says=False)
    asked(tmp_path, program)
    asked(tmp_path, program)
    assert runs(tmp_path) == 2 and not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "null", "[" * 9_000, '{"version": 1}', '{"version": 1, "question": 3}', "\udcff"],
)
def test_a_damaged_file_is_no_answer(damage: str, tmp_path: Path) -> None:
    program = fake(tmp_path)
    asked(tmp_path, program)
    (place,) = (tmp_path / "store").glob("*.json")
    place.write_bytes(damage.encode("utf-8", "surrogateescape"))
    assert asked(tmp_path, program) == [40]
    assert runs(tmp_path) == 2
    assert asked(tmp_path, program) == [40]
    assert runs(tmp_path) == 2  # it was mended


@pytest.mark.parametrize("key", ["name", "registers", "shared_bytes", "arguments", "sizes", "more"])
def test_an_answer_of_another_form_is_none(key: str, tmp_path: Path) -> None:
    program = fake(tmp_path)
    asked(tmp_path, program)
    (place,) = (tmp_path / "store").glob("*.json")
    answer = json.loads(place.read_text())
    answer["kernels"][0][key] = {"strange": [1]}
    place.write_text(json.dumps(answer))
    assert asked(tmp_path, program) == [40]
    assert runs(tmp_path) == 2


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
def test_a_folder_or_a_pipe_is_no_answer(tmp_path: Path) -> None:
    program = fake(tmp_path)
    asked(tmp_path, program)
    (place,) = (tmp_path / "store").iterdir()
    place.unlink()
    os.mkfifo(place)  # whoever opens it would wait for somebody who writes
    assert asked(tmp_path, program) == [40]
    assert runs(tmp_path) == 2
    place.unlink()
    place.mkdir()
    assert asked(tmp_path, program) == asked(tmp_path, program) == [40]
    assert list((tmp_path / "store").iterdir()) == [place]


def test_a_folder_that_cannot_be_written_to_costs_nothing_else(tmp_path: Path) -> None:
    program = fake(tmp_path)
    (tmp_path / "store").write_text("a file")
    assert asked(tmp_path, program) == [40]


def test_the_answers_used_last_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_store, "MOST_ANSWERS", 3)
    program = fake(tmp_path)
    for number in range(6):
        asked(tmp_path, program, text=f"{TEXT}// {number}\n")
    assert len(list((tmp_path / "store").iterdir())) == 3
    asked(tmp_path, program, text=f"{TEXT}// 5\n")
    assert runs(tmp_path) == 6


def test_a_cache_folder_is_never_relative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    assert cache_folder().is_absolute()
    monkeypatch.setenv("HOME", ".")
    with pytest.raises(RuntimeError, match="home folder"):
        cache_folder()


def test_files_of_a_rule() -> None:
    rule = "kernel.cubin : kernel.cu \\\n    /a/b\\ c.h \\\n    /x/bin/../d.h smem_flags.h\n"
    assert list(read_files(rule, "/tmp/f")) == ["/a/b c.h", "/x/d.h"]


def test_with_the_real_one(tmp_path: Path) -> None:
    """A header of the file, and those of CUDA, are among what was read."""
    program = str(require(nvcc(), "no nvcc here"))
    (tmp_path / "size.h").write_text("#define SIZE 16\n")
    text = TEXT.replace("void k() {", "void k(float* p) {").replace(
        "; }", "; s[threadIdx.x] = *p; *p = s[3]; }"
    )
    first = asked(tmp_path, program, text=text)
    (place,) = (tmp_path / "store").glob("*.json")
    files = [file for file, _ in json.loads(place.read_text())["files"]]
    assert str(tmp_path / "size.h") in files and any(file.endswith("cuda_runtime.h") for file in files)
    assert len(first) == 1 and asked(tmp_path, program, text=text) == first
