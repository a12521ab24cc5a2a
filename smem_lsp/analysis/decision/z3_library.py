"""The functions of Z3's C library that questions need.

Its Python package declares 700 more and wraps each: importing it takes 35 ms, a tenth of the check of a small file. And
it looks for the library in the current folder first, which may be that of a checked project.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from ctypes import CDLL, POINTER, c_bool, c_char_p, c_int, c_uint, c_void_p
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from smem_lsp.source.queries import remembered

_NAME = {"win32": "libz3.dll", "cygwin": "libz3.dll", "darwin": "libz3.dylib"}.get(sys.platform, "libz3.so")

_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {  # what they return, what they take
    "Z3_mk_config": (c_void_p, ()),
    "Z3_del_config": (None, (c_void_p,)),
    "Z3_mk_context_rc": (c_void_p, (c_void_p,)),
    "Z3_del_context": (None, (c_void_p,)),
    "Z3_set_error_handler": (None, (c_void_p, c_void_p)),
    "Z3_get_error_code": (c_uint, (c_void_p,)),
    "Z3_get_error_msg": (c_char_p, (c_void_p, c_uint)),
    "Z3_interrupt": (None, (c_void_p,)),
    "Z3_update_param_value": (None, (c_void_p, c_char_p, c_char_p)),
    "Z3_mk_parser_context": (c_void_p, (c_void_p,)),
    "Z3_parser_context_inc_ref": (None, (c_void_p, c_void_p)),
    "Z3_parser_context_from_string": (c_void_p, (c_void_p, c_void_p, c_char_p)),
    "Z3_parse_smtlib2_string": (
        c_void_p,
        (c_void_p, c_char_p, c_uint, c_void_p, c_void_p, c_uint, c_void_p, c_void_p),
    ),
    "Z3_ast_vector_inc_ref": (None, (c_void_p, c_void_p)),
    "Z3_ast_vector_dec_ref": (None, (c_void_p, c_void_p)),
    "Z3_ast_vector_size": (c_uint, (c_void_p, c_void_p)),
    "Z3_ast_vector_get": (c_void_p, (c_void_p, c_void_p, c_uint)),
    "Z3_mk_string_symbol": (c_void_p, (c_void_p, c_char_p)),
    "Z3_mk_params": (c_void_p, (c_void_p,)),
    "Z3_params_inc_ref": (None, (c_void_p, c_void_p)),
    "Z3_params_dec_ref": (None, (c_void_p, c_void_p)),
    "Z3_params_set_uint": (None, (c_void_p, c_void_p, c_void_p, c_uint)),
    "Z3_params_set_bool": (None, (c_void_p, c_void_p, c_void_p, c_bool)),
    "Z3_mk_simple_solver": (c_void_p, (c_void_p,)),
    "Z3_solver_inc_ref": (None, (c_void_p, c_void_p)),
    "Z3_solver_dec_ref": (None, (c_void_p, c_void_p)),
    "Z3_solver_set_params": (None, (c_void_p, c_void_p, c_void_p)),
    "Z3_solver_assert": (None, (c_void_p, c_void_p, c_void_p)),
    "Z3_solver_check": (c_int, (c_void_p, c_void_p)),
    "Z3_solver_get_model": (c_void_p, (c_void_p, c_void_p)),
    "Z3_solver_get_statistics": (c_void_p, (c_void_p, c_void_p)),
    "Z3_stats_inc_ref": (None, (c_void_p, c_void_p)),
    "Z3_stats_dec_ref": (None, (c_void_p, c_void_p)),
    "Z3_stats_size": (c_uint, (c_void_p, c_void_p)),
    "Z3_stats_get_key": (c_char_p, (c_void_p, c_void_p, c_uint)),
    "Z3_stats_get_uint_value": (c_uint, (c_void_p, c_void_p, c_uint)),
    "Z3_model_inc_ref": (None, (c_void_p, c_void_p)),
    "Z3_model_dec_ref": (None, (c_void_p, c_void_p)),
    "Z3_model_eval": (c_bool, (c_void_p, c_void_p, c_void_p, c_bool, POINTER(c_void_p))),
    "Z3_mk_int_sort": (c_void_p, (c_void_p,)),
    "Z3_mk_const": (c_void_p, (c_void_p, c_void_p, c_void_p)),
    "Z3_inc_ref": (None, (c_void_p, c_void_p)),
    "Z3_dec_ref": (None, (c_void_p, c_void_p)),
    "Z3_get_numeral_string": (c_char_p, (c_void_p, c_void_p)),
}
_CANNOT_FAIL = ("Z3_mk_config", "Z3_del_config", "Z3_mk_context_rc", "Z3_del_context", "Z3_set_error_handler")


class Z3Error(Exception):
    """The library could not do what it was told: a defect of ours, or its memory is used up."""


@remembered(most=1)
def library() -> Any:
    """Each function by its name; a call that fails raises Z3Error. None: it is not installed."""
    return load()


def load() -> Any:
    """The same, looked for anew."""
    for place in _places():
        try:
            return _declared(CDLL(place))
        except (OSError, AttributeError):  # no library, or one that lacks a function
            continue
    return None


def _places() -> Iterator[str]:
    """Absolute paths of where it is: in its Python package, as it comes from PyPI; among the libraries that were
    installed with it; where those of the system are.

    Its name alone, for the system to find, may lead to the current folder: by an empty part of ``LD_LIBRARY_PATH``, or
    without one. Neither does the package count that an empty or relative part of ``sys.path`` leads to.
    """
    package = PathFinder.find_spec(
        "z3", [each for each in sys.path if Path(each).is_absolute()]
    )  # imports nothing
    folders: list[Path] = []
    for each in () if package is None else package.submodule_search_locations or ():
        inside, prefix = Path(each), Path(each).parent.parent.parent
        folders += inside / "lib", inside, prefix, prefix / "Library" / "bin"
    if package is not None and sys.platform == "linux":
        folders += _folders_of_linux()
    for folder in folders:
        if folder.is_absolute() and (folder / _NAME).is_file():
            yield str(folder / _NAME)


def _folders_of_linux() -> Iterator[Path]:
    """Where libraries are on Linux, in the order of its loader but for what its configuration adds."""
    here = os.path.realpath(os.curdir)
    for named in os.environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":"):
        place = os.path.realpath(named)
        if Path(named).is_absolute() and not f"{place}/".startswith(f"{here}/"):
            yield Path(named)
    machine = getattr(sys.implementation, "_multiarch", "")  # "x86_64-linux-gnu"
    for name in ("/usr/local/lib", "/lib", "/usr/lib"):
        yield from (Path(name, machine), Path(f"{name}64"), Path(name))


def _declared(found: Any) -> Any:
    code_of, message_of = found.Z3_get_error_code, found.Z3_get_error_msg

    def checked(result: Any, function: Any, arguments: tuple[Any, ...]) -> Any:
        code = code_of(arguments[0])
        if code:
            raise Z3Error(message_of(arguments[0], code).decode("utf-8", "replace"))
        return result

    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
        if name not in _CANNOT_FAIL and not name.startswith("Z3_get_error"):
            function.errcheck = checked
    return found


class SolverContext:
    """A context of the library, for one thread. ``ref``: what its functions take."""

    __slots__ = ("_delete", "_interrupt", "ref")

    def __init__(self, z3: Any) -> None:
        settings = z3.Z3_mk_config()
        self.ref = z3.Z3_mk_context_rc(settings)
        z3.Z3_del_config(settings)
        z3.Z3_set_error_handler(self.ref, None)  # by itself an error ends the process
        self._delete, self._interrupt = z3.Z3_del_context, z3.Z3_interrupt

    def __del__(self) -> None:
        self._delete(self.ref)

    def interrupt(self) -> None:
        """End what is being solved; another thread may call it."""
        self._interrupt(self.ref)
