"""Draw kernels with shared memory from the corpora and print each beside what the IR says of it, to compare by eye.

``SMEM_CORPORA_ALL=1 python tests/corpora/sample.py [--seed 7] [--count 60] [--show 12 ...]`` lists the sample, or shows
kernels of it: the text with line numbers, then buffers with types, sizes and layout, then accesses and barriers in the
order of the text. Drawing reads all corpora: ``--save FILE`` keeps what was drawn, and ``--from FILE`` takes it from
there. What was found is written down in review.md.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from smem_lsp.rules.cause_words import told
from tests.causes import unknown

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from fetch import Corpus, Unavailable, corpora, fetch

from smem_lsp.environment import DiskReader, SourceError, read_source
from smem_lsp.ir.nodes import Access, Barrier, Kernel, walk
from smem_lsp.ir.values import Value
from smem_lsp.lowering.kernel import build_kernel
from smem_lsp.output.trace import value_text
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import Function, TranslationUnit, parse
from smem_lsp.unit.unit_facts import bindings_of, survey_file


@dataclass(frozen=True)
class Drawn:
    """One kernel of the sample; of a template its first instance."""

    corpus: Corpus
    path: Path
    name: str
    line: int


def candidates() -> Iterator[Drawn]:
    """All kernels of the files that declare shared memory, those without any among them."""
    for corpus in corpora():
        try:
            folder = fetch(corpus)
        except Unavailable as reason:
            print(f"{corpus.requirement}: {reason}", file=sys.stderr)
            continue
        for path in sorted(path for path in folder.rglob("*") if path.suffix in (".cu", ".cuh")):
            unit = _unit(corpus, path, only_shared=True)
            for function in () if unit is None else unit.functions:
                if function.is_kernel:
                    yield Drawn(corpus, path, function.name, _line(unit, function))


def _unit(corpus: Corpus, path: Path, *, only_shared: bool = False) -> TranslationUnit | None:
    try:
        text = read_source(str(path)).text
    except SourceError:
        return None
    if only_shared and "__shared__" not in text:
        return None
    return parse(SourceText(text, str(path)), reader=DiskReader(), defines=corpus.defines)


def _line(unit: TranslationUnit, function: Function) -> int:
    return unit.source.line_number(function.name_span.start)


def build(drawn: Drawn) -> Kernel:
    """The IR of a drawn kernel."""
    unit = _unit(drawn.corpus, drawn.path)
    assert unit is not None, f"{drawn.path} cannot be read any more"
    around = survey_file(unit)
    function = next(
        f for f in unit.functions if f.is_kernel and (f.name, _line(unit, f)) == (drawn.name, drawn.line)
    )
    return build_kernel(unit, around, function, bindings_of(around, function)[0])


def show(drawn: Drawn) -> None:
    kernel = build(drawn)
    source = SourceText(read_source(str(drawn.path)).text, str(drawn.path))
    first, last = source.line_number(kernel.span.start), source.line_number(kernel.span.end)
    print(f"{drawn.path}:{drawn.line} {kernel.instance or kernel.name} (complete: {kernel.complete})")
    for number, line in enumerate(source.text.split("\n")[first - 1 : last], first):
        print(f"{number:>5}  {line}")
    print("buffers")
    for b in kernel.buffers:
        dims = "".join(f"[{'?' if dim is None else dim}]" for dim in b.dims)
        fixed = f"; keeps its place: {told(kernel, b.fixed)}" if b.fixed else ""
        print(
            f"  {b.index} {b.space.value} {b.type} {b.name}{dims}: {b.bytes} B, aligned to {b.align}{fixed}"
        )
    print("accesses and barriers")
    for node in walk(kernel.body):
        if isinstance(node, Access):
            name = kernel.buffers[node.buffer].name
            index = "?" if node.index is None else ", ".join(_text(value, kernel) for value in node.index)
            offset = "" if node.offset is None else f"  bytes from {_text(node.offset, kernel)}"
            line = kernel.places.line(node.line)
            print(f"  {line:>5} {node.kind.value:<7} {name}[{index}]{offset} width {node.width}")
        elif isinstance(node, Barrier):
            print(f"  {kernel.places.line(node.line):>5} barrier {node.kind} {node.spelling}")
    print(f"unknown: {kernel.unknown_accesses} accesses, {kernel.unknown_barriers} barriers")
    for reason in unknown(kernel):
        print(f"  {reason}")
    if kernel.irregular is not None:
        print(f"irregular: {told(kernel, kernel.irregular)}")


def _text(value: Value, kernel: Kernel) -> str:
    text = value_text(kernel, value)
    return text if len(text) <= 160 else text[:157] + "..."


def draw(seed: int, count: int) -> list[Drawn]:
    """``count`` kernels with shared memory of all corpora, the same ones for the same ``seed``."""
    shuffled = list(candidates())
    random.Random(seed).shuffle(shuffled)
    print(f"{len(shuffled)} kernels in files that declare shared memory", file=sys.stderr)
    return list(islice((drawn for drawn in shuffled if build(drawn).buffers), count))


def save_sample(sample: list[Drawn], file: Path) -> None:
    """One kernel a line: requirement of the corpus, path, line and name, tabs between."""
    rows = ("\t".join((d.corpus.requirement, str(d.path), str(d.line), d.name)) for d in sample)
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")


def read_sample(file: Path) -> list[Drawn]:
    """The sample that ``save_sample`` wrote."""
    by_requirement = {corpus.requirement: corpus for corpus in corpora()}
    rows = (row.split("\t") for row in file.read_text(encoding="utf-8").splitlines())
    return [
        Drawn(by_requirement[requirement], Path(path), name, int(line))
        for requirement, path, line, name in rows
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--show", type=int, nargs="+", help="numbers of kernels of the sample, from 1")
    parser.add_argument("--save", type=Path, help="write what was drawn to this file")
    parser.add_argument("--from", type=Path, dest="source", help="take the sample from a file of --save")
    flags = parser.parse_args()
    sample = read_sample(flags.source) if flags.source else draw(flags.seed, flags.count)
    if flags.save:
        save_sample(sample, flags.save)
    if flags.show:
        for number in flags.show:
            show(sample[number - 1])
        return
    for number, drawn in enumerate(sample, 1):
        print(f"{number:>3} {drawn.corpus.requirement} {drawn.path.name}:{drawn.line} {drawn.name}")


if __name__ == "__main__":
    main()
