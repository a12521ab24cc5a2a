"""Which of their arguments host functions may change, as far as their parameters tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from smem_lsp.semantics.declarations import DeclaredNames, FunctionDecl
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query
from smem_lsp.syntax.parse import TranslationUnit


def changed_arguments(unit: TranslationUnit, constants: Scope) -> Mapping[str, frozenset[int]]:
    """Functions with the positions of the arguments that they may change; those that nothing declares are missing."""
    declared = constants.declarations
    changed = _DECLARED.of(declared.store, (), lambda: _changed_by(_declared(declared)))
    own = ((f.name, f.definition.parameters.texts) for f in unit.all_functions)
    headers = {
        **dict.fromkeys(unit.header_functions),
        **dict.fromkeys(unit.header_by_value, frozenset[int]()),
    }
    known = {**headers, **changed}
    for name, positions in _changed_by(own).items():
        before = known.get(name, frozenset[int]())
        known[name] = None if positions is None or before is None else before | positions
    return {name: _ANY if positions is None else positions for name, positions in known.items()}


_ANY = frozenset(range(64))  # not known which
_Changed = dict[str, frozenset[int] | None]
_DECLARED = Query[tuple[()], _Changed]("arguments that declared functions may change", most=1)


def _declared(declarations: DeclaredNames) -> Iterator[tuple[str, Sequence[str]]]:
    for each in declarations.walk():
        if isinstance(each, FunctionDecl):
            yield each.name, each.source.texts[slice(*each.list)]


def _changed_by(functions: Iterable[tuple[str, Sequence[str]]]) -> _Changed:
    """Which of their arguments functions with these parameters, as tokens, may change; None: not known."""
    found: _Changed = {}
    for name, parameters in functions:
        checkpoint()
        known = found.get(name, frozenset())
        positions = _changed(parameters)
        found[name] = None if known is None or positions is None else known | positions
    return found


def _changed(parameters: Sequence[str]) -> frozenset[int] | None:
    """The positions of pointers and of references to what is not constant."""
    found: set[int] = set()
    start = position = depth = 0
    for at, text in enumerate(parameters):
        depth += (text in "([{<") - (text in ")]}>") - 2 * (text == ">>")
        if text == "...":
            return None
        if text in ("&&", "*", "[") or (text == "&" and "const" not in parameters[start:at]):
            found.add(position)
        if text == "," and depth == 0:
            start, position = at + 1, position + 1
    return frozenset(found) if depth == 0 else None  # a comparison in a default
