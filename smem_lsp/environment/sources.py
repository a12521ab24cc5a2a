"""The files of a check: found and read."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from smem_lsp.environment.encoding import Encoding, decode
from smem_lsp.source import MAX_BYTES, is_folder, is_there, read_regular
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.targets.dialects import SUFFIXES

HEADER_SUFFIXES = frozenset({".h", ".hpp", ".hu", ".inl"})

_OTHER_SUFFIXES = frozenset(
    {".c", ".cc", ".cpp", ".cxx", ".c++", ".hh", ".hxx", ".h++", ".inc", ".ipp", ".tpp"}
)

_NAMED = frozenset({*SUFFIXES, *HEADER_SUFFIXES, *_OTHER_SUFFIXES})

_CHECKED = frozenset({*SUFFIXES, *HEADER_SUFFIXES})

_DEVICE_CODE = regex(rb"__(?:global|device|shared)__")
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


class SourceError(Exception):
    """A file that cannot be checked; the message is one line that names it."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


class NoCudaError(SourceError):
    """A file that was named outright and holds no CUDA."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path,
            "no CUDA source: neither a suffix like .cu nor any __global__, __device__ or __shared__ in it",
        )


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was read. ``path`` as the user gave it."""

    path: str
    text: str
    encoding: Encoding
    data: bytes  # what was read: a file that changed since is not overwritten


@dataclass(slots=True)
class Collected:
    """Paths to check, in the order given and sorted within a folder; and what could not be used."""

    files: list[str] = field(default_factory=list)
    errors: list[SourceError] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)  # folders with nothing to check


def collect(paths: Sequence[str], excluded: Callable[[str], bool]) -> Collected:
    """Files named by ``paths``; folders are searched for CUDA code.

    A file named outright is taken even if ``excluded`` names it, unless it is neither C++ by its suffix nor holds
    device code. In a folder, ``.cu``, ``.cuh``
    and ``.hip`` files always count, headers only if they hold device code; hidden folders, virtual environments and
    what ``excluded`` names are left out. A file or a folder that several links lead to is taken once.
    """
    found = Collected()
    seen: set[str] = set()
    for path in paths:
        visited: set[tuple[int, int]] = set()
        if not is_folder(path):
            if _is_source(path):
                _add(path, found, seen)
            else:
                found.errors.append(NoCudaError(path))
            continue
        before = len(found.files) + len(found.errors)
        for file in _without_links(list(_walk(path, excluded, visited, found.errors, _CHECKED, _is_cuda))):
            _add(file, found, seen)
        if len(found.files) + len(found.errors) == before:
            found.empty.append(path)
    return found


def source_files(folders: Iterable[str], excluded: Callable[[str], bool]) -> Iterator[str]:
    """The files in the folders that may be checked or included, by their names; what cannot be read is passed over."""
    visited: set[tuple[int, int]] = set()
    for folder in folders:
        yield from _walk(folder, excluded, visited, [], _NAMED, lambda path, _: True)


def read_source(path: str) -> SourceFile:
    """Read a file for checking. Raises SourceError."""
    try:
        data = read_regular(path)
        text, encoding = decode(data)
    except FileNotFoundError:
        nowhere = Path(path).is_symlink()
        raise SourceError(
            path, "a link that leads nowhere" if nowhere else "no such file or folder"
        ) from None
    except OverflowError:
        raise SourceError(path, f"larger than {MAX_BYTES // 1024 // 1024} MB, not read") from None
    except UnicodeDecodeError as error:
        problem = (
            f"not {error.encoding.upper()} text, though its byte order mark says so (byte {error.start})"
        )
        raise SourceError(path, problem) from None
    except OSError as error:
        raise SourceError(path, f"cannot be read: {lowered(error.strerror or str(error))}") from None
    if "\0" in text:
        raise SourceError(path, "a binary file, not source text")
    return SourceFile(path, text, encoding, data)


def lowered(message: str) -> str:
    """An operating system's message, to stand in the middle of a line."""
    return message[:1].lower() + message[1:]


def _add(path: str, found: Collected, seen: set[str]) -> None:
    key = os.path.realpath(path)
    if key not in seen:
        seen.add(key)
        found.files.append(path)


def _without_links(files: Sequence[str]) -> Iterator[str]:
    """The files without links to others of them."""
    links = {path for path in files if os.path.realpath(path) != os.path.abspath(path)}  # noqa: PTH100
    own = {os.path.realpath(path) for path in files if path not in links}
    return (path for path in files if path not in links or os.path.realpath(path) not in own)


def _walk(
    folder: str,
    excluded: Callable[[str], bool],
    visited: set[tuple[int, int]],
    errors: list[SourceError],
    suffixes: frozenset[str],
    wanted: Callable[[str, list[SourceError]], bool],
) -> Iterator[str]:
    """The wanted files with one of ``suffixes`` below a folder of any depth: a list of open folders replaces recursion.
    Folders that links lead to come last: what they hold may stand below the folder itself, too."""
    open_folders = [_entries(folder, visited, errors)]
    links: deque[str] = deque()
    while open_folders or links:
        if not open_folders:
            open_folders.append(_entries(links.popleft(), visited, errors))
        entry = next(open_folders[-1], None)
        if entry is None:
            open_folders.pop()
            continue
        if entry.name.startswith("."):
            continue
        # What is no link the listing knows; of a link is_folder never raises, unlike the entry, if it leads to itself.
        is_dir = entry.is_dir(follow_symlinks=False) or (entry.is_symlink() and is_folder(entry.path))
        if not is_dir and os.path.splitext(entry.name)[1] not in suffixes:  # noqa: PTH122  (of each file of a project)
            continue
        path = entry.path.removeprefix(f".{os.sep}") if folder == "." else entry.path
        if excluded(path):
            continue
        if is_dir:
            if entry.is_symlink() and not _skipped(entry):
                links.append(path)
            elif not _skipped(entry):
                open_folders.append(_entries(path, visited, errors))
        elif wanted(path, errors):
            yield path


def _entries(
    folder: str, visited: set[tuple[int, int]], errors: list[SourceError]
) -> Iterator[os.DirEntry[str]]:
    """The entries of a folder, by name; none if it was visited before or cannot be read."""
    try:
        status = os.stat(folder)  # noqa: PTH116
        if (status.st_dev, status.st_ino) in visited:
            return
        visited.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        errors.append(SourceError(folder, f"cannot be read: {lowered(reason or str(error))}"))
        return
    yield from entries


def _skipped(entry: os.DirEntry[str]) -> bool:
    return entry.name in _SKIPPED_FOLDERS or is_there(Path(entry.path) / "pyvenv.cfg")


def _is_source(path: str) -> bool:
    """Is it C++ by its suffix, or does it hold device code? True for what cannot be read, which is told later."""
    if Path(path).suffix.lower() in _NAMED:
        return True
    try:
        data = read_regular(path)
    except (OSError, OverflowError):
        return True
    return b"\0" in data or _DEVICE_CODE.search(data) is not None


def _is_cuda(path: str, errors: list[SourceError]) -> bool:
    if Path(path).suffix in SUFFIXES:
        return True
    try:
        return _DEVICE_CODE.search(read_regular(path)) is not None
    except OverflowError:
        return False  # a generated table, not a kernel
    except OSError as error:
        errors.append(SourceError(path, f"cannot be read: {lowered(error.strerror or str(error))}"))
        return False
