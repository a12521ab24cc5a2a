"""Which functions are in sight: any other may declare shared arrays of its own."""

from __future__ import annotations

from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope
from smem_lsp.semantics.entities import Functions, Namespace, Undeclared
from smem_lsp.syntax import stubs, tree

# Namespaces of libraries whose functions declare no static shared memory. CUB's collectives are told apart elsewhere.
_LIBRARIES = frozenset(
    "std cuda cub nv nvcuda cooperative_groups thrust cute cutlass at c10 torch glm".split()
)
_RANDOM = ("random_state", "random_number")


def is_in_sight(ctx: Context, callee: tree.Name, scope: LocalScope) -> bool:
    """Is the body of what is called in sight, or is it known to declare no shared memory? A class counts as in sight:
    the call makes an object."""
    path = tuple(part for part in callee.text.split("::") if part)
    name = path[-1] if path else ""
    if not path or path[0] in _LIBRARIES or name.startswith("__"):
        return True
    if overloads.functions_named(ctx, name, callee):
        return True
    if any(each.model in _RANDOM for each in stubs.own().named(name)):
        return True
    if scope.lookup(callee.text) is not None or callee.text in ctx.at.template_parameters:
        return True
    constants = scope.constant_scope()
    root = constants.meaning(path[:1], (None,)) if len(path) > 1 else None
    if isinstance(root, Undeclared) and root.path[0] in _LIBRARIES:
        return True
    directives = (each for outer in constants.outwards() for each in outer.declarations.directives)
    if len(path) == 1 and any(each[0] in _LIBRARIES for each in directives):
        return True
    match constants.resolve(callee):
        case Functions() as found:
            return all(decl.body is not None for decl, _ in found.overloads)
        case None | Undeclared() | Namespace():
            return False
    return True
