"""Which package may import which: the data goes one way.

``source → syntax → ir → analysis → allocation → rules → fixes → engine → output → {cli, server}``; ``targets``,
``config`` and ``environment`` stand beside them and know nothing of ours but ``source``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "smem_lsp"

LAYERS = (
    "source",
    "syntax",
    "semantics",
    "ir",
    "unit",
    "lowering",
    "analysis",
    "allocation",
    "rules",
    "fixes",
    "engine",
    "output",
)
ENDS = ("cli", "server")  # on top of all layers, unknown to each other
BESIDE = {  # package -> who may import it
    "targets": ("analysis", "allocation", "rules", "fixes", "engine", "output", *ENDS),
    "config": ("rules", "fixes", "engine", "output", *ENDS),
    "environment": ENDS,
}
MAIN = "smem_lsp/__main__.py"  # python -m smem_lsp

# The command line hands over to the language server by name, in this one place; it knows nothing else of it.
HANDOVER = ("smem_lsp/cli/server.py", "smem_lsp.server")

OWNED = {  # distribution's top module -> the only package that may import it
    "lark": "syntax",
    "pygls": "server",
    "lsprotocol": "server",
}


@dataclass(frozen=True, slots=True)
class Import:
    file: str  # "smem_lsp/rules/model.py"
    line: int
    module: str  # "smem_lsp.source.text"


def allowed() -> dict[str, frozenset[str]]:
    """What each package may import of ours, itself left out."""
    rules: dict[str, set[str]] = {name: set(LAYERS[:index]) for index, name in enumerate(LAYERS)}
    rules |= {end: set(LAYERS) for end in ENDS}
    rules |= {name: {"source"} for name in BESIDE}
    for name, users in BESIDE.items():
        for user in users:
            rules[user].add(name)
    rules["smem_lsp"] = {*LAYERS, "targets", "config"}
    rules["__main__"] = {"cli"}
    return {name: frozenset(others) for name, others in rules.items()}


def imports(text: str, file: str, *, is_package: bool) -> Iterator[Import]:
    """Every import of a module, inside functions and under TYPE_CHECKING too."""
    package = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    if not is_package:
        package = package.rpartition(".")[0]
    for node in ast.walk(ast.parse(text, file)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).rstrip(".")
            # `from smem_lsp import rules` names a package as much as `import smem_lsp.rules` does.
            for alias in node.names:
                yield Import(file, node.lineno, f"{base}.{alias.name}" if base == "smem_lsp" else base)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__") and node.args:
            for name in _spelled(node.args[0]):
                yield Import(file, node.lineno, name)


def _called(node: ast.Call) -> str:
    target = node.func
    return (
        target.attr
        if isinstance(target, ast.Attribute)
        else target.id
        if isinstance(target, ast.Name)
        else ""
    )


def _spelled(argument: ast.expr) -> Iterator[str]:
    """The module names an argument may stand for; of an f-string what comes before its first hole."""
    match argument:
        case ast.Constant(value=str(name)):
            yield name
        case ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]):
            yield start.rstrip(".")
        case ast.IfExp():
            yield from _spelled(argument.body)
            yield from _spelled(argument.orelse)


def owner(file: str) -> str:
    """The package a file belongs to."""
    parts = Path(file).parts
    return parts[1] if len(parts) > 2 else "__main__" if file == MAIN else "smem_lsp"


def violations(found: Iterator[Import]) -> list[str]:
    rules = allowed()
    wrong: list[str] = []
    for item in found:
        package = owner(item.file)
        top, _, rest = item.module.partition(".")
        where = f"{item.file}:{item.line}"
        if top in OWNED and OWNED[top] != package:
            wrong.append(f"{where}: {package} imports {top}, only {OWNED[top]} may")
        if top != "smem_lsp" or (item.file, item.module) == HANDOVER:
            continue
        wanted = rest.partition(".")[0]
        if package not in rules:
            wrong.append(f"{where}: {package} has no place in the order of the layers")
        elif wanted in rules and wanted != package and wanted not in rules[package]:
            wrong.append(f"{where}: {package} imports {wanted}, it may import {_words(rules[package])}")
    return wrong


def _words(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing of ours"


def all_imports() -> Iterator[Import]:
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE.parent).as_posix()
        yield from imports(path.read_text(encoding="utf-8"), file, is_package=path.name == "__init__.py")


def test_every_import_goes_one_way() -> None:
    wrong = violations(all_imports())
    assert not wrong, "imports against the order of the layers:\n  " + "\n  ".join(wrong)


def test_every_package_has_a_place() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert folders <= set(allowed()), "name the new package in LAYERS, ENDS or BESIDE"


def test_only_known_distributions() -> None:
    """What is imported beside ours and the standard library is a dependency in pyproject.toml."""
    # typing_extensions: mypy brings it, for its eyes only
    known = {*sys.stdlib_module_names, *OWNED, "smem_lsp", "tomllib", "tomli", "typing_extensions"}
    strange = [f"{item.file}:{item.line}: {item.module}" for item in all_imports() if _top(item) not in known]
    assert not strange, "\n  ".join(strange)


def _top(item: Import) -> str:
    return item.module.partition(".")[0]


@pytest.mark.parametrize(
    ("file", "text", "wrong"),
    [
        ("smem_lsp/ir/a.py", "from smem_lsp.syntax import tree", False),
        ("smem_lsp/syntax/a.py", "from smem_lsp.ir.nodes import Kernel", True),
        ("smem_lsp/syntax/a.py", "from ..ir.model import Kernel", True),
        ("smem_lsp/syntax/a.py", "from .. import ir", True),
        ("smem_lsp/syntax/a.py", "from .tree import Node", False),
        ("smem_lsp/syntax/__init__.py", "from .tree import Node", False),
        ("smem_lsp/syntax/__init__.py", "from ..ir import model", True),
        ("smem_lsp/ir/a.py", "def f():\n    import lark", True),
        ("smem_lsp/syntax/a.py", "import lark", False),
        ("smem_lsp/cli/a.py", "import pygls.lsp.server", True),
        ("smem_lsp/cli/a.py", "from smem_lsp.server import main", True),
        ("smem_lsp/cli/a.py", "importlib.import_module('smem_lsp.server')", True),
        ("smem_lsp/cli/a.py", "importlib.import_module(f'smem_lsp.server.{name}')", True),
        ("smem_lsp/cli/a.py", "importlib.import_module('lark' if x else 'tomli')", True),
        ("smem_lsp/server/a.py", "from smem_lsp import cli", True),
        ("smem_lsp/engine/a.py", "from smem_lsp.environment import DiskReader", True),
        ("smem_lsp/engine/a.py", "from smem_lsp.config import Config", False),
        ("smem_lsp/analysis/a.py", "from smem_lsp.targets import lookup", False),
        ("smem_lsp/analysis/a.py", "from smem_lsp.config import Config", True),
        ("smem_lsp/targets/a.py", "from smem_lsp.source import Span", False),
        ("smem_lsp/targets/a.py", "from smem_lsp.syntax import tree", True),
        ("smem_lsp/config/a.py", "from smem_lsp.environment import DiskReader", True),
        ("smem_lsp/strange/a.py", "import smem_lsp.source", True),
        ("smem_lsp/__init__.py", "import smem_lsp.engine", False),
        ("smem_lsp/__init__.py", "import smem_lsp.cli", True),
        ("smem_lsp/__main__.py", "import smem_lsp.cli", False),
    ],
)
def test_the_test_sees(file: str, text: str, wrong: bool) -> None:
    found = violations(imports(text, file, is_package=file.endswith("__init__.py")))
    assert bool(found) == wrong, found
