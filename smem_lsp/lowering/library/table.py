"""The functions of libraries that lowering understands, and what lowers a call of each.

A new function is a row here and, where no handler fits, a module beside this one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from smem_lsp.ir.values import Value
from smem_lsp.lowering.callees.intrinsics import (
    ADDRESS_NUMBERS,
    ADDRESS_QUESTIONS,
    ATOMICS,
    EFFECTS,
    SAME_ADDRESS,
    STATE_MAKERS,
    STATE_READERS,
)
from smem_lsp.lowering.library import (
    addresses,
    async_copies,
    barriers,
    cooperative_groups,
    cub,
    cuda_pipeline,
    cutlass_barriers,
    random_numbers,
)
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.lowering.state.places import Ref
from smem_lsp.syntax import tree
from smem_lsp.targets.dialects import Dialect

Names = Collection[str] | re.Pattern[str]
NamesOf = Callable[[Dialect], Names]
FunctionHandler = Callable[[Context, tree.Call, str, LocalScope], Value | Ref | None]
MethodHandler = Callable[[Context, tree.Call, tree.Member, LocalScope], Value | Ref | None]

_EVERY = re.compile(r".*")


@dataclass(frozen=True, slots=True)
class Row:
    """Functions by their last name, without a namespace, by a pattern of it, or by what the dialect calls them.

    ``handler`` lowers a call, or returns None where it is another function. ``reserved``: such a name means this
    function, whatever the file declares; else a function of the file or of a header in sight goes first."""

    names: Names | NamesOf
    handler: FunctionHandler
    reserved: bool = True

    def means(self, name: str, dialect: Dialect) -> bool:
        names = self.names(dialect) if callable(self.names) else self.names
        return names.fullmatch(name) is not None if isinstance(names, re.Pattern) else name in names


FUNCTIONS = (  # the first that understands a call lowers it
    Row(lambda dialect: dialect.block_barriers, barriers.block_barrier),
    Row(lambda dialect: dialect.counted_barriers, barriers.counted_barrier),
    Row(lambda dialect: (dialect.warp_barrier,), barriers.warp_barrier),
    Row(("sync",), cooperative_groups.sync_call),
    Row(cooperative_groups.FACTORIES, cooperative_groups.group_made),
    Row(("assert",), barriers.assertion),
    Row(ATOMICS, addresses.atomic),
    Row(_EVERY, async_copies.copying_call, reserved=False),
    Row(STATE_MAKERS, random_numbers.random_call, reserved=False),
    Row(STATE_READERS, random_numbers.random_call, reserved=False),
    Row(EFFECTS, addresses.effects_call, reserved=False),
    Row(SAME_ADDRESS, addresses.same_address, reserved=False),
    Row(ADDRESS_NUMBERS, addresses.address_number, reserved=False),
    Row(ADDRESS_QUESTIONS, addresses.address_question, reserved=False),
)

METHODS: tuple[MethodHandler, ...] = (  # of objects of libraries
    cooperative_groups.method,
    cuda_pipeline.method,
    cub.collective,
    cutlass_barriers.method,
)


def is_own(ctx: Context, name: str) -> bool:
    """Does the file, or a header in sight, define a function of this name?"""
    return name in ctx.helpers or name in ctx.at.unit.header_functions


def function_call(ctx: Context, expr: tree.Call, name: str, scope: LocalScope) -> Value | Ref | None:
    """A call of a function of a library; None: no row understands it. ``name``: without namespaces."""
    own = is_own(ctx, name)
    for row in FUNCTIONS:
        if row.means(name, ctx.dialect) and (row.reserved or not own):
            result = row.handler(ctx, expr, name, scope)
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
