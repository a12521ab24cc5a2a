"""The walks that all analyses of a region tree are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.ir.nodes import (
    Access,
    AccessKind,
    Branch,
    Jump,
    JumpKind,
    Loop,
    Node,
    Seq,
    bodies,
    changed,
    inside_changed,
    of_own_iteration,
    placed,
    walk,
)
from smem_lsp.ir.paths import PathWalk
from smem_lsp.ir.places import Row
from smem_lsp.ir.values import Const, Sym, Value
from smem_lsp.ir.walks import Backward, Descent, Flow

LINE = Row(0)
ASKED = Sym("n")


def access(point: int) -> Access:
    return Access(point, 0, AccessKind.READ, None, None, LINE)


def branch(point: int, then: Sequence[Node], otherwise: Sequence[Node] = ()) -> Branch:
    return Branch(point, ASKED, Seq(tuple(then)), Seq(tuple(otherwise)), None, LINE)


def loop(point: int, end: int, body: Sequence[Node], tail: int = 0, least: int = 0) -> Loop:
    return Loop(point, end, least, None, ASKED, None, Seq(tuple(body)), None, LINE, tail=tail)


def jump(point: int, kind: JumpKind) -> Jump:
    return Jump(point, kind, LINE)


INNER = loop(4, 8, [jump(5, JumpKind.CONTINUE), access(6), access(7)], tail=1)
TREE = Seq((access(1), branch(2, [access(3), INNER], [jump(9, JumpKind.BREAK)]), access(10)))


def points(nodes: Iterator[Node]) -> list[int]:
    return [node.point for node in nodes]


def test_walks_without_a_state() -> None:
    assert points(walk(TREE)) == [1, 2, 3, 4, 5, 6, 7, 9, 10]
    assert {node.point: points(iter(around)) for node, around in placed(TREE) if node.point > 4} == {
        5: [2, 4],
        6: [2, 4],
        7: [2, 4],
        9: [2],
        10: [],
    }
    assert points(node for node, _ in placed(TREE)) == points(walk(TREE))
    assert points(of_own_iteration(TREE)) == [1, 2, 3, 4, 9, 10]  # the `continue` is of the inner loop


def test_a_change_keeps_what_runs_after_a_continue_apart() -> None:
    def doubled(node: Node) -> Iterator[Node]:
        yield node
        if isinstance(node, Access):
            yield access(100 + node.point)

    found = changed(TREE, doubled)
    assert points(walk(found)) == [1, 101, 2, 3, 103, 4, 5, 6, 106, 7, 107, 9, 10, 110]
    inner = next(node for node in walk(found) if isinstance(node, Loop))
    assert inner.tail == 2
    assert points(walk(TREE)) == [1, 2, 3, 4, 5, 6, 7, 9, 10]


def test_a_change_is_told_of_a_branch_with_its_blocks_changed() -> None:
    def without_idle(node: Node) -> tuple[Node, ...]:
        if isinstance(node, Access):
            return ()
        return () if isinstance(node, Branch) and not any(map(len, bodies(node))) else (node,)

    assert points(walk(changed(Seq((branch(1, [branch(2, [access(3)])]), *TREE)), without_idle))) == [
        2,
        4,
        5,
        9,
    ]


def test_only_the_next_blocks_of_a_node_are_changed() -> None:
    found = inside_changed(INNER, lambda items: items[1:])
    assert points(walk(Seq((found,)))) == [4, 6]
    assert inside_changed(access(1), lambda items: ()) == access(1)


def test_what_is_nested_deeply_is_walked() -> None:
    deep: Node = access(1)
    for point in range(2, 5000):
        deep = branch(point, [deep])
    seq = Seq((deep,))
    assert len(list(walk(seq))) == len(list(of_own_iteration(seq))) == 4999
    assert max(len(around) for _, around in placed(seq)) == 4998
    assert len(changed(seq, lambda node: (node,)).below) == 4999


class Depths(Descent[int]):
    """How many arms where the condition holds, and bodies of loops, are around a node; a jump ends what is seen."""

    def __init__(self) -> None:
        self.found: dict[int, int] = {}

    def step(self, node: Node, here: int) -> int | None:
        self.found[node.point] = here
        return None if isinstance(node, Jump) else here

    def arm(self, node: Branch, here: int, truth: bool) -> int | None:
        return here + 1 if truth else None

    def iterations(self, node: Loop, here: int) -> tuple[int, ...]:
        return (here + 10, here + 20)


def test_a_descent() -> None:
    depths = Depths()
    assert depths.seq(TREE, 0) == 0
    assert depths.found == {1: 0, 3: 1, 5: 21, 10: 0}  # the second iteration, as far as to the jump


class Seen(PathWalk[int]):
    """The accesses that a thread has come by, in one number; ``known``: what the condition is."""

    def __init__(self, known: bool | None = None) -> None:
        super().__init__()
        self.known = known

    def step(self, node: Node, states: frozenset[int]) -> frozenset[int]:
        return frozenset(each | 1 << node.point for each in states)

    def where(self, condition: Value, states: frozenset[int], truth: bool) -> frozenset[int]:
        unknown = isinstance(condition, Const) or self.known is None
        return states if unknown or self.known is truth else frozenset()


def mask(*accesses: int) -> int:
    return sum(1 << point for point in accesses)


def test_all_paths_with_their_jumps() -> None:
    found = Seen().seq(TREE, frozenset((0,)))
    assert found.end == {mask(1, 3, 10), mask(1, 3, 7, 10)}  # 6 stands behind a jump
    assert found.breaks == {mask(1)}
    assert found.continues == frozenset()
    assert Seen(False).seq(TREE, frozenset((0,))).end == frozenset()
    walk_ = Seen()
    body = Seq((branch(1, [jump(2, JumpKind.RETURN)]), access(3)))
    assert walk_.leaving(body, frozenset((0,))) == {0, mask(3)}
    assert walk_.returned == {0}


class Count(Flow[int]):
    """The most accesses on a way; below 0: there is none."""

    none = -100

    def join(self, one: int, other: int) -> int:
        return max(one, other)

    def step(self, node: Node, state: int) -> int:
        return state + 1

    def loop(self, node: Loop, state: int) -> int:
        found = self.seq(node.body, state)
        return self.join(found.end, self.join(found.breaks, found.continues))


def test_a_flow_joins_arms_and_jumps() -> None:
    found = Count().seq(TREE, 0)
    assert (found.end, found.breaks) == (3, 1)
    assert found.continues < 0


class Ahead(Backward[frozenset[int]]):
    """The accesses that a thread may come to."""

    def step(self, node: Node, behind: frozenset[int]) -> frozenset[int]:
        return behind | {node.point}

    def branch(
        self, node: Branch, behind: frozenset[int], breaks: frozenset[int], continues: frozenset[int]
    ) -> frozenset[int]:
        then, other = (self.seq(arm.items, behind, breaks, continues) for arm in bodies(node))
        return then | other

    def loop(self, node: Loop, behind: frozenset[int]) -> frozenset[int]:
        ahead = len(node.body) - node.tail
        step = self.seq(node.body.items[ahead:], behind, behind, behind)
        return behind | self.seq(node.body.items[:ahead], step, behind, step)

    def jump(
        self, node: Jump, behind: frozenset[int], breaks: frozenset[int], continues: frozenset[int]
    ) -> frozenset[int]:
        return breaks if node.kind is JumpKind.BREAK else continues


def test_backward() -> None:
    found = Ahead().seq(TREE.items, frozenset((11,)), frozenset((12,)), frozenset())
    assert found == {1, 3, 7, 10, 11, 12}
