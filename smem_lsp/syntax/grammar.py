"""The LALR parser for ``grammar/cuda.lark``. Its tables come with the wheel; in a checkout they are made once, and kept
in the user's cache folder. That may be one that the checked project controls (an ``XDG_CACHE_HOME`` of continuous
integration), so what is there is plain data, which can call nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from smem_lsp.source.budget import look
from smem_lsp.source.cache_folder import cache_folder
from smem_lsp.source.files import read_regular
from smem_lsp.source.queries import remembered
from smem_lsp.syntax.build import TreeBuilder
from smem_lsp.syntax.grammar_tokens import GrammarToken, NotRead
from smem_lsp.syntax.tables import FORMAT, STARTS, made

_PACKAGE = Path(__file__).resolve().parents[1]
_MOST_BYTES = 16 * 1024 * 1024  # of the tables, which take about 150,000


class GrammarRefused(NotRead):
    """The marks do not match the grammar."""


def load() -> Any:
    """The tables as ``tables.made`` describes them."""
    packaged, checkout = _PACKAGE / "_grammar", _PACKAGE.parent / "grammar" / "cuda.lark"
    if not (checkout.is_file() and (_PACKAGE.parent / "pyproject.toml").is_file()):
        with contextlib.suppress(OSError):
            return json.loads((packaged / "tables.json").read_bytes())
        checkout = packaged / "cuda.lark"
    text = checkout.read_text(encoding="utf-8")
    key = hashlib.sha256(f"{text}\0{FORMAT}\0{STARTS}".encode()).hexdigest()[:20]
    try:
        path = cache_folder() / f"grammar-{key}.json"
    except RuntimeError:  # no home folder
        return made(text)
    try:
        return _checked(json.loads(_whole(read_regular(str(path), _MOST_BYTES))))
    except FileNotFoundError:
        pass
    except Exception:  # noqa: BLE001  (whatever is in a damaged file, the tables are made again)
        with contextlib.suppress(OSError):
            path.unlink()
    built = made(text)
    _save(json.dumps(built, separators=(",", ":")), path)
    return built


def _whole(data: bytes) -> bytes:
    """The text behind its checksum. Raises ValueError where it is another's."""
    checksum, _, text = data.partition(b"\n")
    if int(checksum, 16) != zlib.crc32(text):
        raise ValueError("not whole")
    return text


def _checked(found: Any) -> Any:
    """``found`` where it has the form of tables."""
    kinds, rules, last = len(found["symbols"]), len(found["rules"]), len(found["states"])
    for row in found["states"]:
        assert len(row) % 2 == 0
        assert all(0 <= kind < kinds for kind in row[::2])
        assert all(-rules <= action < last for action in row[1::2])
    assert set(found["starts"]) == set(found["ends"]) == set(STARTS)
    return found


def _save(text: str, path: Path) -> None:
    with contextlib.suppress(OSError):  # a read-only home: they are made every time
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".grammar-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(b"%x\n%b" % (zlib.crc32(data := text.encode()), data))
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise


_BETWEEN_LOOKS = 0xFF  # marks, about half a millisecond


def parse(start: str, marks: Sequence[GrammarToken]) -> Any:
    """Parse marks from ``start``. Raises Refused if they do not match the grammar.

    This is Lark's own LALR loop, with its calls inlined: three times as fast, which halves the time of a
    first parse. tests/syntax/test_grammar.py compares it with Lark.
    """
    found = tables()
    actions, chains = found.actions, found.chains
    states = [found.starts[start]]
    values: list[Any] = []
    for number, mark in enumerate((*marks, None)):
        if not number & _BETWEEN_LOOKS:
            look()
        kind = "$END" if mark is None else mark.type
        while True:
            state = states[-1]
            known = actions.get(state)
            if known is None:
                known = found.prepare(state)
            action = known.get(kind)
            if action is None:
                raise GrammarRefused
            following, size, build, origin, handed_on = action
            if build is None:  # shift
                states.append(following)
                values.append(mark)
                break
            if handed_on and mark is not None:
                chain = states[-2], state, kind
                states[-1] = chains.get(chain) or found.follow(*chain)
                continue
            if size:
                children = values[-size:]
                del values[-size:], states[-size:]
            else:
                children = []
            value = build(children)
            state = states[-1]
            following = (actions.get(state) or found.prepare(state))[origin][0]
            if mark is None and following == found.ends[start]:
                return value
            states.append(following)
            values.append(value)
    raise AssertionError("the last mark is accepted or refused")


# next state; or number of children, builder, symbol, and whether the builder returns its only child
_Action = tuple[int, int, Callable[[list[Any]], Any] | None, str, bool]


class _Tables:
    """The actions of a state are prepared when it is first entered.

    ``chains``: (state below, state, kind of the next mark) -> the state after a run of reductions by rules that only
    return their child. Most reductions in an expression are of that kind.
    """

    __slots__ = ("_builder", "_rules", "_states", "_symbols", "actions", "chains", "ends", "starts")

    def __init__(self, found: Any) -> None:
        self._symbols: list[str] = found["symbols"]
        self._rules: list[Any] = found["rules"]
        self._states: list[list[int]] = found["states"]
        self._builder = TreeBuilder()
        self.starts: dict[str, int] = found["starts"]
        self.ends: dict[str, int] = found["ends"]
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
        row = self._states[state]
        for symbol, action in zip(row[::2], row[1::2]):
            kind = self._symbols[symbol]
            if action >= 0:
                ready[kind] = action, 0, None, "", False
            else:
                name, origin, size, single, joined = self._rules[-1 - action]
                build = self._build(name, single, joined)
                ready[kind] = 0, size, build, self._symbols[origin], size == 1 and single and not joined
        self.actions[state] = ready
        return ready

    def _build(self, name: str, single: bool, joined: list[int]) -> Callable[[list[Any]], Any]:
        """What makes a node of the children of a rule."""
        # a repetition, of which Lark makes a rule, is the list of its children
        build = getattr(self._builder, name, _as_they_are)
        if single:
            build = partial(_only_child, build)
        return partial(_with_lists, joined, build) if joined else build


def _as_they_are(children: list[Any]) -> list[Any]:
    return children


def _only_child(build: Callable[[list[Any]], Any], children: list[Any]) -> Any:
    return children[0] if len(children) == 1 else build(children)


def _with_lists(joined: list[int], build: Callable[[list[Any]], Any], children: list[Any]) -> Any:
    found: list[Any] = []
    for place, child in enumerate(children):
        if place not in joined:
            found.append(child)
        elif found:
            found += child
        else:  # nothing else has it
            found = child
    return build(found)


class Repairing:
    """A parser of statements that is fed mark by mark, so that one it refuses may be replaced."""

    __slots__ = ("_states", "_tables", "_values")

    def __init__(self) -> None:
        self._tables = tables()
        self._states = [self._tables.starts["statements"]]
        self._values: list[Any] = []

    def feed(self, mark: GrammarToken) -> Any:
        """What was parsed, after the end mark. Raises Refused, and another mark may come then."""
        states, values = self._states, self._values
        while True:
            action = self._action(states[-1], mark.type)
            if action is None:
                raise GrammarRefused
            following, size, build, origin, _ = action
            if build is None:
                states.append(following)
                values.append(mark)
                return None
            children = values[len(values) - size :]
            del values[len(values) - size :], states[len(states) - size :]
            values.append(build(children))
            if self._goes_to(states, origin) and mark.type == "$END":
                return values[-1]

    def accepts(self, kind: str) -> bool:
        """Would it take a mark of that kind now?"""
        states = list(self._states)
        while True:
            action = self._action(states[-1], kind)
            if action is None or action[2] is None:
                return action is not None
            del states[len(states) - action[1] :]
            if self._goes_to(states, action[3]) and kind == "$END":
                return True

    def _action(self, state: int, kind: str) -> _Action | None:
        return (self._tables.actions.get(state) or self._tables.prepare(state)).get(kind)

    def _goes_to(self, states: list[int], symbol: str) -> bool:
        """Goes on to the state after ``symbol``. Is it the last one?"""
        after = self._action(states[-1], symbol)
        assert after is not None
        states.append(after[0])
        return after[0] == self._tables.ends["statements"]


@remembered(most=1)
def tables() -> _Tables:
    return _Tables(load())
