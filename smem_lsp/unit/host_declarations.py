"""Declarations of host code: what a variable is, and what it begins as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from smem_lsp.semantics import types
from smem_lsp.semantics.arithmetic import converted
from smem_lsp.semantics.evaluate import evaluate, evaluate_value
from smem_lsp.semantics.local_declarations import declare_constants, declare_types
from smem_lsp.semantics.tuples import may_be_tuple
from smem_lsp.semantics.types import LONG, Array, Record, Type, plain_type, scalar_of
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.targets.dialects import CUDA
from smem_lsp.unit.host_conditions import Conditions
from smem_lsp.unit.host_expressions import ONE, Effort, parts_of
from smem_lsp.unit.host_objects import HostField, element_fields, fields_of, is_list, listed
from smem_lsp.unit.host_unfollowed import is_chosen, is_made, is_open
from smem_lsp.unit.host_values import (
    ZERO,
    Extents,
    HostAddress,
    HostNumber,
    HostPath,
    HostValue,
    Items,
    KernelName,
    Kernels,
    Object,
    Variable,
    number,
)
from smem_lsp.unit.kernel_tables import KernelTable

_PARTED = (Array, Record, types.Sequence)
_MEMBERS_OF_CONFIG = ("gridDim", "blockDim", "dynamicSmemBytes", "stream", "attrs", "numAttrs")


class Declarations(Conditions):
    """Runs the declarations of one frame. ``variables``: all that were declared, by serial number."""

    def __init__(self, kernels: frozenset[str], tables: Mapping[str, KernelTable], effort: Effort) -> None:
        super().__init__(kernels, tables, effort)
        self.variables: dict[int, Variable] = {}

    def declaration(self, paths: list[HostPath], parsed: tree.Declaration, span: tuple[int, int]) -> None:
        frame = self.frame
        if declare_types(parsed, frame.body, span, frame.scope):
            return
        for declarator in parsed.declarators:
            checkpoint()
            given = [self._initial(path, declarator) for path in paths]
            alone = tree.Declaration(
                parsed.lo, parsed.hi, parsed.words, [declarator], parsed.declarators_at, parsed.names
            )
            declare_constants(alone, frame.scope)
            if not declarator.name:
                self._declare_parts(paths, parsed, declarator, given)
                continue
            if self._alias(paths, parsed, declarator):
                continue
            variable = self.declare(parsed, declarator, given)
            for path, value in zip(paths, given):
                made = declarator.initializer
                variable.chosen = made is not None and is_chosen(made, self.frame, path)
                variable.open = (
                    not is_made(variable.type) and not variable.fields
                    if made is None
                    else is_open(made, self.frame, path)
                )
                self._begin(path, parsed, declarator, variable, value)

    def _declare_parts(
        self,
        paths: Sequence[HostPath],
        parsed: tree.Declaration,
        declarator: tree.Declarator,
        given: Sequence[HostValue | None],
    ) -> None:
        """``auto [x, y] = ...``"""
        names = self._parts(declarator)
        follow = self._copies(parsed, declarator, names)
        made = declarator.initializer
        kind = None if made is None else evaluate_value(made, self.frame.scope).type
        split = [self._named_parts(value, len(names), kind) for value in given]
        if not follow:
            for path in paths:  # what they are other names of
                self.user_code(path, made)
        for position, name in enumerate(names):
            if not follow:
                self.frame.blocks[-1][name] = None
                continue
            part = replace(declarator, name=name, pointers=[], initializer=None)
            values = [each[position] for each in split]
            variable = self.declare(parsed, part, values)
            for path, value in zip(paths, values):
                path.versions[variable.serial] = self.fresh()
                self._take(path, variable, value)

    def _parts(self, declarator: tree.Declarator) -> list[str]:
        """The names of ``auto [x, y]``."""
        tokens, base = self.frame.body.tokens, self.frame.base
        places = range(base + declarator.lo, base + declarator.hi)
        return [tokens.texts[at] for at in places if tokens.kinds[at] == "NAME"]

    def _copies(self, parsed: tree.Declaration, declarator: tree.Declarator, names: Sequence[str]) -> bool:
        """Are these names as good as copies of what they are declared with?"""
        changed = any(name in self.frame.traits.changed for name in names)
        return not declarator.pointers or "const" in parsed.words or not changed

    def _named_parts(
        self, value: HostValue | None, count: int, kind: Type | None
    ) -> Sequence[HostValue | None]:
        """What the names of ``auto [x, y]`` mean, where ``value`` is of this type."""
        get = isinstance(value, Object) and may_be_tuple(kind, self.frame.scope)
        return parts_of(None if get else value, count)

    def _take(self, path: HostPath, variable: Variable, value: HostValue | None) -> None:
        """Let a variable be a copy of a value."""
        if isinstance(value, Object) and variable.fields:
            self.keep_members(path, variable, dict(value.members))
        else:
            self.keep(path, variable, (), value)

    def bind_element(self, path: HostPath, parsed: tree.Declaration, value: HostValue | None) -> bool:
        """Let ``auto e`` or ``auto& [x, y]``, which is declared, be an element of a list; False: it is not followed."""
        declarator = parsed.declarators[0]
        names = [declarator.name] if declarator.name else self._parts(declarator)
        values = [value] if declarator.name else self._named_parts(value, len(names), None)
        if not self._copies(parsed, declarator, names):
            return False
        for name, each in zip(names, values):
            variable, _ = self.frame.find(name)
            if variable is None:
                return False
            variable.shared = False
            if isinstance(each, Object):
                variable.fields = each.fields
            self._take(path, variable, each)
        return True

    def _initial(self, path: HostPath, declarator: tree.Declarator) -> HostValue | None:
        made = declarator.initializer
        if made is None:
            return None
        if isinstance(made, tree.Braces) and len(made.items) == 1 and not declarator.dims:
            made = made.items[0]
        return self.full(path, made)

    def _alias(self, paths: list[HostPath], parsed: tree.Declaration, declarator: tree.Declarator) -> bool:
        """``int& r = n``: another name of a variable."""
        made = declarator.initializer
        if isinstance(made, tree.Braces) and len(made.items) == 1:
            made = made.items[0]
        if declarator.pointers != ["&"] or not isinstance(made, tree.Name):
            return False
        variable, _ = self.frame.find(made.text)
        if variable is None:
            return False
        self.frame.blocks[-1][declarator.name] = variable
        assigned = {
            *self.frame.traits.changed.get(declarator.name, ()),
            *self.frame.traits.changed.get(made.text, ()),
        }
        if (
            assigned and "const" not in parsed.words
        ):  # one name for both is not seen where loops look for changes
            variable.shared = True
            for path in paths:
                path.lost |= {variable.serial}
        return True

    def declare(
        self, parsed: tree.Declaration, declarator: tree.Declarator, given: Sequence[HostValue | None] = ()
    ) -> Variable:
        """Add a variable to the innermost block."""
        frame, name = self.frame, declarator.name
        typed = frame.scope.bound.get(name)
        kind = getattr(typed, "type", None)
        plain = not declarator.pointers and not declarator.dims and not declarator.function
        traits = frame.traits
        reference = is_reference(declarator)
        kept = not declarator.pointers and not declarator.function
        fixed = kept and bool({"const", "constexpr"} & set(parsed.words))
        variable = Variable(
            self.fresh(),
            name,
            kind,
            is_dim3=plain and ("dim3" in parsed.words or any(isinstance(v, Extents) for v in given)),
            is_array=bool(declarator.dims) or bool(declarator.pointers and not reference),
            is_object=not CUDA.config_types.isdisjoint(parsed.words),
            shared=not fixed
            and (
                reference
                or "static" in parsed.words
                or name in traits.captured
                or (traits.jumps and name in traits.changed)
            ),
            fixed=fixed,
            matters=name in traits.relevant,
        )
        if variable.matters and (plain or reference) and not (variable.is_dim3 or variable.is_object):
            variable.fields = fields_of(kind) or next((v.fields for v in given if isinstance(v, Object)), ())
        frame.blocks[-1][name] = variable
        self.variables[variable.serial] = variable
        return variable

    def _begin(
        self,
        path: HostPath,
        parsed: tree.Declaration,
        declarator: tree.Declarator,
        variable: Variable,
        value: HostValue | None,
    ) -> None:
        """Store what a variable begins as. ``value``: what its initializer is."""
        made = declarator.initializer
        if is_reference(declarator):
            if made is not None and "const" not in parsed.words:
                for other in self.variables_in(made):
                    self.share(path, other)
            return
        if made is not None and not declarator.dims:
            self._hand_over(path, parsed, declarator, variable, made)
        if variable.fields and not declarator.pointers and not declarator.dims:
            path.versions[variable.serial] = self.fresh()
            self.keep_members(path, variable, self._members(path, variable, made, value))
        elif isinstance(made, tree.Braces) and _is_configuration(declarator, variable):
            self._begin_configuration(path, variable, made)
        else:
            value = self._first_value(path, parsed, declarator, variable, value)
            path.versions[variable.serial] = self.fresh()
            self.keep(path, variable, (), value)

    def _hand_over(
        self,
        path: HostPath,
        parsed: tree.Declaration,
        declarator: tree.Declarator,
        variable: Variable,
        made: tree.Expr,
    ) -> None:
        """A constructor in sight, or what changes something through a pointer, may get what a variable begins as."""
        if not declarator.pointers and is_made(variable.type):
            self.user_code(path, made)
        if "*" in declarator.pointers and "const" not in parsed.words:
            for other in self.variables_in(made):
                if other.is_array and isinstance(path.values.get((other.serial, ())), Items):
                    self.hand_out(path, other)

    def _begin_configuration(self, path: HostPath, variable: Variable, made: tree.Braces) -> None:
        """Store the members of a launch configuration that begins as a list."""
        several = len(made.items) > 1
        if several:
            for member, item in (self._designated(made, _MEMBERS_OF_CONFIG) or {}).items():
                value = self.value(path, item)
                value = self.as_extents(path, item, value) if member.endswith("Dim") else value
                path.store(variable, (member,), value, self.fresh())
        if several or not made.items or evaluate(made.items[0], self.frame.scope) == 0:
            path.values[variable.serial, ZERO] = number(0)

    def _first_value(
        self,
        path: HostPath,
        parsed: tree.Declaration,
        declarator: tree.Declarator,
        variable: Variable,
        value: HostValue | None,
    ) -> HostValue | None:
        """What a variable begins as that is kept as a whole: extents, a number, a list and the like."""
        made = declarator.initializer
        braces = made if isinstance(made, tree.Braces) else None
        if variable.is_dim3:
            value = self._first_extents(path, made, value)
        elif braces is not None and not braces.items and variable.counts and not declarator.dims:
            value = number(0)
        for each in _constructor_arguments(declarator, variable):
            self._argument(path, each)
        return value if braces is None else self._elements(path, parsed, declarator, braces, value)

    def _first_extents(
        self, path: HostPath, made: tree.Expr | None, value: HostValue | None
    ) -> Extents | None:
        """What a ``dim3`` begins as that is made of an expression with this value, or of nothing."""
        if made is None or (isinstance(made, tree.Braces) and not made.items):
            return Extents((ONE, ONE, ONE))
        if isinstance(made, tree.Braces):
            return self.extents(path, made.items)
        return self.as_extents(path, made, value)

    def _elements(
        self,
        path: HostPath,
        parsed: tree.Declaration,
        declarator: tree.Declarator,
        made: tree.Braces,
        value: HostValue | None,
    ) -> HostValue | None:
        """What a variable begins as that has a list: its elements if it is an array or a ``std::vector``."""
        fields = element_fields(parsed, declarator, self.frame.scope)
        if fields:
            return Items(tuple(self._object(path, fields, item) for item in listed(made)))
        has_elements = bool(declarator.dims) or (is_list(parsed) and declarator.style != "(")
        return value if has_elements or not isinstance(value, Items) else None

    def _designated(self, braces: tree.Braces, names: Sequence[str]) -> dict[str, tree.Expr] | None:
        """The items of a list by the members that they are for, of those with these ``names``; None: not known."""
        found: dict[str, tree.Expr] = {}
        for position, item in enumerate(braces.items):
            name = self.designator(item) or "".join(names[position : position + 1])
            if name not in names:
                return None
            found[name] = item
        return found if len(found) == len(braces.items) else None

    def _members(
        self, path: HostPath, variable: Variable, made: tree.Expr | None, value: HostValue | None
    ) -> Mapping[str, HostValue | None]:
        """What the members of an object begin as. ``value``: what ``made`` is."""
        fields = variable.fields
        if isinstance(value, (HostAddress, Object)) or not isinstance(made, tree.Braces | None):
            return self.members_of(path, value, fields)
        return self.members_given(path, fields, made)

    def _object(self, path: HostPath, fields: Sequence[HostField], item: tree.Expr) -> HostValue | None:
        """An element of a list of objects."""
        if not isinstance(item, tree.Braces):
            value = self.value(path.copy(), item)
            return value if isinstance(value, Object) and value.fields == fields else None
        known = self.members_given(path, fields, item)
        return Object(tuple(fields), tuple((field.name, known.get(field.name)) for field in fields))

    def members_given(
        self, path: HostPath, fields: Sequence[HostField], made: tree.Braces | None
    ) -> Mapping[str, HostValue | None]:
        """The members of an object that begins as ``made``."""
        only = made.items[0] if made is not None and len(made.items) == 1 else None
        if only is not None and not isinstance(only, tree.Braces) and not self.designator(only):
            if fields_of(evaluate_value(only, self.scope(path, only)).type) == tuple(fields):  # a copy
                return self.members_of(path, self.value(path.copy(), only), fields)
        given = {} if made is None else self._designated(made, [field.name for field in fields])
        if given is None or any(self._takes_more(path, each, given.get(each.name)) for each in fields):
            return {}
        found: dict[str, HostValue | None] = {}
        for field in fields:
            if field.name in given:
                item = given[field.name]
                each = self.value(path.copy(), item)
                each = self.as_extents(path, item, each) if field.is_dim3 else each
                found[field.name] = self.opaque(path, item) if each is None and field.counts else each
            elif field.initialized:
                found[field.name] = None if field.initial is None else number(field.initial)
            elif made is not None and field.is_integer:
                found[field.name] = number(0)
        return found

    def _takes_more(self, path: HostPath, field: HostField, item: tree.Expr | None) -> bool:
        """Does a member take several items of a list without braces of its own ([dcl.init.aggr]/15), or is an item the
        whole object that is copied?"""
        if item is None or isinstance(item, tree.Braces | tree.Number):
            return isinstance(item, tree.Number) and isinstance(plain_type(field.type), _PARTED)
        kind, given = plain_type(field.type), evaluate_value(item, self.scope(path, item)).type
        return kind != given and (isinstance(kind, _PARTED) or isinstance(given, Record))

    def members_of(
        self, path: HostPath, value: HostValue | None, fields: Sequence[HostField]
    ) -> Mapping[str, HostValue | None]:
        """The members of an object that is passed or returned."""
        if isinstance(value, Object):
            return dict(value.members)
        if isinstance(value, Items) and len(value.values) <= len(fields):
            return dict(zip((field.name for field in fields), value.values))
        other = self.variables.get(value.variable) if isinstance(value, HostAddress) else None
        if other is None or other.fields != fields or other.shared or other.serial in path.shared:
            return {}
        return {each.name: path.read(other, (each.name,), f"{other.name}.{each.name}") for each in fields}

    def keep_members(
        self, path: HostPath, variable: Variable, members: Mapping[str, HostValue | None]
    ) -> None:
        """Store members as far as their types hold the values."""
        for field in variable.fields:
            value = members.get(field.name)
            scalar = scalar_of(plain_type(field.type))
            if isinstance(value, HostNumber) and scalar is not None and field.is_integer:
                n = converted(value.term.number, LONG, scalar)
                value = number(n) if n is not None else HostNumber(value.term) if field.counts else None
            elif field.is_dim3:
                value = value if isinstance(value, Extents) else None
            elif not (field.points and isinstance(value, (KernelName, Kernels))):
                value = None
            if value is not None:
                path.values[variable.serial, (field.name,)] = value

    def declare_pack(
        self,
        path: HostPath,
        declaration: tree.Declaration,
        declarator: tree.Declarator,
        given: Sequence[HostValue | None],
    ) -> None:
        """The arguments ``A... a``; what they are is known where they are passed on once, and nothing else is done with
        them before that."""
        variable = self.declare(declaration, declarator)
        variable.shared, variable.fixed = False, True
        texts = self.frame.body.tokens.texts
        once = sum(text == declarator.name for text in texts) == 1
        path.store(variable, (), Items(tuple(each if once else None for each in given)), self.fresh())

    def pack_of(self, path: HostPath, expr: tree.Expr) -> Items | None:
        """The arguments that ``a...`` or ``std::forward<A>(a)...`` stands for."""
        if not is_expansion(expr):
            return None
        found = [path.read(variable, (), variable.name) for variable in self.variables_in(expr)]
        packs = [value for value in found if isinstance(value, Items)]
        return packs[0] if len(packs) == 1 else None


def is_reference(declarator: tree.Declarator) -> bool:
    """``T& r``, ``T&& r``."""
    return "&" in declarator.pointers or "&&" in declarator.pointers


def _is_configuration(declarator: tree.Declarator, variable: Variable) -> bool:
    """Is it one launch configuration?"""
    return variable.is_object and not variable.is_dim3 and not declarator.dims


def _constructor_arguments(declarator: tree.Declarator, variable: Variable) -> Sequence[tree.Expr]:
    """``a`` and ``b`` of ``T v(a, b)``; a ``dim3`` takes them as numbers."""
    made = declarator.initializer
    if made is None or declarator.style != "(" or variable.is_dim3:
        return ()
    return made.items if isinstance(made, tree.Braces) else (made,)


def is_expansion(expr: tree.Expr) -> bool:
    """``a...``"""
    return isinstance(expr, tree.Opaque) and expr.kind == "pack"


def is_pack(parameter: tree.Declaration) -> bool:
    """``A... a``, ``A&&... a``."""
    return bool(parameter.declarators) and "..." in parameter.declarators[0].pointers
