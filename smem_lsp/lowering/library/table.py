"""The functions of libraries that lowering understands, and what lowers a call of each.

A new function is a name in ``callees/library_names.py`` and, where no handler fits, a module beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from smem_lsp.ir.values import Value
from smem_lsp.lowering.callees import library_names as names
from smem_lsp.lowering.callees.library_names import LibraryNames
from smem_lsp.lowering.library import (
    addresses,
    async_copies,
    atomic_objects,
    barriers,
    cooperative_groups,
    cub,
    cuda_pipeline,
    cutlass_barriers,
    endings,
    exchanges,
    random_numbers,
)
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.syntax import tree

FunctionHandler = Callable[[Context, tree.Call, str, LocalScope], Value | Ref | None]
MethodHandler = Callable[[Context, tree.Call, tree.Member, LocalScope], Value | Ref | None]

# What lowers a call, or returns None where it is another function.
_HANDLERS: Mapping[LibraryNames, FunctionHandler] = {
    names.BLOCK_BARRIER: barriers.block_barrier,
    names.COUNTED_BARRIER: barriers.counted_barrier,
    names.WARP_BARRIER: barriers.warp_barrier,
    names.GROUP_BARRIER: cooperative_groups.sync_call,
    names.GROUP: cooperative_groups.group_made,
    names.GROUP_COLLECTIVE: cooperative_groups.collective,
    names.GROUP_LEADER: cooperative_groups.by_one,
    names.ASSERTION: barriers.assertion,
    names.ENDING: endings.ending,
    names.ATOMIC: addresses.atomic,
    names.OTHER_ATOMIC: addresses.atomic,
    names.SWAP: exchanges.swap_call,
    names.ASYNC_COPY: async_copies.copying_call,
    names.RANDOM_STATE: random_numbers.random_call,
    names.RANDOM_NUMBER: random_numbers.random_call,
    names.MEMORY: addresses.effects_call,
    names.ADDRESS: addresses.same_address,
    names.NUMBERED_ADDRESS: addresses.address_number,
    names.ADDRESS_QUESTION: addresses.address_question,
}
FUNCTIONS = tuple((group, _HANDLERS[group]) for group in names.LIBRARY)

METHODS: tuple[MethodHandler, ...] = (  # of objects of libraries
    cooperative_groups.method,
    cuda_pipeline.method,
    cub.collective,
    cutlass_barriers.method,
    atomic_objects.method,
)


def is_own(ctx: Context, name: str) -> bool:
    """Does the file, or a header in sight, define a function of this name?"""
    return name in ctx.helpers or name in ctx.at.unit.header_functions


def is_reserved(ctx: Context, name: str) -> bool:
    """Does a name mean a function of a library wherever the file has no other in its place?"""
    return any(group.reserved and group.has(name, ctx.dialect) for group in names.LIBRARY)


def function_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | Ref | None:
    """A call of a function of a library; None: no handler understands it. ``name``: without namespaces."""
    own = is_own(ctx, name)
    for group, handler in FUNCTIONS:
        if group.has(name, ctx.dialect) and (group.reserved or not own):
            result = handler(ctx, expr, name, scope)
            if result is not None:
                return result
    return None


def method_call(ctx: Context, expr: tree.Call, callee: tree.Member, scope: LocalScope) -> Value | Ref | None:
    """A call of a method of an object of a library; None: no handler understands it."""
    for handler in METHODS:
        result = handler(ctx, expr, callee, scope)
        if result is not None:
            return result
    return None
