"""Functions in sight that compute a number of their arguments, and do nothing else.

What one returns is the same wherever its arguments are, whatever it is: no body needs to be followed for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.lowering.callees.intrinsics import is_pure
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import question
from smem_lsp.source.regex import regex
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.parse import Function
from smem_lsp.syntax.questions import of_function
from smem_lsp.targets.dialects import Dialect

_NUMBER = regex(r"u?int(?:8|16|32|64)_t|size_t|ssize_t|uint|ulong|ushort")
# Memory, members, lambdas and assembler; what keeps a value from one call to the next
_MORE = frozenset("DOT LB SCOPE ASM TAG NEW DELETE LAUNCH_OPEN GOTO TYPENAME USING TYPEDEF".split())
KEPT = frozenset("static extern volatile thread_local __shared__ __constant__ __managed__ asm this".split())


@question(of_function)
def called_to_compute(function: Function, dialect: Dialect) -> frozenset[str] | None:
    """The functions that one calls which takes numbers by value, and returns a number that follows from them alone as
    far as the called ones are CUDA's; None: it may do more."""
    parameters = function.parameters
    if function.island.template or function.island.enclosing or not parameters:
        return None
    own: set[str] = set()
    for each in parameters:
        if len(each.declarators) != 1 or each.declarators[0].pointers or each.declarators[0].dims:
            return None
        if not all(_is_number(name.text) for name in each.names):
            return None
        own.add(each.declarators[0].name)
    tokens = function.definition.body
    kinds, texts = tokens.kinds, tokens.texts
    if not _MORE.isdisjoint(kinds) or not KEPT.isdisjoint(texts) or "->" in texts:
        return None
    ends: dict[str, int] = {}  # of the scopes of its variables
    called: set[str] = set()
    for at, (kind, text, after) in enumerate(zip(kinds, texts, [*texts[1:], ""])):
        checkpoint()
        if kind != "NAME" or text in own or _is_number(text):
            continue
        if at and (kinds[at - 1] == "TYPE" or _is_number(texts[at - 1])):
            ends[text] = _scope_end(kinds, at)
        if at < ends.get(text, 0):
            continue
        exchanged = dialect.exchanges.fullmatch(text) is not None
        if after != "(" or exchanged or not is_pure(text):
            return None
        called.add(text)
    return frozenset(called)


def _scope_end(kinds: Sequence[str], at: int) -> int:
    """Where the block ends in which a variable is declared; of one that is declared in parentheses, the block behind
    them."""
    partner = match_brackets(kinds)
    while at < len(kinds) and kinds[at] not in ("RC", "RP"):
        at = max(at, partner[at]) + 1
    behind = kinds[at : at + 2] == ["RP", "LC"]
    return partner[at + 1] if behind else at


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None
