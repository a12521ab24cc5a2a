"""Where shared variables lie: taken out of the assembly of g++ and laid out again as ptxas lays them out.

g++ puts thread-local variables into a section of their own, with the alignment of their declaration. Here each gets
the offset that ptxas gives it (in order of definition, no gaps but for alignment), modulo 1024, with unused bytes
around it, so that an index outside is seen. All programs of a file use the same bytes: one runs at a time.

Arrays of 16 bytes and more in an instance of a template come from g++ with an alignment of at least 16, whatever their
type: there a misaligned vector access may go unseen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .model import Variable

GUARD = 1024  # unused bytes before and behind a variable; offsets keep their value modulo this
DYNAMIC_LIMIT = 227 << 10
NAMESPACE = "smem_program_"
_PROGRAM = re.compile(rf"{len(NAMESPACE) + 6}{NAMESPACE}(\d{{6}})")

_SECTION = re.compile(
    r"\t\.section\t\.t(?:bss|data)\b[^\n]*\n(?:(?!\t\.(?:section|text|data|bss)\b)[^\n]*\n)*"
)
_ITEM = re.compile(
    r"(?:\t\.align (\d+)\n)?\t\.type\t(\S+), @object\n\t\.size\t\S+, (\d+)\n\S+:\n(?:\t\.zero\t\d+\n)?"
)
_USED = re.compile(r"\b(_Z\w+)@(?:tpoff|gottpoff)")
_LIBRARY = re.compile(r"\b(call|jmp)\t(memcpy|memmove|memset)\b")


@dataclass(frozen=True, slots=True)
class Layout:
    """Of one program. ``dynamic``: byte of the arena where `extern __shared__` arrays begin."""

    variables: tuple[Variable, ...]
    dynamic: int


@dataclass(frozen=True, slots=True)
class _Found:
    symbol: str
    size: int
    align: int


def lay_out(assembly: str, programs: int, sequential: list[bool]) -> tuple[str, list[Layout]]:
    """The assembly with the variables at their new places, and these, by program.

    ``sequential``: all variables of that program belong to one kernel; otherwise each function begins at 0.
    """
    found: list[list[_Found]] = [[] for _ in range(programs)]
    for section in _SECTION.findall(assembly):
        for align, symbol, size in _ITEM.findall(section):
            found[_program(symbol)].append(_Found(symbol, int(size), int(align or 1)))
    text = _LIBRARY.sub(r"\1\tsmem_\2", _SECTION.sub("", assembly))
    defined = {each.symbol for program in found for each in program}
    dynamic: list[list[str]] = [[] for _ in range(programs)]
    for symbol in dict.fromkeys(_USED.findall(text)):
        if symbol not in defined:
            dynamic[_program(symbol)].append(symbol)
    layouts, aliases, end = [], [], 0
    for variables, arrays, one_group in zip(found, dynamic, sequential):
        layout = _lay_out_program(variables, one_group)
        layouts.append(layout)
        aliases += [(v.symbol, place.place) for v, place in zip(variables, layout.variables)]
        aliases += [(symbol, layout.dynamic) for symbol in arrays]
        end = max(end, layout.dynamic + DYNAMIC_LIMIT + GUARD)
    return text + _arena(aliases, end), layouts


def _program(symbol: str) -> int:
    program = _PROGRAM.search(symbol)
    assert program is not None, f"{symbol} is outside the namespaces of the programs"
    return int(program[1])


def _lay_out_program(found: list[_Found], one_group: bool) -> Layout:
    variables: list[Variable] = []
    offsets: dict[str, int] = {}
    place = GUARD
    for each in found:
        function, name = _names(each.symbol)
        group = "" if one_group else function
        offset = _up(offsets.get(group, 0), each.align)
        offsets[group] = offset + each.size
        place = _up(place - offset % GUARD, GUARD) + offset % GUARD
        variables.append(Variable(name, function, offset, each.size, each.align, place))
        place += each.size + GUARD
    # The static total is rounded up to 16 where there is a dynamic array (ptxas).
    behind = _up(max(offsets.values(), default=0), 16) % GUARD
    return Layout(tuple(variables), _up(place - behind, GUARD) + behind)


def _up(value: int, to: int) -> int:
    return (value + to - 1) // to * to


def _names(symbol: str) -> tuple[str, str]:
    """The function around a variable, mangled, and the variable's own name."""
    if symbol.startswith(
        "_ZZ"
    ):  # _ZZ function E name, and a number for the second of that name in the function
        for found in re.finditer(r"(?<=E)(\d+)(?=[A-Za-z_])", symbol):
            end = found.end() + int(found[1])
            if re.fullmatch(r"_\d|__\d+_|", symbol[end:]):
                return symbol[: found.start()], symbol[found.end() : end]
        return symbol, symbol
    name, at = symbol, len("_ZN")  # _ZN, names each behind its length, E
    while (length := re.match(r"\d+", symbol[at:])) is not None:
        start = at + length.end()
        at = start + int(length[0])
        name = symbol[start:at]
    return "", name


def _arena(aliases: list[tuple[str, int]], size: int) -> str:
    lines = [
        '\t.section\t.tbss,"awT",@nobits',
        f"\t.balign {GUARD}",
        "\t.globl\tsmem_arena",
        "\t.type\tsmem_arena, @object",
        "smem_arena:",
        f"\t.zero\t{size}",
    ]
    for symbol, place in aliases:
        lines += [f"\t.type\t{symbol}, @object", f"\t.set\t{symbol}, smem_arena+{place}"]
    lines += [
        "\t.section\t.rodata",
        "\t.globl\tsmem_arena_bytes",
        "\t.balign 4",
        "smem_arena_bytes:",
        f"\t.long\t{size}",
        "",
    ]
    return "\n".join(lines)
