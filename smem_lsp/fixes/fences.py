"""Fences of the asynchronous proxy: inserted in the kernel's own spelling."""

from __future__ import annotations

from smem_lsp.fixes.barriers import insert_lines
from smem_lsp.ir.nodes import Kernel, Proxy, ProxyKind, walk
from smem_lsp.source import SourceText, TextEdit
from smem_lsp.source.regex import regex

_ASSEMBLER = 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'
_DEVICE = regex(r"((?:\w+::)+)cp_async_bulk_")  # cde::cp_async_bulk_commit_group
_PTX = regex(r"((?:\w+::)*ptx::)cp_async_bulk")


def insert_fence(kernel: Kernel, source: SourceText, point: int, name: str) -> tuple[TextEdit, str]:
    """An edit that puts a fence at a Place, and in words what it does. ``name``: of the buffer.

    Raises Refused when there is no text to stand on.
    """
    fence = _spelling(kernel, source)
    line = f"{fence}  // the asynchronous proxy must see what this thread has written to {name}"
    edit, at = insert_lines(kernel, source, point, [line])
    return edit, f"`{fence.rstrip(';')}` before line {at}"


def _spelling(kernel: Kernel, source: SourceText) -> str:
    """The way the kernel writes a fence elsewhere, else the way of its copies."""
    for node in walk(kernel.body):
        if isinstance(node, Proxy) and node.kind is ProxyKind.FENCE and node.span is not None:
            text = source.slice(kernel.places.span(node.span))
            if kernel.at.covers(node.span) and "\n" not in text and "(" in text:
                return text.rstrip(";") + ";"
    text = source.slice(kernel.span)
    ptx = _PTX.search(text)
    if ptx is not None:
        return f"{ptx[1]}fence_proxy_async({ptx[1]}space_shared);"
    device = _DEVICE.search(text)
    return _ASSEMBLER if device is None else f"{device[1]}fence_proxy_async_shared_cta();"
