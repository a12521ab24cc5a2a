"""Sizes of the ``TempStorage`` of CUB's collectives without its headers.

Each function states what a collective keeps for one block or warp, as the headers declare it; the stub files declare
the classes, their template parameters and their algorithms. The layouts are those of
CUB 1.15 (CUDA 11.8) to 3.0 (CUDA 13.0), which agree; ``tests/semantics/test_cub_storage.py`` compiles them. What is not
stated here is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from smem_lsp.semantics.declarations import ClassDecl, TemplateParameter
from smem_lsp.semantics.stub_declarations import declaration
from smem_lsp.semantics.types import Size, builtin
from smem_lsp.source.queries import remembered
from smem_lsp.syntax import stubs

_WARP = 32  # threads
_BANKS = 32
_EMPTY: Size = (1, 1)
_WORDS = (16, 8, 4, 2, 1)  # bytes that raw storage is made of
_DIGIT = 2  # bytes of the counter of a digit
_FEWEST_PADDED = 4  # items per thread: with more, a power of two, an exchange is padded
MAX_BYTES = 1 << 24  # no storage is as large
MAX_THREADS = 1024  # of a block

_COMMUTATIVE, _RAKING, _WARP_REDUCTIONS = 0, 1, 2  # of BlockReduce
_MEMOIZED, _WARP_SCANS = 1, 2  # of BlockScan
_SORTED = 0  # of BlockHistogram
_TRANSPOSED, _TIME_SLICED = 3, 5  # of BlockLoad and BlockStore: from here on, and the last

# ---- how storage is put together -------------------------------------------------------------------------------------


def _array(element: Size, count: int) -> Size:
    return element[0] * count, element[1]


def _struct(*members: Size, align: int = 1) -> Size:
    end = 0
    for size, own in members:
        end = -(-end // own) * own + size
        align = max(align, own)
    return -(-max(end, 1) // align) * align, align


def _union(*members: Size) -> Size:
    align = max(own for _, own in members)
    return -(-max(size for size, _ in members) // align) * align, align


def raw(held: Size) -> Size:
    """``cub::Uninitialized<T>``: an array of the largest words that T consists of."""
    size, align = held
    return size, next(word for word in _WORDS if size % word == 0 and align % word == 0)


def pair(key: Size, value: Size) -> Size:
    """``cub::KeyValuePair<K, V>``."""
    return _struct(key, value)


# ---- warps -----------------------------------------------------------------------------------------------------------


def _power_of_two(n: int) -> bool:
    return n & (n - 1) == 0


def _half(lanes: int) -> int:
    """Half of the lanes, rounded up to a power of two."""
    return 1 << ((lanes - 1).bit_length() - 1)


def _warp_reduce(element: Size, lanes: int) -> Size:
    """Lanes exchange values by shuffles where their number is a power of two."""
    if _power_of_two(lanes):
        return _EMPTY
    places = lanes + _half(lanes)
    return raw(_struct(_array(element, places), _array(_EMPTY, places)))


def _warp_scan(element: Size, lanes: int) -> Size:
    return _EMPTY if _power_of_two(lanes) else raw(_array(element, lanes + _half(lanes)))


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _warps(threads: int) -> int:
    return -(-threads // _WARP)


class _Grid(NamedTuple):
    """What raking threads walk over."""

    size: Size
    rakers: int  # threads


def _raking_grid(element: Size, threads: int) -> _Grid:
    segment = -(-threads // min(threads, _WARP))
    rakers = -(-threads // segment)
    padded = segment % 2 == 0 and segment > 2
    held = _struct(_array(element, rakers * (segment + padded)), align=16)
    return _Grid(raw(held), rakers)


def _block_reduce(element: Size, threads: int, algorithm: int) -> Size:
    if algorithm == _WARP_REDUCTIONS:
        inner = _array(_warp_reduce(element, min(threads, _WARP)), _warps(threads))
        return raw(_struct(inner, _array(element, _warps(threads)), element))
    grid = _raking_grid(element, threads)
    fallback = raw(_union(_warp_reduce(element, grid.rakers), grid.size))
    if algorithm == _RAKING:
        return raw(fallback)
    shared = _raking_grid(element, max(1, threads - _WARP)).size
    return raw(_union(_struct(_warp_reduce(element, _WARP), shared), fallback))


def _block_scan(element: Size, threads: int, algorithm: int) -> Size:
    if algorithm == _WARP_SCANS and threads % _WARP == 0:
        warps = _warps(threads)
        lanes = _array(_warp_scan(element, _WARP), warps)
        return raw(_struct(_array(element, warps), lanes, element, align=32))
    grid = _raking_grid(element, threads)
    return raw(_struct(_warp_scan(element, grid.rakers), grid.size, element))


def _exchange(element: Size, threads: int, items: int, *, sliced: bool) -> Size:
    places = (min(threads, _WARP) if sliced else threads) * items
    if items > _FEWEST_PADDED and _power_of_two(items):
        places += places // _BANKS
    return raw(_struct(_array(element, places), align=16))


def _load(element: Size, threads: int, items: int, algorithm: int) -> Size:
    if algorithm < _TRANSPOSED:
        return _EMPTY
    return _exchange(element, threads, items, sliced=algorithm == _TIME_SLICED)


def _store(element: Size, threads: int, items: int, algorithm: int) -> Size:
    """As for a load, with the number of valid items."""
    if algorithm < _TRANSPOSED:
        return _EMPTY
    return raw(_struct(_load(element, threads, items, algorithm), (4, 4)))


def _radix_rank(threads: int, bits: int, scan: int, bank: int) -> Size:
    counter = 8 if bank == 2 else 4  # bytes; cudaSharedMemBankSizeEightByte is 2
    ratio = counter // _DIGIT
    lanes = (1 << max(bits - (ratio.bit_length() - 1), 0)) + 1
    counters = _union((lanes * threads * counter, _DIGIT), (lanes * threads * counter, counter))
    return raw(_struct(counters, _block_scan((counter, counter), threads, scan), align=16))


def _radix_sort(key: Size, threads: int, items: int, value: Size, bits: int, scan: int, bank: int) -> Size:
    exchanges = (_exchange(each, threads, items, sliced=False) for each in (key, value))
    return raw(_union(_radix_rank(threads, bits, scan, bank), *exchanges))


def _ends(element: Size, threads: int) -> Size:
    """BlockDiscontinuity and BlockAdjacentDifference: the first and the last item of each thread."""
    return raw(_struct(_array(element, threads), _array(element, threads)))


def _histogram(element: Size, threads: int, items: int, bins: int, algorithm: int) -> Size:
    if algorithm != _SORTED:
        return _EMPTY
    sort = _radix_sort(element, threads, items, _EMPTY, 4, _WARP_SCANS, 1)
    counts = _array((4, 4), bins)
    return raw(_union(sort, _struct(_ends(element, threads), counts, counts)))


def _merge_sort(key: Size, threads: int, items: int, value: Size) -> Size:
    places = threads * items + 1
    return raw(_union(_array(key, places), _array(value, places)))


def _run_length_decode(item: Size, threads: int, runs: int, offset: Size) -> Size:
    held = _struct(_array(item, threads * runs), _array(offset, threads * runs))
    return raw(_union(_block_scan(offset, threads, _MEMOIZED), held))


# ---- the classes -----------------------------------------------------------------------------------------------------

_T: Size = (0, 1)  # stands for a type without a default
Given = Size | int | None  # an argument: of a type, its size; None: unknown


_STORAGES: Mapping[str, Callable[..., Size]] = {
    "block_reduce": _block_reduce,
    "block_scan": _block_scan,
    "block_load": _load,
    "block_store": _store,
    "block_exchange": lambda t, n, items, sliced: _exchange(t, n, items, sliced=bool(sliced)),
    "block_radix_sort": lambda key, n, items, value, bits, _memoize, scan, bank: _radix_sort(
        key, n, items, value, bits, scan, bank
    ),
    "block_histogram": _histogram,
    "block_ends": _ends,
    "block_merge_sort": _merge_sort,
    "block_shuffle": lambda t, n: raw(_array(t, n)),
    "block_run_length_decode": lambda item, n, runs, _decoded, offset: _run_length_decode(
        item, n, runs, offset
    ),
    "warp_reduce": _warp_reduce,
    "warp_scan": lambda t, lanes: raw(_warp_scan(t, lanes)),
    "warp_merge_sort": lambda key, items, lanes, value: _merge_sort(key, lanes, items, value),
}
STORAGES = frozenset(_STORAGES)
"""Every ``storage(...)`` of the stub files that has code."""

_BLOCK = "BLOCK_DIM_X"  # the second parameter of what a block does; the last two are y and z


class _Collective(NamedTuple):
    """``defaults``: of the parameters, None for those that have none; ``of_block``: it is no warp's."""

    defaults: tuple[Given, ...]
    storage: Callable[..., Size]
    of_block: bool


@remembered(most=1)
def classes() -> Mapping[str, _Collective]:
    """The class templates of CUB whose storage is known, as the stub files declare them."""
    found: dict[str, _Collective] = {}
    for stub in stubs.own().all:
        storage = stub.argument("storage") if "storage(" in stub.written else None
        decl = declaration(stub) if storage is not None else None
        if storage is not None and isinstance(decl, ClassDecl):
            parameters = decl.parameters or ()
            block = any(each.name == _BLOCK for each in parameters)
            found[stub.name] = _Collective(tuple(map(_default, parameters)), _STORAGES[storage], block)
    return found


def enumerators() -> Mapping[str, int]:
    """The algorithms of CUB."""
    return {name: n for name, n in stubs.own().enumerators.items() if name.startswith("BLOCK_")}


def _default(parameter: TemplateParameter) -> Given:
    """The default of a template parameter, as ``storage`` takes it; None: it has none."""
    if parameter.default is None:
        return _T if parameter.kind == "type" else None
    (text,) = parameter.source.texts[slice(*parameter.default)]
    if parameter.kind == "type":
        kind = builtin(text)
        return _EMPTY if kind is None else (kind.size, kind.align)
    if text in _TRUTHS:
        return _TRUTHS.index(text)
    return int(text) if text.isdecimal() else stubs.own().enumerators[text]


_TRUTHS = ("false", "true")


def storage(name: str, given: Sequence[Given]) -> tuple[int, int, bool] | None:
    """(size, alignment, kept) of ``cub::NAME<given…>::TempStorage`` in bytes; None: unknown. A template argument is the
    size of a type, or a number. ``kept``: more than one warp uses it, so that no compiler drops a part of it (measured
    with nvcc 13.0)."""
    collective = classes()[name]
    arguments = list(given[: len(collective.defaults)])
    arguments += collective.defaults[len(arguments) :]
    for argument, default in zip(arguments, collective.defaults):
        if argument in (None, _T) or isinstance(argument, int) != (not isinstance(default, tuple)):
            return None
    numbers = [each for each in arguments if isinstance(each, int)]
    if any(not 0 <= each <= MAX_BYTES for each in numbers):
        return None
    threads = _WARP
    if collective.of_block:
        *arguments, y, z = arguments
        assert isinstance(arguments[1], int) and isinstance(y, int) and isinstance(z, int)
        arguments[1] = threads = arguments[1] * y * z
        if not 0 < threads <= MAX_THREADS:
            return None
    elif not all(0 < each <= MAX_BYTES for each in numbers):
        return None
    size, align = collective.storage(*arguments)
    several = collective.of_block and threads > _WARP and (size, align) != _EMPTY
    return (size, align, several) if size <= MAX_BYTES else None
