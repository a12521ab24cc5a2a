"""Kernels that the driver finds by the name in a string: ``cuModuleGetFunction(&f, module, "scale")``."""

from __future__ import annotations

from collections.abc import Iterator

from smem_lsp.source.digits import whole_number
from smem_lsp.source.regex import regex

_MANGLED = regex(r"_Z(\d+)([A-Za-z_]\w*)")  # of a function of the global namespace (Itanium C++ ABI, 5.1)
_NAME = regex(r"[A-Za-z_]\w*")
_GETTER = regex(r'(?:ModuleGetFunction|LibraryGetKernel)\s*\([^;"]{0,500}"([^"\n]{1,500})"\s*\)')


def kernel_called(text: str) -> str | None:
    """The name of the kernel, by the one that its compiled code has; None: it is in a namespace, or no name."""
    mangled = _MANGLED.match(text)
    if mangled is not None:
        length = whole_number(mangled[1]) or 0
        return mangled[2][:length] if 0 < length <= len(mangled[2]) else None
    return text if _NAME.fullmatch(text) and not text.startswith("_Z") else None


def kernels_called(code: str) -> Iterator[str]:
    """The kernels that a file asks for by the name in a string."""
    for match in _GETTER.finditer(code):
        name = kernel_called(match[1])
        if name is not None:
            yield name
