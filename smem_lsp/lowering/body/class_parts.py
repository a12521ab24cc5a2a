"""What a class in sight is made of: data members and methods."""

from __future__ import annotations

from smem_lsp.elaborate.call_sites import Callee
from smem_lsp.elaborate.out_of_line import arguments_of_class
from smem_lsp.elaborate.special_members import class_name
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import (
    Pointer,
    Record,
    Reference,
    Type,
    plain_type,
)
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function


@dataclass(frozen=True, slots=True)
class Field:
    """A data member, as the class that it stands in declares it."""

    name: str
    declaration: tree.Declaration
    declarator: tree.Declarator
    type: Type | None
    home: Scope
    where: tuple[int, int]  # its declaration, among the tokens of the class

    @property
    def reference(self) -> bool:
        """Also ``T a;`` where ``T`` is ``int&``."""
        return isinstance(self.type, Reference) or bool({"&", "&&"} & set(self.declarator.pointers))

    @property
    def indirect(self) -> bool:
        """Is it a pointer or a reference?"""
        return self.reference or self.pointer or bool(self.declarator.pointers)

    @property
    def pointer(self) -> bool:
        """Also ``T a;`` where ``T`` is ``int*``."""
        return "*" in self.declarator.pointers or isinstance(plain_type(self.type), Pointer)


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a class, and the class that declares it."""

    function: Function
    record: Record

    @property
    def callee(self) -> Callee:
        outside = self.function.enclosing[-1:] != (class_name(self.record),)
        arguments = arguments_of_class(self.record, self.function) if outside else ()
        return Callee(self.function, self.record.scope, arguments or None)
