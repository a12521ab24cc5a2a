"""A call of the API: its arguments by what they mean to it."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.analysis.host.api import Api
from smem_lsp.analysis.host.frame import HostVariableAddress
from smem_lsp.analysis.host.model import Tokens
from smem_lsp.analysis.host.order import ResourceState, Value
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree


@dataclass(frozen=True, slots=True)
class ApiCall:
    """``values``: of the arguments, in order; ``place``: the tokens of the call. Positions are those of ``Api``."""

    expr: tree.Call
    name: str
    api: Api
    values: Sequence[Value | HostVariableAddress]
    place: Tokens

    @property
    def where(self) -> tree.Expr | None:
        """The stream in which it runs, as it is written."""
        return self.argument(self.api.stream)

    def argument(self, at: int | None) -> tree.Expr | None:
        number = self.number(at)
        return None if number is None else self.expr.arguments[number]

    def given(self, state: ResourceState, at: int | None) -> Value | HostVariableAddress:
        """The value of an argument; of an array the one of its elements, but where they are made."""
        number = self.number(at)
        value = None if number is None else self.values[number]
        if isinstance(value, HostVariableAddress) and value.variable.several and number != self.api.makes:
            return state.values.get(value.variable.number)
        return value

    def number(self, at: int | None) -> int | None:
        """The number of an argument, if the call has it."""
        if at is None:
            return None
        number = at + len(self.values) if at < 0 else at
        return number if 0 <= number < len(self.values) else None
