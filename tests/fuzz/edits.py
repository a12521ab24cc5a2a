"""What somebody does to the files that an editor holds, drawn from a seed: typing, pasting, undo, renames, macros.

An edit gives the texts after it. A sequence of them is plain data, so that a part of it is a sequence, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

Files = Mapping[str, str]  # by path; the first one is the document that is analysed

STATEMENTS = (
    "__syncthreads();",
    "if ({0} > 3) return;",
    "if ({0} < {1}) {{ __syncthreads(); }}",
    "{0} = {1} + 1;",
    "{0}++;",
    "float extra = 2.0f * {0};",
    "int row = threadIdx.x / 32, lane = threadIdx.x % 32;",
    "__shared__ float more[64];",
    "__shared__ int {0};",
    "extern __shared__ float dynamic[];",
    "{0}[threadIdx.x] = {1};",
    "{0}[{1}] += {0}[{1} + 1];",
    "for (int j = 0; j < {0}; ++j) {{ {1}; }}",
    "atomicAdd(&{0}[0], 1);",
    "const int {0} = 3;",
    "auto f = [&](int x) {{ return x + {0}; }};",
    "__syncwarp();",
    "if (threadIdx.x == 0) {0} = 0;",
    "volatile int seen = {0};",
    "// a remark on {0}",
    "/* {0}",
    'asm volatile("bar.sync 1, 64;");',
    "unknown({0}, {1});",
    "UNKNOWN({0})",
    "return;",
    "{{",
    "}}",
)
DECLARATIONS = (
    "constexpr int more_of = {2};",
    "__device__ float helper_{2}(const float* p, int i) {{ return p[i] * {2}; }}",
    "__device__ void pass_{2}(float* s, int t) {{ s[t] = {2}; __syncthreads(); }}",
    "void run_{2}(float* out, int n) {{ {3}<<<{2}, 128>>>(out, n); }}",
    "template <typename T> struct Holder_{2} {{ T value[{2}]; }};",
    "using Real_{2} = float;",
    '#include "missing_{2}.h"',
    "#if {0}\n#endif",
    "#pragma once",
    "static int unrelated_{2}(int n) {{ return n + {2}; }}",
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_LITERAL = re.compile(r"(?<![\w.])\d+\b(?!\.)")
_END = re.compile(r"[;{}]\r?\n")
_TOP = re.compile(r"^(?=\S)", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(.*)$", re.MULTILINE)
_KERNEL = re.compile(r"__global__[^;{}()]*?(\w+)\s*\(")
_KEYWORDS = frozenset(
    "if else for while do return int float double void const constexpr static extern template typename struct"
    " class using namespace auto unsigned char bool short long sizeof switch case break continue true false"
    " include define undef ifdef ifndef endif pragma".split()
)
_UNDO = 0.3  # of all edits
MOST_GROWTH = 1.6  # times the first text: then the file is as it was on the disk


@dataclass(frozen=True, slots=True)
class Step:
    """The files after one edit. ``what``: its kind; ``asked``: is what is told compared?"""

    what: str
    files: dict[str, str]
    asked: bool = True


class Typist:
    """Edits the files of one project. What it does next depends on the seed alone."""

    def __init__(self, files: Files, random: Random) -> None:
        self._first = dict(files)
        self._files = dict(files)
        self._random = random
        self._done: list[dict[str, str]] = []  # what undo goes back to
        self._undone: list[dict[str, str]] = []

    def steps(self) -> Iterator[Step]:
        """Without an end."""
        yield Step("opened", dict(self._files))
        while True:
            if self._random.random() < _UNDO:
                yield from self._undo()
                continue
            what = self._random.choices(list(_WAYS), [weight for weight, _ in _WAYS.values()])[0]
            before = dict(self._files)
            path = self._path()
            yielded = False
            for text, asked in _WAYS[what][1](self, self._files[path]):
                if text != self._files[path]:
                    self._files[path] = text
                    yielded = True
                    yield Step(f"{what} in {path}", dict(self._files), asked)
            if yielded:
                self._done.append(before)
                self._undone.clear()
            if len(self._files[path]) > MOST_GROWTH * len(self._first[path]) + 200:
                self._files = dict(self._first)
                self._done, self._undone = [], []
                yield Step("opened again", dict(self._files))

    def _path(self) -> str:
        """Of the file that is edited: mostly the document."""
        main, *others = self._files
        return self._random.choice(others) if others and self._random.random() < 0.3 else main

    def _undo(self) -> Iterator[Step]:
        """Some edits, and perhaps all of them are made again."""
        count = self._random.randint(1, 5)
        for _ in range(min(count, len(self._done))):
            self._undone.append(dict(self._files))
            self._files = dict(self._done.pop())
            yield Step("undo", dict(self._files))
        if self._random.random() < 0.6:
            while self._undone:
                self._done.append(dict(self._files))
                self._files = dict(self._undone.pop())
                yield Step("redo", dict(self._files))

    # Each way gives texts, and whether what is told of each is compared.

    def _type(self, text: str) -> Iterator[tuple[str, bool]]:
        """A statement, key by key; the line is there already, or is made first."""
        at, words = self._place(text), self._statement(text)
        line_end = "\r\n" if "\r\n" in text else "\n"
        keys = [1]
        while keys[-1] < len(words):  # a key, or two or three before anything is analysed
            keys.append(min(len(words), keys[-1] + self._random.choice((1, 1, 2, 3))))
        compared = {*self._random.sample(keys, min(3, len(keys))), len(words)}
        for end in keys:
            yield f"{text[:at]}  {words[:end]}{line_end}{text[at:]}", end in compared
        if self._random.random() < 0.4:  # a key too much, taken back
            for end in (len(words) - 1, len(words)):
                yield f"{text[:at]}  {words[:end]}{line_end}{text[at:]}", True

    def _declare(self, text: str) -> Iterator[tuple[str, bool]]:
        at = self._top(text)
        words = self._filled(self._random.choice(DECLARATIONS), text)
        for end in sorted({len(words) // 2, len(words)}):
            yield f"{text[:at]}{words[:end]}\n{text[at:]}", True

    def _paste(self, text: str) -> Iterator[tuple[str, bool]]:
        lines = text.splitlines(keepends=True)
        start = self._random.randrange(len(lines) or 1)
        block = lines[start : start + self._random.randint(1, 6)]
        at = self._random.randrange(len(lines) + 1)
        yield "".join((*lines[:at], *block, *lines[at:])), True

    def _delete(self, text: str) -> Iterator[tuple[str, bool]]:
        lines = text.splitlines(keepends=True)
        if not lines:
            return
        start = self._random.randrange(len(lines))
        if self._random.random() < 0.5:  # a character
            at = min(len(text) - 1, sum(map(len, lines[:start])) + self._random.randrange(len(lines[start])))
            yield text[:at] + text[at + 1 :], True
        else:
            yield "".join((*lines[:start], *lines[start + self._random.randint(1, 3) :])), True

    def _rename(self, text: str) -> Iterator[tuple[str, bool]]:
        """Everywhere, or only where it stands first; to a new name or to one that is taken."""
        names = self._names(text)
        old = self._random.choice(names)
        new = self._random.choice((f"{old}_2", "renamed", self._random.choice(names)))
        count = 0 if self._random.random() < 0.7 else 1
        yield re.sub(rf"\b{old}\b", new, text, count=count), True

    def _number(self, text: str) -> Iterator[tuple[str, bool]]:
        found = list(_LITERAL.finditer(text))
        if found:
            one = self._random.choice(found)
            new = self._random.choice(("0", "1", "2", "32", "64", "128", f"{one[0]}0", str(int(one[0]) + 1)))
            yield text[: one.start()] + new + text[one.end() :], True

    def _macro(self, text: str) -> Iterator[tuple[str, bool]]:
        """One is defined, changed, undefined further down, or taken away."""
        found = list(_MACRO.finditer(text))
        one = self._random.choice(found) if found else None
        way = self._random.random()
        if one is None or way < 0.3:
            name = self._random.choice(("MORE", "n", self._random.choice(self._names(text))))
            value = self._random.choice(("", "1", "(2 + 3)", "__syncthreads()", name))
            yield f"#define {name} {value}\n{text}", True
        elif way < 0.6:
            yield (
                f"{text[: one.start(2)]} {self._random.choice(('2', '(1)', '64', ''))}{text[one.end(2) :]}",
                True,
            )
        elif way < 0.8:
            at = self._top(text)
            yield f"{text[:at]}#undef {one[1]}\n{text[at:]}", True
        else:
            yield text[: one.start()] + text[one.end() :].lstrip("\r\n"), True

    def _move(self, text: str) -> Iterator[tuple[str, bool]]:
        """A function or declaration goes to another place, or is there a second time."""
        parts = top_parts(text)
        if len(parts) < 2:
            return
        one = parts[self._random.randrange(len(parts))]
        if self._random.random() < 0.7:
            parts.remove(one)
        parts.insert(self._random.randrange(len(parts) + 1), one)
        yield "".join(parts), True

    def _line_ends(self, text: str) -> Iterator[tuple[str, bool]]:
        if "\r\n" in text:
            yield text.replace("\r\n", "\n", self._random.choice((-1, 1))), True
        else:
            yield text.replace("\n", "\r\n", self._random.choice((-1, 3))), True

    def _blank(self, text: str) -> Iterator[tuple[str, bool]]:
        """What changes places only."""
        at = self._place(text) if self._random.random() < 0.5 else 0
        yield (
            text[:at]
            + self._random.choice(("\n", "\n\n", "// a remark\n", "/* over\n lines */\n"))
            + text[at:],
            True,
        )

    def _break(self, text: str) -> Iterator[tuple[str, bool]]:
        """Half of something, as it stands while it is typed, and then the text as it was."""
        at = self._place(text)
        yield (
            text[:at]
            + self._random.choice(("{\n", "}\n", "(\n", "/*", '"', "#if 0\n", "for (", "s["))
            + text[at:],
            True,
        )
        yield text, self._random.random() < 0.5

    def _statement(self, text: str) -> str:
        return self._filled(self._random.choice(STATEMENTS), text)

    def _filled(self, pattern: str, text: str) -> str:
        names = self._names(text)
        kernels = _KERNEL.findall(text) or names
        one, other = self._random.choice(names), self._random.choice(names)
        return pattern.format(one, other, self._random.randint(1, 4), self._random.choice(kernels))

    def _names(self, text: str) -> list[str]:
        """As often as they occur."""
        return [name for name in _NAME.findall(text) if name not in _KEYWORDS] or ["x"]

    def _place(self, text: str) -> int:
        """Behind a line that ends a statement."""
        found = [match.end() for match in _END.finditer(text)]
        return self._random.choice(found) if found else 0

    def _top(self, text: str) -> int:
        """Between declarations."""
        ends = [0]
        for part in top_parts(text):
            ends.append(ends[-1] + len(part))
        return self._random.choice(ends)


_WAYS: dict[str, tuple[int, Callable[[Typist, str], Iterator[tuple[str, bool]]]]] = {
    "typing": (28, Typist._type),
    "declaring": (8, Typist._declare),
    "pasting": (8, Typist._paste),
    "deleting": (9, Typist._delete),
    "renaming": (8, Typist._rename),
    "a number": (8, Typist._number),
    "a macro": (7, Typist._macro),
    "moving": (6, Typist._move),
    "line ends": (2, Typist._line_ends),
    "blanks": (6, Typist._blank),
    "breaking": (6, Typist._break),
}


def top_parts(text: str) -> list[str]:
    """The text in parts: each begins in the first column, none inside braces."""
    parts: list[str] = []
    start = depth = 0
    for line in text.splitlines(keepends=True):
        if depth == 0 and line[:1].strip() and not line.startswith("}") and start:
            parts.append("")
        if not parts:
            parts.append("")
        parts[-1] += line
        start += len(line)
        depth = max(0, depth + line.count("{") - line.count("}"))
    return parts


def session(projects: Sequence[Files], seed: str, asked: int) -> list[Step]:
    """Edits of some projects by turns, until so many states are to be compared."""
    random = Random(seed)
    hands = [Typist(files, random).steps() for files in projects]
    found: list[Step] = []
    left = asked
    while left > 0:
        hand = random.choice(hands)
        for _ in range(random.randint(1, 12)):
            step = next(hand)
            found.append(step)
            left -= step.asked
            if left <= 0:
                break
    return found
