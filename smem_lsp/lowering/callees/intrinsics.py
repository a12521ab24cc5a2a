"""What the functions of libraries do to their arguments, as far as shared memory is concerned: what the stub files
declare (``syntax/stubs.py``).

Anything else is an unknown call: it may write what it gets by reference and keep what it gets as a pointer.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.source.queries import remembered
from smem_lsp.syntax import stubs
from smem_lsp.syntax.stubs import Stub

# Namespaces whose functions of numbers are those of the global one.
_STANDARD = ("std::", "cuda::std::", "thrust::")


@remembered(most=4096)
def declared(name: str) -> Sequence[Stub]:
    """The declarations of the function that a name means where nothing of the file has it. One that stands in ``std``
    is meant by a qualified name alone."""
    plain = name.removeprefix("::")
    space = next((each for each in _STANDARD if plain.startswith(each)), "")
    return [each for each in stubs.own().named(plain.removeprefix(space)) if space or each.around != ("std",)]


def takes_values(name: str) -> bool:
    """True when the function reads its arguments and nothing else: no reference, no pointer kept or written."""
    found = declared(name)
    return (bool(found) and all(each.by_value for each in found)) or is_limit(name)


def may_take(name: str, count: int) -> bool:
    """May a function be called with so many arguments? Of one that is not declared that is not known."""
    found = declared(name)
    return not found or any(_takes(each.parameters or "", count) for each in found)


def _takes(parameters: str, count: int) -> bool:
    each = [part for part in parameters.split(",") if part.strip()]
    return sum("=" not in part for part in each) <= count <= len(each)


def is_limit(name: str) -> bool:
    """``std::numeric_limits<T>::max`` and its kin: one number of a type, whatever that is."""
    return "numeric_limits" in name.split("::")[:-1]


def is_pure(name: str) -> bool:
    """True when the result follows from the arguments, those of other lanes included, and nothing else."""
    return takes_values(name) and (has(name, "pure") or is_limit(name))


def has(name: str, *attributes: str) -> bool:
    """Has a function one of these attributes?"""
    return any(each.has(*attributes) for each in declared(name))


def value_of(name: str) -> str:
    """The code that knows what a function returns; "": none does."""
    return next((each.value for each in declared(name)), "")
