"""Which files of a project lend their context to another one, the best first."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable
from operator import itemgetter

from smem_lsp.environment.project_index import ProjectIndex
from smem_lsp.source import checkpoint
from smem_lsp.source.regex import regex

MOST = 32  # files that name a kernel
_MAX_TRIED = 256  # files that may be given, looked at closely: the nearest
_MAX_COMPARED = 1_000  # main files whose macros are compared: the best
_MAX_WORDS = 1_000_000  # code points of a header in which words are looked for

_MAIN = (".cu", ".hip", ".cpp", ".cc", ".cxx", ".cui")
_DEVICE = (".cu", ".cuh", ".hip", ".cui")
_WORD = regex(r"\w+")


def includers(
    index: ProjectIndex, path: str, text: str, compiled: Callable[[Collection[str]], Collection[str]]
) -> tuple[str, ...]:
    """The main files through whose units ``path`` is read; itself, if it is compiled by itself as well. ``compiled``:
    those of some files that have a compile command.

    First those with a compile command, then those that make something else of the header than the ones before, then
    those that launch its kernels, then those that include it directly, then the nearest ones.
    """
    above = index.above(path)
    mains = [each for each in above if not _is_included(index, each)]
    mains += compiled([each for each in above if each.endswith(_MAIN) and _is_included(index, each)])
    if not mains:  # they all include each other: any of them may be where the compiler starts
        mains = [each for each, inner in above.items() if inner == path]
    if above:
        mains += compiled([path])
        above = {**above, path: path}
    with_command = set(compiled(mains))
    kernels = frozenset(index.files[path].summary.defined) if path in index.files else frozenset()
    launching = {each for name in kernels for each in index.using.get(name, ())}
    words = frozenset(_WORD.findall(text[:_MAX_WORDS]))

    def rank(each: str) -> tuple[bool, bool, bool, bool, int]:
        return (
            each not in with_command,
            each not in launching,
            above[each] != path,
            not each.endswith(_DEVICE),
            _distance(each, path),
        )

    ranked = sorted((*rank(each), each) for each in mains)
    return _spread(
        [(each[0], each[-1]) for each in ranked[:_MAX_COMPARED]],
        lambda each: _makes(index, each, above, path, words, kernels),
        _MAX_COMPARED,
    )


def _is_included(index: ProjectIndex, path: str) -> bool:
    return path in index.includers


def _makes(
    index: ProjectIndex,
    main: str,
    above: dict[str, str],
    path: str,
    words: frozenset[str],
    kernels: frozenset[str],
) -> Hashable:
    """The macros and instances on the way from ``main`` to ``path`` that ``path`` has a word for, and the kernels of
    ``path`` that are launched there."""
    found: set[str] = set()
    here = main
    while here != path:
        summary = index.files[here].summary
        found.update(each for each in summary.macros if each.partition("=")[0] in words)
        found.update(
            each for each in summary.used if _name(each) in kernels or ("<" in each and _name(each) in words)
        )
        here = above[here]
    return frozenset(found)


def naming(index: ProjectIndex, path: str, names: Collection[str]) -> tuple[str, ...]:
    """The files that launch, instantiate or declare a kernel of ``path`` and do not include it; the nearest first, and
    those that only declare it last."""
    around = {path, *index.above(path)}
    ranks: dict[str, int] = {}
    for name in dict.fromkeys(names):
        nearest = _nearest(index.defining.get(name, ()), path)
        using = index.using.get(name, ()), index.using.get(f"&{name}", ()), index.declaring.get(name, ())
        tried = sorted({*using[0], *using[1], *using[2]} - around, key=lambda each: _distance(each, path))
        for each in tried[:_MAX_TRIED]:
            if each in ranks and ranks[each] == 0:
                continue
            if path in index.defining.get(name, ()) and not nearest(each):
                continue
            rank = _names_it(index, each, name)
            if rank is not None:
                ranks[each] = min(rank, ranks.get(each, rank))
    ranked = sorted((rank, _distance(each, path), each) for each, rank in ranks.items())
    wanted = frozenset(names)
    return _spread(
        [(rank, each) for rank, _, each in ranked],
        lambda each: frozenset(used for used in index.files[each].summary.used if _name(used) in wanted),
        MOST,
    )


def _nearest(defining: Collection[str], path: str) -> Callable[[str], bool]:
    """Is ``path`` the nearest of the files that define a kernel, or one of them?"""

    def holds(file: str) -> bool:
        own = _distance(file, path)
        return all(_distance(file, other) >= own for other in list(defining)[:_MAX_TRIED])

    return holds


def _names_it(index: ProjectIndex, file: str, name: str) -> int | None:
    """0: ``file`` uses the kernel and sees a declaration, 1: sees none, 2: declares it only; None: it has its own
    kernel of that name, or none."""
    checkpoint()
    reads = {file, *index.below(file)}
    if not reads.isdisjoint(index.defining.get(name, ())):
        return None
    declared = not reads.isdisjoint(index.declaring.get(name, ()))
    used = {_name(each): each for each in index.files[file].summary.used if _name(each) == name}
    if used and declared:
        return 0
    if any(_name(each) == name and each[0] != "&" for each in index.files[file].summary.used):
        return 1
    return 2 if name in index.files[file].summary.declared else None


def _name(used: str) -> str:
    return used.partition("<")[0].lstrip("&")


def _spread(
    ranked: Iterable[tuple[Hashable, str]], makes: Callable[[str], Hashable], most: int
) -> tuple[str, ...]:
    """The files, those of one first rank together; within it, one of each kind before the second of any."""
    tiers: dict[Hashable, int] = {}
    seen: Counter[Hashable] = Counter()
    found: list[tuple[int, int, str]] = []
    for tier, path in ranked:
        checkpoint()
        kind = makes(path)
        found.append((tiers.setdefault(tier, len(tiers)), seen[kind], path))
        seen[kind] += 1
    return tuple(path for _, _, path in sorted(found, key=itemgetter(0, 1))[:most])


def _distance(path: str, other: str) -> int:
    """How many folders lie between two files."""
    parts, others = path.split(os.sep), other.split(os.sep)  # noqa: PTH206  (Path takes ten times as long)
    shared = 0
    while parts[shared : shared + 1] == others[shared : shared + 1] != []:
        shared += 1
    return max(0, len(parts) + len(others) - 2 - 2 * shared)
