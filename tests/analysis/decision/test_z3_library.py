"""The C library of the solver: where it is looked for, and what becomes of its errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import toolchain

from smem_lsp.analysis.decision import z3_library
from smem_lsp.analysis.decision.z3_library import SolverContext, Z3Error, load


def test_without_the_package_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert load() is None


def test_a_library_in_the_current_folder_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package itself takes it first; the folder may be that of a checked project."""
    here = tmp_path / z3_library._NAME
    here.write_bytes(b"whatever a project has put here")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("Z3_LIBRARY_PATH", str(tmp_path))
    tried: list[str] = []

    def refused(place: str) -> None:
        tried.append(place)
        raise OSError

    monkeypatch.setattr(z3_library, "CDLL", refused)

    assert load() is None
    assert tried
    assert all(Path(each).is_absolute() for each in tried)
    assert here not in [Path(each).resolve() for each in tried]


PLANTED = """\
#include <cstdio>
#include <cstdlib>
__attribute__((constructor)) static void loaded() {
  std::FILE* log = std::fopen(std::getenv("PLANTED_LOG"), "a");
  if (log != nullptr) std::fclose(log);
}
"""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a library of the solver's name, which leaves a file named in the environment when it is loaded."""
    compiler = toolchain.require(toolchain.cxx(), "no g++ here")
    folder = tmp_path_factory.mktemp("planted") / "project"
    (folder / "lib").mkdir(parents=True)
    (folder / "planted.cpp").write_text(PLANTED)
    (folder.parent / "installed" / "z3").mkdir(
        parents=True
    )  # the package alone: its library comes from the system
    (folder.parent / "installed" / "z3" / "__init__.py").touch()
    for place in ("libz3.so", "lib/libz3.so", "z3/libz3.so", "z3/lib/libz3.so"):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        command = [str(compiler), "-shared", "-fPIC", "planted.cpp", "-o", place]
        subprocess.run(command, cwd=folder, check=True)
    (folder / "z3" / "__init__.py").touch()
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="how the loader of Linux looks for a library")
@pytest.mark.parametrize("entry", ["", "/nowhere"])  # of the module path of a program that calls us
@pytest.mark.parametrize(
    "path", ["", ":", ":/usr/lib", "/usr/lib:", ".", "lib", "{}", "{}/lib:/usr/lib", "/usr/lib;"]
)
def test_no_library_of_the_project_is_loaded(planted: Path, tmp_path: Path, path: str, entry: str) -> None:
    log = tmp_path / "log"
    program = (
        f"import sys; sys.path[:0] = [{entry!r}, {str(planted.parent / 'installed')!r}]\n"
        "from smem_lsp.analysis.decision.z3_library import load\nprint('looked', load() is None)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        cwd=planted,
        env={**os.environ, "LD_LIBRARY_PATH": path.format(planted), "PLANTED_LOG": str(log)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("looked")
    assert not log.exists()


def test_a_library_that_lacks_a_function_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(z3_library, "CDLL", lambda place: object())
    assert load() is None


def test_the_package_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "z3", raising=False)  # another test may have asked for it
    assert load() is not None
    assert "z3" not in sys.modules


def test_a_call_that_fails_raises() -> None:
    z3 = load()
    context = SolverContext(z3)
    with pytest.raises(Z3Error, match="unknown constant"):
        z3.Z3_parse_smtlib2_string(context.ref, b"(assert (> a 1))", 0, None, None, 0, None, None)
