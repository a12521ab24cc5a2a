"""Parses text into trees: the translation unit and its functions; statement trees and chunks on demand.

Nothing here raises on user text. A chunk that the grammar rejects is None and is counted.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import Any

from smem_lsp.source import NO_FLAGS, CompileFlags, FileReader, SourceText, Span, checkpoint
from smem_lsp.source.queries import PROCESS, Query, Store
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import grammar, tree
from smem_lsp.syntax.blocks import Definition, Placed, place, site
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.chunker import cut
from smem_lsp.syntax.classify import Classifier
from smem_lsp.syntax.functions import FunctionIsland
from smem_lsp.syntax.grammar_tokens import GrammarToken, NotRead
from smem_lsp.syntax.header_functions import Headers, Reached, read_headers
from smem_lsp.syntax.headers import HeaderKey, IncludedFile, forget_flattened, piece_of
from smem_lsp.syntax.lexer import Tokens, moved, packed
from smem_lsp.syntax.lookahead import Lookahead, Symbols
from smem_lsp.syntax.preprocess import Preprocessed, preprocess, seen_from
from smem_lsp.syntax.preprocessed_regions import PreprocessedRegion
from smem_lsp.syntax.said_outside import merged
from smem_lsp.syntax.shared_outside import SharedOutside
from smem_lsp.syntax.symbols import Names
from smem_lsp.syntax.variables import type_names, value_names

MAX_CHUNK_TOKENS = 20_000
MAX_TREE_DEPTH = 150
_READINGS = 4  # parses kept of one function, under different types
_REPAIRS = 200
BEHIND = 1_000_000_000  # index of the first header token
OTHER_FILE = 1_000_000  # numbers of functions between one file of a unit and the next
_NO_DOUBTS: frozenset[str] = frozenset()

_MARK_WITH = {
    "expression": Classifier.expression,
    "declaration": Classifier.declaration,
    "condition": Classifier.condition,
    "for_head": Classifier.for_head,
    "parameters": Classifier.parameters,
    "initializer": Classifier.initializer,
}


_CHUNK = Query[tuple[object, ...], tuple[Any, frozenset[str]]]("tree of a chunk", each=100)


@dataclass(frozen=True, slots=True, eq=False)
class _Statements:
    """The statement tree of a function body, wherever the function stands."""

    ahead: Lookahead
    root: tree.Block
    macros: list[tuple[int, int]]
    open_ended: list[tuple[int, int]]
    unfinished: list[tuple[int, int]]
    repaired: bool
    store: Store = field(default_factory=Store)  # facts about them


_STATEMENTS = Query[Symbols, _Statements](
    "statements of a definition, by the symbols it names", most=_READINGS
)
_LAMBDA = Query[tuple[int, int], _Statements]("statements of a lambda, by its tokens")
_PART = Query[tuple[str, int, int], tuple[Any, frozenset[str]]](
    "tree of a part of a body, by start rule and tokens"
)


_PARAMETERS = Query[Symbols, tuple[list[tree.Declaration] | None]](
    "parameters of a definition, by the symbols it names", most=_READINGS
)


@dataclass(eq=False)
class Body:
    """The tokens between the braces of a function, and their statement tree. Indices are relative to the body.

    What is not understood is noted as it is met, so that it depends on who has asked for what: who has to know it reads
    the body ``alone``."""

    definition: Definition
    start: int  # offset of the definition
    symbols: Symbols
    repaired: bool = False
    macros: list[tuple[int, int]] = field(default_factory=list)
    failed: set[tuple[int, int]] = field(default_factory=set)  # chunks that the grammar rejected
    # ambiguous chunks, each with the names that decide how it parses; statements that seem to lack their `;`
    guessed: dict[tuple[int, int], frozenset[str]] = field(default_factory=dict)
    _root: tree.Block | None = None

    @cached_property
    def tokens(self) -> Tokens:
        body = self.definition.body
        return Tokens(body.kinds, body.texts, moved(body.offsets, self.start))

    def alone(self) -> Body:
        """The same body, in which no statement and no lambda is looked at yet."""
        found = Body(self.definition, self.start, self.symbols, self.definition.island.repaired)
        found.tokens, found._read = self.tokens, self._read
        found._root = found._noted(found._read)
        return found

    @property
    def ahead(self) -> Lookahead:
        return self._read.ahead

    @property
    def unfinished(self) -> Sequence[tuple[int, int]]:
        """Statements that surely lack their `;`."""
        return self._read.unfinished

    @property
    def store(self) -> Store:
        """Holds facts that depend only on the statements and the head."""
        return self._read.store

    @property
    def line_start(self) -> Sequence[bool]:
        """For each token: is it the first of its line?"""
        lo, hi = self.definition.island.body
        return self.definition.line_start[lo:hi]

    @cached_property
    def _read(self) -> _Statements:
        """Parsed once for all places and all file versions in which the function says the same: comments and blank
        lines change nothing."""
        return _STATEMENTS.of(self.definition.content.store, self.symbols, self._read_whole)

    def _read_whole(self) -> _Statements:
        tokens = self.definition.body
        ahead = Lookahead(tokens.kinds, tokens.texts, match_brackets(tokens.kinds), self.symbols)
        return _read_statements(ahead, 0, len(tokens), self.line_start)

    @property
    def statements(self) -> tree.Block:
        root = self._root
        if root is None:
            root = self._root = self._noted(self._read)
        return root

    def block(self, lo: int, hi: int) -> tree.Block:
        """The statement tree of a lambda body, the tokens ``[lo, hi)``."""
        work = partial(_read_statements, self.ahead, lo, hi, self.line_start)
        return self._noted(_LAMBDA.of(self.store, (lo, hi), work))

    def _noted(self, read: _Statements) -> tree.Block:
        self.repaired = self.repaired or read.repaired
        if read.macros:
            self.macros += read.macros
        if read.open_ended:
            self.guessed.update(dict.fromkeys(read.open_ended, frozenset((";",))))
        return read.root

    def chunk(self, start: str, span: tuple[int, int]) -> Any:
        """The tree of a chunk, parsed from the start rule ``start``; None if it does not parse."""
        lo, hi = span
        key = (start, lo, hi)
        parsed, doubts = _PART.of(self.store, key, partial(self._chunk, start, lo, hi))
        if doubts:
            self.guessed[span] = doubts
        if parsed is None:
            self.failed.add(span)
        return parsed

    def _chunk(self, start: str, lo: int, hi: int) -> tuple[Any, frozenset[str]]:
        checkpoint()
        tokens = self.definition.body
        kinds, texts = tokens.kinds[lo:hi], tokens.texts[lo:hi]
        parsed, doubts = _read(start, kinds, texts, self.symbols)
        values, types = (doubts & self.values, doubts & self.types) if doubts else (doubts, doubts)
        if values or types:  # parse again: it is known what these names are here
            again, doubts = _read(start, kinds, texts, self.symbols.knowing(values, types - values))
            parsed = again or parsed
        return parsed, doubts

    @cached_property
    def values(self) -> frozenset[str]:
        """Names that the function uses as variables or constants."""
        body, head = self.definition.body, self.definition.head
        return frozenset(value_names(body.kinds, body.texts) | value_names(head.kinds, head.texts))

    @cached_property
    def types(self) -> frozenset[str]:
        """Names that the function declares something with."""
        body, head = self.definition.body, self.definition.head
        return frozenset(type_names(body.kinds, body.texts) | type_names(head.kinds, head.texts))

    def span(self, lo: int, hi: int) -> Span | None:
        """Where the tokens ``[lo, hi)`` are spelled; None if one of them comes from a macro body."""
        offsets = self.tokens.offsets[lo:hi]
        if not offsets or min(offsets) < 0:
            return None
        return Span(offsets[0], offsets[-1] + len(self.tokens.texts[hi - 1]))

    def span_between(self, lo: int, hi: int) -> Span | None:
        """The span from the first to the last of the tokens ``[lo, hi)``; None unless the author spelled both.
        Tokens between them may come from macros; the span covers their text as the author wrote it."""
        offsets = self.tokens.offsets
        if lo >= hi or offsets[lo] < 0 or offsets[hi - 1] < offsets[lo]:
            return None
        return Span(offsets[lo], offsets[hi - 1] + len(self.tokens.texts[hi - 1]))

    def start_of(self, at: int) -> int:
        """Where to point for the token ``at``: see ``site``."""
        offsets = self.tokens.offsets
        if not offsets:
            return 0
        offset = offsets[min(at, len(offsets) - 1)]
        return offset if offset >= 0 else -1 - offset

    def site(self, lo: int, hi: int) -> Span:
        """Where to point for the tokens ``[lo, hi)``: their text, or the macro invocations they came from; at the last
        one for what is missing behind it."""
        offsets = self.tokens.offsets
        if not offsets:
            return Span(0, 0)
        lo = min(lo, len(offsets) - 1)
        at = min(max(lo, hi - 1), len(offsets) - 1)
        first, last = offsets[lo], offsets[at]
        start = first if first >= 0 else -1 - first
        end = last + len(self.tokens.texts[at]) if last >= 0 else max(start, -1 - last)
        return Span(start, max(end, start))


def _read_statements(ahead: Lookahead, lo: int, hi: int, line_start: Sequence[bool]) -> _Statements:
    chunks = cut(ahead, lo, hi, line_start)
    repaired = chunks.repaired
    root: tree.Block
    try:
        root = grammar.parse("statements", chunks.marks)
    except grammar.GrammarRefused:
        repaired = True
        root = _parse_with_repairs(chunks.marks)
    if _nesting(root) > MAX_TREE_DEPTH:
        repaired = True
        root = tree.Block(lo, hi, [tree.Bad(lo, hi)])
    return _Statements(ahead, root, chunks.macros, chunks.open_ended, chunks.unfinished, repaired)


def parse_chunk(start: str, kinds: Sequence[str], texts: Sequence[str], symbols: Symbols) -> Any:
    """Tree of one chunk with indices relative to it; None when the grammar does not accept it. Memoised."""
    return _read(start, kinds, texts, symbols)[0]


def _read(
    start: str, kinds: Sequence[str], texts: Sequence[str], symbols: Symbols
) -> tuple[Any, frozenset[str]]:
    """(tree or None, the names whose guessed kind - type, template or value - decides it)."""
    if not texts or len(texts) > MAX_CHUNK_TOKENS:
        return [] if start == "parameters" and not texts else None, _NO_DOUBTS
    key = (
        start,
        symbols.types.intersection(texts),
        symbols.templates.intersection(texts),
        symbols.values.intersection(texts),
        *texts,
    )
    work = partial(_read_anew, start, kinds, texts, symbols)
    return _CHUNK.of(PROCESS, key, work, weigh=lambda _: len(texts) + 8)


def _read_anew(
    start: str, kinds: Sequence[str], texts: Sequence[str], symbols: Symbols
) -> tuple[Any, frozenset[str]]:
    classifier = Classifier(Lookahead(kinds, texts, match_brackets(kinds), symbols))
    parsed: Any
    try:
        _MARK_WITH[start](classifier, 0, len(texts))
        parsed = grammar.parse(start, classifier.marks)
    except NotRead:
        parsed = None
    if parsed is not None and len(texts) > MAX_TREE_DEPTH and _depth(parsed) > MAX_TREE_DEPTH:
        parsed = None
    return parsed, frozenset(classifier.doubts) if classifier.doubts else _NO_DOUBTS


def _depth(root: Any) -> int:
    """Nesting depth of a chunk's tree, without recursion."""
    deepest = 0
    stack: list[tuple[Any, int]] = [(root, 1)]
    while stack:
        checkpoint()
        node, level = stack.pop()
        deepest = max(deepest, level)
        if isinstance(node, list):
            stack.extend((child, level) for child in node)
        elif hasattr(node, "__slots__"):
            stack.extend((getattr(node, slot), level + 1) for slot in node.__slots__)
    return deepest


def _nesting(root: tree.Statement) -> int:
    """Nesting depth of a statement tree, without recursion."""
    deepest = 0
    stack: list[tuple[tree.Statement, int]] = [(root, 1)]
    while stack:
        checkpoint()
        node, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in tree.inside(node))
    return deepest


def _parse_with_repairs(marks: Sequence[GrammarToken]) -> tree.Block:
    """Parse statements in which a head lacks its body or an ``else`` its ``if``: insert or drop marks as needed."""
    parser = grammar.Repairing()
    repairs = 0
    end = marks[-1].hi if marks else 0
    for mark in (*marks, GrammarToken("$END", end, end, "")):
        checkpoint()
        while repairs <= _REPAIRS:
            try:
                result = parser.feed(mark)
            except grammar.GrammarRefused:
                repairs += 1
                supplied = _supply(parser, mark)
                if supplied is None:
                    break  # drop the mark
                parser.feed(supplied)
            else:
                if mark.type == "$END":
                    block: tree.Block = result
                    return block
                break
    return tree.Block(0, end, [tree.Bad(0, end)])


def _supply(parser: grammar.Repairing, mark: GrammarToken) -> GrammarToken | None:
    """The mark to insert before ``mark`` so that parsing can go on; None: drop ``mark`` instead."""
    if parser.accepts("$END"):  # between two statements
        return None
    for kind in ("SEMI", "COND", "HEAD", "CHUNK_EXPR", "COLON", "WHILE", "CATCH", "CLOSE"):
        # a missing body, head or expression; inside a block only what the block itself lacks
        if kind != mark.type and parser.accepts(kind) and (kind != "SEMI" or not parser.accepts("CLOSE")):
            if kind in ("WHILE", "CLOSE") and mark.type != "$END" and parser.accepts("CLOSE"):
                return None
            return GrammarToken(kind, mark.lo, mark.lo, "")
    return None


@dataclass(eq=False)
class Function:
    """One function definition of a file."""

    definition: Definition
    start: int  # offset of the definition
    first_token: int  # index of its first token in the file
    number: int  # in the order of the file, behind OTHER_FILE for each file of the unit before it
    file_symbols: Symbols
    scopes: tuple[str, ...]  # around the block that holds the definition
    _body: Body | None = None

    @cached_property
    def island(self) -> FunctionIsland:
        """Its parts, as indices of the file's tokens."""
        island = self.definition.island.moved(self.first_token)
        return replace(island, enclosing=self.scopes + island.enclosing) if self.scopes else island

    @property
    def name(self) -> str:
        return self.definition.name

    @cached_property
    def name_span(self) -> Span:
        offset = self.definition.tokens.offsets[self.definition.island.name]
        start = self.start + site(offset)
        return Span(start, start + len(self.name) if offset >= 0 else start)

    @property
    def span(self) -> Span:
        return Span(self.start, self.start + len(self.definition.text))

    @property
    def symbols(self) -> Symbols:
        """The types and templates that the definition names."""
        return self.definition.known(self.file_symbols)

    @property
    def body(self) -> Body:
        body = self._body
        if body is None:
            definition = self.definition
            body = Body(
                definition, self.start, definition.known(self.file_symbols), definition.island.repaired
            )
            self._body = body
        return body

    @cached_property
    def head(self) -> Tokens:
        """From the first specifier to the closing parenthesis of the parameters."""
        head = self.definition.head
        return Tokens(head.kinds, head.texts, moved(head.offsets, self.start))

    @cached_property
    def parameter_tokens(self) -> Tokens:
        parameters = self.definition.parameters
        return Tokens(parameters.kinds, parameters.texts, moved(parameters.offsets, self.start))

    @property
    def enclosing(self) -> tuple[str, ...]:
        """The namespaces and classes around it."""
        return self.scopes + self.definition.island.enclosing

    @cached_property
    def parameters(self) -> list[tree.Declaration] | None:
        """None: they do not parse. Parsed once for all places and all file versions that spell the same function."""
        (parsed,) = _PARAMETERS.of(self.definition.store, self.symbols, self._read_parameters)
        return parsed

    def _read_parameters(self) -> tuple[list[tree.Declaration] | None]:
        tokens = self.definition.parameters
        return (parse_chunk("parameters", tokens.kinds, tokens.texts, self.symbols),)

    @property
    def is_kernel(self) -> bool:
        return self.definition.is_kernel


@dataclass(frozen=True, eq=False)
class UnitFile:
    """One file of a translation unit with its functions. Offsets count from the start of the file."""

    source: SourceText
    preprocessed_regions: Sequence[tuple[int, PreprocessedRegion]]
    blocks: Sequence[Placed]
    functions: Sequence[Function]

    @cached_property
    def inactive_text(self) -> tuple[str, ...]:
        """What the preprocessor left out."""
        return tuple(
            self.source.text[lo + start : hi + start]
            for start, region in self.preprocessed_regions
            for lo, hi in region.inactive
        )

    def undecided_in(self, span: Span) -> Iterator[tuple[Span, str]]:
        """Conditionals that reach into ``span`` and compare a name which nothing defines, and the name."""
        for start, region in self.preprocessed_regions:
            for lo, hi, name in region.undecided:
                if lo + start < span.end and span.start < hi + start:
                    yield Span(lo + start, hi + start), name


@dataclass(eq=False)
class TranslationUnit:
    """A parsed file with the other files of its unit that may hold kernels or launches: those that it includes and,
    where it is a header, those of its includer. Everything but ``others`` is of the file itself; what the others
    declare stands among the declarations of its headers, too."""

    source: SourceText
    preprocessed: Preprocessed
    blocks: list[Placed]
    names: Names
    symbols: Symbols
    functions: list[Function]
    header_functions: frozenset[str] = frozenset()  # names that headers declare with parameters
    others: tuple[UnitFile, ...] = ()
    main: str = ""  # path of the unit's main file: of an includer where the file is a header
    store: Store = field(default_factory=Store)  # facts about this version

    @cached_property
    def files(self) -> tuple[UnitFile, ...]:
        """This file, then the others."""
        own = UnitFile(self.source, self.preprocessed.preprocessed_regions, self.blocks, self.functions)
        return (own, *self.others)

    @cached_property
    def all_functions(self) -> Sequence[Function]:
        """The functions of all files."""
        return [*self.functions, *(function for other in self.others for function in other.functions)]

    @property
    def all_blocks(self) -> Iterator[Placed]:
        """The blocks of all files."""
        return (placed for file in self.files for placed in file.blocks)

    def function(self, number: int) -> Function:
        """The function of any file with that number."""
        file, at = divmod(number, OTHER_FILE)
        return self.files[file].functions[at]

    def file_of(self, number: int) -> UnitFile:
        """The file of the function with that number."""
        return self.files[number // OTHER_FILE]

    @cached_property
    def partner(self) -> array[int]:
        """Bracket partners of the file's tokens."""
        partner = packed(())
        opened: list[int] = []
        for placed in self.blocks:
            checkpoint()
            block, base = placed.block, len(partner)
            partner.extend([p + base if p >= 0 else p for p in block.partner] if base else block.partner)
            for i in block.loose:  # braces of scopes that outlast the block, and of half-typed code
                if block.tokens.kinds[i] == "LC":
                    opened.append(base + i)
                elif opened:
                    partner[base + i] = opened.pop()
                    partner[partner[base + i]] = base + i
        return partner

    @cached_property
    def taken(self) -> frozenset[str]:
        """Names of macros and functions. A fix that declares a name must avoid them."""
        return frozenset(self.preprocessed.macros) | {function.name for function in self.functions}

    @property
    def header_words(self) -> frozenset[str]:
        """Spellings of all tokens of the headers."""
        return _header(self.preprocessed).words

    @cached_property
    def shared_outside(self) -> Sequence[SharedOutside]:
        """The declarations of shared memory outside functions, in all files and headers."""
        inside = (each for placed in self.all_blocks for each in placed.block.shared_outside)
        return [*inside, *_header(self.preprocessed).shared_outside]

    @cached_property
    def said_outside(self) -> Mapping[str, frozenset[str]]:
        """See ``Block.said_outside``; of all files and headers."""
        inside = (placed.block.said_outside for placed in self.all_blocks)
        return merged([_header(self.preprocessed).said_outside, *inside])

    @cached_property
    def shared_names(self) -> frozenset[str]:
        """All names in these declarations."""
        return frozenset[str]().union(*(each.names for each in self.shared_outside))

    @cached_property
    def shared_places(self) -> Mapping[str, Span]:
        """Where the names in these declarations stand, of those in this file that no macro has written."""
        if not self.shared_names:
            return {}
        tokens = self.preprocessed.tokens
        bodies = [
            (each.first_token, each.first_token + len(each.definition.tokens)) for each in self.functions
        ]
        found: dict[str, Span] = {}
        end = 0
        for at in (number for number, text in enumerate(tokens.texts) if text == "__shared__"):
            checkpoint()
            if at < end or any(lo <= at < hi for lo, hi in bodies):
                continue
            end = next((i for i in range(at, len(tokens)) if tokens.kinds[i] == "SEMI"), len(tokens))
            for i in range(at, end):
                if tokens.kinds[i] == "NAME" and tokens.offsets[i] >= 0:
                    place = Span(tokens.offsets[i], tokens.offsets[i] + len(tokens.texts[i]))
                    found.setdefault(tokens.texts[i], place)
        return found

    @property
    def header_by_value(self) -> frozenset[str]:
        """Those of ``header_functions`` that take all parameters by value."""
        return _header(self.preprocessed).by_value

    @property
    def header_prototypes(self) -> frozenset[str]:
        """Those of ``header_functions`` that are declared somewhere without a body."""
        return _header(self.preprocessed).prototypes

    def header_reach(self, names: frozenset[str]) -> Reached:
        """See ``Headers.reached``; nothing where no function of a header is named."""
        if self.header_functions.isdisjoint(names):
            return names, ()
        return _header(self.preprocessed).reached(names)

    def header_place(self, function: Function, lo: int, hi: int) -> tuple[SourceText, Span] | None:
        """Where the tokens ``[lo, hi)`` of the body of a function of a header stand; see ``Preprocessed``. None for a
        function of the file itself."""
        if function.number >= 0 or function.first_token < BEHIND:
            return None
        first = function.first_token - BEHIND + function.definition.island.body[0]
        return self.preprocessed.header_place(first + lo, first + hi)

    def header_definitions(self, name: str, offset: int) -> list[Function]:
        """The device functions ``name`` that headers define, placed at ``offset``, the offset of the call. None of
        their tokens can be edited."""
        return [
            Function(found.definition, offset, BEHIND + found.at, -1, self.symbols, ())
            for found in _header(self.preprocessed).definitions.get(name, ())
        ]


def parse(
    source: SourceText,
    *,
    reader: FileReader | None = None,
    include_dirs: Sequence[str] = (),
    defines: Sequence[str] = (),
    flags: CompileFlags = NO_FLAGS,
    arch: str | None = None,
) -> TranslationUnit:
    """Parse a file. Never raises on user text; statement trees and chunks are parsed on demand.

    Results of earlier texts are reused, part by part: regions of text (``lexer``), preprocessed regions
    (``preprocessed_regions``), blocks and definitions (``blocks``), chunks. Each is keyed by everything that it
    depends on, and its offsets count from its own start. So the result does not depend on what was parsed before.
    A keystroke reparses its own function, and looks at every other block once.
    """
    settings = source.path, tuple(include_dirs), tuple(defines), flags, arch
    earlier = _UNIT.find(PROCESS, settings)
    preprocessed = preprocess(
        source.text,
        path=source.path,
        reader=reader,
        include_dirs=include_dirs,
        defines=defines,
        flags=flags,
        arch=arch,
        earlier=() if earlier is None else earlier.preprocessed.regions,
    )
    unit = _unit(source, preprocessed, preprocessed.files, source.path, earlier)
    return _UNIT.keep(PROCESS, settings, unit, len(source.text) + 1_000)


def parse_within(
    source: SourceText,
    main: SourceText,
    *,
    most: int,
    reader: FileReader,
    include_dirs: Sequence[str] = (),
    defines: Sequence[str] = (),
    flags: CompileFlags = NO_FLAGS,
    arch: str | None = None,
) -> list[TranslationUnit]:
    """Parse the file ``source`` as the unit of the file ``main`` reads it: with the macros, types and functions of
    ``main`` and of its other headers. One unit for each time that it is read under other macros, at most ``most``;
    empty if it is not read at all. ``flags``: of ``main``; ``reader`` must give the text of ``source`` for its path."""
    preprocessed = preprocess(
        main.text,
        path=main.path,
        reader=reader,
        include_dirs=include_dirs,
        defines=defines,
        flags=flags,
        arch=arch,
    )
    outer = IncludedFile(
        main.path,
        main.text,
        tuple(preprocessed.preprocessed_regions),
        piece_of(preprocessed.preprocessed_regions),
    )
    path = reader.real(source.path)
    units: list[TranslationUnit] = []
    seen: list[tuple[tuple[int, PreprocessedRegion], ...]] = []
    for at, file in enumerate(preprocessed.files):
        if len(units) == most:
            break
        if file.text != source.text or reader.real(file.path) != path or file.regions in seen:
            continue
        seen.append(file.regions)
        others = [outer, *preprocessed.files[:at], *preprocessed.files[at + 1 :]]
        key = "within", source.path, main.path, len(units), tuple(include_dirs), tuple(defines), flags, arch
        unit = _unit(source, seen_from(file, preprocessed), others, main.path, _UNIT.find(PROCESS, key))
        units.append(_UNIT.keep(PROCESS, key, unit, len(source.text) + 1_000))
    return units


def _unit(
    source: SourceText,
    preprocessed: Preprocessed,
    others: Sequence[IncludedFile],
    main: str,
    earlier: TranslationUnit | None,
) -> TranslationUnit:
    blocks = place(preprocessed.preprocessed_regions)
    names, symbols = _declared(preprocessed, blocks)
    functions = _functions(blocks, symbols, earlier)
    declared = _header(preprocessed).declared
    around = tuple(_file(other, symbols, number) for number, other in enumerate(others, 1))
    return TranslationUnit(source, preprocessed, blocks, names, symbols, functions, declared, around, main)


def _file(file: IncludedFile, symbols: Symbols, number: int) -> UnitFile:
    """A file of the unit that is not the one it is seen from."""
    return _FILE.of(
        PROCESS,
        (file.path, file.regions, symbols, number),
        partial(_placed_file, file, symbols, number),
        weigh=lambda _: len(file.text) + 1_000,
    )


_FILE = Query[tuple[object, ...], UnitFile]("other file of a unit", each=20, in_use=True)


def _placed_file(file: IncludedFile, symbols: Symbols, number: int) -> UnitFile:
    blocks = place(file.regions)
    functions = _functions(blocks, symbols, None, number * OTHER_FILE)
    return UnitFile(SourceText(file.text, file.path), file.regions, blocks, functions)


_UNIT = Query[tuple[object, ...], TranslationUnit](
    "last version of a file, by its settings", each=25, in_use=True, whole=True
)


def forget_units() -> None:
    """Drop the last version of each file, and what its headers declare as a whole."""
    for query in (_UNIT, _FILE, _DECLARED, _HEADERS):
        query.forget(PROCESS)
    forget_flattened()


def _functions(
    blocks: Sequence[Placed], symbols: Symbols, earlier: TranslationUnit | None, number: int = 0
) -> list[Function]:
    """The functions of the file in order; those before the first changed block come from ``earlier``. ``number``: of
    the first."""
    first = count = same = 0
    functions: list[Function] = []
    if earlier is not None and earlier.symbols is symbols:
        for old, placed in zip(earlier.blocks, blocks):
            if old.block is not placed.block or old.start != placed.start or old.scopes != placed.scopes:
                break
            same += 1
            first += len(placed.block.partner)
            count += len(placed.block.functions)
        functions += earlier.functions[:count]
    for placed in blocks[same:]:
        checkpoint()
        for located in placed.block.functions:
            scopes = placed.scopes[: max(0, len(placed.scopes) - located.left)] if placed.scopes else ()
            functions.append(
                Function(
                    located.definition,
                    placed.start + located.offset,
                    first + located.head,
                    number + count,
                    symbols,
                    tuple(name for name, _ in scopes) if scopes else (),
                )
            )
            count += 1
        first += len(placed.block.partner)
    return functions


_DECLARED = Query[tuple[object, ...], tuple[Names, Symbols]](
    "names that a file and its headers declare", each=20_000
)
_HEADERS = Query[HeaderKey, Headers]("names and functions of headers", each=60)
_SYMBOLS = Query[Symbols, Symbols]("the one object for equal symbols", each=3_000)


def _declared(unit: Preprocessed, blocks: Sequence[Placed]) -> tuple[Names, Symbols]:
    """What the file and its headers declare. Equal symbols are one object."""
    parts = tuple(placed.block.names for placed in blocks if placed.block.names)
    key = (unit.header_key, *parts)
    return _DECLARED.of(PROCESS, key, lambda: _all_names([_header(unit).names, *parts]))


def _all_names(parts: Sequence[Names]) -> tuple[Names, Symbols]:
    names = Names()
    for part in parts:
        names.add(part)
    symbols = names.symbols()
    return names, _SYMBOLS.of(PROCESS, symbols, lambda: symbols)


def _header(unit: Preprocessed) -> Headers:
    weight = len(unit.header)
    work = partial(read_headers, unit.header, unit.pieces)
    return _HEADERS.of(PROCESS, unit.header_key, work, weigh=lambda _: weight)
