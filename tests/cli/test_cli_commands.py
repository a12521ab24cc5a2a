"""Commands other than ``check``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import smem_lsp
from smem_lsp.cli.layout import split_kernel
from smem_lsp.output.version import VERSION

Command = Callable[..., tuple[int, str, str]]

ROOT = Path(smem_lsp.__file__).parents[1]


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=60)


@pytest.mark.parametrize("arguments", [("--version",), ("-V",), ("check", "--version")])
def test_version(smem: Command, arguments: tuple[str, ...]) -> None:
    assert smem(*arguments) == (0, f"smem-lsp {VERSION}\n", "")


def test_help(smem: Command) -> None:
    assert smem("--help")[0] == 0
    assert "--output-format" in smem("check", "--help")[1]


def test_no_command_prints_help_and_fails(smem: Command) -> None:
    code, out, err = smem()
    assert (code, out) == (2, "")
    assert "check" in err


def test_unknown_command(smem: Command) -> None:
    assert smem("chek") == (2, "", "smem-lsp: unknown command `chek`, did you mean `check`?\n")
    assert smem("--versoin")[0] == 2


def test_explain(smem: Command) -> None:
    code, out, _ = smem("explain", "SMEM201")
    assert code == 0
    assert out.startswith("# SMEM201 missing-barrier\n\nSeverity: warning\n\nSays something.\n")
    assert smem("explain", "missing-barrier")[1] == out
    assert smem("explain", "smem201")[1] == out


def test_explain_all_and_json(smem: Command) -> None:
    assert smem("explain", "--all")[1].count("# SMEM") == 3
    one = json.loads(smem("explain", "SMEM201", "--format", "json")[1])
    assert (one["code"], one["name"], one["summary"]) == ("SMEM201", "missing-barrier", "Says something")
    assert len(json.loads(smem("explain", "--all", "--format", "json")[1])) == 3


def test_explain_what_is_not_there(smem: Command) -> None:
    assert smem("explain", "missing-barier") == (
        2,
        "",
        "smem-lsp: unknown rule `missing-barier`, did you mean `missing-barrier`?\n",
    )
    assert smem("explain")[0] == smem("explain", "SMEM201", "--all")[0] == 2


def test_rules(smem: Command) -> None:
    code, out, _ = smem("rules")
    assert code == 0
    assert out.splitlines() == [
        "SMEM101  unused-buffer      warning  Says something",
        "SMEM201  missing-barrier    warning  Says something",
        "SMEM301  mergeable-buffers  warning  Says something",
    ]


def test_rules_as_json(smem: Command) -> None:
    code, out, _ = smem("rules", "--format", "json")
    assert code == 0
    assert [each["code"] for each in json.loads(out)] == ["SMEM101", "SMEM201", "SMEM301"]
    assert json.loads(out)[1] == {
        "code": "SMEM201",
        "name": "missing-barrier",
        "severity": "warning",
        "on_by_default": True,
        "summary": "Says something",
    }


@pytest.mark.parametrize("name", ["k.cu", "gone.cuh", ".", "src"])
def test_a_path_instead_of_a_command(smem: Command, name: str) -> None:
    Path("k.cu").write_text("")
    Path("src").mkdir()
    assert smem(name) == (
        *(2, ""),
        f"smem-lsp: `{name}` is no command, did you mean `smem-lsp check {name}`?\n",
    )


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("--format", "json", "k.cu"), "smem-lsp check --format json k.cu"),
        (("--fix", "sp ace.cu"), "smem-lsp check --fix 'sp ace.cu'"),
        (("sp ace.cu", "--format", "json"), "smem-lsp check 'sp ace.cu' --format json"),
        (("--format", "json"), "smem-lsp check --format json"),
        (("--quiet", "check", "k.cu"), "smem-lsp check --quiet k.cu"),
        (("k.cu", "--define", "A" * 300), "smem-lsp check …"),
    ],
)
def test_what_is_meant_can_be_typed(smem: Command, typed: tuple[str, ...], meant: str) -> None:
    code, out, err = smem(*typed)
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert err.endswith(f", did you mean `{meant}`?\n")


def test_a_misspelt_flag_alone_is_corrected(smem: Command) -> None:
    wanted = "smem-lsp: unknown flag `--versoin`, did you mean `--version`?\n"
    assert smem("--versoin") == (2, "", wanted)


def test_explain_in_colours(smem: Command) -> None:
    plain, coloured = smem("explain", "SMEM201")[1], smem("explain", "SMEM201", "--color", "always")[1]
    assert coloured.startswith("\x1b[1m# SMEM201 missing-barrier\x1b[0m\n")
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == plain


def test_check_explains_its_settings(smem: Command, tmp_path: Path) -> None:
    Path("a.cu").write_text("BUG\n")
    Path("smem.toml").write_text("threads = 256\n")
    flags = ("--arch", "sm_90", "--exclude", "gen")
    code, out, err = smem("check", "a.cu", "--explain-config", *flags)
    assert (code, err) == (0, "")
    assert f"# {tmp_path / 'smem.toml'}:1" in out and "# flag --arch" in out
    assert '# flag --exclude adds ["gen"]\n' in out
    assert smem("check", "--explain-config", *flags)[1].splitlines()[1:] == out.splitlines()[1:]
    assert smem("config", "a.cu", "--arch", "sm_90")[1].splitlines() == [
        line for line in out.splitlines() if "--exclude" not in line
    ]
    for command in (("check", "--explain-config"), ("config",)):
        (one,) = json.loads(smem(*command, "a.cu", "--arch", "sm_90", "--format", "json")[1])["paths"]
        assert (one["path"], one["config_file"]) == ("a.cu", str(tmp_path / "smem.toml"))
        assert one["settings"]["arch"] == {"value": ["sm_90"], "origin": "flag --arch"}
        assert one["settings"]["threads"] == {"value": 256, "origin": f"{tmp_path / 'smem.toml'}:1"}
        assert one["settings"]["nvcc"] == {"value": None, "origin": "default"}
    assert smem("check", "a.cu", "--explain-config", "--format", "sarif")[::2] == (
        *(2,),
        "smem-lsp: settings are printed as text or as json, not as sarif\n",
    )
    assert smem("check", "gone.cu", "--explain-config")[::2] == (
        *(2,),
        "smem-lsp: gone.cu: no such file or folder\n",
    )


def test_config_shows_origins(smem: Command, tmp_path: Path) -> None:
    Path("smem.toml").write_text('threads = 256\n[severity]\nSMEM301 = "info"\n')
    Path("a.cu").write_text("")
    code, out, _ = smem("config", "a.cu", "--arch", "sm_90")
    lines = dict(line.split(" = ", 1) for line in out.splitlines() if " = " in line)
    assert code == 0
    assert lines["threads"].split("  # ") == [
        "256".ljust(len(lines["threads"].split("  # ")[0])),
        f"{tmp_path / 'smem.toml'}:1",
    ]
    assert lines["arch"].split() == ['["sm_90"]', "#", "flag", "--arch"]
    assert lines["registers"].endswith("# default")
    assert lines["severity"].startswith('{ "SMEM301" = "info" }')
    assert smem("config")[1].splitlines()[1:] == smem("config", ".")[1].splitlines()[1:]


def test_config_shows_where_includes_are_found(smem: Command) -> None:
    for name, text in {
        "p/setup.py": "",
        "p/include/lib/a.h": "",
        "p/src/k.cu": '#include "lib/a.h"\n#include "gone.h"\n#include "given.h"\n',
        "given/given.h": "",
    }.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    out = smem("config", "p", "-I", "given")[1].splitlines()
    assert out[-6:] == [
        f"# project {Path('p').absolute()}: 2 files read",
        "# include folders, besides that of each file and -I:",
        "#   include (1 include)",
        "#   src (0 includes)",
        "# includes that no folder resolves:",
        '#   "gone.h" in 1 file: src/k.cu',
    ]


def test_config_errors(smem: Command) -> None:
    assert smem("config", "none") == (2, "", "smem-lsp: none: no such file or folder\n")
    Path("smem.toml").write_text("x = 1\n")
    assert smem("config", ".")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("none.cu",), "smem-lsp: none.cu: no such file or folder\n"),
        (("none.cu:k",), "smem-lsp: none.cu:k: no such file or folder\n"),
        (("a.cu",), "smem-lsp: a.cu: no kernel in this file\n"),
        ((".",), "smem-lsp: .: a folder; layout takes one file\n"),
        (
            ("a.cu", "--arch", "sm_1"),
            "smem-lsp: --arch: unknown GPU target 'sm_1', the nearest known is sm_50\n",
        ),
    ],
)
def test_layout_of_what_has_none(smem: Command, arguments: tuple[str, ...], line: str) -> None:
    Path("a.cu").write_text("int x;\n")
    assert smem("layout", *arguments) == (2, "", line)


def test_layout_argument() -> None:
    Path("a.cu").write_text("")
    Path("b:c.cu").write_text("")
    assert split_kernel("a.cu") == ("a.cu", None)
    assert split_kernel("a.cu:gemm") == ("a.cu", "gemm")
    assert split_kernel("a.cu:ns::gemm") == ("a.cu", "ns::gemm")
    assert split_kernel("b:c.cu") == ("b:c.cu", None)
    assert split_kernel("b:c.cu:k") == ("b:c.cu", "k")


@pytest.mark.parametrize("address", ["8080", "host:", "host:99999", ":80", "host:x"])
def test_server_address(smem: Command, address: str) -> None:
    assert smem("server", "--tcp", address) == (2, "", f"smem-lsp: --tcp {address}: use HOST:PORT\n")


def test_version_loads_next_to_nothing() -> None:
    script = (
        "import sys; from smem_lsp.cli import main; main(['--version']);"
        "print([m for m in ('argparse', 'lark', 'pygls', 'lsprotocol', 'smem_lsp.ir') if m in sys.modules])"
    )
    assert python("-c", script).stdout.splitlines()[-1] == "[]"


def test_the_server_starts_without_what_its_first_answer_does_not_need() -> None:
    script = (
        "import sys; from smem_lsp.cli.parser import parse; parse(['server', '--stdio']);"
        "import smem_lsp.server as server; server._import_asyncio(); import smem_lsp.server.stdio;"
        "print([m for m in ('ssl', 'smem_lsp.config', 'smem_lsp.targets', 'pygls') if m in sys.modules]);"
        "import ssl; print(ssl.SSLContext.__name__)"
    )
    assert python("-c", script).stdout.splitlines() == ["[]", "SSLContext"]


def test_module_runs_and_takes_sys_argv() -> None:
    done = python("-m", "smem_lsp", "--version")
    assert (done.returncode, done.stdout) == (0, f"smem-lsp {VERSION}\n")


def test_closed_pipe_is_quiet() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "smem_lsp", "config", "."]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, cwd=ROOT, check=False, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")  # as of a program that SIGPIPE ends
