"""Runs expressions of host code: what they are worth, and what they change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from smem_lsp.interpret.frame import TooMuch
from smem_lsp.interpret.interpreter import MOST_LEVELS, Interpreter
from smem_lsp.ir.nodes import Comparison
from smem_lsp.semantics import type_of
from smem_lsp.semantics.declarations import VariableDecl, declaration_tree
from smem_lsp.semantics.entities import UNKNOWN, Functions, Template, TypedConstant, Undeclared
from smem_lsp.semantics.evaluate import evaluate, evaluate_value
from smem_lsp.semantics.function_scope import counts, parameters_of
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Record, Type, builtin, plain_type, scalar_of
from smem_lsp.source import checkpoint
from smem_lsp.source.integers import COMPARISONS
from smem_lsp.syntax import tree
from smem_lsp.syntax.host_functions import makes_parts, standard_methods
from smem_lsp.terms.symbolic import SymbolicTerm, apply, constant, named, plus
from smem_lsp.unit.host_asked import names_at
from smem_lsp.unit.host_frames import Frame
from smem_lsp.unit.host_objects import fields_of
from smem_lsp.unit.host_unfollowed import (
    is_called_in_sight,
    is_chosen,
    is_hidden_variable,
    is_object,
    only_reads,
    overlaps,
)
from smem_lsp.unit.host_values import (
    Axes,
    Extents,
    HostAddress,
    HostNumber,
    HostPath,
    HostValue,
    Items,
    KernelName,
    Kernels,
    Members,
    Object,
    Variable,
    any_of,
    constant_extents,
    number,
    term_of,
)
from smem_lsp.unit.kernel_tables import KernelTable

_MOST_TEXT = 60  # characters of a symbol
ONE = constant(1)
_HALVES = ("first", "second")


class Effort(NamedTuple):
    """How far the walk from one function goes. ``steps``: expressions that it runs; ``paths``: on which other values
    are kept apart; ``calls``: that it follows into one another."""

    steps: int
    paths: int
    calls: int


class Expressions(Interpreter[HostPath, Variable]):
    """Evaluates the expressions of one frame. Subclasses run calls and launches."""

    def __init__(self, kernels: frozenset[str], tables: Mapping[str, KernelTable], effort: Effort) -> None:
        super().__init__()
        self.kernels = kernels
        self.tables = tables
        self.effort = effort
        self.frame: Frame
        self.serial = 0
        self.steps = 0

    def fresh(self) -> int:
        self.serial += 1
        return self.serial

    # ---- values --------------------------------------------------------------------------------------------------

    def value(self, path: HostPath, expr: tree.Expr) -> HostValue | None:
        """Run an expression: its value; None if it is none that is followed. Raises TooMuch."""
        checkpoint()
        self.steps += 1
        if self.steps > self.effort.steps or self.level >= MOST_LEVELS:
            raise TooMuch
        self.level += 1
        try:
            return self._value(path, expr)
        finally:
            self.level -= 1

    def _value(self, path: HostPath, expr: tree.Expr) -> HostValue | None:
        match expr:
            case tree.Number():
                n = evaluate(expr, self.frame.scope)
                return None if n is None else number(n)
            case tree.Name():
                return self._name(path, expr)
            case tree.Binary():
                return self._binary(path, expr)
            case tree.Unary() | tree.PostfixStep():
                return self._unary(path, expr)
            case tree.Assign():
                return self._assign(path, expr)
            case tree.Ternary():
                return self._ternary(path, expr)
            case tree.Call():
                return self.call(path, expr)
            case tree.Launch():
                self.launch(path, expr)
                return None
            case tree.Member():
                return self._member(path, expr)
            case tree.Index():
                return self._index(path, expr)
            case tree.Cast():
                return self._cast(path, expr)
            case tree.SizeOf():
                n = evaluate(expr, self.scope(path, expr))
                return HostNumber(named(self.frame.spelled(expr))) if n is None else number(n)
            case tree.Braces():
                values = tuple(self.value(path, item) for item in expr.items)
                return None if any(map(self.designator, expr.items)) else Items(values)
            case tree.Lambda():
                return self.closure(path, expr)
            case tree.Opaque():
                for operand in expr.operands:
                    self.value(path, operand)
                if expr.kind == "new" and self._constructs(expr):
                    self.user_code(path, expr)
                path.dead = path.dead or expr.kind == "throw"
        return None

    def _constructs(self, expr: tree.Opaque) -> bool:
        """May ``new T(n)`` give ``n`` to a constructor? ``new int(n)`` and ``new T[n]`` do not."""
        kinds, texts = self.frame.body.tokens.kinds, self.frame.body.tokens.texts
        at = self.frame.base + expr.lo
        end = next((i for i in range(at, len(kinds)) if kinds[i] in ("LP", "LC", "LB", "SEMI")), at)
        return kinds[end] in ("LP", "LC") and kinds[end - 1] != "TYPE" and builtin(texts[end - 1]) is None

    def designator(self, item: tree.Expr) -> str | None:
        """``x`` of the item ``.x = 1`` of a list."""
        kinds, texts = self.frame.body.tokens.kinds, self.frame.body.tokens.texts
        at = self.frame.base + item.lo - 1
        while kinds[at] == "LP":
            at -= 1
        at -= kinds[at] == "EQ"
        return texts[at] if kinds[at] == "NAME" and kinds[at - 1] == "DOT" else None

    @abstractmethod
    def call(self, path: HostPath, expr: tree.Call) -> HostValue | None: ...

    @abstractmethod
    def launch(self, path: HostPath, expr: tree.Launch) -> None: ...

    @abstractmethod
    def decide(self, path: HostPath, condition: tree.Expr) -> bool | None:
        """Is a condition true? It has been run already."""

    @abstractmethod
    def closure(self, path: HostPath, expr: tree.Lambda) -> HostValue | None: ...

    def term(self, path: HostPath, expr: tree.Expr) -> SymbolicTerm | None:
        """The number of an expression; a new symbol if nothing is known of it but that it is one."""
        return term_of(self.full(path, expr))

    def full(self, path: HostPath, expr: tree.Expr) -> HostValue | None:
        """Run an expression: its value, where nothing is known of it but that it is a number a new symbol."""
        value = self.value(path, expr)
        return self.opaque(path, expr) if value is None else value

    def _symbol(self, path: HostPath, expr: tree.Expr) -> SymbolicTerm | None:
        return term_of(self.opaque(path, expr))

    def opaque(self, path: HostPath, expr: tree.Expr) -> HostNumber | None:
        """A number that is not followed, named by its text; None: it is no integer of 32 bits or more."""
        if isinstance(expr, (tree.Number, tree.String, tree.Lambda, tree.Launch, tree.Braces)):
            return None
        text = self.frame.spelled(expr) if expr.hi - expr.lo <= _MOST_TEXT else None
        if text is None or len(text) > _MOST_TEXT:
            return None
        kind = evaluate_value(expr, self.scope(path, expr)).type
        if _is_no_count(kind):
            return None
        made = path.symbol(text, self.fresh(), doubtful=kind is None)
        if not is_chosen(expr, self.frame, path):
            path.unfollowed |= made.term.symbols
        return made

    def scope(self, path: HostPath, expr: tree.Expr) -> Scope:
        """The scope of an expression, with the numbers that its variables have on this path."""
        frame = self.frame
        texts = frame.function.definition.body.texts
        inner: Scope | None = None
        for name in dict.fromkeys(texts[slice(*frame.at(expr))]):
            variable, _ = frame.find(name)
            if variable is None:
                continue
            inner = inner or frame.scope.child()
            found = path.read(variable, (), name)
            n = found.term.number if isinstance(found, HostNumber) else None
            if n is not None or variable.type is not None:
                inner.declare(name, TypedConstant(variable.type, n))
            else:
                inner.declare(name, UNKNOWN)
        return inner or frame.scope

    def _name(self, path: HostPath, expr: tree.Name) -> HostValue | None:
        if "::" not in expr.text and not expr.arguments:
            variable, local = self.frame.find(expr.text)
            if variable is not None:
                return path.read(variable, (), expr.text)
            if local:
                return None
        n = evaluate(expr, self.frame.scope)
        if n is not None:
            return number(n)
        given = self._of_template(path, expr)
        if given is not None:
            return given
        table = self.tables.get(expr.text)
        return self._outside(path, expr) if table is None else table.value

    def _of_template(self, path: HostPath, expr: tree.Name) -> HostNumber | None:
        """The number of a template parameter of the function, or of a member of one that is a type; None: another
        name."""
        if self.frame.scope.bound_to(expr.text) == (None,) and self._is_number(expr.text):
            made = path.symbol(expr.text, self.frame.version)
            if self.frame.depth:  # somebody in sight gives it
                path.unfollowed |= made.term.symbols
            return made
        owner, member, _ = expr.text.partition("::")
        if member and self._is_type(owner) and not any(expr.arguments):
            return path.symbol(expr.text, self.frame.version, doubtful=True)
        return None

    def _outside(self, path: HostPath, expr: tree.Name) -> HostValue | None:
        """The value of what is declared outside functions, if anywhere."""
        meaning = self.frame.scope.resolve(expr)
        last = _last(expr)
        if isinstance(meaning, Functions) and meaning.overloads:
            last = meaning.overloads[0][0].name
        if last in self.kernels:
            return self.kernel_name(path, last, expr)
        if isinstance(meaning, (Functions, Template)):
            self.mentioned(last)
            return None
        if meaning is None or isinstance(meaning, TypedConstant):
            extents = self._constant_dim3(expr.text)
            if extents is not None:
                return extents
        if isinstance(meaning, TypedConstant):
            return self._variable_outside(path, expr, meaning)
        self.mentioned(last)
        return path.symbol(expr.text, path.epoch, doubtful=True) if isinstance(meaning, Undeclared) else None

    def _variable_outside(self, path: HostPath, expr: tree.Name, meaning: TypedConstant) -> HostNumber | None:
        """The number of a variable that is not local; None: it may hold no integer of 32 bits or more."""
        if _is_no_count(meaning.type):
            return None
        made = path.symbol(expr.text, path.epoch, doubtful=meaning.type is None)
        if is_hidden_variable(expr, self.frame):
            path.unfollowed |= made.term.symbols
        return made

    def _constant_dim3(self, name: str) -> Extents | None:
        """``const dim3 block(32, 4)`` outside functions."""
        *path, name = [part for part in name.split("::") if part]
        scopes = [(each, each.inside(path)) for each in self.frame.scope.outwards()]
        found = [
            (decl, inner)
            for scope, inner in scopes
            if not path or inner is not scope
            for decl, _ in inner.own(name)
            if isinstance(decl, VariableDecl)
        ]
        if len(found) != 1:
            return None
        decl, scope = found[0]
        parsed = declaration_tree(decl.source, decl.range)
        if parsed is None or "dim3" not in parsed.words or not {"const", "constexpr"} & set(parsed.words):
            return None
        made = next((each.initializer for each in parsed.declarators if each.name == name), None)
        return None if made is None else constant_extents(made, scope)

    def _is_number(self, name: str) -> bool:
        """Is it a template parameter of the function that is an integer of 32 bits or more?"""
        return any(each.name == name and counts(each) for each in parameters_of(self.frame.function))

    def _is_type(self, name: str) -> bool:
        """Is it a template parameter of the function that is a type, which nobody in sight gives?"""
        own = any(each.name == name and each.kind == "type" for each in parameters_of(self.frame.function))
        return own and self.frame.scope.bound_to(name) == (None,)

    def kernel_name(self, path: HostPath, name: str, expr: tree.Name) -> KernelName:
        """The kernel ``name``, where it is spelled."""
        frame = self.frame
        explicit = expr.arguments[-1] if expr.arguments else None
        terms = tuple(self._template_argument(path, each) for each in explicit or ())
        at = frame.base + expr.lo
        return KernelName(name, frame.number, at, frame.names, expr.text, explicit is not None, terms)

    def _template_argument(self, path: HostPath, expr: tree.Expr) -> SymbolicTerm | None:
        """A number between angle brackets, or a type that nobody in sight gives."""
        if isinstance(expr, tree.TypeId) and len(expr.names) == 1 and not (expr.pointers or expr.dims):
            name = expr.names[0].text
            return named(name, self.frame.version) if self._is_type(name) and expr.words == [name] else None
        if not isinstance(expr, (tree.Name, tree.Binary, tree.Number)):
            return None
        return term_of(self.value(path.copy(), expr))

    @abstractmethod
    def mentioned(self, name: str) -> None:
        """A function is named, but not called."""

    def variables_in(self, expr: tree.Expr) -> Iterator[Variable]:
        """The local variables that an expression names."""
        for node in tree.nodes_of(expr):
            variable = self.frame.find(node.text)[0] if isinstance(node, tree.Name) else None
            if variable is not None:
                yield variable

    # ---- operators -----------------------------------------------------------------------------------------------

    def user_code(self, path: HostPath, *exprs: tree.Expr | None) -> None:
        """A function in sight that is not followed, an operator or a constructor, gets these: it may change what they
        name, now or later."""
        for each in exprs:
            for variable in self.variables_in(each) if each is not None else ():
                if not variable.fixed:
                    self.hand_out(path, variable)
        self.disturb(path)

    def _binary(self, path: HostPath, expr: tree.Binary) -> HostValue | None:
        if is_object(expr, self.frame):
            self.value(path, expr.left)
            self.value(path, expr.right)
            self.user_code(path, expr)
            return None
        if expr.operator in ("&&", "||"):
            self.value(path, expr.left)
            self.perhaps(path, expr.right)
            return None
        left = self.value(path, expr.left)
        right = self.value(path, expr.right)
        if expr.operator == ",":
            return right
        if expr.operator == ">>":
            self._argument(path, expr.right)
        if expr.operator in COMPARISONS:
            return None
        a, b = self._operand(path, expr.left, left), self._operand(path, expr.right, right)
        if a is None or b is None:
            return None
        if a.number is not None and b.number is not None:
            typed = evaluate_value(expr, self.scope(path, expr))
            if typed.n is not None:
                return HostNumber(constant(typed.n), self._addends(expr, left, right, a, b))
            kind = scalar_of(plain_type(typed.type))
            if kind is not None and kind.kind != "int":
                return None
        made = apply(expr.operator, a, b)
        return None if made is None else HostNumber(made, self._addends(expr, left, right, a, b))

    @staticmethod
    def _addends(
        expr: tree.Binary, left: HostValue | None, right: HostValue | None, a: SymbolicTerm, b: SymbolicTerm
    ) -> tuple[int | None, ...]:
        """Of a sum, and of a sum that is multiplied by a number."""
        if expr.operator == "+":
            summed = isinstance(expr.left, tree.Binary) and expr.left.operator == "+"
            before = left.addends if summed and isinstance(left, HostNumber) else ()
            return (*(before or (a.number,)), b.number)
        for side, factor in ((left, b), (right, a)):
            if (
                expr.operator == "*"
                and isinstance(side, HostNumber)
                and side.addends
                and factor.number is not None
            ):
                return tuple(None if each is None else each * factor.number for each in side.addends)
        return ()

    def _operand(self, path: HostPath, expr: tree.Expr, value: HostValue | None) -> SymbolicTerm | None:
        if isinstance(value, HostNumber):
            return value.term
        if value is not None or isinstance(expr, (tree.Assign, tree.Launch)):
            return None
        return self._symbol(path, expr)

    def _unary(self, path: HostPath, expr: tree.Unary | tree.PostfixStep) -> HostValue | None:
        if expr.operator != "&" and is_object(expr.operand, self.frame):
            self.value(path, expr.operand)
            self.user_code(path, expr.operand)
            return None
        if expr.operator in ("++", "--"):
            before = self.value(path, expr.operand)
            term = term_of(before)
            after = None if term is None else apply(expr.operator[0], term, ONE)
            self.store(path, expr.operand, None if after is None else HostNumber(after))
            return (
                before if isinstance(expr, tree.PostfixStep) else None if after is None else HostNumber(after)
            )
        if expr.operator == "&" and isinstance(expr.operand, tree.Name):
            variable, _ = self.frame.find(expr.operand.text)
            if variable is not None:
                if self._changed_at(expr.operand):
                    self.hand_out(path, variable)
                return HostAddress(variable.serial)
        elif expr.operator == "&":
            self._argument(path, expr.operand)
        pointed = self._pointed_by(expr)
        if pointed is not None:
            return path.read(pointed, (), pointed.name)
        value = self.value(path, expr.operand)
        if expr.operator in ("&", "*"):
            return value if isinstance(value, (KernelName, Kernels)) else None
        term = term_of(value)
        if expr.operator == "+":
            return value
        if expr.operator == "-" and term is not None:
            n = evaluate(expr, self.scope(path, expr)) if term.number is not None else None
            made = constant(n) if n is not None else apply("-", constant(0), term)
            return None if made is None else HostNumber(made)
        if term is not None and term.number is not None:
            n = evaluate(expr, self.scope(path, expr))
            return None if n is None else number(n)
        return None

    def _pointed_by(self, expr: tree.Expr) -> Variable | None:
        """What ``*p`` means, where ``p`` is a parameter that is followed."""
        if not (
            isinstance(expr, tree.Unary) and expr.operator == "*" and isinstance(expr.operand, tree.Name)
        ):
            return None
        variable, _ = self.frame.find(expr.operand.text)
        return variable if variable is not None and variable.pointed else None

    def _assign(self, path: HostPath, expr: tree.Assign) -> HostValue | None:
        value = self.value(path, expr.value)
        tied = expr.target if isinstance(expr.target, tree.Call) else None
        if tied is not None and isinstance(tied.callee, tree.Name) and _last(tied.callee) == "tie":
            values = parts_of(value, len(tied.arguments))
            for target, each in zip(tied.arguments, values):
                self.store(path, target, each)
            return None
        if expr.operator != "=":
            before = term_of(self.value(path, expr.target))
            after = self._operand(path, expr.value, value)
            made = None if before is None or after is None else apply(expr.operator[:-1], before, after)
            value = None if made is None else HostNumber(made)
        elif value is None:
            value = self.opaque(path, expr.value)
        if is_object(expr.target, self.frame) and not isinstance(value, (HostAddress, Object)):
            self.user_code(path, expr.target, expr.value)
            return None
        self.store(path, expr.target, value)
        return value

    def _ternary(self, path: HostPath, expr: tree.Ternary) -> HostValue | None:
        chosen = path.chosen.get(self.key(expr))
        self.value(path, expr.condition)
        taken = chosen if isinstance(chosen, bool) else self.decide(path, expr.condition)
        if taken is None:
            self.perhaps(path, expr.yes)
            self.perhaps(path, expr.no)
            return None
        return self.value(path, expr.yes if taken else expr.no)

    def key(self, expr: tree.Expr) -> tuple[int, int, int, int]:
        frame = self.frame
        return frame.number, frame.depth, *frame.at(expr)

    def perhaps(self, path: HostPath, expr: tree.Expr) -> None:
        """Run an expression that may not be reached."""
        before = path.copy()
        self.value(path, expr)
        self.forget(path, *self.frame.at(expr))
        path.dead, path.facts = before.dead, before.facts

    def _member(self, path: HostPath, expr: tree.Member) -> HostValue | None:
        root, members = member_path(expr)
        variable = None if root is None else self.frame.find(root)[0]
        listed = variable is not None and isinstance(path.values.get((variable.serial, ())), Items)
        if variable is not None and "?" not in members and not listed:
            n = evaluate(expr, self.scope(path, expr)) if variable.fields else None
            if n is not None and members[0] not in {field.name for field in variable.fields}:
                return number(n)  # a static member
            if len(members) == 1 or not variable.is_dim3:
                return path.read(variable, members, self.frame.spelled(expr))
            return None
        base = self.value(path, expr.base)
        if isinstance(base, Object):
            return dict(base.members).get(expr.name)
        if isinstance(base, Items) and expr.name in _HALVES and len(base.values) == len(_HALVES):
            return base.values[_HALVES.index(expr.name)]
        if isinstance(base, Extents) and expr.name in ("x", "y", "z"):
            axis = base.axes["xyz".index(expr.name)]
            return None if axis is None else HostNumber(axis)
        n = evaluate(expr, self.scope(path, expr))
        if n is not None:
            return number(n)
        kind = scalar_of(plain_type(evaluate_value(expr, self.scope(path, expr)).type))
        if kind is not None and (kind.kind != "int" or kind.size < 4):
            return None
        text = self.frame.spelled(expr)
        plain = "(" not in text and "[" not in text
        return path.symbol(text, path.epoch, doubtful=kind is None) if plain else None

    def _index(self, path: HostPath, expr: tree.Index) -> HostValue | None:
        if is_object(expr.base, self.frame):
            self.value(path, expr.base)
            self.value(path, expr.index)
            self.user_code(path, expr)
            return None
        self.value(path, expr.index)
        base = self.value(path, expr.base)
        if self.key(expr) in path.chosen:
            chosen = path.chosen[self.key(expr)]
            return None if isinstance(chosen, bool) else chosen
        at = evaluate(expr.index, self.scope(path, expr.index))
        if isinstance(base, Items) and at is not None and 0 <= at < len(base.values):
            return base.values[at]
        return any_of(self.elements(path, base, expr)) if isinstance(base, Items) and at is None else None

    def elements(self, path: HostPath, array: Items, expr: tree.Index) -> Sequence[HostValue | None]:
        """The elements that an index may choose, as far as what is known of it tells."""
        index = self.term(path.copy(), expr.index)
        if index is None:
            return array.values
        left: list[HostValue | None] = []
        shift = next((count for product, count in index.products if not product), 0)
        symbol = plus(index, constant(-shift))
        for at, value in enumerate(array.values):
            probe = path.copy()
            if symbol is not None:
                probe.learn(Comparison(symbol, "==", constant(at - shift)))
            if not probe.dead:
                left.append(value)
        return left

    def _cast(self, path: HostPath, expr: tree.Cast) -> HostValue | None:
        if "dim3" in expr.type.words and not expr.type.pointers:
            items = expr.operand.items if isinstance(expr.operand, tree.Braces) else [expr.operand]
            return self.extents(path, items)
        value = self.value(path, expr.operand)
        if is_object(expr.operand, self.frame):
            self.user_code(path, expr.operand)  # a conversion
        if is_object(expr, self.frame) and not fields_of(type_of.type_id(expr.type, self.frame.scope)):
            self.user_code(path, expr.operand)  # a constructor
        if isinstance(value, Items) and expr.type.names and makes_parts(_last(expr.type.names[-1])):
            return value
        if isinstance(value, Items) and len(value.values) == 1:
            value = value.values[0]
        if isinstance(value, (KernelName, Kernels, HostAddress)):
            return value
        kind = scalar_of(plain_type(type_of.type_id(expr.type, self.frame.scope)))
        if kind is None or kind.kind != "int":
            return None
        n = evaluate(expr, self.scope(path, expr))
        if n is not None:
            return number(n)
        if isinstance(value, HostNumber) and value.term.number is None and kind.size >= 4:
            return value
        return None

    def extents(self, path: HostPath, items: Sequence[tree.Expr]) -> Extents | None:
        """``dim3(x, y)``."""
        if any(map(self.designator, items)):
            return None
        if len(items) == 1:
            whole = self.value(path, items[0])
            if isinstance(whole, Extents):
                return whole
            return self.as_extents(path, items[0], whole)
        if len(items) > 3:
            return None
        axes: list[SymbolicTerm | None] = [in_range(self.term(path, item)) for item in items]
        x, y, z = (*axes, ONE, ONE, ONE)[:3]
        return Extents((x, y, z))

    def as_extents(self, path: HostPath, expr: tree.Expr, value: HostValue | None) -> Extents | None:
        """What a value is as a ``dim3``."""
        if isinstance(value, Extents):
            return value
        if isinstance(value, Items) and len(value.values) <= 3:
            terms = [
                term_of(each) if each is not None else self._symbol(path, item)
                for each, item in zip(value.values, expr.items if isinstance(expr, tree.Braces) else ())
            ]
            x, y, z = (*terms, ONE, ONE, ONE)[:3]
            return Extents((x, y, z))
        found = value if value is not None else self.opaque(path, expr)
        return extents_of(found) if isinstance(found, HostNumber) else None

    def dims(self, path: HostPath, expr: tree.Expr) -> Axes:
        """The extents that a block or grid has."""
        found = self.as_extents(path, expr, self.value(path, expr))
        return (None, None, None) if found is None else found.axes

    # ---- changes -------------------------------------------------------------------------------------------------

    def store(self, path: HostPath, target: tree.Expr, value: HostValue | None) -> None:
        """Assign to ``target``."""
        root, members = member_path(target)
        variable = self._pointed_by(target) if root is None else self.frame.find(root)[0]
        if isinstance(target, tree.Index) and is_object(target.base, self.frame):
            self.user_code(path, target)
        elif variable is None:
            if root is None:
                self.value(path, target)
            if root is None and not (isinstance(target, tree.Unary) and target.operator == "*"):
                self.user_code(path, target)  # `(a ? b : c) = 1`, `f(n) = 1`, `a.*p = 1`
            self.disturb(path)
        elif "?" in members or (members and overlaps(variable.type)):
            self.lose(path, variable)
            path.lost |= {variable.serial}
        else:
            self.keep(path, variable, members, value)

    def keep(self, path: HostPath, variable: Variable, members: Members, value: HostValue | None) -> None:
        """Store a value as far as the type of the variable holds it."""
        if variable.shared or variable.serial in path.shared:
            self.disturb(path)
        if not members and isinstance(value, HostNumber) and isinstance(plain_type(variable.type), Record):
            value = None  # a constructor or an operator makes something of it
        if not members:
            scalar = variable.scalar
            if variable.is_dim3:
                if isinstance(value, HostNumber) and not value.doubtful:
                    value = Extents((value.term, ONE, ONE))
                value = value if isinstance(value, Extents) else None
            elif scalar is not None:
                n = value.term.number if isinstance(value, HostNumber) else None
                if scalar.kind == "bool" and n is not None:
                    value = HostNumber(constant(int(n != 0)))
                elif scalar.kind != "int" or not isinstance(value, HostNumber):
                    value = None
                elif n is not None:
                    n = fitting(n, scalar.size, scalar.signed)
                    value = None if n is None else HostNumber(constant(n), value.addends)
                elif scalar.size < 4:
                    value = None
                elif value.doubtful:
                    value = HostNumber(value.term, value.addends)
        path.store(variable, members, value, self.fresh())

    def lose(self, path: HostPath, variable: Variable) -> None:
        """Its value is not known any more."""
        path.store(variable, (), None, self.fresh())

    def share(self, path: HostPath, variable: Variable) -> None:
        """Something that is not followed may change it from now on."""
        if not variable.fixed:
            self.lose(path, variable)
            path.shared |= {variable.serial}
            path.epoch = self.fresh()

    def hand_out(self, path: HostPath, variable: Variable) -> None:
        """Code in sight that is not followed may change it from now on: nobody chooses what it is."""
        self.share(path, variable)
        path.lost |= {variable.serial}

    def disturb(self, path: HostPath, given: Sequence[tree.Expr] = ()) -> None:
        """Something that is not followed may have changed what is shared, or end the path for what it is ``given`` or
        what has led to it."""
        path.epoch = self.fresh()
        frame = self.frame
        for lo, hi in (*frame.conditions, *map(frame.at, given)):
            path.asked |= names_at(frame, lo, hi)

    def forget(self, path: HostPath, lo: int, hi: int) -> None:
        """Lose the values of all variables that the tokens ``[lo, hi)`` may change."""
        for name in self.frame.traits.assigned(lo, hi):
            variable, _ = self.frame.find(name)
            if variable is not None and not variable.fixed:
                self.lose(path, variable)
                path.lost |= {variable.serial}
        self.disturb(path)

    def _changed_at(self, name: tree.Name) -> bool:
        return self.frame.base + name.lo in self.frame.traits.changed.get(name.text, ())

    def _argument(self, path: HostPath, expr: tree.Expr) -> None:
        """A function that is not followed gets ``expr``."""
        while isinstance(expr, (tree.Member, tree.Index)):
            expr = expr.base
        if isinstance(expr, tree.Name) and self._changed_at(expr):
            variable, _ = self.frame.find(expr.text)
            if variable is not None:
                self.share(path, variable)

    def arguments(self, path: HostPath, exprs: Sequence[tree.Expr]) -> list[HostValue | None]:
        """Run the arguments of a call that is not followed."""
        values = [self.value(path, expr) for expr in exprs]
        for expr in exprs:
            self._argument(path, expr)
        return values

    def given_away(self, path: HostPath, exprs: Sequence[tree.Expr], *, chosen: bool = True) -> None:
        """A function out of sight got these: it may make of them what it likes. Unless it is ``chosen``, what it makes
        follows from what it got."""
        for expr in exprs:
            if isinstance(expr, tree.Unary) and expr.operator == "&":
                expr = expr.operand
            while isinstance(expr, (tree.Member, tree.Index)):
                expr = expr.base
            variable = self.frame.find(expr.text)[0] if isinstance(expr, tree.Name) else None
            if variable is not None:
                if chosen:
                    path.lost -= {variable.serial}
                    path.given |= {variable.serial}
                elif variable.serial in path.shared or variable.shared:
                    path.lost |= {variable.serial}

    def method(self, path: HostPath, callee: tree.Member, expr: tree.Call) -> HostValue | None:
        """``object.f(...)`` that is not followed."""
        self.arguments(path, expr.arguments)
        n = evaluate(expr, self.scope(path, expr))
        if n is not None:
            return number(n)
        if only_reads(expr, self.frame):
            text = self.frame.spelled(expr)
            scalar = scalar_of(plain_type(evaluate_value(expr, self.scope(path, expr)).type))
            fits = scalar is None or (scalar.kind == "int" and scalar.size >= 4)
            if not fits or len(text) > _MOST_TEXT:
                return None
            made = path.symbol(text, path.epoch)
            if not is_chosen(expr, self.frame, path):
                path.unfollowed |= made.term.symbols
            return made
        root, _ = member_path(callee.base)
        variable = None if root is None else self.frame.find(root)[0]
        if variable is not None and not variable.fixed:
            self.lose(path, variable)
        if not is_called_in_sight(expr, self.frame, path):
            chosen = any(is_chosen(each, self.frame, path) for each in expr.arguments)
            self.given_away(path, expr.arguments)
            self.given_away(path, (callee.base,), chosen=chosen or callee.name not in standard_methods())
        self.disturb(path, expr.arguments)
        return None


def extents_of(size: HostNumber) -> Extents | None:
    """The extents that a number makes. Where its type is not known, it may be a dim3: of a member of a type that the
    kernel gets, too, it tells the kernel (``in_kernel_words``)."""
    if not size.doubtful:
        return Extents((in_range(size.term), ONE, ONE))
    symbol = size.term.symbol
    return None if symbol is None or "::" not in symbol.name else Extents((size.term, None, None))


def in_range(term: SymbolicTerm | None) -> SymbolicTerm | None:
    """The number that an ``unsigned`` of a ``dim3`` begins as; one that is negative stays so, to be told."""
    n = None if term is None else term.number
    return term if n is None or n < 1 << 32 else constant(n & 0xFFFFFFFF)


def _is_no_count(kind: Type | None) -> bool:
    """Is it surely no type of integers of 32 bits or more?"""
    scalar = scalar_of(plain_type(kind))
    return kind is not None and (scalar is None or scalar.kind != "int" or scalar.size < 4)


def _last(name: tree.Name) -> str:
    return name.text.rpartition("::")[2]


def parts_of(value: HostValue | None, count: int) -> Sequence[HostValue | None]:
    """The parts of an object or a tuple, as many as are named."""
    parts: Sequence[HostValue | None] = ()
    if isinstance(value, Object):
        parts = [each for _, each in value.members]
    elif isinstance(value, Items):
        parts = value.values
    return parts if len(parts) == count else [None] * count


def member_path(target: tree.Expr) -> tuple[str | None, Members]:
    """``config.gridDim.x`` -> ("config", ("gridDim", "x")); "?" for what is not followed."""
    members: list[str] = []
    while isinstance(target, (tree.Member, tree.Index)):
        if isinstance(target, tree.Member):
            members.append(target.name if target.operator == "." else "*")
        else:
            members.append(target.index.text if isinstance(target.index, tree.Number) else "?")
        target = target.base
    simple = isinstance(target, tree.Name) and "::" not in target.text and not target.arguments
    simple = simple and "*" not in members
    return (target.text if simple and isinstance(target, tree.Name) else None), tuple(reversed(members))


def fitting(n: int, size: int, signed: bool) -> int | None:
    """``n`` in an integer type."""
    bits = 8 * size
    n &= (1 << bits) - 1
    return n - (1 << bits) if signed and n >> (bits - 1) else n
