"""What a name means inside a function body."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import field, replace

from smem_lsp.ir.values import Value
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics.entities import Argument, Functions, TypedConstant, is_open
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Record, Reference, Type, qualified
from smem_lsp.source import record
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.parse import Function


@record
class BufferName:
    """A declared shared object."""

    buffer: int


@record
class Fragment:
    """What a fragment of a matrix holds. ``element``: bytes; ``layout``: "row_major", "col_major", or "" where the
    call says it."""

    rows: int
    columns: int
    element: int
    layout: str


@record
class Variable:
    """A local variable or parameter. ``array``: how many dimensions it has; ``exact``: it keeps every integer that is
    assigned to it (not a float, not narrower than 32 bits)."""

    index: int
    array: int = 0
    exact: bool = True
    plain: bool = True  # a number, a vector or a pointer: no constructor and no operator of its own
    element: int | None = None  # bytes of what it points to; None: what is assigned decides
    shape: tuple[int | None, ...] = ()  # the dimensions of what it points to
    kind: Type | None = None  # type of an element of what it points to
    constant: bool = False  # declared const: whoever gets a reference to it does not change it
    of_class: str = ""  # the class as it is named, template arguments left out, where it is an object of one
    fragment: Fragment | None = None
    numbers: tuple[int, ...] = ()  # elements of an array that is declared const, if all of them are known
    own: bool = False  # memory of its thread alone, that holds no addresses
    # a reference to memory that is not followed: the variable that has the address
    bound: int | None = None
    only_read: bool = False  # it is a reference to what is const
    type: Type | None = (
        None  # of the number that it holds, or each of its elements; None: no number, or not known
    )
    seen_as: Record | None = None  # the class that an object has here: its own, or a base of it


@record
class View:
    """A reference to a whole buffer: ``float (&v)[N] = a``, ``auto& v = a``."""

    target: Ref


class GroupKind(enum.Enum):
    """Which threads a cooperative group is made of (CUDA C++ programming guide, "Group Types")."""

    BLOCK = enum.auto()
    WARP = enum.auto()  # lanes of one warp
    TILE = enum.auto()  # whole warps that stand together
    GRID = enum.auto()
    CLUSTER = enum.auto()
    OTHER = enum.auto()  # threads that are not known


@record
class Group:
    """A cooperative group handle. ``size``: threads of a tile that is cut out of the block, or out of a tile of
    ``parent`` threads; ``label``: it is of those threads of a tile of ``parent`` lanes that have one value of it."""

    kind: GroupKind
    size: int | None = None
    parent: int | None = None
    label: Value | None = None


@record
class LambdaType:
    """The type of a lambda, which no other one has ([expr.prim.lambda.closure]/1). ``at``: its first token in the body
    of a function; ``instance``: the template arguments there."""

    definition: Definition
    at: int
    instance: tuple[Told, ...]


Told = Argument | LambdaType | int  # what tells instances of a template apart


@record
class Closure:
    """A lambda; ``base``: what its token ranges are relative to in the body of ``function``; ``copies``: what it has
    captured by copy; ``references``: what its body or a capture names and would have by reference; ``instance``: the
    template arguments that its static arrays belong to; ``ending``: objects of its own whose destructors run code,
    where no block ends them."""

    node: tree.Lambda
    base: int
    scope: LocalScope
    function: Function
    copies: frozenset[str] = frozenset()
    references: frozenset[str] = frozenset()
    instance: tuple[Told, ...] = ()
    ending: tuple[Ending, ...] = ()

    @property
    def type(self) -> LambdaType | None:
        """Its type; None: which instance of its function makes it is not known."""
        if any(is_open(each) for each in self.instance if not isinstance(each, int | LambdaType)):
            return None
        return LambdaType(self.function.definition, self.base + self.node.lo, self.instance)


@dataclass(frozen=True, slots=True)
class Address:
    """A pointer to a local variable that always points there."""

    variable: Variable


@dataclass(frozen=True, slots=True)
class This:
    """``this`` in a method of ``record``: of a local object, or of one in shared memory. ``constant``: the method is
    ``const``."""

    record: Record
    target: Variable | Ref
    constant: bool = False


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function as a value that stays the same: ``auto f = g;``, a parameter that got ``g``. ``member``: it is one of
    a class, which is called through a pointer to members; ``certain``: it is known which of the functions it is."""

    functions: Functions
    member: bool = False
    certain: bool = True


Meaning = BufferName | Variable | View | Group | Closure | Address | This | FunctionValue


@dataclass(frozen=True, slots=True)
class LocalObject:
    """An object of a class whose members are variables of their own; a reference among them is what it is bound to."""

    record: Record
    members: dict[str, Meaning]


@dataclass(frozen=True, eq=False, slots=True)
class Around:
    """What a name means that no block declares, if it is shared memory. ``constants``: the scope that it is looked up
    in."""

    constants: Scope
    look_up: Callable[[str], BufferName | None]


class Boundary(enum.Enum):
    """What a scope is around, which jumps leave or do not leave: the whole of a loop, a switch, or a function."""

    LOOP = enum.auto()
    SWITCH = enum.auto()
    FUNCTION = enum.auto()


@dataclass(frozen=True, slots=True)
class Ending:
    """An object whose destructor runs code. ``base`` and ``at``: the expression that it is made by, and the chunk."""

    variable: Variable
    record: Record
    base: int
    at: tree.Expr


@dataclass
class LocalScope:
    """Names of one block; lookups go outwards. ``ending``: objects that end with the block, in the order in which they
    came into being."""

    parent: LocalScope | None = None
    names: dict[str, Meaning] = field(default_factory=dict)
    constants: Scope | None = None
    around: Around | None = None
    boundary: Boundary | None = None
    ending: list[Ending] = field(default_factory=list)

    def lookup(self, name: str) -> Meaning | None:
        around: Around | None = None
        scope: LocalScope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            around = around or scope.around
            scope = scope.parent
        return None if around is None else around.look_up(name)

    def outwards(self) -> Iterator[LocalScope]:
        scope: LocalScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def owner(self, name: str) -> LocalScope | None:
        """The block, or the parameters, of this very function that declares an object of that name; None: it is
        declared elsewhere, or as a reference."""
        for each in self.outwards():
            if name in each.names:
                known = None if each.constants is None else each.constants.bound.get(name)
                reference = isinstance(known, TypedConstant) and isinstance(known.type, Reference)
                return None if reference else each
            if each.boundary is Boundary.FUNCTION:
                break
        return None

    def naming(self, name: str, variable: Variable, record: Record, *, constant: bool) -> LocalScope:
        """A scope in this one where a name means an object of a class, or a base of one, that is ``const`` or not."""
        inner = LocalScope(self, {name: replace(variable, seen_as=record)})
        inner.declare_constants().declare(name, TypedConstant(qualified(record, constant=constant)))
        return inner

    def constant_scope(self) -> Scope:
        scope: LocalScope | None = self
        while scope is not None:
            if scope.constants is not None:
                return scope.constants
            scope = scope.parent
        raise LookupError("the outermost scope has no constants")

    def declare_constants(self) -> Scope:
        """The constants of this very block, made when needed."""
        if self.constants is None:
            self.constants = self.constant_scope().child()
        return self.constants
