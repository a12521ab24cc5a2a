"""Fills ``bundled/libs`` with the server of this checkout and what it needs: pure Python, licences, no byte code."""

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

FOR_EVERY_PLATFORM = (
    "--implementation=py --abi=none --platform=any --python-version=3.10 --only-binary=:all:"
).split()

# What pip notes about an installation: absolute paths, and nothing that a licence asks for.
INSTALLATION_NOTES = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")


def main() -> None:
    shutil.rmtree(LIBS, ignore_errors=True)
    LIBS.mkdir(parents=True)
    # Every package is listed and nothing resolved: pip would judge "python_version < '3.11'" by the Python it runs on.
    pip(*FOR_EVERY_PLATFORM, "--require-hashes", "-r", str(REQUIREMENTS))
    with tempfile.TemporaryDirectory() as folder:
        pip(str(source_tree(Path(folder))))
    clean()
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


def pip(*arguments: str) -> None:
    """Install into ``LIBS``, without dependencies and byte code."""
    quiet = "--quiet --disable-pip-version-check --no-deps --no-compile --upgrade"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-t", str(LIBS), *quiet.split(), *arguments], check=True
    )


def clean() -> None:
    shutil.rmtree(LIBS / "bin", ignore_errors=True)
    for path in sorted(LIBS.rglob("*")):
        if path.name in INSTALLATION_NOTES and path.parent.suffix == ".dist-info":
            path.unlink()
        elif path.is_file():
            path.chmod(0o644)  # whatever the umask here: the archive keeps modes


if __name__ == "__main__":
    main()
