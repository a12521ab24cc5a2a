"""All of a release but the publishing: ``python tests/project/release_dry_run.py [--strict]``.

Builds the wheel, the sdist and the VSIX, each in an environment of its own; looks at what is in them; installs and
runs them with every Python from 3.10 to 3.13 that is found, and through pipx and uvx. What this machine has not (a
Python, npm) is left out and said; with ``--strict`` it fails. Needs PyPI and npm. Takes some minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "vscode-extension"
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
SAMPLE = ROOT / "docs" / "examples" / "reverse.cu"


class Failed(Exception):
    """The release would not work; the message says why."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Do all of a release but the publishing.")
    parser.add_argument("--out", type=Path, help="put what would be published here")
    parser.add_argument("--tag", help="the tag that is released: it must be the version")
    parser.add_argument("--strict", action="store_true", help="fail where a tool is not there")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="smem-release-") as scratch:
        try:
            left_out = rehearse(Path(scratch), flags.out, flags.tag)
        except Failed as error:
            print(f"FAILED: {error}", file=sys.stderr)
            return 1
    for each in left_out:
        print(f"left out: {each}")
    print("not done here: attesting, publishing to PyPI, the Marketplace and Open VSX")
    return 1 if left_out and flags.strict else 0


def rehearse(scratch: Path, out: Path | None, tag: str | None) -> list[str]:
    """What was left out, in words. Raises Failed."""
    version = agreed_version(tag)
    say(f"version {version}")
    left_out: list[str] = []
    dist = scratch / "dist"
    dist.mkdir()
    tools = environment(Path(sys.executable), scratch / "tools", "build", "twine", "pipx", "uv")
    run(tools / "python", "-m", "build", "--outdir", dist, ROOT)
    (wheel,) = dist.glob("*.whl")
    (sdist,) = dist.glob("*.tar.gz")
    again = scratch / "again"
    run(tools / "python", "-m", "build", "--wheel", "--outdir", again, ROOT)
    require(digest(again / wheel.name) == digest(wheel), "a second build of the wheel has other bytes")
    run(tools / "twine", "check", "--strict", wheel, sdist)
    say(f"{wheel.name} and {sdist.name}: built, twice alike, and their description renders")
    for each in VERSIONS:
        python = find_python(each)
        if python is None:
            left_out.append(f"Python {each} is not on this machine")
            continue
        for package in (wheel, sdist) if each in (VERSIONS[0], VERSIONS[-1]) else (wheel,):
            kind = "wheel" if package is wheel else "sdist"
            bin = environment(python, scratch / f"{each}-{kind}", str(package))
            works(bin / "smem-lsp", version, scratch)
            say(f"Python {each}: installed from the {kind}, checks, draws, serves")
    homes = {
        "PIPX_HOME": str(scratch / "pipx"),
        "PIPX_BIN_DIR": str(scratch / "pipx-bin"),
        "UV_CACHE_DIR": str(scratch / "uv"),
    }
    run(tools / "pipx", "install", "--python", sys.executable, wheel, env=homes)
    works(scratch / "pipx-bin" / "smem-lsp", version, scratch)
    say("pipx: installed, works")
    command = [tools / "uvx", "--python", sys.executable, "--from", wheel, "smem-lsp", "--version"]
    require(run(*command, env=homes) == f"smem-lsp {version}\n", "uvx runs another version")
    say("uvx: works")
    if shutil.which("npm") is None:
        left_out.append("the VSIX: no npm on this machine")
    else:
        vsix = packaged(scratch, version, tools)
        shutil.copy(vsix, dist)
        say(f"{vsix.name}: built, complete, its server answers")
    for path in sorted(dist.iterdir()):
        print(f"sha256 {digest(path)}  {path.name}")
    if out is not None:
        shutil.copytree(dist, out, dirs_exist_ok=True)
    return left_out


def agreed_version(tag: str | None = None) -> str:
    """That of version.py, which the extension, the changelogs and the tag have to have too. Raises Failed."""
    text = (ROOT / "smem_lsp" / "output" / "version.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^VERSION = "([^"]+)"$', text, re.M)
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((EXTENSION / "package-lock.json").read_text(encoding="utf-8"))
    for place, found in (
        ("vscode-extension/package.json", package["version"]),
        ("vscode-extension/package-lock.json", lock["version"]),
        ("CHANGELOG.md", newest(ROOT / "CHANGELOG.md")),
        ("vscode-extension/CHANGELOG.md", newest(EXTENSION / "CHANGELOG.md")),
        *((("the tag", tag.removeprefix("v")),) if tag else ()),
    ):
        require(found == version, f"{place} has version {found}, smem_lsp/output/version.py {version}")
    if tag:
        heading = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        require("(not released)" not in heading, "CHANGELOG.md calls a version not released")
    return str(version)


def newest(changelog: Path) -> str:
    found = re.search(r"^## (\S+)", changelog.read_text(encoding="utf-8"), re.M)
    return found[1] if found else "none"


def packaged(scratch: Path, version: str, tools: Path) -> Path:
    """The VSIX of a copy of the sources: nothing that lies in the checkout goes into it. Raises Failed."""
    tree = scratch / "tree"
    tree.mkdir()
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0")
    for name in filter(None, names):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, tree / name)
    folder = tree / "vscode-extension"
    env = {"PYTHON": str(tools / "python")}
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
    run("node", "node_modules/esbuild/install.js", cwd=folder)
    run("npm", "run", "package", cwd=folder, env=env)
    (vsix,) = folder.glob("*.vsix")
    require(vsix.name == f"smem-lsp-{version}.vsix", f"the VSIX is called {vsix.name}")
    unlicensed = without_licence(vsix)
    require(not unlicensed, f"no licence in the VSIX for {', '.join(unlicensed)}")
    with zipfile.ZipFile(vsix) as archive:
        archive.extractall(scratch / "vsix")
    serve = scratch / "vsix" / "extension" / "bundled" / "serve.py"
    answers([tools / "python", "-I", "-X", "utf8", "-B", serve], scratch)
    return vsix


def without_licence(vsix: Path) -> list[str]:
    """The bundled packages whose licence is not in it."""
    with zipfile.ZipFile(vsix) as archive:
        names = archive.namelist()
    libs = "extension/bundled/libs/"
    packages = {name.split("/")[3] for name in names if name.startswith(libs) and ".dist-info/" in name}
    found = [
        package
        for package in sorted(packages)
        if not any("licen" in name.lower() for name in names if name.startswith(f"{libs}{package}/"))
    ]
    own = {"extension/LICENSE.txt", "extension/dist/licenses.txt"}
    return found + sorted(own - set(names))


def works(command: Path, version: str, scratch: Path) -> None:
    """As a user tries it, away from the checkout. Raises Failed."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        shutil.copy(SAMPLE, folder)
        require(
            run(command, "--version", cwd=folder) == f"smem-lsp {version}\n", f"{command} has another version"
        )
        require("SMEM201" in run(command, "check", SAMPLE.name, cwd=folder, code=1), "the race is not found")
        require("<svg" in run(command, "layout", "--format", "svg", SAMPLE.name, cwd=folder), "no memory map")
        answers([command, "server"], Path(folder))


def answers(command: list[str | Path], folder: Path) -> None:
    """Does a language server answer? Raises Failed."""
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    done = subprocess.run(
        command,
        input=f"Content-Length: {len(body)}\r\n\r\n{body}".encode(),
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    require(b'"serverInfo"' in done.stdout, f"no server answers: {done.stderr.decode(errors='replace')}")


def environment(python: Path, folder: Path, *packages: str) -> Path:
    """A new environment with these packages; its folder of programs. Raises Failed."""
    run(python, "-m", "venv", folder)
    bin = folder / ("Scripts" if os.name == "nt" else "bin")
    run(bin / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return bin


def find_python(version: str) -> Path | None:
    """On PATH, else pyenv's newest."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    own = [Path(sys.executable)] if sys.version_info[:2] == tuple(map(int, version.split("."))) else []
    on_path = shutil.which(f"python{version}")
    pyenv = sorted(root.glob(f"versions/{version}.*/bin/python"), reverse=True)
    for candidate in (*own, *([Path(on_path)] if on_path else []), *pyenv):
        words = [candidate, "-c", "import ensurepip, venv, sys; print(sys.version_info[:2])"]
        done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
        if done.returncode == 0 and done.stdout.strip() == str(tuple(map(int, version.split(".")))):
            return candidate
    return None


def clean_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without what would lead a new environment to our packages."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {**{key: value for key, value in os.environ.items() if key not in hidden}, **(more or {})}


def run(
    *command: str | Path, cwd: str | Path = ROOT, env: Mapping[str, str] | None = None, code: int = 0
) -> str:
    """Standard output of a command that ends with ``code``. Raises Failed."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment(env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    words = " ".join(map(str, command))
    require(done.returncode == code, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def require(true: bool, why: str) -> None:
    if not true:
        raise Failed(why)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def say(line: str) -> None:
    print(f"ok: {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
