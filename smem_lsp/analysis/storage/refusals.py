"""Why the ranges of dynamic shared memory are not known: the access, and what of it is open. Each cause has a line: of
the access, or of the kernel where it is of no single one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from smem_lsp.analysis.values.pointer_ranges import assignments, copied_name, pointers_in
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.causes import Cause, CauseKind, Opens
from smem_lsp.ir.nodes import Access, AddressSpace, Buffer, Kernel
from smem_lsp.targets.every import MOST_SHARED
from smem_lsp.terms.intervals import INFINITE
from smem_lsp.terms.language import Const, LoopVar, Op, OpaqueTerm, Sym, Term, operands_of, parts_of

_MOST = 3  # parts of an index that one refusal names
_ORIGINS = {
    "load": CauseKind.LOADED,
    "call": CauseKind.CALLED,
    "written": CauseKind.CALLED,
    "exit": CauseKind.BEHIND_LOOP,
    "unset": CauseKind.UNSET,
}


Dynamic = Mapping[int, Buffer]
"""The buffers in dynamic shared memory, by index."""


def unseen(kernel: Kernel, dynamic: Dynamic) -> Iterator[Cause]:
    """Why not every use of the array is in sight."""
    for each in _unseen(kernel, dynamic):
        yield each if each.line is not None else replace(each, line=kernel.row)


def _unseen(kernel: Kernel, dynamic: Dynamic) -> Iterator[Cause]:
    helpers = (each.function for each in kernel.helper_bytes if each.space is AddressSpace.DYNAMIC)
    for helper in dict.fromkeys(helpers):
        yield Cause(CauseKind.HELPER_USES, names=(helper,))
    if not dynamic:
        return
    if kernel.irregular is not None:
        yield kernel.irregular
    if kernel.unknown_accesses:
        yield from kernel.open(Opens.ACCESSES)
    hidden = kernel.open(Opens.ARRAYS)
    if kernel.shared_elsewhere:
        yield Cause(CauseKind.CALL_SHARES)
    elif kernel.opaque and hidden:
        yield Cause(CauseKind.CALL_PERHAPS_SHARES, of=hidden[:1])
    for buffer in dynamic.values():
        whole = [each.reason for each in buffer.kept if each.within is None]
        if not buffer.placed and (whole or not buffer.kept):
            unknown = buffer.fixed or Cause(CauseKind.UNSEEN, names=(buffer.name,))
            yield whole[0] if whole else unknown


def unplaced(kernel: Kernel, values: ValueFacts, bounds: Bounds, access: Access, low: int | None) -> Cause:
    """Why it is not known which bytes an access may touch. ``low``: the first one; None: not known."""
    buffer, what = kernel.buffers[access.buffer], _told(kernel, access)
    if low is not None and low < 0:
        return Cause(CauseKind.BEGINS_BEFORE, access.line, (buffer.name, f"{-low:,}"), (what,))
    moved = values.moved.get(access.point)
    if moved is not None and not (moved[1].known and bounds.interval(moved[1])[1] < INFINITE):
        return Cause(CauseKind.LENGTH, access.line, of=(what,))
    if access.part is not None:
        path = ".".join(access.part.path)
        if not path:
            return Cause(CauseKind.LAYOUT_OF_ELEMENTS, access.line, of=(what,))
        return Cause(CauseKind.LAYOUT, access.line, (path,), (what,))
    if (access.width if access.width is not None else buffer.element_bytes) is None:
        return Cause(CauseKind.TYPE_SIZE, access.line, of=(what,))
    offset = values.offset(access, buffer)
    if offset is None:
        return Cause(CauseKind.START, access.line, of=(what,))
    causes = list(dict.fromkeys(_causes(kernel, bounds, offset)))[:_MOST]
    return Cause(CauseKind.EXTENT, access.line, of=(what, *causes))


def reaching(kernel: Kernel, access: Access, name: str) -> Cause:
    """Why two ranges are one: an access may touch bytes of both. ``name``: of what begins among them."""
    return Cause(CauseKind.MAY_PASS, access.line, (name,), (_told(kernel, access),))


def _told(kernel: Kernel, access: Access) -> Cause:
    pointers = pointers_in(kernel, access.offset)
    through = (
        copied_name(kernel, pointers[0], assignments(kernel))
        if pointers
        else kernel.buffers[access.buffer].name
    )
    beside = access.asynchronous or access.beside
    kind = CauseKind.ASYNCHRONOUS_ACCESS if beside else CauseKind.ACCESS
    return Cause(kind, names=(through, access.kind.name.lower()))


def _causes(kernel: Kernel, bounds: Bounds, offset: Term) -> Iterator[Cause]:
    """The smallest parts of a term that nothing keeps within a block's bytes."""

    def inside(term: Term) -> list[Term]:
        varying = [each for each in reversed(operands_of(term)) if not isinstance(each, Const)]
        far = [each for each in varying if max(map(abs, bounds.interval(each))) > MOST_SHARED]
        return far or (varying if len(varying) == 1 else [])

    for term in parts_of(offset, inside=inside):
        if isinstance(term, Sym):
            yield Cause(CauseKind.PARAMETER, names=(term.name,))
        elif isinstance(term, LoopVar):
            name = kernel.variables[term.variable].removesuffix(" in bytes")
            yield Cause(CauseKind.LOOP_VARIABLE, names=(name,))
        elif isinstance(term, OpaqueTerm):
            yield Cause(_ORIGINS.get(term.origin, CauseKind.VALUE))
        elif isinstance(term, Op) and not inside(term):
            yield Cause(CauseKind.RESULT, names=(term.operator,))
