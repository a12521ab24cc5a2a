"""The Lark parser over ``grammar/cuda.lark``: built once, its tables kept in the user's cache folder.

The cache is a pickle, so it is only ever read from the user's own cache folder, never from a workspace. A missing,
stale or unreadable cache costs 0.3 s once and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.resources
import io
import os
import pickle
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import lark
from lark.lexer import Lexer

from smem_lsp.syntax.build import TreeBuilder
from smem_lsp.syntax.marks import Mark

STARTS = ("statements", "expression", "declaration", "for_head", "condition", "parameters", "initializer")


class MarkLexer(Lexer):
    """Hands over marks that are already made."""

    __future_interface__ = 1

    def __init__(self, lexer_conf: object) -> None:
        del lexer_conf

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
        del parser_state
        yield from lexer_state.text


def grammar_text() -> str:
    """``cuda.lark``: from the wheel, else from the checkout."""
    packaged = importlib.resources.files("smem_lsp") / "_grammar" / "cuda.lark"
    checkout = Path(__file__).resolve().parents[2] / "grammar" / "cuda.lark"
    if checkout.is_file() and (checkout.parents[1] / "pyproject.toml").is_file():
        return checkout.read_text(encoding="utf-8")
    return packaged.read_text(encoding="utf-8")


def cache_folder() -> Path:
    """Where tables are kept: the platform's cache folder of this user."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "smem-lsp"


@lru_cache(maxsize=1)
def parser() -> lark.Lark:
    """The parser, with tables from the cache where they are there."""
    text = grammar_text()
    key = hashlib.sha256(
        f"{text}\0{lark.__version__}\0{sys.version_info[:2]}\0{STARTS}".encode()
    ).hexdigest()[:20]
    try:
        path = cache_folder() / f"grammar-{key}.pickle"
    except RuntimeError:  # no home folder
        return _build(text)
    loaded = _load(path)
    if loaded is not None:
        return loaded
    built = _build(text)
    _save(built, path)
    return built


def _build(text: str) -> lark.Lark:
    return lark.Lark(text, parser="lalr", lexer=MarkLexer, start=list(STARTS), transformer=TreeBuilder())


def _load(path: Path) -> lark.Lark | None:
    try:
        with path.open("rb") as file:
            data = pickle.load(file)
        instance = lark.Lark.__new__(lark.Lark)
        return instance._load(data, transformer=TreeBuilder())
    except FileNotFoundError:
        return None
    except (
        OSError,
        pickle.UnpicklingError,
        EOFError,
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        ImportError,
    ):
        with contextlib.suppress(OSError):  # a damaged cache is rebuilt
            path.unlink()
        return None


def _save(built: lark.Lark, path: Path) -> None:
    buffer = io.BytesIO()
    built.save(buffer)
    with contextlib.suppress(OSError):  # a read-only home: build every time
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".grammar-")
        with os.fdopen(handle, "wb") as file:
            file.write(buffer.getvalue())
        Path(temporary).replace(path)


def parse(start: str, marks: Iterable[Mark]) -> Any:
    """Parse marks from ``start``. Raises lark.UnexpectedInput when they do not fit."""
    return parser().parse(marks, start=start)
