"""Blocks: regions of a file that belong together, with all facts that depend on them alone.

A file is cut where a `}` stands alone, as far out as the definitions around it (``lexer.regions``), and each region is
preprocessed. Most regions are whole definitions: brackets, functions and declared names are found in each on its own,
once. Where the braces between one `}` in column 0 and the next do not match, layout has to tell what they belong to:
the regions there are one, and one that ends inside a definition is joined with those behind it. Only two things of a
block matter to other blocks: the scopes that it closes and opens, and the names that it declares.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial

from smem_lsp.source import checkpoint
from smem_lsp.source.budget import look
from smem_lsp.source.queries import PROCESS, Query, Store
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.functions import TOP_LEVEL, BraceEnd, FunctionIsland, find_functions
from smem_lsp.syntax.lexer import TokenLayout, Tokens, layout_of, moved, packed
from smem_lsp.syntax.lookahead import Symbols
from smem_lsp.syntax.preprocessed_regions import PreprocessedRegion
from smem_lsp.syntax.said_outside import find_said_outside
from smem_lsp.syntax.shared_outside import SharedOutside, find_shared_outside
from smem_lsp.syntax.symbols import Names, collect
from smem_lsp.syntax.variables import hiding_names

_BRACES = frozenset(("LC", "RC"))


OF_PARAMETERS = frozenset(("(", "["))  # in the head of a function these call and index nothing


class Content:
    """What a function definition says, wherever its words stand. ``store``: facts about it that name no place, the tree
    of its statements among them."""

    __slots__ = ("__weakref__", "store")

    def __init__(self) -> None:
        self.store = Store()


@dataclass(eq=False)
class Definition:
    """A function definition, independent of its place: token indices and offsets count from its first token.

    Two functions with the same spelling are one definition.
    """

    text: str  # as the author wrote it
    tokens: Tokens
    line_start: list[bool]
    island: FunctionIsland  # without the scopes around the block
    invocations: tuple[tuple[int, int], ...]  # of macros, inside the function

    store: Store = field(default_factory=Store)  # facts about it
    mark: object = field(default_factory=object)  # stands for it in keys that must not keep it alive
    _known: tuple[Symbols, Symbols] | None = None

    @cached_property
    def layout(self) -> TokenLayout:
        return layout_of(self.text)

    @cached_property
    def content(self) -> Content:
        """The one object for definitions that differ only in comments and blank lines."""
        offsets = self.tokens.offsets
        spelled = [offset >= 0 for offset in offsets] if min(offsets, default=0) < 0 else ()
        key = (
            self.layout.words,
            tuple(self.tokens.texts),
            tuple(spelled),
            tuple(self.line_start),
            self.island,
        )
        return _CONTENT.of(PROCESS, key, Content, weigh=lambda _: len(self.tokens))

    @cached_property
    def is_kernel(self) -> bool:
        return "__global__" in self.island.specifiers

    @cached_property
    def name(self) -> str:
        return self.tokens.texts[self.island.name]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.tokens.texts)

    @cached_property
    def body_words(self) -> frozenset[str]:
        return frozenset(self.body.texts)

    @cached_property
    def running_words(self) -> frozenset[str]:
        """Those of the body, and names of the head: its default arguments and initialisers run, too."""
        return self.body_words | (self.words - OF_PARAMETERS)

    @cached_property
    def _hiding(self) -> frozenset[str]:
        return frozenset(hiding_names(self.tokens.kinds, self.tokens.texts))

    def known(self, symbols: Symbols) -> Symbols:
        """The symbols that it names and that none of its own variables hides. Equal answers in a row are one
        object."""
        if self._known is None or self._known[0] is not symbols:
            within = symbols.within(self.words)
            hidden = self._hiding & (within.types | within.templates)
            if hidden:
                within = within.knowing(hidden)
            if self._known is not None and self._known[1] == within:
                within = self._known[1]
            self._known = symbols, within
        return self._known[1]

    def part(self, lo: int, hi: int) -> Tokens:
        return self.tokens.part(lo, hi)

    @cached_property
    def body(self) -> Tokens:
        return self.part(*self.island.body)

    @cached_property
    def launched(self) -> frozenset[str]:
        """The names before each ``<<<`` in its body."""
        return frozenset(name for name, _ in _launches(self.body)) if "<<<" in self.words else frozenset()

    @cached_property
    def returns_only(self) -> bool:
        """Is its body just a ``return`` with a value?"""
        kinds = self.body.kinds
        return kinds[:1] == ["RETURN"] and kinds[-1] == "SEMI" and kinds.count("SEMI") == 1

    @cached_property
    def head(self) -> Tokens:
        return self.part(0, self.island.parameters[1] + 1)

    @cached_property
    def parameters(self) -> Tokens:
        return self.part(*self.island.parameters)


_CONTENT = Query[tuple[object, ...], Content]("content of a definition", each=250, in_use=True)
_DEFINITION = Query[tuple[object, ...], Definition]("definition", each=120, in_use=True)


@dataclass(frozen=True, slots=True)
class Located:
    """A definition in a block: offset and index of its first token, number of outer scopes closed before it."""

    definition: Definition
    offset: int
    head: int
    left: int


class Outline:
    """The identity of what a block declares: equal declarations are one object."""

    __slots__ = ()


_OUTLINE = Query[tuple[str, ...], Outline]("outline of a block", each=15)


@dataclass(eq=False)
class SourceBlock:
    """Tokens relative to the block. ``closes``: how many scopes of earlier blocks it closes; ``opens``: (name, is a
    class) of scopes that it leaves open; ``open``: its last definition is incomplete."""

    tokens: Tokens
    partner: array[int]
    functions: tuple[Located, ...]
    closes: int
    opens: tuple[tuple[str, bool], ...]
    open: bool
    loose: tuple[int, ...]  # braces without partner, except inside functions
    unclosed: int  # opening braces without partner, except those of scopes
    even: bool  # it can be read alone: its braces match, but for those of namespaces
    store: Store = field(default_factory=Store)  # facts about it
    mark: object = field(default_factory=object)  # stands for it in keys that must not keep it alive

    @cached_property
    def names(self) -> Names:
        """What the block declares."""
        names = Names.empty()
        collect(self.tokens.kinds, self.tokens.texts, names)
        return names

    @cached_property
    def outline(self) -> Outline:
        """Its tokens without the bodies of functions that are not ``constexpr``."""
        texts: list[str] = []
        at = 0
        for located in self.functions:
            checkpoint()
            definition = located.definition
            if "constexpr" not in definition.head.texts:
                lo, hi = definition.island.body
                texts += self.tokens.texts[at : located.head + lo]
                at = located.head + hi
        texts += self.tokens.texts[at:]
        key = tuple(texts)
        return _OUTLINE.of(PROCESS, key, Outline, weigh=lambda _: len(key) + 1)

    @cached_property
    def launches(self) -> tuple[tuple[str, int], ...]:
        """(name of the kernel, offset) of each ``<<<``."""
        return tuple(_launches(self.tokens)) if "LAUNCH_OPEN" in self.tokens.kinds else ()

    @cached_property
    def extended_launches(self) -> bool:
        """Does some function call ``cudaLaunchKernelEx``?"""
        return "cudaLaunchKernelEx" in self.tokens.texts

    @cached_property
    def instantiations(self) -> tuple[tuple[int, int], ...]:
        """Token ranges of explicit instantiations, behind ``template``."""
        kinds = self.tokens.kinds
        found: list[tuple[int, int]] = []
        for i in (x for x, kind in enumerate(kinds) if kind == "TEMPLATE"):
            checkpoint()
            if kinds[i + 1 : i + 2] != ["LT"] and kinds[i - 1 : i] not in (["DOT"], ["SCOPE"]):
                end = next((x for x in range(i, len(kinds)) if kinds[x] == "SEMI"), len(kinds))
                block = next(
                    (x for x in range(i, end) if kinds[x] == "LC" and not _is_list(kinds, x, end)), end
                )
                found.append((i + 1, block))
        return tuple(found)

    @cached_property
    def kernels(self) -> tuple[tuple[int, str], ...]:
        """(index among the functions of the block, name) of each kernel."""
        found = enumerate(located.definition for located in self.functions)
        return tuple((number, definition.name) for number, definition in found if definition.is_kernel)

    @cached_property
    def helpers(self) -> tuple[tuple[Definition, int], ...]:
        """The functions other than kernels, each with the number of outer scopes closed before it."""
        found = ((located.definition, located.left) for located in self.functions)
        return tuple((definition, left) for definition, left in found if not definition.is_kernel)

    @cached_property
    def shares_in_helpers(self) -> bool:
        """Does a function other than a kernel say ``__shared__``?"""
        return any("__shared__" in definition.body_words for definition, _ in self.helpers)

    @cached_property
    def extends_shared(self) -> bool:
        """May a function declare ``extern __shared__`` memory?"""
        return any({"extern", "__shared__"} <= located.definition.body_words for located in self.functions)

    @cached_property
    def shared_outside(self) -> tuple[SharedOutside, ...]:
        """The declarations of shared memory outside functions."""
        if "__shared__" not in self.tokens.texts:
            return ()
        outside = self._outside_bodies()
        return find_shared_outside(
            [self.tokens.kinds[at] for at in outside], [self.tokens.texts[at] for at in outside]
        )

    @cached_property
    def said_outside(self) -> Mapping[str, frozenset[str]]:
        """What runs with a function or a class, but does not stand in the body of a function: the words of the default
        arguments of a function, by its name, and those of the bases, members and initialisers of a class, by its."""
        outside = self._outside_bodies()
        kinds = [self.tokens.kinds[at] for at in outside]
        texts = [self.tokens.texts[at] for at in outside]
        return find_said_outside(kinds, texts)

    def _outside_bodies(self) -> list[int]:
        """The tokens outside the bodies of functions, by their index."""
        found: list[int] = []
        at = 0
        for located in self.functions:
            lo, hi = located.definition.island.body
            found += range(at, located.head + lo)
            at = located.head + hi
        return [*found, *range(at, len(self.tokens))]


_MOST_ARGUMENTS = 2_000  # tokens of the template arguments of a launched kernel
_ENDS = frozenset(("SEMI", "LC", "RC"))  # no template arguments contain these


def _is_list(kinds: Sequence[str], brace: int, end: int) -> bool:
    """Does a brace begin a list that ends before ``end``, as in ``k<T{8, true}>``?"""
    return kinds[brace - 1] in ("NAME", "GT", "TYPE") and "RC" in kinds[brace:end]


def _launches(tokens: Tokens) -> Iterator[tuple[str, int]]:
    for i, kind in enumerate(tokens.kinds):
        checkpoint()
        if kind != "LAUNCH_OPEN":
            continue
        at = i - 1
        depth = 0
        first = max(i - _MOST_ARGUMENTS, 0)
        while at > first and (depth or set(tokens.texts[at]) == {">"}) and tokens.kinds[at] not in _ENDS:
            depth += {">": 1, ">>": 2, ">>>": 3, "<": -1}.get(tokens.texts[at], 0)
            at -= 1
            if depth == 0:
                break
        yield tokens.texts[at], site(tokens.offsets[i])


@dataclass(slots=True, eq=False)
class Placed:
    """A block in a file, in the scopes that are open where it begins."""

    block: SourceBlock
    start: int
    scopes: tuple[tuple[str, bool], ...]


_Piece = Sequence[tuple[int, PreprocessedRegion]]  # regions to the next that ends in column 0


def place(regions: Sequence[tuple[int, PreprocessedRegion]]) -> list[Placed]:
    """The blocks of a file, in order."""
    placed: list[Placed] = []
    scopes: tuple[tuple[str, bool], ...] = ()
    pieces = _pieces(regions)
    i, n = 0, len(pieces)
    while i < n:
        checkpoint()
        piece, i = pieces[i], i + 1
        blocks = [(start, _alone(region)) for start, region in piece]
        if not _is_even([block for _, block in blocks], len(scopes)):
            block = _whole(piece)
            if block.open and i < n:
                block, i = _joined(pieces, i - 1, block)
            blocks = [(piece[0][0], block)]
        for start, block in blocks:
            placed.append(Placed(block, start, scopes))
            if block.closes or block.opens:
                scopes = scopes[: max(0, len(scopes) - block.closes)] + block.opens
    return placed


def _is_even(blocks: Sequence[SourceBlock], depth: int) -> bool:
    """Can each be read alone, ``depth`` namespaces deep in front of them?"""
    for block in blocks:
        depth -= block.closes
        if depth < 0 or not block.even:
            return False
        depth += len(block.opens)
    return True


def _pieces(regions: Sequence[tuple[int, PreprocessedRegion]]) -> list[_Piece]:
    pieces: list[_Piece] = []
    first = 0
    for end, (_, region) in enumerate(regions, 1):
        if region.at_margin or end == len(regions):
            pieces.append(regions[first:end])
            first = end
    return pieces


def _joined(pieces: Sequence[_Piece], first: int, block: SourceBlock) -> tuple[SourceBlock, int]:
    """Join the open ``block`` of piece ``first`` with the pieces that complete it; index behind the last one.

    It may end where its braces match, or where a function starts in column 0. If it is still open there, the next
    try takes at least twice as many pieces.
    """
    end, least = first + 1, 1
    while block.open and end < len(pieces):
        checkpoint()
        depth, taken = block.unclosed, 0
        while end < len(pieces):
            piece = pieces[end]
            end += 1
            taken += 1
            alone = _whole(piece)
            depth += alone.unclosed - alone.closes
            if taken >= least and (depth <= 0 or _starts_function(piece)):
                break
        least = 2 * taken
        block = _join(tuple(region for piece in pieces[first:end] for _, region in piece))
    return block, end


def _starts_function(piece: _Piece) -> bool:
    return any(
        column == 0 and region.tokens.texts[i] in TOP_LEVEL
        for _, region in piece
        for i, column in enumerate(region.columns)
    )


def _whole(piece: _Piece) -> SourceBlock:
    return _alone(piece[0][1]) if len(piece) == 1 else _join(tuple(region for _, region in piece))


def _alone(region: PreprocessedRegion) -> SourceBlock:
    if region.block is None:
        tokens = region.tokens
        region.block = _block(region.text, tokens, region.columns, region.line_start, region.invocations)
    return region.block


_BLOCK = Query[tuple[PreprocessedRegion, ...], SourceBlock]("block of several regions", each=60, in_use=True)


def _join(regions: tuple[PreprocessedRegion, ...]) -> SourceBlock:
    return _BLOCK.of(
        PROCESS, regions, partial(_joined_block, regions), weigh=lambda block: len(block.tokens) + 1
    )


def _joined_block(regions: tuple[PreprocessedRegion, ...]) -> SourceBlock:
    tokens = Tokens([], [], packed(()))
    columns: list[int] = []
    line_start: list[bool] = []
    invocations: list[tuple[int, int]] = []
    start = 0
    for region in regions:
        checkpoint()
        tokens.kinds.extend(region.tokens.kinds)
        tokens.texts.extend(region.tokens.texts)
        tokens.offsets.extend(moved(region.tokens.offsets, start))
        columns += region.columns
        line_start += region.line_start
        invocations += ((lo + start, hi + start) for lo, hi in region.invocations)
        start += len(region.text)
    text = "".join(region.text for region in regions)
    return _block(text, tokens, columns, line_start, invocations)


def _block(
    text: str,
    tokens: Tokens,
    columns: list[int],
    line_start: list[bool],
    invocations: Sequence[tuple[int, int]],
) -> SourceBlock:
    look()
    partner = match_brackets(tokens.kinds)

    def indent(i: int) -> int:
        offset = tokens.offsets[i]
        return offset - text.rfind("\n", 0, offset) - 1 if line_start[i] and offset >= 0 else -1

    found = find_functions(tokens.kinds, tokens.texts, columns, partner, indent)
    functions = tuple(
        _locate(text, tokens, line_start, island, left, invocations) for island, left in found.islands
    )
    alone = [i for i, kind in enumerate(tokens.kinds) if kind in _BRACES and partner[i] < 0]
    unclosed = sum(1 for i in alone if tokens.kinds[i] == "LC") - len(found.opens)
    even = found.whole and len(alone) == len(found.opens) + found.closes
    for brace in found.braces:
        _settle(partner, brace)
    bodies = [range(located.head, located.head + located.definition.island.end) for located in functions]
    loose = tuple(
        i
        for i, kind in enumerate(tokens.kinds)
        if kind in _BRACES and partner[i] < 0 and not any(i in body for body in bodies)
    )
    return SourceBlock(
        tokens, partner, functions, found.closes, found.opens, found.open, loose, unclosed, even
    )


def _settle(partner: array[int], brace: BraceEnd) -> None:
    """Pair a brace with the end of its function or scope, so that an unmatched brace inside does not change how the
    code behind it is read. If the `}` is missing, the last token stands in for it."""
    opening, last = brace.opening, brace.end - 1
    if partner[opening] == last:
        return
    if partner[opening] >= 0:
        partner[partner[opening]] = -1
    partner[opening] = last
    if brace.closed:
        if partner[last] >= 0:
            partner[partner[last]] = -1
        partner[last] = opening


def site(offset: int) -> int:
    """Where a token stands: its offset, or that of the macro invocation it came from."""
    return offset if offset >= 0 else -1 - offset


def _locate(
    text: str,
    tokens: Tokens,
    line_start: list[bool],
    island: FunctionIsland,
    left: int,
    invocations: Sequence[tuple[int, int]],
) -> Located:
    checkpoint()
    head, end = island.head, min(island.end, len(tokens))
    start = site(tokens.offsets[head])
    stop = max(start, site(tokens.offsets[end - 1]) + 1)
    kinds, texts = tokens.kinds[head:end], tokens.texts[head:end]
    offsets = moved(tokens.offsets[head:end], -start)
    inside = tuple((lo - start, hi - start) for lo, hi in invocations if start <= lo and hi <= stop)
    lines = line_start[head:end]
    island = island.moved(-head)
    key = (text[start:stop], *texts, *offsets, *lines, island, inside)
    definition = _DEFINITION.of(
        PROCESS,
        key,
        lambda: Definition(text[start:stop], Tokens(kinds, texts, offsets), lines, island, inside),
        weigh=lambda _: len(texts),
    )
    return Located(definition, start, head, left)
