"""What host code knows at one place on its way to a launch: the values of its variables, and what holds there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from smem_lsp.ir.nodes import Comparison
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Scalar, Type, plain_type, scalar_of
from smem_lsp.source import checkpoint, record
from smem_lsp.source.integers import BINARY, NEGATED
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.terms.symbolic import Symbol, SymbolicTerm, constant, named, replaced
from smem_lsp.unit.host_objects import HostField

Axes = tuple[SymbolicTerm | None, SymbolicTerm | None, SymbolicTerm | None]
_MOST_KERNELS = 64  # that one pointer may point to
Members = tuple[str, ...]  # ("gridDim", "x"), ("0", "val")
ZERO = ("{0}",)  # stands for the members of an object that begins as zero


@record
class HostNumber:
    """An integer. ``addends``: of a sum, the value of each; ``doubtful``: of a type that is not known, so perhaps no
    integer but a ``dim3``."""

    term: SymbolicTerm
    addends: tuple[int | None, ...] = ()
    doubtful: bool = False


@record
class Extents:
    """A ``dim3``."""

    axes: Axes


@record
class KernelName:
    """A function that is no host function, named by the token ``at`` of function number ``function``. ``names``: the
    template arguments that are bound there, as text; ``spelled``: the name with its qualifiers; ``explicit``: template
    arguments are spelled, ``arguments``: as numbers, where they are some."""

    name: str
    function: int
    at: int
    names: str
    spelled: str
    explicit: bool
    arguments: tuple[SymbolicTerm | None, ...] = ()
    in_string: bool = False  # the driver looks it up


@record
class Kernels:
    """One of several kernels, not known which."""

    names: frozenset[KernelName]


@record
class Items:
    """An array with known elements."""

    values: tuple[HostValue | None, ...]


@record
class HostAddress:
    """The address of a variable, or an object that is passed by its name."""

    variable: int


@record
class Object:
    """A copy of an object: its members, by name."""

    fields: tuple[HostField, ...]
    members: tuple[tuple[str, HostValue | None], ...]


@record
class LambdaName:
    """A lambda, by its number."""

    number: int


@record
class Filled:
    """What a call returns, and what it stores in its arguments, by their position."""

    returned: HostValue | None
    stored: tuple[tuple[int, HostValue | None], ...]


HostValue = HostNumber | Extents | KernelName | Kernels | Items | HostAddress | Object | LambdaName | Filled


@dataclass(eq=False, slots=True)
class Variable:
    """A local variable or parameter. ``shared``: something that is not followed may change it at any time."""

    serial: int
    name: str
    type: Type | None = None
    is_dim3: bool = False
    is_array: bool = False
    is_object: bool = False  # a launch configuration
    fields: tuple[HostField, ...] = ()  # of an aggregate of the project
    shared: bool = False
    fixed: bool = False  # const
    pointed: bool = False  # ``*p`` of a parameter, which stands for what it points to
    matters: bool = True  # may decide about a launch
    chosen: bool = False  # somebody out of sight may choose what it begins as
    open: bool = True  # something that somebody chooses may decide it, in whatever way

    @property
    def scalar(self) -> Scalar | None:
        return scalar_of(plain_type(self.type))

    @property
    def counts(self) -> bool:
        """May it hold an integer of 32 bits or more?"""
        scalar = self.scalar
        if scalar is None:
            return self.type is None and not self.is_object
        return scalar.kind == "int" and scalar.size >= 4


@dataclass(eq=False, slots=True)
class HostPath:
    """One way through host code. ``versions``: of variables, for the names of their unknown members; ``known``: what
    symbols were found to be; ``epoch``: changes whenever something that is not followed may have changed; ``chosen``:
    what expressions with several values have; ``asked``: see ``host_asked``; ``lost``: variables that code in sight has
    changed in a way that is not followed; ``given``: those that code out of sight may have; ``unfollowed``, which all
    ways share: numbers that are not known, and that nobody chooses; ``doubts``: conditions on the way that code in
    sight decides, each with what it is taken for."""

    values: dict[tuple[int, Members], HostValue] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    shared: frozenset[int] = frozenset()
    facts: tuple[Comparison, ...] = ()
    known: dict[Symbol, SymbolicTerm] = field(default_factory=dict)
    epoch: int = 0
    chosen: dict[tuple[int, int, int, int], HostValue | bool | None] = field(default_factory=dict)
    dead: bool = False
    asked: frozenset[tuple[int, str]] = frozenset()
    lost: frozenset[int] = frozenset()
    given: frozenset[int] = frozenset()
    doubts: frozenset[tuple[object, object]] = frozenset()
    unfollowed: set[Symbol] = field(default_factory=set)

    def copy(self) -> HostPath:
        return HostPath(
            dict(self.values),
            dict(self.versions),
            self.shared,
            self.facts,
            dict(self.known),
            self.epoch,
            dict(self.chosen),
            asked=self.asked,
            lost=self.lost,
            given=self.given,
            doubts=self.doubts,
            unfollowed=self.unfollowed,
        )

    def symbol(self, name: str, version: int, *, doubtful: bool = False) -> HostNumber:
        """The number that host code calls ``name``."""
        term = named(name, version)
        known = self.known.get(Symbol(name, version))
        return HostNumber(term, (), doubtful) if known is None else HostNumber(known)

    # ---- variables -----------------------------------------------------------------------------------------------

    def read(self, variable: Variable, members: Members, text: str) -> HostValue | None:
        """The value of a variable or a member of it. ``text``: its spelling."""
        if variable.shared or variable.serial in self.shared:
            return self._unknown(variable, members, text, self.epoch)
        found = self.values.get((variable.serial, members))
        if found is not None:
            return found
        if members and members[-1] in ("x", "y", "z"):
            whole = self.values.get((variable.serial, members[:-1]))
            if isinstance(whole, Extents):
                term = whole.axes["xyz".index(members[-1])]
                return None if term is None else HostNumber(term)
        return self._unknown(variable, members, text, self.versions.get(variable.serial, 0))

    def _unknown(self, variable: Variable, members: Members, text: str, version: int) -> HostValue | None:
        found = self._any(variable, members, text, version)
        if not self.is_chosen(variable):
            self.unfollowed |= symbols_of(found)
        return found

    def is_chosen(self, variable: Variable) -> bool:
        """May somebody choose what the variable is here, where that is not known?"""
        return variable.serial not in self.lost and (variable.chosen or variable.serial in self.given)

    def _any(self, variable: Variable, members: Members, text: str, version: int) -> HostValue | None:
        if variable.is_dim3 and not members:
            x, y, z = (self.symbol(f"{text}.{axis}", version).term for axis in "xyz")
            return Extents((x, y, z))
        field = next((each for each in variable.fields if members == (each.name,)), None)
        if field is not None and field.is_dim3:
            x, y, z = (self.symbol(f"{text}.{axis}", version).term for axis in "xyz")
            return Extents((x, y, z))
        if field is not None:
            return self.symbol(text, version) if field.counts else None
        if members or (variable.counts and not variable.is_array):
            axis = len(members) == 1 and variable.is_dim3
            return self.symbol(text, version, doubtful=not axis and (bool(members) or variable.type is None))
        return HostAddress(variable.serial) if variable.scalar is None or variable.is_array else None

    def store(self, variable: Variable, members: Members, value: HostValue | None, version: int) -> None:
        """``version``: a new number, for what is unknown from now on."""
        serial = variable.serial
        if members and members[-1] in ("x", "y", "z"):
            whole = self.values.get((serial, members[:-1]))
            if whole is None and variable.is_dim3 and len(members) == 1:
                whole = self.read(variable, (), variable.name)
            if isinstance(whole, Extents):
                axes = list(whole.axes)
                unknown = named(f"{variable.name}.{'.'.join(members)}", version)
                axes["xyz".index(members[-1])] = value.term if isinstance(value, HostNumber) else unknown
                self.values[serial, members[:-1]] = Extents((axes[0], axes[1], axes[2]))
                return
        for key in [key for key in self.values if key[0] == serial and _overlap(key[1], members)]:
            checkpoint()
            del self.values[key]
        if value is None and members:
            value = HostNumber(named(f"{variable.name}.{'.'.join(members)}", version))
        if value is None:
            self.versions[serial] = version
        else:
            self.values[serial, members] = value
            if not (members or variable.shared or serial in self.shared):
                self.lost -= {serial}

    # ---- what holds ----------------------------------------------------------------------------------------------

    def learn(self, fact: Comparison) -> None:
        """Add a comparison that is true here; the path is dead if it cannot be."""
        fact = self._with_known(fact)
        known = holds(fact)
        if known is False or opposite(fact) in self.facts:
            self.dead = True
        if known is not None or fact in self.facts:
            return
        self.facts = (*self.facts, fact)
        if fact.operator == "==":
            for one, other in ((fact.left, fact.right), (fact.right, fact.left)):
                if one.symbol is not None and other.number is not None:
                    self.known[one.symbol] = other
                    self._replace({one.symbol: other})
                    return
                if other.number is not None:
                    self._settle(one, other)

    def _settle(self, term: SymbolicTerm, to: SymbolicTerm) -> None:
        """Give the number ``to`` to all variables that are ``term`` here."""
        for key, value in self.values.items():
            if isinstance(value, HostNumber) and value.term == term:
                self.values[key] = HostNumber(to)
            elif isinstance(value, Extents) and term in value.axes:
                x, y, z = (to if axis == term else axis for axis in value.axes)
                self.values[key] = Extents((x, y, z))

    def _replace(self, symbols: Mapping[Symbol, SymbolicTerm]) -> None:
        for key, value in self.values.items():
            self.values[key] = _replaced(value, symbols)
        facts = self.facts
        self.facts = ()
        for each in facts:
            left, right = replaced(each.left, symbols), replaced(each.right, symbols)
            if left is not None and right is not None:
                fact = Comparison(left, each.operator, right)
                if holds(fact) is False:
                    self.dead = True
                elif holds(fact) is None:
                    self.facts = (*self.facts, fact)

    def _with_known(self, fact: Comparison) -> Comparison:
        if not self.known:
            return fact
        left, right = replaced(fact.left, self.known), replaced(fact.right, self.known)
        return fact if left is None or right is None else Comparison(left, fact.operator, right)

    def decided(self, fact: Comparison) -> bool | None:
        """Is it true here? None: not known."""
        fact = self._with_known(fact)
        known = holds(fact)
        if known is None and fact in self.facts:
            return True
        return False if known is None and opposite(fact) in self.facts else known


def number(n: int) -> HostNumber:
    return HostNumber(constant(n))


def one_of(values: Iterable[HostValue | None]) -> Kernels | None:
    """Any of some kernels; None if one of the values is neither a kernel nor null, or if they are too many."""
    names: set[KernelName] = set()
    for value in values:
        if isinstance(value, HostNumber) and _is_null(value.term):
            continue
        if not isinstance(value, (KernelName, Kernels)):
            return None
        names |= value.names if isinstance(value, Kernels) else {value}
    return Kernels(frozenset(names)) if 0 < len(names) <= _MOST_KERNELS else None


def constant_extents(made: tree.Expr | None, scope: Scope) -> Extents | None:
    """The ``dim3`` that an expression is anywhere: ``dim3(32, 4)``, ``{32, 4}``, ``128``."""
    items = [made]
    while isinstance(made, (tree.Cast, tree.Call, tree.Braces)):
        if isinstance(made, tree.Cast):
            items = [made.operand]
        elif isinstance(made, tree.Call):
            if not isinstance(made.callee, tree.Name) or made.callee.text != "dim3":
                break
            items = list(made.arguments)
        else:
            items = list(made.items)
        if len(items) != 1:
            break
        made = items[0]
    numbers = [None if each is None else evaluate(each, scope) for each in items]
    if len(numbers) > 3 or None in numbers:
        return None
    x, y, z = [constant(n) for n in (*numbers, 1, 1, 1)[:3] if n is not None]
    return Extents((x, y, z))


def symbols_of(value: HostValue | None) -> frozenset[Symbol]:
    """The symbols of numbers and extents in a value."""
    match value:
        case HostNumber():
            return value.term.symbols
        case Extents():
            return frozenset[Symbol]().union(*(axis.symbols for axis in value.axes if axis is not None))
        case Items():
            return frozenset[Symbol]().union(*map(symbols_of, value.values))
        case Object():
            return frozenset[Symbol]().union(*(symbols_of(each) for _, each in value.members))
        case Filled():
            stored = (symbols_of(each) for _, each in value.stored)
            return symbols_of(value.returned).union(*stored)
    return frozenset()


def any_of(values: Iterable[HostValue | None]) -> HostValue | None:
    """Any of some values: what they have in common; of kernels which ones they may be."""
    given = list(values)
    first = given[0] if given else None
    if isinstance(first, Filled):
        alike_ = [each for each in given if isinstance(each, Filled)]
        stored = [dict(each.stored) for each in alike_]
        return Filled(
            any_of(each.returned for each in alike_),
            tuple((position, any_of(each.get(position) for each in stored)) for position, _ in first.stored),
        )
    if not isinstance(first, Object):
        return first if len(set(given)) == 1 else one_of(given)
    alike = [each for each in given if isinstance(each, Object) and each.fields == first.fields]
    if len(alike) < len(given):
        return None
    members = [dict(each.members) for each in alike]
    shared = ((name, any_of(each.get(name) for each in members)) for name in members[0])
    return Object(first.fields, tuple(shared))


def _is_null(term: SymbolicTerm) -> bool:
    return term.number == 0 or (term.symbol is not None and term.symbol.name in ("NULL", "nullptr"))


def kernels_of(value: HostValue | None) -> list[KernelName]:
    """The kernels that a value may be."""
    if isinstance(value, Kernels):
        return sorted(value.names, key=lambda name: (name.function, name.at, name.names))
    return [value] if isinstance(value, KernelName) else []


def term_of(value: HostValue | None) -> SymbolicTerm | None:
    return value.term if isinstance(value, HostNumber) else None


def opposite(fact: Comparison) -> Comparison:
    return Comparison(fact.left, NEGATED[fact.operator], fact.right)


def holds(fact: Comparison) -> bool | None:
    """Is a comparison true of all numbers, or of none? None: of some."""
    if fact.left == fact.right:
        return fact.operator in ("==", "<=", ">=")
    a, b = fact.left.number, fact.right.number
    if a is None or b is None:
        return None
    return bool(BINARY[fact.operator](a, b))


def joined(
    paths: Iterable[HostPath], version: int, matters: Callable[[int], bool], most: int
) -> list[HostPath]:
    """The paths that are not dead, those with equal values as one; one path for all if there are more than ``most``.
    ``version``: a new number; ``matters``: may a variable decide about a launch?"""
    kept: list[HostPath] = []
    for path in paths:
        checkpoint()
        if path.dead:
            continue
        same = next((p for p in kept if _alike(p, path, matters)), None)
        if same is None:
            kept.append(path)
        else:
            _meet(same, path, version)
    if len(kept) > most:
        for path in kept[1:]:
            _meet(kept[0], path, version)
        del kept[1:]
    return kept


def _alike(one: HostPath, other: HostPath, matters: Callable[[int], bool]) -> bool:
    if one.values == other.values:
        return True
    keys = one.values.keys() | other.values.keys()
    return all(one.values.get(key) == other.values.get(key) for key in keys if matters(key[0]))


def _meet(one: HostPath, other: HostPath, version: int) -> None:
    """Let ``one`` stand for both."""
    one.facts = tuple(fact for fact in one.facts if fact in other.facts)
    one.shared |= other.shared
    one.asked |= other.asked
    one.lost |= other.lost
    one.given |= other.given
    one.doubts &= other.doubts
    one.known = {symbol: n for symbol, n in one.known.items() if other.known.get(symbol) == n}
    if one.epoch != other.epoch:
        one.epoch = version
    for serial in one.versions.keys() | other.versions.keys():
        if one.versions.get(serial) != other.versions.get(serial):
            one.versions[serial] = version
    for key in one.values.keys() | other.values.keys():
        mine, theirs = one.values.get(key), other.values.get(key)
        if mine != theirs:
            either = one_of((mine, theirs))
            one.values.pop(key, None)
            if either is not None:
                one.values[key] = either
            else:
                one.lost |= {key[0]}
            one.versions[key[0]] = version


def _overlap(one: Members, other: Members) -> bool:
    return one[: len(other)] == other or other[: len(one)] == one


def _replaced(value: HostValue, symbols: Mapping[Symbol, SymbolicTerm]) -> HostValue:
    if isinstance(value, HostNumber):
        term = replaced(value.term, symbols)
        return value if term is None else HostNumber(term, value.addends, value.doubtful)
    if isinstance(value, Extents):
        x, y, z = (None if axis is None else replaced(axis, symbols) for axis in value.axes)
        return Extents((x, y, z))
    return value
