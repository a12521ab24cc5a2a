"""The server ends with its editor, whatever the server is doing then.

A task on the event loop checks whether the client's process is alive and ends the session in order. The loop stands
still while a thread of ours holds the interpreter, so there is a second watch: a small process, started once
``initialize`` has been answered. It sleeps until the client is gone (``pidfd`` on Linux, a look every second
elsewhere), gives the server time to leave by itself, then kills it. It ends with the server, whose end of a pipe it
reads.

Considered and rejected: ``PR_SET_PDEATHSIG`` (it fires when the thread that started the server ends, which need not be
in the client's process and may end while the editor lives), timer signals (Python's handlers wait for the interpreter),
``faulthandler``'s timer (it cannot ask about a process). On Windows only the end of stdin ends the server.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys

from smem_lsp.server.session import Session

INTERVAL = 1.0  # seconds between two looks
GRACE = 3.0  # seconds from the end of the client until a server that has not left is killed

logger = logging.getLogger(__name__)

# Runs with -I -S: nothing of a project or of the user is imported. Arguments: the client, the server, the grace.
_WATCHER = """\
import os, select, signal, sys, time
client, server, grace = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
def server_ends(seconds):
    return bool(select.select([0], [], [], seconds)[0])
def watch():
    try:
        process = os.pidfd_open(client)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        while not server_ends(1.0):
            try:
                os.kill(client, 0)
            except ProcessLookupError:
                return
            except OSError:
                pass
        sys.exit()
    if 0 in select.select([0, process], [], [])[0]:
        sys.exit()
signal.signal(signal.SIGINT, signal.SIG_IGN)
watch()
if not server_ends(grace):
    os.kill(server, signal.SIGKILL)
"""


async def watch_parent(session: Session) -> None:
    """End the session when the editor has died. Its end of the pipe may stay open: other children may hold it."""
    while session.parent is None:
        await asyncio.sleep(INTERVAL)
    watcher = start_watcher(session.parent)
    try:
        while is_alive(session.parent):
            await asyncio.sleep(INTERVAL)
    finally:
        if watcher is not None:
            assert watcher.stdin is not None
            watcher.stdin.close()
    logger.error("the editor (process %d) is gone", session.parent)
    session.disconnected()


def start_watcher(client: int) -> subprocess.Popen[bytes] | None:
    """Start the second watch; None where the system allows none."""
    if os.name == "nt" or not sys.executable or getattr(sys, "frozen", False):
        return None
    command = [sys.executable, "-I", "-S", "-c", _WATCHER, str(client), str(os.getpid()), str(GRACE)]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        logger.warning("no second watch over the editor: %s", error)
        return None


def is_alive(process: int) -> bool:
    if os.name == "nt":
        return True  # os.kill would end the process; there the end of stdin must suffice
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's process, or not a valid process number
    return True
