"""What the other files of a project pass to the functions of a unit that launch its kernels."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from smem_lsp.source import FileReader
from smem_lsp.source.budget import look, used_up
from smem_lsp.unit.file_index import defines_function, names_function
from smem_lsp.unit.launches import HostCode
from smem_lsp.unit.outside_calls import NOTHING, ExternalFunction, Passed, outside_of
from smem_lsp.unit.unit_facts import UnitFacts, host_code, with_callers

_DEEPEST = 3  # calls from file to file
_MOST_NAMING = 256  # files in which the name of one function is looked for
_MOST_UNITS = 8  # that call one function
_MOST_READ = 16  # units of callers of one file
_MOST_PASSED = 8  # ways in which one function is called


class ProjectCallers:
    """``read``: a main file as its own unit, None if it cannot be read."""

    def __init__(self, reader: FileReader, read: Callable[[str], UnitFacts | None]) -> None:
        self._reader = reader
        self._read = read
        self._units: dict[str, UnitFacts | None] = {}  # by main file

    def known(self, around: UnitFacts) -> UnitFacts:
        """The unit with the launches that follow from calls in other files: of each function that passes on what it is
        given, from all of them, or none if one cannot be read."""
        callers = self._callers(host_code(around), _DEEPEST)
        return with_callers(around, callers) if callers else around

    def _callers(self, host: HostCode, depth: int) -> Mapping[int, tuple[Passed, ...]]:
        found: dict[int, tuple[Passed, ...]] = {}
        for function, outside in host.asking():
            look()
            named = self._reader.calling(outside.path, outside.name)
            if named is None:  # of no project
                continue
            passed = self._passed(outside, named, depth) if depth else None
            if passed is None:
                found[function.number] = (NOTHING,)
            elif passed:
                found[function.number] = passed
        return found

    def _passed(
        self, wanted: ExternalFunction, named: Sequence[str], depth: int
    ) -> tuple[Passed, ...] | None:
        """What the files that may have ``named`` a function pass to it; None: not known of all calls."""
        mains = self._mains(wanted, named)
        if mains is None:
            return None
        found: dict[Passed, Passed] = {}
        for main, files in mains.items():
            passed = self._passed_in(main, files, wanted, depth)
            if passed is None:
                return None
            for each in passed:
                found.setdefault(each.unplaced, each)
        return tuple(found.values()) if len(found) <= _MOST_PASSED else None

    def _mains(self, wanted: ExternalFunction, named: Sequence[str]) -> dict[str, set[str]] | None:
        """The main files of the units that may call a function, each with those of its files that name it; None: not
        known, or too many."""
        if len(named) > _MOST_NAMING:
            return None
        own = self._reader.real(wanted.path)
        texts = {file: self._reader.read(file) for file in named}
        others = [file for file, text in texts.items() if text and defines_function(text, wanted.name)]
        found: dict[str, set[str]] = {}
        for file, text in texts.items():
            look()
            if text is None:
                return None
            if not names_function(text, wanted.name) or self._means_another(file, wanted, others):
                continue
            for main in self._reader.includers(file) or (file,):
                if self._reader.real(main) != own:
                    found.setdefault(main, set()).add(self._reader.real(file))
            if len(found) > _MOST_UNITS:
                return None
        return found

    def _means_another(self, file: str, wanted: ExternalFunction, others: Sequence[str]) -> bool:
        """Do the calls of a file mean a function that is defined nearer to it, in another copy of the project?"""
        own = _distance(file, self._reader.real(wanted.path))
        nearer = (other for other in others if other != file and _distance(file, other) < own)
        return any(self._defines(other, wanted) for other in nearer)

    def _defines(self, main: str, wanted: ExternalFunction) -> bool:
        """Does a file define a function that other files call like this one?"""
        around = self._unit(main)
        if around is None:
            return False
        unit, top = around.unit, around.constants
        named = (outside_of(unit, top, each) for each in unit.functions if each.name == wanted.name)
        return any(each is not None and each.like(wanted) for each in named)

    def _passed_in(
        self, main: str, files: set[str], wanted: ExternalFunction, depth: int
    ) -> tuple[Passed, ...] | None:
        """What one unit passes. ``files``: those of it that name the function."""
        around = self._unit(main)
        if around is None or not files <= {self._reader.real(each.source.path) for each in around.unit.files}:
            return None
        host = host_code(around, {wanted.name: wanted})
        passed = host.walked(self._callers(host, depth - 1)).passed[wanted.name]
        return None if passed is None else tuple(passed)

    def _unit(self, main: str) -> UnitFacts | None:
        if main not in self._units:
            enough = len(self._units) >= _MOST_READ or used_up()
            self._units[main] = None if enough else self._read(main)
        return self._units[main]


def _distance(path: str, other: str) -> int:
    """How many folders lie between two files."""
    parts, others = path.split(os.sep)[:-1], other.split(os.sep)[:-1]  # noqa: PTH206
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(parts, others)))
    return len(parts) + len(others) - 2 * shared
