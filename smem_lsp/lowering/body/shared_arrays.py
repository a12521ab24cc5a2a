"""Declarations of shared memory inside a function."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AddressSpace, DeclarationSite
from smem_lsp.ir.places import At
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import (
    BufferName,
    LocalScope,
)
from smem_lsp.semantics.local_declarations import declare_type
from smem_lsp.syntax import tree
from smem_lsp.unit.shared_declarations import _element_type, shared_buffer


def declare(
    ctx: Context, declaration: tree.Declaration, scope: LocalScope, block: At, in_switch: bool
) -> None:
    for position, declarator in enumerate(declaration.declarators):
        if not declarator.name:
            ctx.limits.note(CauseKind.UNREAD_DECLARATION, ctx.at.line(declaration.lo))
            continue
        declare_type(declaration, declarator, scope.declare_constants())
        index = len(ctx.buffers)
        function = ctx.at.function
        at = ctx.at.base + declarator.name_at
        static = (function.definition, function.number, at, ctx.inlining.instance)
        known = ctx.buffers.statics.get(static)
        if known is not None:  # a body that is called again: static storage, one copy
            scope.names[declarator.name] = BufferName(known)
            continue
        buffer = shared_buffer(
            ctx.at.body,
            ctx.at.base,
            ctx.at.unit.source.text,
            declaration,
            position,
            scope.constant_scope(),
            ctx.at.function.name,
        )
        stands = site(ctx, declaration, position, block, in_switch)
        ctx.buffers.declared.append(replace(buffer, index=index, site=stands))
        ctx.buffers.statics[static] = index
        kind = _element_type(ctx.at.body, ctx.at.base, declaration, declarator, scope.constant_scope())
        if kind is not None:
            ctx.buffers.kinds[index] = kind
        scope.names[declarator.name] = BufferName(index)
        if declarator.pointers or declarator.nested:
            ctx.buffers.pointer_elements.add(index)
        if buffer.space is AddressSpace.DYNAMIC:
            ctx.buffers.pinned[index] = Cause(CauseKind.DYNAMIC, names=(buffer.name,))
        elif "const" in buffer.written.qualifiers and declarator.initializer is not None:
            ctx.buffers.pin(frozenset((index,)), CauseKind.INITIALIZED, seen=True)
        elif ctx.at.function is not ctx.at.kernel:
            names = buffer.name, ctx.at.function.name
            ctx.buffers.owned[index] = Cause(CauseKind.OWNED, names=names)


def site(
    ctx: Context, declaration: tree.Declaration, position: int, block: At, in_switch: bool
) -> DeclarationSite:
    """Where a declarator stands."""
    declarator = declaration.declarators[position]
    return DeclarationSite(
        statement=ctx.at.editable(_statement_span(ctx)),
        specifiers=ctx.at.span_between(declaration.lo, declaration.declarators_at),
        declarator=ctx.at.span_between(declarator.lo, declarator.hi),
        name=ctx.at.span(declarator.name_at, declarator.name_at + 1),
        position=position,
        count=len(declaration.declarators),
        scope=block,
        in_switch=in_switch,
    )


def _statement_span(ctx: Context) -> At | None:
    """From the first specifier to the `;` of the declaration that is being lowered."""
    tokens = ctx.at.body.tokens
    lo = ctx.at.base
    hi = lo
    depth = 0
    while hi < len(tokens):
        kind = tokens.kinds[hi]
        depth += {"LP": 1, "LC": 1, "LB": 1, "RP": -1, "RC": -1, "RB": -1}.get(kind, 0)
        if kind == "SEMI" and depth == 0:
            break
        hi += 1
    first, last = tokens.offsets[lo], tokens.offsets[min(hi, len(tokens) - 1)]
    if first < 0 or last < 0:
        return None
    return At(first, last + 1)
