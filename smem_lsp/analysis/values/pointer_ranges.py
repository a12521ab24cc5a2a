"""The parts of a buffer, from the constant offsets of the pointers that a kernel's accesses use.

``float* row = smem + D * D; float* col = row + D;``: accesses through ``row`` are meant to stay below ``col``, for all
sizes that the kernel may get.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from smem_lsp.analysis.values.extents import Extent
from smem_lsp.ir.nodes import Access, AddressSpace, Assignment, Kernel, storages_of, walk
from smem_lsp.ir.values import Const, Op, Value, Var, variables_of
from smem_lsp.source import checkpoint
from smem_lsp.terms.operators import Operator

_Assigned = Mapping[int, list[Value]]  # by variable

_IN_BYTES = " in bytes"  # a variable that counts how far into a buffer another one points
_FOLDED = (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY)
_MOST = 20  # pointers made of each other
_END = 1 << 62


def parts(kernel: Kernel) -> Mapping[int, Extent]:
    """Access (its point) -> the bytes from the start of its pointer to the start of the next. Without buffers that have
    only one such start, and without pointers of unknown start. The last part has no end."""
    assigned = assignments(kernel)
    storages = storages_of(kernel.buffers)
    begins: dict[int, tuple[int, int]] = {}  # access -> storage, first byte
    for access in walk(kernel.body):
        if isinstance(access, Access):
            begin = _begin(kernel, access, assigned)
            if begin is not None:
                begins[access.point] = storages[access.buffer], begin
    edges: dict[int, set[int]] = {}
    for storage, begin in begins.values():
        edges.setdefault(storage, set()).add(begin)
    ends = {storage: dict(pairwise([*sorted(found), _END])) for storage, found in edges.items()}
    return {
        point: (begin, ends[storage][begin])
        for point, (storage, begin) in begins.items()
        if len(ends[storage]) > 1
    }


def named_pointers(kernel: Kernel, accesses: Iterable[Access]) -> dict[int, str]:
    """Offset -> name of a pointer that is only ever assigned this constant offset and that an access goes through."""
    assigned = assignments(kernel)
    used: set[int] = set()
    pending = [variable for access in accesses for variable in _used_by(access.offset)]
    while pending:
        checkpoint()
        variable = pending.pop()
        if variable not in used:
            used.add(variable)
            pending += [each for value in assigned.get(variable, ()) for each in variables_of(value)]
    found: dict[int, str] = {}
    for variable in sorted(used):
        name = pointer_name(kernel, variable)
        offset = _constant(Var(variable), assigned, 0)
        if name and offset is not None and offset >= 0:
            found.setdefault(offset, name)
    return found


def pointers_through(kernel: Kernel, buffer: int) -> Mapping[int, str] | None:
    """Access to a buffer (its point) -> name of the last pointer on the way that begins at one byte, or of the buffer
    itself; None: that of one is not known, or two have one name."""
    assigned, found, of = assignments(kernel), dict[int, str](), dict[str, int]()
    for access in walk(kernel.body):
        if not isinstance(access, Access) or access.buffer != buffer or access.lands:
            continue
        pending, name = pointers_in(kernel, access.offset), kernel.buffers[buffer].name
        for _ in range(_MOST):
            if not pending:
                break
            if len(pending) != 1:
                return None
            variable = pending[0]
            if _constant(Var(variable), assigned, 0) is not None:
                name = pointer_name(kernel, variable)
                if of.setdefault(name, variable) != variable:
                    return None
                break
            given = assigned.get(variable, ())
            pending = pointers_in(kernel, given[0]) if len(given) == 1 else [variable, variable]
        found[access.point] = name
    return found


def uses_pointer(kernel: Kernel, access: Access) -> bool:
    """Does an access go through a pointer, not through the array itself?"""
    return bool(pointers_in(kernel, access.offset))


def assignments(kernel: Kernel) -> _Assigned:
    """All that is ever assigned to each variable."""
    assigned: dict[int, list[Value]] = {}
    for node in walk(kernel.body):
        if isinstance(node, Assignment):
            assigned.setdefault(node.variable, []).append(node.value)
    return assigned


def pointer_name(kernel: Kernel, variable: int) -> str:
    """Name of the pointer whose byte offset in its buffer the variable holds; empty: there is none."""
    name = kernel.variables[variable]
    return name.removesuffix(_IN_BYTES) if name.endswith(_IN_BYTES) else ""


def copied_name(kernel: Kernel, variable: int, assigned: _Assigned) -> str:
    """Name of the pointer itself, or of the one that it is a copy of, as a parameter is of what it is bound to: of the
    first that is declared."""
    first = variable
    for _ in range(_MOST):
        given = assigned.get(variable, ())
        of = given[0] if len(given) == 1 else None
        if not isinstance(of, Var) or not pointer_name(kernel, of.index):
            break
        variable = of.index
        first = min(first, variable)
    return pointer_name(kernel, first)


def declared_pointer(kernel: Kernel, variable: int, assigned: _Assigned) -> str:
    """Name of the pointer itself, or of what it is a copy of: the first one on the way that the kernel declares, once;
    empty: there is none."""
    for _ in range(_MOST):
        name = pointer_name(kernel, variable)
        alike = sum(pointer_name(kernel, each) == name for each in assigned)
        if name in kernel.places.names and alike == 1 and name not in kernel.redeclared:
            return name
        given = assigned.get(variable, ())
        of = given[0] if len(given) == 1 else None
        if not isinstance(of, Var):
            break
        variable = of.index
    return ""


def _begin(kernel: Kernel, access: Access, assigned: _Assigned) -> int | None:
    """The start of an access's pointer; of pointers derived from each other, of the last one with a constant start.
    An array without a bound counts as a pointer."""
    pending = pointers_in(kernel, access.offset)
    if not pending and kernel.buffers[access.buffer].space is AddressSpace.DYNAMIC:
        return 0
    for _ in range(_MOST):
        if len(pending) != 1:
            return None
        begin = _constant(Var(pending[0]), assigned, 0)
        if begin is not None:
            return begin
        given = assigned.get(pending[0], ())
        pending = pointers_in(kernel, given[0]) if len(given) == 1 else []
    return None


def pointers_in(kernel: Kernel, value: Value | None) -> list[int]:
    """The pointers (their variables) that a value is counted from."""
    return [variable for variable in _used_by(value) if pointer_name(kernel, variable)]


def _used_by(value: Value | None) -> Iterator[int]:
    return iter(()) if value is None else variables_of(value)


def _constant(value: Value, assigned: _Assigned, depth: int) -> int | None:
    if isinstance(value, Const):
        return value.n
    if isinstance(value, Var) and depth < _MOST:
        given = assigned.get(value.index, ())
        return _constant(given[0], assigned, depth + 1) if len(given) == 1 else None
    if isinstance(value, Op) and len(value.args) == 2 and value.operator in _FOLDED:
        a, b = (_constant(each, assigned, depth + 1) for each in value.args)
        if a is not None and b is not None:
            return (
                a + b
                if value.operator is Operator.ADD
                else a - b
                if value.operator is Operator.SUBTRACT
                else a * b
            )
    return None
