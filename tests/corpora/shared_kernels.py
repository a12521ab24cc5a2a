"""Kernels that use shared memory, found without the tool: what a benchmark must have in its denominator.

A kernel uses what its body declares, what the functions and macros of its file declare that it names (at any depth),
and the arrays at namespace scope that any of them names. Of conditionals only ``#if 0`` is evaluated, and no include is
followed: a kernel whose arrays all stand in other files is not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scan import blanked, kernel_definitions

_DECLARED = re.compile(r"\b(extern\b[^;{}]{0,120}?)?\b__shared__\b([^;{}]{0,400})")
_NAME = re.compile(r"[A-Za-z_]\w*")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\r?\n|[^\n])*)", re.M)
_BOUNDS = re.compile(r"__launch_bounds__")
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b([^\n]*)", re.M)
_HEAD = re.compile(
    r"([A-Za-z_]\w*)\s*(?:<[^;{}()]*>)?\s*\([^;{}]*\)\s*(?:const\b|noexcept\b|->[^;{}()]*|\s)*\Z"
)


@dataclass(frozen=True, slots=True)
class SharedKernel:
    """A ``__global__`` definition that uses shared memory."""

    name: str
    line: int  # of "__global__", 1-based
    last_line: int  # of the closing brace
    static: bool
    dynamic: bool
    launch_bounds: bool


@dataclass(frozen=True, slots=True)
class _Text:
    """A function or a macro: what it declares, what it names."""

    static: bool
    dynamic: bool
    names: frozenset[str]


def shared_kernels(text: str) -> list[SharedKernel]:
    """All of a file, in order."""
    if "__shared__" not in text:
        return []
    text = without_dead_branches(text)
    code = blanked(text)
    functions = _functions(code)
    helpers = _helpers(text, code, functions)
    found = []
    for kernel in kernel_definitions(text):
        body = _body(code, kernel.offset)
        if body is None:
            continue
        head, own = code[kernel.offset : body[0]], _read(code[body[0] : body[1]])
        reached = list(_reached(own, helpers))
        static, dynamic = any(each.static for each in reached), any(each.dynamic for each in reached)
        if static or dynamic:
            last = text.count("\n", 0, body[1]) + 1
            bounds = bool(_BOUNDS.search(head))
            found.append(SharedKernel(kernel.name, kernel.line, last, static, dynamic, bounds))
    return found


def without_dead_branches(text: str) -> str:
    """``text`` with the branches of ``#if 0`` and ``#if false`` blanked."""
    pieces: list[str] = []
    position = 0
    stack: list[bool] = []  # of each open conditional: is its present branch dead?
    for match in _CONDITIONAL.finditer(text):
        part = text[position : match.start()]
        pieces.append(re.sub(r"[^\n]", " ", part) if any(stack) else part)
        pieces.append(match[0])
        position = match.end()
        word, rest = match[1], match[2].split("//")[0].strip()
        if word.startswith("if"):
            stack.append(word == "if" and rest in ("0", "false", "(0)"))
        elif stack and word == "endif":
            stack.pop()
        elif stack:
            stack[-1] = False
    return "".join([*pieces, text[position:]])


def _body(code: str, start: int) -> tuple[int, int] | None:
    """(offset of the first brace behind ``start``, offset behind the closing one)."""
    depth, opened = 0, code.find("{", start)
    for brace in re.finditer(r"[{}]", code[opened:] if opened >= 0 else ""):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return opened, opened + brace.end()
    return None


def _functions(code: str) -> list[tuple[str, int, int]]:
    """(name, offset of the brace, offset behind the closing one) of the functions that are in no other function."""
    found: list[tuple[str, int, int]] = []
    depth_of_function: int | None = None
    name, start, statement, depth = "", 0, 0, 0
    for match in re.finditer(r"[{};]", code):
        position = match.start()
        if match[0] == "{":
            head = _HEAD.search(code[max(statement, position - 4000) : position])
            if depth_of_function is None and head is not None:
                depth_of_function, name, start = depth, head[1], position
            depth += 1
        elif match[0] == "}":
            depth = max(depth - 1, 0)
            if depth == depth_of_function:
                found.append((name, start, position + 1))
                depth_of_function = None
        if depth_of_function is None:
            statement = position + 1
    return found


def _helpers(text: str, code: str, functions: Iterable[tuple[str, int, int]]) -> dict[str, list[_Text]]:
    """Functions, macros and arrays at namespace scope that a body may name."""
    helpers: dict[str, list[_Text]] = {}
    outside = list(code)
    for name, start, end in functions:
        helpers.setdefault(name, []).append(_read(code[start:end]))
        outside[start:end] = [" "] * (end - start)
    for macro in _MACRO.finditer(text):
        helpers.setdefault(macro[1], []).append(_read(macro[2]))
    for declaration in _DECLARED.finditer("".join(outside)):
        extern = declaration[1] is not None
        for name in _NAME.findall(re.sub(r"\[[^\]]*\]", "", declaration[2]))[-1:]:
            helpers.setdefault(name, []).append(_Text(not extern, extern, frozenset()))
    return helpers


def _read(body: str) -> _Text:
    extern = [match[1] is not None for match in _DECLARED.finditer(body)]
    return _Text(not all(extern), any(extern), frozenset(_NAME.findall(body)))


def _reached(own: _Text, helpers: Mapping[str, list[_Text]]) -> Iterable[_Text]:
    """The body and all that it names, each once."""
    seen: set[str] = set()
    waiting = [own]
    while waiting:
        text = waiting.pop()
        yield text
        for name in sorted(text.names - seen):
            if name in helpers:
                seen.add(name)
                waiting += helpers[name]
