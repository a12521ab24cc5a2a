"""Nothing of the folder that the tool is run in, or is pointed at, may be imported.

``python -m`` puts the current folder first on ``sys.path``, and an empty or relative word in ``PYTHONPATH`` does the
same: a project with a ``json.py`` would run. This module is the first that a process of ours imports, so it imports
only what the interpreter has loaded itself, and no pathlib.
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
    sys.path[:] = [entry for entry in sys.path if _may_stay(entry, here)]
    # Byte code is kept there: whoever writes it writes modules.
    if sys.pycache_prefix is not None and not _may_stay(sys.pycache_prefix, here):
        sys.pycache_prefix = None


def module_paths() -> list[str]:
    """``sys.path`` of another process of ours, in which this package is found, too."""
    home = _home()
    return [*sys.path, *(() if home in sys.path else (home,))]


def _may_stay(entry: object, here: str | None) -> bool:
    if not isinstance(entry, str) or not os.path.isabs(entry):
        return False
    place = os.path.realpath(entry)
    if here is None or not _within(place, here):
        return True
    # Of what lies in the folder only what is installed there, and the tool's own code, may be imported.
    return (
        os.path.basename(place) in _PACKAGES
        or place in _own()
        or any(_within(place, at) for at in _libraries())
    )


def _own() -> list[str]:
    """The user's packages and the folder of this one. `site`, which knows the first, is not loaded under `-S`."""
    known = getattr(sys.modules.get("site"), "USER_SITE", None), _home()
    return [os.path.realpath(folder) for folder in known if isinstance(folder, str)]


def _libraries() -> set[str]:
    """Not all that is below a prefix: in ``/usr/src`` projects lie."""
    roots = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    return {os.path.realpath(os.path.join(root, name)) for root in roots for name in ("lib", sys.platlibdir)}


def _home() -> str:
    """The folder that this package lies in."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _within(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)
