"""Token-level preprocessor: conditionals, macros and includes, with exact offsets and no intermediate text.

Headers contribute macros and the tokens of their declarations (types, constants, templates); their code is not part
of the file's token stream. Those that may hold kernels or launches are kept as files of the unit, with all bodies.
Only the active branch of a conditional is kept.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import accumulate

from smem_lsp.source import NO_FLAGS, CompileFlags, FileReader, SourceText, Span, checkpoint
from smem_lsp.source.budget import look
from smem_lsp.source.queries import PROCESS, Query, remembered
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.directives import OUTSIDE, File, Notes
from smem_lsp.syntax.directives import process_header as process_declarations
from smem_lsp.syntax.expand import COUNTER, FILE, MAX_TOKENS
from smem_lsp.syntax.headers import (
    HeaderKey,
    IncludedFile,
    Piece,
    declarations,
    flatten,
    piece_of,
    used_macros,
    words_of,
)
from smem_lsp.syntax.includes import Preprocessing, PreprocessorProblem
from smem_lsp.syntax.lexer import LAUNCH_OPENING, Region, Tokens, moved, packed, regions
from smem_lsp.syntax.macros import Macro, TokenList
from smem_lsp.syntax.predefined import initial_macros
from smem_lsp.syntax.preprocessed_regions import (
    Environment,
    MacroVersion,
    OpenConditionals,
    PreprocessedRegion,
    find,
    keep,
)


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive line of the file itself."""

    name: str
    span: Span


@dataclass
class Preprocessed:
    """The active tokens of one file. ``preprocessed_regions``: each with its offset; ``header``: declarations of the
    headers that were found.

    The lists of the whole file are built on demand.
    """

    preprocessed_regions: list[tuple[int, PreprocessedRegion]]
    environment: Environment
    regions: Sequence[tuple[int, Region]] = ()
    header: Tokens = field(default_factory=lambda: Tokens([], [], packed(())))
    header_key: HeaderKey = field(default_factory=HeaderKey)  # the identity of the list ``header``
    entered: list[str] = field(default_factory=list)  # paths of the headers that were read
    missing: list[str] = field(default_factory=list)  # includes that were not found
    missing_quoted: bool = False  # one of them is spelled "..."
    problems: list[PreprocessorProblem] = field(default_factory=list)
    cut_off: bool = False  # the headers exceeded the bounds
    refused: frozenset[str] = frozenset()  # macros that did, and are left as they are
    files: list[IncludedFile] = field(default_factory=list)  # other files of the unit
    pieces: tuple[Piece, ...] = ()  # of ``header``

    @cached_property
    def tokens(self) -> Tokens:
        kinds: list[str] = []
        texts: list[str] = []
        offsets = packed(())
        for start, preprocessed in self.preprocessed_regions:
            kinds += preprocessed.tokens.kinds
            texts += preprocessed.tokens.texts
            offsets += moved(preprocessed.tokens.offsets, start)
        return Tokens(kinds, texts, offsets)

    def includes_behind(self, offset: int) -> bool:
        """Does the file include a header behind an offset?"""
        return self._last_include > offset

    @cached_property
    def _last_include(self) -> int:
        return max(
            (each.span.start for each in self.directives if each.name.startswith("include")), default=-1
        )

    def header_place(self, lo: int, hi: int) -> tuple[SourceText, Span] | None:
        """Where the tokens ``[lo, hi)`` of ``header`` stand, those of macros where these are invoked. None: in a file
        that is not at hand, or not together in one."""
        at = bisect_right(self._piece_starts, lo) - 1
        if not 0 <= at < len(self.pieces) or not lo < hi <= self._piece_starts[at + 1]:
            return None
        source, offsets = self._offsets_in(self.pieces[at])
        if source is None:
            return None
        first, last = (offsets[each - self._piece_starts[at]] for each in (lo, hi - 1))
        start = first if first >= 0 else -1 - first
        end = last + len(self.header.texts[hi - 1]) if last >= 0 else _word_end(source.text, -1 - last)
        return source, Span(start, max(start, end))

    @cached_property
    def _piece_starts(self) -> list[int]:
        """Of each piece of ``header``, its first token; behind them the end."""
        return list(accumulate((len(piece.tokens) for piece in self.pieces), initial=0))

    def _offsets_in(self, piece: Piece) -> tuple[SourceText | None, Sequence[int]]:
        """The file of a piece, and the offsets of its tokens there."""
        if piece.source is not None:
            return piece.source, piece.tokens.offsets
        known = self._placed_pieces.get(id(piece))
        if known is None:
            file = next((each for each in self.files if each.piece is piece), None)
            known = (None, []) if file is None else (SourceText(file.text, file.path), _offsets(file))
            self._placed_pieces[id(piece)] = known
        return known

    @cached_property
    def _placed_pieces(self) -> dict[int, tuple[SourceText | None, Sequence[int]]]:
        return {}

    @cached_property
    def macros(self) -> dict[str, Macro]:
        """The macros after the last line."""
        return self.environment.table

    @cached_property
    def directives(self) -> list[Directive]:
        return [
            Directive(name, Span(lo + start, hi + start))
            for start, preprocessed in self.preprocessed_regions
            for name, lo, hi in preprocessed.directives
        ]

    @cached_property
    def invocations(self) -> list[Span]:
        """Macro invocations with arguments."""
        return [
            Span(lo + start, hi + start)
            for start, preprocessed in self.preprocessed_regions
            for lo, hi in preprocessed.invocations
        ]

    @cached_property
    def inactive(self) -> list[Span]:
        found: list[Span] = []
        for start, preprocessed in self.preprocessed_regions:
            checkpoint()
            for number, (lo, hi) in enumerate(preprocessed.inactive):
                if number == 0 and lo == 0 and found and not preprocessed.before.active:  # continued
                    found[-1] = Span(found[-1].start, hi + start)
                else:
                    found.append(Span(lo + start, hi + start))
        return found

    @cached_property
    def errors(self) -> list[tuple[str, ...]]:
        """For each ``#error`` that is reached, here or in another file of the unit: names that nothing defines and that
        do no more than choose between branches, in the order in which the conditions around it ask for them."""
        reached = [each for _, region in self._all_regions() for each in region.errors]
        if not any(reached):
            return reached
        code = "\n".join(_CHOOSING.sub("", region.text) for _, region in self._all_regions())
        used = frozenset(_WORD.findall(code))
        return [tuple(name for name in each if name not in used) for each in reached]

    def _all_regions(self) -> Iterator[tuple[int, PreprocessedRegion]]:
        yield from self.preprocessed_regions
        for file in self.files:
            yield from file.regions

    @property
    def exhausted(self) -> bool:
        """A macro or the headers exceeded the bounds, so their meaning is unknown."""
        return bool(self.problems)

    def leaves_open(self, words: frozenset[str]) -> bool:
        """Is it not known what text with these words means, since a macro or the headers exceeded the bounds?"""
        return self.cut_off or not self.refused.isdisjoint(words)


def _word_end(text: str, start: int) -> int:
    end = start
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    return end


def _offsets(file: IncludedFile) -> list[int]:
    """Where the tokens of what a file declares stand in it."""
    tokens = TokenList.empty()
    for start, region in file.regions:
        offsets = list(moved(region.tokens.offsets, start))
        tokens.extend(TokenList(region.tokens.kinds, region.tokens.texts, offsets))
    return declarations(tokens).offsets


def preprocess(
    text: str,
    *,
    path: str = "",
    reader: FileReader | None = None,
    include_dirs: Sequence[str] = (),
    defines: Sequence[str] = (),
    flags: CompileFlags = NO_FLAGS,
    arch: str | None = None,
    earlier: Sequence[tuple[int, Region]] = (),
) -> Preprocessed:
    """Run the preprocessor over ``text``. Never raises on user text.

    ``include_dirs`` and ``defines`` come from the settings, ``flags`` from a compile command; ``arch`` ("sm_90")
    decides ``__CUDA_ARCH__``; ``earlier``: the regions of an earlier version of the text.
    """
    macros = initial_macros(arch, defines, flags)
    run = Preprocessing(
        macros, reader, (*include_dirs, *flags.include_dirs), flags.quote_dirs, _process_header
    )
    run.expander.path = path
    environment = Environment(macros, _first_version(arch, tuple(defines), flags))
    for forced in flags.includes:
        run.include(forced, path, True, 0)
    if run.changes:
        environment.version = MacroVersion()
    result = Preprocessed([], environment, regions=regions(text, earlier))
    result.preprocessed_regions += _read_regions(run, result.regions, environment, path, 0)
    result.pieces, result.files = tuple(run.pieces), run.files
    result.header, result.header_key = flatten(run.pieces)
    result.entered = run.entered
    result.missing = [name for name, _ in run.missing]
    result.missing_quoted = any(quoted for _, quoted in run.missing)
    result.problems = run.problems + _too_large(run.expander.refused)
    result.cut_off, result.refused = bool(run.problems), frozenset(run.expander.refused)
    return result


def seen_from(file: IncludedFile, main: Preprocessed) -> Preprocessed:
    """The same unit with one of its files in the place of the main file, which becomes one of the others."""
    seen = replace(main, preprocessed_regions=list(file.regions), regions=())
    pieces = (
        *(piece for piece in main.pieces if piece is not file.piece),
        piece_of(main.preprocessed_regions),
    )
    seen.pieces = pieces
    seen.header, seen.header_key = flatten(pieces)
    return seen


_MARKS = ("__global__", "LaunchKernel")
_CHOOSING = regex(r"^[ \t]*#[ \t]*(?:el)?(?:if|ifdef|ifndef|else|endif|error)\b(?:\\\r?\n|[^\n])*", re.M)
_WORD = regex(r"[A-Za-z]\w*")


def holds_kernels(text: str) -> bool:
    """May a header hold kernels or launch them?"""
    return any(mark in text for mark in _MARKS) or LAUNCH_OPENING.search(text) is not None


def _process_header(run: Preprocessing, path: str, text: str, depth: int, bare: bool) -> None:
    """Carry out a header's directives and add its declarations to the run, and the file itself if it may hold kernels
    or launches. ``bare``: its directives only."""
    if bare or not holds_kernels(text):
        process_declarations(run, path, text, depth, bare)
        return
    cut = _CUT.of(PROCESS, text, partial(regions, text), weigh=lambda _: len(text) + 1)
    run.tokens += sum(len(region.kinds) for _, region in cut)
    read = tuple(_read_regions(run, cut, Environment(run.macros, MacroVersion()), path, depth))
    file = IncludedFile(path, text, read, piece_of(read))
    run.files.append(file)
    run.pieces.append(file.piece)


_CUT = Query[str, list[tuple[int, Region]]]("regions of a header", each=20)


def _read_regions(
    run: Preprocessing,
    cut: Sequence[tuple[int, Region]],
    environment: Environment,
    path: str,
    depth: int,
) -> Iterator[tuple[int, PreprocessedRegion]]:
    """The regions of one file, preprocessed in order. ``depth``: 0 for the main file."""
    conditions = OUTSIDE
    for start, region in cut:
        checkpoint()
        preprocessed = None if run.expander.refused else find(region, conditions, environment, path)
        if preprocessed is not None and run.expander.produced + preprocessed.produced <= MAX_TOKENS:
            run.expander.produced += preprocessed.produced
            if depth:
                for name, macro in preprocessed.changes:
                    run.define(name, macro)
            environment.pass_over(preprocessed, applied=bool(depth))
        else:
            macros = environment.table
            preprocessed = _read_region(run, region, start, conditions, macros, path, depth)
            environment.pass_over(preprocessed, applied=True)
        yield start, preprocessed
        conditions = preprocessed.after


@remembered(most=64)
def _first_version(arch: str | None, defines: tuple[str, ...], flags: CompileFlags) -> MacroVersion:
    """The version of the macros before the first line."""
    return MacroVersion()


def _read_region(
    run: Preprocessing,
    region: Region,
    start: int,
    before: OpenConditionals,
    macros: dict[str, Macro],
    path: str,
    depth: int,
) -> PreprocessedRegion:
    """Preprocess the region at ``start`` without the cache."""
    look()
    expander = run.expander
    refused = set(expander.refused)
    changed, invoked, pasted, produced = (
        len(run.changes),
        len(expander.invocations),
        len(expander.pasted),
        expander.produced,
    )
    # lines that are asked for are numbered in their order: an empty line or the place of the region changes nothing,
    # and programs only print them, or tell names of different lines apart
    lines: dict[int, int] = {}
    expander.line_of = lambda offset: lines.setdefault(region.text.count("\n", 0, offset), len(lines) + 1)
    out = TokenList.empty()
    notes = Notes(start)
    file = File(run, path, out, notes, depth, before)
    file.process_tokens(region.kinds, region.texts, region.offsets)
    if not file.active:
        notes.inactive.append((notes.inactive_from, len(region.text)))
    notes.undecided += ((each.start, len(region.text), each.unknown) for each in file.stack if each.unknown)
    for name in expander.refused.keys() - refused:
        expander.refused[name] = moved(packed([expander.refused[name]]), start)[0]
    changes = run.changes[changed:]
    then: dict[str, Macro | None] = {}
    for name, was, _ in changes:
        then.setdefault(name, was)
    look()
    words = words_of(region.text).union(expander.pasted[pasted:])
    uses, asked = used_macros(words, macros, then)
    fixed = (
        not expander.refused
        and COUNTER not in uses
        and not any(
            "include" in spelled for kind, spelled in zip(region.kinds, region.texts) if kind == "DIRECTIVE"
        )
    )
    look()
    columns, line_start = _layout(region, out.offsets)
    return keep(
        region,
        PreprocessedRegion(
            region.text,
            before,
            before if not notes.directives else file.conditions(),
            Tokens(out.kinds, out.texts, packed(out.offsets)),
            columns,
            line_start,
            tuple(notes.directives),
            tuple(notes.inactive),
            tuple(notes.undecided),
            tuple(notes.errors),
            tuple((span.start, span.end) for span in expander.invocations[invoked:]),
            tuple({name: macro for name, _, macro in changes}.items()),
            uses,
            asked,
            fixed,
            expander.produced - produced,
            path=path if FILE in uses else None,
        ),
    )


def _layout(region: Region, offsets: list[int]) -> tuple[list[int], list[bool]]:
    """For each token: 0 in column 0, 1 elsewhere, -1 from a macro body, but the first of an expansion stands for its
    invocation; and whether it is the first of its line."""
    checkpoint()
    firsts, margins = region.firsts, region.margins
    columns = [0 if offset in margins else 1 if offset >= 0 else -1 for offset in offsets]
    line_start = [offset in firsts for offset in offsets]
    if -1 in columns:
        last = -1
        for i, offset in enumerate(offsets):
            if offset < 0 and offset != last:
                line_start[i] = -1 - offset in firsts
                columns[i] = 0 if -1 - offset in margins else -1
            last = offset
    return columns, line_start


def _too_large(refused: Mapping[str, int]) -> list[PreprocessorProblem]:
    """One problem for all refused macros, at the first of them."""
    if not refused:
        return []
    name, offset = next(iter(refused.items()))
    others = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
    verbs = "expand too far and are left as they are" if others else "expands too far and is left as it is"
    return [PreprocessorProblem(_site(offset, name), f"`{name}`{others} {verbs}")]


def _site(offset: int, name: str) -> Span:
    start = offset if offset >= 0 else -1 - offset
    return Span(start, start + (len(name) if offset >= 0 else 0))
