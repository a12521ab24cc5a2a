"""Which documents hold CUDA."""

from __future__ import annotations

from pathlib import PurePath

from smem_lsp.environment.sources import HEADER_SUFFIXES
from smem_lsp.server.uris import name_of
from smem_lsp.source.regex import regex
from smem_lsp.targets.dialects import SUFFIXES

LANGUAGES = frozenset({"cuda-cpp", "cuda", "cuda_cpp"})  # VS Code, Neovim and Helix, Sublime Text

_DEVICE_CODE = regex(r"__(?:global|device|shared)__")


def holds_cuda(uri: str, language: str, text: str) -> bool:
    """By suffix; a header only if it contains device code; anything else if the client's language id is CUDA's."""
    suffix = PurePath(name_of(uri)).suffix.lower()
    if suffix in SUFFIXES:
        return True
    if suffix in HEADER_SUFFIXES:
        return _DEVICE_CODE.search(text) is not None
    return language in LANGUAGES
