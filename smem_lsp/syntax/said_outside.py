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
    classes: list[tuple[int, str]] = []  # the depth that each one's braces have, and its name
    calls: list[tuple[int, str]] = []  # the same of lists of parameters
    depth, named, given = 0, "", False
    angles, outer = 0, 0  # of a list of template parameters: how many are open, and the depth where it stands
    for at, kind in enumerate(kinds):
        checkpoint()
        text = texts[at]
        if text == "<" and (angles or texts[at - 1 : at] == ["template"]):
            outer = outer if angles else depth
            angles += depth == outer
        elif angles and text in (">", ">>") and depth == outer:
            angles = max(angles - len(text), 0)
        elif text in _CLASSES and not angles and kinds[at + 1 : at + 2] == ["NAME"]:
            named = texts[at + 1]
        if kind in ("SEMI", "LC"):
            angles = 0
        if kind == "SEMI":
            named, given = "", False
        if kind == "LC" and named:
            classes.append((depth, named))
            named = ""
        elif kind == "LP" and kinds[at - 1 : at] == ["NAME"]:
            calls.append((depth, texts[at - 1]))
        depth += _OPENS.get(kind, 0)
        if classes and classes[-1][0] == depth and kind == "RC":
            classes.pop()
        if calls and calls[-1][0] >= depth:
            calls.pop()
            given = False
        if text == "=":
            given = True
        if kind != "NAME":
            continue
        for name in _concerned(classes, calls, named, given, kinds[at + 1 : at + 2] == ["LP"]):
            found.setdefault(name, set()).add(text)
    return {name: frozenset(words - {name}) for name, words in found.items()}


def merged(found: Iterable[Mapping[str, frozenset[str]]]) -> Mapping[str, frozenset[str]]:
    """The words of several texts together."""
    words: dict[str, frozenset[str]] = {}
    for each in found:
        checkpoint()
        for name, said in each.items():
            words[name] = words.get(name, frozenset()) | said
    return words


def _concerned(
    classes: Sequence[tuple[int, str]],
    calls: Sequence[tuple[int, str]],
    named: str,
    given: bool,
    called: bool,
) -> Iterator[str]:
    """Whose a word is."""
    if named:
        yield named  # a base
    if calls:
        if given:
            yield from (name for _, name in calls)
    elif classes and (given or not called):
        yield classes[-1][1]
