"""What lowering reads of the body of a function that is called, beside what its statements do and what it asks in
questions (``source.queries``): words. An edited statement that says none of them leaves all of that as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from smem_lsp.elaborate.parameters import has_pack
from smem_lsp.lowering.callees import library_names
from smem_lsp.lowering.callees.computing import KEPT
from smem_lsp.semantics.template_header import template_parameters
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.targets.dialects import Dialect

_TOLD_BY_BODY = frozenset(("auto", "decltype", "constexpr", "consteval", "*", "&", "&&"))


def words_alike(
    unit: TranslationUnit,
    helpers: Mapping[str, Sequence[Function]],
    dialect: Dialect,
    old: Function,
    new: Function,
    said: frozenset[str],
) -> bool:
    """Is all that the words of a function tell the same in two versions that differ in statements with the words
    ``said``?"""
    if not _is_plain(new) or not _is_one(helpers, old, new):
        return False
    telling = _telling(unit, dialect)
    if old.definition.body_words & telling != new.definition.body_words & telling:
        return False
    if not said.isdisjoint(_own(new)):
        return False
    return not any(dialect.exchanges.fullmatch(word) for word in said)


def _is_plain(function: Function) -> bool:
    """Does its head alone say what it returns, and is it called as it stands there?"""
    head = function.head.texts[: function.island.parameters[0] - function.island.head]
    return _TOLD_BY_BODY.isdisjoint(head) and not has_pack(function)


def _is_one(helpers: Mapping[str, Sequence[Function]], old: Function, new: Function) -> bool:
    """Is there no other function that it may be taken for, or the twin of?"""
    bodies = [_but_for_const(old), _but_for_const(new)]
    for each in helpers.get(new.name, ()):
        if each is not new and (each.enclosing == new.enclosing or _but_for_const(each) in bodies):
            return False
    return True


def _but_for_const(function: Function) -> list[str]:
    return [text for text in function.definition.body.texts if text != "const"]


def _telling(unit: TranslationUnit, dialect: Dialect) -> frozenset[str]:
    """Words by which a function may share memory, wait or order threads, take any number of arguments or keep a value;
    and the functions of headers."""
    return (
        library_names.sharing_or_waiting(dialect) | unit.shared_names | unit.header_functions | KEPT | {"..."}
    )


def _own(function: Function) -> frozenset[str]:
    """Its template parameters, and those of its parameters that may be more than numbers."""
    found = set(template_parameters(function))
    for each in function.parameters or ():
        for declarator in each.declarators:
            if declarator.pointers or declarator.dims or each.names:
                found.add(declarator.name)
    return frozenset(found)
