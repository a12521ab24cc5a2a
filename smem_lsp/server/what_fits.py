"""What other values of a constant or template argument would cost: one entry of the light bulb for each.

Each value is a job of its own, so that a key typed meanwhile waits for one of them at most.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from smem_lsp.engine.fit import NOT_COMPILED, KnobValues
from smem_lsp.engine.fit_argument import argument_at
from smem_lsp.engine.fit_constant import Constant, brief_words, constant_at, what_if, words
from smem_lsp.server.action_titles import LONGEST as LONGEST_TITLE
from smem_lsp.server.analysis import Analysis, checked_path
from smem_lsp.server.code_actions import REWRITE, Action, ActionQuery
from smem_lsp.source import OutOfBudget, Superseded

logger = logging.getLogger(__name__)

LONGEST = 1.0  # seconds that a menu waits for the values


Ask = Callable[[str, Callable[[], Any]], Awaitable[Any]]
"""(the document, the work) -> what comes of it; raises OutOfBudget and Superseded."""


async def what_fits(ask: Ask, analysis: Analysis, query: ActionQuery) -> list[Action]:
    """Actions for the template argument or constant at the cursor, one per value; as many as ``LONGEST`` allows."""
    found: list[Action] = []
    try:
        await _find(ask, analysis, query, found)
    except (OutOfBudget, Superseded):
        logger.info("%s: not every value was tried", analysis.snapshot.uri)
    return found


async def _find(ask: Ask, analysis: Analysis, query: ActionQuery, found: list[Action]) -> None:
    report, uri = analysis.report, analysis.snapshot.uri
    if report is None:
        return
    at = query.span.start
    constant: Constant | None = await ask(
        uri, lambda: argument_at(report, at) or constant_at(report, at, analysis.config)
    )
    if constant is None:
        return
    ends = time.monotonic() + LONGEST
    now = await ask(uri, partial(_with, analysis, constant, constant.value))
    for value in constant.others:
        if now is None or time.monotonic() > ends:
            break
        then = await ask(uri, partial(_with, analysis, constant, value))
        costs = None if then is None else words(now, then)
        what = f"Set {constant.name} to {value}"
        if then is not None and costs is not None:
            places = " ".join(f"{span.start} {span.end}" for span in constant.spans)
            whole = f"{what}: {costs}"
            title = whole if len(whole) <= LONGEST_TITLE else f"{what}: {brief_words(now, then)}"
            found.append(Action(title, REWRITE, f"fit {value} {places}", detail=whole))
        elif then is not None and then.problem is not None and then.problem.startswith(NOT_COMPILED):
            found.append(Action(what, REWRITE, f"fit {value}", refused=then.problem))


def _with(analysis: Analysis, constant: Constant, value: int) -> KnobValues | None:
    """Runs on the worker."""
    snapshot = analysis.snapshot
    return what_if(
        constant,
        value,
        snapshot.text,
        path=checked_path(snapshot),
        config=analysis.config,
        reader=snapshot.reader,
    )
