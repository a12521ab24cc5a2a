"""The Lark parser for ``grammar/cuda.lark``: built once, its tables cached in the user's cache folder.

The cache is a pickle. The checked project may control that folder (an ``XDG_CACHE_HOME`` of continuous integration),
so unpickling never calls anything that the file names, except two known classes. A missing, stale or unreadable
cache costs 0.3 s once and nothing else.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.resources
import io
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import lark
from lark.exceptions import UnexpectedToken
from lark.lexer import Lexer
from lark.parse_tree_builder import ExpandSingleChild
from lark.parsers.lalr_analysis import Shift

from smem_lsp.source.budget import look
from smem_lsp.source.cache_folder import cache_folder
from smem_lsp.source.files import read_regular
from smem_lsp.source.queries import remembered
from smem_lsp.syntax.build import TreeBuilder
from smem_lsp.syntax.grammar_tokens import GrammarToken

_REFUSED: Any = UnexpectedToken  # its constructor has no types
STARTS = ("statements", "expression", "declaration", "for_head", "condition", "parameters", "initializer")


class MarkLexer(Lexer):
    """Passes marks on to the parser unchanged."""

    __future_interface__ = 1

    def __init__(self, lexer_conf: object) -> None:
        del lexer_conf

    def lex(self, lexer_state: Any, parser_state: Any) -> Iterator[Any]:
        del parser_state
        yield from lexer_state.text


def grammar_text() -> str:
    """``cuda.lark``: from the wheel, else from the checkout."""
    packaged = importlib.resources.files("smem_lsp") / "_grammar" / "cuda.lark"
    checkout = Path(__file__).resolve().parents[2] / "grammar" / "cuda.lark"
    if checkout.is_file() and (checkout.parents[1] / "pyproject.toml").is_file():
        return checkout.read_text(encoding="utf-8")
    return packaged.read_text(encoding="utf-8")


@remembered(most=1)
def parser() -> lark.Lark:
    """The parser, with its tables from the cache if possible."""
    text = grammar_text()
    key = hashlib.sha256(
        f"{text}\0{lark.__version__}\0{sys.version_info[:2]}\0{STARTS}".encode()
    ).hexdigest()[:20]
    try:
        path = cache_folder() / f"grammar-{key}.pickle"
    except RuntimeError:  # no home folder
        return _build(text)
    loaded = _load(path)
    if loaded is not None:
        return loaded
    built = _build(text)
    _save(built, path)
    return built


def _build(text: str) -> lark.Lark:
    return lark.Lark(text, parser="lalr", lexer=MarkLexer, start=list(STARTS), transformer=TreeBuilder())


class _Unpickler(pickle.Unpickler):
    """Loads only plain data and the two classes that the parser's options name."""

    def find_class(self, module: str, name: str, /) -> object:
        for known in (MarkLexer, TreeBuilder):
            if (module, name) == (known.__module__, known.__qualname__):
                return known
        raise pickle.UnpicklingError(f"{module}.{name} is no part of the tables")


_MOST_BYTES = 16 * 1024 * 1024  # of the tables, which take about 500,000


def _load(path: Path) -> lark.Lark | None:
    try:
        data = _Unpickler(io.BytesIO(read_regular(str(path), _MOST_BYTES))).load()
        instance = lark.Lark.__new__(lark.Lark)
        return instance._load(data, transformer=TreeBuilder())
    except FileNotFoundError:
        return None
    except Exception:  # noqa: BLE001  (whatever is in a damaged file, the tables are built again)
        with contextlib.suppress(OSError):
            path.unlink()
        return None


def _save(built: lark.Lark, path: Path) -> None:
    buffer = io.BytesIO()
    built.save(buffer)
    with contextlib.suppress(OSError):  # a read-only home: build every time
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".grammar-")
        with os.fdopen(handle, "wb") as file:
            file.write(buffer.getvalue())
        Path(temporary).replace(path)


_BETWEEN_LOOKS = 0xFF  # marks, about half a millisecond


def parse(start: str, marks: Sequence[GrammarToken]) -> Any:
    """Parse marks from ``start``. Raises lark.UnexpectedInput if they do not match the grammar.

    This is Lark's own LALR loop over Lark's tables, with its calls inlined: three times as fast, which halves the
    time of a first parse. tests/syntax/test_grammar.py compares it with Lark.
    """
    tables = _tables()
    actions, chains = tables.actions, tables.chains
    states = [tables.starts[start]]
    values: list[Any] = []
    for number, mark in enumerate((*marks, None)):
        if not number & _BETWEEN_LOOKS:
            look()
        kind = "$END" if mark is None else mark.type
        while True:
            state = states[-1]
            known = actions.get(state)
            if known is None:
                known = tables.prepare(state)
            action = known.get(kind)
            if action is None:
                end = marks[-1].hi if marks else 0
                raise _REFUSED(mark or GrammarToken("$END", end, end, ""), set())
            following, size, build, origin, handed_on = action
            if build is None:  # shift
                states.append(following)
                values.append(mark)
                break
            if handed_on and mark is not None:
                chain = states[-2], state, kind
                states[-1] = chains.get(chain) or tables.follow(*chain)
                continue
            if size:
                children = values[-size:]
                del values[-size:], states[-size:]
            else:
                children = []
            value = build(children)
            state = states[-1]
            following = (actions.get(state) or tables.prepare(state))[origin][0]
            if mark is None and following == tables.ends[start]:
                return value
            states.append(following)
            values.append(value)
    raise AssertionError("the last mark is accepted or refused")


# next state; or number of children, builder, symbol, and whether the builder returns its only child
_Action = tuple[int, int, Callable[[list[Any]], Any] | None, str, bool]


class _Tables:
    """Lark's tables. The actions of a state are prepared when it is first entered.

    ``chains``: (state below, state, kind of the next mark) -> the state after a run of reductions by rules that only
    return their child. Most reductions in an expression are of that kind.
    """

    __slots__ = ("_callbacks", "_states", "actions", "chains", "ends", "starts")

    def __init__(self, built: Any) -> None:
        inner = built.parser.parser
        table = inner._parse_table
        self._states = table.states
        self._callbacks = inner.parser.callbacks
        self.starts: dict[str, int] = table.start_states
        self.ends: dict[str, int] = table.end_states
        self.actions: dict[int, dict[str, _Action]] = {}
        self.chains: dict[tuple[int, int, str], int] = {}

    def follow(self, below: int, state: int, kind: str) -> int:
        """Work out an entry of ``chains``."""
        at = state
        while True:
            action = (self.actions.get(at) or self.prepare(at)).get(kind)
            if action is None or not action[4]:
                break
            at = (self.actions.get(below) or self.prepare(below))[action[3]][0]
        self.chains[below, state, kind] = at
        return at

    def prepare(self, state: int) -> dict[str, _Action]:
        ready: dict[str, _Action] = {}
        for kind, (action, argument) in self._states[state].items():
            if action is Shift:
                ready[kind] = argument, 0, None, "", False
            else:
                size, build = len(argument.expansion), self._callbacks[argument]
                handed_on = size == 1 and isinstance(build, ExpandSingleChild)
                ready[kind] = 0, size, build, argument.origin.name, handed_on
        self.actions[state] = ready
        return ready


@remembered(most=1)
def _tables() -> _Tables:
    return _Tables(parser())
