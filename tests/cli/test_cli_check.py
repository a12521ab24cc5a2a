"""``smem-lsp check``: findings, exit codes, formats, bad input."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from toy_engine import toy_check

import smem_lsp.engine
from smem_lsp.output import json_

Command = Callable[..., tuple[int, str, str]]


def write(name: str, text: str = "int x;\n") -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(text.encode())


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_clean(smem: Command) -> None:
    write("a.cu")
    assert smem("check", "a.cu") == (0, "No findings in 1 file.\n", "")
    assert smem("check", "--quiet") == (0, "", "")


def test_findings_give_1(smem: Command) -> None:
    write("k/a.cu", "BUG\nGRAVE\n")
    code, out, err = smem("check", "k")
    assert (code, err) == (1, "")
    assert out.startswith("warning[SMEM101]: a BUG\n --> k/a.cu:1:1\n")
    assert out.endswith("2 findings (1 error, 1 warning) in 1 of 1 file.\n1 fixable with --fix.\n")


def test_concise_is_nothing_but_lines(smem: Command) -> None:
    write("a.cu", "x BUG\r\n\x0cGRAVE\r\n")
    write("b.cu", "COST\n")
    _, out, err = smem("check", ".", "--output-format", "concise")
    assert (
        out
        == "a.cu:1:3: warning SMEM101 a BUG\na.cu:2:2: error SMEM201 a GRAVE\nb.cu:1:1: info SMEM301 a COST\n"
    )
    assert err == ""


@pytest.mark.parametrize(("limit", "code"), [("error", 0), ("warning", 1), ("info", 1), ("hint", 1)])
def test_fail_on(smem: Command, limit: str, code: int) -> None:
    write("a.cu", "BUG COST\n")
    assert smem("check", "a.cu", "--fail-on", limit)[0] == code


def test_info_alone_does_not_fail(smem: Command) -> None:
    write("a.cu", "COST\n")
    assert smem("check", "a.cu")[0] == 0
    assert smem("check", "a.cu", "--fail-on", "info")[0] == 1


def test_exit_zero_hides_findings_but_no_failure(smem: Command) -> None:
    write("a.cu", "GRAVE\n")
    assert smem("check", "a.cu", "--exit-zero")[0] == 0
    assert smem("check", "a.cu", "none.cu", "--exit-zero")[0] == 2


def test_json_object(smem: Command) -> None:
    write("a.cu", "BUG // ü\n")
    write("b.cu")
    code, out, err = smem("check", "a.cu", "b.cu", "none.cu", "--output-format", "json")
    whole = json.loads(out)
    schema = json.loads((Path(json_.__file__).parent / "schema.json").read_text())
    jsonschema.validate(whole, schema, jsonschema.Draft202012Validator)
    assert (code, err) == (2, "smem-lsp: none.cu: no such file or folder\n")
    assert [f["path"] for f in whole["findings"]] == ["a.cu"]
    errors = {f["path"]: f["error"] for f in whole["files"]}
    assert errors == {"a.cu": None, "b.cu": None, "none.cu": "no such file or folder"}


def test_two_wins_over_one_and_the_rest_is_done(smem: Command) -> None:
    write("a.cu", "GRAVE\n")
    write("b.cu", "\0\1\2")
    code, out, err = smem("check", "a.cu", "b.cu", "gone.cu", "--output-format", "concise")
    assert code == 2
    assert out == "a.cu:1:1: error SMEM201 a GRAVE\n"
    assert sorted(err.splitlines()) == [
        "smem-lsp: b.cu: a binary file, not source text",
        "smem-lsp: gone.cu: no such file or folder",
    ]


def test_folder_without_cuda(smem: Command) -> None:
    Path("empty").mkdir()
    code, out, err = smem("check", "empty")
    assert (code, out) == (0, "No findings in 0 files.\n")
    assert err == "smem-lsp: empty: no CUDA files here (.cu, .cuh, .hip, or headers with device code)\n"


def test_empty_file_is_fine(smem: Command) -> None:
    write("a.cu", "")
    assert smem("check", "a.cu")[0] == 0


def test_special_file(smem: Command) -> None:
    os.mkfifo("a.cu")
    code, _, err = smem("check", "a.cu")
    assert (code, err) == (2, "smem-lsp: a.cu: cannot be read: is not a regular file\n")


def test_file_names_that_are_no_utf8(smem: Command) -> None:
    name = os.fsdecode(b"k\xff.cu")
    write(name, "BUG\n")
    code, out, _ = smem("check", ".", "--output-format", "concise")
    assert (code, out) == (1, "k\\udcff.cu:1:1: warning SMEM101 a BUG\n")
    assert json.loads(smem("check", ".", "--output-format", "json")[1])["files"][0]["path"] == name


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--selct", "X"), "smem-lsp: unknown flag `--selct`, did you mean `--select`?"),
        (("--select", "SMEM999"), "smem-lsp: --select: unknown rule `SMEM999`"),
        (
            ("--ignore", "missing-barier"),
            "smem-lsp: --ignore: unknown rule `missing-barier`, did you mean `missing-barrier`?",
        ),
        (("--arch", "sm_91"), "smem-lsp: --arch: unknown GPU target 'sm_91'"),
        (("--arch", ","), "smem-lsp: --arch must name at least one target"),
        (("--threads", "0"), "smem-lsp: argument --threads: `0` is not a whole number above 0"),
        (("--threads", "4096"), "smem-lsp: --threads must be between 1 and 1024, not 4096"),
        (("--registers", "300"), "smem-lsp: --registers must be between 1 and 255, not 300"),
        (("--define", "1X"), 'smem-lsp: --define is wrong: "1X" is not a definition'),
        (("--fail-on", "fatal"), "smem-lsp: argument --fail-on: invalid choice: 'fatal'"),
        (("--unsafe-fixes",), "smem-lsp: --unsafe-fixes needs --fix or --diff"),
        (("--config", "none.toml"), "smem-lsp: none.toml: cannot be read"),
        (("--config", "x", "--isolated"), "smem-lsp: --isolated and --config contradict each other"),
        (("--stdin-filename", "x.cu"), "smem-lsp: --stdin-filename needs `-` among the paths"),
    ],
)
def test_wrong_flags_are_one_line_and_2(smem: Command, arguments: tuple[str, ...], line: str) -> None:
    write("a.cu")
    code, out, err = smem("check", "a.cu", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(line)
    assert err.count("\n") == 1


def test_rules_may_be_named_by_prefix(smem: Command) -> None:
    write("a.cu", "GRAVE BUG\n")
    _, out, err = smem("check", "a.cu", "--ignore", "SMEM2", "--output-format", "concise")
    assert (out, err) == ("a.cu:1:7: warning SMEM101 a BUG\n", "")


def test_broken_config_stops_only_its_files(smem: Command) -> None:
    write("good/a.cu", "BUG\n")
    write("bad/smem.toml", "thread = 3\n")
    write("bad/b.cu", "BUG\n")
    write("bad/c.cu", "BUG\n")
    code, out, err = smem("check", ".", "--output-format", "concise")
    assert code == 2
    assert out == "good/a.cu:1:1: warning SMEM101 a BUG\n"
    assert err.splitlines() == [
        f'smem-lsp: {Path("bad/smem.toml").absolute()}:1: unknown key "thread", did you mean "threads"?'
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("select = [", "is not valid TOML"),
        ('select = ["SMEM9"]', ":1: unknown rule `SMEM9`"),
        ('severity.nothing = "info"', ":1: unknown rule `nothing`"),
        ('arch = "sm_1"', ":1: unknown GPU target"),
        ('per-file-ignores."*" = ["x"]', ":1: unknown rule `x`"),
    ],
)
def test_config_files_are_judged(smem: Command, text: str, problem: str) -> None:
    write("a.cu")
    write("smem.toml", text + "\n")
    code, _, err = smem("check", "a.cu")
    assert code == 2
    assert problem in err
    assert err.count("\n") == 1


def test_config_file_holds_and_flags_win(smem: Command) -> None:
    write("smem.toml", 'ignore = ["SMEM101"]\nexclude = ["gen"]\n')
    write("a.cu", "BUG GRAVE\n")
    write("gen/b.cu", "BUG\n")
    concise = ("check", ".", "--output-format", "concise")
    assert smem(*concise)[1] == "a.cu:1:5: error SMEM201 a GRAVE\n"
    assert smem(*concise, "--ignore", "SMEM201")[1] == "a.cu:1:1: warning SMEM101 a BUG\n"
    assert smem(*concise, "--isolated")[1].count("\n") == 3


def test_per_file_ignores(smem: Command) -> None:
    write("smem.toml", '[per-file-ignores]\n"t/*" = ["unused-buffer"]\n')
    write("a.cu", "BUG\n")
    write("t/b.cu", "BUG\n")
    # The toy engine knows codes only; a name would need the registry of rules.
    write("smem.toml", '[per-file-ignores]\n"t/*" = ["SMEM101"]\n')
    assert smem("check", ".", "--output-format", "concise")[1] == "a.cu:1:1: warning SMEM101 a BUG\n"


def test_stdin(smem: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, b"BUG\n")
    code, out, _ = smem("check", "-", "--stdin-filename", "dir/k.cu", "--output-format", "concise")
    assert (code, out) == (1, "dir/k.cu:1:1: warning SMEM101 a BUG\n")
    stdin(monkeypatch, b"BUG\n")
    assert smem("check", "-", "--output-format", "concise")[1].startswith("<stdin>:1:1: ")
    stdin(monkeypatch, b"\0")
    assert smem("check", "-")[::2] == (2, "smem-lsp: <stdin>: a binary file, not source text\n")


def test_stdin_takes_the_settings_of_its_name(smem: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    write("dir/smem.toml", 'ignore = ["SMEM101"]\n')
    stdin(monkeypatch, b"BUG\n")
    assert smem("check", "-", "--stdin-filename", "dir/k.cu")[0] == 0


def test_statistics(smem: Command) -> None:
    write("a.cu", "BUG BUG GRAVE\n")
    _, out, _ = smem("check", "a.cu", "--statistics", "--output-format", "concise")
    assert out.splitlines()[-3:] == [
        "2  SMEM101  warning  unused-buffer",
        "1  SMEM201  error    missing-barrier",
        "5 statements, 1 not parsed; 0 accesses and barriers not resolved",
    ]


def test_colour(smem: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.cu", "BUG\n")
    assert "\x1b[" not in smem("check", "a.cu")[1]
    assert "\x1b[" in smem("check", "a.cu", "--color", "always")[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[" in smem("check", "a.cu")[1]
    assert "\x1b[" not in smem("check", "a.cu", "--color", "never")[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in smem("check", "a.cu")[1]


def test_a_defect_of_ours_costs_one_file(smem: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fragile(text: str, **rest: object) -> object:
        if "CRASH" in text:
            raise RuntimeError("deep\ninside")
        return toy_check(text, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(smem_lsp.engine, "check", fragile, raising=False)
    write("a.cu", "CRASH\n")
    write("b.cu", "BUG\n")
    code, out, err = smem("check", ".", "--output-format", "concise")
    assert (code, out) == (2, "b.cu:1:1: warning SMEM101 a BUG\n")
    assert err.startswith("smem-lsp: a.cu: internal error: RuntimeError at test_cli_check.py:")
    assert err.count(": deep inside (Python ") == 1 and err.count("\n") == 1
    assert "; please report this line (smem-lsp " in err


def test_a_broken_compile_database_is_named_once(smem: Command) -> None:
    write("compile_commands.json", "[{]")
    write("a.cu")
    write("b.cu")
    code, _, err = smem("check", ".")
    assert code == 0
    assert "compile_commands.json: is not valid JSON: " in err
    assert err.endswith("; going on without\n")
    assert err.count("\n") == 1
    assert smem("check", ".", "--isolated")[2] == ""


def test_a_compile_database_that_is_not_there(smem: Command) -> None:
    write("a.cu")
    code, _, err = smem("check", "a.cu", "--compile-commands", "none.json")
    assert (code, err.count("\n")) == (2, 1)
    assert err.endswith("none.json: no such file\n")


def test_a_broken_compile_database_that_is_named_is_an_error(smem: Command) -> None:
    write("smem.toml", 'compile-commands = "build"\n')
    write("build/compile_commands.json", "{}")
    write("a.cu")
    write("b.cu")
    code, _, err = smem("check", ".")
    assert code == 2
    assert err.endswith("compile_commands.json: must be a list of compile commands\n")
    assert err.count("\n") == 1
