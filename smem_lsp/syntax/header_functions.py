"""What the headers of a file declare, and the device functions that they define."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from smem_lsp.source import checkpoint
from smem_lsp.source.queries import PROCESS, Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.blocks import Definition
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.functions import FunctionIsland, find_functions, has_unknown_specifier
from smem_lsp.syntax.headers import Piece, joined
from smem_lsp.syntax.lexer import Tokens, packed
from smem_lsp.syntax.macros import TokenList
from smem_lsp.syntax.said_outside import find_said_outside, merged
from smem_lsp.syntax.shared_outside import SharedOutside, find_shared_outside
from smem_lsp.syntax.symbols import Names, collect


@dataclass(eq=False)
class HeaderFunction:
    """A function that a header defines."""

    header: Tokens
    island: FunctionIsland

    @property
    def at(self) -> int:
        """Index of its first token among the header tokens."""
        return self.island.head

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Its tokens."""
        return tuple(self.header.texts[self.island.head : self.island.end])

    @property
    def stands(self) -> int:
        """Where it stands in its header: equal numbers where it has not moved."""
        return self.header.offsets[self.island.head]

    @cached_property
    def definition(self) -> Definition:
        """Its definition; all tokens have the offset of the call."""
        lo, hi = self.island.head, self.island.end
        count = hi - lo
        tokens = Tokens(self.header.kinds[lo:hi], self.header.texts[lo:hi], packed([-1] * count))
        return Definition("", tokens, [False] * count, self.island.moved(-lo), ())


Reached = tuple[frozenset[str], tuple[tuple[int, tuple[str, ...]], ...]]


@dataclass(frozen=True, eq=False)
class Headers:
    """``names``: types and templates; ``declared``: names with parameters; ``by_value``: those of them that take all
    parameters by value; ``prototypes``: those that are declared somewhere without a body; ``words``: all spellings;
    ``definitions``: device functions by name."""

    names: Names
    declared: frozenset[str]
    by_value: frozenset[str]
    prototypes: frozenset[str]
    words: frozenset[str]
    definitions: Mapping[str, tuple[HeaderFunction, ...]]
    shared_outside: tuple[SharedOutside, ...]
    said_outside: Mapping[str, frozenset[str]]

    @cached_property
    def _unnamed(self) -> Reached:
        """From the operators and constructors, which nothing names."""
        return self._reach(name for name in self.definitions if not name.isidentifier() or name == "operator")

    def reached(self, names: Collection[str]) -> Reached:
        """(``names`` and all names in the functions that they may call, where these functions stand and their tokens).
        Operators and constructors count as called."""
        always, spelled = self._unnamed
        found, called = self._reach(names, but=always)
        return found | always, (*spelled, *called)

    def _reach(self, names: Iterable[str], but: frozenset[str] = frozenset()) -> Reached:
        """The same without what ``but`` has reached."""
        found, spelled = set(names), list[tuple[int, tuple[str, ...]]]()
        wanted = self.definitions.keys() & found - but
        done: set[str] = set()
        while wanted:
            checkpoint()
            new: set[str] = set()
            for name in sorted(wanted):
                for function in self.definitions[name]:
                    spelled.append((function.stands, function.texts))
                    new.update(function.texts)
            done |= wanted
            found |= new
            wanted = self.definitions.keys() & new - but - done
        return frozenset(found), tuple(spelled)


def read_headers(header: Tokens, pieces: Sequence[Piece]) -> Headers:
    """The names and functions that a file needs from its headers. ``header``: the tokens of all ``pieces``."""
    names, declared, changing, prototypes = Names.empty(), set[str](), set[str](), set[str]()
    words, shared, said = set[str](), list[SharedOutside](), list[Mapping[str, frozenset[str]]]()
    definitions: dict[str, tuple[HeaderFunction, ...]] = {}
    start = 0
    for group in _groups(pieces):
        checkpoint()
        part = _PART.of(PROCESS, group, partial(_read_part, group), weigh=_weight)
        names.add(part.names)
        declared |= part.declared
        changing |= part.changing
        prototypes |= part.prototypes
        words |= part.words
        shared += part.shared
        said.append(part.said)
        for name, island in part.for_device:
            function = HeaderFunction(header, island.moved(start))
            definitions[name] = (*definitions.get(name, ()), function)
        start += part.tokens
    by_value = frozenset(declared - changing)
    return Headers(
        names,
        frozenset(declared),
        by_value,
        frozenset(prototypes),
        frozenset(words),
        definitions,
        tuple(shared),
        merged(said),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What some pieces declare that hold whole declarations. ``tokens``: how many they have; ``for_device``: functions,
    each with its name; ``changing``: names that take addresses somewhere; the others as of ``Headers``."""

    tokens: int
    names: Names
    declared: frozenset[str]
    changing: frozenset[str]
    prototypes: frozenset[str]
    words: frozenset[str]
    for_device: tuple[tuple[str, FunctionIsland], ...]
    shared: tuple[SharedOutside, ...]
    said: Mapping[str, frozenset[str]]  # see ``Block.said_outside``


_PART = Query[tuple[Piece, ...], _Part]("what a piece of a header declares", each=30, whole=True)
_ENDS = Query[Piece, tuple[int, bool]]("where the braces of a piece of a header end", each=100)


def _weight(part: _Part) -> int:
    """In words."""
    return 10 + len(part.words) + 20 * len(part.for_device) + sum(map(len, part.said.values()))


def _groups(pieces: Sequence[Piece]) -> Iterator[tuple[Piece, ...]]:
    """The pieces, those together that hold a declaration together: a namespace around an include, for one."""
    group: list[Piece] = []
    depth = 0
    for piece in pieces:
        more, whole = _ENDS.of(PROCESS, piece, partial(_end, piece))
        group.append(piece)
        depth += more
        if depth == 0 and whole:
            yield tuple(group)
            group = []
    if group:
        yield tuple(group)


def _end(piece: Piece) -> tuple[int, bool]:
    """(how many more braces it opens than it closes, does it end behind a declaration?)"""
    texts = piece.tokens.texts
    return texts.count("{") - texts.count("}"), texts[-1:] in ([";"], ["}"])


def _read_part(pieces: Sequence[Piece]) -> _Part:
    header = joined(pieces)
    kinds, texts = header.kinds, header.texts
    islands = [
        island for island, _ in find_functions(kinds, texts, [1] * len(kinds), match_brackets(kinds)).islands
    ]
    outside = _outside(header, islands)
    names = Names.empty()
    collect(outside.kinds, outside.texts, names)
    declared, changing, prototypes = set[str](), set[str](), set[str]()
    partner = match_brackets(outside.kinds)
    for i in range(1, len(outside.texts) - 1):
        if (
            outside.kinds[i] == "NAME"
            and outside.kinds[i + 1] == "LP"
            and outside.kinds[i - 1] in _BEFORE_NAME
        ):
            declared.add(outside.texts[i])
            if _takes_addresses(outside, i + 1):
                changing.add(outside.texts[i])
            if not _has_body(outside, partner[i + 1]):
                prototypes.add(outside.texts[i])
    for_device: list[tuple[str, FunctionIsland]] = []
    for island in islands:
        unknown = has_unknown_specifier(kinds, texts, island.head, island.name)
        if ("__device__" in island.specifiers or unknown) and not island.repaired:
            for_device.append((texts[island.name], island))
    return _Part(
        len(kinds),
        names,
        frozenset(declared),
        frozenset(changing),
        frozenset(prototypes),
        frozenset(texts),
        tuple(for_device),
        find_shared_outside(outside.kinds, outside.texts),
        find_said_outside(outside.kinds, outside.texts),
    )


_BEFORE_NAME = frozenset(("NAME", "TYPE", "STAR", "AMP", "GT", "STORAGE"))  # in a declaration
_MOST_PARAMETERS = 300  # tokens


def _takes_addresses(tokens: TokenList, opening: int) -> bool:
    """Is one of the parameters behind that parenthesis a reference, a pointer or a pack?"""
    depth = 0
    for i in range(opening, min(opening + _MOST_PARAMETERS, len(tokens.texts))):
        depth += (tokens.kinds[i] == "LP") - (tokens.kinds[i] == "RP")
        if depth == 0:
            return False
        if tokens.texts[i] in ("&", "&&", "*", "..."):
            return True
    return True


def _has_body(tokens: TokenList, closing: int) -> bool:
    """Does a brace follow that parenthesis before the declaration ends?"""
    for text in tokens.texts[closing + 1 : closing + _MOST_PARAMETERS]:
        if text in (";", "=", "{"):
            return text == "{"
    return False


def _outside(header: Tokens, islands: list[FunctionIsland]) -> TokenList:
    """The tokens outside function bodies."""
    out = TokenList.empty()
    copied = 0
    for island in islands:
        lo, hi = island.body
        out.extend(header.part(copied, lo))
        copied = max(copied, hi)
    out.extend(header.part(copied, len(header)))
    return out
