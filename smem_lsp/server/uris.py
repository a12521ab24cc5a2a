"""Document URIs and file paths."""

from __future__ import annotations

import os
import sys
from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urlsplit

_WINDOWS = os.name == "nt"
_ERRORS = sys.getfilesystemencodeerrors()  # how a name that is not UTF-8 stands in a string of Python


def path_of(uri: str) -> str | None:
    """The path of a ``file:`` URI, with its escapes resolved; None for other schemes, for a malformed URI and for a
    name that no file can have. One that is not UTF-8, ``%FF``, is what Python calls such a file.
    """
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file":
        return None
    # A `#` or `?` in a name should be escaped; a client that forgets it still means the name.
    path = _unescaped(parts.path + (f"?{parts.query}" if parts.query else ""))
    path += _unescaped(f"#{parts.fragment}") if parts.fragment else ""
    if "\0" in path:
        return None
    if parts.netloc and parts.netloc != "localhost":
        path = f"//{_unescaped(parts.netloc)}{path}"
    elif path[2:3] == ":" and path[1:2].isalpha():
        path = path[1].lower() + path[2:]  # file:///C:/x
    try:
        os.fsencode(path)
    except UnicodeEncodeError:  # half a character, which JSON can hold
        return None
    return path.replace("/", "\\") if _WINDOWS else path


def uri_of(path: str) -> str:
    """The ``file:`` URI of an absolute path."""
    slashed = path.replace("\\", "/") if _WINDOWS else path
    if slashed.startswith("//"):
        host, _, rest = slashed[2:].partition("/")
        return f"file://{host}/{_escaped(rest)}"
    return f"file://{'' if slashed.startswith('/') else '/'}{_escaped(slashed)}"


def same_file_key(path: str) -> str:
    """Equal for two spellings of one path."""
    return os.path.normcase(os.path.abspath(path))  # noqa: PTH100  (links stay what they are)


def name_of(uri: str) -> str:
    """What a document is called: ``Untitled-1`` of ``untitled:Untitled-1``."""
    path = path_of(uri)
    return (
        PurePosixPath(_unescaped(uri.partition(":")[2]) if path is None else path.replace("\\", "/")).name
        or uri
    )


def _unescaped(part: str) -> str:
    return unquote(part, errors=_ERRORS)


def _escaped(path: str) -> str:
    try:
        return quote(path, errors=_ERRORS)
    except UnicodeEncodeError:  # as `rootPath` may be spelled
        return quote(path, errors="surrogatepass")
