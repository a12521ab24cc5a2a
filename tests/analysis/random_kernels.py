"""Random region trees, and an interpreter that runs every thread of one block on its own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from smem_lsp.ir.global_memory import GlobalMemory
from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Assignment,
    Barrier,
    BarrierKind,
    Branch,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
)
from smem_lsp.ir.places import Row
from smem_lsp.ir.values import Const, Op, Sym, Thread, Unknown, Value, Var, operation
from smem_lsp.lowering.state.trip_count import count_trips
from smem_lsp.terms.operators import Operator, operator_of

DIMS = (8, 2, 1)
SYMBOLS = {"n": 3, "m": 7, "blockIdx.x": 5, "table": 1000, "in": 5000}
MEMORY = GlobalMemory(frozenset(("table", "in")), frozenset(("table",)), frozenset(("in",)))
VARIABLES = 5
MAX_TURNS = 14  # of one loop in one thread
_IN_LOOP = (JumpKind.BREAK, JumpKind.BREAK, JumpKind.CONTINUE, JumpKind.RETURN)
_BINARY = "+ + - * / % & | ^ < <= > == != && || min max << >>".split()

Turn = tuple[int, ...]  # iteration of each loop around, outermost first


class Undefined(Exception):
    """The run has no meaning: a division by zero, a loop without end."""


class Generator:
    """Builds one tree. Every loop ends soon in most runs; those in which one does not are not looked at."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.plain = self.random.random() < 0.6  # nothing that cannot be evaluated
        self.point = 0
        self.keys = 0
        self.size = 0

    def next_point(self) -> int:
        self.point += 1
        return self.point

    def kernel(self) -> Seq:
        items: list[Node] = [Assignment(self.next_point(), v, self.leaf()) for v in range(VARIABLES - 1)]
        return Seq((*items, *self.block(3, in_loop=False).items))

    def leaf(self) -> Value:
        kind = self.random.randrange(10)
        if self.plain and kind in (7, 8):
            kind = 9
        if kind < 3:
            return Const(self.random.choice((0, 1, 2, 3, 4, 8, 31)))
        if kind < 5:
            return Thread(self.random.choice("xxy"))
        if kind < 7:
            return self.random.choice((Sym("n"), Sym("m"), Sym("blockDim.x"), Sym("blockIdx.x")))
        self.keys += 1
        if kind == 7:
            return Unknown(self.keys, uniform=self.random.random() < 0.6)
        if kind == 8:
            return Op(
                Operator.LOAD,
                (Sym(self.random.choice(("table", "in"))), Var(self.random.randrange(VARIABLES))),
            )
        return Var(self.random.randrange(VARIABLES))

    def value(self, depth: int = 2) -> Value:
        kind = self.random.random()
        if depth == 0 or kind < 0.3:
            return self.leaf() if self.random.random() < 0.4 else Var(self.random.randrange(VARIABLES))
        if kind < 0.4:
            return operation(self.random.choice((Operator.NEGATE, Operator.NOT)), self.value(depth - 1))
        if kind < 0.5:
            return operation(
                Operator.CONDITIONAL, self.value(depth - 1), self.value(depth - 1), self.value(depth - 1)
            )
        operator = self.random.choice(_BINARY)
        right = self.value(depth - 1)
        if operator in ("<<", ">>", "/", "%") and self.random.random() < 0.9:
            right = Const(self.random.choice((1, 2, 3, 4)))
        return operation(operator_of(operator), self.value(depth - 1), right)

    def block(self, depth: int, *, in_loop: bool) -> Seq:
        return Seq(
            tuple(node for _ in range(self.random.randint(1, 4)) for node in self.node(depth, in_loop))
        )

    def node(self, depth: int, in_loop: bool) -> list[Node]:
        self.size += 1
        kind = self.random.random()
        if kind < 0.3 or (depth == 0 and kind < 0.5):
            return [Assignment(self.next_point(), self.random.randrange(VARIABLES), self.value())]
        if kind < 0.5 or depth == 0 or self.size > 40:
            return [self.access(self.value(1))]
        if kind < 0.58:
            return [Barrier(self.next_point(), BarrierKind.BLOCK, None, Row(self.point), "")]
        if kind < 0.68:
            choices = _IN_LOOP if in_loop else (JumpKind.RETURN,)
            change = Assignment(self.next_point(), self.random.randrange(VARIABLES), self.value())
            jump = Jump(self.next_point(), self.random.choice(choices), Row(self.point))
            arms = [Seq((change, jump)), Seq() if self.random.random() < 0.5 else self.block(0, in_loop=True)]
            self.random.shuffle(arms)
            return [Branch(self.next_point(), self.value(), arms[0], arms[1], None, Row(self.point))]
        if kind < 0.83:
            point = self.next_point()
            condition = self.value()
            then = self.block(depth - 1, in_loop=in_loop)
            otherwise = self.block(depth - 1, in_loop=in_loop) if self.random.random() < 0.5 else Seq()
            return [Branch(point, condition, then, otherwise, None, Row(point))]
        return self.loop(depth)

    def access(self, last: Value) -> Access:
        index = (self.value(), Var(self.random.randrange(VARIABLES)), last)
        return Access(self.next_point(), 0, AccessKind.READ, index, None, Row(self.point))

    def loop(self, depth: int) -> list[Node]:
        point = self.next_point()
        kind = self.random.randrange(6)
        if kind == 0:  # what a call becomes
            body = self.block(depth - 1, in_loop=True)
            loop = Loop(point, self.next_point(), 1, 1, Const(0), None, body, None, Row(point))
            return [loop, self.access(self.value(1))]
        counter = VARIABLES + point  # no other statement assigns it
        shared = self.random.random() < 0.25
        variable = self.random.randrange(VARIABLES) if shared else counter
        bound = self.random.choice((Const(3), Sym("n"), self.value(1)))
        start = self.random.choice((Const(0), Thread("x"), self.value(1)))
        initial: dict[int, Value] = {}
        if kind <= 2:
            condition = operation(
                self.random.choice((Operator.LESS, Operator.LESS_EQUAL)), Var(variable), bound
            )
            step = operation(Operator.ADD, Var(variable), self.random.choice((Const(1), Const(2), Sym("n"))))
        elif kind == 3:
            start, condition = Const(8), operation(Operator.GREATER, Var(variable), Const(0))
            step = operation(
                self.random.choice((Operator.DIVIDE, Operator.SHIFT_RIGHT)), Var(variable), Const(2)
            )
        elif kind == 4:
            start, condition = Const(1), operation(Operator.LESS, Var(variable), Const(9))
            step = operation(Operator.MULTIPLY, Var(variable), Const(2))
        else:
            start, condition = Const(1), operation(Operator.NOT_EQUAL, Var(variable), Const(0))
            step = operation(Operator.SUBTRACT, Const(1), Var(variable))
        before = Assignment(self.next_point(), variable, start)
        if isinstance(start, Const):
            initial[variable] = start
        body = self.block(depth - 1, in_loop=True)
        update = Assignment(self.next_point(), variable, step)
        whole = Seq((*body.items, update))
        if self.random.random() < 0.2:
            end = self.next_point()
            loop = Loop(point, end, 1, None, condition, None, whole, None, Row(point), tail=1, late=True)
        else:
            least, trips = count_trips(condition, [update], body.items, initial.get)
            loop = Loop(
                point, self.next_point(), least, trips, condition, None, whole, None, Row(point), tail=1
            )
        return [before, loop, self.access(Var(variable))]


@dataclass
class Trace:
    """What one thread did. ``values``: by point and turn; ``turns``: iterations of a loop."""

    indices: dict[tuple[int, Turn], tuple[int, ...]] = field(default_factory=dict)
    decisions: dict[tuple[int, Turn], bool] = field(default_factory=dict)
    turns: dict[tuple[int, Turn], int] = field(default_factory=dict)
    barriers: list[tuple[int, Turn]] = field(default_factory=list)
    returned: bool = False


class Interpreter:
    """One thread of the block."""

    def __init__(self, thread: int) -> None:
        x, y, _ = DIMS
        self.thread = thread
        self.coordinates = {"x": thread % x, "y": thread // x % y, "z": thread // (x * y)}
        self.env: dict[int, int] = {}
        self.trace = Trace()

    def run(self, body: Seq) -> Trace:
        self.trace.returned = self.seq(body.items, ()) is JumpKind.RETURN
        return self.trace

    def seq(self, items: tuple[Node, ...], turn: Turn) -> JumpKind | None:
        """The kind of the jump that ended it."""
        for node in items:
            left: JumpKind | None = None
            if isinstance(node, Assignment):
                self.env[node.variable] = self.value(node.value, turn)
            elif isinstance(node, Access):
                assert node.index is not None
                found = tuple(self.value(value, turn) for value in node.index)
                self.trace.indices[node.point, turn] = found
            elif isinstance(node, Barrier):
                self.trace.barriers.append((node.point, turn))
            elif isinstance(node, Branch):
                taken = bool(self.value(node.condition, turn))
                self.trace.decisions[node.point, turn] = taken
                left = self.seq((node.then if taken else node.otherwise).items, turn)
            elif isinstance(node, Loop):
                left = self.loop(node, turn)
            elif isinstance(node, Jump):
                left = node.kind
            if left is not None:
                return left
        return None

    def loop(self, node: Loop, turn: Turn) -> JumpKind | None:
        if node.trips == 1 and node.condition == Const(0):
            left = self.seq(node.body.items, turn)
            return left if left is JumpKind.RETURN else None
        count = 0
        while (node.late and count == 0) or self.value(node.condition, (*turn, count)):
            if count >= MAX_TURNS:
                raise Undefined
            inside = (*turn, count)
            if node.trips == 1:
                inside = turn
            count += 1
            head = len(node.body) - node.tail
            left = self.seq(node.body.items[:head], inside)
            if left in (JumpKind.RETURN, JumpKind.BREAK):
                self.trace.turns[node.point, turn] = count
                return left if left is JumpKind.RETURN else None
            self.seq(node.body.items[head:], inside)
        self.trace.turns[node.point, turn] = count
        return None

    def value(self, value: Value, turn: Turn) -> int:
        if isinstance(value, Const):
            return value.n
        if isinstance(value, Thread):
            return self.coordinates[value.axis]
        if isinstance(value, Sym):
            return DIMS[0] if value.name == "blockDim.x" else SYMBOLS[value.name]
        if isinstance(value, Var):
            return self.env.get(value.index, 0)
        if isinstance(value, Unknown):
            return self._made_up(value.key, turn, None if value.uniform else self.thread)
        assert isinstance(value, Op)
        if value.operator is Operator.LOAD:
            address = tuple(self.value(arg, turn) for arg in value.args)
            return self._made_up(address, () if address[0] == SYMBOLS["table"] else (self.thread,))
        return self._operation(value, turn)

    @staticmethod
    def _made_up(*what: object) -> int:
        return random.Random(repr(what)).randrange(6)

    def _operation(self, value: Op, turn: Turn) -> int:
        name, args = value.operator.spelling, value.args
        first = self.value(args[0], turn)
        if name == "?:":
            return self.value(args[1] if first else args[2], turn)
        if name == "&&":
            return int(bool(first) and bool(self.value(args[1], turn)))
        if name == "||":
            return int(bool(first) or bool(self.value(args[1], turn)))
        if len(args) == 1:
            return -first if name == "neg" else int(not first)
        return _binary(name, first, self.value(args[1], turn))


def _binary(name: str, a: int, b: int) -> int:
    if name in ("/", "%"):
        if b == 0:
            raise Undefined
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if name == "/" else a - quotient * b
    if name in ("<<", ">>"):
        if not 0 <= b <= 63:
            raise Undefined
        return a << b if name == "<<" else a >> b
    if abs(a) > 1 << 60 or abs(b) > 1 << 60:
        raise Undefined  # counters that grow without end
    simple = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b, "min": min(a, b)}
    compared = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}
    if name == "max":
        return max(a, b)
    return simple[name] if name in simple else int(compared[name])


def run(body: Seq) -> list[Trace]:
    """The traces of all threads. Raises Undefined."""
    return [Interpreter(thread).run(body) for thread in range(DIMS[0] * DIMS[1] * DIMS[2])]


def paths(seq: Seq, loops: tuple[Loop, ...] = ()) -> Iterator[tuple[Node, tuple[Loop, ...]]]:
    """All nodes with the loops around them that are counted in a turn."""
    for node in seq.items:
        yield node, loops
        if isinstance(node, Branch):
            yield from paths(node.then, loops)
            yield from paths(node.otherwise, loops)
        elif isinstance(node, Loop):
            yield from paths(node.body, loops if node.trips == 1 else (*loops, node))
