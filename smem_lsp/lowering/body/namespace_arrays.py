"""Shared memory that is declared outside functions: each kernel has its own, if it or what it calls names it."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.nodes import AddressSpace, Buffer, DeclarationSite, Written
from smem_lsp.ir.places import At
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import Around, BufferName
from smem_lsp.semantics import record_layout, type_of
from smem_lsp.semantics.declarations import VariableDecl
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.sizes import size_of_type
from smem_lsp.semantics.types import Enum, Pointer, Scalar, Type, is_struct
from smem_lsp.syntax import tree
from smem_lsp.unit.shared_declarations import NOT_TYPE, total_bytes


def around(ctx: Context, constants: Scope) -> Around:
    """What a name means that no block of a body declares. ``constants``: the scope that the body looks names up in."""
    names = ctx.at.unit.shared_names

    def look_up(name: str) -> BufferName | None:
        index = _buffer(ctx, name, constants) if name in names else None
        return None if index is None else BufferName(index)

    return Around(constants, look_up)


def _buffer(ctx: Context, name: str, constants: Scope) -> int | None:
    """The number of the buffer; None: the name means something else, or several things."""
    found = _declaration(name, constants)
    if found is None:
        return None
    known = ctx.buffers.outside.get(found[0])
    return _declared(ctx, *found) if known is None else known


def _declaration(name: str, constants: Scope) -> tuple[VariableDecl, Scope] | None:
    for scope in constants.outwards():
        declared = scope.own(name)
        if declared:
            (decl, where), *others = declared
            return None if others or not isinstance(decl, VariableDecl) else (decl, where)
    return None


def is_dynamic(ctx: Context, name: str, constants: Scope) -> bool:
    """Is it a dynamic array that is declared outside functions?"""
    found = _declaration(name, constants) if name in ctx.at.unit.shared_names else None
    declared = None if found is None else found[0].source.parse("declaration", *found[0].range)
    return isinstance(declared, tree.Declaration) and {"extern", ctx.dialect.shared} <= set(declared.words)


def _declared(ctx: Context, decl: VariableDecl, scope: Scope) -> int | None:
    declaration = decl.source.parse("declaration", *decl.range)
    if not isinstance(declaration, tree.Declaration) or ctx.dialect.shared not in declaration.words:
        return None
    for declarator in declaration.declarators:
        if declarator.name == decl.name and not declarator.nested:
            index = len(ctx.buffers)
            kind = _element(declaration, declarator, scope)
            ctx.buffers.outside[decl] = index
            ctx.buffers.declared.append(
                replace(_buffer_of(ctx, decl, declaration, declarator, kind, scope), index=index)
            )
            if kind is not None:
                ctx.buffers.kinds[index] = kind
            if declarator.pointers:
                ctx.buffers.pointer_elements.add(index)
            if "extern" in declaration.words:
                ctx.buffers.pinned[index] = Cause(CauseKind.DYNAMIC, names=(decl.name,))
            else:
                ctx.buffers.owned[index] = Cause(CauseKind.OUTSIDE_FUNCTIONS, names=(decl.name,))
            return index
    return None


def _element(declaration: tree.Declaration, declarator: tree.Declarator, scope: Scope) -> Type | None:
    if declarator.pointers:
        return Pointer(None)
    return type_of.specified(declaration, scope)


def _buffer_of(
    ctx: Context,
    decl: VariableDecl,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    kind: Type | None,
    scope: Scope,
) -> Buffer:
    """Its text is never rewritten: it may be in another file, and other kernels name it, too."""
    words = [word for word in declaration.words if word not in NOT_TYPE]
    size = size_of_type(kind)
    dims = tuple(evaluate(dim, scope) for dim in declarator.dims)
    dynamic = "extern" in declaration.words
    where = _place(ctx, decl.name)
    return Buffer(
        index=-1,
        name=decl.name,
        type=" ".join(words) + "".join(declarator.pointers),
        written=Written(
            pointer="".join(declarator.pointers),
            dims=tuple("" if dim is None else str(dim) for dim in dims),
            qualifiers=tuple(word for word in declaration.words if word in ("volatile", "const")),
        ),
        dims=dims,
        element_bytes=None if size is None else size[0],
        bytes=None if size is None or dynamic else total_bytes(size[0], dims),
        align=None if size is None else size[1],
        space=AddressSpace.DYNAMIC if dynamic else AddressSpace.STATIC,
        declared=where,
        site=DeclarationSite(None, None, None, None, 0, len(declaration.declarators), where),
        record=is_struct(kind) if isinstance(kind, Scalar) else not isinstance(kind, (Pointer, Enum)),
        holds_pointers=record_layout.holds_pointers(kind),
    )


def _place(ctx: Context, name: str) -> At:
    """The name in its declaration; that of the kernel, where it stands in another file. It is looked for in the tokens
    of today: what a file declares may have been collected in an earlier text of it."""
    return At.of(ctx.at.unit.shared_places.get(name, ctx.at.kernel.name_span))
