"""The text of inline assembler: its instructions, and what kinds of them there are (PTX ISA 8.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from smem_lsp.source import checkpoint
from smem_lsp.source.regex import regex

COMMENT = regex(r"//[^\n]*|/\*.*?\*/", re.S)
_DECLARED = regex(r"\.reg\s+\.\w+\s+[\w%<>, ]+\Z")
_PREDICATE = regex(r"@(!?)%?(\w+)\s+(.*)")
LABEL = regex(r"^([\w$%=]+):(?!:)\s*")

# Opcodes whose operands are registers: no memory, no synchronisation.
REGISTERS = frozenset(
    "abs add addc and bfe bfi bfind bmsk brev brkpt clz cnot copysign cos cvt cvta div dp2a dp4a ex2 fence fma fns"
    " griddepcontrol isspacep lg2 lop3 mad mad24 madc mapa max membar min mma mov mul mul24 nanosleep neg not or popc"
    " prefetch prmt rcp redux rem rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt sub subc szext"
    " tanh testp trap vadd vote xor activemask elect match pmevent createpolicy applypriority discard".split()
)
# Those of them that order memory for others, wait for time or other kernels, or tell threads apart by when they run.
ORDERS = frozenset("fence griddepcontrol membar nanosleep setmaxnreg pmevent discard applypriority".split())
_ASSEMBLER = frozenset(("asm", "__asm__", "__asm"))


def computes_only(code: str) -> bool:
    """Do all instructions work on registers alone, and order nothing?"""
    return all(opcode(each)[0] in REGISTERS - ORDERS and not reads_time(each) for each in instructions(code))


def reads_time(instruction: str) -> bool:
    return "clock" in instruction or "timer" in instruction


def opcode(instruction: str) -> list[str]:
    return instruction.partition(" ")[0].split(".")


def statements(texts: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The instructions of each assembler statement among some tokens, and whether it says that it touches memory."""
    for at, text in enumerate(texts):
        checkpoint()
        if text not in _ASSEMBLER:
            continue
        opening = next((i for i in range(at + 1, min(at + 4, len(texts))) if texts[i] == "("), None)
        if opening is None:
            yield "?", True
            continue
        code, clobbers, depth, colons = "", False, 0, 0
        for each in texts[opening:]:
            depth += (each in ("(", "[")) - (each in (")", "]"))
            if not depth:
                break
            colons += {":": 1, "::": 2}.get(each, 0) if depth == 1 else 0
            if each.endswith('"'):
                code += unquoted(each) if not colons else ""
                clobbers = clobbers or (colons > 2 and unquoted(each) == "memory")
        yield code, clobbers


def unquoted(text: str) -> str:
    """The characters of a string literal, as far as PTX needs them."""
    inner = text[text.find('"') + 1 : text.rfind('"')]
    if text.startswith("R"):
        inner = inner[inner.find("(") + 1 : inner.rfind(")")]
    return inner.replace("\\n", "\n").replace("\\t", " ").replace("%%", "%").replace("\\r", " ")


def instructions(code: str) -> list[str]:
    """Instructions without predicates, labels, comments and register declarations."""
    found: list[str] = []
    text = COMMENT.sub(" ", code)
    for piece in re.split(r"[;\n]", text):
        instruction = " ".join(piece.replace("{", " { ").split())
        instruction = re.sub(r"^(?:\{ |\} ?)+", "", instruction)
        instruction = LABEL.sub("", instruction)
        if instruction.startswith("@"):
            instruction = _PREDICATE.sub(r"\3 // \1\2", instruction, count=1)
        if instruction in ("", "{", "}") or _DECLARED.match(instruction):
            continue
        if found and not re.match(r"[a-z][\w.:]*\s|[a-z][\w.:]*\Z", instruction):
            found[-1] += f" {instruction}"  # an instruction that goes on in the next line
        else:
            found.append(instruction)
    return found
