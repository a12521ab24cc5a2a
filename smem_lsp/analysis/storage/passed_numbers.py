"""Numbers that all launches in sight pass to a kernel."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.ir.nodes import Kernel, LaunchSite
from smem_lsp.ir.values import Const, Sym
from smem_lsp.terms.intervals import Interval


def passed_numbers(kernel: Kernel) -> Mapping[str, Interval]:
    """Parameters for which every launch in sight passes a number -> the least and the largest."""
    every = [_passed(site) for site in kernel.launches]
    shared = [name for name in every[0] if all(name in each for each in every)] if every else []
    return {name: (min(each[name] for each in every), max(each[name] for each in every)) for name in shared}


def is_closed(kernel: Kernel) -> bool:
    """Can it be launched in no other way than those in sight?"""
    return kernel.internal and not any(site.open for site in kernel.launches)


def spelled_bounds(name: str, ends: Interval) -> str:
    """In words: ``n == 8``, ``4 <= n <= 8``."""
    low, high = ends
    return f"{name} == {low}" if low == high else f"{low} <= {name} <= {high}"


def _passed(site: LaunchSite) -> Mapping[str, int]:
    return {
        fact.left.name: fact.right.n
        for fact in site.equalities
        if isinstance(fact.left, Sym) and isinstance(fact.right, Const)
    }
