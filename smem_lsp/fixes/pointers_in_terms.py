"""Local pointers that begin elsewhere in dynamic shared memory, at places in terms."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.analysis.decision.inside import is_plain
from smem_lsp.analysis.values.sums import text_of
from smem_lsp.fixes.declarations import Refused, with_comments
from smem_lsp.fixes.local_pointers import LocalPointer, address, carried, require_unconditional
from smem_lsp.ir.nodes import Buffer, Kernel
from smem_lsp.source import SourceText, TextEdit, checkpoint
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.terms.polynomial import is_nonnegative
from smem_lsp.terms.symbolic import SymbolicSum


def function_of(kernel: Kernel, unit: TranslationUnit) -> Function:
    function = next((f for f in unit.functions if f.name_span == kernel.name_span), None)
    if function is None:
        raise Refused("the kernel comes from a macro")
    return function


def moved_in_terms(
    kernel: Kernel,
    source: SourceText,
    base: Buffer,
    pointers: Mapping[str, LocalPointer],
    begins: Mapping[str, SymbolicSum],
    shifts: Mapping[str, SymbolicSum],
) -> list[TextEdit]:
    """Let each pointer begin where ``begins`` says. ``shifts``: what it moves by.

    Raises Refused where one is not set where it is declared, or its place cannot be spelled."""
    edits: list[TextEdit] = []
    for name in sorted(shifts, key=lambda each: pointers[each].initializer.start if each in pointers else -1):
        checkpoint()
        pointer = pointers.get(name)
        if pointer is None or name in kernel.redeclared:
            if shifts[name]:
                raise Refused(f"`{name}` is not set where it is declared")
            continue
        if carried(pointer, pointers, shifts, source, {}) == shifts[name]:
            continue
        require_unconditional(pointer, kernel)
        there = [pointers[each] for each, to in begins.items() if to == begins[name] and each in pointers]
        place = address(pointer, base, there, _count(base, begins[name]))
        edits.append(TextEdit(pointer.initializer, with_comments(source, [pointer.initializer], place)))
    return edits


def _count(base: Buffer, begin: SymbolicSum) -> str | None:
    """Elements of the array in front of a place, in C; None: it cannot be said."""
    size = base.element_bytes
    if not begin:
        return ""
    if not size or not is_nonnegative(begin) or not is_plain(begin) or any(n % size for n in begin.values()):
        return None
    parts = []
    named = [(sorted(map(text_of, product)), n) for product, n in begin.items()]
    for names, n in sorted(named, key=lambda each: (not each[0], each[0])):
        factors = [*(() if n == size and names else (str(n // size),)), *names]
        parts.append(" * ".join(factors))
    return " + ".join(parts)
