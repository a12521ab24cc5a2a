"""Nothing of the folder that the tool is run in, or is pointed at, may be imported.

``python -m`` puts the current folder first on ``sys.path``, and an empty or relative entry of ``PYTHONPATH`` does the
same: a project with a ``json.py`` would run. What the interpreter itself adds for installed packages stands behind the
standard library; whatever a folder or an environment variable adds stands before it. This module is the first that a
process of ours imports, so it imports only what the interpreter has loaded itself, and no pathlib.

Holds the one thing that runs before all else. May import nothing of ours. Never imports what the interpreter has not
loaded itself.
"""

# ruff: noqa: PTH100, PTH109, PTH117, PTH118, PTH119, PTH120

import os
import sys

_PACKAGES = ("site-packages", "dist-packages")  # what is installed
# As long as the current folder is still the one in which the process was started.
_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_INTERPRETER = os.path.abspath(sys.executable) if sys.executable else ""


def isolate() -> None:
    """Take everything that leads to the current folder, or into it, off ``sys.path``."""
    sys.path[:] = module_paths()
    sys.pycache_prefix = byte_code_folder()


def module_paths(folder: str | None = None) -> list[str]:
    """``sys.path`` without what leads into the current folder, or is relative; for a process of ours that is started in
    ``folder``, without what leads into that one, too."""
    folders = _real(folder)
    relative = _relative_entries(folders)
    front = _before_the_library()
    kept: list[str] = []
    installed: list[str] = []  # to be found, but after the standard library
    for number, entry in enumerate(sys.path):
        if not isinstance(entry, str) or not os.path.isabs(entry):
            continue
        place = os.path.realpath(entry)
        if number >= front or not (place in relative or any(_within(place, each) for each in folders)):
            kept.append(entry)
        elif place not in folders and os.path.basename(place) in _PACKAGES:
            installed.append(entry)
    return kept + [entry for entry in installed if entry not in kept]


def byte_code_folder(folder: str | None = None) -> str | None:
    """``sys.pycache_prefix``, unless it leads into one of the same folders: whoever writes byte code writes modules."""
    prefix = sys.pycache_prefix
    if prefix is None or not os.path.isabs(prefix):
        return None
    place = os.path.realpath(prefix)
    return None if any(_within(place, each) for each in _real(folder)) else prefix


def home() -> str:
    """The folder that this package lies in, absolute."""
    return _HOME


def interpreter() -> str:
    """``sys.executable``, which is relative where ``PATH`` is; this is absolute. Empty: it is not known."""
    return _INTERPRETER


def _real(folder: str | None) -> tuple[str, ...]:
    """``folder`` and the current folder, without links."""
    try:
        here: tuple[str, ...] = (os.path.realpath(os.getcwd()),)
    except OSError:  # it is gone
        here = ()
    return here if folder is None else (*here, os.path.realpath(folder))


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
