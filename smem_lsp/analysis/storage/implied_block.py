"""How large a block may be so that what goes through a pointer stays below the next pointer.

``float* a = smem; float* b = smem + 1024;`` says where ``a`` ends as ``__shared__ float a[1024]`` does, and so for how
many threads ``a[threadIdx.x + 256 * i]`` is written. Nothing but the author's layout says so: whoever uses it has to
say that it is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

from smem_lsp.analysis.values.affine import Affine, Forms
from smem_lsp.analysis.values.block_shape import most_threads
from smem_lsp.analysis.values.guards import guards_of
from smem_lsp.analysis.values.pointer_ranges import parts
from smem_lsp.analysis.values.ranges import Bounds
from smem_lsp.analysis.values.value_facts import ValueFacts
from smem_lsp.ir.nodes import Access, Dims, Kernel
from smem_lsp.source import checkpoint
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.intervals import INFINITE
from smem_lsp.terms.language import Const, Op, Term, Thread


def implied_block(kernel: Kernel, values: ValueFacts, accesses: Sequence[Access]) -> Dims | None:
    """The most threads in x, y and z with which each access stays between its pointer and the next one; None: nothing
    limits them, or the kernel has more: a launch or a condition says so, or a single thread strays."""
    most, guards = most_threads(kernel), guards_of(kernel, values)
    upper = dict(zip("xyz", most))
    forms, room = Forms(values.table, Bounds(values.loops, most)), parts(kernel)
    for access in accesses:
        checkpoint()
        buffer = kernel.buffers[access.buffer]
        width = access.width if access.width is not None else buffer.element_bytes
        offset = values.offset(access, buffer)
        if access.point not in room or guards.get(access.point) or offset is None or width is None:
            continue
        (begin, end), form = room[access.point], forms.linear(offset)
        if not begin <= form.constant <= end - width:
            return None
        for axis, limit in (
            *_limits(forms, form, 1, end - form.constant - width),
            *_limits(forms, form, -1, form.constant - begin),
        ):
            upper[axis] = min(upper[axis], limit)
    found = upper["x"], upper["y"], upper["z"]
    threads = math.prod(upper[axis] for axis in values.axes())
    if (
        found == most
        or threads < WARP_SIZE
        or any(map(partial(_counts_more, upper), values.conditions.values()))
    ):
        return None
    launched = (site.block for site in kernel.launches if site.block is not None)
    too_large = any(size > limit for block in launched for size, limit in zip(block, found))
    return None if too_large else found


def _counts_more(upper: Mapping[str, int], condition: Term) -> bool:
    """Does a condition tell threads apart that would not exist?"""
    if not isinstance(condition, Op):
        return False
    if condition.operator in ("&&", "||", "!"):
        return any(map(partial(_counts_more, upper), condition.args))
    numbers = [each.n for each in condition.args if isinstance(each, Const)]
    return any(isinstance(each, Thread) and n >= upper[each.axis] for each in condition.args for n in numbers)


def _limits(forms: Forms, form: Affine, sign: int, room: int) -> Iterator[tuple[str, int]]:
    """(axis, threads at most) so that all but the constant of ``form``, times ``sign``, is ``room`` at most."""
    counted: list[tuple[int, str, int]] = []  # factor, axis, and how many threads are one
    for (symbols, atom), n in form.coefficients.items():
        if atom is None and not symbols:
            continue
        thread, factor = None if symbols or atom is None else _of_thread(atom), sign * n
        if thread is not None:
            if factor > 0:
                counted.append((factor, *thread))
            continue
        ends = (-INFINITE, INFINITE) if symbols or atom is None else forms.bounds.interval(atom)
        room -= max(factor * end for end in ends)
    if not counted or room < 0:
        return
    counted.sort()
    for (factor, axis, threads), (above, _, _) in pairwise(counted):  # digits of one number
        yield axis, max(above // factor, 1) * threads
        room -= factor * (max(above // factor, 1) - 1)
    factor, axis, threads = counted[-1]
    if room >= 0:
        yield axis, (room // factor + 1) * threads


def _of_thread(atom: Term) -> tuple[str, int] | None:
    """Its axis, and how many threads have one number, of ``threadIdx.x`` and ``threadIdx.x / 32``."""
    if isinstance(atom, Thread):
        return atom.axis, 1
    if isinstance(atom, Op) and atom.operator == "/":
        one, by = atom.args
        if isinstance(one, Thread) and isinstance(by, Const) and by.n > 0:
            return one.axis, by.n
    return None
