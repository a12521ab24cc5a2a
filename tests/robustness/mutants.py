"""Real kernels with one to three tokens deleted, doubled or swapped: what a half-typed file looks like, and worse."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from smem_lsp.engine import check, forget_files
from smem_lsp.facts.stopped import Why
from smem_lsp.output import json_
from smem_lsp.rules.registry import ALL_NAMES

SLOW = 5.0  # seconds of processor time that no mutant may take
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\"(?:\\.|[^\"\\\n])*\"|<<<|>>>|::|->|[-+*/%&|^!=<>]=?|\S")
_MOST_LINES = 250  # of a file: a hundred thousand mutants are to be checked in half an hour


@dataclass(slots=True)
class Tally:
    """What came of the mutants. ``defects``: a line to paste and how to make the mutant again."""

    mutants: int = 0
    findings: int = 0
    stopped: int = 0
    slowest: float = 0.0
    defects: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)


def sources(folders: Sequence[Path]) -> list[Path]:
    """CUDA files with shared memory that are short enough."""
    found: list[Path] = []
    for folder in folders:
        for path in sorted((*folder.rglob("*.cu"), *folder.rglob("*.cuh"))):
            text = path.read_text(encoding="utf-8", errors="replace")
            if "__shared__" in text and text.count("\n") <= _MOST_LINES:
                found.append(path)
    return found


def mutant(text: str, chosen: random.Random) -> str:
    """``text`` with one to three tokens deleted, doubled, or exchanged with another one."""
    for _ in range(chosen.randint(1, 3)):
        tokens = [match.span() for match in _TOKEN.finditer(text)]
        if len(tokens) < 2:
            return text
        start, end = chosen.choice(tokens)
        match chosen.randrange(3):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = f"{text[:end]} {text[start:]}"
            case _:
                other = chosen.choice(tokens)
                (a, b), (c, d) = sorted(((start, end), other))
                text = text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:] if b <= c else text
    return text


def judge(paths: Sequence[Path], seeds: range, tally: Tally) -> None:
    """Check a mutant for each seed, with its fixes and its JSON."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    for seed in seeds:
        path = paths[seed % len(paths)]
        text = mutant(texts[seed % len(paths)], random.Random(seed))
        started = time.thread_time()
        try:
            report = check(text)
            json_.render(report, ALL_NAMES)
        except Exception as error:  # noqa: BLE001  (that is what is looked for)
            tally.defects.append(f"seed {seed}, {path.name}: {type(error).__name__}: {error}")
            continue
        finally:
            seconds = time.thread_time() - started
            tally.slowest = max(tally.slowest, seconds)
            if seconds > SLOW:
                tally.slow.append(f"seed {seed}, {path.name}: {seconds:.1f} s")
        tally.mutants += 1
        tally.findings += len(report.findings)
        tally.stopped += bool(report.stopped)
        tally.defects += (
            f"seed {seed}, {path.name}: {each.report}" for each in report.stopped if each.why is Why.DEFECT
        )
        if not seed % 200:
            forget_files()
