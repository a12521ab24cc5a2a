"""Which loads from global memory give all threads of a block the same value if they use the same address.

That holds for memory that the kernel does not change: memory behind a parameter that points to const, and behind a
pointer without writes, atomics or volatile reads. Another pointer may lead to the same memory; then barriers order its
writes against these loads, or they race and the kernel has no meaning (PTX ISA, memory consistency model).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from smem_lsp.ir import values as ir
from smem_lsp.ir.global_memory import GlobalMemory
from smem_lsp.source import checkpoint, record
from smem_lsp.terms.language import Op, OpaqueTerm, Sym, Term
from smem_lsp.terms.operators import Operator

# the result may be the address that an operand is
_KEEP = (Operator.ADD, Operator.SUBTRACT, Operator.CONDITIONAL, Operator.CAST)
_MAX_MEMBERS = 4  # of members; beyond it the whole object counts


@record
class Untouched:
    """``written``: names of parameters, "p" or "p.member", that lead to memory which may change."""

    memory: GlobalMemory
    written: frozenset[str]

    def covers(self, address: Term) -> bool:
        """Does the kernel leave the memory at the address unchanged?"""
        leaves = list(_leaves(address))
        names = [name for leaf in leaves if (name := _path(leaf)) is not None]
        pointers = [name for name in names if name in self.memory.pointers or name.startswith("::")]
        if not pointers:  # members of what the kernel gets: which one is the pointer is not known
            if any(isinstance(leaf, OpaqueTerm) for leaf in leaves) or not any("." in name for name in names):
                return False
            pointers = [name for name in names if "." in name]
        return all(self.leaves_alone(name) for name in pointers)

    def lasts(self, address: Term) -> bool:
        """Does nothing that the kernel writes lead to the memory at the address, which it leaves unchanged?"""
        if not self.memory.written and not self.memory.volatile:
            return True
        names = {_path(leaf) for leaf in _leaves(address)} & self.memory.pointers
        return bool(names) and names <= self.memory.restricted

    def leaves_alone(self, name: str) -> bool:
        """Does the kernel leave the memory unchanged that a parameter, or a member of one, leads to?"""
        if name.startswith("::"):  # an array that is a constant of the file; a pointer ends in a star
            return not name.endswith("*")
        if name in self.memory.constant:
            return True
        whole = (name[:at] for at in range(1, len(name)) if name[at] in ".[")
        return name not in self.written and self.written.isdisjoint(whole)


def untouched(memory: GlobalMemory, assigned: Mapping[int, Sequence[ir.Value]]) -> Untouched:
    """``assigned``: everything that each variable ever gets."""
    written: set[str] = set(memory.volatile)
    stack = [(value, "") for value in memory.written]  # and the members that are asked of it
    seen: set[tuple[int, str]] = set()
    while stack:
        checkpoint()
        value, members = stack.pop()
        if isinstance(value, ir.Sym):
            written.add(value.name + members)
        elif isinstance(value, ir.Var):
            if (value.index, members) not in seen:
                seen.add((value.index, members))
                stack.extend((each, members) for each in assigned.get(value.index, ()))
        elif isinstance(value, ir.Op) and value.operator is Operator.MEMBER:
            inner = value.spelling + members if members.count(".") < _MAX_MEMBERS else ""
            stack.append((value.args[0], inner))
        elif isinstance(value, ir.Op) and value.operator is Operator.ELEMENT:
            stack.append((value.args[0], ""))  # any element
        elif isinstance(value, ir.Op) and value.operator in _KEEP:
            stack.extend((each, members) for each in value.args)
    return Untouched(memory, frozenset(written))


def _leaves(address: Term) -> Iterator[Term]:
    if isinstance(address, Op) and address.operator in ("+", "-", "?:"):
        for arg in address.args[1 if address.operator == "?:" else 0 :]:
            yield from _leaves(arg)
    else:
        yield address


def _path(term: Term) -> str | None:
    if isinstance(term, Op) and term.operator[0] == ".":
        inner = _path(term.args[0])
        return None if inner is None else inner + term.operator
    return term.name if isinstance(term, Sym) else None
