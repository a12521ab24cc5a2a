"""The wheel as users get it: complete, and working away from the checkout."""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from smem_lsp.output.version import VERSION
from smem_lsp.syntax.tables import made

ROOT = Path(__file__).parents[2]

KERNEL = """\
__global__ void k(const float* in, float* out) {
  __shared__ float a[1024];
  __shared__ float b[1024];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float x = a[1023 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = x;
  __syncthreads();
  out[threadIdx.x] = b[1023 - threadIdx.x];
}
"""


def run(*command: str, cwd: Path, **environment: str) -> str:
    """Standard output of a Python command that must succeed."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def build(kind: str, source: Path, into: Path) -> Path:
    """Build the ``wheel`` or the ``sdist`` of a source tree."""
    run("-m", "hatchling", "build", "--target", kind, "--directory", str(into), cwd=source)
    (built,) = into.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_contents_of_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        scripts = next(name for name in names if name.endswith(".dist-info/entry_points.txt"))
        assert "smem-lsp = smem_lsp.cli:main" in archive.read(scripts).decode()
        told = email.message_from_bytes(archive.read(metadata))
        grammar = archive.read("smem_lsp/_grammar/cuda.lark")
        assert grammar == (ROOT / "grammar/cuda.lark").read_bytes()
        assert json.loads(archive.read("smem_lsp/_grammar/tables.json")) == made(grammar.decode())
    assert (told["Version"], told["Requires-Python"]) == (VERSION, ">=3.10")
    assert "Environment :: GPU :: NVIDIA CUDA" in told.get_all("Classifier", [])
    description = str(told.get_payload())
    assert description.startswith("# smem-lsp\n") and "<!--" not in description
    links = re.findall(r"\]\(([^)]+)\)", description)
    assert [link for link in links if not link.startswith("https://")] == []  # which lead nowhere on PyPI
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "smem_lsp").rglob("*.py")}
    assert modules <= names
    stubs = {path.relative_to(ROOT).as_posix() for path in (ROOT / "smem_lsp" / "stubs").rglob("*.cuh")}
    assert len(stubs) > 10 and stubs <= names
    assert {"smem_lsp/py.typed", "smem_lsp/output/schema.json"} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    tops = {PurePosixPath(name).parts[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"smem_lsp"}
    assert not [name for name in names if "test" in PurePosixPath(name).parts or "__pycache__" in name]


def test_the_wheel_works_elsewhere(wheel: Path, tmp_path: Path) -> None:
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "k.cu").write_text(KERNEL, encoding="utf-8")
    run("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel), cwd=elsewhere)
    # Without site: an editable install of the checkout, if this interpreter has one, is not seen.
    paths = os.pathsep.join((str(target), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    settings = {"PYTHONPATH": paths, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    where = run("-S", "-c", "import smem_lsp; print(smem_lsp.__file__)", cwd=elsewhere, **settings)
    assert Path(where.strip()).is_relative_to(target)
    command = (
        "-S",
        "-m",
        "smem_lsp",
        "check",
        "--isolated",
        "--exit-zero",
        "--output-format",
        "concise",
        "k.cu",
    )
    found = run(*command, cwd=elsewhere, **settings)
    assert "SMEM301" in found
    assert "8,192 → 4,096 B" in found
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.name.startswith("grammar-")]


def test_a_wheel_of_the_sdist_is_complete(wheel: Path, tmp_path: Path) -> None:
    sdist = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(sdist) as archive:
        names = {PurePosixPath(member.name).relative_to(sdist.name[: -len(".tar.gz")]) for member in archive}
        wanted = (
            "grammar/cuda.lark",
            "tests/project/test_packaging.py",
            "tests/run",
            "LICENSE",
            "README.md",
            "CHANGELOG.md",
            "hatch_build.py",
            "pyproject.toml",
        )
        assert {PurePosixPath(name) for name in wanted} <= names
        for member in archive:
            if member.isreg() and ".." not in PurePosixPath(member.name).parts:
                archive.extract(member, tmp_path / "unpacked", set_attrs=False)
    (tree,) = (tmp_path / "unpacked").iterdir()
    again = build("wheel", tree, tmp_path / "again")
    assert _contents(again) == _contents(wheel)


def _contents(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {
            info.filename: info.CRC for info in archive.infolist() if not info.filename.endswith("RECORD")
        }
