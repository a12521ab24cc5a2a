"""The instances that a file makes of its templates: by explicit instantiations, launches and every other mention.

A mention `k<N, float>` inside another template is evaluated once for each instance of that template. Where nothing
makes one, the mention is evaluated all the same, for kernels without an instance: of ``k<T, 8>`` the 8 is known.
A template in a source file has only the instances that the file mentions; one in a header may have others.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from smem_lsp.semantics.deduction import bind_call
from smem_lsp.semantics.entities import Argument, Namespace, TypedConstant, Undeclared, is_open
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.function_scope import function_scope, parameters_of
from smem_lsp.semantics.local_declarations import (
    declare_constants,
    declare_parameters,
    declare_types,
    declare_using,
)
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.specialization import is_specialization
from smem_lsp.semantics.spell_type import spell_argument
from smem_lsp.semantics.types import Type
from smem_lsp.source import checkpoint, record
from smem_lsp.source.queries import PROCESS, Query, Store
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import OTHER_FILE, Function, TranslationUnit
from smem_lsp.unit.explicit_instantiations import instantiations, spelled
from smem_lsp.unit.kernel_tables import IN_TABLE, kernel_tables
from smem_lsp.unit.overloads import argument_type, is_for, meant
from smem_lsp.unit.torch_dispatch import dispatched
from smem_lsp.unit.variants import generic, visited

MOST_INSTANCES = 8  # of one template, at normal effort
MOST_PROVED = 512  # of one template, where only proofs are looked for
MOST_VISITS = 200  # of functions of one file


@record(deep=True)
class InstanceArguments:
    """The template arguments of one instance. ``text``: ``float, 32``, as a mention would spell them; ``made``: the
    file makes it; else only a template names it of which the file makes no instance."""

    arguments: tuple[tuple[str, Argument], ...]
    text: str
    made: bool = True

    @property
    def names(self) -> dict[str, Argument]:
        return dict(self.arguments)


@dataclass(frozen=True, slots=True)
class Mention:
    """A function names an instance: the function, the token of its body where the name begins, and the names that are
    bound to template arguments there. ``binding`` None: a specialization stands in for the instance."""

    binding: InstanceArguments | None
    function: int
    name: int
    bound: tuple[tuple[str, Argument], ...]
    launch: tuple[int, int] | None = None  # the tokens of the launch that it is the callee of
    table: str = ""  # at namespace scope whose entry ``name`` it is


@dataclass(frozen=True, slots=True)
class Instances:
    """The known instances of one template. ``complete``: there are no others; if False, ``why`` there may be.
    ``left_out``: the file makes others, too many to look at; ``rest``: bindings that leave the numbers among their
    arguments open and stand for all of these, none where they would be too many as well."""

    bindings: tuple[InstanceArguments, ...] = ()
    why: str | None = None
    mentions: tuple[Mention, ...] = ()
    left_out: bool = False
    rest: tuple[InstanceArguments, ...] = ()

    @property
    def complete(self) -> bool:
        return self.why is None


_Values = tuple[Argument | int, ...]  # template arguments; of a constant only its value tells instances apart


@dataclass
class _FoundInstances:
    bindings: dict[_Values, InstanceArguments] = field(default_factory=dict)
    why: str | None = None
    mentions: list[Mention] = field(default_factory=list)
    left_out: bool = False
    rest: dict[_Values, InstanceArguments] = field(default_factory=dict)
    covered: bool = True  # by ``rest``: what is left out

    def leave_out(self, why: str, *, covered: bool = False) -> None:
        self.why = self.why or why
        self.left_out = True
        self.covered = self.covered and covered


class InstanceTable(Mapping[int, Instances]):
    """The instances of a file's templates, by the number of the function: the same object for two versions of the file
    that make the same of them, and equal to no other. ``store``: facts about them."""

    __slots__ = ("_found", "store")

    def __init__(self, found: Mapping[int, Instances]) -> None:
        self._found = found
        self.store = Store()

    def __getitem__(self, number: int) -> Instances:
        return self._found[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def find_instances(unit: TranslationUnit, top: Scope, most: int = MOST_INSTANCES) -> InstanceTable:
    """Instances of kernel templates and of templates that lead to one, by function number, ``most`` of each."""
    search = _InstanceSearch(unit, top, most)
    if not search.templates:
        return InstanceTable({})
    key = search.key()
    return _INSTANCES.of(PROCESS, key, lambda: InstanceTable(search.run()))


_INSTANCES = Query[tuple[object, ...], InstanceTable]("instances of a file's templates", each=300_000)


def forget_instances() -> None:
    """Drop those of all files: each keeps what its file and its headers declare."""
    _INSTANCES.forget(PROCESS)


class _InstanceSearch:
    def __init__(self, unit: TranslationUnit, top: Scope, most: int) -> None:
        self.unit = unit
        self.top = top
        self.most = most
        self.most_visits = MOST_VISITS * (1 if most <= MOST_INSTANCES else 4)
        self.templates: dict[str, list[Function]] = {}
        self.found: dict[int, _FoundInstances] = {}
        self.waiting: deque[tuple[Function, InstanceArguments | None]] = deque()
        self.of_rest = False  # a function is walked that stands for instances which are left out
        self.unmade: frozenset[int] | None = None  # the only ones that may get instances yet
        self.open: set[int] = set()  # templates of which one has arguments of which none is known

        for function in self._leading():
            self.templates.setdefault(function.name, []).append(function)
            self.found[function.number] = _FoundInstances()
        self.overloads: dict[str, list[Function]] = {}
        self.mentioning: list[Function] = []
        for function in unit.all_functions if self.templates else ():
            if function.name in self.templates:
                self.overloads.setdefault(function.name, []).append(function)
                if function.is_kernel and function.number < OTHER_FILE and is_specialization(function):
                    self.found[function.number] = _FoundInstances()
            if not self.templates.keys().isdisjoint(function.definition.body_words):
                self.mentioning.append(function)

    def key(self) -> tuple[object, ...]:
        """Everything that the answer depends on."""
        unit = self.unit
        named = {f.number: (f, _head(f)) for f in itertools.chain(*self.overloads.values())}
        functions = named | {f.number: (f, f.definition) for f in self.mentioning}
        return (
            self.most,
            self.top.declarations.mark,
            unit.source.path,
            unit.main,
            tuple((number, read, f.scopes, f.symbols) for number, (f, read) in sorted(functions.items())),
            tuple(file.inactive_text for file in unit.files),
            tuple(tuple(tokens.texts[lo:hi]) for tokens, lo, hi in spelled(unit)),
        )

    def run(self) -> Mapping[int, Instances]:
        self._explicit()
        self._tables()
        for function in self.mentioning:
            if not function.island.template:
                self.waiting.append((function, None))
        visits = self._visit(0)
        self._unentered(visits)
        if self.waiting:
            for found in self.found.values():
                found.leave_out("the file makes too many instances")
        self._hidden()
        self._outside()
        return {
            number: Instances(
                tuple(found.bindings.values()),
                found.why,
                tuple(found.mentions),
                found.left_out,
                tuple(found.rest.values()) if found.covered else (),
            )
            for number, found in self.found.items()
        }

    def _visit(self, visits: int) -> int:
        """Walk what is waiting. ``visits``: so many functions before."""
        while self.waiting and visits < self.most_visits:
            function, binding = self.waiting.popleft()
            visits += 1
            names = {} if binding is None else binding.names
            self.of_rest = binding is not None and binding in self.found[function.number].rest.values()
            _InstanceWalk(self, function, function_scope(self.top, function, names or None), names).run()
            self.of_rest = False
        return visits

    def _hidden(self) -> None:
        """What a function names of which instances are left out, and nothing stands for them."""
        everything = [each for functions in self.templates.values() for each in functions]
        waiting = [f for f in everything if not f.is_kernel and not self.found[f.number].covered]
        while waiting:
            checkpoint()
            for name in self.templates.keys() & waiting.pop().definition.body_words:
                for each in self.templates[name]:
                    if self.found[each.number].covered:
                        self.found[each.number].leave_out("the file makes too many instances")
                        waiting += () if each.is_kernel else (each,)

    def _unentered(self, visits: int) -> None:
        """Templates that nothing makes an instance of, for the kernels without one: the outer ones first."""
        hosts = [f for f in self.mentioning if f.island.template and not f.is_kernel]
        kernels = [f for found in self.templates.values() for f in found if f.is_kernel]
        bare = {f.number for f in (*hosts, *kernels) if not self._has_instances(f)}
        if bare.isdisjoint(f.number for f in kernels):
            return
        self.unmade = frozenset(bare)
        named = [name for f in hosts for name in self.templates.keys() & f.definition.body_words]
        for function in sorted(hosts, key=lambda f: f.name in named):
            checkpoint()
            if function.number in bare and not self._has_instances(function):
                self.waiting.append((function, None))
                visits = self._visit(visits)
        for kernel in kernels:
            if kernel.number in self.open & bare:  # what is known of the others does not hold for all
                self.found[kernel.number] = _FoundInstances(why=self.found[kernel.number].why)

    def _has_instances(self, function: Function) -> bool:
        found = self.found.get(function.number)
        return found is not None and bool(found.bindings)

    def _leading(self) -> list[Function]:
        """Kernels that are templates, and the functions that lead to them."""
        templates = [f for f in self.unit.all_functions if f.definition.island.template]
        leading = [f for f in templates if f.is_kernel and f.number < OTHER_FILE]
        if not leading:
            return []
        wanted = {f.name for f in leading}
        rest = [f for f in templates if not f.is_kernel]
        changed = True
        while changed:
            checkpoint()
            changed = False
            for function in list(rest):
                if not wanted.isdisjoint(function.definition.body_words):
                    rest.remove(function)
                    leading.append(function)
                    wanted.add(function.name)
                    changed = True
        return leading

    def _explicit(self) -> None:
        """``template __global__ void k<32>(float*);``"""
        for each in instantiations(self.unit, self.top, self.templates):
            if each.name is None:
                self._unclear(each.template, each.why)
            else:
                self.mention(each.name, self.top, each.given)

    def _outside(self) -> None:
        """Note why there may be other instances: included files and inactive regions."""
        header = self.unit.source.path.rpartition(".")[2] in ("h", "hpp", "hu", "cuh", "inl", "inc", "hxx")
        for name, functions in self.templates.items():
            checkpoint()
            for function in functions:
                found = self.found[function.number]
                if header:
                    found.why = found.why or "other files may include this one"
                elif any(name in text for file in self.unit.files for text in file.inactive_text):
                    found.why = found.why or "another configuration may make other instances"

    def _unclear(self, name: str, why: str) -> None:
        for function in self.templates.get(name, ()):
            found = self.found[function.number]
            found.why = found.why or why

    def mention(
        self,
        name: tree.Name,
        scope: Scope,
        given: Sequence[Type | None] | None,
        caller: Function | None = None,
    ) -> list[tuple[Function, InstanceArguments | None]]:
        """The instances that ``k<32>`` makes, or ``k`` with arguments of the types ``given``. ``caller``: the function
        that calls it."""
        explicit = _explicit(name)
        arguments = [] if explicit is None else [scope.argument(each) for each in explicit]
        packed = explicit is not None and any(isinstance(each, tree.Opaque) for each in explicit)
        means = self._meant(name, scope, given, caller)
        fitting: list[tuple[Function, InstanceArguments | None]] = []
        for function in means:
            checkpoint()
            bound = None if packed else bind_call(function, arguments, given or (), self.top)
            made = None if bound is None else self._made(function, bound)
            if made is not None:
                fitting.append(made)
        if means and not fitting and self.unmade is None:
            self._unclear(_last(name), "the arguments of one instance are not known")
        return fitting

    def _meant(
        self,
        name: tree.Name,
        scope: Scope,
        given: Sequence[Type | None] | None,
        caller: Function | None,
    ) -> list[Function]:
        """The templates that a name may mean; the parameters are those of ``mention``."""
        last = _last(name)
        means = [f for f in self.templates.get(last, ()) if not self._elsewhere(f, name, scope)]
        overloads = self.overloads.get(last, ())
        if caller is None or len(overloads) < 2:
            return means
        around, explicit = caller.island.enclosing, _explicit(name) is not None
        chosen = meant(overloads, name.text, given, self.top, around, explicit=explicit)
        return [f for f in means if f in chosen] if chosen else means

    def _made(
        self, function: Function, bound: tuple[Argument, ...]
    ) -> tuple[Function, InstanceArguments | None] | None:
        """The instance of a template with these arguments, or the specialization that stands in for it; None: none that
        is looked at."""
        special = self._specialization(function, bound)
        if special is not None:
            return special, None
        found = self.found[function.number]
        if self.unmade is None and any(is_open(argument) for argument in bound):
            found.why = found.why or "the arguments of one instance are not known"
        binding = self._add(function, bound)
        return None if binding is None else (function, binding)

    def _specialization(self, function: Function, bound: Sequence[Argument]) -> Function | None:
        """The kernel that stands in for an instance of a kernel template."""
        for special in self.overloads[function.name]:
            if special.number in self.found and not special.island.template:
                if is_for(special, function, bound, self.top):
                    return special
        return None

    def _elsewhere(self, function: Function, name: tree.Name, scope: Scope) -> bool:
        """Does a qualified name surely mean another function of that name?"""
        path = tuple(part for part in name.text.split("::") if part)
        if len(path) < 2:
            return False
        meaning = scope.meaning(path[:-1], (None,) * (len(path) - 1), absolute=name.text.startswith("::"))
        if isinstance(meaning, Undeclared):
            return path[-2] not in function.island.enclosing
        if not isinstance(meaning, Namespace) or not meaning.scope.own(path[-1]):
            return False
        return all(outer is not meaning.scope for outer in function_scope(self.top, function).outwards())

    def _tables(self) -> None:
        """``void (*table[])(float*) = {k<2>, k<4>};`` outside functions."""
        for table in kernel_tables(self.top, self.templates):
            for entry in table.entries:
                if entry.spelled is None or not entry.spelled.templated:
                    self._unclear(entry.name, "the arguments of one instance are not known")
                    continue
                for function, binding in self.mention(entry.spelled, self.top, None):
                    mention = Mention(binding, IN_TABLE, entry.at, (), None, table.name)
                    self.found[function.number].mentions.append(mention)

    def _add(self, function: Function, bound: tuple[Argument, ...]) -> InstanceArguments | None:
        found = self.found[function.number]
        if self.unmade is not None:
            if all(argument is None for argument in bound):
                self.open.add(function.number)
                return None
            if function.number not in self.unmade:
                return None
        key: _Values = tuple(a.n if isinstance(a, TypedConstant) and a.members is None else a for a in bound)
        if key in found.bindings:
            return found.bindings[key]
        of_rest = self.of_rest or len(found.bindings) >= self.most
        if of_rest:
            key = bound = tuple(None if isinstance(a, TypedConstant) else a for a in bound)
            covered = key in found.rest or len(found.rest) < MOST_INSTANCES
            found.leave_out(f"more than {self.most} instances", covered=covered)
            if key in found.rest or not covered:
                return None
        binding = InstanceArguments(
            tuple((p.name, a) for p, a in zip(parameters_of(function), bound) if p.name),
            ", ".join(spell_argument(argument) for argument in bound),
            made=self.unmade is None,
        )
        (found.rest if of_rest else found.bindings)[key] = binding
        if not function.is_kernel:
            self.waiting.append((function, binding))
        return None if of_rest else binding


def _last(name: tree.Name) -> str:
    return name.text.rpartition("::")[2]


def _explicit(name: tree.Name) -> list[tree.Expr] | None:
    """The template arguments that are spelled behind a name."""
    return name.arguments[-1] if name.arguments else None


def _head(function: Function) -> tuple[object, ...]:
    """What is read of a function that is named and names none itself."""
    definition = function.definition
    island = definition.island
    return tuple(definition.head.texts), island.specifiers, island.template, island.enclosing


class _InstanceWalk:
    """Walks a function body in order, with the names that it declares in scope."""

    def __init__(
        self, search: _InstanceSearch, function: Function, scope: Scope, bound: dict[str, Argument]
    ) -> None:
        self.search = search
        self.body = function.body
        self.scope = scope.child()
        self.function = function
        self.bound = bound
        self.base = 0

    def run(self) -> None:
        declare_parameters(self.function.parameters or (), self.scope)
        self._statement(self.body.statements)

    def _statement(self, node: tree.Statement) -> None:
        outer = self.scope
        if isinstance(node, (tree.Block, tree.If, tree.For)):
            self.scope = outer.child()
        held = tree.chunk_of(node, self.body.tokens.kinds)
        parsed = None if held is None else self._chunk(*held)
        for each in self._compiled(node, parsed) if isinstance(node, tree.If) else tree.inside(node):
            self._statement(each)
        self.scope = outer
        if isinstance(node, tree.Empty):
            declare_using(self.body, node, self.scope)
        elif isinstance(node, (tree.CaseLabel, tree.Label, tree.AsmStatement, tree.Bad)):
            self._not_read(node.lo, node.hi)

    def _compiled(self, node: tree.If, condition: Any) -> Sequence[tree.Statement]:
        """The branches that are compiled."""
        known = node.constexpr and isinstance(condition, tree.Expr)
        n = evaluate_value(condition, self.scope).n if known else None
        return tree.inside(node) if n is None else [node.then] if n else tree.inside(node)[1:]

    def _chunk(self, start: str, chunk: tuple[int, int]) -> Any:
        """Process the declarations and mentions of a chunk."""
        parsed = self.body.chunk(start, chunk)
        if parsed is None:
            self._not_read(*chunk)
            return None
        outer, self.base = self.base, chunk[0]
        self._parsed(parsed, chunk)
        self.base = outer
        return parsed

    def _parsed(self, parsed: Any, chunk: tuple[int, int]) -> None:
        match parsed:
            case tree.Declaration():
                self._declaration(parsed, chunk)
            case tree.ForHead():
                for part in (parsed.init, parsed.condition, parsed.step):
                    if part is not None:
                        self._parsed(part, chunk)
            case tree.ConditionWithInit():
                for part in (parsed.init, parsed.condition):
                    if part is not None:
                        self._parsed(part, chunk)
            case tree.RangeFor():
                declare_constants(parsed.declaration, self.scope)
                self._expression(parsed.range)
            case _:
                self._expression(parsed)

    def _declaration(self, parsed: tree.Declaration, chunk: tuple[int, int]) -> None:
        if declare_types(parsed, self.body, chunk, self.scope):
            return
        for declarator in parsed.declarators:
            if declarator.initializer is not None:
                self._expression(declarator.initializer)
        declare_constants(parsed, self.scope)

    def _expression(self, node: Any) -> None:
        match node:
            case tree.Launch() | tree.Call():
                self._call(node)
            case tree.Lambda():
                self._lambda(node)
            case tree.Name():
                if _last(node) in self.search.templates:
                    self._mention(node)
                for arguments in node.arguments:
                    checkpoint()
                    for argument in arguments or ():
                        self._expression(argument)
            case _:
                for child in _children(node):
                    self._expression(child)

    def _call(self, node: tree.Launch | tree.Call) -> None:
        callee = node.callee
        kinds = dispatched(callee.text, node.arguments) if isinstance(callee, tree.Name) else None
        if kinds is not None:
            self._dispatch(node, *kinds)
            return
        visitor = node.arguments[0] if node.arguments else None
        if isinstance(callee, tree.Name) and isinstance(visitor, tree.Lambda):
            calls = visited(callee.text, node.arguments, self.scope)
            for types in calls:
                self._lambda(visitor, types)
            if calls:
                return
        if isinstance(callee, tree.Name) and _last(callee) in self.search.templates:
            given = [argument_type(argument, self.scope) for argument in node.arguments]
            made = self.search.mention(callee, self.scope, given, self.function)
            self._note(callee, made, node if isinstance(node, tree.Launch) else None)
        else:
            self._expression(callee)
        for child in (*(node.configuration if isinstance(node, tree.Launch) else ()), *node.arguments):
            self._expression(child)

    def _note(
        self,
        name: tree.Name,
        made: Iterable[tuple[Function, InstanceArguments | None]],
        launch: tree.Launch | None = None,
    ) -> None:
        """Record where an instance is named."""
        tokens = None if launch is None else (self.base + launch.lo, self.base + launch.hi)
        for function, binding in made:
            self.search.found[function.number].mentions.append(
                Mention(binding, self.function.number, self.base + name.lo, tuple(self.bound.items()), tokens)
            )

    def _dispatch(self, node: tree.Launch | tree.Call, name: str, kinds: Iterable[Type]) -> None:
        """A macro that calls a lambda once for each type."""
        for kind in kinds:
            checkpoint()
            outer, bound = self.scope, self.bound
            self.scope = outer.bind({name: kind}).child()
            self.bound = {**bound, name: kind}
            for argument in node.arguments:
                self._expression(argument)
            self.scope, self.bound = outer, bound

    def _mention(self, node: tree.Name) -> None:
        given = () if _explicit(node) is None else None
        self._note(node, self.search.mention(node, self.scope, given))

    def _lambda(self, node: tree.Lambda, types: Sequence[Type] = ()) -> None:
        """``types``: of the arguments that it is called with."""
        outer, base, bound = self.scope, self.base, self.bound
        self.scope = outer.child()
        if node.parameters is not None:
            parsed = self.body.chunk("parameters", (base + node.parameters[0], base + node.parameters[1]))
            declare_parameters(parsed or (), self.scope)
            known = generic(parsed or (), types)
            self.scope.declare_all(known.values.items())
            self.bound = {**bound, **known.types}
        self._statement(self.body.block(base + node.body[0], base + node.body[1]))
        self.scope, self.base, self.bound = outer, base, bound

    def _not_read(self, lo: int, hi: int) -> None:
        for text in set(self.body.tokens.texts[lo:hi]) & self.search.templates.keys():
            self.search._unclear(text, "a statement that names it is not understood")


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, (list, tuple)):
        yield from (child for child in node if not isinstance(child, (int, str)))
        return
    for slot in getattr(node, "__slots__", ()):
        value = getattr(node, slot)
        if isinstance(value, list) or (hasattr(value, "__slots__") and not isinstance(value, (str, int))):
            yield value
