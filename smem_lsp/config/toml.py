"""TOML from untrusted files: bounded in size and depth before a recursive parser sees it."""

from __future__ import annotations

import importlib
import re
import sys

from smem_lsp.source.regex import regex

MAX_SIZE = 1024 * 1024  # bytes of a config file
MAX_DEPTH = 32  # tables and lists in one another, parts of a dotted key

# Strings and comments are passed over whole, so that what is in them does not count.
_TOKEN = regex(
    r'"""(?:[^\\]|\\.)*?"""|' + r"'''.*?'''" + r'|"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'|#[^\n]*|[\[\]{}.,=\n]",
    re.S,
)


class TomlError(ValueError):
    """A text that is not TOML, or nested deeper than a config file needs; the message is one line."""


def parse_toml(text: str) -> dict[str, object]:
    """The document. Raises TomlError."""
    if _depth(text) > MAX_DEPTH:
        raise TomlError(f"is nested deeper than {MAX_DEPTH} levels")
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        document: dict[str, object] = toml.loads(text)
    except ValueError as error:  # TOMLDecodeError is one, a number of 5,000 digits another
        raise TomlError(f"is not valid TOML: {str(error).splitlines()[0]}") from None
    return document


def _depth(text: str) -> int:
    """The greatest depth of brackets and dotted keys; for a text that is not TOML, any number."""
    deepest = open_brackets = dots = 0
    for found in _TOKEN.finditer(text):
        sign = found[0]
        if sign == ".":
            dots += 1
        elif sign in ("[", "{"):
            open_brackets += 1
            dots = 0
        elif sign in ("]", "}"):
            open_brackets = max(0, open_brackets - 1)
            dots = 0
        elif sign in (",", "=", "\n"):
            dots = 0
        deepest = max(deepest, open_brackets + dots)
    return deepest
