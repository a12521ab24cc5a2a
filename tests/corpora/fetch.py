"""Fetch the pinned source distributions that the tool is tried on, without running anything that is in them.

pip finds and downloads them, because it knows the index, certificates and proxies of this machine. It would also ask
every package's own build code for its name, so the build backends it may call are replaced by one that copies the
name out of ``PKG-INFO`` and can do nothing else; a package that brings its own backend is refused.
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


class __legacy__:
    prepare_metadata_for_build_wheel = staticmethod(prepare_metadata_for_build_wheel)
'''

# A backend inside the package would be imported before ours: that process ends before it can.
_GUARD = """\
import os
if os.environ.get("_PYPROJECT_HOOKS_BACKEND_PATH") or os.environ.get("PEP517_BACKEND_PATH"):
    os.write(2, b"this package brings its own build backend, which is never run\\n")
    os._exit(1)
"""

_STAND_INS = {
    "sitecustomize.py": _GUARD,
    "setuptools/__init__.py": "",
    "setuptools/build_meta.py": _BACKEND,
    "scikit_build_core/__init__.py": "",
    "scikit_build_core/build.py": _BACKEND,
    "wheel/__init__.py": "",  # older releases of pip want to see it
}


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
        return f"{self.requirement.replace('==', '-')}-{self.sha256[:12]}"


def corpora() -> list[Corpus]:
    """The pinned corpora: all of them with ``SMEM_CORPORA_ALL=1``, else the default ones."""
    wanted = os.environ.get("SMEM_CORPORA_ALL") == "1"
    return [corpus for corpus in _parse(LIST.read_text(encoding="utf-8")) if corpus.default or wanted]


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
    """Write the C and CUDA sources of a tar archive below ``target``.

    Only regular files: no links, devices, absolute names or ways out. Raises Unavailable for an archive that is
    larger than any source distribution has reason to be.
    """
    target.mkdir(parents=True)
    total = 0
    with tarfile.open(archive) as tar:
        for member in tar:
            path = safe_path(member.name)
            if not member.isreg() or path is None or path.suffix not in SOURCES or member.size > MAX_FILE:
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
    for name, content in _STAND_INS.items():
        place = scratch / "stand-ins" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    wanted = scratch / "requirements.txt"
    wanted.write_text(f"{corpus.requirement} --hash=sha256:{corpus.sha256}\n", encoding="utf-8")
    flags = (
        "--quiet",
        "--no-deps",
        "--no-binary=:all:",
        "--no-build-isolation",
        "--use-pep517",
        "--require-hashes",
    )
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
    try:
        done = subprocess.run(
            command,
            cwd=scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{corpus.requirement}: no answer from the index within {TIMEOUT} s") from None
    if done.returncode != 0:
        raise Unavailable(f"{corpus.requirement}: {_reason(done.stderr + done.stdout)}")
    archives = [path for path in scratch.iterdir() if re.search(r"\.tar\.(?:gz|bz2|xz)$|\.tgz$", path.name)]
    if len(archives) != 1:
        raise Unavailable(f"{corpus.requirement}: pip left no archive")
    # pip has checked it as well; nothing is unpacked on the word of another program.
    found = hashlib.sha256(archives[0].read_bytes()).hexdigest()
    if found != corpus.sha256:
        raise Unavailable(f"{corpus.requirement}: sha256 is {found}, pinned is {corpus.sha256}")
    return archives[0]


def _reason(output: str) -> str:
    """The line of pip's output that says why: ours if the guard spoke, else pip's first error."""
    lines = [line.strip(" │╰─>") for line in output.splitlines()]
    blamed = sorted(
        (line for line in lines if "never run" in line or line.lower().startswith("error")),
        key=lambda line: "never run" not in line,
    )
    return next((line for line in [*blamed, *lines] if line), "pip download failed without a word")


if __name__ == "__main__":
    for each in corpora():
        print(f"{each.requirement}: {fetch(each)}")
