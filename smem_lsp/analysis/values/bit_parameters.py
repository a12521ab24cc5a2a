"""Parameters that are no sizes: how far to shift, or which bits to keep. Ordinary ones are small, or change nothing."""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.analysis.values.terms import Level, Op, Sym, Term, parts_of

_NUMBERS = {">>": (3, 0, 2, 1, 5, 4), "<<": (5, 7, 6, 4, 8, 3), "&": (31, -1, 15, 7, 255, 1)}


def bit_parameters(terms: Iterable[Term]) -> dict[str, str]:
    """The symbols that such numbers have, each with ``&`` for a mask, ``>>`` for what the thread's own numbers are
    shifted by, and ``<<`` for what those of all threads are, as the power of a size."""
    found: dict[str, str] = {}
    for part in parts_of(*terms):
        if not isinstance(part, Op) or part.operator not in ("<<", ">>", "&") or len(part.args) != 2:
            continue
        masks = part.operator == "&"
        for kept, bits in (part.args, part.args[::-1]) if masks else (part.args,):
            if isinstance(bits, Sym) and not bits.name.startswith(("blockIdx.", "gridDim.", "blockDim.")):
                own = kept.level == Level.THREAD
                if own or not masks:
                    found.setdefault(bits.name, "&" if masks else ">>" if own else "<<")
    return found


def ordinary_bits(operator: str, turn: int, threads: int) -> int:
    """An ordinary number of this kind, another one for each ``turn``. ``threads``: of the block."""
    numbers = _NUMBERS[operator]
    found = numbers[turn % len(numbers)]
    return threads - 1 if found < 0 else found  # a mask that keeps the number of each thread
