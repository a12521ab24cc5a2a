"""Why the ranges of dynamic shared memory are not known, in words: the access, its line, and what of it is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from smem_lsp.analysis.values.pointer_ranges import assignments, copied_name, pointers_in
from smem_lsp.analysis.values.ranges import INFINITE, Bounds
from smem_lsp.analysis.values.terms import Const, LoopVar, Op, Opaque, Sym, Term, operands_of, parts_of
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, AccessKind, AddressSpace, Buffer, Kernel
from smem_lsp.source import listed, record
from smem_lsp.source.regex import regex
from smem_lsp.targets.every import MOST_SHARED

_MOST = 3  # parts of an index that one refusal names
_NAMED = regex(r"^line (\d+): | at line (\d+)\b")
_ORIGINS = {
    "load": "a loaded value",
    "call": "the value of a call",
    "exit": "a value behind a loop",
    "unset": "a variable without a value",
}
_DOES = {AccessKind.READ: "read", AccessKind.WRITE: "write", AccessKind.UPDATE: "update"}


@record
class Refusal:
    """``line``: of the access, or of the kernel where it is of no single one, 1-based; ``words``: what is not known."""

    line: int
    words: str


def told(line: int, words: str) -> Refusal:
    """A reason that may name a line itself, ``line 5: ...`` or ``... at line 5``, which is then the one that counts:
    ``line`` is that of the kernel."""
    named = _NAMED.search(words)
    if named is None:
        return Refusal(line, words)
    return Refusal(int(named[1] or named[2]), words[: named.start()] + words[named.end() :])


Dynamic = Mapping[int, Buffer]
"""The buffers in dynamic shared memory, by index."""


def unseen(kernel: Kernel, dynamic: Dynamic) -> Iterator[Refusal]:
    """Why not every use of the array is in sight."""
    helpers = (each.function for each in kernel.helper_bytes if each.space is AddressSpace.DYNAMIC)
    for helper in dict.fromkeys(helpers):
        yield Refusal(kernel.line, f"`{helper}`, which is not followed, uses dynamic shared memory")
    if not dynamic:
        return
    if kernel.irregular is not None:
        yield told(kernel.line, kernel.irregular)
    if kernel.unknown_accesses:
        for reason in kernel.unknown or ("an access is not resolved",):
            yield told(kernel.line, reason)
    if kernel.shared_elsewhere:
        yield Refusal(kernel.line, "a call that is not followed may use the same array")
    elif kernel.opaque and kernel.unseen_arrays is not None:
        yield told(kernel.line, f"a call that is not followed may use the same array: {kernel.unseen_arrays}")
    for buffer in dynamic.values():
        whole = [each.reason for each in buffer.kept if each.within is None]
        if not buffer.placed and (whole or not buffer.kept):
            unknown = buffer.fixed or f"not every access to `{buffer.name}` is seen"
            yield told(kernel.line, whole[0] if whole else unknown)


def unplaced(kernel: Kernel, values: ValueFacts, bounds: Bounds, access: Access, low: int | None) -> Refusal:
    """Why it is not known which bytes an access may touch. ``low``: the first one; None: not known."""
    buffer, what = kernel.buffers[access.buffer], _told(kernel, access)
    if low is not None and low < 0:
        return Refusal(access.line, f"{what} may begin {-low:,} B before `{buffer.name}`")
    moved = values.moved.get(access.point)
    if moved is not None and not (moved[1].known and bounds.interval(moved[1])[1] < INFINITE):
        return Refusal(access.line, f"how many bytes {what} touches is not known")
    if access.part is not None:
        path = ".".join(access.part.path) or "its elements"
        return Refusal(access.line, f"where {what} to {path} begins: the layout of its class is not known")
    if (access.width if access.width is not None else buffer.element_bytes) is None:
        return Refusal(access.line, f"how many bytes {what} touches: the size of its type is not known")
    offset = values.offset(access, buffer)
    if offset is None:
        return Refusal(access.line, f"where {what} begins is not followed")
    causes = list(dict.fromkeys(_causes(kernel, bounds, offset)))[:_MOST]
    why = f": nothing bounds {listed(causes)}" if causes else ""
    return Refusal(access.line, f"how far {what} reaches is not known{why}")


def reaching(kernel: Kernel, access: Access, name: str) -> Refusal:
    """Why two ranges are one: an access may touch bytes of both. ``name``: of what begins among them."""
    return Refusal(
        access.line, f"{_told(kernel, access)} may reach past where `{name}` begins: they are one range"
    )


def _told(kernel: Kernel, access: Access) -> str:
    pointers = pointers_in(kernel, access.offset)
    through = (
        copied_name(kernel, pointers[0], assignments(kernel))
        if pointers
        else kernel.buffers[access.buffer].name
    )
    beside = access.asynchronous or access.beside
    kind = f"an asynchronous {_DOES[access.kind]}" if beside else f"the {_DOES[access.kind]}"
    return f"{kind} through `{through}`"


def _causes(kernel: Kernel, bounds: Bounds, offset: Term) -> Iterator[str]:
    """The smallest parts of a term that nothing keeps within a block's bytes."""

    def inside(term: Term) -> list[Term]:
        varying = [each for each in reversed(operands_of(term)) if not isinstance(each, Const)]
        far = [each for each in varying if max(map(abs, bounds.interval(each))) > MOST_SHARED]
        return far or (varying if len(varying) == 1 else [])

    for term in parts_of(offset, inside=inside):
        if isinstance(term, Sym):
            yield f"`{term.name}`"
        elif isinstance(term, LoopVar):
            yield f"`{kernel.variables[term.variable].removesuffix(' in bytes')}`, which a loop changes"
        elif isinstance(term, Opaque):
            yield _ORIGINS.get(term.origin, "a value that is not followed")
        elif isinstance(term, Op) and not inside(term):
            yield f"the result of `{term.operator}`"
