"""Macros defined before the first line: by the compiler, by the settings, and by well-known headers not found."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.source import NO_FLAGS, CompileFlags
from smem_lsp.source.queries import remembered
from smem_lsp.source.regex import regex
from smem_lsp.syntax.expand import DYNAMIC
from smem_lsp.syntax.known_names import known
from smem_lsp.syntax.macros import Macro, object_macro, parse_definition, weak

DEFAULT_ARCH = "sm_90"  # a newer architecture takes more branches of real code than an old one

# nvcc 13 with gcc predefines these for device code.
_COMPILER = {
    "__CUDACC__": "1",
    "__NVCC__": "1",
    "__cplusplus": "201703L",
    "__GNUC__": "12",
    "__GNUC_MINOR__": "2",
    "__linux__": "1",
    "__x86_64__": "1",
    "__CHAR_BIT__": "8",
    "__SIZEOF_POINTER__": "8",
    "__SIZEOF_LONG__": "8",
    "__CUDACC_VER_MAJOR__": "13",
    "__CUDACC_VER_MINOR__": "0",
    "__CUDACC_VER_BUILD__": "88",
    "__CUDACC_EXTENDED_LAMBDA__": "1",
    "__CUDACC_RELAXED_CONSTEXPR__": "1",
    "CUDART_VERSION": "13000",
    "CUDA_VERSION": "13000",
    "__DATE__": '"Jan  1 2026"',
    "__TIME__": '"00:00:00"',
    "__TIMESTAMP__": '"Thu Jan  1 00:00:00 2026"',
}

_ARCH = regex(r"(?:sm|compute)_(\d+)([af]?)\Z")


def initial_macros(
    arch: str | None, defines: Sequence[str], flags: CompileFlags = NO_FLAGS
) -> dict[str, Macro]:
    """The macros at a file's first line. ``defines`` come from the settings and override the compile command."""
    macros = dict(_base(arch or DEFAULT_ARCH))
    for name in flags.undefines:
        macros.pop(name, None)
    for define in (*flags.defines, *defines):
        name, equals, value = define.partition("=")
        definition = parse_definition(f"{name} {value if equals else '1'}")
        if definition:
            macros[definition[0]] = definition[1]
    return macros


@remembered(most=32)
def _base(arch: str) -> dict[str, Macro]:
    macros: dict[str, Macro] = {}
    for line in known().macros:
        definition = parse_definition(line)
        assert definition is not None, line
        macros[definition[0]] = weak(definition[1])
    macros |= DYNAMIC
    macros |= {name: object_macro(body) for name, body in _COMPILER.items()}
    found = _ARCH.match(arch)
    number, feature = (found[1], found[2]) if found else ("90", "")
    macros["__CUDA_ARCH__"] = object_macro(f"{number}0")
    macros["__CUDA_ARCH_LIST__"] = macros["__CUDA_ARCH__"]
    if feature:
        kind = "ALL" if feature == "a" else "FAMILY"
        macros[f"__CUDA_ARCH_FEAT_SM{number}_{kind}"] = object_macro("1")
    return macros
