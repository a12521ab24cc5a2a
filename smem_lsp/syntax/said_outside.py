"""What runs with a function or a class without standing in the body of a function, found in tokens.

Default arguments run where a function is called ([dcl.fct.default]); bases, members and their initialisers where an
object of a class is made ([class.base.init]).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from smem_lsp.source import checkpoint

_OPENS = {"LP": 1, "LC": 1, "LB": 1, "RP": -1, "RC": -1, "RB": -1}
_CLASSES = frozenset(("struct", "class", "union"))


def find_said_outside(kinds: Sequence[str], texts: Sequence[str]) -> Mapping[str, frozenset[str]]:
    """Names of functions with their words behind ``=`` in lists of parameters, and of classes with the words of their
    own declarations but the names of their methods, in tokens that hold no bodies of functions."""
    found: dict[str, set[str]] = {}
    place = _Place(kinds, texts)
    for at, kind in enumerate(kinds):
        checkpoint()
        if kind != "NAME":
            place.go_past(at)
            continue
        for name in place.concerned(called=kinds[at + 1 : at + 2] == ["LP"]):
            found.setdefault(name, set()).add(texts[at])
    return {name: frozenset(words - {name}) for name, words in found.items()}


def merged(found: Iterable[Mapping[str, frozenset[str]]]) -> Mapping[str, frozenset[str]]:
    """The words of several texts together."""
    words: dict[str, frozenset[str]] = {}
    for each in found:
        checkpoint()
        for name, said in each.items():
            words[name] = words.get(name, frozenset()) | said
    return words


class _Place:
    """Where a token outside of bodies stands. ``classes``: those around it, each with the depth that its braces have;
    ``calls``: the same of lists of parameters; ``named``: the class whose head it is; ``given``: it is behind ``=``;
    ``angles``: lists of template parameters around it, which stand at the depth ``outer``."""

    __slots__ = ("angles", "calls", "classes", "depth", "given", "kinds", "named", "outer", "texts")

    def __init__(self, kinds: Sequence[str], texts: Sequence[str]) -> None:
        self.kinds = kinds
        self.texts = texts
        self.classes: list[tuple[int, str]] = []
        self.calls: list[tuple[int, str]] = []
        self.depth = 0
        self.named = ""
        self.given = False
        self.angles = self.outer = 0

    def go_past(self, at: int) -> None:
        """Past a token that is no name."""
        kind, text = self.kinds[at], self.texts[at]
        if kind in _OPENS:
            self._bracket(at, kind)
        elif kind == "SEMI":
            self.angles, self.named, self.given = 0, "", False
        elif text == "=":
            self.given = True
        elif text in _CLASSES:
            if not self.angles and self.kinds[at + 1 : at + 2] == ["NAME"]:
                self.named = self.texts[at + 1]
        elif text == "<":
            self._open_angle(at)
        elif self.angles and text in (">", ">>") and self.depth == self.outer:
            self.angles = max(self.angles - len(text), 0)

    def _bracket(self, at: int, kind: str) -> None:
        if kind == "LC":
            self.angles = 0
            if self.named:
                self.classes.append((self.depth, self.named))
                self.named = ""
        elif kind == "LP" and self.kinds[at - 1 : at] == ["NAME"]:
            self.calls.append((self.depth, self.texts[at - 1]))
        self.depth += _OPENS[kind]
        if kind == "RC" and self.classes and self.classes[-1][0] == self.depth:
            self.classes.pop()
        if self.calls and self.calls[-1][0] >= self.depth:
            self.calls.pop()
            self.given = False

    def _open_angle(self, at: int) -> None:
        """A `<`: of a list of template parameters behind ``template``, or inside of one."""
        if not self.angles and self.texts[at - 1 : at] != ["template"]:
            return
        self.outer = self.outer if self.angles else self.depth
        self.angles += self.depth == self.outer

    def concerned(self, *, called: bool) -> Iterator[str]:
        """Whose a word is."""
        if self.named:
            yield self.named  # a base
        if self.calls:
            if self.given:
                yield from (name for _, name in self.calls)
        elif self.classes and (self.given or not called):
            yield self.classes[-1][1]
