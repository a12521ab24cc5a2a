"""What is remembered lies in a query store: no module keeps a table of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "smem_lsp"
STORE = "source/queries.py"
_CONTAINERS = frozenset(
    "dict list set bytearray OrderedDict defaultdict Counter deque WeakKeyDictionary WeakValueDictionary WeakSet"
    " ChainMap".split()
)
_CHANGING = frozenset(
    "append add update setdefault pop popitem clear extend insert remove discard appendleft popleft move_to_end"
    " __setitem__".split()
)
_DECORATORS = frozenset(("lru_cache", "cache"))


def caches(text: str) -> Iterator[str]:
    """Each place where a module remembers something by itself."""
    module = ast.parse(text)
    names = set(_names(module))
    for name, value in _assigned(module):
        if _called(value) in _CONTAINERS or _is_empty(value):
            yield f"{value.lineno}: {name} is an empty container"
    for node in ast.walk(module):
        match node:
            case ast.Global():
                yield f"{node.lineno}: global {', '.join(node.names)}"
            case ast.Attribute(value=ast.Name(id="functools"), attr=name) if name in _DECORATORS:
                yield f"{node.lineno}: {name}"
            case ast.ImportFrom(module="functools"):
                yield from (f"{node.lineno}: {each.name}" for each in node.names if each.name in _DECORATORS)
            case ast.FunctionDef():
                yield from _changed(node, names)


def _assigned(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in module.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=ast.expr() as value):
                if not ast.unparse(annotation).startswith(("Mapping[", "Sequence[", "Final[Mapping")):
                    yield name, value


def _names(module: ast.Module) -> Iterator[str]:
    """The variables of a module."""
    for node in module.body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _called(value: ast.expr) -> str:
    """``dict`` of ``dict()`` and of ``dict[str, int]()``, without arguments."""
    if not isinstance(value, ast.Call) or value.args or value.keywords:
        return ""
    function = value.func.value if isinstance(value.func, ast.Subscript) else value.func
    return function.id if isinstance(function, ast.Name) else ""


def _is_empty(value: ast.expr) -> bool:
    return (isinstance(value, ast.Dict) and not value.keys) or (
        isinstance(value, (ast.List, ast.Set)) and not value.elts
    )


def _changed(function: ast.FunctionDef, names: set[str]) -> Iterator[str]:
    """Where a function changes a variable of its module."""
    own = {
        *(each.arg for each in ast.walk(function) if isinstance(each, ast.arg)),
        *(
            each.id
            for each in ast.walk(function)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        ),
    }
    for node in ast.walk(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in _CHANGING:
                pass
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                pass
            case _:
                continue
        if name in names and name not in own:
            yield f"{node.lineno}: {name} is changed"


def test_no_module_remembers_anything_outside_the_store() -> None:
    found = [
        f"{path.relative_to(PACKAGE).as_posix()}:{where}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).as_posix() != STORE
        for where in caches(path.read_text("utf-8"))
    ]
    assert not found, "declare a query (smem_lsp/source/queries.py):\n  " + "\n  ".join(found)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("_KNOWN: dict[str, int] = {}", 1),
        ("_KNOWN = dict[str, int]()", 1),
        ("_KNOWN = OrderedDict()", 1),
        ("_KNOWN = []", 1),
        ("_WORDS = {'a': 1}", 0),
        ("_NONE: Mapping[str, int] = {}", 0),
        ("_WORDS = {'a': 1}\ndef f():\n    _WORDS['b'] = 2", 1),
        ("_WORDS = {'a': 1}\ndef f():\n    _WORDS.update(b=2)", 1),
        ("_WORDS = {'a': 1}\ndef f():\n    _WORDS = {}\n    _WORDS['b'] = 2", 0),
        ("_made = 0\ndef f():\n    global _made\n    _made += 1", 1),
        ("from functools import lru_cache", 1),
        ("import functools\n@functools.cache\ndef f(): ...", 1),
        ("_A = Query('a')\ndef f():\n    return _A.of(store, 1, g)", 0),
    ],
)
def test_the_test_sees(text: str, count: int) -> None:
    assert len(list(caches(text))) == count
