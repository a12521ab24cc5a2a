"""Names that a function uses as values: what is one of them is no type and no template."""

from __future__ import annotations

from collections.abc import Sequence

# `x = ...`, `x[i]`, `x.y`, `x + 1`: only a value is followed by these ...
_AFTER_VALUE = frozenset("EQ ASSIGN LB DOT STEP SIGN FACTOR RELATION EQUALITY QUESTION SEMI RB".split())
# ... but for `using T = ...`, `typename T;`, `new T[n]`, `class T = int`
_BEFORE_TYPE = frozenset("USING TAG TYPENAME NEW TYPEDEF GOTO NAMESPACE SCOPE DOT OPERATOR LT COMMA".split())
# `T x,` and `T* x)`: what follows a type or an operator and ends there
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
    return found
