"""The bytes of a buffer as an expression, where no number is known."""

from __future__ import annotations

from smem_lsp.ir.nodes import Buffer
from smem_lsp.source.regex import regex

_WORD = regex(r"\w+")
_NAME = regex(r"[A-Za-z_]")


def symbolic_bytes(buffer: Buffer) -> str:
    """``N * (M + 1) * 4``, of what the author wrote; empty where the bytes are a number, or nothing in it is a name."""
    dims = [dim.strip() for dim in buffer.written.dims]
    if buffer.bytes is not None or not buffer.element_bytes or not dims or not all(dims):
        return ""
    if not any(known is None and _NAME.search(dim) for known, dim in zip(buffer.dims, dims)):
        return ""
    factors = [dim if _WORD.fullmatch(dim) else f"({dim})" for dim in dims]
    return " * ".join([*factors, str(buffer.element_bytes)])
