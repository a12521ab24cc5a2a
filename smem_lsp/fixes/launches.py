"""Where the host says how many dynamic bytes a kernel gets: the third argument of launches, the attribute that raises
the limit, and constants and functions that are made for both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from smem_lsp.ir.nodes import LaunchSite
from smem_lsp.source import SourceText, Span, TextEdit, checkpoint
from smem_lsp.source.digits import whole_number
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax import tree
from smem_lsp.syntax.lexer import LAUNCH_CLOSING, LAUNCH_OPENING, lex
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.unit.size_functions import counting_functions, returned
from smem_lsp.unit.unit_facts import internally_linked

_SETTERS = ("cudaFuncSetAttribute", "cuFuncSetAttribute", "hipFuncSetAttribute")
_ATTRIBUTES = (
    "cudaFuncAttributeMaxDynamicSharedMemorySize",
    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
    "hipFuncAttributeMaxDynamicSharedMemorySize",
)
_FACTOR = regex(r"(?<![\w.])([1-9]\d*)[uUlLzZ]*(?![\w.])")
_PRODUCT = regex(r"[\w\s*]*(?:sizeof\s*\([^()]*\)[\w\s*]*)?")  # nothing but factors
_SIZEOF = regex(r"sizeof\s*\([^()]*\)")
_MOST_ADDENDS = 8
_BYTES_REGISTER = regex(r"%(?:dynamic|total|aggr)_smem_size\b")
_WORD = regex(r"[A-Za-z_]\w*")
_CALL = regex(r"(\w+)\s*\(([^()]*)\)")  # of a function, without calls among its arguments


@dataclass(frozen=True, slots=True)
class PassedBytes:
    """``edits``: of the bytes that the host names; ``constants``: what they are counted with; ``still``: in words, the
    launches that go on passing as many; ``assumed``: in words, what must be so in other files."""

    edits: tuple[TextEdit, ...]
    constants: frozenset[str]
    still: tuple[str, ...]
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Count:
    """Where the bytes of a launch are counted. ``text``: that counts so many less, None: not understood;
    ``function``: whose result it is."""

    span: Span
    text: str | None
    constants: frozenset[str]
    function: Function | None = None


def fewer_bytes(
    unit: TranslationUnit, kernel: str, launches: Sequence[LaunchSite], saved: int
) -> PassedBytes:
    """Let launches of a kernel pass ``saved`` bytes less, and the attribute that raises the limit name as many as they
    do."""
    edits: dict[Span, TextEdit] = {}
    still: list[str] = []
    constants: set[str] = set()
    assumed: dict[str, None] = {}
    passed: dict[str, LaunchSite] = {}  # by the expression
    asked = asks_for_bytes(unit.source)
    counts = [None if asked else _of_launch(unit, kernel, launch, saved) for launch in launches]
    for launch, count in zip(launches, counts):
        why = "" if count is None else _held_back(unit, kernel, count, counts)
        if count is None or count.text is None or why:
            bytes_ = "its bytes" if launch.dynamic_bytes is None else f"{launch.dynamic_bytes:,} B"
            still.append(
                f"the launch at {launch.place} still passes {bytes_}{why or (asked and f': {asked}')}"
            )
            continue
        edits[count.span] = TextEdit(count.span, count.text)
        constants |= count.constants
        passed[(launch.dynamic_expression or "").strip()] = launch
        if count.function is not None and not internally_linked(count.function):
            assumed[f"assumes that no other file uses {count.function.name}()"] = None
    for span in () if still else limits_of(unit, kernel):
        like = passed.get(unit.source.slice(span))
        text = None if like is None else _less(unit.source.slice(span), like, saved)
        if text is not None:
            edits[span] = TextEdit(span, text)
    return PassedBytes(tuple(edits.values()), frozenset(constants), tuple(still), tuple(assumed))


def asks_for_bytes(source: SourceText) -> str:
    """Why no launch may pass other bytes, in words: a kernel reads how many there are (PTX ISA, "Special Registers").
    Empty: none does."""
    found = _BYTES_REGISTER.search(source.text)
    return "" if found is None else f"line {source.line_number(found.start())} asks how many there are"


def _held_back(unit: TranslationUnit, kernel: str, count: _Count, counts: Sequence[_Count | None]) -> str:
    """Why the function that counts the bytes of a launch must stay as it is, in words; empty when it may change."""
    function = count.function
    if function is None:
        return ""
    if any(other is not None and other.span == count.span and other.text != count.text for other in counts):
        return f": {function.name}() would have to differ between launches"
    line = _used_elsewhere(unit, kernel, function)
    return f": {function.name}() is used at line {line}, too" if line else ""


def _used_elsewhere(unit: TranslationUnit, kernel: str, function: Function) -> int | None:
    """The line of something that names a function beside its definition, launches of the kernel and its limit, be it in
    code that this configuration leaves out or in a macro."""
    allowed = {function.name_span.start, *_counted_at(unit, kernel)}
    tokens = lex(unit.source.text)
    for kind, text, offset in zip(tokens.kinds, tokens.texts, tokens.offsets):
        named = (
            text == function.name
            if kind == "NAME"
            else text[:1] == "#" and function.name in _WORD.findall(text)
        )
        if named and offset not in allowed:
            return unit.source.line_number(offset)
    return None


def _counted_at(unit: TranslationUnit, kernel: str) -> Iterator[int]:
    """Where the bytes of launches of a kernel and of its limit begin, or those of a constant that nothing else uses."""
    for span in limits_of(unit, kernel):
        yield span.start
    for function in unit.functions:
        checkpoint()
        for opened in _opened(function):
            if _launched(unit.source, opened.start) == kernel:
                arguments = configuration(unit.source, opened)
                if arguments is not None and len(arguments) > 2:
                    made = initializer_of(unit, kernel, opened, arguments[2])
                    yield (made or arguments[2]).start


def _names(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_SIZEOF.sub("", text))) - {"u", "U", "l", "L"}


def _of_launch(unit: TranslationUnit, kernel: str, launch: LaunchSite, saved: int) -> _Count | None:
    """None: what the launch passes is counted in a way that is not understood, or counts something else, too."""
    if launch.path is not None:
        return None  # a fix edits one file
    arguments = None if launch.extended else configuration(unit.source, launch.span)
    before = launch.dynamic_bytes
    if arguments is None or len(arguments) < 3 or before is None or before < saved:
        return None
    span = arguments[2]
    text = _less(unit.source.slice(span), launch, saved)
    if text is not None:
        return _Count(span, text, _names(text))
    made = initializer_of(unit, kernel, launch.span, span)
    text = None if made is None else _less(unit.source.slice(made), launch, saved)
    if made is not None and text is not None:
        return _Count(made, text, _names(text))
    return _by_function(unit, launch, made or span, saved)


def _by_function(unit: TranslationUnit, launch: LaunchSite, call: Span, saved: int) -> _Count | None:
    """The expression that a function of this file returns, where ``call`` is nothing but a call of it."""
    spelled = _CALL.fullmatch(unit.source.slice(call))
    function = None if spelled is None else counting_functions(unit).get(spelled[1])
    chunk = None if function is None else returned(function)
    span = None if function is None or chunk is None else function.body.span_between(*chunk)
    if spelled is None or function is None or span is None:
        return None
    text = _less(unit.source.slice(span), launch, saved)
    names = frozenset[str]() if text is None else _names(text) - set(function.definition.parameters.texts)
    return _Count(span, text, names | _names(spelled[2]), function)


def _less(text: str, launch: LaunchSite, saved: int) -> str | None:
    """``text``, the bytes that a launch passes, with ``saved`` fewer; None: it is not understood."""
    before, addends = launch.dynamic_bytes or 0, launch.addends
    found = _scaled(text, before, saved)
    if found is not None or not addends:
        return None if found is None else found.text
    opened, parts, closed = _sum_in(text)
    if None in addends or len(parts) != len(addends) or len(parts) > _MOST_ADDENDS:
        return None
    own = [each or 0 for each in addends]
    left = _smaller_sum(parts, own, saved) if sum(own) == before else None
    return None if left is None else f"{opened}{'+'.join(left).strip()}{closed}"


def _smaller_sum(parts: Sequence[str], own: Sequence[int], saved: int) -> list[str] | None:
    """The parts of a sum, each of its ``own`` bytes, that are left when ``saved`` bytes go: whole parts, or some and a
    share of another, whose factor then changes as little as possible; None: no such parts."""
    best: tuple[int, list[str]] | None = None
    for kept in _choices(len(parts)):
        checkpoint()
        more = saved - (sum(own) - sum(own[at] for at in kept))
        if not more:
            return [parts[at] for at in kept]
        for at in kept:
            less = _scaled(parts[at].strip(), own[at], more) if own[at] > more else None
            if less is not None and (best is None or less.steps < best[0]):
                scaled = parts[at].replace(parts[at].strip(), less.text)
                best = less.steps, [scaled if each == at else parts[each] for each in kept]
    return None if best is None else best[1]


def _choices(count: int) -> Iterator[list[int]]:
    """Which of so many parts stay: all, then all but one, and so on. What is divided last goes first."""
    for number in range(count):
        for gone in reversed(list(combinations(range(count), number))):
            yield [at for at in range(count) if at not in gone]


def _sum_in(text: str) -> tuple[str, list[str], str]:
    """What stands in front of a sum, its parts, and what stands behind it: ``(``, ``n `` and `` m``, ``) * 4``."""
    parts = _summands(text)
    opened = text.find("(") if len(parts) == 1 else -1
    while opened >= 0:
        depth, closed = 0, opened
        for closed in range(opened, len(text)):
            depth += (text[closed] == "(") - (text[closed] == ")")
            if not depth:
                break
        inner = _summands(text[opened + 1 : closed])
        before, behind = text[:opened].strip(), text[closed + 1 :].strip()
        factors = before[-1:] in ("", "*") and behind[:1] in ("", "*") and _PRODUCT.fullmatch(before + behind)
        if len(inner) > 1:
            return (text[: opened + 1], inner, text[closed:]) if factors else ("", parts, "")
        opened = text.find("(", closed)
    return "", parts, ""


def _summands(text: str) -> list[str]:
    """``n * sizeof(float) `` and `` m * 4`` of their sum."""
    depth, parts = 0, [""]
    for char in text:
        depth += (char in "([{<") - (char in ")]}>")
        if char == "+" and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return parts


@dataclass(frozen=True, slots=True)
class _Scaled:
    """``steps``: by how much the factor that is another one differs."""

    text: str
    steps: int


def _scaled(text: str, before: int, saved: int) -> _Scaled | None:
    """``3 * N * sizeof(float)`` with another number in the place of 3, for ``saved`` of the ``before`` bytes less."""
    wanted = before - saved
    if _PRODUCT.fullmatch(text) is None:
        return None
    for factor in _FACTOR.finditer(_SIZEOF.sub(lambda m: "_" * len(m[0]), text)):
        count = whole_number(factor[1])
        if count and before % count == 0 and wanted % (before // count) == 0:
            made = wanted // (before // count)
            return _Scaled(f"{text[: factor.start()]}{made}{text[factor.end() :]}", abs(count - made))
    return None


def initializer_of(unit: TranslationUnit, kernel: str, launch: Span, argument: Span) -> Span | None:
    """Of a local constant that nothing but launches of the kernel and its limit use."""
    name = unit.source.slice(argument)
    around = [f for f in unit.functions if f.span.start <= launch.start < f.span.end]
    if not _WORD.fullmatch(name) or len(around) != 1:
        return None
    function = around[0]
    allowed = {argument.start, *(span.start for span in limits_of(unit, kernel))}
    for other in _opened(function):
        arguments = configuration(unit.source, other)
        if arguments is not None and len(arguments) > 2 and _launched(unit.source, other.start) == kernel:
            allowed.add(arguments[2].start)
    made = list(_declared(function, name))
    tokens = function.body.tokens
    uses = [tokens.offsets[at] for at, text in enumerate(tokens.texts) if text == name]
    if len(made) != 1 or [use for use in uses if use not in allowed and use != made[0][0]]:
        return None
    return made[0][1]


def _declared(function: Function, name: str) -> Iterator[tuple[int, Span | None]]:
    """Where a local of this name is declared, and its initializer."""
    body = function.body
    stack: list[tree.Statement] = [body.statements]
    while stack:
        checkpoint()
        node = stack.pop()
        if isinstance(node, tree.Block):
            stack.extend(node.statements)
        if not isinstance(node, tree.DeclarationStatement):
            continue
        declaration = body.chunk("declaration", node.chunk)
        for declarator in declaration.declarators if declaration is not None else ():
            if declarator.name != name:
                continue
            at = node.chunk[0]
            value, span = declarator.initializer, None
            if value is not None and declarator.style == "=" and len(declaration.declarators) == 1:
                end = node.chunk[1] - (body.tokens.kinds[node.chunk[1] - 1] == "SEMI")
                span = body.span_between(at + declarator.hi + 1, end)
            place = next(i for i in range(at, node.chunk[1]) if body.tokens.texts[i] == name)
            yield body.tokens.offsets[place], span


def _opened(function: Function) -> Iterator[Span]:
    """From each ``<<<`` to the end of its function."""
    tokens = function.body.tokens
    for kind, offset in zip(tokens.kinds, tokens.offsets):
        if kind == "LAUNCH_OPEN" and offset >= 0:
            yield Span(offset, function.span.end)


def _launched(source: SourceText, opening: int) -> str:
    """The name in front of ``<<<``, template arguments left out."""
    before = re.search(r"(\w+)\s*(?:<[^<>;]*>\s*)?\Z", source.text[max(0, opening - 200) : opening])
    return before[1] if before is not None else ""


def limits_of(unit: TranslationUnit, kernel: str) -> Iterator[Span]:
    """The last argument of each call that raises the dynamic bytes that the kernel may get."""
    for function in unit.functions:
        checkpoint()
        tokens, partner = function.body.tokens, function.body.ahead.partner
        for at, text in enumerate(tokens.texts[:-1]):
            if text not in _SETTERS or tokens.texts[at + 1] != "(":
                continue
            end = partner[at + 1]
            commas = [
                i
                for i in range(at + 2, end)
                if tokens.texts[i] == "," and _depth(tokens.texts[at + 2 : i]) == 0
            ]
            if len(commas) != 2 or kernel not in tokens.texts[at + 2 : commas[0]]:
                continue
            if not {*tokens.texts[commas[0] + 1 : commas[1]]} & {*_ATTRIBUTES}:
                continue
            span = function.body.span_between(commas[1] + 1, end)
            if span is not None:
                yield span


def _depth(texts: Sequence[str]) -> int:
    return sum((text in ("(", "[", "{", "<")) - (text in (")", "]", "}", ">")) for text in texts)


def configuration(source: SourceText, launch: Span) -> list[Span] | None:
    """The arguments of the first ``<<<grid, block, bytes, stream>>>`` in ``launch``, white space around them left out.
    None: there is none, or something in it may hide a comma."""
    opening = LAUNCH_OPENING.search(source.text, launch.start, launch.end)
    closing = LAUNCH_CLOSING.search(source.text, opening.end(), launch.end) if opening is not None else None
    if opening is None or closing is None:
        return None
    return _parts(source, Span(opening.end(), closing.start()))


def arguments_of(source: SourceText, launch: Span) -> list[Span] | None:
    """The same of what the first launch in ``launch`` passes to its kernel."""
    closing = LAUNCH_CLOSING.search(source.text, launch.start, launch.end)
    behind = (
        re.compile(r"\s*\(").match(source.text, closing.end(), launch.end) if closing is not None else None
    )
    if behind is None:
        return None
    depth = 1
    for at in range(behind.end(), launch.end):
        depth += (source.text[at] == "(") - (source.text[at] == ")")
        if not depth:
            return _parts(source, Span(behind.end(), at))
    return None


def _parts(source: SourceText, listed: Span) -> list[Span] | None:
    """What stands between commas; None: something may hide one."""
    depth, ends, starts = 0, list[int](), [listed.start]
    for at in range(listed.start, listed.end):
        char = source.text[at]
        depth += (char in "([{") - (char in ")]}")
        if char == "," and not depth:
            ends.append(at)
            starts.append(at + 1)
        if char in "\"'<" or source.text[at : at + 2] in (
            "//",
            "/*",
        ):  # strings, template arguments and comments
            return None
    return [_stripped(source, Span(start, end)) for start, end in zip(starts, [*ends, listed.end])]


def _stripped(source: SourceText, span: Span) -> Span:
    text = source.slice(span)
    return Span(span.start + len(text) - len(text.lstrip()), span.end - (len(text) - len(text.rstrip())))
