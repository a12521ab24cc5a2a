"""Host functions that compute what launches pass: numbers, and which kernel it is."""

from __future__ import annotations

from collections.abc import Collection

from smem_lsp.ir.tensor_maps import CLASSES
from smem_lsp.semantics.function_scope import parameters_of
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.targets.dialects import CUDA

_COUNTS = frozenset(
    ("auto", "int", "unsigned", "long", "size_t", "uint32_t", "int32_t", "uint64_t", "int64_t")
)
_STORED = _COUNTS - {"auto"} | {"dim3"} | CLASSES
_UNFOLLOWED = frozenset(("*", "&", "float", "double", "char", "short", "bool"))
_MOST_TOKENS = 300  # of a function that is followed for the number that it returns
_MOST_CHOICE_TOKENS = 3_000  # of a function that is followed for the kernel that it returns
_OTHERS = frozenset(("char", "short", "bool", CUDA.device, "*", "&"))


def counting_functions(unit: TranslationUnit) -> dict[str, Function]:
    """The size functions by name, without names that several functions of the file or its headers share."""
    found: dict[str, Function] = {}
    others = {function.name for file in unit.others for function in file.functions}
    names: set[str] = set(unit.header_functions - others)
    for function in unit.all_functions:
        if function.name in names:
            found.pop(function.name, None)
            continue
        names.add(function.name)
        definition = function.definition
        if definition.returns_only and not function.is_kernel and _counts(function):
            found[function.name] = function
    return found


def _counts(function: Function) -> bool:
    """Are its parameters values, and its result an integer of 32 bits or more?"""
    island = function.definition.island
    head = set(function.definition.tokens.texts[island.head : island.name])
    taken = {"*", "&", "&&", "...", "="}.isdisjoint(function.definition.parameters.texts)
    return taken and not head.isdisjoint(_COUNTS) and head.isdisjoint(_OTHERS) and not parameters_of(function)


def gives_number(function: Function) -> bool:
    """Does a host function return an integer, a ``dim3`` or a tensor map, as far as its head says?"""
    definition = function.definition
    island = definition.island
    head = set(definition.tokens.texts[island.head : island.name])
    short = len(definition.body.texts) <= _MOST_TOKENS
    return short and not head.isdisjoint(_COUNTS | {"dim3"} | CLASSES) and head.isdisjoint(_UNFOLLOWED)


def gives_object(function: Function, classes: Collection[str]) -> bool:
    """Does a host function return one of these classes by value, as far as its head says?"""
    definition = function.definition
    island = definition.island
    head = definition.tokens.texts[island.head : island.name]
    short = len(definition.body.texts) <= _MOST_TOKENS
    return (
        short and head[-1:] != ["::"] and not {"*", "&"} & set(head) and any(text in classes for text in head)
    )


def filled(function: Function) -> frozenset[int]:
    """The positions of the parameters in which a host function stores an integer, a ``dim3`` or a tensor map, as far as
    its head says: ``int& n``, and ``int* n`` where nothing but ``*n`` is used."""
    definition = function.definition
    texts = definition.parameters.texts
    if len(definition.body.texts) > _MOST_TOKENS or _STORED.isdisjoint(texts) or {"&", "*"}.isdisjoint(texts):
        return frozenset()
    if CUDA.device in definition.island.specifiers and "__host__" not in definition.island.specifiers:
        return frozenset()
    found: set[int] = set()
    for position, parameter in enumerate(function.parameters or ()):
        declarator = parameter.declarators[0] if len(parameter.declarators) == 1 else None
        if declarator is None or declarator.dims or "const" in parameter.words or not declarator.name:
            continue
        counts = not _STORED.isdisjoint(parameter.words)
        of_map = not CLASSES.isdisjoint(parameter.words)  # what else is done with one stores nothing
        only = declarator.pointers == ["*"] and (of_map or _only_pointed(function, declarator.name))
        if counts and (declarator.pointers == ["&"] or only):
            found.add(position)
    return frozenset(found)


def _only_pointed(function: Function, name: str) -> bool:
    """Is ``*name`` all that is done with a pointer?"""
    kinds, texts = function.definition.body.kinds, function.definition.body.texts
    starts = ("SEMI", "LC", "RC", "LP", "COMMA", "EQ", "")
    return all(
        kinds[at - 1 : at] == ["STAR"] and (kinds[at - 2] if at > 1 else "") in starts
        for at, text in enumerate(texts)
        if text == name
    )


def gives_dim3(function: Function) -> bool:
    """Does a host function return a ``dim3``, and not a pair of them?"""
    island = function.definition.island
    depth = 0
    for text in function.definition.tokens.texts[island.head : island.name]:
        if text == "dim3" and depth == 0:
            return True
        depth += {"<": 1, ">": -1, ">>": -2}.get(text, 0)
    return False


def gives_one_of(function: Function, kernels: frozenset[str]) -> bool:
    """May a host function return the address of one of these kernels?"""
    body = function.definition.body
    named = not kernels.isdisjoint(function.definition.body_words)
    return named and "RETURN" in body.kinds and len(body.texts) <= _MOST_CHOICE_TOKENS


def returned(function: Function) -> tuple[int, int] | None:
    """The tokens of its body that spell the returned expression."""
    statements = function.body.statements.statements
    first = statements[0] if len(statements) == 1 else None
    return first.chunk if isinstance(first, tree.JumpStatement) and first.kind == "return" else None
