"""The commands of README.md, as they are typed, on a fresh copy of what git knows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
import toolchain

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# Run elsewhere, with what they need: by .ci/run, release_dry_run.py and tests/editor; `verify` needs nvcc.
ELSEWHERE = (
    "bash tests/run",
    "cd vscode-extension",
    "pipx install .",
    "uvx --from . smem-lsp",
    "smem-lsp verify",
)


def clone(into: Path) -> Path:
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        pytest.skip("no git repository to copy")
    for name in filter(None, done.stdout.split("\0")):
        if (ROOT / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, into / name)
    return into


def typed(folder: Path, command: str) -> tuple[int, str]:
    """In a shell that has nothing but PyPI's packages of this environment, which stand in for a download."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{folder}/.venv/bin{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "PYTHONIOENCODING": "utf-8",
            "PIP_NO_DEPS": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say yes
            "PIP_FORCE_REINSTALL": "1",  # the one in PYTHONPATH is none of the new environment
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def commands() -> list[str]:
    """Those in blocks, then those in the text."""
    blocks = re.findall(r"^```sh\n(.*?)\n```$", README, re.M | re.S)
    inline = re.findall(r"`((?:smem-lsp|pipx|uvx|bash) [^`\n]+)`", README)
    return [each for each in (*blocks, *inline) if not each.startswith(ELSEWHERE)]


@pytest.mark.slow(seconds=25)
def test_every_command(tmp_path: Path) -> None:
    folder = clone(tmp_path)
    first, *others = commands()
    assert first.endswith(".venv/bin/smem-lsp check tests/examples")
    code, out = typed(folder, first)
    assert code == 1, out
    shown = README.partition("<!-- example:begin -->\n```\n")[2].partition("```\n<!-- example:end -->")[0]
    assert out == shown
    where = typed(folder, ".venv/bin/python -c 'import smem_lsp; print(smem_lsp.__file__)'")
    assert where[0] == 0
    assert len(others) >= 3
    for command in others:
        code, out = typed(folder, command)
        assert code in (0, 1), f"{command}: {out}"
    fixed = (folder / "tests/examples/gemm.cu").read_text(encoding="utf-8")
    assert "float (&Cs)[TILE][TILE] = As;" in fixed


@pytest.mark.slow(seconds=12)
def test_what_it_says_of_the_compiler(tmp_path: Path) -> None:
    toolchain.require(toolchain.nvcc(), "no nvcc: `verify` compiles")
    said = {
        "tests/examples/three_stages.cu": "every promise kept",
        "tests/examples/gemm.cu": "it costs 7 registers: 8 → 6 blocks/SM on sm_90",
        "tests/examples/gemm.cu --arch sm_80,sm_120": "1 rewrite, every promise kept",
    }
    for file, words in said.items():
        code, out = typed(ROOT, f"python -m smem_lsp verify --isolated {file}")
        assert code == 0 and words in out, out
