"""The language server.

Holds documents, schedules and the protocol. May import everything below. Never blocks the thread that reads messages.

pygls and lsprotocol take half a second to import, so the first request is answered before they are (``session``), and
everything that needs them is imported behind it.
"""

from __future__ import annotations

import sys


def serve(
    address: tuple[str, int] | None = None, *, allow_remote: bool = False, token: str | None = None
) -> int:
    """Serve over stdio, or over TCP on ``(host, port)``, until the client leaves. Returns the exit code.

    ``allow_remote``: other machines may connect, with a token; ``token`` None: one is made up and printed.
    """
    _import_asyncio()
    if address is None:
        from smem_lsp.server.stdio import serve_stdio

        return serve_stdio()
    from smem_lsp.server.tcp import serve_tcp

    return serve_tcp(*address, allow_remote=allow_remote, token=token)


def _import_asyncio() -> None:
    """Without OpenSSL, which it does not need: no connection of ours is encrypted, and loading it is an eighth of the
    time until the first answer. Whoever imports ``ssl`` later gets it."""
    if "ssl" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]
    try:
        import asyncio  # noqa: F401
    finally:
        del sys.modules["ssl"]


__all__ = ["serve"]
