"""What is in the package that users install."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from editor.toolbox import EXTENSION, node, run

from smem_lsp.output.version import VERSION

LIBS = "extension/bundled/libs/"


@pytest.fixture(scope="module")
def names(vsix: Path) -> set[str]:
    with zipfile.ZipFile(vsix) as archive:
        return set(archive.namelist())


def test_types(vsix: Path) -> None:
    run(
        node(),
        EXTENSION / "node_modules/typescript/bin/tsc",
        "--noEmit",
        "--strict",
        seconds=300,
        cwd=EXTENSION,
    )


def test_size(vsix: Path) -> None:
    assert vsix.stat().st_size < 12_500_000


def test_the_library_of_the_interpreter_is_whole_and_packed_once(vsix: Path) -> None:
    inner = "pyodide/python_stdlib.zip"
    with zipfile.ZipFile(vsix) as archive:
        packed = zipfile.ZipFile(io.BytesIO(archive.read(f"extension/dist/{inner}")))
    with zipfile.ZipFile(EXTENSION / "node_modules" / inner) as theirs, packed as ours:
        assert ours.namelist() == theirs.namelist()
        assert all(ours.read(name) == theirs.read(name) for name in theirs.namelist())
        assert {each.compress_type for each in ours.infolist()} == {zipfile.ZIP_STORED}


def test_nothing_of_one_platform_and_no_byte_code(vsix: Path, names: set[str]) -> None:
    """A library is WebAssembly, or it is none."""
    assert not [name for name in names if name.endswith((".pyd", ".dylib", ".pyc"))]
    libraries = [name for name in names if ".so" in Path(name).suffixes]
    assert libraries == ["extension/bundled/libs-webassembly/z3/lib/libz3.so"]
    with zipfile.ZipFile(vsix) as archive, archive.open(libraries[0]) as library:
        assert library.read(4) == b"\0asm"


def test_everything_the_server_needs(names: set[str]) -> None:
    packages = "smem_lsp smem_lsp/_grammar pygls lsprotocol lark attr cattrs exceptiongroup tomli".split()
    for package in packages:
        assert any(name.startswith(f"{LIBS}{package}/") for name in names), package


def test_licences(names: set[str]) -> None:
    notices = {"LICENSE.txt", "dist/licenses.txt", "bundled/webassembly-licenses.txt"}
    assert {f"extension/{name}" for name in notices} <= names
    packages = {name.split("/")[3] for name in names if name.startswith(LIBS) and ".dist-info/" in name}
    assert len(packages) == 9
    for package in packages:
        files = [name for name in names if name.startswith(f"{LIBS}{package}/")]
        assert any("licen" in name.lower() for name in files), package


def test_no_sources_and_no_leftovers(names: set[str]) -> None:
    assert not [name for name in names if "node_modules" in name or name.endswith((".ts", ".map", "RECORD"))]


def test_versions_agree() -> None:
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == VERSION


def test_versions_are_exact() -> None:
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    for version in {**package["dependencies"], **package["devDependencies"]}.values():
        assert version[0].isdigit(), version


def test_the_bundled_server_runs_isolated(vsix: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(vsix) as archive:
        archive.extractall(tmp_path / "größe 1")
    serve = tmp_path / "größe 1" / "extension" / "bundled" / "serve.py"
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    done = subprocess.run(
        [sys.executable, "-I", "-X", "utf8", "-B", serve],
        input=b"Content-Length: %d\r\n\r\n%b" % (len(body), body),
        capture_output=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert b'"serverInfo"' in done.stdout, done.stderr.decode()
