"""What is known of expressions in kernels, as the documents of this folder state it.

A kernel stands in a fenced block of a Markdown file. ``// reveal(t / 32): uniform in a warp, 0..7`` at the end of a
line states what is known of ``t / 32`` behind that line; several blocks under one heading are one file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.engine import check
from smem_lsp.facts.data_flow import DataFlow
from smem_lsp.ir.nodes import Access, walk
from smem_lsp.terms.intervals import INFINITE
from smem_lsp.terms.language import Const, Level, Term

FOLDER = Path(__file__).parent
_HEADING = re.compile(r"^#+ (.+)$", re.M)
_FENCE = re.compile(r"^```cuda\n(.*?)^```$", re.M | re.S)
_REVEAL = re.compile(r"//[ \t]*reveal\((?P<expression>.*)\):[ \t]*(?P<words>.+?)[ \t]*$", re.M)
_NAME = "revealed_{}"
_LEVELS = {
    Level.CONST: "constant",
    Level.BLOCK: "uniform",
    Level.WARP: "uniform in a warp",
    Level.THREAD: "of each thread",
}


@dataclass(frozen=True)
class Document:
    """The kernels under one heading. ``line``: 1-based, of the heading."""

    path: Path
    title: str
    line: int
    text: str

    @property
    def name(self) -> str:
        return f"{self.path.stem}: {self.title}"


@dataclass(frozen=True)
class Stated:
    expression: str
    words: str


def documents(folder: Path = FOLDER) -> Iterator[Document]:
    """Those of all pages in a folder."""
    for path in sorted(folder.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        headings = list(_HEADING.finditer(page))
        for heading, following in zip(headings, [*headings[1:], None]):
            part = page[heading.end() : None if following is None else following.start()]
            text = "\n".join(_FENCE.findall(part))
            if text:
                yield Document(path, heading[1], page.count("\n", 0, heading.start()) + 1, text)


def stated(text: str) -> list[Stated]:
    """What a text says of its expressions, in order."""
    return [Stated(found["expression"], found["words"]) for found in _REVEAL.finditer(text)]


def revealed(text: str) -> list[str]:
    """What is known of them. Each becomes what is stored in a shared array of its own, so that the product is asked
    nothing that a kernel does not ask."""
    found: list[str] = []
    numbers = iter(range(len(stated(text))))

    def store(statement: re.Match[str]) -> str:
        name = _NAME.format(next(numbers))
        return f"__shared__ long long {name}[1]; {name}[0] = ({statement['expression']});"

    report = check(_REVEAL.sub(store, text))
    assert not report.defects
    for number in range(len(stated(text))):
        found += (
            _words(facts.analysis.flow, access)
            for facts in report.facts
            for access in walk(facts.analysis.flow.kernel.body)
            if isinstance(access, Access) and facts.kernel.buffers[access.buffer].name == _NAME.format(number)
        )
    return found


def _words(flow: DataFlow, access: Access) -> str:
    term = flow.values.stored.get(access.point)
    if term is None:
        return "not known"
    return ", ".join((_LEVELS[flow.levels.level(term)], *_interval(flow, term)))


def _interval(flow: DataFlow, term: Term) -> Iterator[str]:
    if isinstance(term, Const):
        yield str(term.n)
        return
    fact = flow.fact
    bounds = flow.levels.bounds if fact is None else Bounds(flow.values.loops, fact.dims, exact=True)
    low, high = bounds.interval(term)
    if low > -INFINITE or high < INFINITE:
        yield f"{'' if low <= -INFINITE else low}..{'' if high >= INFINITE else high}"
