"""Token-level preprocessor: conditionals, macros and includes, with exact offsets and no text in between.

Headers contribute macros, and their tokens for declarations (types, constants, templates); their code is not part of
the token stream of the file. Only the active branch of a conditional is kept.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from smem_lsp.source import FileReader, Span
from smem_lsp.syntax.conditions import evaluate
from smem_lsp.syntax.lexer import Tokens, lex, lex_macro
from smem_lsp.syntax.macros import Expander, Macro, TokenList, object_macro, parse_definition

MAX_INCLUDE_DEPTH = 32
MAX_INCLUDES = 256

# What nvcc 13 predefines for device code; a newer architecture takes more branches of real code than an old one.
PREDEFINED = {
    "__CUDACC__": "1",
    "__NVCC__": "1",
    "__CUDA_ARCH__": "900",
    "__cplusplus": "201703L",
    "__GNUC__": "12",
    "__linux__": "1",
    "__x86_64__": "1",
    "__CUDACC_VER_MAJOR__": "13",
    "__CUDACC_VER_MINOR__": "0",
    "CUDART_VERSION": "13000",
    "CUDA_VERSION": "13000",
}

_DIRECTIVE_NAME = re.compile(r"#\s*(\w*)")
_CONTINUATION = re.compile(r"\\\r?\n")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_INCLUDE = re.compile(r'\s*(?:"([^"\n]+)"|<([^>\n]+)>)')
_HAS_TESTS = frozenset(
    ("__has_include", "__has_include_next", "__has_attribute", "__has_builtin", "__has_cpp_attribute")
)


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive line of the file itself."""

    name: str
    span: Span


@dataclass(slots=True)
class Preprocessed:
    """The active tokens of one file. ``header``: tokens of the headers that were found, for declarations only."""

    tokens: Tokens
    header: TokenList
    macros: dict[str, Macro]
    directives: list[Directive] = field(default_factory=list)
    inactive: list[Span] = field(default_factory=list)
    invocations: list[Span] = field(default_factory=list)  # macro invocations with arguments
    missing: list[str] = field(default_factory=list)  # includes that were not found
    missing_quoted: bool = False  # one of them is spelled "..."
    firsts: set[int] = field(default_factory=set)  # offsets of the tokens that are the first of their line
    exhausted: bool = False  # a macro expanded beyond the bounds


def preprocess(
    text: str,
    *,
    path: str = "",
    reader: FileReader | None = None,
    include_dirs: Sequence[str] = (),
    defines: Sequence[str] = (),
) -> Preprocessed:
    """Run the preprocessor over ``text``. Never raises on user text."""
    macros = {name: object_macro(body) for name, body in PREDEFINED.items()}
    for define in defines:
        name, _, value = define.partition("=")
        definition = parse_definition(f"{name} {value if '=' in define else '1'}")
        if definition:
            macros[definition[0]] = definition[1]
    run = _Run(macros, reader, tuple(include_dirs))
    out = TokenList.empty()
    result = Preprocessed(Tokens(out.kinds, out.texts, out.offsets), run.header, macros)
    run.file(text, path, out, result, 0)
    result.missing = run.missing
    result.missing_quoted = run.missing_quoted
    result.exhausted = run.expander.exhausted
    return result


@dataclass(slots=True)
class _Conditional:
    """One open ``#if``: was the code around it active, has a branch been taken."""

    outer: bool
    taken: bool


class _Run:
    __slots__ = (
        "expander",
        "header",
        "include_dirs",
        "macros",
        "missing",
        "missing_quoted",
        "reader",
        "seen",
    )

    def __init__(
        self, macros: dict[str, Macro], reader: FileReader | None, include_dirs: tuple[str, ...]
    ) -> None:
        self.macros = macros
        self.expander = Expander(macros)
        self.reader = reader
        self.include_dirs = include_dirs
        self.header = TokenList.empty()
        self.seen: set[str] = set()
        self.missing: list[str] = []
        self.missing_quoted = False

    def file(self, text: str, path: str, out: TokenList, result: Preprocessed | None, depth: int) -> None:
        """Process one file. ``result`` is None for a header."""
        tokens = lex(text, None if result is None else result.firsts)
        kinds, texts, offsets = tokens.kinds, tokens.texts, tokens.offsets
        stack: list[_Conditional] = []
        active = True
        inactive_from = -1
        start = 0
        stops = [i for i, kind in enumerate(kinds) if kind in ("DIRECTIVE", "HASH")]
        for stop in (*stops, len(kinds)):
            if active and stop > start:
                self._segment(
                    TokenList(kinds[start:stop], texts[start:stop], offsets[start:stop]), out, result
                )
            if stop == len(kinds):
                break
            start = stop + 1
            spelled = texts[stop]
            found = _DIRECTIVE_NAME.match(spelled)
            name = found[1] if found else ""
            rest = _clean(spelled[found.end() :]) if found else ""
            if result is not None:
                result.directives.append(Directive(name, Span(offsets[stop], offsets[stop] + len(spelled))))
            was_active = active
            if name in ("if", "ifdef", "ifndef"):
                taken = active and self._test(name, rest, path)
                stack.append(_Conditional(active, taken))
                active = active and taken
            elif name in ("elif", "else", "elifdef", "elifndef"):
                if stack:
                    top = stack[-1]
                    test = "ifdef" if name == "elifdef" else "ifndef" if name == "elifndef" else "if"
                    active = top.outer and not top.taken and (name == "else" or self._test(test, rest, path))
                    top.taken = top.taken or active
            elif name == "endif":
                if stack:
                    active = stack.pop().outer
            elif active:
                self._directive(name, rest, path, depth)
            if result is not None and was_active != active:
                if not active:
                    inactive_from = offsets[stop] + len(spelled)
                elif inactive_from >= 0:
                    result.inactive.append(Span(inactive_from, offsets[stop]))
        if result is not None and not active and inactive_from >= 0:
            result.inactive.append(Span(inactive_from, len(text)))

    def _segment(self, segment: TokenList, out: TokenList, result: Preprocessed | None) -> None:
        if self.macros.keys().isdisjoint(segment.texts):
            out.extend(segment)
            return
        self.expander.expand(segment, out)
        if result is not None:
            _record_invocations(segment, self.macros, result.invocations)

    def _directive(self, name: str, rest: str, path: str, depth: int) -> None:
        if name == "define":
            definition = parse_definition(rest)
            if definition:
                self.macros[definition[0]] = definition[1]
        elif name == "undef":
            self.macros.pop(rest.split("(")[0].strip(), None)
        elif name == "include":
            self._include(rest, path, depth)

    def _include(self, rest: str, path: str, depth: int) -> None:
        found = _INCLUDE.match(rest)
        if not found or self.reader is None or depth >= MAX_INCLUDE_DEPTH or len(self.seen) >= MAX_INCLUDES:
            self.missing_quoted = self.missing_quoted or (found is not None and found[1] is not None)
            return
        wanted = found[1] or found[2]
        resolved = self._find(wanted, path if found[1] else None)
        if resolved is None:
            self.missing.append(wanted)
            self.missing_quoted = self.missing_quoted or found[1] is not None
            return
        candidate, text = resolved
        if candidate in self.seen:
            return
        self.seen.add(candidate)
        self.file(text, candidate, self.header, None, depth + 1)

    def _find(self, wanted: str, path: str | None) -> tuple[str, str] | None:
        folders = ([str(Path(path).parent)] if path is not None else []) + list(self.include_dirs)
        for folder in folders:
            candidate = os.path.normpath(f"{folder}/{wanted}")
            if candidate in self.seen:
                return candidate, ""
            text = self.reader.read(candidate) if self.reader else None
            if text is not None:
                return candidate, text
        return None

    def _test(self, name: str, rest: str, path: str) -> bool:
        if name in ("ifdef", "ifndef"):
            word = rest.split()[0] if rest.split() else ""
            return (word in self.macros) == (name == "ifdef")
        kinds, texts = lex_macro(rest)
        plain = TokenList.empty()
        i = 0
        while i < len(texts):
            text = texts[i]
            if text == "defined":
                parenthesised = i + 1 < len(texts) and texts[i + 1] == "("
                at = i + 2 if parenthesised else i + 1
                word = texts[at] if at < len(texts) else ""
                plain.append("NUMBER", str(int(word in self.macros or word in _HAS_TESTS)), -1)
                i = at + (2 if parenthesised else 1)
            elif text in _HAS_TESTS:
                end = i + 1
                while end < len(texts) and texts[end] != ")":
                    end += 1
                wanted = "".join(texts[i + 2 : end]).strip('"<>')
                quoted = texts[i + 2 : i + 3] != ["<"]
                exists = (
                    text.startswith("__has_include")
                    and self._find(wanted, path if quoted else None) is not None
                )
                plain.append("NUMBER", str(int(exists)), -1)
                i = end + 1
            else:
                plain.append(kinds[i], text, -1)
                i += 1
        expanded = TokenList.empty()
        self.expander.expand(plain, expanded)
        return bool(evaluate(expanded.texts))


def _record_invocations(segment: TokenList, macros: dict[str, Macro], invocations: list[Span]) -> None:
    texts = segment.texts
    for i, text in enumerate(texts):
        macro = macros.get(text)
        if macro is None or macro.parameters is None or i + 1 >= len(texts) or texts[i + 1] != "(":
            continue
        depth = 0
        for j in range(i + 1, len(texts)):
            depth += {"(": 1, ")": -1}.get(texts[j], 0)
            if depth == 0:
                invocations.append(Span(segment.offsets[i], segment.offsets[j] + 1))
                break


def _clean(rest: str) -> str:
    rest = _CONTINUATION.sub(" ", rest)
    return _COMMENT.sub(" ", rest).strip() if "/" in rest else rest.strip()
