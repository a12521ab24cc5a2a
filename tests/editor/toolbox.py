"""Where the editor tests find what ``setup.sh`` installs, and how they start it."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from toolchain import require

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
EXTENSION = CHECKOUT / "vscode-extension"
CACHE = Path(
    os.environ.get("SMEM_EDITOR_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "smem-lsp" / "editor"
)
ARTIFACTS = Path(os.environ.get("SMEM_ARTIFACTS") or HERE / "artifacts")


def _existing(path: Path) -> Path | None:
    return path if path.exists() else None


def node() -> Path:
    """Node 24; skips or fails the test where it is missing, as all functions here do."""
    return require(_existing(CACHE / "bin" / "node"), "no node 24: run tests/editor/setup.sh")


def code_server() -> Path:
    entry = CACHE / "code-server/node_modules/code-server/out/node/entry.js"
    return require(_existing(entry), "no code-server: run tests/editor/setup.sh")


def playwright() -> Path:
    folder = CACHE / "playwright" / "node_modules" / "playwright-core"
    return require(_existing(folder), "no playwright-core: run tests/editor/setup.sh")


def chromium() -> Path:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    return require(
        Path(found) if found else None, "no Chromium: run tests/editor/setup.sh as root, or install it"
    )


def neovim() -> Path:
    found = shutil.which("nvim")
    return require(
        Path(found) if found else None, "no Neovim: run tests/editor/setup.sh as root, or install it"
    )


def emacs() -> Path:
    found = shutil.which("emacs")
    return require(
        Path(found) if found else None, "no Emacs: run tests/editor/setup.sh as root, or install it"
    )


def needs_browser() -> None:
    """Skips, or fails, before anything is built or started."""
    node(), code_server(), playwright(), chromium()


def with_node() -> dict[str, str]:
    """The environment with node 24 and its npm first on PATH, and this Python for the scripts of the extension."""
    path = f"{node().parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHON": sys.executable}


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Nobody else on this machine, another worker or another run, is in here under this name."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def once(factory: pytest.TempPathFactory, name: str, produce: Callable[[Path], None]) -> Path:
    """A folder that ``produce`` has filled: once for all workers of this test run, and one at a time on this machine.

    A session in an editor takes half a minute and has many tests; what failed for one of them fails for all. It waits
    for many screens, and a machine that stalls once is no fault of the extension: a session that fails is tried once
    more, in another folder, and the first failure is a warning of the run.
    """
    root = factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        root = root.parent
    with locked("editor"):
        for folder in (root / name, root / f"{name} again"):
            failure = folder.with_name(f"{folder.name}.failure")
            if not folder.exists():
                folder.mkdir()
                try:
                    produce(folder)
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    failure.write_text(str(error), encoding="utf-8")
                    warnings.warn(f"{folder.name} failed: {error}", stacklevel=2)
            if not failure.exists():
                return folder
    pytest.fail(failure.read_text(encoding="utf-8"), pytrace=False)


def run(*command: str | Path, seconds: float, **options: object) -> subprocess.CompletedProcess[str]:
    """A command that must succeed; its output is in the failure."""
    done = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=seconds,
        check=False,
        **options,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}\n{done.stdout[-6000:]}"
    return done


def build_vsix() -> Path:
    """The VSIX of this checkout, made again when a source is newer. ``SMEM_VSIX`` names one to test instead."""
    given = os.environ.get("SMEM_VSIX")
    if given:
        return Path(given)
    with locked("vsix"):
        built = sorted(EXTENSION.glob("*.vsix"))
        if built and all(path.stat().st_mtime < built[-1].stat().st_mtime for path in _sources()):
            return built[-1]
        for old in built:
            old.unlink()
        environment = with_node()
        lock, installed = EXTENSION / "package-lock.json", EXTENSION / "node_modules/.package-lock.json"
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            _npm_ci(environment)
        run("npm", "run", "package", seconds=600, cwd=EXTENSION, env=environment)
        (vsix,) = EXTENSION.glob("*.vsix")
        return vsix


def _npm_ci(environment: dict[str, str]) -> None:
    """Twice at most: it downloads."""
    try:
        run("npm", "ci", "--no-audit", "--no-fund", seconds=600, cwd=EXTENSION, env=environment)
    except (AssertionError, subprocess.TimeoutExpired):
        run("npm", "ci", "--no-audit", "--no-fund", seconds=600, cwd=EXTENSION, env=environment)


def _sources() -> Iterator[Path]:
    left_out = {"node_modules", "dist", "libs", "__pycache__"}
    for root in (CHECKOUT / "smem_lsp", CHECKOUT / "grammar", EXTENSION):
        for path in root.rglob("*"):
            if path.is_file() and path.suffix != ".vsix" and not left_out & set(path.relative_to(root).parts):
                yield path


@dataclass(frozen=True)
class Editor:
    """A running VS Code with the extension installed."""

    port: int
    home: Path  # holds user-data, extensions and the log

    def drive(self, script: str, results: Path, *arguments: str | Path, seconds: float) -> None:
        """Run a script of ``browser/`` against it; it writes what it saw to ``results``."""
        drive(script, results, *arguments, seconds=seconds, port=self.port)


def drive(
    script: str, results: Path, *arguments: str | Path, seconds: float, port: int | None = None
) -> None:
    """Run a script of ``browser/`` in Chromium; ``port``: of the editor that it opens, if it opens one."""
    environment = {
        **with_node(),
        "SMEM_PLAYWRIGHT": str(playwright()),
        "SMEM_CHROMIUM": str(chromium()),
        "SMEM_EDITOR_PORT": "" if port is None else str(port),
        "SMEM_RESULTS": str(results),
        "SMEM_ARTIFACTS": str(ARTIFACTS),
    }
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    log = ARTIFACTS / f"{Path(script).stem}.log"
    with log.open("w", encoding="utf-8") as output:
        done = subprocess.run(
            [node(), HERE / "browser" / script, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            timeout=seconds,
            check=False,
        )
    assert done.returncode == 0, (
        f"{script} ended with {done.returncode}\n{log.read_text(encoding='utf-8')[-4000:]}"
    )


@contextmanager
def running_editor(
    home: Path, vsix: Path, *, trust: bool = True, path: Path | None = None
) -> Iterator[Editor]:
    """VS Code (code-server) on a free port of this machine, with its own settings and only ``vsix`` installed.

    ``trust`` False: workspaces are not trusted until somebody says so. ``path``: the only folder on its ``PATH``.
    """
    environment = with_node()
    if path is not None:
        environment["PATH"] = str(path)
        # VS Code asks the user's shell for the PATH; this one has no profile that sets another.
        shell = home.parent / "shell"
        shell.write_text('#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\neval "$1"\n', encoding="utf-8")
        shell.chmod(0o755)
        environment["SHELL"] = str(shell)
    user = home / "user-data" / "User"
    user.mkdir(parents=True)
    settings = (HERE / "settings.json").read_text(encoding="utf-8")
    if not trust:
        settings = settings.replace(
            '"security.workspace.trust.enabled": false',
            '"security.workspace.trust.enabled": true, "security.workspace.trust.startupPrompt": "never"',
        )
    (user / "settings.json").write_text(settings, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # A file of our own keeps it from writing one into the home folder.
    config = home / "code-server.yaml"
    config.write_text(f"bind-addr: 127.0.0.1:{port}\nauth: none\ncert: false\n", encoding="utf-8")
    folders = ["--user-data-dir", home / "user-data", "--extensions-dir", home / "extensions"]
    base = [node(), code_server(), "--config", config, *folders]
    run(*base, "--install-extension", vsix, seconds=300, env=with_node())
    # The smoke test driver lets a test run inside the extension host.
    quiet = "--disable-telemetry --disable-update-check --disable-getting-started-override --disable-proxy".split()
    flags = [*quiet, "--ignore-last-opened", "--vscode-option", "enable-smoke-test-driver"]
    if trust:
        flags.append("--disable-workspace-trust")
    with (home / "code-server.log").open("w") as log:
        process = subprocess.Popen(
            [str(part) for part in (*base, *flags)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
        )
        try:
            _wait_until_up(port, process)
            yield Editor(port, home)
        finally:
            process.terminate()
            process.wait(timeout=120)


def _wait_until_up(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        assert process.poll() is None, "code-server ended at once"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise AssertionError("code-server did not answer within three minutes")
