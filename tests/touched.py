"""Which tests a change can reach, by the imports of the tests and the floor table of ``tests/project/test_layers.py``.

    python tests/touched.py [--base REV]     prints the files to run, and on stderr what is left out and why

A test reaches the rooms that it imports, those that these may import, and the files of ``tests`` that it imports; one
that starts processes reaches the whole product. What cannot be placed, such as a setting of the build or a text that
tests read, is a reason to run everything. ``REV``: where main was left, or HEAD on main itself.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from project.test_layers import MAY_IMPORT, imports, room, room_of

ROOT = Path(__file__).parents[1]
_STARTS = re.compile(r"\bsys\.executable\b")  # the product in a process of its own; compilers never import it
_NAMED = re.compile(r"\bsmem_lsp(?:\.\w+)+")  # in strings too: what is replaced or imported by name
_NO_CODE = {"docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "mkdocs.yml", "action.yml"}
_EXTENSION = "vscode-extension"
_EDITORS = ("tests/editor/", "tests/neovim/", "tests/emacs/")
_DOORS = (
    *_EDITORS,
    "tests/cli/",
    "tests/server/",
    "tests/examples/",
)  # start the product, mostly through helpers
_HOUSE = "tests/project/"  # its tests read the repository as a whole


@dataclass(frozen=True)
class TestFile:
    """A file of Python below ``tests``. ``reads``: files of tests that it imports; ``rooms``: those that it imports."""

    __test__ = False  # for pytest

    path: str
    text: str
    reads: frozenset[str] = frozenset()
    rooms: frozenset[str] = frozenset()

    @property
    def is_test(self) -> bool:
        return PurePosixPath(self.path).name.startswith("test_")

    @property
    def starts(self) -> bool:
        """Does it start the product, so that its imports do not tell all that it reaches?"""
        installed = self.path.startswith(_HOUSE) and "subprocess" in self.text  # smem-lsp, make, pre-commit
        return installed or self.path.startswith(_DOORS) or _STARTS.search(self.text) is not None


@dataclass
class Selection:
    """``everything``: why all tests run; else ``files``, and the reasons of those that do not."""

    everything: str = ""
    files: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def select(changed: Iterable[str], tests: Sequence[TestFile]) -> Selection:
    """The tests that a change of these files, relative to the root, can reach."""
    known = {each.path: each for each in tests}
    rooms: set[str] = set()
    files: set[str] = set()
    words: set[str] = set()
    for path in sorted(changed):
        top = path.partition("/")[0]
        if top == "smem_lsp" and path.endswith(".py"):
            if room(path) not in MAY_IMPORT:
                return Selection(f"{path} is in no room")
            rooms.add(room(path))
        elif path in known and "/" in path.removeprefix("tests/"):
            here = str(PurePosixPath(path).parent) + "/"
            files.add(path)
            if path.endswith("/conftest.py"):
                files.update(other for other in known if other.startswith(here))
        elif path.startswith(_EDITORS) or top == _EXTENSION:
            files.update(other for other in known if other.startswith(_EDITORS))
            words.add(_EXTENSION)
        elif top in _NO_CODE:
            words.add(top.partition(".")[0])
        else:
            return Selection(f"{path} may matter to any test")
    found = Selection()
    for test in tests:
        if test.is_test:
            if _reached(test, known, rooms, files, words):
                found.files.append(test.path)
            else:
                found.left_out[test.path] = _reason(rooms, files, words)
    return found


def _reached(
    test: TestFile, known: Mapping[str, TestFile], rooms: set[str], files: set[str], words: set[str]
) -> bool:
    read = _with_what_is_read(test, known)
    if test.path.startswith(_HOUSE) and not any(each.starts for each in read):
        return True
    if files.intersection(each.path for each in read):
        return True
    if any(word in each.text for word in words for each in read):
        return True
    if rooms and any(each.starts for each in read):
        return True
    return bool(rooms & below(room for each in read for room in each.rooms))


def _with_what_is_read(test: TestFile, known: Mapping[str, TestFile]) -> list[TestFile]:
    seen = {test.path: test}
    left = [test]
    while left:
        for path in left.pop().reads:
            if path not in seen:
                seen[path] = known[path]
                left.append(known[path])
    return list(seen.values())


def below(rooms: Iterable[str]) -> set[str]:
    """The rooms and all that they may import, directly or not."""
    found: set[str] = set()
    left = list(rooms)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += MAY_IMPORT.get(name, ())
    return found


def _reason(rooms: set[str], files: set[str], words: set[str]) -> str:
    parts = [
        f"reach none of {', '.join(f'smem_lsp/{name}'.rstrip('/') for name in sorted(rooms))}" * bool(rooms),
        f"import none of {', '.join(sorted(files)) if len(files) < 4 else f'{len(files)} files of tests'}"
        * bool(files),
        f"do not speak of {', '.join(sorted(words))}" * bool(words),
    ]
    return ", ".join(filter(None, parts)) or "nothing of theirs has changed"


# ---- what there is -------------------------------------------------------------------------------------------------


def read_tests(root: Path, roots: Sequence[str]) -> list[TestFile]:
    """All files of Python below ``tests``. ``roots``: the folders from which they import each other."""
    paths = sorted(path.relative_to(root).as_posix() for path in (root / "tests").rglob("*.py"))
    names = {name: path for path in paths for name in _names(path, roots)}
    found = []
    for path in paths:
        text = (root / path).read_text(encoding="utf-8")
        reads: set[str] = set()
        rooms = {room_of(name) or "" for name in _NAMED.findall(text)}
        for each in imports(text, path, is_package=path.endswith("/__init__.py")):
            if each.module.partition(".")[0] == "smem_lsp":
                rooms.add(room_of(each.module) or "")
            else:
                reads.update(_files(each.module, names))
        found.append(TestFile(path, text, frozenset(reads - {path}), frozenset(rooms)))
    return found


def _names(path: str, roots: Sequence[str]) -> Iterator[str]:
    """The modules that a file is: ``executor.model`` and ``tests.executor.model``."""
    for each in roots:
        start = "" if each == "." else f"{each}/"
        if path.startswith(start):
            yield path.removeprefix(start).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _files(module: str, names: Mapping[str, str]) -> Iterator[str]:
    """The file of a module, those of the packages that it is in, and those of the modules in it: ``from fixes import
    test_guests`` names one."""
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        if path := names.get(".".join(parts[:count])):
            yield path
    for name, path in names.items():
        if name.rpartition(".")[0] == module:
            yield path


def import_roots(pyproject: str) -> list[str]:
    """``pythonpath`` of pytest."""
    found = re.search(r"^pythonpath = \[([^\]]*)\]", pyproject, re.M)
    assert found is not None
    return re.findall(r'"([^"]+)"', found[1])


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"touched: git {' '.join(arguments)}: {done.stderr.strip()}")
    return [name for name in done.stdout.split("\0" if "-z" in arguments else "\n") if name]


def changed_since(base: str | None) -> list[str]:
    """Files that differ from ``base``, whether or not they are committed."""
    if base is None:
        heads = _git("for-each-ref", "--format=%(refname:short)", "refs/heads/main")
        base = _git("merge-base", "HEAD", heads[0])[0] if heads else "HEAD"
    return sorted(
        {
            *_git("diff", "--name-only", "--no-renames", "-z", base),
            *_git("ls-files", "--others", "--exclude-standard", "-z"),
        }
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests/run --touched", description=__doc__, add_help=False)
    parser.add_argument("--base", metavar="REV")
    changed = changed_since(parser.parse_args(arguments).base)
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = select(changed, read_tests(ROOT, import_roots(pyproject)))
    if found.everything:
        print(f"everything runs: {found.everything}", file=sys.stderr)
        print("tests")
        return 0
    print(f"{len(changed)} files have changed; {len(found.files)} files of tests run", file=sys.stderr)
    folders: dict[tuple[str, str], int] = defaultdict(int)
    for path, why in found.left_out.items():
        folders[str(PurePosixPath(path).parent), why] += 1
    for (folder, why), count in folders.items():
        print(f"left out: {folder}, {count} files: they {why}", file=sys.stderr)
    print("\n".join(found.files))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
