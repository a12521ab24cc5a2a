"""What is to be done with a file, and what came of it: plain data, which processes hand to each other. Nothing of it
needs the analyses, so that a run that finds all its results does not import them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from smem_lsp.cli.baseline import Baseline, Key
from smem_lsp.cli.fix_policy import FixPolicy, Hidden
from smem_lsp.cli.results import counted, counter
from smem_lsp.config import Config
from smem_lsp.environment import SourceFile
from smem_lsp.output.style import Style
from smem_lsp.rules.model import Severity
from smem_lsp.source.record import dataclass

if TYPE_CHECKING:
    from smem_lsp.output.json_document import JsonObject


@dataclass(frozen=True, slots=True)
class Options:
    """What to do with every file."""

    format: str = "full"  # one of FORMATS, or "diff"
    style: Style = field(default_factory=Style)
    fix: bool = False  # write the fixed text back
    diff: bool = False  # show what fixing would change; wins over fix
    policy: FixPolicy = field(default_factory=FixPolicy)
    reuse: bool = True  # use what a compiler said in earlier runs
    terminal: bool = False  # stdout is one
    statistics: bool = False  # count what was read, and judge each kernel
    verdicts: bool = False  # judge each kernel
    trees: tuple[str, ...] = ()  # folders that no link may lead out of when a file is written
    isolated: bool = False  # no config file counts
    baseline: Baseline | None = None  # findings that are not told
    record: bool = False  # for a baseline: none is told
    to_file: bool = False  # findings go to a file, totals to stdout
    folders: tuple[str, ...] = ()  # that were named: projects, where nothing else says so

    @property
    def reads_only(self) -> bool:
        """Is nothing rewritten, and no baseline written?"""
        return not (self.fix or self.diff or self.record)

    @property
    def whole(self) -> bool:
        """Is every kernel of a file reported, or only what the rules find?"""
        return self.format == "json" or self.judges

    @property
    def judges(self) -> bool:
        """Is it worked out of each kernel whether it is race-free?"""
        return self.verdicts or self.statistics


@dataclass(frozen=True, slots=True)
class FileTask:
    """A file to check under its own settings. ``given``: its text, when it does not come from the disk; ``within``: the
    files through which it is read, None: those that the project has."""

    path: str
    config: Config
    given: SourceFile | None = None
    within: tuple[str, ...] | None = None


@dataclass(slots=True)
class FileOutcome:
    """What came of one file."""

    path: str
    text: str = ""  # for people: findings or a diff
    fixed_text: str | None = None  # of a text that was given
    findings: list[JsonObject] = field(default_factory=list)
    kernels: list[JsonObject] = field(default_factory=list)
    functions: list[JsonObject] = field(default_factory=list)  # of the device, that touch shared memory
    file: JsonObject = field(default_factory=dict)
    headers: tuple[str, ...] = ()  # of its project, with kernels, which it includes
    counts: Counter[tuple[Severity, str]] = field(default_factory=Counter)  # findings by severity and code
    fixed: Counter[str] = field(default_factory=Counter)  # findings fixed, by code
    fixable: int = 0  # findings that --fix would fix, or could not fix
    hidden: Counter[Hidden] = field(default_factory=Counter)  # findings that it would fix under other flags
    known: int = 0  # findings of the baseline
    gone: int = 0  # findings of the baseline that are not there any more
    recorded: Counter[Key] = field(default_factory=Counter)  # findings, for a new baseline
    statements: int = 0
    unparsed: int = 0  # statements
    unknown: int = 0  # accesses and barriers that were not resolved
    verdicts: Counter[str] = field(default_factory=Counter)  # on kernels with shared memory, by their words
    verdict_lines: list[str] = field(default_factory=list)  # one for each of them
    errors: list[str] = field(default_factory=list)  # one line each, naming the file
    notes: list[str] = field(default_factory=list)  # the same for problems that do not stop the run

    @property
    def written(self) -> JsonObject:
        """As JSON, where nothing is rewritten."""
        left = {name: getattr(self, name) for name in _KEPT}
        return {**left, "counts": counted(self.counts), "verdicts": dict(self.verdicts)}

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> FileOutcome | None:
        """What was ``written``; None: it was something else."""
        try:
            left = {name: kept[name] for name in _KEPT}
            left["headers"] = tuple(left["headers"])
            outcome = cls(**left, counts=counter(kept["counts"]), verdicts=Counter(kept["verdicts"]))
        except (LookupError, TypeError, ValueError):
            return None
        empty = cls("")
        same = all(type(value) is type(getattr(empty, name)) for name, value in left.items())
        return outcome if same else None


_KEPT = (
    "path",
    "text",
    "findings",
    "kernels",
    "functions",
    "file",
    "headers",
    "fixable",
    "known",
    "gone",
    "statements",
    "unparsed",
    "unknown",
    "verdict_lines",
    "errors",
    "notes",
)


def failed(path: str, error: str) -> FileOutcome:
    """The outcome of a file that could not be checked. ``error``: one line that names the file."""
    from smem_lsp.output.json_document import failed_file_object

    file = failed_file_object(path, error.removeprefix(f"{path}: "))
    return FileOutcome(path, file=file, errors=[error])
