"""A rule, what it finds, and what would cure it as data."""

from __future__ import annotations

import enum
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Generic

from smem_lsp.ir.places import At, Row
from smem_lsp.rules.words import LaunchPlace, Words
from smem_lsp.source import Span
from smem_lsp.source.record import dataclass

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from smem_lsp.facts.layouts import LayoutCandidate
    from smem_lsp.ir.nodes import Kernel
    from smem_lsp.rules.facts import FileFacts, KernelFacts
    from smem_lsp.rules.suppressions import Suppression
    from smem_lsp.source import SourceText
    from smem_lsp.syntax.parse import Function
    from smem_lsp.targets.dialects import Dialect

    P = TypeVar("P", covariant=True, default=Span)
else:
    from typing import TypeVar

    P = TypeVar("P", covariant=True)


class Severity(enum.IntEnum):
    """The numbers of LSP: a smaller one is more severe."""

    ERROR = 1
    WARNING = 2
    INFO = 3
    HINT = 4

    @property
    def label(self) -> str:
        return self.name.lower()

    @classmethod
    def parse(cls, text: str) -> Severity:
        """``"warning"`` -> WARNING. Raises ValueError naming the four words."""
        try:
            return cls[text.upper()]
        except KeyError:
            raise ValueError(f'"{text}" is no severity: use error, warning, info or hint') from None


Stand = At | Row | LaunchPlace
"""Where a finding about a kernel stands, whatever the text: a range of the IR, all that is written in a line of it, or
a launch."""


def placed(stand: object, kernel: Kernel, source: SourceText) -> Span:
    """Where in ``source`` a finding about ``kernel`` stands now: ``stand`` is a ``Stand``, or where it is already."""
    match stand:
        case At():
            return kernel.places.span(stand)
        case Row():
            start = source.lines.starts[kernel.places.line(stand) - 1]
            text = source.text[start : source.line_end(start)]
            return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))
        case LaunchPlace():
            return kernel.launches[stand.number].span
        case _:
            assert isinstance(stand, Span)
            return stand


@dataclass(frozen=True, slots=True)
class Note(Generic[P]):
    """A second place that belongs to a finding. ``source``: the file that it is in; None: the one that is checked."""

    span: P | Span
    message: str
    source: SourceText | None = None

    def placed(self, kernel: Kernel, source: SourceText) -> Note:
        """Where ``kernel`` stands now, in ``source``."""
        return Note(placed(self.span, kernel, source), self.message, self.source)


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that cures a finding; ``fixes`` has a cure for each type. ``kernel``: its index in the report."""

    kernel: int


@dataclass(frozen=True, slots=True)
class MergeBuffers(Remedy):
    """Lay the kernel's buffers out as ``candidate`` says. ``waits``: after one more wait for its copies."""

    candidate: LayoutCandidate
    benefit: str  # for the title: "5 → 7 blocks/SM (sm_90, 256 threads, 40 registers)"
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Unmerge(Remedy):
    """Give each purpose that takes turns in the bytes of a buffer an array of its own."""

    buffer: int


@dataclass(frozen=True, slots=True)
class RemoveDeclarator(Remedy):
    """Delete the declaration of a buffer that nobody uses."""

    buffer: int


@dataclass(frozen=True, slots=True)
class InsertBarrier(Remedy):
    """Put a barrier at a Place (its point). ``reason``: what it protects, for a comment; ``proved``: that it is
    missing, for the block that is known or assumed."""

    place: int
    reason: str
    proved: bool
    warp: bool = False  # `__syncwarp()`


@dataclass(frozen=True, slots=True)
class InsertWait(Remedy):
    """Put a wait for asynchronous copies at a Place (its point), with a barrier of the block behind it if ``barrier``.
    ``loose``: it has to cover copies that belong to no group; ``proved``: that it is missing."""

    place: int
    barrier: bool
    loose: bool
    proved: bool


@dataclass(frozen=True, slots=True)
class InsertFence(Remedy):
    """Put a fence of the asynchronous proxy at a Place (its point), for what threads write to ``buffer``. ``proved``:
    that it is missing."""

    place: int
    buffer: str
    proved: bool


@dataclass(frozen=True, slots=True)
class LowerWait(Remedy):
    """Let a wait for asynchronous copies (its point) leave only ``left`` groups open."""

    wait: int
    left: int


@dataclass(frozen=True, slots=True)
class MoveBarrier(Remedy):
    """Take a barrier (its point) to a Place (its point). ``proved``: that it is wrong where it is."""

    barrier: int
    place: int
    proved: bool


@dataclass(frozen=True, slots=True)
class RemoveBarrier(Remedy):
    """Delete the statement of a barrier (its point)."""

    barrier: int


@dataclass(frozen=True, slots=True)
class PadRows(Remedy):
    """Make the rows of a buffer ``pad`` elements longer. ``effect``: for the title: "32 → 1 wavefronts"; ``instead``:
    what else would help, in words for the user."""

    buffer: int
    pad: int
    effect: str
    instead: str


@dataclass(frozen=True, slots=True)
class ShowSwizzle(Remedy):
    """Show how the author could swizzle the columns of a buffer: ``text``."""

    text: str


@dataclass(frozen=True, slots=True)
class ShowCallerReuse(Remedy):
    """Show how a function could be handed the bytes of a buffer of its caller, ``host``, for its own array."""

    hosts: tuple[tuple[int, int], ...]  # (array, host)


@dataclass(frozen=True, slots=True)
class ReorderDeclarations(Remedy):
    """Declare all buffers of the kernel in this order."""

    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ShowStorage(Remedy):
    """Show how the author could declare the members of the class in a buffer: ``text``."""

    buffer: str
    text: str


@dataclass(frozen=True, slots=True)
class MoveRanges(Remedy):
    """Let ranges of dynamic shared memory share bytes. ``number``: of the plan among the best ones."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class MoveTermRanges(Remedy):
    """The same for ranges in terms. ``number``: of the plan among those in terms."""

    number: int = 0


@dataclass(frozen=True, slots=True)
class MoveToDynamic(Remedy):
    """Declare the static buffers of a kernel in dynamic shared memory, and let its launches pass the bytes."""


@dataclass(frozen=True, slots=True)
class HostCall:
    """``call``, statements, each on a line, is to stand before ``statement``. ``alone``: that is one of a block;
    ``closes``: it is the brace that closes the block."""

    statement: Span
    call: str
    alone: bool
    closes: bool


@dataclass(frozen=True, slots=True)
class ChangeHost(Remedy):
    """Insert calls into host code, and put other texts in the place of arguments. It is about no kernel (-1)."""

    title: str
    calls: tuple[HostCall, ...]
    arguments: tuple[tuple[Span, str], ...] = ()


DataValue = int | str | bool | None


@dataclass(frozen=True, slots=True)
class Finding(Generic[P]):
    """One thing to tell the author. ``span``: where it stands, in the checked file; ``words``: its message, with the
    places that it names as parts of their own."""

    code: str
    words: str | Words
    span: P
    severity: Severity
    kernel: str | None = None
    buffers: tuple[str, ...] = ()
    verdict: str = "proved"  # proved | likely
    related: tuple[Note[P], ...] = ()
    data: Mapping[str, DataValue] = field(default_factory=dict)
    remedy: Remedy | None = None
    unnecessary: bool = False  # editors fade the text
    everywhere: bool = False  # of a function that kernels call: it holds only if each of them says so

    @property
    def message(self) -> str:
        return str(self.words)

    def placed(self, index: int, kernel: Kernel, source: SourceText) -> Finding:
        """Where ``kernel`` stands now, in ``source``. ``index``: its number in the report."""
        remedy, words = self.remedy, self.words
        return Finding(
            self.code,
            words.placed(kernel, source) if isinstance(words, Words) else words,
            placed(self.span, kernel, source),
            self.severity,
            self.kernel,
            self.buffers,
            self.verdict,
            tuple(note.placed(kernel, source) for note in self.related),
            self.data,
            remedy if remedy is None or remedy.kernel == index else replace(remedy, kernel=index),
            self.unnecessary,
            self.everywhere,
        )

    def with_severity(self, severity: Severity) -> Finding[P]:
        return replace(self, severity=severity)


KernelFinding = Finding[Stand]
KernelCheck = Callable[["KernelFacts"], Iterator[KernelFinding]]
Concern = Callable[["SourceText", "Sequence[Function]"], bool]
FileCheck = Callable[["FileFacts"], Iterator[Finding]]
ResultCheck = Callable[["FileFacts", "Collection[Suppression]", "Collection[str]"], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``doc`` is the module docstring: first line = summary; headings Why, Example, Use instead, Fix,
    Limits."""

    code: str
    name: str
    severity: Severity  # the highest it reports
    doc: str
    on_kernel: KernelCheck | None = None
    on_file: FileCheck | None = None
    on_result: ResultCheck | None = (
        None  # after all others: gets the suppressions used and the codes that ran
    )
    portable: bool = False  # what it says of a kernel holds in every dialect, on devices of any vendor
    unanimous: bool = False  # of a template it holds only when it holds for every instance in sight
    concerns: Concern | None = (
        None  # by its words alone, may a kernel give the rule anything to say? None: any may
    )
    optional: bool = False  # off by default: it speaks only where the settings name it
    of_functions: bool = False  # it is about races, and looks at device functions that no kernel calls, too
    in_warps: bool = False  # about what lanes of one warp do to each other

    @property
    def default(self) -> str:
        """Its highest severity, and whether it has to be asked for: ``info, off by default``."""
        return f"{self.severity.label}, off by default" if self.optional else self.severity.label

    @property
    def summary(self) -> str:
        return self.doc.strip().splitlines()[0].rstrip(".")

    def holds_in(self, dialect: Dialect) -> bool:
        """Is what it says true of code in this dialect?"""
        return self.on_kernel is None or self.portable or dialect.nvidia

    def is_called(self, written: str) -> bool:
        """Is this the code or the name of the rule, in upper or lower case?"""
        return written.casefold() in (self.code.casefold(), self.name)

    def block(self, heading: str) -> str | None:
        """The CUDA code block under ``## heading``, or None."""
        found = re.search(rf"## {heading}\n+```cuda\n(.*?)```", self.doc, re.S)
        return found[1] if found else None


def kernel_rule(
    code: str,
    name: str,
    severity: Severity,
    *,
    portable: bool = False,
    unanimous: bool = False,
    concerns: Concern | None = None,
    optional: bool = False,
    of_functions: bool = False,
    in_warps: bool = False,
) -> Callable[[KernelCheck], Rule]:
    """Declare a rule that looks at one kernel; the module's docstring documents it. ``portable``: what it says holds in
    every dialect; ``unanimous``: what it says of a
    template has to hold for every instance in sight. ``concerns``: sees the text of the file, the kernel, and the
    functions that it may call; a kernel that concerns no selected rule is not analysed. ``optional``: it is off by
    default; ``of_functions``, ``in_warps``: as in ``Rule``."""
    return lambda check: Rule(
        code,
        name,
        severity,
        _documentation(check),
        on_kernel=check,
        portable=portable,
        unanimous=unanimous,
        concerns=concerns,
        optional=optional,
        of_functions=of_functions,
        in_warps=in_warps,
    )


def file_rule(
    code: str, name: str, severity: Severity, *, optional: bool = False
) -> Callable[[FileCheck], Rule]:
    """Declare a rule that looks at the whole file. ``optional``: it is off by default."""
    return lambda check: Rule(code, name, severity, _documentation(check), on_file=check, optional=optional)


def result_rule(code: str, name: str, severity: Severity) -> Callable[[ResultCheck], Rule]:
    """Declare a rule about what the other rules found."""
    return lambda check: Rule(code, name, severity, _documentation(check), on_result=check)


def _documentation(check: Callable[..., object]) -> str:
    return textwrap.dedent(sys.modules[check.__module__].__doc__ or "")
