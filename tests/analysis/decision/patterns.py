"""What kernels of the field do with shared memory, right as it stands for the sizes that are meant."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from .running import Array
from .written import (
    LINE,
    Block,
    Expr,
    Line,
    Node,
    binary,
    cast,
    conditional,
    const,
    converted,
    name,
)

if TYPE_CHECKING:
    from .random_programs import Generator

_OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "/",
    ast.Div: "/",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


class Writer:
    """Statements from their text. ``types``: of the names in it; others are ``int``."""

    def __init__(self, made: Generator) -> None:
        self.types = {**made.types, "tid": made.tid.type}
        self.types |= dict.fromkeys(("blockDim.x", "blockIdx.x", "gridDim.x"), "unsigned")

    def expression(self, text: str) -> Expr:
        """C's operators, with brackets wherever Python binds otherwise."""
        return self._expression(ast.parse(text.replace("&&", "and").replace("||", "or"), mode="eval").body)

    def _expression(self, node: ast.AST) -> Expr:
        if isinstance(node, ast.Constant):
            assert isinstance(node.value, int)
            return const(node.value)
        if isinstance(node, ast.Name | ast.Attribute):
            spelled = ast.unparse(node)
            return name(spelled, self.types.get(spelled, "int"))
        if isinstance(node, ast.Subscript):
            index = self._expression(node.slice)
            array = ast.unparse(node.value)
            python = f"G({index.python})" if array == "in_" else f"R({array}, {index.python}, {LINE})"
            return Expr(f"{'in' if array == 'in_' else array}[{index.cuda}]", python)
        if isinstance(node, ast.BinOp):
            return binary(
                _OPERATORS[type(node.op)], self._expression(node.left), self._expression(node.right)
            )
        if isinstance(node, ast.Compare):
            (operator,), (right,) = node.ops, node.comparators
            return binary(_OPERATORS[type(operator)], self._expression(node.left), self._expression(right))
        if isinstance(node, ast.BoolOp):
            one, other = (self._expression(each) for each in node.values)
            return binary("&&" if isinstance(node.op, ast.And) else "||", one, other)
        if isinstance(node, ast.IfExp):
            parts = (self._expression(each) for each in (node.test, node.body, node.orelse))
            return conditional(*parts)
        assert isinstance(node, ast.Call)
        return cast(self._expression(node.args[0]), ast.unparse(node.func))

    def put(self, array: str, index: str, value: str, update: bool = False) -> Line:
        """``array[index] = value;``, or ``+=``."""
        at, stored = self.expression(index), self.expression(value)
        target, python = f"{array}, {at.python}", converted(stored.python, stored.type, "int")
        if update:
            python = f"R({target}, {LINE}) + {python}"
        sign = "+=" if update else "="
        return Line(f"{array}[{at.cuda}] {sign} {stored.cuda};", f"W({target}, {python}, {LINE})")

    def let(self, declared: str, value: str, type_: str = "") -> Line:
        """``type name = value;``, or an assignment."""
        made = self.expression(value)
        if type_:
            self.types[declared] = type_
        python = converted(made.python, made.type, self.types.get(declared, "int"))
        return Line(f"{type_} {declared} = {made.cuda};".strip(), f"{declared} = {python}")

    def when(self, test: str, *body: Node) -> Block:
        made = self.expression(test)
        return Block(f"if ({made.cuda})", made.python, list(body))

    def loop(
        self, type_: str, counter: str, start: str, test: str, step: str, body: Callable[[], list[Node]]
    ) -> Block:
        """``step``: the next value of the counter."""
        self.types[counter] = type_
        first, condition, following = (self.expression(each) for each in (start, test, step))
        head = f"for ({type_} {counter} = {first.cuda}; {condition.cuda}; {counter} = {following.cuda})"
        declares = f"{counter} = {converted(first.python, first.type, type_)}"
        turn = f"{counter} = {converted(following.python, following.type, type_)}"
        return Block(head, condition.python, body(), declares, turn)

    def count(self, made: Generator, *limits: str, body: Callable[[], list[Node]]) -> Block:
        """Turns of a loop, as many as one of the ``limits``."""
        type_ = made.chance.choice(("int", "int", "unsigned"))
        return self.loop(type_, "k", "0", f"k < {made.chance.choice(limits)}", "k + 1", body)


def sync() -> Line:
    return Line("__syncthreads();", f"yield ('block', {LINE})")


def warp() -> Line:
    return Line("__syncwarp();", f"yield ('warp', {LINE})")


def _resized(made: Generator, elements: int) -> None:
    made.arrays[0].array = Array("s", "int", elements, 4)


def reduction(made: Generator, w: Writer) -> list[Node]:
    first = str(made.threads // 2) if made.size.cuda.isdigit() else "blockDim.x / 2"
    least = made.chance.choice((0, 0, 0, 16, 32))

    def turn() -> list[Node]:
        guarded = w.when("tid < d", w.put("s", "tid", "s[tid + d]", update=True))
        return [guarded, sync()] if made.chance.random() < 0.6 else [sync(), guarded]

    step = made.chance.choice(("d >> 1", "d / 2"))
    loop = w.loop(made.chance.choice(("int", "unsigned")), "d", first, f"d > {least}", step, turn)
    found: list[Node] = [w.put("s", "tid", "in_[tid]"), sync(), loop]
    if made.chance.random() < 0.5:
        found.append(sync())
    return [*found, w.when("tid == 0", w.let("acc", "s[0]"))]


def interleaved(made: Generator, w: Writer) -> list[Node]:
    """A reduction with strides that double."""
    threads = made.threads

    def turn() -> list[Node]:
        test = made.chance.choice(
            (f"tid % (2 * d) == 0 && tid + d < {threads}", f"2 * d * tid + d < {threads}")
        )
        if test.startswith("tid"):
            return [w.when(test, w.put("s", "tid", "s[tid + d]", update=True)), sync()]
        return [w.when(test, w.put("s", "2 * d * tid", "s[2 * d * tid + d]", update=True)), sync()]

    step = made.chance.choice(("d * 2", "d << 1"))
    loop = w.loop(made.chance.choice(("int", "unsigned")), "d", "1", f"d < {threads}", step, turn)
    return [w.put("s", "tid", "in_[tid]"), sync(), loop]


def warp_tail(made: Generator, w: Writer) -> list[Node]:
    """The last steps of a reduction in one warp."""
    found: list[Node] = []
    for d in (16, 8, 4, 2, 1):
        found += [
            w.let(f"y{d}", f"s[tid + {d}]", "int"),
            warp(),
            w.put("s", "tid", f"y{d}", update=True),
            warp(),
        ]
    limit = made.chance.choice((32, 32, made.threads))
    whole: list[Node] = [w.put("s", "tid", "in_[tid]"), sync(), w.when(f"tid < {limit}", *found)]
    if made.chance.random() < 0.5:
        whole += [sync(), w.let("acc", "s[0]")]
    return whole


def scan(made: Generator, w: Writer) -> list[Node]:
    """Hillis and Steele, in place or from one half into the other."""
    threads = made.threads
    if made.chance.random() < 0.5:

        def turn() -> list[Node]:
            read = w.when("tid >= d", w.let("v", "s[tid - d]"))
            return [w.let("v", "0", "int"), read, sync(), w.put("s", "tid", "v", update=True), sync()]

        loop = w.loop("int", "d", "1", f"d < {threads}", "d << 1", turn)
        return [w.put("s", "tid", "in_[tid]"), sync(), loop]
    _resized(made, 2 * threads)
    from_ = made.chance.choice(("tid", "(tid - d if tid >= d else tid)"))

    def across() -> list[Node]:
        copy = w.put("s", f"to * {threads} + tid", f"s[(1 - to) * {threads} + {from_}]")
        return [copy, w.let("to", made.chance.choice(("1 - to", "to ^ 1"))), sync()]

    start = [w.put("s", "tid", "in_[tid]"), w.let("to", "1", "int"), sync()]
    return [*start, w.loop("int", "d", "1", f"d < {threads}", "d * 2", across)]


def swap(made: Generator, w: Writer) -> list[Node]:
    """Two halves that change places, by their pointers."""
    threads = made.threads
    _resized(made, 2 * threads)
    by = made.chance.choice((1, 3, 32))

    def turn() -> list[Node]:
        copy = w.put("b", "tid", f"a[(tid + {by}) % {threads}]")
        exchange = [Line("int* c = a;", "c = a"), Line("a = b;", "a = b"), Line("b = c;", "b = c")]
        return [copy, sync(), *exchange]

    pointers = [
        Line("int* a = s;", "a = s"),
        Line(f"int* b = s + {threads};", f"b = (s[0], s[1] + {threads})"),
    ]
    return [*pointers, w.put("s", "tid", "in_[tid]"), sync(), w.count(made, "n", "4", "m", body=turn)]


def ring(made: Generator, w: Writer) -> list[Node]:
    """One slot is written while another one is read."""
    slots, ahead = made.chance.choice(((4, 2), (4, 1), (2, 1), (3, 1), (3, 2), (4, 3)))
    size = 16
    _resized(made, slots * size)

    def turn() -> list[Node]:
        write = w.put("s", f"k % {slots} * {size} + tid % {size}", "in_[k]")
        read = w.let("acc", f"acc + s[(k + {ahead}) % {slots} * {size} + (tid + 1) % {size}]")
        body: list[Node] = [w.when(f"tid < {size}", write), read]
        if made.chance.random() < 0.3:
            body.reverse()
        barrier: Node = sync() if made.chance.random() < 0.8 else w.when("k % 2 == 0", sync())
        body.insert(made.chance.choice((0, 1, 2)), barrier)
        return body

    return [w.count(made, "n", "m", "6", body=turn)]


def histogram(made: Generator, w: Writer) -> list[Node]:
    bins = made.chance.choice((8, 16, 64))

    def bins_of(body: Callable[[], Node]) -> Node:
        return w.loop("int", "b", "tid", f"b < {bins}", f"b + {made.size.cuda}", lambda: [body()])

    place = w.expression(f"in_[tid] & {bins - 1}")
    count = Line(f"atomicAdd(&s[{place.cuda}], 1);", f"A(s, {place.python}, 1, {LINE})")
    if made.chance.random() < 0.3:
        count = w.put("s", f"in_[tid] & {bins - 1}", "1", update=True)
    clear = bins_of(lambda: w.put("s", "b", "0"))
    return [clear, sync(), count, sync(), bins_of(lambda: w.let("acc", "acc + s[b]"))]


def stencil(made: Generator, w: Writer) -> list[Node]:
    """A tile with a halo, in a loop over tiles."""
    threads = made.threads
    _resized(made, threads + 2)

    def turn() -> list[Node]:
        halo = w.when("tid == 0", w.put("s", "0", "in_[0]"), w.put("s", f"{threads + 1}", "in_[1]"))
        read = w.let("acc", "acc + s[tid] + s[tid + 2]")
        return [w.put("s", "tid + 1", "in_[tid]"), halo, sync(), read, sync()]

    return turn()[:-1] if made.chance.random() < 0.5 else [w.count(made, "n", "m", "3", body=turn)]


def mirrored(made: Generator, w: Writer) -> list[Node]:
    limit = made.chance.choice(("n", "m", str(made.threads)))
    write = w.when("tid < n", w.put("s", "tid", "in_[tid]"))
    if made.chance.random() < 0.5:
        last: Node = w.put("s", f"{limit} - 1 - tid", "3")
    else:
        last = w.let("acc", f"s[{limit} - 1 - tid]")
    return [write, sync(), w.when(f"tid < {limit} / 2", last)]


def flag(made: Generator, w: Writer) -> list[Node]:
    """One thread says for all when to stop."""

    def turn() -> list[Node]:
        first = w.when("tid == 0", w.put("s", "0", "in_[k]"))
        body: list[Node] = [first, sync(), w.when("s[0] > 7", Line("break;", "break"))]
        body.append(w.let("acc", "acc + s[tid]"))
        return [*body, sync()] if made.chance.random() < 0.6 else body

    return [w.count(made, "n", "m", body=turn)]


def partial(made: Generator, w: Writer) -> list[Node]:
    """One value of each warp, then all of them by the first."""

    def turn() -> list[Node]:
        one = w.when("tid % 32 == 0", w.put("s", "tid / 32", "in_[tid]"))
        last = w.when(f"tid < {max(1, made.threads // 32)}", w.let("acc", "s[tid]"))
        return [one, sync(), last, *([sync()] if made.chance.random() < 0.7 else [])]

    return turn() if made.chance.random() < 0.5 else [w.count(made, "n", "m", "2", body=turn)]


def compaction(made: Generator, w: Writer) -> list[Node]:
    """Places that an atomic counter gives out."""
    w.types["at"] = "int"
    start = w.when("tid == 0", w.put("s", "0", "1"))
    take = Line("int at = atomicAdd(&s[0], 1);", f"at = A(s, 0, 1, {LINE})")
    put = w.put("s", made.chance.choice(("at", "at", "at % 16", "at + 1")), "in_[tid]")
    return [start, sync(), w.when("in_[tid] > 5", take, put), sync(), w.let("acc", "s[tid]")]


def sorting(made: Generator, w: Writer) -> list[Node]:
    """A bitonic sort."""
    threads = made.threads

    def inner() -> list[Node]:
        w.types["o"] = "int"
        other = w.let("o", made.chance.choice(("tid ^ j", "tid ^ j", "tid + j")), "int")
        exchange = [w.let("c", "s[tid]", "int"), w.put("s", "tid", "s[o]"), w.put("s", "o", "c")]
        return [other, w.when(f"o > int(tid) && o < {threads}", *exchange), sync()]

    def outer() -> list[Node]:
        return [w.loop("int", "j", "d / 2", "j > 0", "j / 2", inner)]

    return [w.put("s", "tid", "in_[tid]"), sync(), w.loop("int", "d", "2", f"d <= {threads}", "d * 2", outer)]


def phases(made: Generator, w: Writer) -> list[Node]:
    """Arms that a number of the block chooses, with barriers of their own."""
    test = made.chance.choice(("n > 3", "m % 2 == 0", "in_[0] > 4", "n == m"))
    one: list[Node] = [w.put("s", "tid", "1"), sync(), w.let("acc", f"s[{made.threads - 1} - tid]")]
    other: list[Node] = [w.put("s", f"{made.threads - 1} - tid", "2"), sync(), w.let("acc", "s[tid]")]
    first, second = w.expression(test), w.expression(made.chance.choice((test, "m > 1")))
    arms = Block(f"if ({first.cuda})", first.python, one, otherwise=other)
    again = Block(f"if ({second.cuda})", second.python, [w.put("s", "tid", "3")])
    return [arms, sync(), again] if made.chance.random() < 0.5 else [arms, again]


Pattern = Callable[["Generator", Writer], "list[Node]"]
PATTERNS: tuple[Pattern, ...] = (
    reduction,
    interleaved,
    warp_tail,
    scan,
    swap,
    ring,
    histogram,
    stencil,
    mirrored,
    flag,
    partial,
    compaction,
    sorting,
    phases,
)
FEEDING = (flag, compaction)  # what they read from shared memory decides what threads do
