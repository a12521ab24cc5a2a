"""Parameters that are no sizes: how far to shift, which bits to keep, by what alone to divide. Ordinary ones are small,
or change nothing."""

from __future__ import annotations

from collections.abc import Iterable

from smem_lsp.terms.language import Level, Op, Sym, Term, parts_of

_OWN = ">>"  # shifts the thread's own numbers
_POWER = "<<"  # shifts what all threads have alike, as the power of a size
_MASK = "&"
_DIVISOR = "/"  # divides the thread's own numbers, and stands nowhere else
_NUMBERS = {
    _OWN: (3, 0, 2, 1, 5, 4),
    _POWER: (5, 7, 6, 4, 8, 3),
    _MASK: (31, -1, 15, 7, 255, 1),
    _DIVISOR: (4, 1, 2, 8, 3, 16),
}


def bit_parameters(terms: Iterable[Term]) -> dict[str, str]:
    """The symbols that such numbers have, each with what it is for, as ``ordinary_bits`` takes it."""
    found: dict[str, str] = {}
    sizes: set[str] = set()
    for part in parts_of(*terms):
        if not isinstance(part, Op):
            continue
        for place, each in enumerate(part.args):
            if isinstance(each, Sym) and not each.name.startswith(("blockIdx.", "gridDim.", "blockDim.")):
                use = _use(part, place)
                if use:
                    found.setdefault(each.name, use)
                else:
                    sizes.add(each.name)
    return {name: use for name, use in found.items() if use != _DIVISOR or name not in sizes}


def _use(part: Op, place: int) -> str:
    """What an operand is for; "": it is a number like others."""
    if len(part.args) != 2:
        return ""
    own = part.args[1 - place].level == Level.THREAD
    match part.operator:
        case "&" if own:
            return _MASK
        case "<<" | ">>" if place == 1:
            return _OWN if own else _POWER
        case "/" if place == 1 and own:
            return _DIVISOR
    return ""


def ordinary_bits(use: str, iteration: int, threads: int) -> int:
    """An ordinary number of this kind, another one for each ``iteration``. ``threads``: of the block."""
    numbers = _NUMBERS[use]
    found = numbers[iteration % len(numbers)]
    return threads - 1 if found < 0 else found  # a mask that keeps the number of each thread
