"""Names that a function uses or declares as values: such a name is neither a type nor a template there."""

from __future__ import annotations

from collections.abc import Sequence

# `x = ...`, `x[i]`, `x.y`, `x + 1`: only a value is followed by these ...
_AFTER_VALUE = frozenset("EQ ASSIGN LB DOT STEP SIGN FACTOR RELATION EQUALITY QUESTION SEMI RB".split())
# ... except `using T = ...`, `typename T;`, `new T[n]`, `class T = int`
_BEFORE_TYPE = frozenset("USING TAG TYPENAME NEW TYPEDEF GOTO NAMESPACE SCOPE DOT OPERATOR LT COMMA".split())
# `T x,` and `T* x)`: a value follows a type or an operator and ends there
_BEFORE_VALUE = frozenset("TYPE NAME STAR AMP AND_AND SIGN FACTOR EQ ASSIGN RETURN".split())
_ENDS = frozenset(("COMMA", "RP", "LC", "COLON", "END"))


def value_names(kinds: Sequence[str], texts: Sequence[str]) -> set[str]:
    """The names among the tokens that are variables or constants, as far as the tokens around them tell."""
    found: set[str] = set()
    last = len(kinds) - 1
    for i, kind in enumerate(kinds):
        if kind != "NAME":
            continue
        before = kinds[i - 1] if i else "SEMI"
        after = kinds[i + 1] if i < last else "END"
        if after in _AFTER_VALUE:
            if before not in _BEFORE_TYPE:
                found.add(texts[i])
        elif (before in _BEFORE_VALUE and after in _ENDS) or (after == "GT" and before in ("TYPE", "NAME")):
            found.add(texts[i])
        elif before == "QUALIFIER" and after in _ENDS and i > 1 and kinds[i - 2] in _INSIDE_TYPE:
            found.add(texts[i])  # `T* __restrict__ x,`
    return found


# What an initialised declaration begins behind, and what its name is followed by
_BEFORE_DECLARATION = frozenset("SEMI LC RC QUALIFIER LP COMMA".split())
_INITIALISED = frozenset("EQ LB SEMI LC".split())
_NO_ARGUMENT = frozenset(
    "SEMI LC RC LP AND_AND EQ ASSIGN QUESTION".split()
)  # of a template, where nobody doubts it


def type_names(kinds: Sequence[str], texts: Sequence[str]) -> set[str]:
    """The names among the tokens that variables are declared with: ``num row[4]``, ``const lib::num<T> row = ...``."""
    found: set[str] = set()
    for i, kind in enumerate(kinds):
        if kind != "NAME" or not i or kinds[i + 1 : i + 2] == [] or kinds[i + 1] not in _INITIALISED:
            continue
        at, depth = i - 1, 0
        if kinds[at] == "GT":
            while at > 0 and kinds[at] not in _NO_ARGUMENT:
                depth += {"GT": 1, "LT": -1}.get(kinds[at], 0)
                at -= 1
                if not depth:
                    break
        if depth or kinds[at] != "NAME":
            continue
        first = at
        while first > 1 and kinds[first - 1] == "SCOPE" and kinds[first - 2] == "NAME":
            first -= 2
        if not first or kinds[first - 1] in _BEFORE_DECLARATION:
            found.add(texts[at])
    return found


# `float row = ...`, `float* row,`, `vec<4> row;`, `int row : ...`: a name after a type is declared
_AFTER_TYPE = frozenset("TYPE NAME STAR AMP AND_AND GT".split())
_AFTER_DECLARED = frozenset("EQ LB SEMI COMMA RP LC COLON".split())
_INSIDE_TYPE = frozenset("STAR AMP AND_AND GT TYPE NAME QUALIFIER".split())


def hiding_names(kinds: Sequence[str], texts: Sequence[str]) -> set[str]:
    """The names that the tokens declare as variables and never use as types. They hide any outer meaning of the
    same name."""
    found: set[str] = set()
    types: set[str] = set()
    last = len(kinds) - 1
    for i, kind in enumerate(kinds):
        if kind != "NAME":
            continue
        before, after = kinds[i - 1] if i else "SEMI", kinds[i + 1] if i < last else "END"
        if (
            before in ("TAG", "SCOPE")  # `outer::row` is looked up elsewhere
            or after in ("NAME", "SCOPE")
            or (after in ("STAR", "AMP") and kinds[i + 2 : i + 3] in (["GT"], ["RP"]))
        ):
            types.add(texts[i])
        elif before == "QUALIFIER":
            if i > 1 and kinds[i - 2] in _INSIDE_TYPE and after in _AFTER_DECLARED:
                found.add(texts[i])
        elif (before in _AFTER_TYPE and after in _AFTER_DECLARED) or (
            (before == "COMMA" and after in ("EQ", "SEMI")) or (before == "TYPE" and after == "GT")
        ):
            found.add(texts[i])
    return found - types
