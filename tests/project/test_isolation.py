"""No code of a project runs, whichever way the tool is started in its folder.

The project holds a module for every name that anything of ours may import. Each leaves a line in a log and then becomes
the real module, so that whatever comes after it is seen, too.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from server.client import Client
from server.samples import MERGEABLE
from toolchain import nvcc

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "vscode-extension"
PACKAGE = ROOT / "smem_lsp"
SCRIPT = Path(sysconfig.get_path("scripts"), "smem-lsp")

# Looked for by the interpreter or by what we depend on, installed or not.
OPTIONAL = """
    sitecustomize usercustomize regex atomicwrites interegular js2py tomli exceptiongroup typing_extensions numpy
    bson orjson ujson msgpack msgspec cbor2 tomlkit yaml pyyaml websockets uvloop colorama zope greenlet pyodide
    __future__ __hello__ readline rlcompleter _pydev_bundle
""".split()

# An interpreter that finds others in their place does not start.
NEEDED = frozenset("encodings codecs io abc site".split())

CANARY = """\
import sys
modules = sys.modules
stage = "ours" if "smem_lsp.isolation" in modules or sys.flags.isolated else "interpreter"
with open({log!r}, "a") as log:
    log.write(f"{{stage}} {{__name__}} {{getattr(sys, 'argv', None)}}\\n")
kept = sys.path[:]
sys.path[:] = [p for p in kept if p.startswith("/") and not p.startswith({folders!r})]
modules.pop(__name__, None)
try:
    __import__(__name__)
finally:  # there may be none
    sys.path[:] = kept
"""

PROGRAM = """\
#!/bin/sh
echo "ours program $0 $*" >> {log}
exit 1
"""


def names() -> set[str]:
    """Every module that there is at the top, of the standard library and of what is installed here."""
    installed = importlib.metadata.packages_distributions()
    found = {*sys.stdlib_module_names, *(name for name in installed if name.isidentifier()), *OPTIONAL}
    return found - {"smem_lsp", "sys", "builtins"}


class Project:
    """A folder that is checked, and the log of what ran of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.log = folder / "log"
        self.link = folder / "link"
        self.link.symlink_to(self.folder)
        self.kernel = self.folder / "k.cu"
        self.kernel.write_text(MERGEABLE)
        for number in range(40):
            (self.folder / f"more{number}.cu").write_text(MERGEABLE)
        (self.folder / "smem.toml").write_text('arch = ["sm_90"]\n')
        for name in ("nvcc", "gcc", "g++", "cc", "cicc", "ptxas", "cudafe++", "git", "python3", "sh"):
            for place in (self.folder / name, self.folder / "bin" / name):
                place.parent.mkdir(exist_ok=True)
                place.write_text(PROGRAM.format(log=self.log))
                place.chmod(0o755)
        (self.folder / "nvcc.profile").write_text("PATH += $(_HERE_):\n")

    def shadow(
        self, *, packages: bool = False, below: str = ".", left_out: frozenset[str] = frozenset()
    ) -> None:
        text = self.canary()
        for name in names() - left_out:
            place = self.folder / below / (f"{name}/__init__.py" if packages else f"{name}.py")
            place.parent.mkdir(exist_ok=True, parents=True)
            place.write_text(text)

    def canary(self) -> str:
        return CANARY.format(log=str(self.log), folders=(str(self.folder), str(self.link)))

    def ran(self, stage: str = "") -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line.startswith(stage)]

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def said(self, done: subprocess.CompletedProcess[str]) -> tuple[int, str]:
        """Exit code and output, with the folder of this project left out."""
        return done.returncode, done.stdout.replace(str(self.folder), "")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return _project(tmp_path, monkeypatch)


def _project(folder: Path, environment: pytest.MonkeyPatch) -> Project:
    environment.setenv(
        "XDG_CACHE_HOME", str(folder / "cache")
    )  # the grammar is built, which imports the most
    environment.delenv("PYTHONPATH", raising=False)
    return Project(folder)


DOORS = {
    "executable": [str(SCRIPT)],
    "module, isolated": [sys.executable, "-I", "-m", "smem_lsp"],
    "module": [sys.executable, "-m", "smem_lsp"],
}
CHECKS = (["check", ".", "--jobs", "2"], ["check", "."])
COMMANDS = (
    *CHECKS,
    ["check", "--diff", "--select", "SMEM301", "k.cu"],
    ["layout", "k.cu"],
    ["layout", "k.cu", "--format", "html"],
    ["fit", "k.cu:sum", "--vary", "blockDim=1"],
    ["verify", "k.cu"],
    ["trace", "k.cu", "--format", "json"],
    ["explain", "--all"],
    ["config", "k.cu"],
    ["rules"],
    ["nonsense"],
)


@pytest.fixture(scope="module")
def unshadowed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Exit code and output of each command in a project without a module of its own, through every door the same."""
    folder = tmp_path_factory.mktemp("unshadowed")
    with pytest.MonkeyPatch.context() as environment:
        project = _project(folder, environment)
        done = {str(command): project.run(*DOORS["executable"], *command) for command in COMMANDS}
    assert not project.ran()
    return {command: project.said(each) for command, each in done.items()}


@pytest.mark.slow(seconds=12)
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("packages", [False, True], ids=["modules", "packages"])
@pytest.mark.parametrize("door", DOORS)
def test_nothing_of_the_project_is_imported(
    project: Project, door: str, packages: bool, unshadowed: dict[str, tuple[int, str]]
) -> None:
    assert "SMEM301" in unshadowed[str(CHECKS[0])][1]
    project.shadow(packages=packages)
    for command in CHECKS if packages else COMMANDS:
        done = project.run(*DOORS[door], *command)
        assert project.said(done) == unshadowed[str(command)], done.stderr
    if door == "module":
        assert project.ran("interpreter"), "the canary does not sing"
        assert not project.ran("ours")
    else:
        assert not project.ran()


@pytest.mark.parametrize("door", DOORS)
def test_nothing_is_imported_by_the_server(project: Project, door: str) -> None:
    project.shadow()
    client = Client((*DOORS[door], "server"), cwd=project.folder)
    try:
        uri = project.kernel.as_uri()
        client.initialize(folders=(project.folder.as_uri(),), initializationOptions={"trusted": True})
        client.open(uri, MERGEABLE)
        assert "SMEM301" in {found["code"] for found in client.published(uri, 1)}
        found = next(each for each in client.published(uri, 1) if each["code"] == "SMEM301")
        client.actions(uri, (2, 20), diagnostics=[found])
        client.hover(uri, 2, 20)
        client.request("smem/layout", client.at(uri, 2, 20))
        client.request("smem/explain", {"code": "SMEM301"})
        assert client.shut_down() == 0
    finally:
        client.kill()
    assert not project.ran("" if door != "module" else "ours")


def extension_start() -> list[str]:
    """The words behind the interpreter with which the extension starts a server that is installed."""
    launch = (EXTENSION / "src" / "launch.ts").read_text(encoding="utf-8")
    interpreter = (EXTENSION / "src" / "interpreter.ts").read_text(encoding="utf-8")
    lines = re.search(r"const INSTALLED = \[(.*?)\]\.join\('; '\)", launch, re.S)
    isolated = re.search(r"const ISOLATED = \['(.*?)'\]", interpreter)
    assert lines is not None and isolated is not None
    assert "['-X', 'utf8', ...ISOLATED, '-c', INSTALLED]" in launch
    return ["-X", "utf8", isolated[1], "-c", "; ".join(re.findall(r"'(.*)'", lines[1]))]


def bundled_start(folder: Path) -> list[str]:
    """The same of the server that comes with the extension, with the packages that are installed here."""
    libs = folder / "bundled" / "libs"
    libs.mkdir(parents=True)
    shutil.copy(EXTENSION / "bundled" / "serve.py", libs.parent)
    (libs / "smem_lsp").symlink_to(PACKAGE)
    for each in Path(sysconfig.get_path("purelib")).iterdir():
        if not (libs / each.name).exists():
            (libs / each.name).symlink_to(each)
    launch = (EXTENSION / "src" / "launch.ts").read_text(encoding="utf-8")
    assert "['-I', '-X', 'utf8', path.join(extensionPath, 'bundled', 'serve.py')]" in launch
    return ["-I", "-X", "utf8", str(libs.parent / "serve.py")]


@pytest.mark.parametrize("server", ["installed", "bundled"])
def test_nothing_is_imported_by_the_server_of_the_extension(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    project.shadow()
    start = extension_start() if server == "installed" else bundled_start(tmp_path)
    # The current folder is the extension's own: `-c` itself looks for `linecache` in it, from Python 3.13 on.
    assert "const options = { cwd: extensionPath };" in (EXTENSION / "src" / "launch.ts").read_text("utf-8")
    monkeypatch.setattr("server.client.ROOT", project.folder)  # the client's PYTHONPATH
    client = Client((sys.executable, *start), cwd=EXTENSION)
    try:
        uri = project.kernel.as_uri()
        client.initialize(folders=(project.folder.as_uri(),))
        client.open(uri, MERGEABLE)
        assert "SMEM301" in {found["code"] for found in client.published(uri, 1)}
        assert client.shut_down() == 0
    finally:
        client.kill()
    assert not project.ran()


@pytest.mark.slow(seconds=4)
@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("path", ["", ".", ":", "lib", "./lib:", "{project}", "{project}/lib", "{link}"])
@pytest.mark.parametrize("door", ["executable", "module"])
def test_a_python_path_that_leads_into_the_project(project: Project, door: str, path: str) -> None:
    project.shadow(left_out=NEEDED)
    project.shadow(left_out=NEEDED, below="lib")
    done = project.run(
        *DOORS[door], *CHECKS[0], PYTHONPATH=path.format(project=project.folder, link=project.link)
    )
    assert "SMEM301" in done.stdout, done.stderr
    assert not project.ran("ours")


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize(
    ("named", "path"),
    [
        ("{project}/k.cu", "{project}"),
        ("{project}/k.cu", "{link}/lib"),
        ("{link}/lib/deep", "{project}"),
        ("{link}/lib/deep/k.cu", "{project}/lib:{link}"),
        ("--output-file={project}/out", "{project}"),
    ],
)
def test_a_python_path_that_leads_into_what_is_named(project: Project, named: str, path: str) -> None:
    """The command is run elsewhere; the folder that is checked, or one that it lies in, is on the module path."""
    project.shadow(left_out=NEEDED)
    project.shadow(left_out=NEEDED, below="lib")
    (project.folder / "lib" / "deep").mkdir()
    (project.folder / "lib" / "deep" / "k.cu").write_text(MERGEABLE)
    (project.folder / "out").touch()
    elsewhere = project.folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "k.cu").write_text(MERGEABLE)
    places = {"project": project.folder, "link": project.link}
    done = subprocess.run(
        [*DOORS["executable"], "check", "--no-cache", named.format(**places), "k.cu"],
        cwd=elsewhere,
        env={**os.environ, "PYTHONPATH": path.format(**places)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "SMEM301" in done.stdout + (project.folder / "out").read_text(), done.stderr
    assert not project.ran("ours")


@pytest.mark.parametrize("prefix", ["byte-code", "{project}/byte-code"])
def test_byte_code_of_the_project_is_not_loaded(project: Project, prefix: str) -> None:
    """With PYTHONPYCACHEPREFIX the byte code of the standard library is looked for there."""
    place = prefix.format(project=project.folder)
    done = project.run(sys.executable, "-I", "-c", "import json.decoder; print(json.decoder.__file__)")
    source = Path(done.stdout.strip())
    canary = project.folder / "canary.py"
    canary.write_text(project.canary())
    made = project.folder / "byte-code" / source.relative_to("/").parent
    made = made / f"decoder.{sys.implementation.cache_tag}.pyc"
    # Of a kind that is not compared with its source.
    script = "import sys, py_compile as p; mode = p.PycInvalidationMode.UNCHECKED_HASH\n"
    script += "p.compile(*sys.argv[1:], invalidation_mode=mode)"
    assert project.run(sys.executable, "-I", "-c", script, str(canary), str(made)).returncode == 0
    project.run(sys.executable, "-c", "import json", PYTHONPYCACHEPREFIX=place)
    assert project.ran(), "the canary does not sing"
    project.log.unlink()
    project.run(str(SCRIPT), *CHECKS[0], PYTHONPYCACHEPREFIX=place)
    assert not project.ran("ours")


@pytest.mark.slow(seconds=3)
def test_a_cache_folder_in_the_project(project: Project) -> None:
    """What is kept there may be anybody's: it may say something wrong, and run nothing."""
    cache = project.folder / ".cache"
    assert project.run(str(SCRIPT), "check", "k.cu", XDG_CACHE_HOME=str(cache)).returncode == 1
    (kept,) = (cache / "smem-lsp").glob("grammar-*.json")
    body = f"cposix\nsystem\n(Vecho ours pickle >> {project.log}\ntR."
    for text in (body, "garbage", "", "5", "{}", '{"symbols": [], "rules": [], "states": [[0, 0]]}'):
        kept.write_text(text)
        done = project.run(str(SCRIPT), "check", "k.cu", XDG_CACHE_HOME=str(cache))
        assert (done.returncode, done.stderr) == (1, "")
    assert not project.ran()


@pytest.mark.parametrize("path", ["", ".:", ":", "bin:", "./bin:"])
def test_no_program_of_the_project_is_run(project: Project, path: str) -> None:
    compiler = nvcc()
    real = f"{compiler.parent}:" if compiler is not None else ""
    (project.folder / "smem.toml").write_text('nvcc = "nvcc"\narch = ["sm_90"]\n')
    done = project.run(str(SCRIPT), "check", "k.cu", PATH=f"{path}{real}/usr/bin:/bin")
    assert done.returncode == 1
    assert not project.ran()
    if compiler is not None and shutil.which("g++") is not None:
        assert done.stderr == ""


@pytest.mark.slow(seconds=4)
def test_a_tool_that_lies_in_the_folder_still_works(tmp_path: Path) -> None:
    """An environment or a checkout of ours in the current folder, and the checkout itself."""
    for folder in (ROOT, ROOT.parent, Path(sysconfig.get_path("purelib")), Path("/")):
        for door in DOORS.values():
            command = [*door, "check", str(tmp_path / "k.cu"), "--quiet"]
            (tmp_path / "k.cu").write_text(MERGEABLE)
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 1 and not done.stderr, (folder, done.stderr)


@pytest.mark.parametrize("door", ["executable", "module"])
@pytest.mark.parametrize(
    ("folder", "holds", "python_path"),
    [
        ("site-packages", "site-packages", ""),
        ("lib/python3/dist-packages", "lib/python3/dist-packages", "."),
        ("project/sub", "project", ".."),
        ("project/sub/sub", "project", "x:../../"),
    ],
)
def test_a_folder_that_looks_installed_is_none(
    tmp_path: Path, door: str, folder: str, holds: str, python_path: str
) -> None:
    """What counts is who put a folder on the module path, not what it is called or where it lies."""
    (tmp_path / folder).mkdir(parents=True)
    log = tmp_path / "log"
    for name in ("difflib", "argparse", "lark", "tomllib"):
        (tmp_path / holds / f"{name}.py").write_text(f"open({str(log)!r}, 'a').write('{name}')\n")
    (tmp_path / folder / "k.cu").write_text(MERGEABLE)
    done = subprocess.run(
        [*DOORS[door], "check", "k.cu", "--select", "SMEM301"],
        cwd=tmp_path / folder,
        env={**os.environ, "PYTHONPATH": python_path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert not log.exists(), log.read_text()
    assert "SMEM301" in done.stdout, done.stderr


# A process that is not ours to set up, as that of a Dask worker: it stands elsewhere and starts a child in the project.
WORKER = """\
import pickle, sys
from smem_lsp.cli import cluster
from smem_lsp.cli.outcome import FileTask, Options
from smem_lsp.config import Config
options, task = Options(format="concise", reuse=False), FileTask("k.cu", Config(arch=("sm_90",)))
sent = [pickle.dumps(options), pickle.dumps(task)]
sys.path[:0] = sys.argv[2:]
print(pickle.loads(cluster.run_item("run", sys.argv[1], *sent)))
"""
LEADING = (
    "",
    ".",
    "lib",
    "./lib",
    "../lib",
    "{project}",
    "{project}/",
    "{link}/lib",
    "{elsewhere}/../project",
)


def worker(
    project: Project, *entries: str, executable: str = sys.executable, **environment: str
) -> subprocess.CompletedProcess[str]:
    elsewhere = project.folder.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    places = {"project": project.folder, "link": project.link, "elsewhere": elsewhere}
    return subprocess.run(
        [executable, "-c", WORKER, str(project.folder), *(entry.format(**places) for entry in entries)],
        cwd=elsewhere,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("entry", LEADING)
def test_the_child_of_a_worker_that_looks_for_modules_in_the_project(project: Project, entry: str) -> None:
    """What is relative leads a child into the folder that it is started in."""
    project.shadow()
    project.shadow(below="lib")
    for folder in (project.folder, project.folder / "lib"):
        (folder / "smem_lsp.py").write_text(project.canary())
    (project.folder.parent / "lib").symlink_to(project.folder)
    done = worker(project, entry)
    assert not project.ran(), done.stderr
    assert "SMEM301" in done.stdout, done.stderr


def test_the_child_of_a_worker_is_the_same_program(project: Project) -> None:
    """A folder that the path of the worker begins with may hold another smem-lsp, which it has not loaded."""
    (project.folder.parent / "other").mkdir()
    (project.folder.parent / "other" / "smem_lsp.py").write_text(project.canary())
    done = worker(project, str(project.folder.parent / "other"))
    assert not project.ran(), done.stderr
    assert "SMEM301" in done.stdout, done.stderr


def test_the_child_of_a_worker_whose_interpreter_was_found_by_a_relative_path(project: Project) -> None:
    """Then its name is relative as well, and the child is started in the project."""
    program = project.folder / "environment" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(log=project.log))
    program.chmod(0o755)
    elsewhere = project.folder.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "environment").symlink_to(sys.prefix)
    done = worker(project, executable="python", PATH="environment/bin:/usr/bin:/bin")
    assert not project.ran(), done.stderr
    assert "SMEM301" in done.stdout, done.stderr


def test_the_child_of_a_worker_loads_no_byte_code_of_the_project(project: Project) -> None:
    """A folder for byte code that is relative is another one where the child is started."""
    done = worker(project, PYTHONPYCACHEPREFIX="byte-code", PYTHONDONTWRITEBYTECODE="")
    assert "SMEM301" in done.stdout, done.stderr
    assert not (project.folder / "byte-code").exists()
