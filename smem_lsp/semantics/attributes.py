"""The attributes of declarations by which authors tell what a function does whose body is not in sight (``stubs`` in
the settings, or a header of their own), and what is wrong with a file of such declarations.

``[[smem::reads(p, n)]] void helper(const float* p, int n);``. A function with attributes does what they say, and
nothing else. ``syntax/stubs.py`` lists those of our own files, of which authors may use ``FOR_AUTHORS``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from smem_lsp.semantics.collect import collect, inside
from smem_lsp.semantics.declarations import ClassDecl, Declared, DeclaredNames, FunctionDecl, Source
from smem_lsp.semantics.redeclarations import parameter_names
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax import symbols
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.lexer import lex
from smem_lsp.syntax.stubs import Attribute, written

FOR_AUTHORS = ("pure", "impure", "reads", "writes", "updates", "barrier")
BARRIERS = ("block", "warp")
SOME = "some"

_EFFECTS = ("reads", "writes", "updates")
_FORM = regex(r"smem::\w+(?:\([^()]*\))?(?:,smem::\w+(?:\([^()]*\))?)*")
_ONCE = "#pragma once"
_DEEPEST = 40  # namespaces in each other


@dataclass(frozen=True, slots=True)
class AttributeProblem:
    """``line``: from 1."""

    line: int
    what: str


def attributes_of(decl: FunctionDecl) -> Sequence[Attribute]:
    """What is stated of a function; empty where nothing is."""
    texts = decl.source.texts[slice(*decl.head)]
    return written("".join(texts)) if "smem" in texts else ()


@remembered(most=64)
def problem_of(text: str) -> AttributeProblem | None:
    """The first thing in a file of stubs that is none; None: all of it is understood."""
    tokens = lex(text)
    names = symbols.Names()
    symbols.collect(tokens.kinds, tokens.texts, names)
    source = Source(tokens.kinds, tokens.texts, match_brackets(tokens.kinds), names.symbols())
    for lo, hi in _declarations(source, 0, len(tokens.kinds)):
        found = _judged(source, lo, hi)
        if found is not None:
            at, what = found
            return AttributeProblem(text.count("\n", 0, tokens.offsets[at]) + 1, what)
    return None


def _declarations(source: Source, lo: int, hi: int, depth: int = 0) -> Iterator[tuple[int, int]]:
    """The token ranges of the declarations of a file, those in its namespaces one by one."""
    at = lo
    while at < hi:
        checkpoint()
        end = at
        while end < hi and source.kinds[end] not in ("SEMI", "LC") and not _is_directive(source, end):
            end = source.after(end) if source.kinds[end] in ("LP", "LB") else end + 1
        if end < hi and source.kinds[end] == "LC" and source.kinds[at] == "NAMESPACE" and depth < _DEEPEST:
            close = source.after(end)
            yield from _declarations(source, end + 1, close - 1, depth + 1)
            at = close
            continue
        if end < hi and source.kinds[end] == "LC":
            end = source.after(end)
            end += source.kinds[end : end + 1] == ["SEMI"]
        else:
            end = min(end + 1, hi)
        yield at, end
        at = end


def _is_directive(source: Source, at: int) -> bool:
    return source.texts[at].startswith("#")


def _judged(source: Source, lo: int, hi: int) -> tuple[int, str] | None:
    """What is wrong with one declaration, and the token at which it is."""
    if _is_directive(source, lo):
        return None if _is_once(source, lo) else (lo, _meaningless(source, lo))
    found = DeclaredNames()
    collect(source, lo, hi, found)
    decls = list(found.walk())
    if found.odd or not decls or source.kinds[hi - 1] not in ("SEMI", "RC"):
        return lo, "no declaration that is understood"
    directive = next((at for at in range(lo, hi) if _is_directive(source, at)), None)
    if directive is not None:
        return directive, _meaningless(source, directive)
    whats = ((decl, _wrong_of(decl)) for decl in decls)
    return next(((_place(decl, lo), what) for decl, what in whats if what is not None), None)


def _is_once(source: Source, at: int) -> bool:
    return " ".join(source.texts[at].split()) == _ONCE


def _meaningless(source: Source, at: int) -> str:
    return f"{source.texts[at].split()[0]} has no meaning in a file of declarations"


def _place(decl: Declared, otherwise: int) -> int:
    return decl.head[0] if isinstance(decl, FunctionDecl) else otherwise


def _wrong_of(decl: Declared, depth: int = 0) -> str | None:
    """What is wrong with a function, or with a member of a class."""
    if isinstance(decl, FunctionDecl):
        return _wrong(decl)
    if not isinstance(decl, ClassDecl) or decl.body is None or depth > _DEEPEST:
        return None
    members = [each for group in inside(decl).names.values() for each in group]
    return next((what for each in members if (what := _wrong_of(each, depth + 1)) is not None), None)


def _wrong(decl: FunctionDecl) -> str | None:
    """What is wrong with the declaration of a function."""
    if decl.body is not None:
        return f"{decl.name} has a body: a file of declarations holds no code"
    names = parameter_names(decl)
    texts = decl.source.texts[slice(*decl.head)]
    whole = "".join(texts)
    if "smem" in texts and not _FORM.fullmatch(whole[whole.find("[[") + 2 : whole.find("]]")]):
        return f"the attributes of {decl.name} do not have the form [[smem::name(arguments), ...]]"
    for each in attributes_of(decl):
        if each.name not in FOR_AUTHORS:
            near = difflib.get_close_matches(each.name, FOR_AUTHORS, n=1)
            known = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(FOR_AUTHORS)}"
            return f'{decl.name} has the unknown attribute "smem::{each.name}", {known}'
        if each.name in _EFFECTS:
            count = each.arguments[1] if len(each.arguments) == 2 else SOME
            if not each.arguments or len(each.arguments) > 2 or each.arguments[0] not in names:
                return f"smem::{each.name} of {decl.name} names no parameter of it: use {each.name}(parameter, count)"
            if count != SOME and not count.isdecimal() and count not in names:
                return f'smem::{each.name} of {decl.name} has the count "{count}": use a number, a parameter or "some"'
        elif each.name == "barrier" and (len(each.arguments) != 1 or each.arguments[0] not in BARRIERS):
            return f"smem::barrier of {decl.name} is of no known threads: use barrier(block) or barrier(warp)"
        elif each.name in ("pure", "impure") and each.arguments:
            return f"smem::{each.name} of {decl.name} takes no arguments"
    return None
