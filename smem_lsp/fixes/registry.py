"""The one list of cures."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from smem_lsp.fixes import (
    dynamic,
    insert_barrier,
    insert_fence,
    insert_wait,
    lower_wait,
    merge,
    move_barrier,
    padding,
    ranges,
    remove_barrier,
    remove_declarator,
    reorder,
    show_caller_reuse,
    show_storage,
    show_swizzle,
    term_ranges,
    unmerge,
)
from smem_lsp.fixes.cure import Cure
from smem_lsp.rules.model import Remedy

_ALL: tuple[Cure[Any], ...] = (
    dynamic.CURE,
    insert_barrier.CURE,
    insert_fence.CURE,
    insert_wait.CURE,
    lower_wait.CURE,
    merge.CURE,
    move_barrier.CURE,
    padding.CURE,
    ranges.CURE,
    remove_barrier.CURE,
    remove_declarator.CURE,
    reorder.CURE,
    show_caller_reuse.CURE,
    show_storage.CURE,
    show_swizzle.CURE,
    term_ranges.CURE,
    unmerge.CURE,
)

CURES: Mapping[type[Remedy], Cure[Any]] = MappingProxyType({cure.remedy: cure for cure in _ALL})
