"""What a server process sets up, over stdio and over TCP."""

from __future__ import annotations

import asyncio
import logging
import sys

from smem_lsp.server.garbage import leave_to_pauses
from smem_lsp.server.outbox import LogHandler
from smem_lsp.source.queries import KEPT

MOST_KEPT = 32_000_000  # bytes of what is remembered of texts that may come again
SWITCH_INTERVAL = 0.0005  # seconds: how long an analysis may keep the loop from running

logger = logging.getLogger(__name__)


def prepare() -> None:
    """Send the log to stderr, let threads take turns quickly, and leave garbage to the worker."""
    handler = LogHandler(sys.stderr.fileno())
    logging.basicConfig(
        handlers=[handler], format="%(levelname)s %(name)s: %(message)s", level=logging.INFO, force=True
    )
    # It logs whole messages; we log what matters.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    sys.setswitchinterval(SWITCH_INTERVAL)
    leave_to_pauses()
    KEPT.most = MOST_KEPT


def log_exception(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    error = context.get("exception")
    logger.error("%s", context.get("message"), exc_info=error if isinstance(error, BaseException) else None)
