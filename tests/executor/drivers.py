"""Kernels of the corpora as programs of their own: the kernel, what it needs of its file, and arguments for it.

Of the file come the functions that the kernel reaches, macros expanded, and the constants, types and enumerations that
they name. Pointers get buffers of numbers, integers one small number, floating-point numbers a fraction, parameters of
a template what an instance of the file says, else something common. What cannot be had so is refused with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from smem_lsp.analysis.threads.block_shape import block_shape, evidence
from smem_lsp.analysis.threads.uniformity import prove_levels
from smem_lsp.analysis.values.symbolic_execution import propagate
from smem_lsp.ir.nodes import Barrier, BarrierKind, Kernel, walk
from smem_lsp.syntax.parse import Function, TranslationUnit

from .model import Buffer, Launch, Source, filled
from .prepare import prepare
from .ptx import NotModelled

ELEMENTS = 1 << 16  # of each buffer
DYNAMIC = 32 * 1024  # bytes
_NUMBERS = (64, 8, 1, 256)
_BLOCKS = ((256, 1, 1), (64, 1, 1), (128, 1, 1), (16, 16, 1), (32, 8, 1), (32, 1, 1))
_INTEGERS = frozenset(
    "int unsigned long short char bool size_t int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t"
    " ptrdiff_t signed uint uchar ushort".split()
)
_REALS = frozenset(("float", "double"))
_DROPPED = frozenset("const __restrict__ __restrict restrict volatile __grid_constant__ typename".split())
_NEEDED = re.compile(
    r"(?:static\s+|inline\s+|__device__\s+|__constant__\s+)*(?:(?:int\s+|unsigned\s+)?(?:const|constexpr)|typedef|using|enum|struct|__constant__)\b"
)
_PREFIX = (
    "#include <cuda_runtime.h>\n#include <cooperative_groups.h>\n#include <stdint.h>\n#include <float.h>\n"
    "#include <limits>\nnamespace cg = cooperative_groups;\n"
)

_FOREIGN = re.compile(r"\b(?:at|c10|torch|thrust|vllm|cute|cutlass) ::")


class Refused(Exception):
    """Why there is no program for a kernel."""


@dataclass(frozen=True)
class _Parameter:
    type: tuple[str, ...]  # words
    pointers: int


def programs_of(name: str, unit: TranslationUnit, function: Function, kernel: Kernel) -> list[Source]:
    """Programs that launch ``kernel``, with one block after the other and one number for every integer argument; the
    block that the kernel is written for comes first. Raises Refused."""
    if not any(isinstance(node, Barrier) and node.kind is BarrierKind.BLOCK for node in walk(kernel.body)):
        raise Refused("no barrier")
    starts = {part.span.start for part in kernel.places.parts}
    parts = sorted((f for f in unit.functions if f.span.start in starts), key=lambda f: f.start)
    texts = [_text(part) for part in parts]
    bound, launched = _instance(function, kernel)
    meant = {**_aliases(unit), **bound}
    parameters = [_resolved(parameter, meant) for parameter in _parameters(function)]
    at = parts.index(function)
    context = _context(unit, "\n".join(texts))
    found: list[Source] = []
    for block in dict.fromkeys((_block(kernel), *_BLOCKS)):
        axes = " && ".join(f"blockDim.{axis} == {size}" for axis, size in zip("xyz", block))
        assumed = [
            *texts[:at],
            f"// smem: assume({axes})",
            *texts[at:],
            *_instantiated(function, bound, launched),
        ]
        text = "\n".join([_PREFIX, *context, *assumed]) + "\n"
        for number in _NUMBERS:
            arguments = tuple(_argument(parameter, number) for parameter in parameters)
            launch = Launch(launched, (2,), block, arguments, DYNAMIC)
            shape = "x".join(map(str, block))
            found.append(Source(f"{name} <<<2, {shape}>>>({number})", text, launch))
    try:
        prepare(found[0])
    except NotModelled as error:
        raise Refused(f"not modelled: {error}") from error
    return found


def _block(kernel: Kernel) -> tuple[int, int, int]:
    shape = block_shape(kernel)
    if shape is not None:
        return shape.dims
    values = propagate(kernel.body, memory=kernel.memory)
    control, _ = prove_levels(kernel.body, values, buffers=kernel.buffers)
    told = evidence(kernel, values, control)
    axes = values.table.axes()
    if told.equal and told.sample[0] * told.sample[1] * told.sample[2] > 1024:
        raise Refused("no block size")
    x, y, z = told.sample
    if x * y * z > 1024 or (x, y, z) == (1024, 1, 1):
        return (256, 1, 1) if axes == "x" else (16, 16, 1)
    return x, y, z


def _text(function: Function) -> str:
    """Tokens of a function, a statement a line."""
    texts = [text for text in function.definition.tokens.texts if text]
    joined = " ".join(texts)
    return re.sub(r"(?<=[;{}]) ", "\n", joined)


def _instance(function: Function, kernel: Kernel) -> tuple[dict[str, str], str]:
    """What template parameters stand for, and the name to launch."""
    tokens = function.definition.tokens.texts
    if not tokens or "template" not in tokens[: tokens.index("__global__") if "__global__" in tokens else 1]:
        return {}, function.name
    head = " ".join(tokens[tokens.index("template") + 1 : tokens.index("__global__")])
    names = [each.partition("=")[0].split() for each in _split(head[head.index("<") + 1 : head.rindex(">")])]
    if kernel.instance is not None and "<" in kernel.instance:
        inside = kernel.instance[kernel.instance.index("<") + 1 : kernel.instance.rindex(">")]
        given = _split(inside)
    else:
        given = []
    if len(given) != len(names) or "?" in given:
        given = [
            "float" if words[0] in ("typename", "class") else "true" if "bool" in words else "256"
            for words in names
        ]
    bound = {words[-1]: value for words, value in zip(names, given) if words}
    return bound, f"{function.name}<{', '.join(given)}>"


def _aliases(unit: TranslationUnit) -> dict[str, str]:
    """Types that are another name of one."""
    found: dict[str, str] = {}
    for each in _declarations(unit):
        match = re.fullmatch(r"typedef ([\w ]+) (\w+) ;", each) or re.fullmatch(
            r"using (\w+) = ([\w ]+) ;", each
        )
        if match:
            of, name = match.groups() if each.startswith("typedef") else match.groups()[::-1]
            found[name] = of
    return found


def _split(text: str) -> list[str]:
    found, depth = [""], 0
    for character in text:
        depth += (character in "<([{") - (character in ">)]}")
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return [each.strip() for each in found if each.strip()]


def _instantiated(function: Function, bound: Mapping[str, str], launched: str) -> list[str]:
    """An explicit instantiation, so that the text says what the template parameters are."""
    if not bound:
        return []
    words = (bound.get(word, word) for word in " ".join(_signature(function)).split())
    return [f"template __global__ void {launched} ( {' '.join(words)} ) ;"]


def _signature(function: Function) -> list[str]:
    """The tokens between the parentheses."""
    texts = list(function.definition.tokens.texts)
    start = texts.index(function.name) + 1
    depth, end = 0, start
    for end in range(start, len(texts)):
        depth += (texts[end] == "(") - (texts[end] == ")")
        if not depth:
            break
    return texts[start + 1 : end]


def _parameters(function: Function) -> list[_Parameter]:
    found: list[_Parameter] = []
    for each in _split(" ".join(_signature(function))):
        words = [word for word in each.partition("=")[0].replace("*", " * ").split() if word not in _DROPPED]
        if any(word in ("&", "&&", "[", "(", "<", "::") for word in words):
            raise Refused(f"a parameter of type {' '.join(words[:-1])}")
        pointers = words.count("*")
        plain = [word for word in words if word != "*"]
        type_words = plain if len(plain) == 1 or plain[-1] in _INTEGERS | _REALS else plain[:-1]
        found.append(_Parameter(tuple(type_words), pointers))
    return found


def _resolved(parameter: _Parameter, meant: Mapping[str, str]) -> _Parameter:
    words = tuple(word for each in parameter.type for word in meant.get(each, each).split())
    name = " ".join(words)
    if parameter.pointers > 1:
        raise Refused("a pointer to pointers")
    if name == "void" and parameter.pointers:
        name = "char"
    elif not set(words) <= _INTEGERS | _REALS:
        raise Refused(f"a parameter of type {name}")
    return _Parameter(tuple(name.split()), parameter.pointers)


def _argument(parameter: _Parameter, number: int) -> Buffer | int | float:
    name = " ".join(parameter.type)
    if parameter.pointers:
        return filled(name, ELEMENTS)
    return 0.5 if name in _REALS else 1 if name == "bool" else number


def _context(unit: TranslationUnit, text: str) -> list[str]:
    """Declarations of the file that the text names, or that these name."""
    found = [(each, _named(each)) for each in _declarations(unit) if _NEEDED.match(each)]
    wanted = set(re.findall(r"[A-Za-z_]\w*", text))
    kept: set[int] = set()
    while True:
        new = {
            i
            for i, (each, names) in enumerate(found)
            if i not in kept and names & wanted and not _FOREIGN.search(each)
        }
        if not new:
            return [each for i, (each, _) in enumerate(found) if i in kept]
        kept |= new
        for i in new:
            wanted |= set(re.findall(r"[A-Za-z_]\w*", found[i][0]))


def _declarations(unit: TranslationUnit) -> Iterator[str]:
    """What stands at file or namespace scope, functions left out, macros expanded."""
    functions = sorted((f.span for f in unit.functions), key=lambda span: span.start)
    tokens = unit.preprocessed.tokens
    yield from _statements(unit.preprocessed.header.texts)
    own: list[str] = []
    for text, offset in zip(tokens.texts, tokens.offsets):
        inside = any(span.start <= offset < span.end for span in functions)
        own.append(";" if inside else text)
    yield from _statements(own)


def _statements(texts: Iterable[str]) -> Iterator[str]:
    statement: list[str] = []
    depth = 0
    for text in texts:
        if not text:
            continue
        statement.append(text)
        if text == "{" and statement[0] in ("namespace", "extern"):
            statement.clear()
            continue
        depth += (text in "{(") - (text in "})")
        if depth <= 0 and text in (";", "}"):
            if text == "}" and not depth and len(statement) > 1:
                continue
            depth = 0
            yield " ".join(statement)
            statement = []


def _named(declaration: str) -> set[str]:
    """The names that a declaration may declare."""
    head = re.split(r"[={(]", declaration, maxsplit=1)[0]
    names = set(re.findall(r"[A-Za-z_]\w*", head))
    if declaration.startswith("enum"):
        names |= set(re.findall(r"[A-Za-z_]\w*", declaration))
    if declaration.startswith("typedef"):
        names |= set(re.findall(r"[A-Za-z_]\w*", declaration)[-1:])
    return (
        names
        - {"const", "constexpr", "static", "typedef", "using", "struct", "enum", "inline"}
        - _INTEGERS
        - _REALS
    )
