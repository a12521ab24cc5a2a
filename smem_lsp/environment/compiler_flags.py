"""Which flags of a compile command reach nvcc, and how.

nvcc runs its own tools through a shell, so a backquote or ``$(`` in a macro or a folder's name would run a program. A
macro with such a character goes into a private header, a folder behind a link with a plain name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from smem_lsp.environment.options_files import expanded, split
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

# Everything else could run a program or write a file.
_WITH_VALUE = ("-D", "-U", "-I", "-isystem", "-include", "-std", "-arch", "-gencode", "-maxrregcount", "-rdc")
_LONG = {
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--include-path": "-I",
    "--system-include": "-isystem",
    "--pre-include": "-include",
    "--std": "-std",
    "--gpu-architecture": "-arch",
    "--generate-code": "-gencode",
    "--maxrregcount": "-maxrregcount",
    "--relocatable-device-code": "-rdc",
}
_ALONE = regex(r"--?use_fast_math|--expt-[a-z-]+|-expt-[a-z-]+")
_JOINED = ("-isystem", "-D", "-U", "-I")  # -DNAME
# Their value is the next word, which may look like one of the flags above.
_SKIPPED_WITH_VALUE = frozenset(
    "-o --output-file -x --x -MF -MT -MQ -ccbin --compiler-bindir -Xptxas -Xlinker -Xnvlink -Xarchive -Xfatbin"
    " -Xcompiler --compiler-options -odir --output-directory -Xcudafe -Xassembler -target --options-file -optf"
    " --linker-options --ptxas-options --nvlink-options -keep-dir --keep-dir -L --library-path -l --library -imacros"
    " -iquote -idirafter".split()
)

_PLAIN = regex(r"[\w./+=:@-]+", re.ASCII)  # means nothing to a shell; nvcc splits values at commas
_MACRO = regex(r"[A-Za-z_]\w*(?:\([\w\s,.]*\))?(?:=[^\n\r]*)?", re.ASCII)
_NAME = regex(r"[A-Za-z_]\w*", re.ASCII)
_OPTIONS = {
    "-std": regex(r"(?:c|gnu)\+\+\d\d"),
    "-maxrregcount": regex(r"\d{1,3}"),
    "-rdc": regex(r"true|false"),
}
PRELUDE = "smem_flags.h"


@dataclass(frozen=True, slots=True)
class Prepared:
    """``words`` for nvcc's command line, run in the folder that ``write`` was called with."""

    words: tuple[str, ...]
    prelude: str  # text of the header that is read before the file; may be empty
    links: tuple[tuple[str, str], ...]  # (name in the folder, what it stands for)

    def write(self, folder: str) -> None:
        """Make the header and the links. Raises OSError where links cannot be made."""
        if self.prelude:
            Path(folder, PRELUDE).write_text(self.prelude, encoding="utf-8", newline="\n")
        for name, target in self.links:
            Path(folder, name).symlink_to(target)


def allowed_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """The flags that may reach nvcc: macros, include folders, language, target and code generation."""
    return tuple(word for _, _, words in _read(flags) for word in words)


def command_flags(words: Sequence[str] | str, directory: str) -> tuple[str, ...]:
    """The allowed flags of a compile command, paths made absolute. ``words``: with the compiler in front, or as a shell
    reads them. Targets are left out, because each run chooses its own, and so is ``-rdc``: with it ptxas reports too
    few registers, and no error, for kernels that call functions of other files."""
    if isinstance(words, str):
        words = split(words)
    words = expanded(words, directory)
    found: list[str] = []
    for name, value, spelled in _read(words[1:]):
        if name in ("-arch", "-gencode", "-rdc"):
            continue
        if name in ("-I", "-isystem", "-include"):
            found += [name, os.path.normpath(Path(directory) / value)]
        else:
            found += spelled
    return tuple(found)


def prepare(flags: Sequence[str]) -> Prepared:
    """How to pass the allowed ones of ``flags`` to nvcc without a character that a shell would interpret."""
    words: list[str] = []
    prelude: list[str] = []
    links: list[tuple[str, str]] = []
    for name, value, _ in _read(flags):
        match name:
            case "-D" if _MACRO.fullmatch(value):
                macro, equals, body = value.partition("=")
                if _PLAIN.fullmatch(value):
                    words.append(f"-D{value}")
                else:
                    prelude.append(f"#define {macro} {body if equals else '1'}")
            case "-U" if _NAME.fullmatch(value):
                words.append(f"-U{value}")
            case "-I" | "-isystem" | "-include":
                if not value or "\0" in value:
                    continue
                path = os.path.abspath(value)  # noqa: PTH100  (a link in front of `..` stays one)
                if not _PLAIN.fullmatch(path):
                    links.append((f"link{len(links)}", path))
                    path = links[-1][0]
                words += [name, path]
            case "-std" | "-maxrregcount" | "-rdc" if _OPTIONS[name].fullmatch(value):
                words.append(f"{name}={value}")
            case "":
                words.append(value)
    if prelude:
        words = ["-include", PRELUDE, *words]
    return Prepared(tuple(words), "".join(f"{line}\n" for line in prelude), tuple(links))


def _read(flags: Sequence[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(short name or nothing, value, as it was spelled) of the flags that are allowed."""
    rest = iter(flags)
    for flag in rest:
        if flag in _SKIPPED_WITH_VALUE:
            next(rest, None)
        elif flag in _LONG or flag in _WITH_VALUE:
            value = next(rest, None)
            if value is not None:
                name = _LONG.get(flag, flag)
                yield name, value, (name, value)
        elif _ALONE.fullmatch(flag):
            yield "", flag, (flag,)
        else:
            name, equals, value = flag.partition("=")
            joined = next((each for each in _JOINED if flag.startswith(each) and len(flag) > len(each)), None)
            if equals and value and (name in _LONG or name in _WITH_VALUE) and name not in ("-D", "-U"):
                yield _LONG.get(name, name), value, (flag,)
            elif joined is not None:
                yield joined, flag[len(joined) :], (flag,)
