"""The statement tree of a function body and the expression trees of its chunks.

``lo`` and ``hi`` are half-open token indices: absolute in statements, relative to the chunk in the nodes of a chunk
(equal spellings share one memoised chunk tree).
Nodes are immutable by convention; they are not frozen because their creation is on the hot path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, TypeVar, get_args

from smem_lsp.source import checkpoint
from smem_lsp.source.budget import pause
from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass

# ---- expressions -----------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Name:
    """A name, perhaps qualified. ``text`` omits template arguments; ``templated``: there were some; ``arguments``:
    the template arguments of each segment of a qualified or templated name, None for a segment without."""

    lo: int
    hi: int
    text: str
    templated: bool = False
    arguments: list[list[Expr] | None] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Number:
    """A number, character or boolean literal, or ``nullptr``."""

    lo: int
    hi: int
    text: str

    @property
    def suffix(self) -> str:
        """The name of the literal operator that makes a value of it ([lex.ext]); "": none does."""
        quoted = self.text.rfind("'") + 1 if not self.text[0].isdigit() else 0
        found = self.text.find("_", quoted)
        return "" if found < 0 else self.text[found:]


@dataclass(slots=True, eq=False)
class String:
    """``characters``: how many, without the 0 behind the last one; ``suffix``: of a literal operator."""

    lo: int
    hi: int
    characters: int = 0
    suffix: str = ""


@dataclass(slots=True, eq=False)
class Unary:
    lo: int
    hi: int
    operator: str
    operand: Expr


@dataclass(slots=True, eq=False)
class PostfixStep:
    """``x++`` and ``x--``."""

    lo: int
    hi: int
    operator: str
    operand: Expr


@dataclass(slots=True, eq=False)
class Binary:
    lo: int
    hi: int
    operator: str
    left: Expr
    right: Expr


@dataclass(slots=True, eq=False)
class Assign:
    lo: int
    hi: int
    operator: str
    target: Expr
    value: Expr


@dataclass(slots=True, eq=False)
class Ternary:
    lo: int
    hi: int
    condition: Expr
    yes: Expr
    no: Expr


@dataclass(slots=True, eq=False)
class Call:
    lo: int
    hi: int
    callee: Expr
    arguments: list[Expr]


@dataclass(slots=True, eq=False)
class Launch:
    lo: int
    hi: int
    callee: Expr
    configuration: list[Expr]
    arguments: list[Expr]


@dataclass(slots=True, eq=False)
class Index:
    lo: int
    hi: int
    base: Expr
    index: Expr


@dataclass(slots=True, eq=False)
class Member:
    lo: int
    hi: int
    base: Expr
    operator: str  # ".", "->", ".*" or "->*"
    name: str
    arguments: list[Expr] | None = None  # template arguments of the last segment


@dataclass(slots=True, eq=False)
class Cast:
    """C cast, named cast or ``T(x)``. ``style``: "c", the cast's keyword, or "functional"; ``listed``: what stands in
    the braces of ``T{x}``."""

    lo: int
    hi: int
    style: str
    type: TypeId
    operand: Expr
    listed: Braces | None = None


@dataclass(slots=True, eq=False)
class SizeOf:
    """``sizeof``, ``alignof`` or ``noexcept`` of a type or an unevaluated expression."""

    lo: int
    hi: int
    operator: str
    type: TypeId | None
    operand: Expr | None


@dataclass(slots=True, eq=False)
class Braces:
    """``names``: what is in front of each item, without the first ``.`` and the ``=``: "x" of ``.x = 1``, "[3]", and ""
    of one without a designator; none where no item has one."""

    lo: int
    hi: int
    items: list[Expr]
    names: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Lambda:
    """``captures``, ``parameters`` and ``body``: token ranges without their brackets."""

    lo: int
    hi: int
    captures: tuple[int, int]
    parameters: tuple[int, int] | None
    body: tuple[int, int]


@dataclass(slots=True, eq=False)
class Decltype:
    """``decltype(e)``, or as ``word`` has it ``typeof(e)``. ``alone``: there are no parentheses around ``e``."""

    lo: int
    hi: int
    word: str
    operand: Expr
    alone: bool


@dataclass(slots=True, eq=False)
class TypeId:
    """``words``: specifiers as spelled; ``pointers``: ``*`` and ``&``; ``dims``: array dimensions; ``names``: the
    words that are names, with their template arguments."""

    lo: int
    hi: int
    words: list[str]
    pointers: list[str]
    dims: list[Expr | None]
    names: list[Name] = field(default_factory=list)
    core: tuple[int, int] = (0, 0)  # as in Declarator; a function's "()" among the pointers does not count
    decltype: Decltype | None = None  # the word that is one


OpaqueKind = Literal["new", "delete", "pack", "range", "statement-expression", "throw"]


@dataclass(slots=True, eq=False)
class Opaque:
    """An expression whose operands alone matter: new, delete, throw, pack expansion, statement expression, range
    of ``case`` values."""

    lo: int
    hi: int
    kind: OpaqueKind
    operands: list[Expr]


Expr = (
    Name
    | Number
    | String
    | Unary
    | PostfixStep
    | Binary
    | Assign
    | Ternary
    | Call
    | Launch
    | Index
    | Member
    | Cast
    | SizeOf
    | Braces
    | Lambda
    | TypeId
    | Opaque
)

# ---- declarations ----------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Declarator:
    lo: int
    hi: int  # after the last suffix, before the initializer
    name: str  # "" when there is none
    name_at: int  # token index of the name
    pointers: list[str]  # "*", "&", "const" in order
    dims: list[Expr | None]  # None: empty brackets
    dim_spans: list[tuple[int, int]]  # token ranges between the brackets
    function: bool
    nested: bool  # parenthesised: `(*p)[4]`
    initializer: Expr | None
    style: str  # how it is initialised: "", "=", "(", "{"
    bindings: list[str] = field(default_factory=list)
    width: Expr | None = None  # of a bit-field, in bits
    # (p, d): the innermost parentheses apply the last p pointers and the first d dimensions to the name first
    core: tuple[int, int] = (0, 0)


@dataclass(slots=True, eq=False)
class Declaration:
    lo: int
    hi: int
    words: list[str]  # specifiers as spelled, attributes left out
    declarators: list[Declarator]
    declarators_at: int  # token index where the first declarator starts
    names: list[Name] = field(default_factory=list)  # the words that are names
    decltype: Decltype | None = None  # the word that is one


@dataclass(slots=True, eq=False)
class ForHead:
    lo: int
    hi: int
    init: Expr | Declaration | None
    condition: Expr | Declaration | None
    step: Expr | None


@dataclass(slots=True, eq=False)
class RangeFor:
    lo: int
    hi: int
    declaration: Declaration
    range: Expr
    init: Expr | Declaration | None = None


@dataclass(slots=True, eq=False)
class ConditionWithInit:
    """``if (init; condition)``."""

    lo: int
    hi: int
    init: Expr | Declaration | None
    condition: Expr | Declaration


def value_start(kinds: Sequence[str], chunk: tuple[int, int]) -> str:
    """The start rule for the value of a ``return``: a braced list is not an expression."""
    return "initializer" if kinds[chunk[0]] == "LC" else "expression"


Chunk = Expr | Declaration | ForHead | RangeFor | ConditionWithInit | list[Declaration]


def uncast(expr: Expr | None) -> Expr | None:
    """What is cast."""
    while isinstance(expr, Cast):
        expr = expr.operand
    return expr


def nodes_of(root: Chunk | Expr) -> Sequence[Any]:
    """The nodes of a chunk in pre-order, those of lambdas and of ``decltype`` left out."""
    return tuple(_nodes(root)) if isinstance(root, list) else _nodes_of(root)


@remembered(most=4096)  # a chunk is asked about on each path, and in each turn of a loop
def _nodes_of(root: Any) -> Sequence[Any]:
    return tuple(_nodes(root))


def _nodes(root: Any) -> Iterator[Any]:
    stack = [] if type(root) in _LEAVES else [root]
    while stack:
        pause()
        node = stack.pop()
        if isinstance(node, (list, tuple)):
            stack += [each for each in reversed(node) if type(each) not in _LEAVES]
            continue
        yield node
        if not isinstance(node, Lambda | Decltype):
            parts = [getattr(node, slot) for slot in reversed(getattr(node, "__slots__", ()))]
            stack += [each for each in parts if type(each) not in _LEAVES]


_LEAVES = frozenset((int, str, bool, type(None)))


# ---- statements ------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Block:
    lo: int
    hi: int
    statements: list[Statement]


@dataclass(slots=True, eq=False)
class ExpressionStatement:
    lo: int
    hi: int
    chunk: tuple[int, int]


@dataclass(slots=True, eq=False)
class DeclarationStatement:
    lo: int
    hi: int
    chunk: tuple[int, int]


@dataclass(slots=True, eq=False)
class If:
    lo: int
    hi: int
    condition: tuple[int, int]
    then: Statement
    otherwise: Statement | None
    constexpr: bool


@dataclass(slots=True, eq=False)
class For:
    lo: int
    hi: int
    head: tuple[int, int]
    body: Statement


@dataclass(slots=True, eq=False)
class While:
    lo: int
    hi: int
    condition: tuple[int, int]
    body: Statement


@dataclass(slots=True, eq=False)
class DoWhile:
    lo: int
    hi: int
    condition: tuple[int, int]
    body: Statement


@dataclass(slots=True, eq=False)
class Switch:
    lo: int
    hi: int
    condition: tuple[int, int]
    body: Statement


@dataclass(slots=True, eq=False)
class CaseLabel:
    """``case x:`` (chunk) or ``default:`` (None)."""

    lo: int
    hi: int
    chunk: tuple[int, int] | None


@dataclass(slots=True, eq=False)
class Label:
    lo: int
    hi: int
    name: str


@dataclass(slots=True, eq=False)
class JumpStatement:
    """``break``, ``continue``, ``return`` (with its value's chunk) or ``goto``."""

    lo: int
    hi: int
    kind: str
    chunk: tuple[int, int] | None


@dataclass(slots=True, eq=False)
class AsmStatement:
    lo: int
    hi: int
    chunk: tuple[int, int]


@dataclass(slots=True, eq=False)
class MacroStatement:
    """An unknown macro without ``;``: ``UNROLL``, ``CHECK(x)``, or ``LOOP(i, n)`` with the block after it.
    ``chunk``: the macro's own tokens."""

    lo: int
    hi: int
    name: str
    chunk: tuple[int, int]
    body: Statement | None


@dataclass(slots=True, eq=False)
class Empty:
    """``;`` alone, or a using or static_assert declaration."""

    lo: int
    hi: int


@dataclass(slots=True, eq=False)
class Bad:
    """Does not parse."""

    lo: int
    hi: int


@dataclass(slots=True, eq=False)
class Try:
    lo: int
    hi: int
    blocks: list[Statement]


Statement = (
    Block
    | ExpressionStatement
    | DeclarationStatement
    | If
    | For
    | While
    | DoWhile
    | Switch
    | CaseLabel
    | Label
    | JumpStatement
    | AsmStatement
    | MacroStatement
    | Empty
    | Bad
    | Try
)


def inside(node: Statement) -> Sequence[Statement]:
    """The statements that are a part of one, in the order of the text."""
    match node:
        case Block():
            return node.statements
        case If():
            return (node.then,) if node.otherwise is None else (node.then, node.otherwise)
        case For() | While() | DoWhile() | Switch():
            return (node.body,)
        case MacroStatement():
            return () if node.body is None else (node.body,)
        case Try():
            return node.blocks
    return ()


def chunk_of(node: Statement, kinds: Sequence[str]) -> tuple[str, tuple[int, int]] | None:
    """What a statement holds beside others in it: what it is read as, and its tokens. ``kinds``: of the body."""
    match node:
        case ExpressionStatement():
            return "expression", node.chunk
        case DeclarationStatement():
            return "declaration", node.chunk
        case If() | While() | DoWhile() | Switch():
            return "condition", node.condition
        case For():
            return "for_head", node.head
        case JumpStatement() if node.chunk is not None:
            return value_start(kinds, node.chunk), node.chunk
    return None


def nested_labels(node: Switch) -> Iterator[CaseLabel]:
    """The labels of a switch inside of other statements of its body, whether or not these run ([stmt.switch]/5,
    [stmt.label]): to them a thread jumps past all that stands in front."""
    body = node.body.statements if isinstance(node.body, Block) else [node.body]
    waiting = [part for item in body for part in inside(item) if not isinstance(item, Switch)]
    while waiting:
        checkpoint()
        each = waiting.pop()
        if isinstance(each, CaseLabel):
            yield each
        elif not isinstance(each, Switch):
            waiting += inside(each)


Kind = TypeVar("Kind")
Meaning = TypeVar("Meaning")


def total(kinds: object, meanings: Mapping[Kind, Meaning]) -> Mapping[Kind, Meaning]:
    """``meanings``, one for each member of a union or literal type. Raises TypeError where one has none: nothing that a
    grammar reads is passed over because a reader does not know of it."""
    wanted = frozenset(get_args(kinds))
    if wanted != meanings.keys():
        names = sorted(str(getattr(each, "__name__", each)) for each in wanted ^ meanings.keys())
        raise TypeError(f"these have no meaning, or are no kind: {', '.join(names)}")
    return meanings
