"""Fetch the pinned source distributions that the tool is tried on, without running anything that is in them.

pip finds and downloads them, because it knows the index, certificates and proxies of this machine. It would also ask
every package's own build code for its name: that process is given a build backend of ours instead, whatever the
package says, which copies the name out of ``PKG-INFO`` and can do nothing else.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

LIST = Path(__file__).parent / "corpora.txt"
SOURCES = frozenset(
    {".cu", ".cuh", ".h", ".hh", ".hpp", ".hxx", ".hu", ".inl", ".inc", ".c", ".cc", ".cpp", ".cxx"}
)
LAYOUT = 2  # of what is unpacked: another number, another folder in the cache
MAX_FILE = 8 * 1024 * 1024  # bytes: the tool opens nothing larger
MAX_TOTAL = 512 * 1024 * 1024  # bytes: more is no source distribution of ours
TIMEOUT = 300  # seconds for one download

_BACKEND = '''\
"""Stands in for a build backend: names the package, builds nothing."""
import pathlib
import re


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    text = pathlib.Path("PKG-INFO").read_text(encoding="utf-8")
    name, version = (re.search(f"^{key}: *(.*)$", text, re.M)[1].strip() for key in ("Name", "Version"))
    folder = re.sub("[-_.]+", "_", name) + "-" + version + ".dist-info"
    pathlib.Path(metadata_directory, folder).mkdir()
    metadata = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n"
    pathlib.Path(metadata_directory, folder, "METADATA").write_text(metadata, encoding="utf-8")
    return folder
'''

# Loaded before anything else in the process that would import the package's backend. pip tells that process in two
# variables what to import and from where; a pip that tells it in another way gets no answer at all.
_GUARD = """\
import os
import sys
if any("_in_process" in word for word in sys.orig_argv):
    told = [name for name in ("_PYPROJECT_HOOKS_BUILD_BACKEND", "PEP517_BUILD_BACKEND") if name in os.environ]
    if not told:
        os.write(2, b"error: this pip asks for the build backend in an unknown way; nothing was run\\n")
        os._exit(1)
    for name in told:
        os.environ[name] = "stand_in_backend"
    for name in ("_PYPROJECT_HOOKS_BACKEND_PATH", "PEP517_BACKEND_PATH"):
        os.environ.pop(name, None)
"""

_STAND_INS = {
    "sitecustomize.py": _GUARD,
    "stand_in_backend.py": _BACKEND,
    "setuptools/__init__.py": "",  # without build isolation pip wants to see these
    "wheel/__init__.py": "",
}
_PASSING = re.compile(
    r"(?i)connection|timed? ?out|temporar|incomplete ?read|protocolerror|ssl|\b50[0-4]\b|broken pipe"
)


class Unavailable(Exception):
    """A corpus cannot be had here; the message is one line."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A line of the list."""

    requirement: str  # "name==version"
    sha256: str  # of the archive
    defines: tuple[str, ...]  # macros that its own build defines
    default: bool  # False: only when all are asked for

    @property
    def name(self) -> str:
        return self.requirement.partition("==")[0]

    @property
    def folder(self) -> str:
        """Name in the cache: another archive never takes its place."""
        return f"{self.requirement.replace('==', '-')}-{self.sha256[:12]}-{LAYOUT}"


def corpora() -> list[Corpus]:
    """The pinned corpora: all of them with ``SMEM_CORPORA_ALL=1``, else the default ones."""
    wanted = os.environ.get("SMEM_CORPORA_ALL") == "1"
    return [corpus for corpus in pinned() if corpus.default or wanted]


def pinned() -> list[Corpus]:
    """All that are pinned, default or not."""
    return list(_parse(LIST.read_text(encoding="utf-8")))


def corpus_named(name: str) -> Corpus:
    """The pinned corpus of this name, one of the default ones or not."""
    return next(corpus for corpus in pinned() if corpus.name == name)


def cache_folder() -> Path:
    """Where unpacked sources are kept: ``SMEM_CORPORA``, else the user's cache folder."""
    if named := os.environ.get("SMEM_CORPORA"):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "smem-lsp" / "corpora"


def fetch(corpus: Corpus) -> Path:
    """The folder with the sources of ``corpus``, downloaded if it is not there yet. Raises Unavailable."""
    target = cache_folder() / corpus.folder
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as scratch:
        archive = _download(corpus, Path(scratch))
        unpacked = Path(scratch) / "unpacked"
        unpack(archive, unpacked)
        try:
            unpacked.rename(target)
        except OSError:
            if not target.is_dir():  # else another process was faster: its copy is as good
                raise
    return target


def unpack(archive: Path, target: Path) -> None:
    """Write the C and CUDA sources of a tar archive below ``target``, and the ``PKG-INFO`` that marks its root.

    Only regular files: no links, devices, absolute names or ways out. Raises Unavailable for an archive that is
    larger than any source distribution has reason to be.
    """
    target.mkdir(parents=True)
    total = 0
    with tarfile.open(archive) as tar:
        for member in tar:
            path = safe_path(member.name)
            if not member.isreg() or path is None or member.size > MAX_FILE:
                continue
            if path.suffix not in SOURCES and not (path.name == "PKG-INFO" and len(path.parts) == 2):
                continue
            total += member.size
            if total > MAX_TOTAL:
                raise Unavailable(f"{archive.name}: more than {MAX_TOTAL >> 20} MB of sources")
            content = tar.extractfile(member)
            assert content is not None  # it is a regular file
            place = target / path
            place.parent.mkdir(parents=True, exist_ok=True)
            with content, place.open("wb") as out:
                shutil.copyfileobj(content, out)


def safe_path(name: str) -> PurePosixPath | None:
    """The path of an archive's member if it stays below the folder it is unpacked to."""
    path = PurePosixPath(name)
    bad = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or "\0" in name
    return None if bad or not path.parts else path


def _parse(text: str) -> Iterator[Corpus]:
    default = True
    for line in text.splitlines():
        if line == "[all]":
            default = False
        elif line and not line.startswith("#"):
            requirement, sha256, *defines = line.split()
            yield Corpus(requirement, sha256, tuple(defines), default)


def _download(corpus: Corpus, scratch: Path) -> Path:
    """The archive of ``corpus``, its hash checked. Raises Unavailable."""
    archive = download(corpus.requirement, scratch, corpus.sha256)
    # pip has checked it as well; nothing is unpacked on the word of another program.
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != corpus.sha256:
        raise Unavailable(f"{corpus.requirement}: sha256 is {found}, pinned is {corpus.sha256}")
    return archive


def download(requirement: str, scratch: Path, sha256: str | None = None) -> Path:
    """The source archive that the index has for ``requirement``, in ``scratch``. Raises Unavailable."""
    for name, content in _STAND_INS.items():
        place = scratch / "stand-ins" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    wanted = scratch / "requirements.txt"
    pin = f" --hash=sha256:{sha256}" if sha256 else ""
    wanted.write_text(f"{requirement}{pin}\n", encoding="utf-8")
    flags = [
        "--quiet",
        "--no-deps",
        "--no-binary=:all:",
        "--no-build-isolation",
        "--use-pep517",
        *(["--require-hashes"] if sha256 else []),
    ]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        *flags,
        "--requirement",
        str(wanted),
        "--dest",
        str(scratch),
    ]
    # Distutils of the standard library: setuptools' own would be looked for in the stand-in.
    environment = {
        **os.environ,
        "PYTHONPATH": str(scratch / "stand-ins"),
        "SETUPTOOLS_USE_DISTUTILS": "stdlib",
    }
    done = _run(command, scratch, environment, requirement)
    if done.returncode != 0 and _PASSING.search(done.stderr + done.stdout):
        done = _run(command, scratch, environment, requirement)  # the network may be back
    if done.returncode != 0:
        raise Unavailable(f"{requirement}: {_reason(done.stderr + done.stdout)}")
    archives = [path for path in scratch.iterdir() if re.search(r"\.tar\.(?:gz|bz2|xz)$|\.tgz$", path.name)]
    if len(archives) != 1:
        raise Unavailable(f"{requirement}: pip left no archive")
    return archives[0]


def _run(
    command: list[str], folder: Path, environment: dict[str, str], requirement: str
) -> subprocess.CompletedProcess[str]:
    """Run pip. Raises Unavailable when it takes too long."""
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{requirement}: no answer from the index within {TIMEOUT} s") from None


def _reason(output: str) -> str:
    """The line of pip's output that says why: its first error, or ours if the guard spoke."""
    lines = [line.strip(" │╰─>") for line in output.splitlines()]
    blamed = sorted(
        (line for line in lines if line.lower().startswith("error")),
        key=lambda line: "nothing was run" not in line,
    )
    return next((line for line in [*blamed, *lines] if line), "pip download failed without a word")


if __name__ == "__main__":
    for each in corpora():
        print(f"{each.requirement}: {fetch(each)}", flush=True)
