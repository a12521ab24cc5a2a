"""``smem-lsp server``: hand over to the language server."""

from __future__ import annotations

import argparse
import importlib
import sys

from smem_lsp.cli.errors import UsageError, not_built


def run(flags: argparse.Namespace) -> int:
    """Serve until the client leaves. Raises UsageError."""
    address = None if flags.tcp is None else _address(flags.tcp)
    if address is not None and flags.stdio:
        raise UsageError("--stdio and --tcp contradict each other")
    if address is None and sys.stdin is None:
        raise UsageError("stdin is closed")
    # By name: the command line knows nothing of the server but how to start it.
    serve = getattr(importlib.import_module("smem_lsp.server"), "serve", None)
    if serve is None:
        raise not_built("smem-lsp server")
    code: int = serve(address)
    return code


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise UsageError(f"--tcp {text}: use HOST:PORT")
    return host.strip("[]"), int(port)
