"""The members of a class as its author has written them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from smem_lsp.source import checkpoint
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import comments

_NAMED = regex(r"(\w+)\s*((?:\[[^][]*\]\s*)*)\Z")


def members_of(text: str, name: str) -> Iterator[tuple[str, str, int]]:
    """(path, declaration without the `;`, where its name stands in it) of each data member of the class ``name``
    that ``text`` declares, of those in nested classes without a name, too."""
    for each in reversed(comments(text)):
        text = text[: each.start] + " " * (each.end - each.start) + text[each.end :]
    found = re.search(rf"\b(?:union|struct)\s+{re.escape(name)}\s*\{{", text)
    if found is not None:
        yield from _members(text[found.end() : _closing(text, found.end())], "")


def _members(body: str, outer: str) -> Iterator[tuple[str, str, int]]:
    at = 0
    while at < len(body):
        checkpoint()
        nested = re.compile(r"\s*(?:struct|union)\s*\{").match(body, at)
        if nested is not None:
            end = _closing(body, nested.end())
            semicolon = body.find(";", end)
            if semicolon < 0:
                return
            called = body[end + 1 : semicolon].strip()
            inner = f"{outer}{called}." if called else outer
            yield from _members(body[nested.end() : end], inner)
            at = semicolon + 1
            continue
        semicolon = body.find(";", at)
        if semicolon < 0:
            return
        written = body[at:semicolon].strip()
        named = _NAMED.search(written)
        if named is not None and "," not in re.sub(r"<[^<>]*>|\([^()]*\)|\[[^][]*\]", "", written):
            yield outer + named[1], written, named.start()
        at = semicolon + 1


def _closing(text: str, at: int) -> int:
    """Where the brace closes that is open at ``at``."""
    depth = 1
    while at < len(text):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return at
        at += 1
    return at
