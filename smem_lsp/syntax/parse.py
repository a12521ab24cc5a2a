"""Text to trees: the translation unit, its functions, their statement trees and chunks on demand.

Nothing here raises on user text. A chunk that the grammar does not accept is None and is counted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lark.exceptions import UnexpectedInput

from smem_lsp.source import FileReader, SourceText, Span
from smem_lsp.syntax import grammar, tree
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.chunker import cut
from smem_lsp.syntax.classify import Classifier
from smem_lsp.syntax.functions import FunctionIsland, find_functions
from smem_lsp.syntax.lexer import Tokens
from smem_lsp.syntax.lookahead import Lookahead, Symbols
from smem_lsp.syntax.marks import Mark, NotRead
from smem_lsp.syntax.preprocess import Preprocessed, preprocess
from smem_lsp.syntax.symbols import Names, collect

MAX_CHUNK_TOKENS = 20_000
MAX_TREE_DEPTH = 150
_MEMO_SIZE = 20_000
_REPAIRS = 200

_MARK_WITH = {
    "expression": Classifier.expression,
    "declaration": Classifier.declaration,
    "condition": Classifier.condition,
    "for_head": Classifier.for_head,
    "parameters": Classifier.parameters,
    "initializer": Classifier.initializer,
}


class _Memo(OrderedDict[tuple[object, ...], Any]):
    """The trees of the chunks read last, by spelling; bounded."""

    def remember(self, key: tuple[object, ...], value: Any) -> None:
        self[key] = value
        if len(self) > _MEMO_SIZE:
            self.popitem(last=False)


_memo = _Memo()


@dataclass
class Body:
    """The tokens between the braces of a function, and their statement tree. Indices are relative to the body."""

    tokens: Tokens
    symbols: Symbols
    line_start: Sequence[bool]
    repaired: bool = False
    macros: list[tuple[int, int]] = field(default_factory=list)
    failed: set[tuple[int, int]] = field(default_factory=set)  # chunks that the grammar did not accept

    @cached_property
    def ahead(self) -> Lookahead:
        kinds, texts = self.tokens.kinds, self.tokens.texts
        return Lookahead(kinds, texts, match_brackets(kinds), self.symbols)

    @cached_property
    def statements(self) -> tree.Block:
        return self.block(0, len(self.tokens))

    def block(self, lo: int, hi: int) -> tree.Block:
        """The statement tree of the tokens ``[lo, hi)``: the body's, or a lambda's."""
        chunks = cut(self.ahead, lo, hi, self.line_start)
        self.repaired = self.repaired or chunks.repaired
        self.macros += chunks.macros
        try:
            block: tree.Block = grammar.parse("statements", chunks.marks)
        except UnexpectedInput:
            self.repaired = True
            block = _parse_with_repairs(chunks.marks)
        if _nesting(block) > MAX_TREE_DEPTH:
            self.repaired = True
            return tree.Block(lo, hi, [tree.Bad(lo, hi)])
        return block

    def chunk(self, start: str, span: tuple[int, int]) -> Any:
        """The tree of a chunk from a start rule, or None when it was not understood."""
        lo, hi = span
        parsed = parse_chunk(start, self.tokens.kinds[lo:hi], self.tokens.texts[lo:hi], self.symbols)
        if parsed is None:
            self.failed.add(span)
        return parsed

    def span(self, lo: int, hi: int) -> Span | None:
        """Where the tokens ``[lo, hi)`` are spelled; None when one of them came out of a macro body."""
        offsets = self.tokens.offsets[lo:hi]
        if not offsets or min(offsets) < 0:
            return None
        return Span(offsets[0], offsets[-1] + len(self.tokens.texts[hi - 1]))

    def span_between(self, lo: int, hi: int) -> Span | None:
        """From the first to the last of the tokens ``[lo, hi)``, when those two are spelled here: what lies between
        may come out of macros and is kept as the author wrote it."""
        offsets = self.tokens.offsets
        if lo >= hi or offsets[lo] < 0 or offsets[hi - 1] < offsets[lo]:
            return None
        return Span(offsets[lo], offsets[hi - 1] + len(self.tokens.texts[hi - 1]))

    def site(self, lo: int, hi: int) -> Span:
        """Where to point for the tokens ``[lo, hi)``: their text, or the macro invocations they came from."""
        offsets = self.tokens.offsets
        if not offsets:
            return Span(0, 0)
        lo = min(lo, len(offsets) - 1)
        first, last = offsets[lo], offsets[max(lo, hi - 1)]
        start = first if first >= 0 else -1 - first
        end = last + len(self.tokens.texts[max(lo, hi - 1)]) if last >= 0 else max(start, -1 - last)
        return Span(start, max(end, start))


def parse_chunk(start: str, kinds: Sequence[str], texts: Sequence[str], symbols: Symbols) -> Any:
    """Tree of one chunk with indices relative to it; None when the grammar does not accept it. Memoised."""
    if not texts or len(texts) > MAX_CHUNK_TOKENS:
        return [] if start == "parameters" and not texts else None
    key = (start, symbols.key, *texts)
    if key in _memo:
        _memo.move_to_end(key)
        return _memo[key]
    classifier = Classifier(Lookahead(kinds, texts, match_brackets(kinds), symbols))
    parsed: Any
    try:
        _MARK_WITH[start](classifier, 0, len(texts))
        parsed = grammar.parse(start, classifier.marks)
    except (NotRead, UnexpectedInput):
        parsed = None
    if parsed is not None and len(texts) > MAX_TREE_DEPTH and _depth(parsed) > MAX_TREE_DEPTH:
        parsed = None
    _memo.remember(key, parsed)
    return parsed


def _depth(root: Any) -> int:
    """Nesting of a chunk's tree, without recursion."""
    deepest = 0
    stack: list[tuple[Any, int]] = [(root, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        if isinstance(node, list):
            stack.extend((child, level) for child in node)
        elif hasattr(node, "__slots__"):
            stack.extend((getattr(node, slot), level + 1) for slot in node.__slots__)
    return deepest


def _nesting(root: tree.Statement) -> int:
    """How deep statements stand in each other, without recursion."""
    deepest = 0
    stack: list[tuple[tree.Statement, int]] = [(root, 1)]
    while stack:
        node, level = stack.pop()
        deepest = max(deepest, level)
        match node:
            case tree.Block():
                stack.extend((child, level + 1) for child in node.statements)
            case tree.If():
                stack.append((node.then, level + 1))
                if node.otherwise is not None:
                    stack.append((node.otherwise, level + 1))
            case tree.For() | tree.While() | tree.DoWhile() | tree.Switch():
                stack.append((node.body, level + 1))
            case tree.Try():
                stack.extend((child, level + 1) for child in node.blocks)
    return deepest


def _parse_with_repairs(marks: Sequence[Mark]) -> tree.Block:
    """Statements although heads lack bodies or an ``else`` has no ``if``: supply what is missing, drop the rest."""
    interactive: Any = grammar.parser().parse_interactive(start="statements")
    repairs = 0
    end = marks[-1].hi if marks else 0
    for mark in (*marks, Mark("$END", end, end, "")):
        while repairs <= _REPAIRS:
            try:
                result = interactive.feed_token(mark)
            except UnexpectedInput:
                repairs += 1
                supplied = _supply(interactive.accepts(), mark)
                if supplied is None:
                    break  # drop the mark
                interactive.feed_token(supplied)
            else:
                if mark.type == "$END":
                    block: tree.Block = result
                    return block
                break
    return tree.Block(0, end, [tree.Bad(0, end)])


def _supply(accepted: set[str], mark: Mark) -> Mark | None:
    """What to put before ``mark`` so that parsing can go on; None: nothing, the mark is superfluous."""
    if "$END" in accepted:  # between two statements
        return None
    for kind in ("SEMI", "COND", "HEAD", "CHUNK_EXPR", "COLON", "WHILE", "CATCH", "CLOSE"):
        # a missing body, head, expression ... but inside a block only what the block itself lacks
        if kind in accepted and (kind != "SEMI" or "CLOSE" not in accepted) and kind != mark.type:
            if kind in ("WHILE", "CLOSE") and "CLOSE" in accepted and mark.type != "$END":
                return None
            return Mark(kind, mark.lo, mark.lo, "")
    return None


@dataclass
class Function:
    """One function definition."""

    island: FunctionIsland
    name: str
    name_span: Span
    span: Span
    body: Body
    head: Tokens  # from the first specifier to the closing parenthesis of the parameters
    parameters: list[tree.Declaration] | None  # None: not understood
    parameter_tokens: Tokens

    @property
    def is_kernel(self) -> bool:
        return "__global__" in self.island.specifiers


@dataclass
class TranslationUnit:
    """One parsed file."""

    source: SourceText
    preprocessed: Preprocessed
    names: Names
    symbols: Symbols
    functions: list[Function]
    partner: list[int]  # bracket partners of the file's tokens
    header_functions: frozenset[str] = frozenset()  # names that headers declare with parameters


def parse(
    source: SourceText,
    *,
    reader: FileReader | None = None,
    include_dirs: Sequence[str] = (),
    defines: Sequence[str] = (),
) -> TranslationUnit:
    """Parse a file. Never raises on user text; statement trees and chunks are made when asked for."""
    unit = preprocess(
        source.text, path=source.path, reader=reader, include_dirs=include_dirs, defines=defines
    )
    names = Names()
    collect(unit.header.kinds, unit.header.texts, names)
    tokens = unit.tokens
    collect(tokens.kinds, tokens.texts, names)
    symbols = names.symbols()
    columns, line_start = _layout(source, tokens, unit.firsts)
    partner = match_brackets(tokens.kinds)
    islands = find_functions(tokens.kinds, tokens.texts, columns, partner)
    functions = [_function(tokens, island, symbols, line_start) for island in islands]
    declared = frozenset(
        text
        for text, kind, before, after in zip(
            unit.header.texts[1:], unit.header.kinds[1:], unit.header.kinds, unit.header.kinds[2:]
        )
        if kind == "NAME" and after == "LP" and before in ("NAME", "TYPE", "STAR", "AMP", "GT", "STORAGE")
    )
    return TranslationUnit(source, unit, names, symbols, functions, partner, declared)


def _layout(source: SourceText, tokens: Tokens, firsts: set[int]) -> tuple[list[int], list[bool]]:
    """For each token: 0 in column 0, 1 elsewhere, -1 out of a macro body; and whether it is the first of its line."""
    starts = set(source.lines.starts)
    offsets = tokens.offsets
    columns = [0 if offset in starts else 1 if offset >= 0 else -1 for offset in offsets]
    line_start = [offset in firsts for offset in offsets]
    if min(offsets, default=0) < 0:
        before = -1
        for i, offset in enumerate(offsets):
            if offset < 0 and offset != before:  # the first token of an expansion stands for its invocation
                line_start[i] = -1 - offset in firsts
            before = offset
    return columns, line_start


def _slice(tokens: Tokens, lo: int, hi: int) -> Tokens:
    return Tokens(tokens.kinds[lo:hi], tokens.texts[lo:hi], tokens.offsets[lo:hi])


def _function(
    tokens: Tokens, island: FunctionIsland, symbols: Symbols, line_start: Sequence[bool]
) -> Function:
    lo, hi = island.body
    body = Body(_slice(tokens, lo, hi), symbols, line_start[lo:hi], island.repaired)
    parameter_tokens = _slice(tokens, *island.parameters)
    offset = tokens.offsets[island.name]
    start = tokens.offsets[island.head]
    last = tokens.offsets[min(island.end, len(tokens)) - 1]
    name = tokens.texts[island.name]
    name_start = offset if offset >= 0 else -1 - offset
    return Function(
        island=island,
        name=name,
        name_span=Span(name_start, name_start + len(name) if offset >= 0 else name_start),
        span=Span(start if start >= 0 else -1 - start, (last if last >= 0 else -1 - last) + 1),
        body=body,
        head=_slice(tokens, island.head, island.parameters[1] + 1),
        parameters=parse_chunk("parameters", parameter_tokens.kinds, parameter_tokens.texts, symbols),
        parameter_tokens=parameter_tokens,
    )
