"""Members that are defined outside of their class ([class.mfct]): ``template <class T> void Tile<T>::load(int i)``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from smem_lsp.elaborate.default_arguments import as_declared
from smem_lsp.elaborate.special_members import class_name
from smem_lsp.semantics.declarations import FunctionDecl, specialised_name, split
from smem_lsp.semantics.entities import Argument
from smem_lsp.semantics.function_scope import parameters_of, qualifiers_of
from smem_lsp.semantics.specialization import (
    class_arguments,
    is_specialization,
    spelled_argument,
    spelled_arguments,
    spelled_in,
)
from smem_lsp.semantics.template_arguments import same
from smem_lsp.semantics.types import Record
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function

Shape = tuple[tuple[str, ...], ...]  # the words of each parameter, its name and its default left out


def defined_outside(record: Record, decl: FunctionDecl, named: Iterable[Function]) -> Function | None:
    """The definition of a member that its class only declares; None: not in sight, or not the only one that it may be.
    ``named``: functions that are spelled with the name of the member; what specializes it is not among the answers."""
    found = [each for each in named if not is_specialization(each) and _belongs(record, decl, each)]
    if any(map(spelled_arguments, found)):
        return None  # of one instance of the class alone
    if len(found) > 1:
        wanted = _shape(decl.source.parse("parameters", *decl.list))
        found = [each for each in found if wanted is not None and _shape(each.parameters) == wanted]
    if len(found) > 1:
        constant = _is_constant(decl.source.texts, decl.list[1])
        found = [each for each in found if _is_constant_function(each) == constant]
    return as_declared(found[0], [decl], record.scope) if len(found) == 1 else None


def specializations(record: Record, named: Iterable[Function]) -> list[tuple[Function, bool]]:
    """The explicit specializations of members of a class that may be of this instance of it ([temp.expl.spec]), and
    whether they surely are. ``named``: as in ``defined_outside``."""
    found = []
    for function in named:
        checkpoint()
        if is_specialization(function) and qualifiers_of(function)[-1:] == [class_name(record)]:
            own = _is_of_instance(record, function)
            if own is not False:
                found.append((function, own is True))
    return found


def is_specialised_elsewhere(record: Record, name: str) -> bool:
    """May a member of this instance of a class be what an explicit specialisation declares without a body?"""
    last = class_name(record)
    for around in record.scope.outwards():
        for decl in around.declarations.names.get(f"::{name}", ()) if around.namespace else ():
            checkpoint()
            if isinstance(decl, FunctionDecl) and decl.parameters == () and decl.body is None:
                lo, lp = decl.head
                if last in decl.source.texts[lo:lp] and _is_declared_for(record, decl):
                    return True
    return False


def _is_declared_for(record: Record, decl: FunctionDecl) -> bool:
    """``template <> void A<int>::f();``; a member template may be specialised for any class."""
    around, own = record.scope.parent, record.decl.parameters or ()
    lo, lp = decl.head
    source = decl.source
    scopes = [at for at in range(lo + 1, lp) if source.kinds[at] == "SCOPE"]
    if around is None or not own or not scopes:
        return True
    end = scopes[-1]
    name = specialised_name(source, lo, end)
    if name >= end - 1 or source.texts[name] != class_name(record):
        return True
    outer = around.parent or around
    spelled = [spelled_in(source, each, outer) for each in split(source, name + 2, end - 1, angles=True)]
    return False not in [same(around.bound.get(each.name), given) for each, given in zip(own, spelled)]


def _is_of_instance(record: Record, function: Function) -> bool | None:
    """None: not certain, or a member template is specialized, too."""
    around, own = record.scope.parent, record.decl.parameters or ()
    spelled = class_arguments(function)
    if around is None or not own or len(spelled) != len(own):
        return None
    outer = around.parent or around
    arguments = [spelled_argument(function, where, outer) for where in spelled]
    answers = [same(around.bound.get(each.name), given) for each, given in zip(own, arguments)]
    if False in answers:
        return False
    return True if all(answers) and "template" not in function.head.texts[1:] else None


def arguments_of_class(record: Record, function: Function) -> tuple[Argument, ...]:
    """What the first template parameters of a definition outside of a class template stand for in one of its
    instances. Whatever they are called there, they are those of the class, in order ([temp.mem.func])."""
    around = record.scope.parent
    own = record.decl.parameters or ()
    if around is None or not own or len(parameters_of(function)) < len(own):
        return ()
    return tuple(around.bound.get(parameter.name) for parameter in own)


def _belongs(record: Record, decl: FunctionDecl, function: Function) -> bool:
    """Is it defined as a member of this class, and called with as many arguments?"""
    checkpoint()
    if qualifiers_of(function)[-1:] != [class_name(record)]:
        return False
    head, name = function.head, function.island.name - function.island.head
    ends = name > 0 and head.texts[name - 1] == "~"
    declared_at = decl.head[1] - 1
    if ends != (decl.source.texts[declared_at - 1] == "~"):
        return False
    declared = decl.source.parse("parameters", *decl.list)
    if not isinstance(declared, list) or function.parameters is None:
        return False
    return _count(declared) == _count(function.parameters)


def _count(parameters: Sequence[tree.Declaration]) -> int:
    return sum(each.words != ["void"] or bool(each.declarators[0].pointers) for each in parameters)


def _shape(parameters: object) -> Shape | None:
    if not isinstance(parameters, list):
        return None
    return tuple(
        (*each.words, *(each.declarators[0].pointers if each.declarators else ())) for each in parameters
    )


def _is_constant_function(function: Function) -> bool:
    tokens, island = function.definition.tokens, function.definition.island
    return _is_constant(tokens.texts, island.parameters[1])


def _is_constant(texts: Sequence[str], closing: int) -> bool:
    """Does ``const`` stand behind the parameters, which end in front of ``closing``?"""
    return list(texts[closing + 1 : closing + 2]) == ["const"]
