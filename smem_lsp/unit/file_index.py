"""What one file says to the other files of its project: a fast scan of its text alone, nothing is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from smem_lsp.source import checkpoint
from smem_lsp.source.file_summary import FileSummary
from smem_lsp.source.queries import remembered
from smem_lsp.source.regex import regex
from smem_lsp.source.word_set import EVERY_WORD, word_set
from smem_lsp.syntax.known_names import known
from smem_lsp.syntax.lexer import LAUNCH_OPENING
from smem_lsp.unit.kernel_strings import kernels_called

MAX_TEXT = 2_000_000  # code points: the rest of a text is not looked at
MAX_INCLUDES = 1_000
MAX_NAMES = 200  # of each kind
MAX_VALUE = 60  # code points of a macro's value or of template arguments
_MAX_GROUP = 2_000  # code points between two brackets
_MAX_TRIED = 5_000  # places in a text that look like one kind
_MAX_HEAD = 300  # code points of a declaration before its name
_MAX_TOKENS = 80  # between `__global__` and the name of the kernel

# A directive that names a file keeps its string. A literal without its end goes to the end of the line, so that every
# alternative matches where it begins and the time is linear. `'` after a digit separates digits.
_BLANK = regex(
    r"(\#[ \t]*include[^\n]*)"
    r"|//[^\n]*"
    r"|/\*.*?(?:\*/|\Z)"
    r'|"(?:(?<=R")(?P<d>[^\s()\\]{0,16})\(.*?(?:\)(?P=d)"|\Z)|[^"\\\n]*(?:\\.[^"\\\n]*)*"?)'
    r"|'(?<![0-9a-fA-F]')[^'\\\n]*(?:\\.[^'\\\n]*)*'?",
    re.S,
)
_INCLUDE = regex(
    r'\#[ \t]*include(?:_next)?[ \t]*(?:/\*[^\n]{0,200}?\*/[ \t]*)?(?:"([^"\n]{1,500})"|<([^>\n]{1,500})>)'
)
_CONDITIONAL = regex(r"^[ \t]*\#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b([^\n]*)", re.M)
_CONSTANT = regex(r"[ \t]*\(?[ \t]*(0|1|false|true)[ \t]*\)?[ \t]*")
_MACRO = regex(r"\#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+([^\n]+)")
_KERNEL = regex(r"__global__\b")
_BODY = regex(r"[{;]")
_TOKEN = regex(r"\s*([A-Za-z_]\w*|::|\[\[|.)", re.S)
_INSTANTIATION = regex(r"template(?=\s+[A-Za-z_])[^;{}()]{0,300}?\b([A-Za-z_]\w*)\s*<")
_LAUNCHER = regex(
    r"(?:aunch(?!_bounds)|FuncSetAttribute|MaxActiveBlocks|MaxPotentialBlock|MaxActiveClusters)\w*"
)
_NAME = regex(r"[A-Za-z_]\w*")
_POINTER = regex(r"(?:[=?&]|(?<!:):(?!:))\s*(?:::)?(?:[A-Za-z_]\w*::)*([A-Za-z_]\w*)\s*(?=[<;:},)])")
_TABLE = regex(r"\]\s*=\s*\{")
_CALL = regex(r">\s*\(")
_CASTS = ("static_cast<", "reinterpret_cast<", "const_cast<", "dynamic_cast<")
_LAUNCH_SIGNS = ("<<", "aunch", "FuncSetAttribute", "cudaOccupancy", "hipOccupancy")
_BRACKETS = {
    "(": regex(r"[()]"),
    "[": regex(r"[\[\]]"),
    "{": regex(r"[{}]"),
    "<": regex(r"[<>()]"),
}


def summarise(text: str) -> FileSummary:
    """The includes, kernels, launches and macros of a text, and the instances that it makes."""
    code = _code(text)
    includes = _kept(_includes(code), MAX_INCLUDES) if "include" in code else ()
    macros = _kept(_macros(code), MAX_NAMES) if "define" in code else ()
    defined: list[str] = []
    declared: list[str] = []
    used: list[str] = []
    if "__global__" in code:
        for name, arguments, kind in _kernels(code):
            found = {"{": defined, "template": used}.get(kind, declared)
            found.append(name + arguments if found is used else name)
    if "template" in code:
        used += _instantiated(code)
    if any(sign in code for sign in _LAUNCH_SIGNS):
        used += _launched(code)
        used += _passed(code)
    used += _called(code)
    if "GetFunction" in text or "GetKernel" in text:
        used += kernels_called(text[:MAX_TEXT])
    words = word_set(set(_NAME.findall(code))) if len(text) <= MAX_TEXT else EVERY_WORD
    return FileSummary(
        includes, _kept(defined, MAX_NAMES), _kept(declared, MAX_NAMES), _kept(used, MAX_NAMES), macros, words
    )


def _code(text: str) -> str:
    """A text without comments, contents of strings and branches that no compiler reads."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    code = text[:MAX_TEXT]
    if "\\\n" in code:
        code = code.replace("\\\n", " ")
    code = _BLANK.sub(_blank, code)
    return _without_dead_branches(code) if _CONSTANT_IF.search(code) else code


_CODE = remembered(most=64)(_code)


@remembered(most=256)
def names_function(text: str, name: str) -> bool:
    """Does the code of a text call a function with this name, or use it otherwise, beside declaring it?"""
    if len(text) > MAX_TEXT:
        return name in text
    code = _CODE(text) if name in text else ""
    return any(
        not _is_member(code, match.start()) and not _declares(code, match.start(), match.end())
        for match in re.finditer(rf"\b{re.escape(name)}\b", code)
    )


@remembered(most=256)
def defines_function(text: str, name: str) -> bool:
    """Does the code of a text define a function with this name, as far as its tokens tell?"""
    code = _CODE(text) if name in text else ""
    for match in re.finditer(rf"\b{re.escape(name)}\b", code):
        opening = code.find("(", match.end())
        if opening >= 0 and _declares(code, match.start(), match.end()):
            end = _closed(code, opening + 1, "(")
            body = None if end is None else _BODY.search(code, end, end + _MAX_GROUP)
            if body is not None and body[0] == "{":
                return True
    return False


def _is_member(code: str, at: int) -> bool:
    before = code[max(0, at - _MAX_GROUP) : at].rstrip()
    return before.endswith("->") or (before.endswith(".") and not before.endswith("..."))


_QUALIFIERS = regex(r"(?:[A-Za-z_]\w*\s*::\s*)+$")
_STATEMENT = regex(r"[;{}]|^[ \t]*\#[^\n]*$", re.M)
_DECLARATOR = regex(
    r'\s*(?![^\w"]*(?:return|else|do|throw|case|goto|co_\w+|new|delete|not)\b)(?=.*\w)[\w\s:<>,*&"\[\]]*[\w*&>"]',
    re.S,
)


def _declares(code: str, at: int, end: int) -> bool:
    """Is the name between these offsets the declarator of a function, as far as the code before it tells?"""
    if code[end : end + _MAX_GROUP].lstrip()[:1] != "(":
        return False
    before = _QUALIFIERS.sub("", code[max(0, at - _MAX_HEAD) : at]).rstrip()
    starts = [match.end() for match in _STATEMENT.finditer(before)]
    return _DECLARATOR.fullmatch(before, starts[-1] if starts else 0) is not None


def around_includes(text: str) -> tuple[str, str]:
    """(the code up to the last include, in one spacing; the text behind it). Files with the same first part read their
    headers alike."""
    end = text.find("\n", max(text.rfind("include"), 0))
    end = len(text) if end < 0 else end
    code = _BLANK.sub(lambda each: " " if each[0][0] == "/" else each[0], text[:end])
    return "\n".join(filter(None, (" ".join(line.split()) for line in code.split("\n")))), text[end:]


_CONSTANT_IF = regex(r"\#[ \t]*if[ \t]*\(?[ \t]*(?:[01]|true|false)\b")


def _blank(match: re.Match[str]) -> str:
    found = match[1]
    if found is not None:
        return str(found)
    return '""' if match[0][0] == '"' else " "


def _kept(names: Iterable[str], most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))[:most]


def _value(text: str) -> str:
    return "".join(text.split())[:MAX_VALUE]


def _without_dead_branches(code: str) -> str:
    """The code without branches whose condition is the constant 0, and those after a constant 1."""
    kept: list[str] = []
    stack: list[tuple[bool, bool]] = []  # (the code around is live, a branch with the constant 1 was met)
    live, start = True, 0
    for match in _CONDITIONAL.finditer(code):
        checkpoint()
        if live:
            kept.append(code[start : match.start()])
        start = match.start()
        word = match[1]
        constant = _CONSTANT.fullmatch(match[2]) if word in ("if", "elif") else None
        value = None if constant is None else constant[1] in ("1", "true")
        if word.startswith("if"):
            stack.append((live, value is True))
            live = live and value is not False
        elif stack and word == "endif":
            live, _ = stack.pop()
        elif stack:
            around, done = stack[-1]
            live = around and not done and value is not False
            stack[-1] = around, done or value is True
        start = match.end() if not live else start
    if live:
        kept.append(code[start:])
    return "".join(kept)


def _includes(code: str) -> Iterator[str]:
    for match in _INCLUDE.finditer(code):
        checkpoint()
        quoted, angled = match[1], match[2]
        if quoted:
            yield ("'" if quoted in known().headers else '"') + quoted
        elif angled not in known().headers:
            yield "<" + angled


def _macros(code: str) -> Iterator[str]:
    for match in _MACRO.finditer(code):
        checkpoint()
        yield f"{match[1]}={_value(match[2])}"


# ---- kernels ---------------------------------------------------------------------------------------------------------


def _kernels(code: str) -> Iterator[tuple[str, str, str]]:
    """(name, template arguments, kind) of each kernel. Kind: ``{`` a body follows, ``template`` an instantiation."""
    for match in islice(_KERNEL.finditer(code), _MAX_TRIED):
        checkpoint()
        found = _declarator(code, match.end())
        if found is None:
            continue
        name, arguments, after = found
        before = code[max(0, match.start() - 40) : match.start()].rstrip()
        instantiates = before.endswith("template") and after != "{"
        yield name, arguments, "template" if instantiates else after


def _declarator(code: str, at: int) -> tuple[str, str, str] | None:
    """(name, template arguments, the character behind its parameters) of the function declared from ``at``."""
    name, arguments = "", ""
    for _ in range(_MAX_TOKENS):
        match = _TOKEN.match(code, at)
        if match is None:
            return None
        word, at = match[1], match.end()
        if word[0].isalpha() or word[0] == "_":
            name, arguments = word, ""
        elif word in ("[[", "(", "<"):
            inside = at
            end = _closed(code, at - (word == "[["), word)
            if end is None:
                return None
            at = end
            if word == "<":
                arguments = f"<{_value(code[inside : end - 1])}>"
            elif word == "(" and name:
                follows = _TOKEN.match(code, at)
                after = "" if follows is None else follows[1]
                # A macro or an attribute with arguments stands before the name, not behind the parameters.
                if name.startswith("__") and after not in ("{", ";"):
                    continue
                if after in ("noexcept", "requires"):
                    body = _BODY.search(code, at, at + _MAX_GROUP)
                    return name, arguments, "" if body is None else body[0]
                if not (after[:1].isalpha() or after[:1] == "_"):
                    return name, arguments, after
        elif word in ";{}=)":
            return None
    return None


def _closed(code: str, at: int, opening: str) -> int | None:
    """The offset behind the bracket that closes the one before ``at``."""
    depth, inner = 1, 0
    for match in _BRACKETS[opening[0]].finditer(code, at, at + _MAX_GROUP):
        char = match[0]
        if opening == "<" and char in "()":
            inner += 1 if char == "(" else -1
        elif inner > 0:
            continue
        else:
            depth += 1 if char == opening[0] else -1
            if depth == 0:
                return match.end()
    return None


# ---- launches and instances ------------------------------------------------------------------------------------------


def _called(code: str) -> Iterator[str]:
    """Calls with template arguments: they tell apart what two files make of one header."""
    for match in islice(_CALL.finditer(code), _MAX_TRIED):
        checkpoint()
        found = _named_before(code, match.start() + 1, 2 * MAX_VALUE)
        if found and "<<" not in found and not found.startswith(_CASTS):
            yield found


def _launched(code: str) -> Iterator[str]:
    """The kernels before ``<<<``."""
    for match in islice(LAUNCH_OPENING.finditer(code), _MAX_TRIED):
        checkpoint()
        found = _named_before(code, match.start(), _MAX_GROUP)
        if found:
            yield found


def _named_before(code: str, at: int, most: int) -> str | None:
    """``name<arguments>`` that ends at ``at``; None if it is longer than ``most`` code points."""
    start = max(0, at - most)
    while at > start and code[at - 1].isspace():
        at -= 1
    arguments = ""
    if at > start and code[at - 1] == ">":
        end, depth, inner = at, 0, 0
        while at > start:
            at -= 1
            char = code[at]
            if char in "()":
                inner += 1 if char == ")" else -1
            elif inner == 0 and char in "<>":
                depth += 1 if char == ">" else -1
            if depth == 0 or char in ";{}":
                break
        if depth:
            return None
        arguments = f"<{_value(code[at + 1 : end - 1])}>"
        while at > start and code[at - 1].isspace():
            at -= 1
    end = at
    while at > start and (code[at - 1].isalnum() or code[at - 1] == "_"):
        at -= 1
    name = code[at:end]
    return name + arguments if name and not name[0].isdigit() else None


def _instantiated(code: str) -> Iterator[str]:
    """Explicit instantiations of other functions and of classes."""
    for match in islice(_INSTANTIATION.finditer(code), _MAX_TRIED):
        checkpoint()
        end = _closed(code, match.end(), "<")
        if end is not None and code[end : end + 200].lstrip()[:1] in ("(", ";"):
            yield f"{match[1]}<{_value(code[match.end() : end - 1])}>"


def _passed(code: str) -> Iterator[str]:
    """Names that are given to a function that launches, or stored where such a function may find them."""
    for match in islice(_LAUNCHER.finditer(code), _MAX_TRIED):
        checkpoint()
        opening = code.find("(", match.end(), match.end() + _MAX_GROUP)
        if opening < 0:
            continue
        end = _closed(code, opening + 1, "(")
        yield from _names(code, opening + 1, end)
    for match in islice(_TABLE.finditer(code), _MAX_TRIED):
        checkpoint()
        yield from _names(code, match.end(), _closed(code, match.end(), "{"))
    for match in islice(_POINTER.finditer(code), _MAX_TRIED):
        checkpoint()
        if code[match.end()] != "<":
            yield f"&{match[1]}"
        else:
            end = _closed(code, match.end() + 1, "<")
            if end is not None and code[end : end + 40].lstrip()[:1] in (";", ",", ")", "}", ":"):
                yield f"&{match[1]}<{_value(code[match.end() + 1 : end - 1])}>"


def _names(code: str, start: int, end: int | None) -> Iterator[str]:
    return (f"&{name}" for name in _NAME.findall(code, start, end or start + _MAX_GROUP))
