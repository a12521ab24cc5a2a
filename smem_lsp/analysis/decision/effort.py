"""What a question may cost, in the solver's own units."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from smem_lsp.source.budget import spend, uncounted

OF_A_UNIT = 2  # effort that counts as a unit of work, with what is done around the solver

TO_PROVE = 200_000  # effort of a proof
EFFORT = 60_000
OF_MANY = 30_000  # of a proof for many ways at once
AT_FIRST = 8_000  # effort of a question before it is put otherwise
TO_ASK = 1_000  # effort of putting a question


class _Spender(Protocol):
    effort: int


def count(effort: int) -> None:
    """The solver was asked: count that as work. Raises OutOfBudget or Superseded."""
    if effort > 0:
        spend(effort // OF_A_UNIT)


@contextmanager
def by_effort(of: _Spender) -> Iterator[None]:
    """Inside, work counts by the effort that it takes from ``of`` and by nothing else: an answer that is remembered
    takes as much as one that is found."""
    before = of.effort
    with uncounted():
        yield
    count(before - of.effort)
