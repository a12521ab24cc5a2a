"""CUDA text turned into C++ that g++ reads: launches, includes and inline PTX; everything else is as it was written.

Lines keep their numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .model import Launch, Source
from .ptx import NotModelled, calls, parse_asm, split
from .unseen import watch_stores

_HIDDEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)+'""",
    re.S,
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>\n]+>|"[^"\n]+")[^\n]*', re.M)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
# g++ takes alignas only before all other words of a declaration.
_ALIGNED = re.compile(r"((?:\b(?:extern|static|const|volatile|inline)\s+)*\b__shared__\s+)(alignas\s*\()")
_ASM = re.compile(r"\b(?:asm|__asm__|__asm)\s*(?:volatile|__volatile__)?\s*\(")


@dataclass(frozen=True)
class Prepared:
    """``body`` stands in a namespace of its own; ``includes`` before all namespaces."""

    body: str
    includes: tuple[str, ...]
    macros: tuple[str, ...]
    kernels: int  # written in the text; a template counts as many


def prepare(source: Source) -> Prepared:
    """Raises NotModelled."""
    text = source.text.replace("\r\n", "\n")
    hidden = hide(text)
    includes = []
    for found in _INCLUDE.finditer(text):
        if not hidden[found.start() : found.end()].lstrip().startswith("#"):
            continue
        if found[1].startswith('"'):
            raise NotModelled(f"{source.name} includes {found[1]}")
        includes.append(found[1])
    text = _INCLUDE.sub("", text)
    text = watch_stores(text, hide(text))
    text = _without_asm(_without_launches(_with_alignas_first(text)))
    hidden = hide(text)
    kernels = len(re.findall(r"\b__global__\b", hidden)) + len(re.findall(r"\btemplate\b", hidden))
    if source.launch is not None:
        text += f'\n#line 1 "launch"\nvoid smem_main() {{ {launching(source.launch)} }}\n'
    else:
        text += '\n#line 1 "launch"\nvoid smem_main() { smem::call_main(main); }\n'
    return Prepared(text, tuple(includes), tuple(_DEFINE.findall(hidden)), kernels)


def launching(launch: Launch) -> str:
    """C++ statements that allocate the buffers and launch the kernel."""
    lines, names = [], []
    for i, argument in enumerate(launch.arguments):
        names.append(f"smem_argument_{i}")
        value = argument if isinstance(argument, (int, float, str)) else argument.expression
        lines.append(f"auto {names[-1]} = {value};")
    grid, block = (", ".join(map(str, shape)) for shape in (launch.grid, launch.block))
    call = f"{launch.kernel}({', '.join(names)})"
    config = f"smem::Launch(dim3({grid}), dim3({block}), {launch.dynamic_bytes})"
    return " ".join([*lines, f"{config}([=] {{ {call}; }});"])


def hide(text: str) -> str:
    """The text with blanks for comments and literals, of equal length and with equal lines."""
    return _HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _without_launches(text: str) -> str:
    while True:
        hidden = hide(text)
        at = hidden.find("<<<")
        if at < 0:
            return text
        end = _closing(hidden, at + 3, ">>>")
        call = hidden.index("(", end + 3)
        last = _match(hidden, call)
        begin = _name_before(hidden, at)
        name, config = text[begin:at], text[at + 3 : end]
        # The arguments are evaluated once, not by every thread.
        arguments = [each for each in split(text[call + 1 : last], ",") if each.strip()]
        captures = "".join(f", smem_argument_{i} = ({argument})" for i, argument in enumerate(arguments))
        names = ", ".join(f"smem_argument_{i}" for i in range(len(arguments)))
        run = f"smem::Launch({config})([={captures}] {{ {name}({names}); }})"
        text = text[:begin] + run + text[last + 1 :]


def _with_alignas_first(text: str) -> str:
    while True:
        hidden = hide(text)
        found = _ALIGNED.search(hidden)
        if found is None:
            return text
        last = _match(hidden, found.end() - 1)
        words, aligned = text[found.start() : found.end(1)], text[found.start(2) : last + 1]
        text = f"{text[: found.start()]}{aligned} {words.rstrip()}{text[last + 1 :]}"


def _without_asm(text: str) -> str:
    done = 0
    while True:
        found = _ASM.search(hide(text), done)
        if found is None:
            return text
        last = _match(hide(text), found.end() - 1)
        old = text[found.start() : last + 1]
        new = f"({calls(parse_asm(text[found.end() : last]))})" + "\n" * old.count("\n")
        text = text[: found.start()] + new + text[last + 1 :]
        done = found.start() + len(new)


def _closing(hidden: str, at: int, mark: str) -> int:
    """Where ``mark`` stands outside brackets, from ``at`` on."""
    depth = 0
    for i in range(at, len(hidden)):
        if hidden[i] in "([{":
            depth += 1
        elif hidden[i] in ")]}":
            depth -= 1
        elif depth == 0 and hidden.startswith(mark, i):
            return i
    raise NotModelled("a launch without an end")


def _match(hidden: str, at: int) -> int:
    depth = 0
    for i in range(at, len(hidden)):
        depth += (hidden[i] in "([{") - (hidden[i] in ")]}")
        if depth == 0:
            return i
    raise NotModelled("a bracket that is not closed")


def _name_before(hidden: str, at: int) -> int:
    """Where the kernel's name begins, template arguments included."""
    end = len(hidden[:at].rstrip())
    if hidden[end - 1] == ">":
        depth = 0
        while end > 0:
            end -= 1
            depth += (hidden[end] == ">") - (hidden[end] == "<")
            if depth == 0:
                break
        end = len(hidden[:end].rstrip())
    while end > 0 and (hidden[end - 1].isalnum() or hidden[end - 1] in "_:"):
        end -= 1
    return end
