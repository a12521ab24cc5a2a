"""Memory that a device function gets by pointer, as a buffer of its own: whoever calls the function is not in sight.

Whether it belongs to the block, so that its threads meet in it, is asked of the accesses to it
(``analysis/hazards/handed_memory.py``).
"""

from __future__ import annotations

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AddressSpace, Buffer, DeclarationSite, Written
from smem_lsp.ir.places import At
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import BufferName, LocalScope
from smem_lsp.semantics import record_layout, type_of
from smem_lsp.semantics.sizes import size_of_type
from smem_lsp.semantics.types import Enum, Pointer, Scalar, is_struct
from smem_lsp.syntax import tree
from smem_lsp.syntax.lexer import Tokens
from smem_lsp.unit.shared_declarations import NOT_TYPE

_MOVED = ("EQ", "ASSIGN", "STEP")


def declare(
    ctx: Context, declaration: tree.Declaration, declarator: tree.Declarator, scope: LocalScope
) -> bool:
    """Bind a parameter that is a pointer to something that may be written, and that always points there."""
    stars = [each for each in declarator.pointers if each in ("*", "&", "&&")]
    if stars != ["*"] or declarator.dims or declarator.nested or "const" in declaration.words:
        return False
    if "volatile" in declaration.words or _is_moved(declarator.name, ctx.at.body.tokens):
        return False
    constants = scope.constant_scope()
    words = [word for word in declaration.words if word not in NOT_TYPE]
    kind = type_of.specified(declaration, constants)
    size = size_of_type(kind)
    index = len(ctx.buffers)
    where = At.of(ctx.at.kernel.name_span)
    ctx.buffers.declared.append(
        Buffer(
            index=index,
            name=declarator.name,
            type=" ".join(words),
            written=Written(dims=("",)),
            dims=(None,),
            element_bytes=None if size is None else size[0],
            bytes=None,
            align=None if size is None else size[1],
            space=AddressSpace.STATIC,
            declared=where,
            site=DeclarationSite(None, None, None, None, 0, 1, where),
            handed=True,
            record=is_struct(kind) if isinstance(kind, Scalar) else not isinstance(kind, (Pointer, Enum)),
            holds_pointers=record_layout.holds_pointers(kind),
        )
    )
    if kind is not None:
        ctx.buffers.kinds[index] = kind
    ctx.buffers.pinned[index] = Cause(CauseKind.OF_CALLER, names=(declarator.name,))
    scope.names[declarator.name] = BufferName(index)
    return True


def _is_moved(name: str, tokens: Tokens) -> bool:
    """May the pointer point elsewhere later: is it assigned, or its address taken?"""
    kinds = tokens.kinds
    return any(
        text == name
        and kinds[i] == "NAME"
        and (kinds[i + 1 : i + 2] in ([k] for k in _MOVED) or kinds[max(i - 1, 0) : i] in (["STEP"], ["AMP"]))
        for i, text in enumerate(tokens.texts)
    )
