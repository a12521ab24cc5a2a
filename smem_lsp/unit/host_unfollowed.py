"""Whether anybody may choose a number of host code that is not known.

The number of a parameter, or of a call out of sight, may be any: a race that some of them show is one. But what a
lambda, a constructor or a pointer in sight makes of a variable is some number that nobody chooses, and is not known:
only what holds for every number is true of it. So a number is nobody's choice unless it is one of these.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.semantics import type_of
from smem_lsp.semantics.attributes import attributes_of
from smem_lsp.semantics.collect import inside
from smem_lsp.semantics.declarations import FunctionDecl, VariableDecl, declaration_tree
from smem_lsp.semantics.entities import Functions, TypedConstant, Undeclared
from smem_lsp.semantics.evaluate import evaluate_value
from smem_lsp.semantics.record_layout import member_type
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.types import Pointer, Record, Reference, Type, plain_type
from smem_lsp.syntax import tree
from smem_lsp.syntax.host_functions import of_library, reading_methods
from smem_lsp.syntax.parse import Function
from smem_lsp.unit.host_frames import Frame
from smem_lsp.unit.host_objects import fields_of
from smem_lsp.unit.host_values import HostAddress, HostPath, LambdaName, symbols_of


def is_chosen(expr: tree.Expr, frame: Frame, path: HostPath) -> bool:
    """May somebody choose the value of an expression that is not followed, and does nothing in sight decide it, too?"""
    found = False
    others: set[int] = set()  # names of functions and types
    for node in tree.nodes_of(expr):
        if isinstance(node, tree.Lambda):
            return False
        if isinstance(node, tree.Call):
            if is_called_in_sight(node, frame, path):
                return False
            # what a method returns follows from its object, what a pointer calls from where it points
            named = isinstance(node.callee, tree.Name) and not frame.find(node.callee.text)[1]
            if named:
                others.add(id(node.callee))
            found = found or (named and not passes_on(node, frame))
        elif isinstance(node, tree.TypeId):
            others |= {id(each) for each in node.names}
        elif isinstance(node, tree.Name) and id(node) not in others:
            known = _is_chosen_name(node, frame, path)
            if known is False:
                return False
            found = found or bool(known)
    return found


def is_open(expr: tree.Expr, frame: Frame, path: HostPath) -> bool:
    """May something that somebody chooses decide a condition, in whatever way?"""
    others: set[int] = set()
    for node in tree.nodes_of(expr):
        if isinstance(node, tree.Call) and isinstance(node.callee, tree.Name):
            others.add(id(node.callee))
            if not (is_called_in_sight(node, frame, path) or passes_on(node, frame)):
                return True
        elif isinstance(node, tree.TypeId):
            others |= {id(each) for each in node.names}
        elif isinstance(node, tree.Name) and id(node) not in others:
            variable, _ = frame.find(node.text)
            if variable is None:
                if _is_chosen_name(node, frame, path) or frame.scope.resolve(node) is None:
                    return True
            elif variable.open or node.text in frame.traits.changed or path.is_chosen(variable):
                return True
    return False


def _is_chosen_name(name: tree.Name, frame: Frame, path: HostPath) -> bool | None:
    """The same of a name; None: it is a number that is known, a function, a type."""
    variable, local = frame.find(name.text)
    if variable is not None:
        value = path.values.get((variable.serial, ()))
        symbols = symbols_of(value)
        if value is not None and not (isinstance(value, HostAddress) or symbols):
            return None
        if symbols:
            return symbols.isdisjoint(path.unfollowed)
        return path.is_chosen(variable)
    if local:
        return True  # declared by something that is not read
    meaning = frame.scope.resolve(name)
    if isinstance(meaning, TypedConstant):
        return None if meaning.n is not None else not is_hidden_variable(name, frame)
    return True if isinstance(meaning, Undeclared) else None


def passes_on(call: tree.Call, frame: Frame) -> bool:
    """Is it a function of a library, or one that an author declares, of which all that it returns and writes follows
    from its arguments?"""
    callee = call.callee
    if not isinstance(callee, tree.Name):
        return False
    meaning = frame.scope.resolve(callee)
    if isinstance(meaning, Functions):
        stated = [attributes_of(decl) for decl, _ in meaning.overloads]
        if any(stated) or "::" not in callee.text:  # else one of the library, whose header is in sight
            return all(any(each.name == "pure" for each in attributes) for attributes in stated)
    found = of_library(callee.text.rpartition("::")[2])
    return any(each.has("pure", "forwards") or (each.effects and not each.has("impure")) for each in found)


def is_called_in_sight(call: tree.Call, frame: Frame, path: HostPath) -> bool:
    """Does a call mean a function with a body in sight, a lambda, or a constructor of a class in sight?"""
    callee = call.callee
    if isinstance(callee, tree.Lambda):
        return True
    if isinstance(callee, tree.Member):
        return _has_methods_in_sight(callee.base, frame.scope)
    if not isinstance(callee, tree.Name):
        return False
    variable, local = frame.find(callee.text)
    if variable is not None:
        held = path.values.get((variable.serial, ()))
        return isinstance(held, LambdaName) or isinstance(plain_type(variable.type), Record)
    if local:
        return False
    meaning = frame.scope.resolve(callee)
    if isinstance(meaning, Functions):
        return any(decl.body is not None for decl, _ in meaning.overloads)
    if meaning is None or isinstance(
        meaning, Undeclared
    ):  # a friend that only its arguments find ([basic.lookup.argdep])
        return any(is_object(each, frame) for each in call.arguments)
    return isinstance(meaning, Record)


_CHANGES = frozenset(("EQ", "ASSIGN", "STEP", "LP"))


def leaves_object(method: Function) -> bool:
    """Does a method leave its object as it is: is it ``const``, or changes and calls nothing?"""
    definition = method.definition
    after = definition.tokens.texts[definition.island.name :]
    return "const" in _behind(after) or _CHANGES.isdisjoint(definition.body.kinds)


def _behind(texts: Sequence[str]) -> Sequence[str]:
    """What stands between the parameters of a function and its body."""
    depth = 0
    for at, text in enumerate(texts):
        depth += (text == "(") - (text == ")")
        if text == ")" and not depth:
            end = next((i for i in range(at, len(texts)) if texts[i] in ("{", ":")), len(texts))
            return texts[at:end]
    return ()


def is_object(expr: tree.Expr, frame: Frame) -> bool:
    """May an expression be an object of a class in sight, whose operators are functions of it?"""
    match expr:
        case tree.Name():
            variable, _ = frame.find(expr.text)
            return variable is not None and isinstance(plain_type(variable.type), Record)
        case tree.Number() | tree.String() | tree.SizeOf() | tree.Lambda() | tree.Launch():
            return False
        case tree.Binary():
            return is_object(expr.left, frame) or is_object(expr.right, frame)
        case tree.Cast():
            return isinstance(plain_type(type_of.type_id(expr.type, frame.scope)), Record)
        case tree.Unary(operator="*") | tree.Call() | tree.Index() | tree.Member():
            return isinstance(plain_type(evaluate_value(expr, frame.scope).type), Record)
    return False


def only_reads(call: tree.Call, frame: Frame) -> bool:
    """Is it a call of a method that leaves its object as it is: of one in sight what its declaration says, of others
    what their names do?"""
    callee = call.callee
    if not isinstance(callee, tree.Member) or callee.name not in reading_methods():
        return False
    kind = plain_type(evaluate_value(callee.base, frame.scope).type)
    record = plain_type(kind.target) if isinstance(kind, Pointer) else kind
    if not isinstance(record, Record):
        return True
    found = inside(record.decl).names.get(callee.name, ())
    methods = [each for each in found if isinstance(each, FunctionDecl)]
    return bool(methods) and all(each.source.texts[each.list[1] + 1] == "const" for each in methods)


def is_made(kind: Type | None) -> bool:
    """Does a constructor in sight make such an object, or does it hold other names of what it gets?"""
    if not isinstance(plain_type(kind), Record):
        return False
    fields = fields_of(kind)
    return not fields or any(isinstance(each.type, Reference | Pointer) for each in fields)


def overlaps(kind: Type | None) -> bool:
    """May members of an object share bytes, so that what is stored in one changes another?"""
    record = plain_type(kind)
    if not isinstance(record, Record):
        return False
    if record.decl.tag == "union" or any(each.record is not None for each in inside(record.decl).members):
        return True
    return any(
        declarator.width is not None or overlaps(member_type(record, declarator.name))
        for member in inside(record.decl).members
        if (parsed := declaration_tree(record.decl.source, member.range)) is not None
        for declarator in parsed.declarators
    )


def _has_methods_in_sight(base: tree.Expr, scope: Scope) -> bool:
    kind = plain_type(evaluate_value(base, scope).type)
    return isinstance(plain_type(kind.target) if isinstance(kind, Pointer) else kind, Record)


def is_hidden_variable(name: tree.Name, frame: Frame) -> bool:
    """Does code in sight give a variable that is not local its value, which is not followed? Of one that is declared
    ``extern`` another file does, and of a member of the object of a method that nobody in sight calls."""
    scope = frame.scope
    *path, last = [part for part in name.text.split("::") if part]
    if not path and any(each.record is not None and each.own(last) for each in scope.outwards()):
        return frame.depth > 0
    found = [
        decl
        for each in scope.outwards()
        for decl, _ in each.inside(path).own(last)
        if isinstance(decl, VariableDecl)
    ]
    declared = [decl.source.texts[slice(*decl.range)] for decl in found]
    return bool(declared or path) and not any("extern" in texts for texts in declared)
