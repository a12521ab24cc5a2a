"""What the process of a server needs, whoever it serves."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys

from smem_lsp.server.outbox import LogHandler

SWITCH_INTERVAL = 0.0005  # seconds: how long an analysis may keep the loop from running

logger = logging.getLogger(__name__)


def prepare() -> None:
    """Set the log, and who waits for whom."""
    handler = LogHandler(sys.stderr.fileno())
    logging.basicConfig(
        handlers=[handler], format="%(levelname)s %(name)s: %(message)s", level=logging.INFO, force=True
    )
    # It logs whole messages; what matters is logged here.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.disable()  # the worker collects when there is time


def log_exception(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    error = context.get("exception")
    logger.error("%s", context.get("message"), exc_info=error if isinstance(error, BaseException) else None)
