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


def isolate() -> None:
    """Take everything that leads to the current folder, or into it, off ``sys.path``."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # the folder is gone
        here = None
    relative = _relative_entries(here)
    front = _before_the_library()
    kept: list[str] = []
    installed: list[str] = []  # to be found, but after the standard library
    for number, entry in enumerate(sys.path):
        if not isinstance(entry, str) or not os.path.isabs(entry):
            continue
        place = os.path.realpath(entry)
        if number >= front or not (place in relative or (here is not None and _within(place, here))):
            kept.append(entry)
        elif place != here and os.path.basename(place) in _PACKAGES:
            installed.append(entry)
    sys.path[:] = kept + [entry for entry in installed if entry not in kept]
    # Byte code is kept there: whoever writes it writes modules.
    prefix = sys.pycache_prefix
    if prefix is not None and (
        not os.path.isabs(prefix) or (here is not None and _within(os.path.realpath(prefix), here))
    ):
        sys.pycache_prefix = None


def module_paths() -> list[str]:
    """``sys.path`` of another process of ours, in which this package is found, too."""
    home = _home()
    return [*sys.path, *(() if home in sys.path else (home,))]


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


def _relative_entries(here: str | None) -> set[str]:
    """Where entries of ``PYTHONPATH`` lead that depend on the current folder; `site` has made them absolute."""
    if here is None:
        return set()
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {os.path.realpath(os.path.join(here, entry)) for entry in entries if not os.path.isabs(entry)}


def _home() -> str:
    """The folder that this package lies in."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def _within(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)
