"""Files of the settings that declare what functions do whose bodies are not in sight (``stubs``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from smem_lsp.semantics.attributes import problem_of


def wrong_stubs(paths: Iterable[str], read: Callable[[str], str]) -> list[tuple[str, str]]:
    """(file, with its line where it has one; what is wrong) for each file that cannot be used. ``read``: the text of
    one; it raises ValueError, with the reason, where there is none."""
    found: list[tuple[str, str]] = []
    for path in paths:
        try:
            problem = problem_of(read(path))
        except ValueError as error:
            found.append((path, str(error)))
        else:
            if problem is not None:
                found.append((f"{path}:{problem.line}", problem.what))
    return found
