"""The reference programs and the kernels K1 to K30, each with its rewrites, under many schedules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from smem_lsp.engine import check

from .model import Outcome, Source
from .programs import Programs, build_what_compiles
from .rewriting import differences, outcomes, rewrites_of

TESTS = Path(__file__).parents[1]
_MAIN = "\nint main() { smem::call_with(run, 3); }\n"
_LAUNCH = re.compile(r"(\w+)<<<[^;]*;")
_AT_ONCE = 10  # runs
_PIPELINE = "#include <cuda_pipeline.h>\n"


@dataclass
class References:
    """``wrong``: what is, by the title of the rewrite. ``racy``: kernels that lack barriers on purpose."""

    programs: int = 0
    rewrites: int = 0
    runs: int = 0
    wrong: list[str] = field(default_factory=list)
    racy: list[str] = field(default_factory=list)


def texts() -> Iterator[tuple[str, str, str]]:
    """Name and text of each program, and the kernel that it launches. K1 to K30 get a ``main``, one for each kernel."""
    for path in sorted((TESTS / "kernels").glob("*.cu")):
        if ".wrong." not in path.name:
            text = path.read_bytes().decode()
            yield path.name, text, ""
    for path in sorted((TESTS / "allocation" / "cases").glob("*.cu")):
        text = path.read_text("utf-8")
        at = text.index("void run(")
        for launch in _LAUNCH.finditer(text, at):
            alone = _LAUNCH.sub(lambda each, kept=launch: each[0] if each[1] == kept[1] else "", text[at:])
            yield launch[1], f"{_PIPELINE}{text[:at]}{alone}{_MAIN}", launch[1]


def check_references(seeds: int, only: str = "") -> References:
    """Every program whose name begins with ``only`` and each of its rewrites under so many schedules."""
    result, sources, pairs = References(), list[Source](), list[tuple[str, str, str]]()
    for name, text, kernel in texts():
        if not name.startswith(only):
            continue
        sources.append(Source(name, text))
        report = check(text)
        for number, rewrite in enumerate(rewrites_of(report)):
            if kernel in ("", report.facts[rewrite.remedy.kernel].kernel.name):
                sources.append(Source(f"{name}, {number}", rewrite.text))
                pairs.append((name, sources[-1].name, rewrite.title))
    result.programs, result.rewrites = len(sources) - len(pairs), len(pairs)
    programs, refused = build_what_compiles(sources)
    with programs:
        originals = dict.fromkeys(source.name for source in sources if "," not in source.name)
        first: dict[str, Outcome] = {}  # of each original
        for name in originals:
            wrong = refused.get(name)
            if wrong is None:
                (first[name],) = outcomes(programs, [name], range(1))[name]
                wrong = _wrong(programs, name, first[name], seeds, result)
            if wrong and name in first and first[name].completed:
                result.racy.append(name)
            elif wrong:
                result.wrong.append(f"{name}: the original: {wrong}")
        for name, other, title in pairs:
            if name in result.racy:
                continue
            wrong = refused.get(other) or refused.get(name)
            wrong = wrong or _wrong(programs, other, first[name], seeds, result)
            if wrong:
                result.wrong.append(f"{name}: {title}: {wrong}")
    return result


def _wrong(programs: Programs, name: str, before: Outcome, seeds: int, result: References) -> str:
    """What differs from ``before`` under so many schedules, counted in ``result``. A few at a time: outcomes hold all
    that was written to global memory."""
    for start in range(0, seeds, _AT_ONCE):
        found = outcomes(programs, [name], range(start, min(seeds, start + _AT_ONCE)))[name]
        result.runs += len(found)
        wrong = differences([before], found)
        if wrong:
            return wrong
    return ""
