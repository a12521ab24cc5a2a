"""The language server: the engine's findings in an editor, over stdio or TCP.

Nothing here analyses. pygls and lsprotocol take half a second to import, so the first request is answered before
they are (``session``), and everything that needs them is imported behind it.
"""

from __future__ import annotations


def serve(address: tuple[str, int] | None) -> int:
    """Serve over stdio, or over TCP on ``(host, port)``, until the client leaves. Returns the exit code."""
    from smem_lsp.server.connection import serve_stdio, serve_tcp

    return serve_stdio() if address is None else serve_tcp(*address)


__all__ = ["serve"]
