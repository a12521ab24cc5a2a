"""What the handlers of requests share: the present document with its analysis, and answers when work takes too long."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from smem_lsp.server.analysis import Analysis
from smem_lsp.server.documents import Document
from smem_lsp.server.protocol import content_modified, request_failed
from smem_lsp.server.workspace import Workspace
from smem_lsp.source import OutOfBudget, Superseded

T = TypeVar("T")

TOO_LARGE = "too large to answer in time"

Handler = Callable[[Workspace, Any], Any | Awaitable[Any]]
"""Takes the parameters of one kind of message, as lsprotocol types them; returns the result, if it is a request."""

logger = logging.getLogger(__name__)


async def this_text(workspace: Workspace, uri: str) -> tuple[Document | None, Analysis | None]:
    """A document and its analysis, for requests whose positions refer to its present text.

    Waits while only the settings change. Raises RequestFailed (ContentModified) as soon as the text does."""
    asked = workspace.documents.get(uri)
    if asked is None:
        return None, None
    workspace.analyses.touched(uri)
    while True:
        analysis = await workspace.analyses.fresh(uri)
        document = workspace.documents.get(uri)
        if document is None or document.text != asked.text:
            raise content_modified()
        if analysis is None and document is asked:
            return document, None  # it failed
        if analysis is not None and analysis.snapshot.edition == document.edition:
            return document, analysis
        asked = document  # the same text once more, under another number


async def or_nothing(workspace: Workspace, uri: str, job: Callable[[], list[T]]) -> list[T]:
    """For requests that an editor makes by itself: an empty answer when they take too long, and a line in the log."""
    try:
        return await workspace.ask(uri, job)
    except OutOfBudget:
        logger.warning("%s: %s", uri, TOO_LARGE)
    except Superseded:
        logger.debug("%s was closed meanwhile", uri)
    return []


async def or_refused(workspace: Workspace, uri: str, job: Callable[[], T]) -> T:
    """For requests that a user makes: an error when they take too long."""
    try:
        return await workspace.ask(uri, job)
    except OutOfBudget:
        raise request_failed(TOO_LARGE) from None
    except Superseded:
        raise content_modified() from None


def plain(value: Any) -> Any:
    """An enum's value, an object's fields: what was JSON before pygls saw it."""
    if hasattr(value, "_asdict"):
        return value._asdict()
    return getattr(value, "value", value)
