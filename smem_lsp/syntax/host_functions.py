"""What the functions of libraries are and do that host code calls, as the stub files declare it (``syntax/stubs.py``).

Names of the API stand there as CUDA has them; what a dialect calls them says ``targets/dialects.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.source.queries import remembered
from smem_lsp.source.regex import regex
from smem_lsp.syntax import stubs
from smem_lsp.syntax.stubs import Stub

_LIBRARY = "std.cuh"  # holds what is not of the API
_VERSION = regex(r"(?:_v\d+|_ptsz|_ptds)+\Z")
_NO_SIZES = "CUlaunchConfig"  # a launch that gets one: what it holds is not followed


@remembered(most=4096)
def declared(*names: str) -> Stub | None:
    """The declaration of a function that has one of these last names; None: none is known."""
    found = (stubs.host().named(_VERSION.sub("", each)) for each in names)
    return next((each[0] for each in found if each), None)


@remembered(most=4096)
def of_library(name: str) -> Sequence[Stub]:
    """The functions of this name of the C and C++ libraries."""
    return [each for each in stubs.host().named(name) if each.file == _LIBRARY]


def reads_values(name: str) -> bool:
    """Is it a function of those libraries that leaves what it gets by its name as it is?"""
    found = of_library(name)
    return bool(found) and not any(each.has("forwards", "writes", "updates") for each in found)


def makes_parts(name: str) -> bool:
    """Is what it makes the list of what it gets: ``std::make_pair(1, 2)``?"""
    return any(each.value == "parts" for each in of_library(name))


def is_of_library(stub: Stub) -> bool:
    """Does a declaration belong to those libraries, and not to the API?"""
    return stub.file == _LIBRARY


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
