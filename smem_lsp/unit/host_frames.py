"""One call of a host function while its launches are looked for: its names, and which of its variables matter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from smem_lsp.interpret import frame
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.spell_type import spell_argument
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.brackets import template_name
from smem_lsp.syntax.host_functions import launch_calls, reading_methods, reads_values
from smem_lsp.syntax.parse import Body, Function
from smem_lsp.targets.dialects import CUDA
from smem_lsp.unit.host_values import HostPath, HostValue, Variable

# macros that let a condition be true behind them: PyTorch, glog, the C library and the like
GUARDS = r"(?:[A-Z0-9]+_)*(?:CHECK|ASSERT|ENFORCE|REQUIRE)(?:_(?:EQ|NE|LT|LE|GT|GE|MSG))?|assert"


@dataclass(eq=False)
class Frame(frame.Frame[HostPath, Variable]):
    """``number``: of the function among those that are read; ``bound``: template arguments by name; ``find_traits``:
    those of a body in which the values of these names at its end count;
    ``open``: other files may call it with other arguments; ``outer``: the scopes around the innermost."""

    function: Function
    number: int
    scope: Scope
    bound: Mapping[str, Argument]
    depth: int
    find_traits: Callable[[Body, frozenset[str]], Traits]
    outer: list[Scope] = field(default_factory=list)
    returned: list[tuple[HostPath, HostValue | None, tree.Expr | None]] = field(default_factory=list)
    open: bool = False
    version: int = 0  # of its template parameters
    wanted: frozenset[str] = frozenset()  # names whose values at its end count
    _traits: Traits | None = None

    @property
    def names(self) -> str:
        return names_text(self.bound)

    @property
    def traits(self) -> Traits:
        if self._traits is None:
            self._traits = self.find_traits(self.body, self.wanted)
        return self._traits

    def text(self, lo: int, hi: int) -> str | None:
        """The text of an expression of the chunk, with the parentheses that it begins or ends in; None: it is out of
        a macro."""
        kinds = self.body.tokens.kinds
        lo, hi = self.base + lo, self.base + hi
        open_ = kinds[lo:hi].count("LP") - kinds[lo:hi].count("RP")
        while open_ < 0 and kinds[lo - 1] == "LP":
            lo, open_ = lo - 1, open_ + 1
        while open_ > 0 and kinds[hi : hi + 1] == ["RP"]:
            hi, open_ = hi + 1, open_ - 1
        definition = self.function.definition
        offsets = definition.body.offsets[lo:hi]
        if not offsets or min(offsets) < 0:
            return None
        return definition.text[offsets[0] : offsets[-1] + len(definition.body.texts[hi - 1])]

    def spelled(self, expr: tree.Expr) -> str:
        """The expression in one line."""
        text = self.text(expr.lo, expr.hi)
        if text is None:
            tokens = self.body.tokens
            text = " ".join(tokens.texts[self.base + expr.lo : self.base + expr.hi])
        return " ".join(text.split())


@dataclass(frozen=True, slots=True)
class Traits:
    """``relevant``: names that may decide about a launch; ``captured``: names that lambdas assign; ``changed``: token
    indices at which each name is or may be changed, declarations left out; ``jumps``: it has a ``goto``."""

    relevant: frozenset[str]
    captured: frozenset[str]
    changed: dict[str, list[int]]
    jumps: bool

    @staticmethod
    def of(
        body: Body,
        watched: frozenset[str],
        by_value: Mapping[str, frozenset[int]],
        wanted: frozenset[str],
    ) -> Traits:
        """``watched``: functions that lead to launches; ``by_value``: functions with the positions of the arguments
        that they may change; ``wanted``: names whose values at its end count."""
        kinds, texts = body.tokens.kinds, body.tokens.texts
        changed: dict[str, list[int]] = {}
        lambdas = list(_lambda_ranges(body))
        captured: set[str] = set()
        for i, kind in enumerate(kinds):
            if kind != "NAME":
                continue
            checkpoint()
            if _changes(body, i, by_value):
                changed.setdefault(texts[i], []).append(i)
                if any(lo <= i < hi for lo, hi in lambdas):
                    captured.add(texts[i])
        relevant = _relevant(kinds, texts, watched, wanted)
        return Traits(relevant, frozenset(captured), changed, "GOTO" in kinds)

    def assigned(self, lo: int, hi: int) -> set[str]:
        """Names that the tokens ``[lo, hi)`` may change."""
        return {name for name, places in self.changed.items() if any(lo <= at < hi for at in places)}


_VALUE_SPACES = frozenset(
    ("std", "thrust", "at", "torch", "c10")
)  # their classes keep no references to numbers


def _changes(body: Body, i: int, by_value: Mapping[str, frozenset[int]]) -> bool:
    """May the name at token ``i`` be changed there, other than by a declaration?"""
    kinds, texts, partner = body.tokens.kinds, body.tokens.texts, body.ahead.partner
    before = kinds[i - 1] if i else ""
    if before == "DOT":
        return False
    end = i + 1
    while end + 1 < len(kinds) and kinds[end] in ("DOT", "LB"):
        if kinds[end] == "LB" and partner[end] < end:
            return True
        end = end + 2 if kinds[end] == "DOT" else partner[end] + 1
    after = kinds[end] if end < len(kinds) else ""
    if after in ("EQ", "ASSIGN", "STEP"):
        return not (after == "EQ" and before in ("TYPE", "AUTO") and end == i + 1)
    if before == "STEP" or (before == "SHIFT" and texts[i - 1] == ">>" and kinds[i - 2] != "NUMBER"):
        return True
    if before == "AMP" and _is_address(body, i - 1):
        return not (_reads_address(body, i) or _is_argument_of_launch(body, i))
    if end > i + 1 and after == "LP":
        return texts[end - 1] not in reading_methods()
    bare = before in ("LP", "COMMA") and after in ("RP", "COMMA")
    return bare and not _by_value(body, i, by_value)


def _is_address(body: Body, amp: int) -> bool:
    """Does this ``&`` take an address? Behind a parenthesis it does where that is one of a cast."""
    kinds, partner = body.tokens.kinds, body.ahead.partner
    before = kinds[amp - 1] if amp else ""
    if before == "RP":
        inside = set(kinds[partner[amp - 1] + 1 : amp - 1])
        return "STAR" in inside or inside == {"TYPE"}
    if before == "GT":
        back = body.tokens.texts[max(0, amp - _MOST_CAST) : amp]
        return any(text.endswith("_cast") for text in back)
    return before not in ("NAME", "NUMBER", "RB", "TYPE", "LB")


_MOST_CAST = 12  # tokens of ``reinterpret_cast<void**>``


def _is_argument_of_launch(body: Body, i: int) -> bool:
    """Is ``&name`` at token ``i`` an element of an array that goes to launches and nowhere else:
    ``void* args[] = {&d, &n}``?"""
    kinds, texts, partner = body.tokens.kinds, body.tokens.texts, body.ahead.partner
    at = i - 1
    while at >= 0 and kinds[at] not in ("LC", "SEMI", "EQ"):
        at = partner[at] - 1 if kinds[at] == "RP" and 0 <= partner[at] < at else at - 1
    if at > 0 and kinds[at] == "LC":
        at -= kinds[at - 1] != "EQ"
        at -= kinds[at] == "LC"
    while at > 0 and kinds[at - 1] == "RB" and 0 <= partner[at - 1] < at:
        at = partner[at - 1]
    array = texts[at - 1] if at > 0 and kinds[at - 1] == "NAME" else ""
    uses = [j for j, text in enumerate(texts) if text == array and kinds[j] == "NAME"] if array else []
    others = [j for j in uses[1:] if not _goes_to_launch(body, j)]  # the first one declares it
    stored = all(
        kinds[j - 1] in ("SEMI", "LC", "RC")
        and kinds[j + 1] == "LB"
        and kinds[partner[j + 1] + 1 : partner[j + 1] + 2] == ["EQ"]
        for j in others
    )
    return stored and len(others) + 1 < len(uses)


def _goes_to_launch(body: Body, i: int) -> bool:
    opening = _opening(body, i)
    return opening > 0 and body.tokens.texts[opening - 1] in launch_calls()


def _reads_address(body: Body, i: int) -> bool:
    """Does ``&name`` at token ``i`` go to a launch, or to a function that reads launch configurations?"""
    opening = _opening(body, i)
    before = body.tokens.texts[opening - 1] if opening > 0 else ""
    return before in CUDA.config_readers or before in launch_calls() or before.startswith(">>>")


def _by_value(body: Body, i: int, by_value: Mapping[str, frozenset[int]]) -> bool:
    """Does the argument at token ``i`` go to something that does not change it?"""
    kinds, texts = body.tokens.kinds, body.tokens.texts
    opening = _opening(body, i)
    if opening <= 0:
        return True  # the configuration of a launch
    at = opening - 1
    if kinds[at] == "GT" or texts[at] == ">>":
        at = template_name(kinds, texts, at)
        if at >= 0 and texts[at].endswith("_cast"):
            return True
    elif kinds[at] not in ("NAME", "RP", "RB"):
        return True  # parentheses, a launch, a condition
    if at < 0 or kinds[at] != "NAME":
        return False
    callee = texts[at]
    if kinds[at - 1 : at] == ["DOT"]:
        return _only_reads(callee) or callee in reading_methods() or by_value.get(callee) == frozenset()
    if callee in by_value:
        position = _position(body, opening, i)
        return not by_value[callee] if position is None else position not in by_value[callee]
    if _only_reads(callee):
        return True
    declares = kinds[at - 1 : at] in (["TYPE"], ["AUTO"]) or texts[at - 1 : at] == ["dim3"]
    if declares or _is_guard(callee):
        return True
    if _is_of_value_space(body, at):
        return kinds[at - 1] != "SCOPE"  # a declaration: `std::vector<int> v(n)`
    # `divided(n, block.x)`: nothing declares the function, and a size of a block is meant as a number
    return kinds[i + 1] == "DOT" and texts[i + 2] in ("x", "y", "z") and kinds[i + 3] in ("RP", "COMMA")


def _only_reads(callee: str) -> bool:
    """Is it a function of a library that takes numbers as they are, or of CUDA?"""
    return reads_values(callee) or callee.startswith(("cuda", "cuLaunch", "hip"))


def _is_guard(callee: str) -> bool:
    """Is it a macro that tests something, or one of PyTorch?"""
    return re.fullmatch(GUARDS, callee) is not None or callee.startswith(("AT_DISPATCH", "TORCH_"))


def _is_of_value_space(body: Body, at: int) -> bool:
    """Does a namespace whose classes keep no references to numbers lead to the name at token ``at``, or to the type
    that it is declared with: ``std::f``, ``std::vector<int> v``?"""
    kinds, texts = body.tokens.kinds, body.tokens.texts
    at -= kinds[at - 1] != "SCOPE"
    while at > 0:
        if texts[at] in (">", ">>"):
            at = template_name(kinds, texts, at)
        if at < 0:
            return False
        if texts[at] in _VALUE_SPACES or kinds[at] != "NAME" or kinds[at - 1] != "SCOPE":
            return texts[at] in _VALUE_SPACES
        at -= 2
    return False


def _position(body: Body, opening: int, i: int) -> int | None:
    """Which argument of the call with this parenthesis holds token ``i``; None: not known where ``<`` may be a
    bracket."""
    kinds, partner = body.tokens.kinds, body.ahead.partner
    at, commas = opening + 1, 0
    while at < i:
        if kinds[at] == "LT":
            return None
        commas += kinds[at] == "COMMA"
        at = partner[at] + 1 if kinds[at] in ("LP", "LB", "LC") and partner[at] > at else at + 1
    return commas


def _opening(body: Body, i: int) -> int:
    """The parenthesis around token ``i``; -1: none in its statement."""
    kinds, partner = body.tokens.kinds, body.ahead.partner
    at = i - 1
    while at >= 0:
        checkpoint()
        if kinds[at] == "LP":
            return at
        if kinds[at] in ("RP", "RB", "RC") and 0 <= partner[at] < at:
            at = partner[at] - 1
            continue
        if kinds[at] in ("SEMI", "LC", "RC", "LAUNCH_OPEN"):
            return -1
        at -= 1
    return -1


def _lambda_ranges(body: Body) -> Iterable[tuple[int, int]]:
    """Token ranges of what may be bodies of lambdas: ``] ... {``, ``] {``."""
    kinds, partner = body.tokens.kinds, body.ahead.partner
    for i, kind in enumerate(kinds):
        if kind != "RB" or partner[i] < 0:
            continue
        opening = partner[i]
        if opening and kinds[opening - 1] in ("NAME", "RB", "RP", "TYPE", "STRING"):
            continue  # an index, an array
        at = i + 1
        if kinds[at : at + 1] == ["LP"] and partner[at] > at:
            at = partner[at] + 1
        while at < len(kinds) and kinds[at] not in ("LC", "SEMI", "RP", "COMMA", "RC"):
            at += 1
        if kinds[at : at + 1] == ["LC"] and partner[at] > at:
            yield at, partner[at]


def _relevant(
    kinds: Sequence[str], texts: Sequence[str], watched: frozenset[str], wanted: frozenset[str]
) -> frozenset[str]:
    """The ``wanted`` names, those in launches, and those in what is assigned to such names."""
    parts: list[tuple[int, int]] = []
    lo = depth = 0
    for i, kind in enumerate(kinds):
        depth += (kind == "LP") - (kind == "RP")
        if kind == "SEMI" or (kind in ("LC", "RC") and depth <= 0):
            parts.append((lo, i))
            lo = i + 1
    parts.append((lo, len(kinds)))
    names: set[str] = set(wanted)
    rest: list[tuple[set[str], set[str]]] = []
    for lo, hi in parts:
        checkpoint()
        inside = {text for kind, text in zip(kinds[lo:hi], texts[lo:hi]) if kind == "NAME"}
        if (
            "LAUNCH_OPEN" in kinds[lo:hi]
            or not inside.isdisjoint(watched | launch_calls())
            or "RETURN" in kinds[lo:hi]
        ):
            names |= inside
        else:
            rest.append(({t for t in inside if _set_in(kinds, texts, lo, hi, t)}, inside))
    grew = True
    while grew:
        checkpoint()
        grew = False
        for changed, inside in list(rest):
            if not changed.isdisjoint(names):
                rest.remove((changed, inside))
                grew = grew or not inside <= names
                names |= inside
    return frozenset(names)


def _set_in(kinds: Sequence[str], texts: Sequence[str], lo: int, hi: int, name: str) -> bool:
    for i in range(lo, hi):
        if texts[i] == name and kinds[i] == "NAME":
            after = kinds[i + 1] if i + 1 < hi else ""
            before = kinds[i - 1] if i > lo else ""
            if after in ("EQ", "ASSIGN", "STEP", "DOT", "LB", "COLON") or before in ("STEP", "AMP"):
                return True
            if after in ("COMMA", "RB") and "AUTO" in kinds[lo:i] and before in ("LB", "COMMA"):
                return True  # auto [g, b] = ...
            if after in ("LP", "LC", "") and before in ("TYPE", "NAME", "AUTO", "GT", "COMMA", "AMP"):
                return True
    return False


def names_text(bound: Mapping[str, Argument]) -> str:
    """Template arguments as text, but for those of which nothing is known: a template that nothing makes an instance of
    binds its own to that, and one that nothing enters binds none."""
    known = sorted((name, argument) for name, argument in bound.items() if argument is not None)
    return ", ".join(f"{name} = {spell_argument(argument)}" for name, argument in known)
