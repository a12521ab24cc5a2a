"""Accesses that g++ puts no hook before: structures that a call returns straight into memory or takes from there.

``watch_stores`` rewrites the usual form, ``element = call(…);``; ``unseen`` finds what is left in the GIMPLE of g++, so
that a program is refused rather than half watched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ASSIGNED = re.compile(r"(?<![=!<>+\-*/%&|^])=(?!=)")
_BEFORE_STATEMENT = re.compile(r"(?:[;{})]|(?<!:):|\belse|\bdo|\bfor\s*\(|^)\s*$")
_SHARED_NAMES = re.compile(r"\b__shared__\b([^;{}()]*)")
_LOCATION = re.compile(r"\[([^\s\[\]:]+):(\d+):\d+\] ")
# The name may have spaces, and parentheses: `f<int, Q>`, `Q::operator int`, `Q::operator void (*)()`.
_CALL = re.compile(r"^\s*(?:(.+?) = )?((?:(?! = ).)+?(?: \(\*\)\([^()]*\))?) \((.*)\);")
_PLAIN = re.compile(r"[\w$]+(?:\.\d+)?(?:_\d+)?")


def watch_stores(text: str, hidden: str) -> str:
    """``a[i] = …`` becomes ``smem::set(a[i]) = …``. ``hidden``: the text without comments and literals."""
    declared = re.sub(r"\[[^\]]*\]", "", " ".join(_SHARED_NAMES.findall(hidden)))  # sizes are no shared names
    shared = set(re.findall(r"\w+", declared))
    parts, done = [], 0
    for found in _ASSIGNED.finditer(hidden):
        end = len(hidden[: found.start()].rstrip())
        begin = _postfix_before(hidden, end)
        if begin is None or begin < done or not _BEFORE_STATEMENT.search(hidden[max(0, begin - 200) : begin]):
            continue
        target = hidden[begin:end]
        base = re.match(r"\w*", target)
        if not re.search(r"\[|->|^\*", target) and not (base and base[0] in shared):
            continue
        parts += [text[done:begin], "smem::set(", text[begin:end], ")"]
        done = end
    return "".join([*parts, text[done:]])


def _postfix_before(hidden: str, end: int) -> int | None:
    """Where the operand that ends at ``end`` begins: names, members, indices, calls, and ``*`` before them."""
    at = end
    while at > 0:
        char = hidden[at - 1]
        if char in ")]":
            at = _opening(hidden, at - 1)
            if at < 0:
                return None
        elif char.isalnum() or char in "_.":
            at -= 1
        elif hidden.startswith(("->", "::"), at - 2):
            at -= 2
        else:
            break
    while at > 0 and hidden[at - 1] == "*":
        at -= 1
    return at if at < end and hidden[at] not in "[." else None


def _opening(hidden: str, close: int) -> int:
    depth = 0
    for i in range(close, -1, -1):
        depth += (hidden[i] in ")]}") - (hidden[i] in "([{")
        if depth == 0:
            return i
    return -1


def unseen(gimple: str, file_prefix: str) -> Iterator[tuple[str, int, str]]:
    """File, line and text of each call that moves a structure without a hook."""
    for written in gimple.splitlines():
        if " (" not in written or not written.endswith(";"):
            continue
        locations = _LOCATION.findall(written)
        if not locations or not locations[0][0].startswith(file_prefix):
            continue
        call = _CALL.match(_LOCATION.sub("", written))
        if call is None:
            continue
        target, name, arguments = call.groups()
        moved = [each for each in _arguments(arguments) if _in_memory(each)]
        if target is not None and _in_memory(target):
            moved.append(target)
        if moved:
            yield locations[0][0], int(locations[0][1]), f"{name} with {moved[0]}"


def _arguments(text: str) -> list[str]:
    return [each.strip() for each in re.split(r", (?![^\[]*\])", text) if each.strip()]


def _in_memory(operand: str) -> bool:
    if operand[0] in "&\"'-" or operand[0].isdigit() or _PLAIN.fullmatch(operand):
        return False
    return bool(re.search(r"\[|->|^\*|\w\.\w", operand))
