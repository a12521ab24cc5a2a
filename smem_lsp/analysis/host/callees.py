"""What the functions do that a host function calls: other functions of the file, kernels, and libraries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from smem_lsp.analysis.host.api import api_of
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.host_functions import of_library, reads_values, standard_methods
from smem_lsp.syntax.parse import Function
from smem_lsp.targets.dialects import Dialect

# libraries take handles for the time of a call, and put work into streams of theirs
_LIBRARIES = regex(
    r"(?:cublas|cudnn|cufft|cusparse|cusolver|curand|nccl|nvtx|npp|hipblas|rocblas|hipfft|rccl)[A-Z]\w*"
)
_NOT_CALLS = frozenset(
    "if for while switch return sizeof alignof decltype catch static_assert defined".split()
)
_SYSTEM = regex(
    r"atomic\w*_system|__threadfence_system|thread_scope_system|volatile|\w*atomic_ref|system_atomic"
)


def is_library(name: str) -> bool:
    """Does it belong to a library that only borrows handles?"""
    return _LIBRARIES.fullmatch(name) is not None


def is_plain(name: str, space: str = "") -> bool:
    """A function of the C or C++ library that waits for no device. ``space``: before its name."""
    if space not in ("", "::", "std::"):
        return False
    return any(space == "std::" or not each.around for each in of_library(name))


def hands_on(name: str) -> bool:
    """Does such a function give back, or elsewhere, what it is given?"""
    return any(each.has("forwards") for each in of_library(name))


def is_plain_method(name: str) -> bool:
    """A method of a container or a string, by its name."""
    return name in standard_methods()


def touches(name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Positions of the arguments that a function of the C or C++ library writes and reads through."""
    stub = next(iter(of_library(name)), None)
    if stub is None:
        return (), ()
    through = [(stub.parameter_names.index(each.parameter), each.kind) for each in stub.effects]
    return (
        tuple(at for at, kind in through if kind in ("w", "x")),
        tuple(at for at, kind in through if kind in ("r", "x")),
    )


@dataclass(frozen=True, slots=True)
class PointerParameter:
    """What a kernel does through a pointer. ``writes``: None where it may; ``uses``: not at all if False; ``apart``:
    it takes care of others that access the memory at the same time."""

    writes: bool | None
    uses: bool
    apart: bool = False


UNKNOWN = PointerParameter(None, True)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a caller has to know of a function. ``quiet``: it waits for nothing and orders nothing; ``borrows``: for
    each parameter, whether it is only used while the function runs; ``through``: of a kernel, what it does through
    each; ``assigns``: names that it assigns; ``apart``: it takes care of others that access memory at the same time."""

    quiet: bool
    borrows: tuple[bool, ...]
    through: tuple[PointerParameter, ...]
    assigns: frozenset[str]
    apart: bool


_SUMMARY = Query[tuple[Dialect, frozenset[str]], Summary](
    "what a caller has to know of a function, by the quiet functions it calls", most=4
)


class Callees:
    """The functions of a unit, by name; ``managed``: its variables in managed memory, and how many dimensions each
    has."""

    def __init__(
        self, functions: Mapping[str, Sequence[Function]], managed: Mapping[str, int], dialect: Dialect
    ) -> None:
        self.functions = functions
        self.managed = managed
        self.dialect = dialect
        self._open: set[str] = set()
        self._known: dict[str, Summary | None] = {}

    def summary(self, name: str) -> Summary | None:
        """What is known of the function ``name``; None: it is not in sight, or there are several."""
        if name in self._known:
            return self._known[name]
        found = self.functions.get(name, ())
        if len(found) != 1 or name in self._open:
            return None
        self._open.add(name)
        try:
            known = self._of(found[0])
        finally:
            self._open.discard(name)
        self._known[name] = known
        return known

    def _of(self, function: Function) -> Summary:
        quiet = frozenset(
            each for each in called(function) if (found := self.summary(each)) is not None and found.quiet
        )
        store = function.definition.store
        return _SUMMARY.of(store, (self.dialect, quiet), lambda: _summary(function, quiet, self.dialect))

    def key(self, words: frozenset[str]) -> tuple[object, ...]:
        """All that the answers about these names depend on."""
        names = sorted(name for name in words if name in self.functions)
        return (
            self.dialect,
            tuple([(name, self.summary(name)) for name in names]),
            frozenset((name, self.managed[name]) for name in self.managed.keys() & words),
        )


def called(function: Function) -> Iterator[str]:
    """Names before parentheses in the body of a function."""
    kinds, texts = function.definition.body.kinds, function.definition.body.texts
    for i, kind in enumerate(kinds):
        if kind == "LP" and i and kinds[i - 1] == "NAME":
            yield texts[i - 1]


def _summary(function: Function, quiet: frozenset[str], dialect: Dialect) -> Summary:
    declared = function.parameters or []
    names = [each.declarators[0].name if each.declarators else "" for each in declared]
    waits = False
    for name in called(function):
        checkpoint()
        api = api_of(name, dialect)
        if api is not None:
            waits = waits or not api.quiet or api.waits is not None or api.does not in ("", "launch", "set")
        elif name not in quiet and not reads_values(name) and name not in _NOT_CALLS:
            waits = True
    released = any(_keeps(each, dialect) for each in called(function))
    whole = len(names) == len(declared) and function.parameters is not None
    borrows = tuple(whole and not released and _only_passed(function, name, dialect) for name in names)
    through: tuple[PointerParameter, ...] = ()
    system = function.is_kernel and any(_SYSTEM.fullmatch(word) for word in function.definition.words)
    if function.is_kernel and whole:
        through = tuple(
            _through(function, name, "const" in each.words and bool(each.declarators), system)
            for name, each in zip(names, declared)
        )
    return Summary(
        not waits and not function.is_kernel, borrows, through, frozenset(_assigned(function)), system
    )


def _keeps(name: str, dialect: Dialect) -> bool:
    api = api_of(name, dialect)
    return api is not None and (api.releases is not None or api.makes is not None or api.does == "callback")


def _only_passed(function: Function, name: str, dialect: Dialect) -> bool:
    """Is a parameter only handed to launches and to functions of the API?"""
    body = function.definition.body
    opened: list[int] = []
    launches = 0
    for i, (kind, text) in enumerate(zip(body.kinds, body.texts)):
        checkpoint()
        if kind == "LP":
            opened.append(i)
        elif kind == "RP" and opened:
            opened.pop()
        elif kind == "LAUNCH_OPEN":
            launches += 1
        elif kind == "LAUNCH_CLOSE":
            launches -= 1
        elif kind == "NAME" and text == name:
            at = opened[-1] if opened else 0
            callee = body.texts[at - 1] if at else ""
            inside = launches > 0 or (at and api_of(callee, dialect) is not None) or callee == ">>>"
            if not inside or body.texts[i - 1] in ("&", "=", "["):
                return False
    return True


def _through(function: Function, name: str, const: bool, system: bool) -> PointerParameter:
    """What a kernel does through the pointer ``name``."""
    body, partner = function.definition.body, function.body.ahead.partner
    kinds, texts = body.kinds, body.texts
    places = [i for i, text in enumerate(texts) if text == name and kinds[i] == "NAME"]
    if system:
        return PointerParameter(None, True, apart=True)
    if not places:
        return PointerParameter(False, False)
    if const:
        return PointerParameter(False, True)
    return PointerParameter(True if any(_stores(kinds, texts, partner, i) for i in places) else None, True)


def _stores(kinds: Sequence[str], texts: Sequence[str], partner: Sequence[int], i: int) -> bool:
    """Is the memory that the name at token ``i`` points to written there?"""
    end = i + 1
    while end < len(kinds) and kinds[end] == "LB" and partner[end] > end:
        end = partner[end] + 1
    while kinds[end : end + 2] == ["DOT", "NAME"]:
        end += 2
    after = kinds[end] if end < len(kinds) else ""
    before = kinds[i - 1] if i else ""
    if end > i + 1 or before == "STAR":
        if after in ("EQ", "ASSIGN", "STEP") or (before == "STEP"):
            return True
    opening = i - 1 - (before == "AMP")
    return kinds[opening] == "LP" and opening > 0 and texts[opening - 1].startswith("atomic")


def _assigned(function: Function) -> Iterator[str]:
    """Names that are assigned, by themselves or element by element."""
    body, partner = function.definition.body, function.body.ahead.partner
    kinds, texts = body.kinds, body.texts
    for i, kind in enumerate(kinds):
        if kind != "NAME" or (i and kinds[i - 1] in ("DOT", "TYPE", "AUTO", "NAME")):
            continue
        end = i + 1
        while end < len(kinds) and kinds[end] == "LB" and partner[end] > end:
            end = partner[end] + 1
        if kinds[end : end + 1] in (["EQ"], ["ASSIGN"], ["STEP"]) or (
            i > 1 and kinds[i - 1] == "AMP" and texts[i - 3 : i - 2] and texts[i - 3].startswith("atomic")
        ):
            yield texts[i]
