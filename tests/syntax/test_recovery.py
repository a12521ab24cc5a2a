"""Half-typed code: one edit leaves the statements around it, and the other functions, as they were.

The edits are those that people make: a character, a line or the rest of a line gone, a bracket too few or too many.
``SMEM_FULL=1`` makes 5,000 of them, also in the corpora that are in the cache; else a part.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from smem_lsp.source import SourceText
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function, parse

FULL = os.environ.get("SMEM_FULL") == "1"
EDITS = 5000 if FULL else 900
LEAST = 0.98  # of the statements that an edit does not touch
LARGEST = 60_000  # characters of a file
KERNELS = Path(__file__).parents[1] / "kernels"
KINDS = (
    "delete a character",
    "delete a line",
    "truncate a line",
    "delete a brace",
    "insert a bracket",
    "insert a brace",
)

Statement = tuple[str, str]  # kind, spelling


@dataclass(frozen=True, slots=True)
class Edit:
    """``text[start:end]`` becomes ``new``."""

    start: int
    end: int
    new: str

    def of(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


def files() -> list[str]:
    texts = [path.read_text("utf-8") for path in sorted(KERNELS.glob("*.cu"))]
    if FULL:
        from corpora.fetch import cache_folder

        for path in sorted(cache_folder().rglob("*.cu"))[::4]:
            text = path.read_text("utf-8", errors="replace")
            if "__global__" in text and len(text) < LARGEST:
                texts.append(text)
    return texts


def edit(kind: str, text: str, chance: random.Random) -> Edit | None:
    """An edit of this kind inside some function body of the text."""
    functions = [f for f in parse(SourceText(text)).functions if len(f.body.tokens) > 5]
    if not functions:
        return None
    body = chance.choice(functions).body
    span = body.site(0, len(body.tokens))
    at = chance.randrange(span.start, max(span.start + 1, span.end))
    line = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    match kind:
        case "delete a character":
            return Edit(at, at + 1, "")
        case "delete a line":
            return Edit(line, min(end + 1, len(text)), "")
        case "truncate a line":
            return Edit(at, end, "") if end > at else None
        case "delete a brace":
            braces = [i for i in range(span.start, span.end) if text[i] in "{}"]
            at = chance.choice(braces) if braces else -1
            return Edit(at, at + 1, "") if at >= 0 else None
        case "insert a bracket":
            return Edit(at, at, chance.choice("()[]"))
    return Edit(at, at, chance.choice("{}"))


def statements(function: Function) -> Iterator[tuple[Statement, int, int]]:
    """Statements without others inside, and heads; with the offsets of their tokens."""
    body = function.body
    stack: list[tree.Statement] = [body.statements]
    while stack:
        node = stack.pop()
        lo, hi = node.lo, node.hi
        match node:
            case tree.Block():
                stack += node.statements
                continue
            case tree.If():
                stack += [node.then] if node.otherwise is None else [node.then, node.otherwise]
                lo, hi = node.condition
            case tree.For():
                stack.append(node.body)
                lo, hi = node.head
            case tree.While() | tree.DoWhile() | tree.Switch():
                stack.append(node.body)
                lo, hi = node.condition
            case tree.Try():
                stack += node.blocks
                continue
            case tree.Empty() | tree.Bad():
                continue
        if lo < hi <= len(body.tokens):
            span = body.site(lo, hi)
            texts = body.tokens.texts[lo:hi]
            while texts and texts[-1] == ";":  # a `;` that is missing is the edit's
                texts = texts[:-1]
            yield (type(node).__name__, " ".join(texts)), span.start, span.end


def found_again(text: str, change: Edit) -> tuple[int, int, int, int]:
    """(untouched statements, how many of them are found again, other functions, how many of those)."""
    before = parse(SourceText(text)).functions
    after = parse(SourceText(change.of(text))).functions
    now = Counter(spelled for function in after for spelled, _, _ in statements(function))
    names = Counter(function.name for function in after)
    wanted: Counter[Statement] = Counter()
    others: Counter[str] = Counter()
    for function in before:
        touched = function.span.start <= change.end and change.start <= function.span.end
        if not touched:
            others[function.name] += 1
        for spelled, start, end in statements(function):
            if end < change.start or start > change.end:
                wanted[spelled] += 1
    return (
        sum(wanted.values()),
        sum((wanted & now).values()),
        sum(others.values()),
        sum((others & names).values()),
    )


def test_one_edit_leaves_the_rest_of_the_file_as_it_was() -> None:
    chance = random.Random(7)
    texts = files()
    totals = {kind: [0, 0, 0, 0] for kind in KINDS}
    for number in range(EDITS):
        kind = KINDS[number % len(KINDS)]
        text = chance.choice(texts)
        change = edit(kind, text, chance)
        if change is None:
            continue
        for i, count in enumerate(found_again(text, change)):
            totals[kind][i] += count
    rows = {kind: round(row[1] / row[0], 4) for kind, row in totals.items()}
    print(rows)
    wanted, again, others, kept = (sum(row[i] for row in totals.values()) for i in range(4))
    assert again / wanted >= LEAST, rows
    assert kept / others >= 0.995, (others, kept)
