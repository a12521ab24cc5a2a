"""``smem-lsp server``: hand over to the language server."""

from __future__ import annotations

import argparse
import importlib
import os
import stat
import sys
from pathlib import Path

from smem_lsp.cli.errors import UsageError, not_built
from smem_lsp.source.digits import whole_number

SHORTEST_TOKEN = 16  # characters
_MOST = 4096  # bytes of a token's file


def run(flags: argparse.Namespace) -> int:
    """Serve until the client leaves. Raises UsageError."""
    address = None if flags.tcp is None else _address(flags.tcp)
    if address is not None and flags.stdio:
        raise UsageError("--stdio and --tcp contradict each other")
    if address is None and sys.stdin is None:
        raise UsageError("stdin is closed")
    for name in ("allow_remote", "token_file"):
        if address is None and getattr(flags, name):
            raise UsageError(f"--{name.replace('_', '-')} needs --tcp")
    token = None if flags.token_file is None else read_token(flags.token_file)
    # Imported by name: the command line only knows how to start the server.
    serve = getattr(importlib.import_module("smem_lsp.server"), "serve", None)
    if serve is None:
        raise not_built("smem-lsp server")
    code: int = serve(address, allow_remote=flags.allow_remote, token=token)
    return code


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (colon and host and (number := whole_number(port)) is not None and number < 65536):
        raise UsageError(f"--tcp {text}: use HOST:PORT")
    return host.strip("[]"), number


def read_token(name: str) -> str:
    """The token: the first line of a file that only its owner can read. Raises UsageError."""
    try:
        # Without waiting for the other end of a pipe.
        descriptor = os.open(Path(name), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            regular = stat.S_ISREG(status.st_mode)
            text = file.read(_MOST) if regular else b""
    except (OSError, ValueError) as error:
        raise UsageError(f"--token-file {name}: {getattr(error, 'strerror', None) or error}") from None
    if not regular:
        raise UsageError(f"--token-file {name}: not a regular file")
    if os.name == "posix" and status.st_mode & 0o077:
        raise UsageError(f"--token-file {name}: others may use it; make it yours with chmod 600")
    token = text.partition(b"\n")[0].strip().decode("ascii", "replace")
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise UsageError(
            f"--token-file {name}: the first line must be {SHORTEST_TOKEN} or more ASCII characters"
        )
    return token
