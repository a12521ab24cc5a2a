"""Nothing of the folder that the tool is run in, or is pointed at, may be imported.

``python -m`` puts the current folder first on ``sys.path``, and an empty or relative entry of ``PYTHONPATH`` does the
same: a project with a ``json.py`` would run. What the interpreter itself adds for installed packages stands behind the
standard library; whatever a folder or an environment variable adds stands before it. This module is the first that a
process of ours imports, so it imports only what the interpreter has loaded itself, and no pathlib.

Holds the one thing that runs before all else. May import nothing of ours. Never imports what the interpreter has not
loaded itself.
"""

# ruff: noqa: PTH100, PTH109, PTH112, PTH113, PTH117, PTH118, PTH119, PTH120

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGES = ("site-packages", "dist-packages")  # what is installed
# As long as the current folder is still the one in which the process was started.
_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_INTERPRETER = os.path.abspath(sys.executable) if sys.executable else ""


def isolate() -> None:
    """Take everything that leads to the current folder, or into it, off ``sys.path``; and to whatever else the command
    line names, or to a folder that this lies in."""
    sys.path[:] = module_paths(*_named())
    sys.pycache_prefix = byte_code_folder(*_named())


def module_paths(*more: str) -> list[str]:
    """``sys.path`` without what leads into the current folder, or is relative; and into ``more`` folders, in which a
    process of ours is started or that are checked, or to one that such a folder lies in."""
    here, others = _current(), tuple(map(os.path.realpath, more))
    folders = (*here, *others)
    relative = _relative_entries(folders)
    front = _before_the_library()
    kept: list[str] = []
    installed: list[str] = []  # to be found, but after the standard library
    for number, entry in enumerate(sys.path):
        if not isinstance(entry, str) or not os.path.isabs(entry):
            continue
        place = os.path.realpath(entry)
        leads = place in relative or any(_within(place, each) for each in folders)
        if number >= front or not (leads or any(_within(each, place) for each in others)):
            kept.append(entry)
        elif place not in folders and os.path.basename(place) in _PACKAGES:
            installed.append(entry)
    return kept + [entry for entry in installed if entry not in kept]


def byte_code_folder(*more: str) -> str | None:
    """``sys.pycache_prefix``, unless it leads into one of the same folders: whoever writes byte code writes modules."""
    prefix = sys.pycache_prefix
    if prefix is None or not os.path.isabs(prefix):
        return None
    place = os.path.realpath(prefix)
    folders = (*_current(), *map(os.path.realpath, more))
    return None if any(_within(place, each) for each in folders) else prefix


def home() -> str:
    """The folder that this package lies in, absolute."""
    return _HOME


def interpreter() -> str:
    """``sys.executable``, which is relative where ``PATH`` is; this is absolute. Empty: it is not known."""
    return _INTERPRETER


def _current() -> tuple[str, ...]:
    """The current folder, without links."""
    try:
        return (os.path.realpath(os.getcwd()),)
    except OSError:  # it is gone
        return ()


def _named() -> "Iterator[str]":
    """The folders that the words of the command line name, or files in them: ``src``, ``src/k.cu``, ``src/k.cu:k``."""
    for word in sys.argv[1:]:
        for path in (word, word.rpartition(":")[0], word.partition("=")[2]):
            if path and os.path.isdir(path):
                yield path
            elif path and os.path.isfile(path):
                yield os.path.dirname(path) or os.curdir


def _before_the_library() -> int:
    """How many entries stand before the standard library."""
    library = os.path.dirname(os.path.realpath(os.__file__))
    zipped = f"python{sys.version_info[0]}{sys.version_info[1]}.zip"
    for number, entry in enumerate(sys.path):
        if isinstance(entry, str) and (
            os.path.basename(entry) == zipped or os.path.realpath(entry) == library
        ):
            return number
    return len(sys.path)


def _relative_entries(folders: tuple[str, ...]) -> set[str]:
    """Where entries of ``PYTHONPATH`` lead that depend on the current folder; `site` has made them absolute."""
    entries = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if not os.path.isabs(each)]
    return {os.path.realpath(os.path.join(folder, entry)) for folder in folders for entry in entries}


def _within(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)
