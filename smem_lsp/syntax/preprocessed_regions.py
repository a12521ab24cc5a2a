"""Preprocessed regions: the regions of a file after preprocessing, cached from one keystroke to the next.

The result depends on the region's text, on the conditionals open where it begins, and on the macros that its words
name. While these stay the same, the result is the same object, and all facts stored with it stay valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.lexer import Region, Tokens, ends_at_margin
from smem_lsp.syntax.macros import Macro, mean_the_same

if TYPE_CHECKING:
    from smem_lsp.syntax.blocks import SourceBlock

Changes = tuple[tuple[str, Macro | None], ...]  # macros defined; None: undefined

_VARIANTS = 4  # results cached for one region, under different macros
_FOLLOWING = 16  # successors cached for one version


@dataclass(frozen=True, slots=True)
class OpenConditionals:
    """The conditionals open at a place: for each, was the code around it active, was a branch taken, which name that
    nothing defines is compared to choose one, "" if none is, and for which such names do its conditions ask?"""

    stack: tuple[tuple[bool, bool, str, tuple[str, ...]], ...] = ()
    active: bool = True


class MacroVersion:
    """The identity of a table of macros. Equal changes to one version give the same next version, while cached."""

    __slots__ = ("_following",)

    def __init__(self) -> None:
        self._following: dict[Changes, MacroVersion] = {}

    def after(self, changes: Changes) -> MacroVersion:
        if not changes:
            return self
        found = self._following.get(changes)
        if found is None:
            if len(self._following) >= _FOLLOWING:
                del self._following[next(iter(self._following))]
            found = self._following[changes] = MacroVersion()
        return found


@dataclass(eq=False)
class PreprocessedRegion:
    """The active tokens of one region, macros replaced. Offsets and ranges are relative to the region.

    ``columns``: 0 for tokens in column 0, positive elsewhere, -1 for tokens from macro bodies; ``uses``: the macros
    that its words name, directly or through macros; ``words``: all names that could have been macros; ``fixed``: it
    depends on nothing else (a region with an include does), but for the ``path`` of the file, where it names
    ``__FILE__``.
    """

    text: str
    before: OpenConditionals
    after: OpenConditionals
    tokens: Tokens
    columns: list[int]
    line_start: list[bool]
    directives: tuple[tuple[str, int, int], ...]
    inactive: tuple[tuple[int, int], ...]
    undecided: tuple[
        tuple[int, int, str], ...
    ]  # conditionals that compare a name which nothing defines, and the name
    errors: tuple[
        tuple[str, ...], ...
    ]  # each ``#error`` reached: the names that would keep it away if defined
    invocations: tuple[tuple[int, int], ...]
    changes: Changes
    uses: Mapping[str, Macro]
    words: frozenset[str]
    fixed: bool
    produced: int  # tokens that macros produced
    block: SourceBlock | None = None  # the region as a block of its own
    path: str | None = None  # None: of no matter
    held: tuple[MacroVersion | None, MacroVersion | None] = field(
        default=(None, None)
    )  # macros before it and after it

    def __len__(self) -> int:
        return len(self.text)

    @cached_property
    def at_margin(self) -> bool:
        """Does it end in column 0?"""
        return ends_at_margin(self.text)

    def same_as(self, other: PreprocessedRegion) -> bool:
        """Are both results equal, whatever they depend on?"""
        return (
            self.before == other.before
            and self.after == other.after
            and self.tokens == other.tokens
            and self.directives == other.directives
            and self.inactive == other.inactive
            and self.undecided == other.undecided
            and self.errors == other.errors
            and self.invocations == other.invocations
            and self.changes == other.changes
        )

    def behind(self, version: MacroVersion) -> MacroVersion:
        """The macros after it, given the macros ``version`` before it."""
        before, after = self.held
        if before is not version or after is None:
            after = version.after(self.changes)
            self.held = version, after
        return after


class Environment:
    """The macros at a place of the file. The table is brought up to date on demand."""

    __slots__ = ("_pending", "_table", "version")

    def __init__(self, table: dict[str, Macro], version: MacroVersion) -> None:
        self._table = table
        self._pending: list[Changes] = []
        self.version = version

    @property
    def table(self) -> dict[str, Macro]:
        for changes in self._pending:
            checkpoint()
            for name, macro in changes:
                if macro is None:
                    self._table.pop(name, None)
                else:
                    self._table[name] = macro
        self._pending.clear()
        return self._table

    def pass_over(self, preprocessed: PreprocessedRegion, *, applied: bool) -> None:
        """Move past ``preprocessed``. ``applied``: the table already has its changes."""
        self.version = preprocessed.behind(self.version)
        if preprocessed.changes and not applied:
            self._pending.append(preprocessed.changes)


def find(
    region: Region, before: OpenConditionals, environment: Environment, path: str
) -> PreprocessedRegion | None:
    """The cached result of the region of this file here, if there is one."""
    version = environment.version
    for preprocessed in region.preprocessed_regions:
        checkpoint()
        if preprocessed.fixed and (preprocessed.before is before or preprocessed.before == before):
            if preprocessed.path not in (None, path):
                continue
            if preprocessed.held[0] is version:
                return preprocessed
            if mean_the_same(preprocessed.words, preprocessed.uses, environment.table):
                return preprocessed
    return None


def keep(region: Region, preprocessed: PreprocessedRegion) -> PreprocessedRegion:
    """Cache the result of the region. Returns an equal earlier result instead, if there is one."""
    known = region.preprocessed_regions
    for old in known:
        if old.fixed == preprocessed.fixed and old.uses == preprocessed.uses and old.same_as(preprocessed):
            old.path = preprocessed.path
            return old
    known.insert(0, preprocessed)
    del known[_VARIANTS:]
    return preprocessed
