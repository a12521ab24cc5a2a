"""Random small kernels, racy and race-free, as CUDA and as Python.

A kernel is a pattern of the field (a reduction, a scan, a ring, a tile) or free statements; then barriers are taken
away, and statements put in. Nothing is done to make it right.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .patterns import FEEDING, PATTERNS, Writer, sync
from .running import Array, Launch
from .written import (
    LINE,
    Block,
    Expr,
    Line,
    Node,
    Written,
    binary,
    cast,
    conditional,
    const,
    converted,
    every_list,
    lesser,
    name,
    negation,
)

_BYTES = {"int": 4, "unsigned": 4, "float": 4, "short": 2, "unsigned char": 1, "double": 8}
_FLAT = ((64, 1, 1), (64, 1, 1), (32, 1, 1), (33, 1, 1), (48, 1, 1), (16, 1, 1))
_DEEP = ((8, 8, 1), (16, 4, 1), (32, 2, 1), (4, 3, 1), (2, 32, 1), (8, 4, 2))
_ANY_FLAT = ((64, 1, 1), (33, 1, 1), (32, 1, 1), (7, 1, 1), (2, 1, 1), (48, 1, 1), (63, 1, 1))
_ANY_DEEP = ((8, 8, 1), (4, 3, 1), (1, 8, 1), (32, 2, 1), (16, 4, 1), (5, 7, 1))
_SMALL = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 48, 63, 64, 65, 100, 1000)
_NEGATIVE = (-1, -3, -64)


@dataclass(frozen=True, slots=True)
class Program:
    """``shapes``: blocks that may be launched; ``named``: the text launches the first of them, with ``fixed``
    arguments and ``grid`` blocks, or any number if that is 0; ``by_argument``: n is the number of threads; ``feeds``:
    what is read from shared memory decides what threads do."""

    text: str
    python: str
    arrays: tuple[Array, ...]
    shapes: tuple[tuple[int, int, int], ...]
    named: bool
    fixed: dict[str, int]
    by_argument: bool
    types: dict[str, str]
    uses_grid: bool
    grid: int
    feeds: bool

    def launches(self, chance: random.Random, count: int) -> Iterator[Launch]:
        """Some that the program may make."""
        for number in range(count):
            shape = self.shapes[0] if number % 3 == 0 else chance.choice(self.shapes)
            threads = shape[0] * shape[1] * shape[2]
            given = {}
            for parameter, type_ in self.types.items():
                if parameter in self.fixed:
                    given[parameter] = self.fixed[parameter]
                    continue
                small = (*_SMALL, threads, threads, threads // 2, 2 * threads)
                given[parameter] = chance.choice(small if type_ == "unsigned" else (*small, *_NEGATIVE))
            if self.by_argument:
                given["n"] = threads
            grid = self.grid or chance.choice((1, 2, 5, 12, 40))
            block = chance.randrange(grid) if self.uses_grid else 0
            yield Launch(shape, given, chance.randrange(1 << 20), block, grid)


@dataclass(slots=True)
class _Variable:
    value: Expr
    counter: bool = False  # of a loop
    agreed: bool = False  # the same for all threads, perhaps


@dataclass(slots=True)
class _Shared:
    array: Array
    columns: int = 0  # of a row, of a 2-D array


@dataclass(slots=True)
class Generator:
    seed: int
    chance: random.Random = field(init=False)
    deep: bool = False
    threads: int = 64
    arrays: list[_Shared] = field(default_factory=list)
    variables: list[_Variable] = field(default_factory=list)
    types: dict[str, str] = field(default_factory=dict)
    helpers: list[tuple[str, list[Node], str, str]] = field(default_factory=list)
    uses_grid: bool = False
    feeds: bool = False
    written: int = 0
    most: int = 6  # accesses, about
    names: int = 0
    barriers: float = 0.3
    size: Expr = field(default_factory=lambda: name("blockDim.x", "unsigned"))
    tid: Expr = field(default_factory=lambda: name("tid"))
    template: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def count_with(self, counter: Expr) -> None:
        """A loop's counter, for expressions to use."""
        self.variables.append(_Variable(counter, counter=True, agreed=True))

    # ---- expressions -----------------------------------------------------------------------------------------------

    def fresh(self, prefix: str = "v") -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def number(self) -> Expr:
        numbers = (0, 1, 1, 2, 2, 3, 4, 4, 8, 16, 31, 32, 33, 63, self.threads, self.threads // 2)
        unsigned = self.chance.random() < 0.1
        return const(self.chance.choice(numbers), "unsigned" if unsigned else "int")

    def thread(self) -> Expr:
        chance = self.chance
        if self.deep and chance.random() < 0.6:
            return name(chance.choice(("threadIdx.x", "threadIdx.y", "threadIdx.x")), "unsigned")
        return self.tid

    def agreed(self) -> Expr:
        """What all threads agree on, mostly."""
        chance = self.chance
        kind = chance.random()
        if kind < 0.3:
            return self.number()
        if kind < 0.6 and self.types:
            parameter = chance.choice(list(self.types))
            return name(parameter, self.types[parameter])
        if kind < 0.7:
            return self.size
        if kind < 0.75 and self.template:
            return name("N")
        if kind < 0.8:
            self.uses_grid = True
            return name(chance.choice(("blockIdx.x", "gridDim.x")), "unsigned")
        chosen = [each for each in self.variables if each.agreed or each.counter]
        return chance.choice(chosen).value if chosen else self.number()

    def atom(self) -> Expr:
        chance = self.chance
        kind = chance.random()
        if kind < 0.45:
            return self.thread()
        if kind < 0.6 and self.variables:
            return chance.choice(self.variables).value
        return self.agreed()

    def expression(self, depth: int = 2) -> Expr:
        chance = self.chance
        if depth == 0 or chance.random() < 0.25:
            return self.atom()
        kind = chance.random()
        if kind < 0.45:
            return binary(chance.choice("++++--"), self.expression(depth - 1), self.atom())
        if kind < 0.55:
            return binary("*", self.expression(depth - 1), self.agreed())
        if kind < 0.72:
            by = const(chance.choice((2, 2, 3, 4, 4, 5, 8, 16, 32, 64)))
            if chance.random() < 0.15:
                by = self.agreed()
            return binary(chance.choice("/%%"), self.expression(depth - 1), by)
        if kind < 0.8:
            return binary(
                chance.choice(("<<", ">>", ">>")), self.expression(depth - 1), const(chance.randrange(6))
            )
        if kind < 0.9:
            mask = const(chance.choice((1, 2, 3, 7, 15, 31, 63, 32, 16, 21)))
            if chance.random() < 0.2:
                mask = self.atom()
            return binary(chance.choice("&&^^|"), self.expression(depth - 1), mask)
        if kind < 0.95:
            return lesser(chance.choice(("min", "max")), self.expression(depth - 1), self.atom())
        if kind < 0.97:
            return cast(
                self.expression(depth - 1), chance.choice(("unsigned", "int", "unsigned char", "short"))
            )
        return conditional(self.condition(), self.expression(depth - 1), self.atom())

    def index(self, elements: int) -> Expr:
        """Perhaps outside of the array: then the launch counts for nothing."""
        chance = self.chance
        kind = chance.random()
        tid, threads = self.tid, self.threads
        if kind < 0.22:
            return tid
        if kind < 0.4:
            by = const(chance.choice((1, 1, 2, 4, 31, 32, 33)))
            moved = binary(chance.choice("+-^"), tid, by)
            if chance.random() < 0.4:
                return binary("%", moved, const(chance.choice((threads, elements, 32))))
            return moved
        if kind < 0.46:
            last = binary("-", chance.choice((self.size, self.agreed())), const(1))
            return binary("-", last, tid)
        if kind < 0.54:
            return self.agreed()
        if kind < 0.6:
            return binary("+", binary("*", tid, const(chance.choice((2, 3, 4)))), const(chance.randrange(4)))
        if kind < 0.66:
            ring = binary("*", binary("%", self.agreed(), const(chance.choice((2, 4)))), const(threads // 4))
            return binary("+", ring, binary("%", tid, const(chance.choice((threads // 4, threads)))))
        found = self.expression()
        if chance.random() < 0.5:
            return binary("%", found, const(elements))
        if chance.random() < 0.6:
            return binary("&", found, const((1 << (elements.bit_length() - 1)) - 1))
        return found

    def condition(self) -> Expr:
        chance = self.chance
        kind = chance.random()
        if kind < 0.3:
            return binary(chance.choice(("<", "<", "==", ">=", "!=")), self.thread(), self.agreed())
        if kind < 0.42:
            return binary(
                "==", binary("%", self.thread(), const(chance.choice((2, 3, 4, 32)))), self.number()
            )
        if kind < 0.5:
            return binary("<", binary("/", self.tid, const(chance.choice((8, 16, 32)))), const(1))
        if kind < 0.62:
            return binary(chance.choice(("<", ">", "==")), self.agreed(), self.agreed())
        if kind < 0.68:
            return binary(chance.choice((">", "==")), self.load(), const(chance.randrange(8)))
        if kind < 0.74:
            return binary(chance.choice(("&&", "||")), self.condition(), self.condition())
        if kind < 0.77:
            return negation(self.condition())
        if kind < 0.8:
            return binary("&", self.expression(1), const(chance.choice((1, 2, 4, 32))))
        return binary(chance.choice(("<", "<=", ">", "==", "!=")), self.expression(), self.atom())

    def uniform(self) -> Expr:
        """A condition that all threads of the block mostly agree on."""
        chance = self.chance
        kind = chance.random()
        if kind < 0.25:
            return binary(
                "==", binary("%", self.agreed(), const(chance.choice((2, 3)))), const(chance.randrange(2))
            )
        if kind < 0.35:
            return binary(">", Expr("in[0]", "G(0)"), const(chance.randrange(9)))
        return binary(chance.choice(("<", ">", "==", "!=")), self.agreed(), self.agreed())

    def load(self) -> Expr:
        at = self.chance.choice((self.tid, self.tid, self.agreed(), self.expression(1)))
        return Expr(f"in[{at.cuda}]", f"G({at.python})")

    def place(self, shared: _Shared) -> tuple[str, str, str]:
        """An element: as CUDA, as the arguments of the Python functions, and its index alone."""
        array, chance = shared.array, self.chance
        if not shared.columns:
            index = self.index(array.elements)
            return f"{array.name}[{index.cuda}]", f"{array.name}, {index.python}", index.cuda
        rows = array.elements // shared.columns
        if self.deep and chance.random() < 0.7:
            pair = [name("threadIdx.y", "unsigned"), name("threadIdx.x", "unsigned")]
            if chance.random() < 0.4:
                pair.reverse()
            row, column = pair
            if chance.random() < 0.3:
                column = binary(chance.choice("+-^"), column, self.number())
        else:
            row, column = self.index(rows), self.index(shared.columns)
            if chance.random() < 0.4:
                width = const(chance.choice((8, shared.columns)))
                row, column = binary("/", self.tid, width), binary("%", self.tid, width)
        python = f"{array.name}, ({row.python}) * {shared.columns} + ({column.python})"
        return f"{array.name}[{row.cuda}][{column.cuda}]", python, ""

    def value(self) -> Expr:
        chance = self.chance
        kind = chance.random()
        if kind < 0.25:
            return self.load()
        if kind < 0.45:
            return const(chance.choice((0, 0, 1, 5)))
        if kind < 0.65:
            shared = chance.choice(self.arrays)
            cuda, python, _ = self.place(shared)
            type_ = "int" if shared.array.type == "double" else shared.array.type
            return Expr(cuda, f"R({python}, {LINE})", "int" if type_ == "float" else type_)
        return self.expression(1)

    # ---- statements ------------------------------------------------------------------------------------------------

    def access(self) -> list[Node]:
        chance = self.chance
        shared = chance.choice(self.arrays)
        cuda, python, _ = self.place(shared)
        kind = chance.random()
        self.written += 1
        integral = shared.array.type in ("int", "unsigned")
        if kind < 0.5:
            value = self.value()
            return [Line(f"{cuda} = {value.cuda};", f"W({python}, {_as_int(value)}, {LINE})")]
        if kind < 0.62:
            value = self.value()
            return [
                Line(f"{cuda} += {value.cuda};", f"W({python}, R({python}, {LINE}) + {value.python}, {LINE})")
            ]
        if kind < 0.68 and integral:
            target, old = f"&{cuda}", self.fresh("old")
            added = self.chance.choice((const(1), self.number(), self.load()))
            if chance.random() < 0.5:
                self.variables.append(_Variable(name(old)))
                self.feeds = True
                text = f"int {old} = atomicAdd({target}, {added.cuda});"
                return [Line(text, f"{old} = fits(A({python}, {added.python}, {LINE}), 32)")]
            return [Line(f"atomicAdd({target}, {added.cuda});", f"A({python}, {added.python}, {LINE})")]
        if kind < 0.72 and self.helpers:
            return [self.call()]
        if kind < 0.8:
            return [Line(f"acc += {cuda};", f"acc = fits(acc + R({python}, {LINE}), 32)")]
        variable = self.fresh("x")
        made = Line(f"int {variable} = {cuda};", f"{variable} = fits(R({python}, {LINE}), 32)")
        if chance.random() < 0.2:
            self.variables.append(_Variable(name(variable)))
            self.feeds = True
        return [made]

    def call(self) -> Line:
        helper, _, _, _ = self.chance.choice(self.helpers)
        flat = [each for each in self.arrays if not each.columns and each.array.type == "int"]
        shared = self.chance.choice(flat)
        index = self.index(shared.array.elements)
        value = self.expression(1)
        offset = self.chance.choice((0, 0, 8))
        pointer = shared.array.name + (f" + {offset}" if offset else "")
        python = f"({shared.array.name}[0], {shared.array.name}[1] + {offset})"
        return Line(
            f"{helper}({pointer}, {index.cuda}, {value.cuda});",
            f"yield from {helper}({python}, {converted(index.python, index.type, 'int')}, {_as_int(value)}, {LINE})",
        )

    def declare(self) -> Node:
        chance = self.chance
        agreed = chance.random() < 0.4
        value = self.agreed() if agreed else self.expression()
        if agreed and chance.random() < 0.5:
            value = binary(chance.choice("+-*/"), value, const(chance.choice((1, 2, 3))))
        type_ = chance.choice(
            ("int", "int", "int", "unsigned", "unsigned", "short", "unsigned char", "long long")
        )
        variable = self.fresh()
        self.variables.append(_Variable(name(variable, type_), agreed=agreed))
        return Line(
            f"{type_} {variable} = {value.cuda};",
            f"{variable} = {converted(value.python, value.type, type_)}",
        )

    def assign(self) -> Node | None:
        chosen = [each for each in self.variables if not each.counter]
        if not chosen:
            return None
        variable = self.chance.choice(chosen).value
        value = self.expression(1)
        if self.chance.random() < 0.5:
            value = binary(self.chance.choice("+-^*"), variable, value)
        python = converted(value.python, value.type, variable.type)
        return Line(f"{variable.cuda} = {value.cuda};", f"{variable.python} = {python}")

    def barrier(self) -> Line:
        if self.chance.random() < 0.1:
            return Line("__syncwarp();", f"yield ('warp', {LINE})")
        return sync()

    def statements(self, depth: int, count: int, loop: bool = False) -> list[Node]:
        found: list[Node] = []
        kept = len(self.variables)
        for _ in range(count):
            found += self.statement(depth, loop)
            if self.chance.random() < self.barriers:
                found.append(self.barrier())
        del self.variables[kept:]
        return found

    def statement(self, depth: int, loop: bool) -> list[Node]:
        chance = self.chance
        kind = chance.random()
        if depth == 0 or self.written > self.most or kind < 0.45:
            return self.access()
        if kind < 0.53:
            return [self.declare()]
        if kind < 0.56:
            made = self.assign()
            return [made] if made else self.access()
        if kind < 0.62:
            test = self.uniform() if chance.random() < 0.5 else self.condition()
            word = chance.choice(("break", "continue", "return")) if loop else "return"
            leave: list[Node] = [Line(f"{word};", word)]
            if chance.random() < 0.2:
                kept = len(self.variables)
                leave = [*self.access(), *leave]
                del self.variables[kept:]
            return [Block(f"if ({test.cuda})", test.python, leave)]
        if kind < 0.8:
            return [self.branch(depth, loop)]
        return self.loop(depth)

    def branch(self, depth: int, loop: bool) -> Block:
        chance = self.chance
        uniform = chance.random() < 0.4
        test = self.uniform() if uniform else self.condition()
        kept, self.barriers = self.barriers, self.barriers if uniform or chance.random() < 0.1 else 0.0
        body = self.statements(depth - 1, chance.randint(1, 2), loop)
        otherwise = None
        if chance.random() < 0.3:
            otherwise = self.statements(depth - 1, chance.randint(1, 2), loop)
        self.barriers = kept
        return Block(f"if ({test.cuda})", test.python, body, otherwise=otherwise)

    def loop(self, depth: int) -> list[Node]:
        chance = self.chance
        counter = self.fresh("i")
        type_ = chance.choice(("int", "int", "int", "unsigned"))
        kind = chance.random()
        agreed = kind >= 0.15
        start, limit, step = (
            const(chance.choice((0, 0, 0, 1, 2))),
            self.agreed(),
            const(chance.choice((1, 1, 2, 3))),
        )
        if not agreed:
            start = self.tid
            step = chance.choice((self.size, const(self.threads), const(16)))
        me = name(counter, type_)
        if kind < 0.5:
            if chance.random() < 0.4:
                limit = const(chance.choice((1, 2, 3, 4, 8)))
            test, following = binary(chance.choice(("<", "<", "<=")), me, limit), binary("+", me, step)
            text = f"{counter} += {step.cuda}" if step.cuda != "1" else f"++{counter}"
        elif kind < 0.7:
            start = chance.choice(
                (const(self.threads // 2), binary("/", self.size, const(2)), const(16), self.agreed())
            )
            by = chance.choice((">>", "/"))
            least = const(chance.choice((0, 0, 0, 1, 31, 32)))
            test = binary(">", me, least)
            following = binary(by, me, const(1 if by == ">>" else 2))
            text = f"{counter} {by}= {1 if by == '>>' else 2}"
        elif kind < 0.85:
            start = const(1)
            test = binary("<", me, chance.choice((self.size, const(self.threads), limit)))
            doubled = chance.random() < 0.5
            following = binary("<<", me, const(1)) if doubled else binary("*", me, const(2))
            text = f"{counter} <<= 1" if doubled else f"{counter} *= 2"
        else:
            start = chance.choice((const(4), const(3), self.agreed()))
            test = binary(">" if type_ == "unsigned" else ">=", me, const(0))
            following = binary("-", me, const(1))
            text = f"--{counter}"
        init = converted(start.python, start.type, type_)
        step_python = f"{counter} = {converted(following.python, following.type, type_)}"
        kept = len(self.variables)
        self.variables.append(_Variable(me, counter=True, agreed=agreed))
        before, self.barriers = self.barriers, self.barriers if agreed or chance.random() < 0.1 else 0.0
        body = self.statements(depth - 1, chance.randint(1, 3), loop=True)
        self.barriers = before
        del self.variables[kept:]
        how = chance.random()
        if how < 0.75:
            head = f"for ({type_} {counter} = {start.cuda}; {test.cuda}; {text})"
            return [Block(head, test.python, body, f"{counter} = {init}", step_python)]
        declared = Line(f"{type_} {counter} = {start.cuda};", f"{counter} = {init}")
        step_line = Line(f"{text};", step_python)
        where = len(body) if chance.random() < 0.7 else chance.randrange(len(body) + 1)
        body.insert(where, step_line)
        if how < 0.9:
            return [declared, Block(f"while ({test.cuda})", test.python, body)]
        return [declared, Block("do", test.python, body, late=True, tail=f" while ({test.cuda});")]

    # ---- whole kernels ---------------------------------------------------------------------------------------------

    def program(self) -> Program:
        chance = self.chance
        self.deep = chance.random() < 0.15
        self.most = chance.choice((2, 4, 6, 9))
        shapes = _DEEP if self.deep else _FLAT
        shape = chance.choice(shapes)
        self.threads = shape[0] * shape[1] * shape[2]
        self.barriers = chance.choice((0.1, 0.3, 0.5, 0.8))
        named = chance.random() < 0.6
        by_argument = not self.deep and not named and chance.random() < 0.15
        self.template = chance.choice((0, 0, 0, 2, 4, 32)) if named else 0
        if named and chance.random() < 0.6:
            self.size = const(self.threads)
        for parameter in ("n", "m"):
            self.types[parameter] = "unsigned" if chance.random() < 0.25 else "int"
        pattern = None if self.deep or chance.random() < 0.45 else chance.choice(PATTERNS)
        dynamic = chance.random() < 0.1
        self._arrays(dynamic)
        for _ in range(chance.choice((0, 0, 1, 2))):
            self._helper()
        unsigned = chance.random() < 0.3
        self.tid = name("tid", "unsigned" if unsigned else "int")
        body: list[Node] = []
        linear = "threadIdx.x"
        if shape[1] > 1 or self.deep:
            linear = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"
            if shape[2] == 1:
                linear = "threadIdx.y * blockDim.x + threadIdx.x"
        body.append(Line(f"{self.tid.type} tid = {linear};", f"tid = {linear.replace('.', '_')}"))
        body.append(Line("int acc = 0;", "acc = 0"))
        if pattern is not None:
            self.feeds = pattern in FEEDING
            body += pattern(self, Writer(self))
        else:
            body += self.statements(3, chance.randint(1, 4))
        self._spoil(body, pattern is not None)
        body.append(Line("if (acc > 0) out[tid] = acc;", "pass"))
        how = "named" if named else "argument" if by_argument else "none"
        return self._finished(body, shape, how, dynamic)

    def _arrays(self, dynamic: bool) -> None:
        chance = self.chance
        threads = self.threads
        self.arrays.append(_Shared(Array("s", "int", chance.choice((64, 64, 128, threads, 2 * threads)), 4)))
        if dynamic:
            self.arrays[0] = _Shared(Array("s", "int", 256, 4))
        if chance.random() < 0.4:
            type_ = chance.choice(("int", "float", "unsigned char", "short", "unsigned"))
            self.arrays.append(_Shared(Array("r", type_, chance.choice((4, 64, 100)), _BYTES[type_])))
        if chance.random() < (0.9 if self.deep else 0.25):
            rows, columns = chance.choice(((8, 8), (8, 9), (4, 16), (2, 64), (2, 32), (16, 17)))
            self.arrays.append(_Shared(Array("t", "int", rows * columns, 4), columns))

    def _helper(self) -> None:
        """One of two or three statements."""
        chance = self.chance
        helper = self.fresh("part")
        at = Expr("at", "at")
        place = chance.choice((at, binary("+", at, const(1)), binary("^", at, const(1))))
        target = f"p, {place.python}"
        body: list[Node] = []
        kind = chance.random()
        if kind < 0.3:
            body.append(Block("if (at < v)", "at < v", [Line("return;", "return")]))
        if chance.random() < 0.3:
            body.append(sync())
        if chance.random() < 0.5:
            body.append(Line(f"p[{place.cuda}] = v;", f"W({target}, v, {LINE}, call)"))
        else:
            python = f"W({target}, R({target}, {LINE}, call) + v, {LINE}, call)"
            body.append(Line(f"p[{place.cuda}] += v;", python))
        if chance.random() < 0.3:
            body.append(sync())
        self.helpers.append(
            (helper, body, f"__device__ void {helper}(int* p, int at, int v)", "p, at, v, call")
        )

    def _spoil(self, body: list[Node], pattern: bool) -> None:
        """Takes barriers away, and puts statements in."""
        chance = self.chance
        if not pattern:
            return
        if chance.random() < 0.5:
            lists = [(where, i) for where in every_list(body) for i, each in enumerate(where)]
            barriers = [
                (where, i) for where, i in lists if isinstance(where[i], Line) and _is_barrier(where[i])
            ]
            if barriers:
                where, i = chance.choice(barriers)
                barrier = where.pop(i)
                if chance.random() < 0.3:
                    target = chance.choice(list(every_list(body)))
                    target.insert(chance.randrange(2 if target is body else 0, len(target) + 1), barrier)
        for _ in range(chance.choice((0, 0, 0, 1, 2))):
            target = chance.choice(list(every_list(body)))
            at = chance.randrange(2 if target is body else 0, len(target) + 1)
            kept = len(self.variables)
            target[at:at] = self.statement(1, loop=False)
            del self.variables[kept:]
            if chance.random() < 0.3:
                target.insert(at, sync())

    def _finished(self, body: list[Node], shape: tuple[int, int, int], how: str, dynamic: bool) -> Program:
        chance = self.chance
        written = Written()
        written.python.append(
            "def kernel(threadIdx_x, threadIdx_y, threadIdx_z, blockDim_x, blockDim_y, "
            "blockDim_z, blockIdx_x, gridDim_x, n, m, call=0):"
        )
        for number, shared in enumerate(self.arrays):
            written.python.append(f"    {shared.array.name} = ({number}, 0)")
        if self.template:
            written.python.append(f"    N = {self.template}")
        for _, nodes, head, parameters in self.helpers:
            written.cuda.append(head + " {")
            written.python.append(f"    def {head.split('(')[0].split()[-1]}({parameters}):")
            written.add(nodes, 2)
            written.python.append("        yield from ()")
            written.cuda.append("}")
        if self.template:
            written.cuda.append("template <int N>")
        bounds = " __launch_bounds__(64)" if chance.random() < 0.05 else ""
        restrict = "const int* __restrict__ in" if chance.random() < 0.8 else "const int* in"
        parameters = ", ".join(f"{self.types[each]} {each}" for each in ("n", "m"))
        written.cuda.append(f"__global__ void{bounds} k(int* out, {restrict}, {parameters}) {{")
        for shared in self.arrays:
            array = shared.array
            size = f"[{array.elements}]"
            if shared.columns:
                size = f"[{array.elements // shared.columns}][{shared.columns}]"
            if dynamic and array.name == "s":
                written.cuda.append("  extern __shared__ int s[];")
            else:
                written.cuda.append(f"  __shared__ {array.type} {array.name}{size};")
        written.add(body)
        written.python.append("    yield from ()")
        written.cuda.append("}")
        grid = 0 if self.uses_grid or how == "none" else chance.choice((1, 2, 5))
        fixed: dict[str, int] = {}
        if how != "none":
            self._host(written, shape, how, grid, fixed, dynamic)
        shapes: Sequence[tuple[int, int, int]] = (shape,)
        if how == "none":
            shapes = [
                each
                for each in (shape, *(_ANY_DEEP if self.deep else _ANY_FLAT))
                if shape[2] > 1 or each[2] == 1
            ]
        elif how == "argument":
            shapes = (shape, *_ANY_FLAT)
        return Program(
            "\n".join(written.cuda) + "\n",
            "\n".join(written.python) + "\n",
            tuple(each.array for each in self.arrays),
            tuple(shapes),
            how == "named",
            fixed,
            how == "argument",
            dict(self.types),
            self.uses_grid,
            grid,
            self.feeds,
        )

    def _host(
        self,
        written: Written,
        shape: tuple[int, int, int],
        how: str,
        grid: int,
        fixed: dict[str, int],
        dynamic: bool,
    ) -> None:
        chance = self.chance
        block = "n" if how == "argument" else str(shape[0])
        if shape[1] > 1 or shape[2] > 1:
            block = f"dim3({', '.join(map(str, shape if shape[2] > 1 else shape[:2]))})"
        given = []
        for parameter in ("n", "m"):
            if chance.random() < 0.2 and how == "named":
                fixed[parameter] = chance.choice((self.threads, 3, 8, 64))
                given.append(str(fixed[parameter]))
            else:
                given.append(parameter)
        parameters = ", ".join(f"{self.types[each]} {each}" for each in ("n", "m"))
        template = f"<{self.template}>" if self.template else ""
        bytes_ = ", 1024" if dynamic else ""
        written.cuda.append(
            f"void run(int* out, const int* in, {parameters}{'' if grid else ', int blocks'}) {{"
        )
        written.cuda.append(
            f"  k{template}<<<{grid or 'blocks'}, {block}{bytes_}>>>(out, in, {', '.join(given)});"
        )
        written.cuda.append("}")


def _is_barrier(node: Node) -> bool:
    return isinstance(node, Line) and node.is_barrier


def _as_int(value: Expr) -> str:
    return converted(value.python, value.type, "int")


def program(seed: int) -> Program:
    """The kernel of a seed."""
    return Generator(seed).program()
