"""Names of types, templates and aliases, found in one pass over tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.brackets import template_close
from smem_lsp.syntax.kinds import KNOWN_TYPES
from smem_lsp.syntax.known_names import known
from smem_lsp.syntax.lookahead import Symbols

_LOOKAHEAD = 400
_DECLARING = frozenset(("TAG", "USING", "TYPEDEF", "TYPENAME", "TEMPLATE"))


@dataclass(slots=True, eq=False)
class Names:
    """What a file and its headers declare. ``aliases``: name -> tokens of the type it stands for."""

    types: set[str] = field(default_factory=lambda: set(KNOWN_TYPES | known().types))
    templates: set[str] = field(default_factory=lambda: set(known().templates))
    # using X = float;  typedef float X;  Empty: declared as a class, or in two different ways
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def empty(cls) -> Names:
        """No names, not even those of CUDA."""
        return cls(types=set(), templates=set())

    def __bool__(self) -> bool:
        return bool(self.types or self.templates or self.aliases)

    def add(self, other: Names) -> None:
        """Add everything that ``other`` declares."""
        self.types |= other.types
        self.templates |= other.templates
        for name, spelling in other.aliases.items():
            self.alias(name, spelling)

    def alias(self, name: str, spelling: tuple[str, ...]) -> None:
        """Add an alias. Scopes are ignored: a name with two meanings gets none."""
        self.types.add(name)
        self.aliases[name] = spelling if self.aliases.get(name, spelling) == spelling else ()

    def symbols(self) -> Symbols:
        return Symbols.of(frozenset(self.types), frozenset(self.templates))


def collect(kinds: Sequence[str], texts: Sequence[str], names: Names) -> None:
    """Add what the tokens declare to ``names``."""
    for i, kind in [(i, kind) for i, kind in enumerate(kinds) if kind in _DECLARING]:
        checkpoint()
        if kind == "TAG":
            _tag(kinds, texts, i, names)
        elif kind == "USING":
            if i + 2 < len(kinds) and kinds[i + 1] == "NAME" and kinds[i + 2] == "EQ":
                end = i + 3
                while end < len(kinds) and end < i + _LOOKAHEAD and kinds[end] != "SEMI":
                    end += 1
                names.alias(texts[i + 1], tuple(texts[i + 3 : end]))
        elif kind == "TYPEDEF":
            _typedef(kinds, texts, i, names)
        elif kind == "TYPENAME":
            if i + 1 < len(kinds) and kinds[i + 1] == "ELLIPSIS":
                i += 1
            if (
                i + 1 < len(kinds)
                and kinds[i + 1] == "NAME"
                and (i + 2 == len(kinds) or kinds[i + 2] != "SCOPE")
            ):
                names.types.add(texts[i + 1])
        elif kind == "TEMPLATE" and i + 1 < len(kinds) and kinds[i + 1] == "LT":
            _template(kinds, texts, i, names)


def _tag(kinds: Sequence[str], texts: Sequence[str], i: int, names: Names) -> None:
    i += 1
    while i < len(kinds) and kinds[i] in ("TAG", "ATTRIBUTE"):
        checkpoint()
        i += 1
        if i < len(kinds) and kinds[i] == "LP" and kinds[i - 1] == "ATTRIBUTE":
            while i < len(kinds) and kinds[i] != "RP":
                i += 1
            i += 1
    if i < len(kinds) and kinds[i] == "NAME":
        names.types.add(texts[i])
        if i + 1 < len(kinds) and kinds[i + 1] in ("LC", "COLON"):
            names.alias(texts[i], ())  # the file's own class, even if CUDA has one of that name


def _typedef(kinds: Sequence[str], texts: Sequence[str], i: int, names: Names) -> None:
    depth = 0
    end = i + 1
    while end < min(len(kinds), i + _LOOKAHEAD) and not (depth == 0 and kinds[end] == "SEMI"):
        depth += {"LC": 1, "LP": 1, "RC": -1, "RP": -1}.get(kinds[end], 0)
        end += 1
    if end >= len(kinds) or kinds[end] != "SEMI":
        return
    if kinds[end - 1] == "NAME":
        names.alias(texts[end - 1], tuple(texts[i + 1 : end - 1]))
        return
    for x in range(i, end - 2):  # typedef void (*F)(int);  typedef float Row[4];
        if kinds[x] == "NAME" and kinds[x + 1] in ("LB", "RP"):
            names.types.add(texts[x])
            return


def _template(kinds: Sequence[str], texts: Sequence[str], i: int, names: Names) -> None:
    limit = min(len(kinds), i + _LOOKAHEAD)
    close = template_close(kinds, texts, i + 1)
    if not texts[close].startswith(">"):
        return
    for j in range(i + 2, min(close, limit - 1)):
        if kinds[j] == "TAG":  # template <class T, class... Ts>
            named = j + 2 if kinds[j + 1] == "ELLIPSIS" else j + 1
            if kinds[named] == "NAME":
                names.types.add(texts[named])
    j = close + 1
    while j < limit:
        checkpoint()
        if kinds[j] == "ATTRIBUTE" and kinds[j + 1 : j + 2] == ["LP"]:
            while j < limit and kinds[j] != "RP":
                j += 1
        elif kinds[j] == "NAME" and kinds[j + 1 : j + 2] == ["LP"]:
            names.templates.add(texts[j])
            return
        elif kinds[j] in ("LC", "SEMI", "COLON", "EQ"):
            if kinds[j - 1] == "NAME":
                names.templates.add(texts[j - 1])
            return
        j += 1
