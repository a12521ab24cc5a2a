"""Which room of the house may import which: the data goes one way, and no two rooms know each other.

A room is a folder of ``smem_lsp``. ``MAY_IMPORT`` names for each what it may import; a room stands below all that may
import it, so the table has no circle, and a circle of files is allowed only where ``RECURSIVE`` says why.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "smem_lsp"
EXTENSION = PACKAGE.parent / "vscode-extension" / "src"

_FACTS = ("source", "targets")
_TEXT = ("source", "syntax")
_VALUES = ("ir", "terms", "analysis/values", *_FACTS)
_LOWERING = ("ir", "terms", "elaborate", "semantics", *_TEXT)
_ANALYSIS = (
    "analysis",
    "analysis/values",
    "analysis/dataflow",
    "analysis/threads",
    "analysis/execution",
    "analysis/decision",
    "analysis/hazards",
    "analysis/repairs",
    "analysis/storage",
    "analysis/banks",
    "analysis/host",
)

MAY_IMPORT: Mapping[str, tuple[str, ...]] = {  # from the bottom to the top
    "isolation": (),
    "source": (),
    "targets": ("source",),
    "config": _FACTS,
    "environment": _FACTS,
    "syntax": ("source",),
    "interpret": _TEXT,
    "semantics": ("interpret", *_TEXT),
    "elaborate": ("semantics", *_TEXT),
    "terms": ("source", "targets"),
    "ir": ("terms", *_TEXT, "targets"),
    "unit": ("interpret", *_LOWERING, "targets"),
    "analysis/copies": ("ir", "terms", "source"),
    "lowering/state": (*_LOWERING, "targets"),
    "lowering/callees": (*_LOWERING, "targets", "lowering/state"),
    "lowering/library": (*_LOWERING, "targets", "analysis/copies", "lowering/state", "lowering/callees"),
    "lowering/body": (
        *_LOWERING,
        "targets",
        "unit",
        "lowering/state",
        "lowering/callees",
        "lowering/library",
    ),
    "lowering": (
        *_LOWERING,
        "targets",
        "unit",
        "lowering/state",
        "lowering/callees",
        "lowering/library",
        "lowering/body",
    ),
    "analysis/values": ("ir", "terms", "syntax", *_FACTS),
    "analysis/dataflow": ("ir", *_FACTS),
    "analysis/threads": (*_VALUES, "analysis/dataflow"),
    "analysis/execution": (*_VALUES, "analysis/threads"),
    "analysis/decision": (*_VALUES, "analysis/dataflow", "analysis/threads"),
    "analysis/hazards": (
        *_VALUES,
        "analysis/dataflow",
        "analysis/threads",
        "analysis/execution",
        "analysis/decision",
    ),
    "analysis/repairs": (
        *_VALUES,
        "analysis/threads",
        "analysis/execution",
        "analysis/decision",
        "analysis/hazards",
    ),
    "analysis/storage": _VALUES,
    "analysis/banks": (*_VALUES, "analysis/threads"),
    "analysis/host": ("interpret", *_TEXT, "targets"),
    "analysis": ("targets",),
    "allocation": ("ir", "analysis/dataflow", "source"),
    "facts": ("config", "ir", "terms", "allocation", *_FACTS, *_ANALYSIS),
    "rules": ("config", "facts", "ir", "syntax", "allocation", *_FACTS, *_ANALYSIS),
    "fixes": ("rules", "facts", "ir", "terms", "syntax", "unit", "allocation", *_FACTS, *_ANALYSIS),
    "engine": (
        "config",
        "facts",
        "rules",
        "fixes",
        "allocation",
        "unit",
        "lowering",
        "targets",
        *_LOWERING,
        *_ANALYSIS,
    ),
    "output": ("engine", "facts", "rules", "fixes", "allocation", "unit", "targets", *_LOWERING, *_ANALYSIS),
    "cli": ("isolation", "config", "environment", "rules", "fixes", "engine", "output", *_FACTS),
    "server": (
        "config",
        "environment",
        "facts",
        "rules",
        "fixes",
        "engine",
        "output",
        "ir",
        "allocation",
        "syntax",
        *_FACTS,
    ),
    "": ("engine", "analysis"),
    "__main__": ("isolation", "cli"),
}

RECURSIVE = {  # circles of files that stay, each with its reason
    "lowering/body": "one recursive visitor: expressions hold lambdas, lambdas statements, statements expressions",
}

MAIN = "smem_lsp/__main__.py"  # python -m smem_lsp

# The command line hands over to the language server by name, in this one place; it knows nothing else of it.
HANDOVER = ("smem_lsp/cli/server.py", "smem_lsp.server")

OWNED = {  # distribution's top module -> the only package that may import it
    "lark": "syntax",
    "z3": "analysis/decision",
    "distributed": "cli",
    "pygls": "server",
    "lsprotocol": "server",
}


@dataclass(frozen=True, slots=True)
class Import:
    file: str  # "smem_lsp/rules/model.py"
    line: int
    module: str  # "smem_lsp.source.text"


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


def room(file: str) -> str:
    """The room a file stands in: ``smem_lsp/terms/language.py`` in ``analysis/values``."""
    return "__main__" if file == MAIN else "/".join(Path(file).parts[1:-1])


def room_of(module: str) -> str | None:
    """The room of a module of ours, longest name first; None: one that the table does not know."""
    parts = module.split(".")[1:]
    for count in range(len(parts), -1, -1):
        name = "/".join(parts[:count])
        if name in MAY_IMPORT:
            return name if count or not parts else None
    return None


def violations(found: Iterable[Import]) -> list[str]:
    wrong: list[str] = []
    for item in found:
        here = room(item.file)
        top = item.module.partition(".")[0]
        where = f"{item.file}:{item.line}"
        if top in OWNED and OWNED[top] != here:
            wrong.append(f"{where}: {here} imports {top}, only {OWNED[top]} may")
        if top != "smem_lsp" or (item.file, item.module) == HANDOVER:
            continue
        wanted = room_of(item.module)
        if here not in MAY_IMPORT:
            wrong.append(f"{where}: {here} has no place in the house")
        elif wanted is not None and wanted != here and wanted not in MAY_IMPORT[here]:
            wrong.append(
                f"{where}: {here or 'smem_lsp'} imports {wanted}, it may import {_words(MAY_IMPORT[here])}"
            )
    return wrong


def _words(names: tuple[str, ...]) -> str:
    return ", ".join(sorted(set(names))) or "nothing of ours"


def circles(arrows: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Strongly connected parts with more than one member, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[tuple[str, ...]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(arrows.get(name, ())):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            part = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(part) > 1:
                found.append(tuple(sorted(part)))

    for name in sorted(arrows):
        if name not in index:
            visit(name)
    return found


@functools.cache
def file_arrows() -> dict[str, set[str]]:
    """Module -> modules of ours that it imports when it is imported or run; annotations alone do not count."""
    modules = {_module(path): path for path in PACKAGE.rglob("*.py")}
    arrows: dict[str, set[str]] = {}
    for name, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        only_types = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and id(node) not in only_types:
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    target = full if full in modules else node.module
                    if target in modules and target != name:
                        arrows.setdefault(name, set()).add(target)
    return arrows


def _module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def all_imports() -> tuple[Import, ...]:
    found: list[Import] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE.parent).as_posix()
        found += imports(path.read_text(encoding="utf-8"), file, is_package=path.name == "__init__.py")
    return tuple(found)


def test_every_import_goes_one_way() -> None:
    wrong = violations(all_imports())
    assert not wrong, "imports against the order of the layers:\n  " + "\n  ".join(wrong)


def test_every_room_has_a_place_and_says_what_it_is() -> None:
    """A docstring of three sentences: what it holds, what it may import, what it never does."""
    rooms = {room(path.relative_to(PACKAGE.parent).as_posix()) for path in PACKAGE.rglob("*.py")}
    assert rooms - {""} <= set(MAY_IMPORT), "name the new room in MAY_IMPORT"
    for name in sorted(rooms - {"", "__main__"}):
        read = ast.parse((PACKAGE / name / "__init__.py").read_text(encoding="utf-8"))
        text = " ".join((ast.get_docstring(read) or "").split())
        for word in ("Holds ", "May import ", "Never "):
            assert word in text, (
                f"{name}/__init__.py: the docstring has no sentence that begins with {word!r}"
            )


def test_the_table_has_no_circle() -> None:
    assert not circles({name: set(others) for name, others in MAY_IMPORT.items()})


@pytest.mark.slow(seconds=3)
def test_files_go_round_only_where_it_is_said_why() -> None:
    rooms = {"/".join(part.split(".")[1:-1]) for circle in circles(file_arrows()) for part in circle}
    assert rooms == set(RECURSIVE)
    for circle in circles(file_arrows()):
        assert len({part.rpartition(".")[0] for part in circle}) == 1, circle


def test_the_files_of_the_extension_import_one_way() -> None:
    """Imports of types count too: a file is to be read without those that are read with its help."""
    sources = {path.stem: path.read_text(encoding="utf-8") for path in EXTENSION.glob("*.ts")}
    arrows = {name: set(re.findall(r"from '\./(\w+)'", text)) for name, text in sources.items()}
    assert set().union(*arrows.values()) <= set(arrows) and arrows["extension"]
    assert not circles(arrows)


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [("b", "c")]


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
        ("smem_lsp/syntax/a.py", "from ..ir.nodes import Kernel", True),
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
        ("smem_lsp/analysis/values/a.py", "from smem_lsp.analysis.threads.uniformity import Control", True),
        ("smem_lsp/analysis/threads/a.py", "from smem_lsp.analysis.values import terms", False),
        ("smem_lsp/lowering/library/a.py", "from smem_lsp.lowering.body import calls", True),
        ("smem_lsp/lowering/body/a.py", "from smem_lsp.lowering.library import cub", False),
        ("smem_lsp/unit/a.py", "from smem_lsp.lowering.kernel import build_kernel", True),
        ("smem_lsp/strange/a.py", "import smem_lsp.source", True),
        ("smem_lsp/__init__.py", "import smem_lsp.engine", False),
        ("smem_lsp/__init__.py", "import smem_lsp.cli", True),
        ("smem_lsp/__main__.py", "import smem_lsp.cli", False),
    ],
)
def test_the_test_sees(file: str, text: str, wrong: bool) -> None:
    found = violations(imports(text, file, is_package=file.endswith("__init__.py")))
    assert bool(found) == wrong, found
