"""Exact bytes that a run of the tool claims, beside those that ptxas reports for the files that compile.

Each CUDA source file is given to nvcc for sm_90, with the flags of ``tests/corpora/standalone.txt`` when it stands
there, else with the folders of its project as include folders. A kernel of a header is compared through the files that
include it.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alone import STUBS, resolved, standalone
from benchmarks.runner.declared import Missing
from fetch import cache_folder
from ptxas import Entry, compile_entries, normal, spelled_instances
from toolchain import nvcc

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)
_ROOTS = ("include", "includes", "src", "csrc")
MOST_DEPTH = 6  # of an include folder below the project's


@dataclass(slots=True)
class Compared:
    """What came of one project."""

    files: int = 0
    compiled: int = 0
    timed_out: list[str] = field(default_factory=list)
    equal: int = 0  # claims: one kernel or instance as one file compiles it
    unmatched: int = (
        0  # exact claims of a compiled file whose instance nvcc did not make, or spells in another way
    )
    wrong: list[str] = field(default_factory=list)


def compare(
    folder: Path, kernels: Sequence[Mapping[str, Any]], defines: Sequence[str], seconds: int
) -> Compared:
    """``kernels``: of the JSON document of a run on ``folder``."""
    result = Compared()
    compiler = nvcc()
    if compiler is None:
        raise Missing("nvcc is not installed")
    project = _Project(folder, defines)
    by_path = defaultdict(list)
    for kernel in kernels:
        by_path[str(Path(kernel["path"]).resolve())].append(kernel)
    for file in project.sources:
        seen = project.included(file)
        ours = [kernel for path in seen for kernel in by_path[str(path)]]
        if not any(kernel["static_bytes"]["exact"] for kernel in ours):
            continue
        result.files += 1
        try:
            entries = compile_entries(
                compiler, file, project.flags(file), cache_folder() / "compiled", project.salt(seen), seconds
            )
        except subprocess.TimeoutExpired:
            result.timed_out.append(str(file))
            continue
        if not isinstance(entries, str):
            result.compiled += 1
            _compare_file(file, ours, entries, result)
    return result


def _compare_file(
    file: Path, kernels: Iterable[Mapping[str, Any]], entries: Sequence[Entry], result: Compared
) -> None:
    spelled = spelled_instances(list(entries))
    groups = defaultdict(list)
    for kernel in kernels:
        groups[_last(kernel["name"])].append(kernel)
    for name, group in groups.items():
        named = [entry for entry in entries if entry.name == name]
        several = len({(kernel["path"], kernel["line"]) for kernel in group}) > 1
        for kernel in group:
            if not kernel["static_bytes"]["exact"]:
                continue
            instance = kernel["instance"]
            found = named if instance is None else spelled.get(_plain(instance), [])
            if not found or several:  # overloads and namesakes are not told apart
                result.unmatched += 1
            elif (told := kernel["static_bytes"]["value"]) not in (values := {each.shared for each in found}):
                where = f"{kernel['path']}:{kernel['line']}: {instance or name}"
                result.wrong.append(f"{where}: {told} told, ptxas {sorted(values)}, through {file.name}")
            elif len(values) > 1:
                where = f"{kernel['path']}:{kernel['line']}: {instance or name}"
                result.wrong.append(f"{where}: {told} told of all instances, ptxas {sorted(values)}")
            else:
                result.equal += 1


class _Project:
    """Files of a folder: which are compiled, what they include, with which flags."""

    def __init__(self, folder: Path, defines: Sequence[str]) -> None:
        self.folder = folder.resolve()
        self._defines = defines
        known = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        self.sources = [path for path in known if path.suffix == ".cu"]
        self._named: dict[str, list[Path]] = defaultdict(list)
        for path in known:
            self._named[path.name].append(path)
        self._roots = [
            path
            for path in sorted(self.folder.rglob("*"))
            if path.is_dir()
            and path.name in _ROOTS
            and len(path.relative_to(self.folder).parts) <= MOST_DEPTH
        ]
        self._listed = {
            self.folder / each.path: each for each in standalone(everything=True) if not each.driver
        }

    def included(self, file: Path) -> list[Path]:
        """The file and those of the project that it includes, at any depth; a name that several bear: the one that
        stands nearest."""
        found, waiting = {file}, [file]
        while waiting:
            path = waiting.pop()
            for name in _INCLUDE.findall(path.read_text(encoding="utf-8", errors="replace")):
                candidates = [
                    each for each in self._named[Path(name).name] if each.as_posix().endswith(_tail(name))
                ]
                if candidates:
                    nearest = max(candidates, key=lambda each: len(_shared(each, path)))
                    if nearest not in found:
                        found.add(nearest)
                        waiting.append(nearest)
        return sorted(found)

    def flags(self, file: Path) -> list[str]:
        if file in self._listed:
            return resolved(self._listed[file], self.folder)[0]
        folders = [file.parent, *self._roots, STUBS]
        defined = [f"-D{each}" for each in self._defines]
        return ["--expt-relaxed-constexpr", *defined, *(f"-I{each}" for each in folders)]

    def salt(self, seen: Sequence[Path]) -> str:
        """What decides beside a file and its flags what nvcc says."""
        digest = hashlib.sha256()
        for path in [*seen, *sorted(each for each in STUBS.rglob("*") if each.is_file())]:
            digest.update(path.read_bytes())
        return digest.hexdigest()


def _tail(name: str) -> str:
    """An include's path without what leads upwards."""
    return "/" + "/".join(part for part in Path(name).parts if part not in ("..", ".", "/"))


def _shared(one: Path, other: Path) -> list[str]:
    return [a for a, b in zip(one.parts, other.parts) if a == b]


def _last(name: str) -> str:
    return name.rpartition("::")[2]


def _plain(instance: str) -> str:
    """An instance without namespaces in front of the kernel's name."""
    head, bracket, rest = instance.partition("<")
    return normal(_last(head) + bracket + rest)
