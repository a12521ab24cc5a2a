"""``smem-lsp completion``: the shells themselves read the scripts."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Callable

import pytest

from smem_lsp.cli.parser import COMMANDS, described_commands

Command = Callable[..., tuple[int, str, str]]


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"no {shell} here")


def ran(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def completed(script: str, *words: str) -> list[str]:
    """What bash offers for the last of the words."""
    line = " ".join(f"'{word}'" for word in words)
    asks = (
        f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _smem_lsp; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return [each for each in ran("bash", "--norc", "-c", f"{script}\n{asks}").splitlines() if each]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_flag_is_there(smem: Command, shell: str) -> None:
    code, out, err = smem("completion", shell)
    assert (code, err) == (0, "")
    for command in described_commands():
        assert command.name in COMMANDS
        shown = [action for action in command.actions if action.help != argparse.SUPPRESS]
        for flag in (flag for action in shown for flag in action.option_strings):
            fish = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
            assert (fish if shell == "fish" else flag) in out
    assert "clientProcessId" not in out


@needs("bash")
def test_bash(smem: Command) -> None:
    script = smem("completion", "bash")[1]
    assert completed(script, "smem-lsp", "c") == ["check", "config", "completion"]
    assert completed(script, "smem-lsp", "check", "--form") == ["--format"]
    assert completed(script, "smem-lsp", "check", "--format", "g") == ["github", "gitlab"]
    assert completed(script, "smem-lsp", "layout", "--format", "") == ["text", "json", "html", "svg"]
    assert completed(script, "smem-lsp", "explain", "SMEM2") == ["SMEM201"]
    assert completed(script, "smem-lsp", "check", "--select", "SMEM1") == ["SMEM101"]
    assert completed(script, "smem-lsp", "check", "k") == []  # then bash completes files


@needs("zsh")
def test_zsh(smem: Command) -> None:
    script = smem("completion", "zsh")[1]
    # The completion's own functions need a terminal; what they are given does not.
    asks = (
        "_describe() { print -l ${(P)2} }; _arguments() { print -l -- $@ }; compdef() { : };"
        "words=(smem-lsp check ''); CURRENT=3;"
    )
    out = ran("zsh", "-f", "-c", f"{asks}\n{script}\n_smem_lsp")
    assert "*--format[" in out and ":value:(full concise json sarif github gitlab junit)" in out
    out = ran("zsh", "-f", "-c", f"{asks}\n{script}\nCURRENT=2; _smem_lsp")
    assert "check:lint files and folders" in out.splitlines()


@needs("fish")
def test_fish(smem: Command) -> None:
    script = smem("completion", "fish")[1]

    def offered(line: str) -> list[str]:
        out = ran("fish", "--no-config", "-c", f"{script}\ncomplete -C {line!r}")
        return [each.partition("\t")[0] for each in out.splitlines()]

    assert offered("smem-lsp che") == ["check"]
    assert offered("smem-lsp check --format g") == ["github", "gitlab"]
    assert offered("smem-lsp explain SMEM2") == ["SMEM201"]
    assert "--baseline" in offered("smem-lsp check --base")


def test_an_unknown_shell(smem: Command) -> None:
    code, out, err = smem("completion", "csh")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "invalid choice: 'csh'" in err
