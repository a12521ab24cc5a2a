"""Inline PTX turned into calls of ``headers/smem/ptx.h``: barriers, ``cp.async``, ``ldmatrix``, ``stmatrix``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_MATRIX = re.compile(
    r"(?P<does>ld|st)matrix\.sync\.aligned\.m8n8\.x(?P<count>[124])(\.trans)?\.shared(::cta)?(\.trans)?\.b16"
)


class NotModelled(Exception):
    """The executor has no model of this; the message says of what."""


@dataclass(frozen=True)
class Asm:
    """An asm statement: its instructions, and the expressions that ``%0``, ``%1``… stand for."""

    instructions: tuple[str, ...]
    operands: tuple[str, ...]


def parse_asm(inside: str) -> Asm:
    """What stands between the parentheses of ``asm``. Raises NotModelled."""
    template, *sections = split(inside, ":")
    text = "".join(_STRING.findall(template))
    text = text.replace("\\n", "\n").replace("\\t", " ")
    instructions = tuple(" ".join(each.split()) for each in text.split(";") if each.strip())
    operands: list[str] = []
    for section in sections[:2]:
        for operand in split(section, ","):
            if not operand.strip():
                continue
            written = re.match(r'\s*(?:\[\w+\]\s*)?"[^"]*"\s*\((.*)\)\s*$', operand, re.S)
            if written is None:
                raise NotModelled(f"an operand of asm: {operand.strip()}")
            operands.append(written[1])
    return Asm(instructions, tuple(operands))


def calls(asm: Asm) -> str:
    """A C++ expression that does the same. Raises NotModelled."""
    return ", ".join(["(void)0", *(_call(instruction, asm.operands) for instruction in asm.instructions)])


def _call(instruction: str, operands: tuple[str, ...]) -> str:
    name, _, rest = instruction.partition(" ")
    arguments = [_value(each.strip(), operands) for each in rest.split(",")] if rest else []
    listed = ", ".join(arguments)
    if re.fullmatch(r"bar(rier)?(\.cta)?\.sync(\.aligned)?", name) and 1 <= len(arguments) <= 2:
        return f"smem::ptx::barrier_sync({listed})"
    if re.fullmatch(r"bar(rier)?(\.cta)?\.arrive(\.aligned)?", name) and len(arguments) == 2:
        return f"smem::ptx::barrier_arrive({listed})"
    if (
        re.fullmatch(r"cp\.async\.c[ag]\.shared(::cta)?\.global(\.L2::\w+)*", name)
        and 3 <= len(arguments) <= 4
    ):
        arguments[1] = f"reinterpret_cast<const void*>({arguments[1]})"
        return f"smem::ptx::cp_async({', '.join(arguments)})"
    if name in ("cp.async.commit_group", "cp.async.wait_all") and not arguments:
        return f"smem::ptx::{name.replace('.', '_')}()"
    if name == "cp.async.wait_group" and len(arguments) == 1:
        return f"smem::ptx::cp_async_wait_group({listed})"
    matrix = _MATRIX.fullmatch(name)
    if matrix is not None and len(arguments) == int(matrix["count"]) + 1:
        row = arguments.pop(-1 if matrix["does"] == "ld" else 0)
        transposed = "true" if ".trans" in name else "false"
        return f"smem::ptx::{matrix['does']}matrix<{transposed}>({', '.join([row, *arguments])})"
    raise NotModelled(f"PTX: {instruction}")


def _value(operand: str, operands: tuple[str, ...]) -> str:
    operand = operand.strip("[]{} ")
    if re.fullmatch(r"%\d+", operand) and int(operand[1:]) < len(operands):
        return f"({operands[int(operand[1:])]})"
    if re.fullmatch(r"\d+|0x[0-9a-fA-F]+", operand):
        return operand
    raise NotModelled(f"an operand of PTX: {operand}")


def split(text: str, at: str) -> list[str]:
    """Split at a character outside strings and brackets."""
    parts, depth, start, quoted = [], 0, 0, False
    for i, char in enumerate(text):
        if char == '"' and text[i - 1 : i] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == at and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]
