"""Which of two function templates is more specialised, by how their parameters are spelled ([temp.func.order])."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from smem_lsp.syntax import tree

_FREE, _PART, _WHOLE = range(3)  # `T`; `T*`, `T (&)[N]`, `C<T>`; a type without a template parameter


def more_special(
    one: tuple[Sequence[tree.Declaration], Collection[str]],
    other: tuple[Sequence[tree.Declaration], Collection[str]],
) -> bool | None:
    """Is the first of two templates that take some arguments equally well more specialised? Each as its parameters for
    these arguments, and the names of its template parameters. None: not known."""
    forms = [[_form(each, own) for each in parameters] for parameters, own in (one, other)]
    pairs = list(zip(*forms))
    if any(a == b == _PART for a, b in pairs):
        return None
    if any(a != b for a, b in pairs):
        return all(a >= b for a, b in pairs)
    kinds = [
        {word for each in parameters for word in each.words if word in own}
        for parameters, own in (one, other)
    ]
    return len(kinds[0]) < len(kinds[1])


def are_alike(
    one: tuple[Sequence[tree.Declaration], Collection[str]],
    other: tuple[Sequence[tree.Declaration], Collection[str]],
) -> bool:
    """Do two templates take some arguments by parameters of the same forms? Each as in ``more_special``."""
    forms = [
        [
            (_form(each, own), [*each.declarators[0].pointers], len(each.declarators[0].dims))
            for each in parameters
        ]
        for parameters, own in (one, other)
    ]
    return forms[0] == forms[1]


def _form(parameter: tree.Declaration, own: Collection[str]) -> int:
    declarator = parameter.declarators[0]
    if any(name.templated for name in parameter.names):
        return _PART
    if not any(word in own for word in parameter.words):
        return _WHOLE
    return _PART if "*" in declarator.pointers or declarator.dims else _FREE
