"""Objects of classes in sight that live in a thread: their data members are variables of their own.

What is done to a member is done to its variable and, as ``set .member``, to the object's; what is done to the object
as a whole, to all of its members. So everyone who knows nothing of members works on the object alone, and an address
that a member holds escapes when the object gets there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from smem_lsp.elaborate import deduced_classes
from smem_lsp.elaborate.out_of_line import defined_outside, is_specialised_elsewhere, specializations
from smem_lsp.elaborate.special_members import class_name
from smem_lsp.elaborate.virtual_functions import with_bases
from smem_lsp.ir.values import Var
from smem_lsp.lowering.body import declared_types, members
from smem_lsp.lowering.body.class_parts import Field, Method
from smem_lsp.lowering.callees import overloads
from smem_lsp.lowering.state import conversions
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.effects import designated, pointed_to
from smem_lsp.lowering.state.local_scope import (
    LocalObject,
    LocalScope,
    Meaning,
    This,
    Variable,
    View,
)
from smem_lsp.lowering.state.places import Ref
from smem_lsp.semantics import collect, record_layout, type_of
from smem_lsp.semantics.declarations import (
    ClassDecl,
    Declared,
    FunctionDecl,
    Source,
    UsingDecl,
    declaration_tree,
)
from smem_lsp.semantics.entities import Template
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.scope import Scope, bases_of
from smem_lsp.semantics.types import (
    Array,
    Enum,
    Pointer,
    Record,
    Reference,
    Scalar,
    Type,
    is_constant,
    plain_type,
    scalar_of,
    unqualified,
    vector_element,
)
from smem_lsp.semantics.types import (
    Sequence as FixedSequence,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import BEHIND, Function

_MOST_MEMBERS = 24  # that become variables, of a class; those of its bases count
_MAX_NESTING = 4  # classes in each other
_POINTER = 8  # bytes of an address
TO_POINTER = "operator T*"  # any conversion to a pointer


def record_of(declaration: tree.Declaration, declarator: tree.Declarator, constants: Scope) -> Record | None:
    """The class that a declarator makes an object of, where its members can be followed."""
    if declarator.pointers or declarator.dims or declarator.function or "{}" in declaration.words:
        return None
    return followed(type_of.variable_type(declaration, declarator, constants))


def deduced(name: tree.Name, arguments: Sequence[tree.Expr], scope: LocalScope) -> Record | None:
    """The class of an object that is made of some arguments, whose template's are deduced; None: another one, or it is
    not followed."""
    constants = scope.constant_scope()
    meaning = None if name.templated else constants.resolve(name)
    if not isinstance(meaning, Template):
        return None
    kinds = [
        None if isinstance(each, tree.Braces) else evaluate_value(each, constants).type for each in arguments
    ]
    return followed(deduced_classes.deduced(meaning, kinds))


def followed(kind: Type | None) -> Record | None:
    """A class whose members are variables of their own; None: another type."""
    record = placed(kind)
    return None if record is None or len(fields(record) or ()) > _MOST_MEMBERS else record


def placed(kind: Type | None) -> Record | None:
    """A class whose members are known, however many: in memory each is a place. None: another type."""
    record = plain_type(kind)
    return record if isinstance(record, Record) and fields(record) is not None else None


def fields(record: Record, depth: int = 0) -> tuple[Field, ...] | None:
    """The data members of a class, those of its bases first; None where they are not followed."""
    return _FIELDS.of(record.scope.state.store, record, partial(_fields, record, depth))


_FIELDS = Query[Record, tuple[Field, ...] | None]("data members of a class", cycle=None)


def _fields(record: Record, depth: int) -> tuple[Field, ...] | None:
    decl = record.decl
    if decl.body is None or decl.tag == "union" or depth > _MAX_NESTING:
        return None
    inside = collect.inside(decl)
    if inside.odd or inside.unnamed:
        return None
    found: list[Field] = []
    for base in bases_of(record):
        inherited = None if base is None else fields(base, depth + 1)
        if inherited is None:
            return None
        found += inherited
    for member in inside.members:
        checkpoint()
        parsed = None if member.record is not None else declaration_tree(decl.source, member.range)
        if parsed is None:
            return None
        if {"static", "typedef", "friend"} & set(parsed.words):
            continue
        for declarator in parsed.declarators:
            if declarator.function and not declarator.core[0]:
                continue
            if not declarator.name:
                return None
            kind = type_of.variable_type(parsed, declarator, record.scope)
            found.append(Field(declarator.name, parsed, declarator, kind, record.scope, member.range))
    names = {field.name for field in found}
    return tuple(found) if len(names) == len(found) else None


def holds_no_address(kind: Type | None) -> bool:
    """Is it surely made of numbers that are no addresses? An integer of 64 bits may be one."""
    if isinstance(kind, Reference):
        return False
    kind = plain_type(kind)
    if isinstance(kind, Array | FixedSequence):
        return holds_no_address(kind.element)
    if isinstance(kind, Record):
        found = fields(kind)
        return found is not None and all(
            not each.declarator.pointers and holds_no_address(each.type) for each in found
        )
    if isinstance(kind, Scalar):
        part = vector_element(kind.name) or kind
        return part.kind == "float" or part.size < _POINTER
    return False


# ---- making objects --------------------------------------------------------------------------------------------------


def of_variable(ctx: Context, variable: Variable) -> LocalObject | None:
    """The object that a variable is, its members being variables of their own: a parameter of the kernel becomes one
    where a method of it is called first."""
    record = ctx.variables.parameters.get(variable.index)
    if record is not None and variable.index not in ctx.variables.objects:
        make(ctx, variable, record)
    return ctx.variables.objects.get(variable.index)


def make(ctx: Context, variable: Variable, record: Record, depth: int = 0) -> None:
    """Give the members of an object variables; each is what the object's value tells until it is assigned."""
    own: dict[str, Meaning] = {}
    ctx.variables.objects[variable.index] = LocalObject(record, own)
    for field in fields(record) or ():
        index = ctx.variables.member(variable.index, field.name)
        member = _member(field, index)
        if member.array == 0 and scalar_of(plain_type(field.type)) is not None:
            ctx.variables.numbers_only.add(index)
        own[field.name] = member
        if not member.array and not field.indirect:
            ctx.variables.readings[index] = conversions.reading_of(member.type)
        ctx.variables.member_of[index] = variable.index, field.name
        inner = None if member.array or field.indirect else followed(field.type)
        if inner is not None and depth < _MAX_NESTING:
            make(ctx, member, inner, depth + 1)


def _member(field: Field, index: int) -> Variable:
    words, declarator = field.declaration.words, field.declarator
    kind, element, shape = declared_types.pointee(field.declaration, declarator, field.home)
    own = plain_type(field.type)
    bits = declarator.width is not None
    number = record_layout.bits_of(own, declarator, field.home) if bits else own
    return Variable(
        index,
        0 if declarator.nested else len(declarator.dims),
        not bits and conversions.keeps_integers(own),
        plain=field.indirect or isinstance(own, Scalar),
        element=element,
        shape=shape,
        kind=kind,
        of_class="" if field.indirect else declared_types.class_name(words),
        type=number if isinstance(number, Scalar | Enum) else None,
        only_read=is_constant(field.type) is True,
    )


def copy(ctx: Context, source: int, target: int) -> None:
    """Assign one object to another of the same class, both by the numbers of their variables."""
    ctx.assign(target, Var(source))
    into, out_of = ctx.variables.objects[target].members, ctx.variables.objects[source].members
    references = {each.name for each in fields(ctx.variables.objects[source].record) or () if each.reference}
    for name, member in out_of.items():
        mine = into.get(name)
        if name in references or not isinstance(member, Variable):  # what a reference is bound to, or a group
            into[name] = member
            ctx.points_to.add(target, ctx.capture(member))
        elif isinstance(mine, Variable):
            if member.index in ctx.variables.objects and mine.index in ctx.variables.objects:
                copy(ctx, member.index, mine.index)
                continue
            pointed = ctx.pointed(member)
            if pointed is not None:
                ctx.alias(mine.index, pointed)


# ---- what expressions mean -------------------------------------------------------------------------------------------


def address_of(ctx: Context, expr: tree.Expr, scope: LocalScope) -> Variable | None:
    """The variable that an argument hands on the address of: ``&v``, or a pointer that is bound to one."""
    if isinstance(expr, tree.Unary) and expr.operator == "&":
        found = designated(ctx, expr.operand, scope)
        return None if found is None or found.array or found.constant else found
    return pointed_to(expr, scope)


# ---- methods ---------------------------------------------------------------------------------------------------------


def methods(
    ctx: Context, record: Record, name: str, where: tree.Expr, depth: int = 0, *, qualified: bool = True
) -> list[Method] | None:
    """The methods of that name with a body, of the class or else of its bases; None where some are not in sight.
    ``qualified``: as in ``bases_of``."""
    declared = [decl for decl, scope in record.scope.own(name) if scope is record.scope]
    own = [decl for decl in declared if isinstance(decl, FunctionDecl)]
    used = any(isinstance(decl, UsingDecl) for decl in declared)
    if own and not used:
        return definitions(ctx, record, own, where)
    if (record.scope.own(name) and not used) or depth > _MAX_NESTING:
        return None
    inherited = definitions(ctx, record, own, where)  # those of the bases join them ([namespace.udecl])
    if inherited is None:
        return None
    for base in bases_of(record, qualified=qualified or used):
        more = None if base is None else methods(ctx, base, name, where, depth + 1)
        if more is None:
            return None
        inherited += more
    return inherited


def definitions(
    ctx: Context, record: Record, declared: Sequence[FunctionDecl], where: tree.Expr
) -> list[Method] | None:
    """The definitions of functions that a class declares; None where one is not in sight."""
    if declared:
        special = specializations(record, _named(ctx, declared[0].name, where))
        if special:
            certain = len(special) == len(declared) == 1 and special[0][1]
            return [Method(special[0][0], record)] if certain else None
        if is_specialised_elsewhere(record, declared[0].name):
            return None
    found = [_function(ctx, record, decl, where) for decl in declared]
    known = [Method(function, record) for function in found if function is not None]
    return known if len(known) == len(declared) else None


def of_any(
    ctx: Context, name: str, classes: Sequence[Declared], method: str, where: tree.Expr
) -> list[Function]:
    """The methods called ``method``, or ``TO_POINTER``, of a class of that name, whichever specialisation it is;
    empty when one of them may not be in sight. ``classes``: its declarations."""
    at = tree.Name(where.lo, where.hi, method)
    found = overloads.functions_named(ctx, _island_name(method), at)
    inside = [function for function in found if function.island.enclosing[-1:] == (name,)]
    behind = [
        function
        for function in found
        if function.island.enclosing[-1:] != (name,)
        and name in function.head.texts[: function.island.name - function.island.head]
    ]
    missing = _undefined(classes, method)
    found = [] if missing is None or missing > len(behind) else [*inside, *behind]
    if method != TO_POINTER:
        return found
    return [
        each for each in found if each.head.kinds[each.island.parameters[0] - 2 - each.island.head] == "STAR"
    ]


def _undefined(classes: Sequence[Declared], method: str) -> int | None:
    """How many methods of that name the specialisations of a class template declare whose definitions need not be in
    sight; None where one of them may inherit it, or be another one when it runs."""
    count = 0
    for decl in classes:
        checkpoint()
        if not isinstance(decl, ClassDecl):
            return None
        inside = collect.inside(decl)
        names = [method] if method != TO_POINTER else [each for each in inside.names if is_conversion(each)]
        found = [d for name in names for d in inside.names.get(name, ())]
        declared = [d for d in found if isinstance(d, FunctionDecl)]
        if len(declared) < len(found):
            return None  # a base has it, too
        if inside.virtual or (decl.body is not None and decl.bases is not None and not declared):
            return None
        if not decl.parameters:  # a template can only be used where its definition is
            count += sum(each.body is None for each in declared)
    return count


def _function(ctx: Context, record: Record, decl: FunctionDecl, where: tree.Expr) -> Function | None:
    """The definition that a declaration in a class is, or that stands outside of the class."""
    if decl.body is None:
        return defined_outside(record, decl, _named(ctx, decl.name, where))
    if is_of_header(ctx, decl.source):
        for function in _in_headers(ctx, decl.name, where):
            if function.island.body[0] - BEHIND == decl.body[0]:
                return function
        return None
    alike = headed_alike(ctx, decl)
    found = alike[0] if len(alike) == 1 else _in_order(record, decl, alike)
    return found if found is not None and found.enclosing[-1:] == (class_name(record),) else None


def _named(ctx: Context, name: str, where: tree.Expr) -> tuple[Function, ...]:
    """The functions of the file and its headers that have a name."""
    return (*ctx.helpers.get(_island_name(name), ()), *_in_headers(ctx, name, where))


def _in_headers(ctx: Context, name: str, where: tree.Expr) -> Sequence[Function]:
    offset = ctx.at.body.site(ctx.at.base + where.lo, ctx.at.base + where.hi).start
    return ctx.at.unit.header_definitions(_island_name(name), offset)


def is_of_header(ctx: Context, source: Source) -> bool:
    """Are these the tokens of the headers, and not of the file itself?"""
    header = ctx.at.unit.preprocessed.header
    return source.texts is header.texts or (
        len(source.texts) == len(header.texts) and source.texts == header.texts
    )


def headed_alike(ctx: Context, decl: FunctionDecl) -> list[Function]:
    """The functions of the file that have the head of a definition, whichever class they are of."""
    words = head_words(decl)
    return [each for each in ctx.helpers.get(_island_name(decl.name), ()) if is_headed(each, words)]


def _in_order(record: Record, decl: FunctionDecl, alike: Sequence[Function]) -> Function | None:
    """Of functions of the file with one head the one that a declaration is: they stand in one order. What the bodies
    say is not looked at, which may be from an older text (``semantics.file_scope``)."""
    where = _PLACES.of(record.scope.state.store, decl, partial(_places, decl))
    return alike[where.index(decl.head[0])] if len(where) == len(alike) else None


_PLACES = Query[FunctionDecl, tuple[int, ...]]("places of definitions that are headed alike")


def _places(decl: FunctionDecl) -> tuple[int, ...]:
    """Where the head of a definition stands in its file, its own place among them."""
    texts, words = decl.source.texts, list(head_words(decl))
    found: list[int] = []
    at = -1
    while True:
        checkpoint()
        try:
            at = texts.index(words[0], at + 1)
        except ValueError:
            return tuple(found)
        if list(texts[at : at + len(words)]) == words:
            found.append(at)


def head_words(decl: FunctionDecl) -> tuple[str, ...]:
    """A definition up to the brace of its body, without its template header."""
    assert decl.body is not None
    return tuple(decl.source.texts[decl.head[0] : decl.body[0]])


def is_headed(function: Function, words: tuple[str, ...]) -> bool:
    """Is this what stands in front of the body of a function?"""
    definition = function.definition
    end = definition.island.body[0]
    return tuple(definition.tokens.texts[max(0, end - len(words)) : end]) == words


def _island_name(name: str) -> str:
    """What a definition is called among the functions of the file."""
    if name in ("operator()", "operator[]", TO_POINTER) or is_conversion(name):
        return "operator"
    target = name.removeprefix("operator")
    return target.rpartition("::")[2] or name if target != name else name


def is_conversion(name: str) -> bool:
    """Is it a conversion to a pointer or a reference: ``operator T*``?"""
    target = name.removeprefix("operator")
    return target != name and target[:1].isidentifier() and target.endswith(("*", "&"))


def inside(ctx: Context, record: Record, target: Variable | Ref, *, constant: bool = False) -> LocalScope:
    """The names of the members of an object, for the body of a method. The object is a variable or in shared memory.
    ``constant``: the method is ``const``."""
    if isinstance(target, Variable):
        target = replace(target, only_read=constant)
    scope = LocalScope(names={"this": This(record, target, constant)})
    if isinstance(target, Variable):
        scope.names.update(members_of(ctx, target, record, constant=constant))
    else:
        for field in _named_alone(record):
            scope.names[field.name] = View(members.member_of(ctx, target, field.name))
    return scope


def _named_alone(record: Record) -> Sequence[Field]:
    """The data members that a name alone means inside a class: not those of bases that depend on its template
    parameters ([temp.dep]), unless a ``using`` names them."""
    found = fields(record) or ()
    if not record.decl.parameters or record.decl.bases is None:
        return found
    bases = [base for base in bases_of(record, qualified=False) if base is not None]
    seen = [record.scope, *(each.scope for base in bases for each in with_bases(base))]
    return [
        field for field in found if any(each is field.home for each in seen) or record.scope.own(field.name)
    ]


def members_of(
    ctx: Context, variable: Variable, record: Record, *, constant: bool = False
) -> dict[str, Meaning]:
    """The members of an object that its class, or this base of it, has. ``constant``: as a ``const`` method sees
    them."""
    known = ctx.variables.objects[variable.index].members
    named = _named_alone(record)
    found = {each.name: known[each.name] for each in named}
    if constant:
        for each in named:
            member = found[each.name]
            if (
                isinstance(member, Variable)
                and not each.reference
                and "mutable" not in each.declaration.words
            ):
                found[each.name] = replace(member, only_read=True)
    return found


def as_declared(
    ctx: Context,
    variable: Variable,
    declaration: tree.Declaration,
    declarator: tree.Declarator,
    constants: Scope,
) -> Variable:
    """A variable behind a reference or a pointer: ``const`` as that is declared, and, if it is an object, seen as the
    class that is declared, perhaps a base of its own."""
    known = ctx.variables.objects.get(variable.index)
    kind = unqualified(type_of.variable_type(declaration, declarator, constants))
    constant = is_constant(kind.target) if isinstance(kind, Reference | Pointer) else None
    if constant is None and "const" in declaration.words:
        constant = not ("*" in declarator.pointers and {"&", "&&"} & set(declarator.pointers)) or None
    if constant is not None:
        variable = replace(variable, only_read=constant)
    if known is None or "auto" in declaration.words:
        return variable
    record = plain_type(type_of.specified(declaration, constants))
    if not isinstance(record, Record) or record not in with_bases(known.record):
        return variable
    return replace(variable, seen_as=record)


def alike(ctx: Context, one: Variable, other: Variable) -> bool:
    """Are both objects of one class?"""
    a, b = ctx.variables.objects.get(one.index), ctx.variables.objects.get(other.index)
    return a is not None and b is not None and a.record == b.record
