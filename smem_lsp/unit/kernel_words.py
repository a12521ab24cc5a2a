"""What a launch says about the numbers of its kernel: ``reverse<<<1, len>>>(d, len)`` says ``len == blockDim.x``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import gcd

from smem_lsp.ir.nodes import Comparison, HostTerms, InWords, LaunchFact, LaunchSite
from smem_lsp.ir.tensor_maps import CLASSES, box_of
from smem_lsp.ir.values import Const, Op, Sym, Value, operation
from smem_lsp.semantics.entities import Argument, TypedConstant, is_open
from smem_lsp.semantics.function_scope import counts, function_scope, parameters_of
from smem_lsp.semantics.local_declarations import declare_parameters
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import record
from smem_lsp.source.queries import PROCESS, Query
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Function
from smem_lsp.terms.operators import Operator, operator_of
from smem_lsp.terms.symbolic import (
    Applied,
    Atom,
    Symbol,
    SymbolicTerm,
    apply,
    compared,
    constant,
    multiplied,
    named,
    plus,
    replaced,
    rewritten,
)
from smem_lsp.unit.host_objects import as_passed, class_of
from smem_lsp.unit.host_values import Axes

NO_TERMS = HostTerms()


@record
class KernelWords:
    """What a launch says about its kernel, as the fields of a ``LaunchSite`` hold it."""

    terms: HostTerms
    equalities: tuple[LaunchFact, ...]
    conditions: tuple[LaunchFact, ...]
    own: frozenset[Symbol]
    dynamic: InWords | None


_WORDS = Query[tuple[object, ...], KernelWords]("what a launch says in the words of its kernel", each=400)


def in_kernel_words(
    site: LaunchSite, kernel: Function, top: Scope, bound: dict[str, Argument] | None, identity: object
) -> LaunchSite:
    """The launch with what it says about its kernel. ``bound``: template arguments of the instance; ``identity``: of
    the kernel and of these."""
    if site.terms == NO_TERMS:
        return site
    work = partial(_words, site.terms, kernel, top, bound)
    words = _WORDS.of(PROCESS, (identity, site.terms), work, weigh=_weight)
    return replace(
        site,
        terms=words.terms,
        equalities=words.equalities,
        conditions=words.conditions,
        own=words.own,
        dynamic=words.dynamic,
    )


def _weight(words: KernelWords) -> int:
    return (
        4
        + len(words.terms.arguments)
        + len(words.terms.members)
        + 2 * (len(words.equalities) + len(words.conditions))
    )


@dataclass(slots=True)
class _Vocabulary:
    """What a launch calls the numbers of its kernel. ``words``: names, each with the number of the host that it has;
    ``template``: those of template parameters, which are in ``words``, too; ``meaning``: symbols of the host with the
    first name for each, ``whole``: other numbers of the host that are not known, too."""

    words: Sequence[tuple[str, SymbolicTerm]]
    template: Mapping[str, SymbolicTerm]
    meaning: Mapping[Symbol, str]
    whole: Mapping[SymbolicTerm, str]

    @classmethod
    def of(
        cls, words: Sequence[tuple[str, SymbolicTerm]], template: Mapping[str, SymbolicTerm]
    ) -> _Vocabulary:
        meaning: dict[Symbol, str] = {}
        whole: dict[SymbolicTerm, str] = {}
        for name, term in words:
            symbol = term.symbol
            if symbol is not None:
                meaning.setdefault(symbol, name)
            elif term.number is None:
                whole.setdefault(term, name)
        return cls(words, template, meaning, whole)

    def spelled(self, term: SymbolicTerm) -> SymbolicTerm | None:
        """The term in the words of the kernel; None if one of its symbols has none there."""
        if not term.symbols <= self.meaning.keys():
            return None
        return replaced(term, {symbol: named(self.meaning[symbol]) for symbol in term.symbols})

    def side(self, term: SymbolicTerm) -> SymbolicTerm | None:
        """The same of a side of a comparison, which may have a name as a whole."""
        return named(self.whole[term]) if term in self.whole else self.spelled(term)

    def of_arguments(self, term: SymbolicTerm) -> SymbolicTerm | None:
        """The term, made of what the launch passes to the kernel, symbol or not: ``n / 4 / rows`` where ``n / 4`` is an
        argument."""
        known = {named(symbol.name, symbol.version): named(name) for symbol, name in self.meaning.items()}
        for each, name in self.whole.items():
            if each != term and name not in self.template:
                known[each] = named(name)
        return rewritten(term, known)


def _words(terms: HostTerms, kernel: Function, top: Scope, bound: dict[str, Argument] | None) -> KernelWords:
    members = dict(_members(terms, kernel, bound or {}))
    template = {
        name: term
        for name, term in _template(terms.template, kernel)
        if not bound or is_open(bound.get(name))
    }
    template |= members
    terms = replace(
        terms, block=_numbers(terms.block, kernel, members), grid=_numbers(terms.grid, kernel, members)
    )
    passed = _passed(terms, kernel, function_scope(top, kernel, bound).child())
    vocabulary = _Vocabulary.of([*template.items(), *passed, *_extents(terms)], template)
    equalities = (_equality(name, term, vocabulary) for name, term in vocabulary.words)
    dynamic = None if terms.dynamic is None else vocabulary.spelled(terms.dynamic)
    return KernelWords(
        terms,
        tuple(each for each in equalities if each is not None),
        tuple(_conditions(terms.conditions, vocabulary)),
        frozenset(_others(terms, kernel, vocabulary.meaning)),
        None if dynamic is None or dynamic.number is not None else InWords(_value(dynamic), str(dynamic)),
    )


def _extents(terms: HostTerms) -> Iterator[tuple[str, SymbolicTerm]]:
    """The extents of the block and the grid, without numbers that none can have."""
    for what, axes in (("blockDim", terms.block), ("gridDim", terms.grid)):
        for axis, term in zip("xyz", axes):
            if term is not None and (term.number is None or term.number > 0):
                yield f"{what}.{axis}", term


def _equality(name: str, term: SymbolicTerm, vocabulary: _Vocabulary) -> LaunchFact | None:
    """What a number of the kernel, which is ``term`` in the host, is equal to in the words of the kernel; None: it is a
    word that others are told by, or nothing is known of it."""
    symbol = term.symbol
    if name in vocabulary.template or (symbol is not None and vocabulary.meaning[symbol] == name):
        return None
    if name.startswith(("blockDim", "gridDim")):
        if symbol is not None:
            return _fact(named(vocabulary.meaning[symbol]), "==", named(name))
        if term.number is not None:
            return None  # stands in the block and the grid
    same = vocabulary.whole.get(term, name)
    said = None if same in vocabulary.template else vocabulary.spelled(term)
    if said is None and same == name and name.startswith("blockDim"):
        said = vocabulary.of_arguments(term)
    if said is not None:
        return _fact(named(name), "==", said)
    return None if same == name else _fact(named(same), "==", named(name))


def _conditions(conditions: Iterable[Comparison], vocabulary: _Vocabulary) -> Iterator[LaunchFact]:
    """What holds of the numbers of the kernel by what they are made of, and by the ``conditions`` of the host."""
    words = vocabulary.words
    yield from _limits([word for word in words if word[0] not in vocabulary.template])
    yield from _multiples([word for word in words if vocabulary.spelled(word[1]) is None])
    for each in conditions:
        left, right = vocabulary.side(each.left), vocabulary.side(each.right)
        if left is not None and right is not None:
            yield _fact(left, each.operator, right)
        else:
            yield from _scaled(each, words)


def _others(terms: HostTerms, kernel: Function, meaning: Mapping[Symbol, str]) -> Iterator[Symbol]:
    """Numbers of the host with the name of a parameter that gets something else."""
    names = {declarator.name for each in kernel.parameters or () for declarator in each.declarators}
    for term in (*terms.block, *terms.grid, terms.dynamic):
        for symbol in () if term is None else term.symbols:
            if symbol.name.split(".")[0] in names and meaning.get(symbol) != symbol.name:
                yield symbol


def _limits(words: Sequence[tuple[str, SymbolicTerm]]) -> Iterator[LaunchFact]:
    """What follows from ``min(n, 256)``."""
    for name, term in words:
        atom = term.products[0][0][0] if len(term.products) == 1 and len(term.products[0][0]) == 1 else None
        if isinstance(atom, Applied) and atom.operator in ("min", "max") and term.products[0][1] > 0:
            for operand in atom.operands:
                n = operand.number
                if n is not None:
                    limit = constant(n * term.products[0][1])
                    yield _fact(named(name), "<=" if atom.operator == "min" else ">=", limit)


def _multiples(words: Sequence[tuple[str, SymbolicTerm]]) -> Iterator[LaunchFact]:
    """``32 * n`` threads are a multiple of 32."""
    for name, term in words:
        common = gcd(*(count for _, count in term.products))
        if name.startswith("blockDim") and common > 1 and term.number is None:
            rest = apply("%", named(name), constant(common))
            if rest is not None:
                yield _fact(rest, "==", constant(0))


def _scaled(condition: Comparison, words: Sequence[tuple[str, SymbolicTerm]]) -> Iterator[LaunchFact]:
    """What ``n <= 16`` says of ``32 * n`` threads."""
    n = condition.right.number
    if n is None or condition.left.symbol is None:
        return
    for name, term in words:
        symbols = [count for product, count in term.products if product == (condition.left.symbol,)]
        scaled = multiplied(condition.left, constant(symbols[0])) if symbols else None
        rest = None if scaled is None else plus(term, scaled, times=-1)
        if rest is not None and rest.number is not None and symbols[0] > 0:
            yield _fact(named(name), condition.operator, constant(n * symbols[0] + rest.number))


def _fact(left: SymbolicTerm, operator: str, right: SymbolicTerm) -> LaunchFact:
    return LaunchFact(
        _value(left), operator_of(operator), _value(right), f"{compared(left)} {operator} {compared(right)}"
    )


def _value_of(term: SymbolicTerm, meaning: Callable[[Symbol], Value | None]) -> Value | None:
    """The term as a value of a kernel. ``meaning``: what its symbols are there; None if one has no meaning there."""
    total: Value | None = None
    for product, count in sorted(term.products, key=lambda each: (not each[0], each[1] < 0)):
        part: Value = Const(abs(count))
        for atom in product:
            factor = _atom_value(atom, meaning)
            if factor is None:
                return None
            part = operation(Operator.MULTIPLY, part, factor)
        if total is None:
            total = part if count > 0 else operation(Operator.NEGATE, part)
        else:
            total = operation(Operator.ADD if count > 0 else Operator.SUBTRACT, total, part)
    return Const(0) if total is None else total


def _atom_value(atom: Atom, meaning: Callable[[Symbol], Value | None]) -> Value | None:
    if isinstance(atom, Symbol):
        return meaning(atom)
    operands = [_value_of(operand, meaning) for operand in atom.operands]
    known = [operand for operand in operands if operand is not None]
    if len(known) < len(operands):
        return None
    return Op(operator_of(atom.operator), tuple(known))


def _value(term: SymbolicTerm) -> Value:
    found = _value_of(term, lambda symbol: Sym(symbol.name))
    assert found is not None  # every symbol has a meaning
    return found


def _template(
    arguments: Sequence[SymbolicTerm | None], kernel: Function
) -> Iterator[tuple[str, SymbolicTerm]]:
    """Template parameters that are numbers, with their explicit arguments."""
    for parameter, argument in zip(parameters_of(kernel), arguments):
        if parameter.pack:
            return
        if parameter.name and argument is not None and counts(parameter):
            yield parameter.name, argument


def _members(
    terms: HostTerms, kernel: Function, bound: Mapping[str, Argument]
) -> Iterator[tuple[str, SymbolicTerm]]:
    """Members of a type that a template of the host hands on to the kernel: what is ``Q::N`` there is ``P::N`` here."""
    types = {
        argument.symbol: parameter.name
        for parameter, argument in zip(parameters_of(kernel), terms.template)
        if parameter.kind == "type" and argument is not None and is_open(bound.get(parameter.name))
    }
    given = (*terms.block, *terms.grid, terms.dynamic, *terms.template, *terms.arguments)
    for symbol in dict.fromkeys(each for term in given if term is not None for each in term.symbols):
        owner, scope, member = symbol.name.partition("::")
        name = types.get(Symbol(owner, symbol.version)) if scope else None
        if name is not None:
            yield f"{name}::{member}", named(symbol.name, symbol.version)


def _numbers(axes: Axes, kernel: Function, members: Mapping[str, SymbolicTerm]) -> Axes:
    """The extents of a launch, without a member of a type that nobody gives where it may be a dim3: where the kernel
    does not use it as a number."""
    x, *others = axes
    if x is None or x.symbol is None or "::" not in x.symbol.name or others != [None, None]:
        return axes
    texts = kernel.definition.body.texts
    for name in (name for name, term in members.items() if term == x):
        words = re.split("(::)", name)
        ends = (at + len(words) for at in range(len(texts)) if texts[at : at + len(words)] == words)
        if any(texts[end : end + 1] and texts[end] in _BEHIND_NUMBERS for end in ends):
            return axes
    return None, None, None


_BEHIND_NUMBERS = frozenset(") ] ; , + - * / % <= >= == != ? : && ||".split())


def _passed(terms: HostTerms, kernel: Function, scope: Scope) -> Iterator[tuple[str, SymbolicTerm]]:
    """Parameters that are integers, passed by value, with their arguments, those of less than 32 bits where these are
    numbers, the same of the members of those that are objects, and the boxes of tensor maps."""
    parameters = kernel.parameters or ()
    declare_parameters(parameters, scope)
    for position, (declaration, argument) in enumerate(zip(parameters, terms.arguments)):
        declarator = declaration.declarators[0] if len(declaration.declarators) == 1 else None
        if declarator is None or declarator.pointers or declarator.dims:
            continue
        typed = scope.bound.get(declarator.name)
        kind = typed.type if isinstance(typed, TypedConstant) else None
        for at, of_class, path, term in terms.members:
            if at == position and of_class and of_class == class_of(kind):
                yield declarator.name + path, term
        if argument is None:
            continue
        if not CLASSES.isdisjoint(declaration.words):
            if argument.symbol is None:
                yield box_of(declarator.name), argument
            continue
        passed = as_passed(kind, argument)
        if passed is not None:
            yield declarator.name, passed
