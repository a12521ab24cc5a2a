"""The project of docs/examples/built under the build systems that docs/build-systems.md names.

What they write is enough to find the header that only the build knows, the macro that only the build sets, and the race
behind both."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import toolchain

from smem_lsp.environment import CompileCommands

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "built"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return shutil.copytree(EXAMPLE, tmp_path / "project")


def tool(name: str) -> Path:
    """Of this environment, else of the machine."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    return toolchain.require(Path(found) if found else None, f"no {name} here: pip install '.[dev]'")


def configure(project: Path, *command: str | Path) -> None:
    nvcc = toolchain.require(toolchain.nvcc(), "no nvcc: build systems try the compiler")
    programs = (Path(sys.executable).parent, nvcc.parent)
    done = subprocess.run(
        command,
        cwd=project,
        env={
            **os.environ,
            "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]]),
            "LIBRARY_PATH": str(nvcc.parent.parent / "lib"),  # where the wheels of PyPI have the runtime
            "CUDACXX": str(nvcc),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout


def understood(project: Path, database: Path | None = None) -> None:
    """``database``: named by a flag; None: found."""
    found = CompileCommands().command(str(project / "sum.cu"), database and str(database))
    assert found.problem is None
    assert "ROWS=8" in found.flags.defines
    assert str(project / "include") in found.flags.include_dirs
    assert found.flags.arch == "sm_90"
    checked(project, *([] if database is None else ["--compile-commands", str(database)]))


def checked(project: Path, *flags: str) -> None:
    """The bytes that need the build's header and macro, and the race behind them."""
    done = subprocess.run(
        [sys.executable, "-m", "smem_lsp", "check", "sum.cu", "--no-cache", "--format", "json", *flags],
        cwd=project,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    (kernel,) = answer["kernels"]
    assert [each["bytes"] for each in kernel["buffers"]] == [8 * 32 * 4]
    (race,) = answer["findings"]
    assert race["code"] == "SMEM201"


@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize("generator", ["Unix Makefiles", "Ninja"])
def test_cmake(project: Path, generator: str) -> None:
    """Makefiles put include folders into a file, Ninja does not."""
    if generator == "Unix Makefiles":
        if shutil.which("make") is None:
            pytest.skip("no make here, which CMake's Makefiles are for")
    else:
        tool("ninja")
    configure(project, tool("cmake"), "-G", generator, "-S", ".", "-B", "build")
    understood(project)


@pytest.mark.slow(seconds=12)
def test_meson(project: Path) -> None:
    tool("ninja")
    configure(project, tool("meson"), "setup", "build")
    understood(project)


BUILD_NINJA = """\
ninja_required_version = 1.3
cxx = c++
nvcc = nvcc
cuda_cflags = -DTORCH_EXTENSION_NAME=sum -I{project}/include -DROWS=8 -gencode=arch=compute_90,code=sm_90 --compiler-options '-fPIC' -std=c++17
cuda_post_cflags =

rule cuda_compile
  depfile = $out.d
  deps = gcc
  command = $nvcc --generate-dependencies-with-compile --dependency-output $out.d $cuda_cflags -c $in -o $out $cuda_post_cflags

build sum.cuda.o: cuda_compile {project}/sum.cu
"""  # noqa: E501


@pytest.mark.slow(seconds=3)
def test_pytorch(project: Path) -> None:
    """torch.utils.cpp_extension compiles with ninja, from a file of this form; ninja itself tells the commands. PyTorch
    is too large for a test."""
    build = project / "build"
    build.mkdir()
    (build / "build.ninja").write_text(BUILD_NINJA.format(project=project))
    with (build / "compile_commands.json").open("w") as out:
        subprocess.run([tool("ninja"), "-C", build, "-t", "compdb"], stdout=out, check=True)
    understood(project)


BAZEL = "@bazel/bazel-linux_x64@2.1.0"  # the newest that a registry has
BAZEL_SHA256 = "14cb6958e46fd5130720c26ae0b7c98e181dcb8bd111b0bfb23c7b4744e3609a"


@pytest.mark.slow(seconds=20)
@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="this Bazel is for Linux on x86-64"
)
def test_bazel(project: Path, tmp_path: Path) -> None:
    """With the command of the page. Nothing is built for it."""
    with tarfile.open(toolchain.npm_package(BAZEL, BAZEL_SHA256)) as packed:
        packed.extractall(tmp_path / "tool", filter="data")
    binary = tmp_path / "tool" / "package" / "bazel-2.1.0-linux-x86_64"
    binary.chmod(0o755)
    bazel = tmp_path / "tool" / "bazel"  # no server is left, and nothing outside of this folder
    options = shlex.join([str(binary), f"--output_user_root={tmp_path / 'made'}", "--batch"])
    bazel.write_text(f'#!/bin/sh\nexec {options} "$@"\n')
    bazel.chmod(0o755)
    (bazel.parent / "python").symlink_to(sys.executable)
    (commands,) = (block for block in blocks("sh") if block.startswith("bazel "))
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", commands.replace("smem-lsp check .\n", "")],
        cwd=project,
        env={**os.environ, "PATH": f"{bazel.parent}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    understood(project)


def blocks(language: str) -> list[str]:
    page = (ROOT / "docs" / "build-systems.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def test_the_page_shows_the_example() -> None:
    assert blocks("python") == [
        (EXAMPLE / name).read_text(encoding="utf-8")
        for name in ("load.py", "setup.py", "compile_commands.py")
    ]


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("command", ["python load.py", "python setup.py build_ext --inplace"])
def test_pytorch_itself(project: Path, command: str) -> None:
    """With the commands of the page, in a shell."""
    python = os.environ.get("SMEM_TORCH")
    if python is None:
        pytest.skip("SMEM_TORCH names no Python that has PyTorch")
    nvcc = toolchain.require(toolchain.nvcc(), "no nvcc: PyTorch compiles")
    (commands,) = (block for block in blocks("sh") if block.startswith(f"{command}\n"))
    done = subprocess.run(
        ["bash", "-ec", commands.replace("smem-lsp check .\n", "")],
        cwd=project,
        env={
            **os.environ,
            "PATH": os.pathsep.join([str(Path(python).parent), os.environ["PATH"]]),
            "CUDA_HOME": os.environ.get("CUDA_HOME", str(nvcc.parents[1])),
            "TORCH_CUDA_ARCH_LIST": "9.0",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    understood(project)


def test_settings_where_there_is_no_database(project: Path) -> None:
    """The same folders, macros and targets, named by hand."""
    (settings,) = blocks("toml")
    (project / "smem.toml").write_text(settings, encoding="utf-8")
    checked(project)
