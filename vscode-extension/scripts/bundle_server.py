"""Fills ``bundled/libs`` with the server of this checkout and what it needs: pure Python, licences, no byte code; and
``bundled/libs-webassembly`` with what is added where the server runs in Pyodide."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXTENSION = Path(__file__).resolve().parents[1]
CHECKOUT = EXTENSION.parent
LIBS = EXTENSION / "bundled" / "libs"
REQUIREMENTS = EXTENSION / "bundled" / "requirements.txt"
WEBASSEMBLY = EXTENSION / "bundled" / "libs-webassembly"
FOR_WEBASSEMBLY = EXTENSION / "bundled" / "requirements-webassembly.txt"

FOR_EVERY_PLATFORM = (
    "--implementation=py --abi=none --platform=any --python-version=3.10 --only-binary=:all:"
).split()

# Of Pyodide 314: the version in package.json.
FOR_PYODIDE = (
    "--implementation=py --abi=none --platform=pyemscripten_2026_0_wasm32 --python-version=3.14 --only-binary=:all:"
).split()

# Parts of packages that nothing imports here: commands, hooks of installers, other formats, a package's old name.
NOT_IMPORTED = ("lark/tools", "lark/__pyinstaller", "cattrs/preconf", "cattr")

# What pip notes about an installation: absolute paths, and nothing that a licence asks for.
INSTALLATION_NOTES = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")


def main() -> None:
    for folder in (LIBS, WEBASSEMBLY):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    # Every package is listed and nothing resolved: pip would judge "python_version < '3.11'" by the Python it runs on.
    pip(LIBS, *FOR_EVERY_PLATFORM, "--require-hashes", "-r", str(REQUIREMENTS))
    pip(WEBASSEMBLY, *FOR_PYODIDE, "--require-hashes", "-r", str(FOR_WEBASSEMBLY))
    with tempfile.TemporaryDirectory() as folder:
        pip(LIBS, str(source_tree(Path(folder))))
    for part in NOT_IMPORTED:
        shutil.rmtree(LIBS / part)
    leave_out_of_z3(WEBASSEMBLY / "z3")
    clean(LIBS)
    clean(WEBASSEMBLY)
    compiled = [path for path in LIBS.rglob("*") if path.suffix in (".so", ".pyd", ".dylib", ".pyc")]
    if compiled:
        sys.exit(f"not pure Python: {', '.join(map(str, compiled))}")


def source_tree(folder: Path) -> Path:
    """A copy of what the wheel is built from, with a short description: the long one is the extension's README."""
    for name in ("smem_lsp", "grammar"):
        shutil.copytree(CHECKOUT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "LICENSE"):
        shutil.copy(CHECKOUT / name, folder)
    (folder / "README.md").write_text("smem-lsp\n", encoding="utf-8")
    return folder


def pip(folder: Path, *arguments: str) -> None:
    """Install into ``folder``, without dependencies and byte code."""
    quiet = "--quiet --disable-pip-version-check --no-deps --no-compile --upgrade"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-t", str(folder), *quiet.split(), *arguments], check=True
    )


def leave_out_of_z3(package: Path) -> None:
    """The headers, and the library under its second name: what is a link elsewhere is a copy in a wheel."""
    shutil.rmtree(package / "include")
    for copy in (package / "lib").glob("libz3.so.*"):
        copy.unlink()


def clean(folder: Path) -> None:
    shutil.rmtree(folder / "bin", ignore_errors=True)
    for path in sorted(folder.rglob("*")):
        if path.name in INSTALLATION_NOTES and path.parent.suffix == ".dist-info":
            path.unlink()
        elif path.is_file():
            path.chmod(0o644)  # whatever the umask here: the archive keeps modes


if __name__ == "__main__":
    main()
