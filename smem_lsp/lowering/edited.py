"""Which statements of a function differ from those of an earlier version of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, Function


@dataclass(frozen=True, slots=True)
class StatementRange:
    """Statements of a block in a row: ``count`` of ``statements``, from ``first`` on. ``around``: the block; None: the
    function's own."""

    statements: Sequence[tree.Statement]
    first: int
    count: int
    around: tree.Block | None

    @property
    def own(self) -> Sequence[tree.Statement]:
        return self.statements[self.first : self.first + self.count]


@dataclass(frozen=True, slots=True)
class Edit:
    """Two versions of a function that have the same words but for those of the statements ``old`` and ``new``, of one
    block."""

    old: StatementRange
    new: StatementRange

    def within(self, first: int, count: int) -> Edit | None:
        """The same seen as an edit of ``count`` old statements from ``first`` on, if they are among those."""
        old, new = self.old, self.new
        before, after = old.first - first, first + count - (old.first + old.count)
        if before < 0 or after < 0:
            return None
        old = replace(old, first=first, count=count)
        return Edit(old, replace(new, first=first, count=new.count + before + after))


@dataclass(frozen=True, slots=True)
class Edits:
    """One edit of a function, as seen from each block around it. ``levels``: from the body inwards; ``behind``: how
    many words at the end are the same."""

    old: Body
    new: Body
    behind: int
    levels: tuple[Edit, ...]

    def of(self, statements: Sequence[tree.Statement]) -> Edit | None:
        """As seen from the block with these statements."""
        found = next((each for each in self.levels if each.old.statements is statements), None)
        return found if found is not None and self._is_whole(found) else None

    @property
    def innermost(self) -> Edit | None:
        return self.levels[-1] if self._is_whole(self.levels[-1]) else None

    def _is_whole(self, edit: Edit) -> bool:
        """Are the statements around it the same?"""
        mine, theirs = edit.old.own, edit.new.own
        if not mine:  # nothing tells which numbers are behind it
            return True
        end = len(self.old.tokens) - self.behind
        by = len(self.new.tokens) - len(self.old.tokens)
        one = _outline(self.old.statements, mine, end, by)
        return list(one) == list(_outline(self.new.statements, theirs, 1 << 60, 0))


def edits_between(old: Function, new: Function) -> Edits | None:
    """How ``new`` differs from ``old``; None where it differs in more than statements."""
    if not _same_frame(old, new):
        return None
    before, after = old.body, new.body
    ahead, behind = _common(before.tokens.texts, after.tokens.texts)
    if not _reads_alike(old, new, ahead, behind):
        return None
    levels = tuple(_EditSearch(before, after, ahead, behind).levels())
    if before.repaired or after.repaired or before.macros or after.macros:  # they have been read by now
        return None
    return Edits(before, after, behind, levels) if levels else None


def _same_frame(old: Function, new: Function) -> bool:
    """Are they the same but for what stands between the braces?"""
    one, other = old.definition, new.definition
    mine, theirs = one.island, other.island
    return (
        (mine.name, mine.parameters, mine.body[0]) == (theirs.name, theirs.parameters, theirs.body[0])
        and (mine.specifiers, mine.template, mine.enclosing)
        == (theirs.specifiers, theirs.template, theirs.enclosing)
        and not (mine.repaired or theirs.repaired)
        and old.scopes == new.scopes
        and one.head.texts == other.head.texts
        and one.head.kinds == other.head.kinds
        and _from_macros(one.head.offsets) == _from_macros(other.head.offsets)
    )


def _from_macros(offsets: Sequence[int]) -> list[bool]:
    return [each < 0 for each in offsets]


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many words are the same at the start, and behind those at the end."""
    most = min(len(old), len(new))
    ahead = next((at for at in range(most) if old[at] != new[at]), most)
    most -= ahead
    behind = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    return ahead, behind


def _reads_alike(old: Function, new: Function, ahead: int, behind: int) -> bool:
    """Is what both have in common read alike in both, wherever an edit between leaves it?"""
    one, other = old.body, new.body
    mine, theirs = one.tokens, other.tokens
    ends = len(mine) - behind, len(theirs) - behind
    if mine.kinds[:ahead] != theirs.kinds[:ahead] or mine.kinds[ends[0] :] != theirs.kinds[ends[1] :]:
        return False
    macros = _from_macros(mine.offsets), _from_macros(theirs.offsets)
    if macros[0][:ahead] != macros[1][:ahead] or macros[0][ends[0] :] != macros[1][ends[1] :]:
        return False
    lines = one.line_start, other.line_start
    if lines[0][:ahead] != lines[1][:ahead] or lines[0][ends[0] :] != lines[1][ends[1] :]:
        return False
    words = frozenset((*mine.texts[:ahead], *mine.texts[ends[0] :], *old.head.texts))
    if old.symbols is not new.symbols and old.symbols.within(words) != new.symbols.within(words):
        return False
    changed = (one.values ^ other.values) | (one.types ^ other.types)
    return words.isdisjoint(changed)


@dataclass(slots=True)
class _EditSearch:
    old: Body
    new: Body
    ahead: int
    behind: int

    def levels(self) -> Iterator[Edit]:
        one, other = self.old.statements, self.new.statements
        around: tuple[tree.Block | None, tree.Block | None] = None, None
        ends = len(self.old.tokens) - self.behind, len(self.new.tokens) - self.behind
        while True:
            checkpoint()
            mine, theirs = one.statements, other.statements
            first, last = _untouched(mine, self.ahead, ends[0])
            if (first, last) != _untouched(theirs, self.ahead, ends[1]):
                return
            counts = len(mine) - first - last, len(theirs) - first - last
            yield Edit(
                StatementRange(mine, first, counts[0], around[0]),
                StatementRange(theirs, first, counts[1], around[1]),
            )
            if counts != (1, 1):
                return
            blocks = zip(_blocks(mine[first]), _blocks(theirs[first]))
            inner = next((each for each in blocks if self.is_inside(*each)), None)
            if inner is None:
                return
            one, other = around = inner

    def is_inside(self, one: tree.Block, other: tree.Block) -> bool:
        """Is only something between the braces of two blocks changed?"""
        ends = len(self.old.tokens) - self.behind, len(self.new.tokens) - self.behind
        same = one.lo == other.lo and one.hi - ends[0] == other.hi - ends[1]
        return same and one.lo < self.ahead and one.hi > ends[0]


def _untouched(statements: Sequence[tree.Statement], ahead: int, end: int) -> tuple[int, int]:
    """How many of them stand wholly in front of the token ``ahead``, and wholly behind ``end``."""
    first = next((at for at, each in enumerate(statements) if each.hi > ahead), len(statements))
    left = statements[first:]
    return first, next((at for at, each in enumerate(reversed(left)) if each.lo < end), len(left))


def _blocks(node: tree.Statement) -> Iterator[tree.Block]:
    """The blocks that are part of a statement, but for those in another block."""
    for each in (node,) if isinstance(node, tree.Block) else tree.inside(node):
        if isinstance(each, tree.Block):
            yield each
        else:
            yield from _blocks(each)


def _outline(
    root: tree.Statement, without: Sequence[tree.Statement], end: int, by: int
) -> Iterator[tuple[object, ...]]:
    """The statements below ``root`` but ``without``, as what they are and where; places from ``end`` on count ``by``
    tokens further."""
    left_out = {id(each) for each in without}
    waiting: list[tree.Statement] = [root]
    while waiting:
        checkpoint()
        node = waiting.pop()
        if id(node) in left_out:
            continue
        said: list[object] = [type(node)]
        for name in node.__slots__:
            value = getattr(node, name)
            if isinstance(value, int):
                said.append(value + by if value >= end else value)
            elif isinstance(value, tuple):
                said.append(tuple([at + by if at >= end else at for at in value]))
            elif isinstance(value, (str, type(None))):
                said.append(value)
        yield tuple(said)
        waiting.extend(tree.inside(node))
