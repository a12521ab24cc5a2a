"""Expressions of host code as they are written, and how to write them with another value.

Parts of a sum or a product are left out until what is left has the value that is wanted: ``2 * n * sizeof(float)``
becomes ``n * sizeof(float)``. What is made so is read again before anyone gets it.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.semantics.types import builtin
from smem_lsp.source import checkpoint
from smem_lsp.source.digits import whole_number
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax import tree
from smem_lsp.syntax.lexer import lex
from smem_lsp.syntax.names_ahead import Symbols
from smem_lsp.syntax.parse import parse_chunk
from smem_lsp.terms.polynomial import is_nonnegative, ratio
from smem_lsp.terms.symbolic import SymbolicTerm, apply, constant, divided, named, plus

_COUNT = regex(r"(\d+)[uUlLzZ]*")
_LOOSE = regex(r"[-+/%<>&]")  # no factor by itself
_OPERATORS = frozenset(("+", "-", "*", "/", "%", "<<", ">>", "&"))
_MOST_WORDS = 60  # of an expression


def value_of_text(text: str, symbols: Symbols) -> SymbolicTerm | None:
    """The value of an expression, each name in it a symbol; None: it is made of something else."""
    read = WrittenTerm.of(text, symbols)
    return None if read is None else read.value(read.root)


def less(text: str, saved: SymbolicTerm, symbols: Symbols) -> str | None:
    """``text``, an expression of host code, with a value that is ``saved`` less; None: how is not known."""
    read = WrittenTerm.of(text, symbols)
    now = None if read is None else read.value(read.root)
    wanted = None if now is None else plus(now, saved, times=-1)
    found = None if read is None or wanted is None else read.written(read.root, wanted)
    if read is None or found is None:
        return None
    made = f"{text[: read.start(read.root)]}{found}{text[read.end(read.root) :]}"
    again = WrittenTerm.of(made, symbols)
    return made if again is not None and again.value(again.root) == wanted else None


def greater(text: str, more: SymbolicTerm, symbols: Symbols) -> str | None:
    """``text`` with a value that is ``more`` greater, where that is some times its value, or what it is without some of
    its parts; None: how is not known."""
    now = value_of_text(text, symbols)
    times = None if now is None else ratio(dict(more.products), dict(now.products))
    if now is None:
        return None
    if times is not None:
        made = f"{times + 1} * {f'({text})' if _LOOSE.search(text) else text}"
    else:
        rest = less(text, plus(now, more, times=-1) or constant(0), symbols)
        if rest is None:
            return None
        made = f"{text} + {rest}"
    return made if value_of_text(made, symbols) == plus(now, more) else None


@dataclass(frozen=True, slots=True)
class WrittenTerm:
    """An expression of host code that was read: sums and products of numbers, names and sizes of types."""

    text: str
    offsets: Sequence[int]
    words: Sequence[str]
    root: tree.Expr

    @classmethod
    def of(cls, text: str, symbols: Symbols) -> WrittenTerm | None:
        tokens = lex(text)
        kept = [at for at, kind in enumerate(tokens.kinds) if kind not in ("EOF", "NEWLINE")]
        words = [tokens.texts[at] for at in kept]
        if len(words) > _MOST_WORDS:
            return None
        root = parse_chunk("expression", [tokens.kinds[at] for at in kept], words, symbols)
        return None if root is None else cls(text, [tokens.offsets[at] for at in kept], words, root)

    def start(self, node: tree.Expr) -> int:
        return self.offsets[self.range(node)[0]]

    def end(self, node: tree.Expr) -> int:
        hi = self.range(node)[1]
        return self.offsets[hi - 1] + len(self.words[hi - 1])

    def range(self, node: tree.Expr) -> tuple[int, int]:
        """The words of a node, with each parenthesis that belongs to one of them."""
        lo, hi, depth, least = node.lo, node.hi, 0, 0
        for word in self.words[lo:hi]:
            depth += (word == "(") - (word == ")")
            least = min(least, depth)
        return lo + least, hi + depth - least

    def slice(self, node: tree.Expr) -> str:
        return self.text[self.start(node) : self.end(node)]

    def value(self, node: tree.Expr) -> SymbolicTerm | None:
        """None: it is made of something else."""
        checkpoint()
        if isinstance(node, tree.Number):
            count = _COUNT.fullmatch(node.text)
            number = None if count is None else whole_number(count[1])
            return None if number is None else constant(number)
        if isinstance(node, tree.Name):
            return None if node.templated else named(node.text)
        if isinstance(node, tree.SizeOf):
            if node.operator != "sizeof" or node.type is None or node.type.pointers or node.type.dims:
                return None
            kind = builtin(" ".join(node.type.words))
            return None if kind is None or not kind.size else constant(kind.size)
        if isinstance(node, tree.Binary) and node.operator in _OPERATORS:
            left, right = self.value(node.left), self.value(node.right)
            return None if left is None or right is None else apply(node.operator, left, right)
        return None

    def written(self, node: tree.Expr, wanted: SymbolicTerm) -> str | None:
        """``node`` without some of its parts, so that it is ``wanted``; None: how is not known."""
        checkpoint()
        if self.value(node) == wanted:
            return self.slice(node)
        if isinstance(node, tree.Number):
            return str(wanted.number) if (wanted.number or 0) > 0 else None
        if (
            not isinstance(node, tree.Binary)
            or node.operator not in ("+", "*")
            or not is_nonnegative(dict(wanted.products))
        ):
            return None
        sides = (node.left, node.right)
        for kept in sides:
            found = self.written(kept, wanted) if node.operator == "+" or self.value(kept) == wanted else None
            if found is not None:
                return f"({found})" if node.operator == "*" and _LOOSE.search(found) else found
        for changed, kept in (sides, sides[::-1]):
            value = self.value(kept)
            if value is None:
                continue
            rest = plus(wanted, value, times=-1) if node.operator == "+" else divided(wanted, value)
            found = None if rest is None else self.written(changed, rest)
            if found is not None:
                before = self.text[self.start(node) : self.start(changed)]
                return f"{before}{found}{self.text[self.end(changed) : self.end(node)]}"
        return None
