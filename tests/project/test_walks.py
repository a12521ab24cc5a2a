"""How many functions go through a region tree by hand: they ask whether a node is a branch or a loop, and go into it.

``ir/nodes.py`` and ``ir/walks.py`` hold the walks that all others are made of. ``python tests/project/test_walks.py``
prints every function that is a walk of its own, and how many they are: the number may only fall.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "smem_lsp"

WALKS = 23
"""Functions that are walks of their own. Lower it with each that becomes a client of the others."""

_REGIONS = {"Branch", "Loop", "Region"}
_PARTS = {"then", "otherwise", "body"}


@dataclass
class _Function:
    name: str
    line: int
    asks: bool = False  # whether a node is a branch or a loop
    opens: bool = False  # the arms or the body of one
    calls: set[str] = field(default_factory=set)  # methods with a dot in front


def hand_walks() -> Iterator[str]:
    """Each as ``path:line name``."""
    for path in sorted(PACKAGE.rglob("*.py")):
        functions = _functions(ast.parse(path.read_text()))
        for each in functions.values():
            around = [functions[name] for name in _cycle(each, functions)]
            if each.asks and any(one.opens for one in around):
                yield f"{path.relative_to(ROOT)}:{each.line} {each.name}"


def _functions(module: ast.Module) -> dict[str, _Function]:
    """Those of a module, by name, and as one of them each ``while``, which calls itself; what stands in a function of
    their own is theirs."""
    found: dict[str, _Function] = {}

    def visit(node: ast.AST, of: str, within: str) -> None:
        if isinstance(node, ast.ClassDef):
            within = f"{within}{node.name}."
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            of = f"{within}{node.name}"
            found[of] = _Function(of, node.lineno)
        elif isinstance(node, ast.While) and of:
            of = f"{of} while"
            found[of] = _Function(of, node.lineno, calls={of})
        elif of:
            _note(node, found[of])
        for child in ast.iter_child_nodes(node):
            visit(child, of, within)

    visit(module, "", "")
    return found


def _note(node: ast.AST, into: _Function) -> None:
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kinds]):
            into.asks = into.asks or not _REGIONS.isdisjoint(_names(kinds))
        case ast.MatchClass(cls=kind):
            into.asks = into.asks or not _REGIONS.isdisjoint(_names(kind))
        case ast.Attribute(attr=part) if part in _PARTS:
            into.opens = True
    if isinstance(node, ast.Call):
        for each in (node.func, *node.args):
            match each:
                case ast.Name(id=name):
                    into.calls.add(name)
                case ast.Attribute(attr=name):
                    into.calls.add(f".{name}")


def _names(node: ast.expr) -> set[str]:
    every = list(ast.walk(node))
    names = {each.id for each in every if isinstance(each, ast.Name)}
    return names | {each.attr for each in every if isinstance(each, ast.Attribute)}


def _cycle(start: _Function, functions: Mapping[str, _Function]) -> set[str]:
    """The functions that lead from this one back to it; empty: it never comes back."""
    behind: dict[str, set[str]] = {name: set() for name in functions}
    before: dict[str, set[str]] = {name: set() for name in functions}
    for name, each in functions.items():
        for other in functions:
            _, dot, last = other.rpartition(".")
            if f"{dot}{last}" in each.calls:  # a method of whatever class
                behind[name].add(other)
                before[other].add(name)

    def reached(step: Mapping[str, set[str]]) -> set[str]:
        found: set[str] = set()
        waiting = [start.name]
        while waiting:
            for name in step[waiting.pop()] - found:
                found.add(name)
                waiting.append(name)
        return found

    return reached(behind) & reached(before)


def test_no_walk_is_added() -> None:
    found = list(hand_walks())
    assert len(found) == WALKS, "\n".join([f"{len(found)} walks:", *found])


if __name__ == "__main__":
    every = list(hand_walks())
    print(*every, sep="\n")
    print(len(every))
