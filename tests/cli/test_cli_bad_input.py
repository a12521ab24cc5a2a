"""What strangers may put into a repository or on a command line: one line and exit 2, the rest is done."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]
KERNEL = "__global__ void k(float* out) {\n  __shared__ float a[4];\n  out[0] = 1;\n}\n"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody may enter, unlike those of pytest."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    for path in place.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(place)


AS_NOBODY = """
import os, sys, tempfile
from pathlib import Path
from smem_lsp.cli import main

# What is imported late is imported now: the interpreter may lie where nobody may look.
with tempfile.TemporaryDirectory() as warm, open(os.devnull, "w") as nothing:
    Path(warm, "k.cu").write_text(sys.argv[2])
    Path(warm, "smem.toml").write_text("")
    shown, sys.stdout = sys.stdout, nothing
    for format in ("full", "concise"):
        main(["check", "--output-format", format, warm])
    sys.stdout = shown
os.chdir(sys.argv[1])
exec(sys.argv[3])
if os.geteuid() == 0:
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
sys.exit(main(sys.argv[4:]))
"""


def as_nobody(place: Path, *arguments: str, before: str = "") -> tuple[int, str, str]:
    """Root may read everything: the command runs as a user who may not. ``before``: done as root."""
    command = [sys.executable, "-c", AS_NOBODY, str(place), KERNEL, before, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.real_engine
def test_folders_that_may_not_be_searched(folder: Path) -> None:
    for name in ("above/project/good", "above/project/closed/deep", "above/project/halfway"):
        (folder / name).mkdir(parents=True)
        (folder / name / "k.cu").write_text(KERNEL)
    (folder / "above/project/closed").chmod(0)
    (folder / "above/project/halfway").chmod(0o444)  # its names may be read, nothing of it can be looked at
    (folder / "above").chmod(0o711)
    code, out, err = as_nobody(folder / "above/project", "check", "--output-format", "concise", ".")
    assert code == 2
    assert out == "good/k.cu:2:20: warning SMEM101 `a` is declared and never accessed\n"
    assert sorted(err.splitlines()) == [
        "smem-lsp: closed: cannot be read: permission denied",
        "smem-lsp: halfway/k.cu: cannot be read: permission denied",
    ]


@pytest.mark.real_engine
@pytest.mark.parametrize("name", ["smem.toml", "compile_commands.json"])
def test_a_file_of_settings_that_may_not_be_read(folder: Path, name: str) -> None:
    (folder / "k.cu").write_text(KERNEL)
    (folder / name).write_text("")
    (folder / name).chmod(0)
    code, out, err = as_nobody(folder, "check", "--output-format", "concise", "k.cu")
    assert f"smem-lsp: {folder}/{name}: cannot be read: Permission denied" in err
    assert err.count("\n") == 1
    assert (code, out == "") == ((2, True) if name == "smem.toml" else (1, False))


@pytest.mark.real_engine
def test_a_folder_above_that_may_not_be_searched(folder: Path) -> None:
    """Who stands in a folder need not be allowed to look at those above."""
    (folder / "above/project").mkdir(parents=True)
    (folder / "above/project/k.cu").write_text(KERNEL)
    code, out, err = as_nobody(
        folder / "above/project", "check", "k.cu", before=f"os.chmod({str(folder / 'above')!r}, 0)"
    )
    assert (code, err) == (1, "")
    assert "warning[SMEM101]" in out


def test_a_tree_deeper_than_any_stack(smem: Command, tmp_path: Path) -> None:
    deep = os.open(".", os.O_RDONLY)
    for _ in range(1_100):
        os.mkdir("d", dir_fd=deep)
        inner = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = inner
    file = os.open("k.cu", os.O_WRONLY | os.O_CREAT, dir_fd=deep)
    os.write(file, b"BUG\n")
    os.close(file)
    os.close(deep)
    try:
        code, out, err = smem("check", ".", "--output-format", "concise")
        assert (code, out, err) == (1, f"{'d/' * 1_100}k.cu:1:1: warning SMEM101 a BUG\n", "")
    finally:
        subprocess.run(["rm", "-rf", "d"], check=True)


DEEP = "a = " + "[" * 100_000 + "]" * 100_000 + "\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (DEEP, "is nested deeper than 32 levels"),
        ("[" + ".".join("a" * 50_000) + "]\n", "is nested deeper than 32 levels"),
        (".".join("a" * 50_000) + " = 1\n", "is nested deeper than 32 levels"),
        ("x = " + "{a = " * 40 + "1" + "}" * 40 + "\n", "is nested deeper than 32 levels"),
        ("#" * (1 << 20) + "\n", "larger than 1 MB, not read"),
        ("defines = [" + '"A",' * 10_001 + "]\n", '"defines" holds 10,001 items; 10,000 at most'),
        (
            'defines = ["A=' + "1" * 10_000 + '"]\n',
            '"defines" holds a text of 10,002 characters; 10,000 at most',
        ),
        ("defines = {A = 0x" + "f" * 9_000 + "}\n", '"defines.A" is larger than any number of C++'),
        ("threads = 0x" + "f" * 9_000 + "\n", '"threads" must be between 1 and 1024, not a larger number'),
        ("threads = " + "9" * 9_000 + "\n", "is not valid TOML: Exceeds the limit"),
        ("x" * 9_000 + " = 1\n", f'unknown key "{"x" * 80}…"; known: arch,'),
        ('exclude = ["/"]\n', '"exclude" holds the pattern "/", which names nothing'),
    ],
    ids=lambda value: value[:12],
)
def test_a_config_file_of_strangers(smem: Command, text: str, problem: str) -> None:
    Path("k.cu").write_text("BUG\n")
    Path("smem.toml").write_text(text)
    code, out, err = smem("check", "k.cu", "--output-format", "concise")
    if "Exceeds" in problem and sys.version_info < (3, 11):
        pytest.skip("this Python reads numbers of any length")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and problem in err and len(err) < 400


def test_strings_and_comments_of_a_config_file_have_no_depth(smem: Command) -> None:
    Path("k.cu").write_text("ok\n")
    brackets = "[" * 40
    Path("smem.toml").write_text(
        f'# {brackets}\nexclude = [\'{brackets}\', "\\"{brackets}", \'\'\'\n{brackets}\'\'\', """{brackets}"""]\n'
    )
    assert smem("check", "k.cu") == (0, "No findings in 1 file.\n", "")


def link_to_device(place: Path) -> None:
    place.symlink_to("/dev/zero")


def link_to_itself(place: Path) -> None:
    place.symlink_to(place)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, link_to_device, link_to_itself])
@pytest.mark.parametrize("named", [True, False])
def test_a_config_file_that_is_none(smem: Command, make: Callable[[Path], None], named: bool) -> None:
    Path("k.cu").write_text("BUG\n")
    make(Path("smem.toml"))
    code, out, err = smem("check", "k.cu", *(["--config", "smem.toml"] if named else []))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and "smem.toml: cannot be read: " in err


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (("-I", "nowhere"), "-I nowhere: no such folder"),
        (("-I", "k.cu"), "-I k.cu: no such folder"),
        (("-I", ""), "-I holds an empty string"),
        (("--config", "no\nwhere"), r"no\nwhere: cannot be read: No such file or directory"),
        (("--config", "x" * 5_000), f"{'x' * 5_000}: cannot be read: File name too long"),
        (("--config", "a\0b"), r"a\x00b: cannot be read: its name holds a NUL character"),
        (("--select", ""), "--select names no rule; `smem-lsp rules` lists them"),
        (("--ignore", ", ,"), "--ignore names no rule; `smem-lsp rules` lists them"),
        (("--select", "SMEM9"), "--select: unknown rule `SMEM9`, did you mean"),
        (("--select", "x\x1b[31m" + "y" * 500), "--select: unknown rule `x\\x1b[31myyy"),
        (("-D1X",), '--define is wrong: "1X" is not a definition: use NAME or NAME=VALUE'),
        (("-DA=" + "x" * 10_000,), "--define holds a text of 10,002 characters; 10,000 at most"),
        (("-DA",) * 10_001, "10,001 flags; 10,000 at most"),
        (("-DA",) * 2_000_000, "2,000,000 flags; 10,000 at most"),
        (("--threads", "9" * 5_000), "argument --threads: `9999"),
        (("--" + "x" * 5_000,), "unknown flag `--xxx"),
    ],
    ids=lambda value: value[0][:10] if isinstance(value, tuple) else "",
)
def test_words_that_mean_nothing_on_a_command_line(
    smem: Command, flags: tuple[str, ...], problem: str
) -> None:
    Path("k.cu").write_text("BUG\n")
    code, out, err = smem("check", "k.cu", *flags)
    assert (code, out) == (2, "")
    assert err.startswith(f"smem-lsp: {problem}") and err.count("\n") == 1


def test_a_folder_of_a_config_file_that_is_not_there_is_told_once(smem: Command) -> None:
    """The file is written for more machines than this one: no error, but no silence either."""
    Path("a.cu").write_text("BUG\n")
    Path("b.cu").write_text("BUG\n")
    Path("smem.toml").write_text('\ninclude-dirs = ["nowhere", "."]\n')
    code, out, err = smem("check", ".", "--output-format", "concise")
    assert (code, out.count("\n")) == (1, 2)
    place = Path.cwd()
    assert (
        err == f"smem-lsp: {place}/smem.toml:2: include-dirs: no folder {place}/nowhere; going on without\n"
    )


def test_rules_have_one_name_in_any_case(smem: Command) -> None:
    Path("k.cu").write_text("BUG GRAVE COST\n")
    for word in ("smem101", "Unused-Buffer", "SMEM101", "smem1"):
        Path("smem.toml").write_text(f'ignore = ["{word}"]\n')
        assert "SMEM101" not in smem("check", "k.cu")[1]
        assert '"SMEM1' in smem("config", ".")[1]
    Path("smem.toml").write_text('per-file-ignores = { "*.cu" = ["smem101"] }\n')
    assert "SMEM101" not in smem("check", "k.cu")[1]
    Path("smem.toml").unlink()
    Path("k.cu").write_text("COST\n")
    smem("check", "k.cu", "--fix", "--select", "smem301")
    assert Path("k.cu").read_text() == "\n"


class Broken(io.RawIOBase):
    def readable(self) -> bool:
        return True

    def readinto(self, into: object) -> int:
        raise OSError(5, "Input/output error")


def test_what_is_wrong_with_stdin(smem: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.cu").write_text("BUG\n")
    monkeypatch.setattr(sys, "stdin", None)
    code, out, err = smem("check", "-", "a.cu", "--output-format", "concise")
    assert (code, out) == (2, "a.cu:1:1: warning SMEM101 a BUG\n")
    assert err == "smem-lsp: <stdin>: cannot be read: stdin is closed\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Broken())))
    assert smem("check", "-")[2] == "smem-lsp: <stdin>: cannot be read: input/output error\n"


def test_a_database_of_files_in_deep_folders(smem: Command) -> None:
    """What is kept of it grows with the entries, whatever the depth of their folders."""
    folder = Path.cwd()
    entries = [
        {"directory": "/", "file": f"/{n}/{'d/' * 400}k.cu", "command": f"nvcc -DN={n} k.cu"}
        for n in range(20_000)
    ]
    Path("compile_commands.json").write_text(json.dumps(entries))
    Path("k.cu").write_text("BUG\n")
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (10, 10))\n"
        "from smem_lsp.environment import CompileCommands\n"
        "commands = CompileCommands()\n"
        f"def of(path): print(commands.command(path, {str(folder)!r}).flags.defines)\n"
        "deep = '/19999/' + 'd/' * 400\n"
        "of(deep + 'k.cu'); of(deep + 'd/h.cuh'); of(deep + 'h.cuh'); of('/17/h.cuh')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines() == ["('N=19999',)"] * 3 + ["('N=17',)"], ran.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 200_000, "is not valid JSON: nested too deeply"),
        ("[" + "[]," * 6_000_000 + "1]", "holds more than 10,000,000 values, not read"),
        ("[" + "9" * 9_000 + "]", "cannot be read: Exceeds the limit"),
        (
            '[{"file": "k.cu", "command": "nvcc ' + "-DA " * 300_000 + '"}]',
            "is longer than 1,000,000 characters",
        ),
        (
            '[{"file": "k.cu", "arguments": ["nvcc"' + ', "-DA"' * 10_001 + "]}]",
            "has more than 10,000 definitions",
        ),
        ("null", "must be a list of compile commands"),
    ],
    ids=lambda value: value[:12],
)
def test_a_database_of_strangers(smem: Command, text: str, problem: str) -> None:
    Path("compile_commands.json").write_text(text)
    Path("k.cu").write_text("BUG\n")
    if "Exceeds" in problem and sys.version_info < (3, 11):
        pytest.skip("this Python reads numbers of any length")
    code, out, err = smem("check", "k.cu", "--output-format", "concise")
    assert (code, out) == (1, "k.cu:1:1: warning SMEM101 a BUG\n")
    assert err.count("\n") == 1 and problem in err and err.endswith("; going on without\n")
    code, out, err = smem("check", "k.cu", "--compile-commands", ".")
    assert (code, out, err.count("\n")) == (2, "", 1)
