"""What inline assembler computes in registers, instruction by instruction (PTX ISA, "Integer Arithmetic Instructions",
"Logic and Shift Instructions"). Registers are variables of the statement; an operand is one that it shares."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from smem_lsp.ir.values import Value, operation
from smem_lsp.lowering.library.special_registers import register_read
from smem_lsp.source import checkpoint
from smem_lsp.source.regex import regex
from smem_lsp.terms.operators import OperandType, Operator

_COPY = regex(
    r"mov\.[bsu](?:32|64) (?P<to>[A-Za-z_$][\w$]*|%[A-Za-z_$][\w$]*), ?(?P<operand>%(?:\d+|\[\w+\]))\Z"
)
_COMPUTES = regex(
    r"(?P<name>add|sub|mul\.lo|mad\.lo|and|or|xor|not|neg|shl|shr|min|max|mov)\.(?P<type>[bsu]32) (?P<operands>.+)\Z"
)
_BINARY = {
    "add": Operator.ADD,
    "sub": Operator.SUBTRACT,
    "mul.lo": Operator.MULTIPLY,
    "and": Operator.BIT_AND,
    "or": Operator.BIT_OR,
    "xor": Operator.BIT_XOR,
    "shl": Operator.SHIFT_LEFT,
    "shr": Operator.SHIFT_RIGHT,
    "min": Operator.MIN,
    "max": Operator.MAX,
}
_UNARY = {"not": Operator.BIT_NOT, "neg": Operator.NEGATE}
_READ = (Operator.SHIFT_RIGHT, Operator.MIN, Operator.MAX)

Registers = dict[str, Value | None]


def without_copies(instructions: Sequence[str]) -> list[str]:
    """The instructions with operands in place of registers that are copies of them and nothing else."""
    found = list(instructions)
    for at in range(len(found)):
        checkpoint()
        match = _COPY.match(found[at])
        if match is None:
            continue
        name, operand = match["to"], match["operand"]
        word = re.compile(rf"(?<![\w$%]){re.escape(name)}(?![\w$])")
        if any(_writes(each, (name, operand)) for number, each in enumerate(found) if number != at):
            continue
        found = [word.sub(operand, each) if number > at else each for number, each in enumerate(found)]
        found[at] = ""
    return [each for each in found if each]


def _writes(instruction: str, names: Sequence[str]) -> bool:
    """Is one of these the first operand?"""
    first = instruction.partition(" ")[2].split(",")[0].strip()
    return any(name in first for name in names) and "[" not in first.replace("%[", "")


def computed(instructions: Sequence[str], read: Callable[[str], Value | None]) -> Registers:
    """What registers hold at the end; None: not known. ``read``: what an operand is at the start."""
    registers: Registers = {}

    def value(name: str) -> Value | None:
        name = name.strip()
        return registers[name] if name in registers else read(name)

    for instruction in instructions:
        checkpoint()
        special = register_read(instruction)
        if special is not None:
            registers[special[0]] = special[1]
            continue
        match = _COMPUTES.match(instruction)
        to, *given = (match["operands"] if match else instruction.partition(" ")[2]).split(",")
        values = [value(each) for each in given] if match else [None]
        known = [each for each in values if each is not None]
        complete = match is not None and len(known) == len(values)
        registers[to.strip()] = _result(match["name"], match["type"], known) if match and complete else None
    return registers


def _result(name: str, kind: str, given: list[Value]) -> Value | None:
    if name == "mov" and len(given) == 1:
        return given[0]
    if name in _UNARY and len(given) == 1:
        return operation(_UNARY[name], given[0])
    if name == "mad.lo" and len(given) == 3:
        return operation(Operator.ADD, operation(Operator.MULTIPLY, given[0], given[1]), given[2])
    operator = _BINARY.get(name)
    if operator is None or len(given) != 2:
        return None
    if operator not in _READ:
        return operation(operator, *given)
    reading = OperandType.INT if kind.startswith("s") else OperandType.UNSIGNED
    return operation(operator, *given, reading=reading)
