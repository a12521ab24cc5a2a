"""compile_commands.json: found, read, and asked about files that are in it and files that are not."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path
from typing import Any

import pytest

from smem_lsp.environment import CompileCommands
from smem_lsp.environment.compile_commands import MAX_COMMAND, MAX_FLAGS, MAX_PATH, NAME
from smem_lsp.environment.compiler_commands import CompilerCommands
from smem_lsp.environment.options_files import split
from smem_lsp.source import CompileFlags


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def database(folder: str, *entries: tuple[str, str | list[str]], directory: str | None = None) -> Path:
    """Writes a database with (file, command) entries; commands as text or as arguments."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    items: list[dict[str, Any]] = [
        {
            "directory": directory or str(place.absolute()),
            "file": file,
            ("command" if isinstance(command, str) else "arguments"): command,
        }
        for file, command in entries
    ]
    (place / NAME).write_text(json.dumps(items))
    return place / NAME


def flags(path: str, command: str | list[str]) -> CompileFlags:
    database(".", (path, command))
    return CompileCommands().command(path).flags


def test_flags_of_a_command(tmp_path: Path) -> None:
    found = flags(
        "a.cu",
        "nvcc -Iinc -I /abs --include-path=more -isystem sys -isystemsys2 -iquote q -DN=4 -D 'S=\"x y\"' -DOLD -UOLD"
        " -U__linux__ -include pre.h -std=c++20 -gencode arch=compute_80,code=sm_80 -gencode"
        " arch=compute_90a,code=sm_90a -O3 -o a.o -c a.cu",
    )
    assert found == CompileFlags(
        include_dirs=tuple(str(tmp_path / name) for name in ("inc", "/abs", "more", "sys", "sys2")),
        quote_dirs=(str(tmp_path / "q"),),
        defines=("N=4", 'S="x y"', "__cplusplus=202002L"),
        undefines=("OLD", "__linux__"),
        includes=(str(tmp_path / "pre.h"),),
        arch="sm_90a",
    )


@pytest.mark.parametrize(
    "spelled", ["--options-file one.rsp", "-optf=one.rsp,none.rsp", "@one.rsp", "--options-file=one.rsp"]
)
def test_flags_in_a_file(spelled: str, tmp_path: Path) -> None:
    """CMake's Makefiles put the include folders of CUDA files into one."""
    (tmp_path / "one.rsp").write_text('-I"a b" -DN=4 @two.rsp @one.rsp\n')
    (tmp_path / "two.rsp").write_text("-isystem sys")
    found = flags("a.cu", f"nvcc -DM {spelled} -DN=5 -c a.cu")
    assert found.defines == ("M", "N=5")
    assert found.include_dirs == (str(tmp_path / "a b"), str(tmp_path / "sys"))
    assert CompilerCommands().nvcc_flags("a.cu")[:3] == ("-DM", "-I", str(tmp_path / "a b"))


def test_no_file_of_flags_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "fifo").mkdir()
    assert flags("a.cu", "nvcc --options-file none.rsp @fifo @ -DN -optf").defines == ("N",)


def test_arguments_need_no_shell() -> None:
    assert flags("a.cu", ["nvcc", "-DS=a b", "-D", "T='x'"]).defines == ("S=a b", "T='x'")


def test_the_last_definition_counts() -> None:
    assert flags("a.cu", "nvcc -DN=1 -UN -DN=2").defines == ("N=2",)


@pytest.mark.parametrize("flag", ["--default-stream per-thread", "-default-stream=per-thread"])
def test_the_default_stream_of_each_thread_is_a_macro(flag: str) -> None:
    assert flags("a.cu", f"nvcc {flag} -c a.cu").defines == ("CUDA_API_PER_THREAD_DEFAULT_STREAM=1",)
    assert flags("a.cu", f"nvcc {flag.replace('per-thread', 'legacy')} -c a.cu").defines == ()


def test_values_of_other_flags_are_not_taken_for_flags() -> None:
    assert flags(
        "a.cu", ["nvcc", "-o", "-Iout", "-ccbin", "-DX", "-MF", "-UY", "-dc", "-Iin"]
    ).include_dirs == (str(Path("in").absolute()),)


def test_folders_are_relative_to_the_directory_of_the_entry(tmp_path: Path) -> None:
    database("build", ("../src/a.cu", "nvcc -I../inc"), directory=str(tmp_path / "build"))
    assert CompileCommands().command("src/a.cu").flags.include_dirs == (str(tmp_path / "inc"),)


def test_a_quote_that_is_never_closed() -> None:
    assert flags("a.cu", "nvcc -DN=4 -DS='x").defines == ("N=4", "S='x")


def test_nearest_database_wins_and_build_counts_as_the_folder_above() -> None:
    database("p/build", ("../a/k.cu", "nvcc -DOUTER"))
    database("p/a", ("k.cu", "nvcc -DINNER"))
    commands = CompileCommands()
    assert commands.command("p/a/k.cu").flags.defines == ("INNER",)
    assert commands.command("p/x.cu").flags.defines == ("OUTER",)
    assert commands.command("x.cu").database is None


def test_a_setting_names_the_database_or_its_folder() -> None:
    place = database("out", ("../a.cu", "nvcc -DN"))
    commands = CompileCommands()
    assert commands.command("a.cu", str(place)).flags.defines == ("N",)
    assert commands.command("a.cu", "out").flags.defines == ("N",)
    assert commands.command("a.cu").flags.defines == ()


def test_a_header_is_compiled_like_a_file_in_the_nearest_folder() -> None:
    database(
        ".",
        ("src/deep/z.cpp", "g++ -DDEEP_HOST"),
        ("src/deep/y.cu", "nvcc -DDEEP"),
        ("src/a.cu", "nvcc -DSRC"),
        ("other/b.cu", "nvcc -DOTHER"),
        ("src/twin.cpp", "g++ -DTWIN"),
    )
    commands = CompileCommands()

    def defines(path: str) -> tuple[str, ...]:
        return commands.command(path).flags.defines

    assert defines("src/deep/h.cuh") == ("DEEP",)
    assert defines("src/h.cuh") == ("SRC",)
    assert defines("src/none/h.cuh") == ("SRC",)
    assert defines("src/twin.h") == ("TWIN",)
    assert defines("other/x/y/h.cuh") == ("OTHER",)


def test_a_changed_database_is_read_again() -> None:
    commands = CompileCommands()
    place = database(".", ("a.cu", "nvcc -DN=1"))
    assert commands.command("a.cu").flags.defines == ("N=1",)
    database(".", ("a.cu", "nvcc -DN=23"))
    assert commands.command("a.cu").flags.defines == ("N=23",)
    place.unlink()
    assert commands.command("a.cu").database is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[{]", "is not valid JSON: "),
        (b"", "is not valid JSON: "),
        (b"\xff\xfe[", "is not UTF-8 text (byte 0)"),
        (b"{}", "must be a list of compile commands"),
        (b'[1, {"file": 3}]', 'holds no compile command with "file" and "command" or "arguments"'),
        (b"[" * 100_000, "is not valid JSON: "),
    ],
)
def test_a_broken_database_is_one_problem(content: bytes, problem: str) -> None:
    Path(NAME).write_bytes(content)
    command = CompileCommands().command("a.cu")
    assert command.flags == CompileFlags()
    assert command.database == str(Path(NAME).absolute())
    assert command.problem is not None
    assert command.problem.startswith(problem)


def test_a_setting_that_leads_nowhere() -> None:
    assert CompileCommands().command("a.cu", "none.json").problem == "no such file"


def test_entries_that_are_none_are_left_out() -> None:
    good = {"directory": ".", "file": "a.cu", "command": "nvcc -DN"}
    bad = [7, {}, {"file": "a\0b", "command": ""}, {"file": "b.cu", "arguments": ["nvcc", 4]}]
    Path(NAME).write_text(json.dumps([*bad, good]))
    command = CompileCommands().command("a.cu")
    assert (command.flags.defines, command.problem) == (("N",), None)


def test_an_empty_database_says_nothing() -> None:
    Path(NAME).write_text("[]")
    command = CompileCommands().command("a.cu")
    assert (command.flags, command.problem) == (CompileFlags(), None)


def as_a_shell_reads_it(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


@pytest.mark.parametrize("seed", range(20))
def test_words_are_those_of_a_shell(seed: int) -> None:
    drawn = random.Random(seed)
    signs = 'ab \t\r\n\\\\\'""$#\xa0\u2028=é'
    for _ in range(1_000):
        text = "".join(drawn.choices(signs, k=drawn.randrange(14)))
        assert split(text) == as_a_shell_reads_it(text), repr(text)


@pytest.mark.parametrize("word", ["{}", '"{}"', "'{}'", '"\\{}"', "'{}", '"{}', "\\{}\\", "'' {}"])
def test_a_giant_word_is_looked_at_once(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`shlex` adds to a word sign by sign, and takes half a minute for one of a million."""

    def refused(text: str) -> list[str]:
        raise AssertionError(f"{len(text)} characters for a splitter that is quadratic")

    monkeypatch.setattr(shlex, "split", refused)
    assert sum(map(len, split(word.format("a" * MAX_COMMAND)))) in range(MAX_COMMAND, MAX_COMMAND + 4)


def test_a_giant_command_is_read(tmp_path: Path) -> None:
    value = "a" * (MAX_COMMAND - 100)
    assert flags("a.cu", f"nvcc -DN='{value}'").defines == (f"N={value}",)
    (tmp_path / "flags").write_text(f'-DN="{value}" "')  # a quote that is never closed
    assert flags("a.cu", "nvcc @flags").defines == (f'N="{value}"',)


def test_what_is_too_long_is_one_problem_and_no_flags_for_nvcc(tmp_path: Path) -> None:
    (tmp_path / "half").write_text("-DN " * (MAX_COMMAND // 6))
    for command in ("nvcc -D" + "a" * MAX_COMMAND, "nvcc @half @half", "nvcc" + " -Ia" * (MAX_FLAGS + 1)):
        database(".", ("a.cu", command))
        problem = CompileCommands().command("a.cu").problem
        assert problem is not None and "more than" in problem.replace("longer", "more")
        assert CompilerCommands().nvcc_flags("a.cu") == ()


def test_a_folder_without_end_is_none() -> None:
    """Each of ten thousand folders of a command would be joined with it."""
    folder = "a/" * (MAX_PATH // 2)
    database(".", ("a.cu", "nvcc -DN"), directory=folder)
    assert CompileCommands().command(f"{folder}a.cu").flags.defines == ("N",)
    database(".", ("a.cu", "nvcc -DN"), directory=f"{folder}a/")
    assert CompileCommands().command("a.cu").problem is not None


def test_an_architecture_without_end_is_none() -> None:
    """A number of five thousand digits is no number for Python."""
    command = f"nvcc -arch=sm_{'9' * 5_000} -gencode arch=compute_80,code=sm_80"
    assert flags("a.cu", command).arch == "sm_80"
