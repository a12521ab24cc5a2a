"""What the functions of libraries are and do that host code calls, as the stub files declare it (``syntax/stubs.py``).

Names of the API stand there as CUDA has them; each dialect spells them in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.source.queries import remembered
from smem_lsp.source.regex import regex
from smem_lsp.syntax import stubs
from smem_lsp.syntax.stubs import Stub
from smem_lsp.targets.dialects import CUDA, DIALECTS, Dialect

_LIBRARY = "std.cuh"  # holds what is not of the API
_VERSION = regex(r"(?:_v\d+|_ptsz|_ptds)+\Z")
_KEEPING = ("launch", "callback")
_NO_SIZES = "CUlaunchConfig"  # a launch that gets one: what it holds is not followed


# ---- the API ---------------------------------------------------------------------------------------------------------


def is_of_api(name: str, dialect: Dialect) -> bool:
    """Does a function belong to the runtime or the driver API, by its name?"""
    return any(True for _ in _canonical(name, dialect))


@remembered(most=4096)
def of_api(name: str, dialect: Dialect) -> Stub | None:
    """The declaration of a function of the API; None: none, or one of which nothing is known."""
    found = (stubs.host().named(_VERSION.sub("", each)) for each in _canonical(name, dialect))
    return next((each[0] for each in found if each), None)


def spellings(canonical: str, dialect: Dialect) -> Iterator[str]:
    """What a dialect calls a name of the stub files that is one of the API."""
    for prefix, own in _prefixes(dialect):
        rest = canonical.removeprefix(own)
        if rest != canonical and rest[:1].isupper():
            yield prefix + rest


def _canonical(name: str, dialect: Dialect) -> Iterator[str]:
    for prefix, own in _prefixes(dialect):
        rest = name.removeprefix(prefix)
        if rest != name and rest[:1].isupper():
            yield own + rest


def _prefixes(dialect: Dialect) -> Sequence[tuple[str, str]]:
    """What the names of the API begin with in a dialect, and in the stub files."""
    runtime = [(each, CUDA.runtime_api[0]) for each in dialect.runtime_api]
    return (*runtime, (dialect.driver_api, CUDA.driver_api))


# ---- all of it -------------------------------------------------------------------------------------------------------


@remembered(most=4096)
def declared(name: str) -> Stub | None:
    """The declaration of a function by its last name, of the API in any dialect; None: none is known."""
    found = stubs.host().named(name)
    if found:
        return found[0]
    return next((stub for each in DIALECTS if (stub := of_api(name, each)) is not None), None)


@remembered(most=4096)
def of_library(name: str) -> Sequence[Stub]:
    """The functions of this name of the C and C++ libraries."""
    return [each for each in stubs.host().named(name) if each.file == _LIBRARY]


def reads_values(name: str) -> bool:
    """Is it a function of those libraries that leaves what it gets by its name as it is?"""
    found = of_library(name)
    return bool(found) and not any(each.has("forwards") for each in found)


def makes_parts(name: str) -> bool:
    """Is what it makes the list of what it gets: ``std::make_pair(1, 2)``?"""
    return any(each.value == "parts" for each in of_library(name))


def asks_only(name: str) -> bool:
    """Is it a function of the API that keeps no address of what it gets?"""
    found = declared(name)
    return found is not None and found.file != _LIBRARY and found.argument("model") not in _KEEPING


@remembered(most=1)
def endings() -> frozenset[str]:
    """Functions that never return."""
    return stubs.host().modelled("ending")


@remembered(most=1)
def launch_calls() -> frozenset[str]:
    """Functions that launch a kernel with sizes that are followed."""
    launches = stubs.host().modelled("launch")
    return frozenset(
        each.name
        for each in stubs.host().all
        if each.name in launches and _NO_SIZES not in (each.parameters or "")
    )


@remembered(most=1)
def kernel_getters() -> frozenset[str]:
    """Functions that look up a kernel by the name in a string: ``cuModuleGetFunction(&f, module, "scale")``."""
    return stubs.host().modelled("get_kernel")


# ---- methods, by their names -----------------------------------------------------------------------------------------


@remembered(most=1)
def reading_methods() -> frozenset[str]:
    """Methods that leave their object as it is."""
    return frozenset(each.name for each in stubs.host().all if each.const)


@remembered(most=1)
def keeping_methods() -> frozenset[str]:
    """Methods that hand on nothing that a container holds."""
    return frozenset(each.name for each in stubs.host().all if each.member and each.has("keeps"))


@remembered(most=1)
def standard_methods() -> frozenset[str]:
    """Methods of the standard library: they wait for no device."""
    return frozenset(each.name for each in stubs.host().all if each.member and "std" in each.around)
