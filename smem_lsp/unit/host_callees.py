"""The functions that a walk of host code may enter, and those that it only knows by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial

from smem_lsp.semantics.scope import Scope
from smem_lsp.source.queries import Query, Store, remembered
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.host_functions import declared, is_of_library
from smem_lsp.syntax.parse import Body, Function
from smem_lsp.syntax.stubs import Stub
from smem_lsp.targets.dialects import DIALECTS, names_in_cuda
from smem_lsp.unit.host_frames import Traits
from smem_lsp.unit.kernel_tables import KernelTable
from smem_lsp.unit.outside_calls import ExternalFunction
from smem_lsp.unit.size_functions import filled

_KEEPING = ("launch", "callback")


@remembered(most=4096)
def known_function(name: str) -> Stub | None:
    """What is declared of a function of a library, whose name may be that of any dialect."""
    return declared(name, *(each for dialect in DIALECTS for each in names_in_cuda(name, dialect)))


def asks_only(name: str) -> bool:
    """Is it a function of the API that keeps no address of what it gets?"""
    found = known_function(name)
    return found is not None and not is_of_library(found) and found.argument("model") not in _KEEPING


@dataclass(frozen=True)
class Callees:
    """The host functions that a walk may enter, by name, each with its number. ``leading``: they lead to launches;
    ``valued``: they return a number or a ``dim3``; ``by_value``: see ``Traits``;
    ``kernels``: kernels of the unit; ``bounded``: those with launch bounds; ``overloads``: those that share names;
    ``tables``: lists of kernels at namespace scope; ``outside``: functions of other files whose calls are wanted;
    ``store``: of the same unit, for the traits of what walks enter again and again."""

    top: Scope
    leading: Mapping[str, Sequence[tuple[int, Function]]]
    valued: Mapping[str, Sequence[tuple[int, Function]]]
    by_value: Mapping[str, frozenset[int]]
    kernels: frozenset[str]
    bounded: frozenset[str]
    overloads: Mapping[str, Sequence[Function]]
    tables: Mapping[str, KernelTable]
    outside: Mapping[str, ExternalFunction]
    store: Store

    def overloaded(self, name: str) -> Sequence[tuple[int, Function]]:
        """The functions of this name that a walk may enter."""
        return (*self.leading.get(name, ()), *self.valued.get(name, ()))

    @cached_property
    def filling(self) -> frozenset[str]:
        """Functions that store numbers in their arguments."""
        groups = self.valued.items()
        return frozenset(name for name, group in groups if any(filled(function) for _, function in group))

    def traits_of(self, watched: frozenset[str], body: Body, wanted: frozenset[str]) -> Traits:
        work = partial(Traits.of, body, watched, self.by_value, wanted)
        return _TRAITS.once(self.store, (body, watched, wanted), work)


_TRAITS = Query[tuple[Body, frozenset[str], frozenset[str]], Traits]("which variables of a body matter")
