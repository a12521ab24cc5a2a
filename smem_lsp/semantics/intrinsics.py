"""What the functions of libraries return, of which no header is read: as the stub files declare them, read by the same
front end as all C++ (``syntax/stubs.py``).

Of several declarations of a name the one counts that is the best for the types of the arguments ([over.match.best]),
as far as these are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from smem_lsp.semantics.declarations import FunctionDecl
from smem_lsp.semantics.entities import UNKNOWN, TypedConstant
from smem_lsp.semantics.stub_declarations import declaration
from smem_lsp.semantics.types import (
    DOUBLE,
    FLOAT,
    UNSIGNED,
    Array,
    Pointer,
    Type,
    builtin,
    fundamental,
    is_number,
    plain_type,
)
from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import stubs, tree
from smem_lsp.syntax.stubs import Stub

_LANE_MASK = "lane_mask"  # of a warp: its type follows from the number of lanes
_LANES = 32
_EXACT, _CONVERTED = 0, 1
_QUALIFIERS = frozenset(("const", "volatile"))


@dataclass(frozen=True, slots=True, eq=False)
class IntrinsicSignature:
    """A function as it is declared. ``open``: the names of its template parameters, which stand for types; ``more``: it
    takes any further arguments."""

    result: tree.Declaration
    parameters: Sequence[tree.Declaration]
    open: frozenset[str]
    more: bool

    def returned(self, given: Sequence[Type | None], mask: Type | None) -> Type | None:
        """The type of a call that fits. ``mask``: of a set of lanes."""
        bound = self._bound(given)
        return _type(self.result, {**bound, _LANE_MASK: mask}) if bound is not None else None

    def ranks(self, given: Sequence[Type | None]) -> Sequence[int] | None:
        """How far each argument is from its parameter; None: the call does not fit."""
        needed = [each for each in self.parameters if each.declarators[0].initializer is None]
        if len(given) < len(needed) or (len(given) > len(self.parameters) and not self.more):
            return None
        bound = self._bound(given)
        if bound is None:
            return None
        found = [
            _EXACT if parameter is None else _rank(parameter, kind, bound)
            for kind, parameter in zip_longest(given, self.parameters[: len(given)])
        ]
        known = [each for each in found if each is not None]
        return known if len(known) == len(found) else None

    def _bound(self, given: Sequence[Type | None]) -> Mapping[str, Type | None] | None:
        """Its template parameters, deduced from left to right; None: an argument is no such thing."""
        bound: dict[str, Type | None] = dict.fromkeys(self.open)
        for parameter, kind in zip(self.parameters, map(plain_type, given)):
            name = parameter.words[-1] if parameter.words else ""
            if name not in bound or kind is None:
                continue
            if "*" in parameter.declarators[0].pointers:
                if not isinstance(kind, Pointer | Array):
                    return None
                kind = plain_type(kind.target if isinstance(kind, Pointer) else kind.element)
            bound[name] = bound[name] or kind
        return bound


def returned_by(name: str, arguments: Sequence[TypedConstant], warp_size: int | None) -> TypedConstant:
    """What a call of a function of a library returns, without its value. ``warp_size``: lanes of a warp, where it is
    known; masks of others are larger."""
    given = [plain_type(argument.type) for argument in arguments]
    mask = UNSIGNED if warp_size == _LANES else None
    ranked = [(each, each.ranks(given)) for each in _signatures(name)]
    fitting = [(each, ranks) for each, ranks in ranked if ranks is not None]
    best = [
        each.returned(given, mask)
        for each, ranks in fitting
        if all(one <= other for _, others in fitting for one, other in zip(ranks, others))
    ]
    return TypedConstant(best[0]) if best and all(each == best[0] for each in best) else UNKNOWN


def takes_as_they_are(name: str, given: Sequence[Type | None]) -> bool:
    """Has CUDA a function, and no template, for arguments of just these types? For what takes float and double
    there are others for all types of integers ([cmath.syn])."""
    plain = [each for each in _signatures(name) if not each.open]
    ranked = [each.ranks(given) for each in plain]
    if any(ranks is not None and not any(ranks) for ranks in ranked):
        return True
    first = {_type(each.parameters[0], {}) for each in plain if each.parameters}
    return {FLOAT, DOUBLE} <= first


def parameter_type(stub: Stub, number: int) -> Type | None:
    """The type of a parameter that is no template's."""
    found = signature(stub)
    wanted = found.parameters[number : number + 1] if found is not None else ()
    return _type(wanted[0], {}) if wanted else None


def _signatures(name: str) -> Sequence[IntrinsicSignature]:
    found = (signature(each) for each in stubs.own().named(name) if each.around in ((), ("std",)))
    return [each for each in found if each is not None]


@remembered(most=4096)
def signature(stub: Stub) -> IntrinsicSignature | None:
    """What a stub declares, if it is a function."""
    decl = declaration(stub)
    if not isinstance(decl, FunctionDecl):
        return None
    source = decl.source
    start = decl.head[0]
    while source.kinds[start] == "LB":
        start = source.after(start)
    lo, hi = decl.list
    more = source.kinds[hi - 1] == "ELLIPSIS"
    if more:
        hi = max(lo, hi - 2)
    result = source.parse("declaration", start, decl.head[1])
    parameters = source.parse("parameters", lo, hi) if hi > lo else []
    if not isinstance(result, tree.Declaration) or not isinstance(parameters, list):
        return None
    return IntrinsicSignature(
        result, parameters, frozenset(each.name for each in decl.parameters or ()), more
    )


def _type(declaration: tree.Declaration, bound: Mapping[str, Type | None]) -> Type | None:
    """The type of what is declared, without qualifiers and references."""
    words = [word for word in declaration.words if word not in _QUALIFIERS]
    name = declaration.names[0].text if declaration.names else ""
    kind = bound[name] if name in bound else builtin(name) if name else fundamental(words)
    for pointer in declaration.declarators[0].pointers:
        kind = Pointer(kind) if pointer == "*" else kind
    return kind


def _rank(parameter: tree.Declaration, given: Type | None, bound: Mapping[str, Type | None]) -> int | None:
    """How an argument gets the type of a parameter; None: it does not."""
    kind = plain_type(given)
    wanted = _type(parameter, bound)
    if kind is None or wanted is None or kind == wanted:
        return _EXACT
    if isinstance(wanted, Pointer):
        return _EXACT if isinstance(kind, Pointer | Array) else None
    return _CONVERTED if is_number(kind) else None
