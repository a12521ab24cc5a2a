"""The two threads of a race, step by step: ``smem/race``."""

from __future__ import annotations

import os

from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import Finding
from smem_lsp.rules.race_steps import Step, race_steps
from smem_lsp.server.uris import uri_of
from smem_lsp.source import SourceText


def replay(facts: KernelFacts, finding: Finding, uri: str) -> dict[str, object] | None:
    """``{title, threads: [name, name], block, steps: [{thread, uri, line, code, words}], end}``: lines are 0-based,
    ``code`` is what stands there. None: the finding tells no race of two threads."""
    found = race_steps(facts, finding)
    if found is None:
        return None
    return {
        "title": found.title,
        "threads": list(found.threads),
        "block": found.block,
        "steps": [_step(facts.source, uri, step) for step in found.steps],
        "end": "no barrier orders these two accesses: either may come first",
    }


def _step(source: SourceText, uri: str, step: Step) -> dict[str, object]:
    line, place = step.line, step.elsewhere
    if place is not None:
        source, line = place.source, place.line
        uri = uri_of(os.path.abspath(source.path))  # noqa: PTH100
    start = source.lines.starts[line - 1]
    code = source.text[start : source.line_end(start)].strip()
    return {"thread": step.thread, "uri": uri, "line": line - 1, "code": code, "words": step.words}
