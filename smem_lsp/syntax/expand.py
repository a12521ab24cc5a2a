"""Macro expansion on token lists (C++ [cpp.replace]). Offsets tell where the author spelled each token.

A token of a macro argument keeps its own offset; a token of a macro body gets ``-1 - offset`` of the invocation that
the author spelled. Depth and number of tokens are bounded: an invocation beyond a bound is not expanded.
"""

from __future__ import annotations

from collections.abc import Callable

from smem_lsp.source import Span, checkpoint
from smem_lsp.source.queries import remembered
from smem_lsp.syntax.kinds import kind_of
from smem_lsp.syntax.lexer import lex_macro
from smem_lsp.syntax.macros import OPTION, Macro, TokenList

MAX_DEPTH = 500  # nested macro expansions
MAX_NESTED_ARGUMENTS = 60  # invocations in arguments of invocations
MAX_INVOCATION = 150_000  # tokens that one invocation may produce, intermediate ones included
MAX_WASTED = 300_000  # tokens of abandoned invocations; beyond, SMALL_INVOCATION is the bound of the next
SMALL_INVOCATION = 5_000
MAX_LITERAL = 50_000  # characters that `#` may turn into a string
MAX_TOKENS = 1_000_000  # of all invocations of a file and its headers
MAX_ARGUMENT_TOKENS = 50_000
MAX_MISSED_TOKENS = 2_000_000  # scanned for a `)` that is missing

LINE, COUNTER, FILE = "__LINE__", "__COUNTER__", "__FILE__"
_SPACES = {word.strip("_"): word for word in "__shared__ __device__ __global__ __host__ __constant__".split()}
_TWICE = ["(", "(", ")", ")"]

DYNAMIC = {name: Macro(None, False, (), (name,)) for name in (LINE, COUNTER, FILE)}


class Painted(str):
    """The name of a macro inside its own expansion: it is never replaced again."""

    __slots__ = ()


class _TooLarge(Exception):
    """An invocation exceeds the bounds."""


class _Unfinished(Exception):
    """The arguments of an invocation continue behind the end of the tokens."""


class _Frame:
    """Tokens to read next. ``name``: the macro they come from, which is not replaced in them."""

    __slots__ = ("at", "name", "tokens")

    def __init__(self, tokens: TokenList, at: int, name: str | None) -> None:
        self.tokens = tokens
        self.at = at
        self.name = name


class Expander:
    """Expands token lists against one macro environment.

    ``refused``: macros that exceeded the bounds, with the offset of their first invocation (negative as in
    ``Tokens``); they are not replaced any more. ``invocations``: spans of invocations with arguments that the author
    wrote. ``pasted``: names that `##` made.
    """

    __slots__ = (
        "_counter",
        "_disabled",
        "_keeps_tail",
        "_missed",
        "_steps",
        "_wasted",
        "environment",
        "invocations",
        "line_of",
        "pasted",
        "path",
        "produced",
        "refused",
    )

    def __init__(self, environment: dict[str, Macro]) -> None:
        self.environment = environment
        self.refused: dict[str, int] = {}
        self.invocations: list[Span] = []
        self.pasted: list[str] = []
        self.produced = 0
        self.path = ""
        self.line_of: Callable[[int], int] = lambda offset: 0
        self._disabled: set[str] = set()
        self._steps = 0
        self._wasted = 0
        self._missed = 0
        self._keeps_tail = False
        self._counter = 0

    def expand(self, source: TokenList, out: TokenList, *, keep_tail: bool = False) -> int:
        """Append ``source`` to ``out`` with macros replaced; returns how many tokens were consumed.

        ``keep_tail``: stop before an invocation whose arguments continue behind the end of ``source``.
        """
        checkpoint()
        first = len(out)
        consumed = self._scan(source, out, 0, keep_tail)
        if "__attribute__" in out.texts[first:]:
            _name_spaces(out, first)
        return consumed

    def _scan(self, source: TokenList, out: TokenList, nested: int, keep_tail: bool = False) -> int:
        checkpoint()
        environment = self.environment
        kinds, texts, offsets = source.kinds, source.texts, source.offsets
        if environment.keys().isdisjoint(texts):
            out.extend(source)
            return len(texts)
        base = _Frame(source, 0, None)
        for i in [i for i, text in enumerate(texts) if text in environment]:
            start = base.at
            if i < start:  # consumed as an argument
                continue
            if i > start:
                out.kinds += kinds[start:i]
                out.texts += texts[start:i]
                out.offsets += offsets[start:i]
                base.at = i
            if nested:
                self._replace(base, out, nested)
                continue
            length = len(out)
            self._steps = 0
            self._keeps_tail = keep_tail
            try:
                self._replace(base, out, 0)
            except _Unfinished:
                return i
            except _TooLarge:
                self._disabled.clear()
                self._wasted += self._steps
                self._steps = 0
                out.cut(length)
                self.refused.setdefault(str(texts[i]), offsets[i])
                out.append(kinds[i], str(texts[i]), offsets[i] if offsets[i] < 0 else -1 - offsets[i])
                base.at = i + 1
            self.produced += self._steps
        start = base.at
        out.kinds += kinds[start:]
        out.texts += texts[start:]
        out.offsets += offsets[start:]
        return len(texts)

    def _replace(self, base: _Frame, out: TokenList, nested: int) -> None:
        """Expand the invocation at ``base`` into ``out``, its arguments consumed."""
        environment, disabled = self.environment, self._disabled
        frames = [base]
        while True:
            checkpoint()
            frame = frames[-1]
            tokens, at = frame.tokens, frame.at
            if at == len(tokens.texts) and len(frames) > 1:
                frames.pop()
                disabled.discard(frame.name or "")
            else:
                text = tokens.texts[at]
                offset = tokens.offsets[at]
                macro = environment.get(text)
                if macro is None or type(text) is Painted or text in self.refused:
                    out.append(tokens.kinds[at], text if nested else str(text), offset)
                    frame.at = at + 1
                elif text in disabled:
                    out.append(tokens.kinds[at], Painted(text) if nested else text, offset)
                    frame.at = at + 1
                else:
                    arguments: list[TokenList] | None = []
                    if macro.parameters is None:
                        frame.at = at + 1
                    else:
                        arguments = self._arguments(frames, macro, nested)
                    if arguments is None:
                        out.append(tokens.kinds[at], text, offset)
                        frame.at = at + 1
                    else:
                        self._push(frames, text, macro, arguments, offset, out, nested)
            if len(frames) == 1:
                return

    def _push(
        self,
        frames: list[_Frame],
        name: str,
        macro: Macro,
        arguments: list[TokenList],
        offset: int,
        out: TokenList,
        nested: int,
    ) -> None:
        """Put the replacement of an invocation in front of the tokens to read next."""
        if len(frames) > MAX_DEPTH:
            raise _TooLarge
        root = offset if offset < 0 else -1 - offset
        if name in DYNAMIC and macro is DYNAMIC[name]:
            text = self._dynamic(name, root)
            out.append(kind_of(text), text, root)
            return
        body = self._substitute(macro, arguments, root, nested)
        self._count(len(body))
        if self.environment.keys().isdisjoint(body.texts):
            out.extend(body)
            return
        frames.append(_Frame(body, 0, name))
        self._disabled.add(name)

    def _count(self, tokens: int) -> None:
        self._steps += tokens
        limit = MAX_INVOCATION if self._wasted < MAX_WASTED else SMALL_INVOCATION
        if self._steps > limit or self.produced + self._steps > MAX_TOKENS:
            raise _TooLarge

    def _dynamic(self, name: str, root: int) -> str:
        if name == FILE:
            return '"' + self.path.replace("\\", "\\\\").replace('"', '\\"') + '"'
        if name == LINE:
            return str(self.line_of(-1 - root))
        self._counter += 1
        return str(self._counter - 1)

    # ---- arguments -----------------------------------------------------------------------------------------------

    def _arguments(self, frames: list[_Frame], macro: Macro, nested: int) -> list[TokenList] | None:
        """Arguments of the function-like macro whose name is next; None: no invocation. Consumes both."""
        frame = frames[-1]
        texts = frame.tokens.texts
        at = frame.at + 1
        if at < len(texts):
            if texts[at] != "(":
                return None
            found, end = self._bracketed(frame.tokens, at)
            if found is not None:
                if not _fits(macro, found):
                    return None
                if not nested and len(frames) == 1:
                    self._invoked(frame.tokens, frame.at, end)
                frame.at = end
                return self._painted(found)
            if self._keeps_tail and not nested and len(frames) == 1 and len(texts) - at <= self._limit():
                raise _Unfinished
        if len(frames) == 1:
            return None
        return self._arguments_behind(frames, macro)

    def _arguments_behind(self, frames: list[_Frame], macro: Macro) -> list[TokenList] | None:
        """Arguments that continue, or begin, behind the end of the expansion that holds the name."""
        following = TokenList.empty()
        for number, frame in enumerate(reversed(frames)):
            start = frame.at + (number == 0)
            following.extend(frame.tokens.part(start, start + MAX_ARGUMENT_TOKENS))
            if number == 0 and following.texts[:1] not in ([], ["("]):
                return None
        if following.texts[:1] != ["("]:
            return None
        found, end = self._bracketed(following, 0)
        if found is None or not _fits(macro, found):
            return None
        frames[-1].at += 1
        while end:
            frame = frames[-1]
            left = len(frame.tokens) - frame.at
            if left >= end:
                frame.at += end
                break
            end -= left
            frame.at += left
            frames.pop()
            self._disabled.discard(frame.name or "")
        return self._painted(found)

    def _bracketed(self, source: TokenList, lp: int) -> tuple[list[TokenList] | None, int]:
        limit = self._limit()
        found, end = _arguments(source, lp, limit)
        if found is None:
            self._missed += min(len(source) - lp, limit)
        return found, end

    def _limit(self) -> int:
        return MAX_ARGUMENT_TOKENS if self._missed < MAX_MISSED_TOKENS else 200

    def _painted(self, arguments: list[TokenList]) -> list[TokenList]:
        """The arguments, with every name that must never be replaced marked ``Painted``."""
        disabled = self._disabled
        if disabled:
            for argument in arguments:
                checkpoint()
                if not disabled.isdisjoint(argument.texts):
                    argument.texts = [Painted(t) if t in disabled else t for t in argument.texts]
        return arguments

    def _invoked(self, source: TokenList, name: int, end: int) -> None:
        start, last = source.offsets[name], source.offsets[end - 1]
        if start >= 0 and last >= start:
            self.invocations.append(Span(start, last + 1))

    # ---- replacement ---------------------------------------------------------------------------------------------

    def _substitute(self, macro: Macro, arguments: list[TokenList], root: int, nested: int) -> TokenList:
        """The macro's body with its arguments in place, before it is scanned again."""
        if macro.parameters is None and "##" not in macro.texts:
            return TokenList(list(macro.kinds), list(macro.texts), [root] * len(macro.texts))
        bound = _bind(macro, arguments, root)
        if macro.plan is None:
            return _Replacement(self, macro, bound, root, nested).build()
        out = TokenList.empty()
        expanded: dict[int, TokenList] = {}
        for kind, text, number in zip(macro.kinds, macro.texts, macro.plan):
            if number < 0:
                out.kinds.append(kind)
                out.texts.append(text)
                out.offsets.append(root)
                continue
            if number not in expanded:
                expanded[number] = self.argument(bound[number], nested)
            out.extend(expanded[number])
            if len(out) > MAX_INVOCATION:
                raise _TooLarge
        return out

    def argument(self, tokens: TokenList, nested: int) -> TokenList:
        """An argument with its macros replaced, ready to take the place of its parameter."""
        if self.environment.keys().isdisjoint(tokens.texts):
            return tokens
        if nested >= MAX_NESTED_ARGUMENTS:
            raise _TooLarge
        out = TokenList.empty()
        self._scan(tokens, out, nested + 1)
        self._count(len(out))
        return out


class _Replacement:
    """Builds the replacement of a macro whose body has `#`, `##` or ``__VA_OPT__``."""

    __slots__ = ("_bound", "_expanded", "_expander", "_macro", "_nested", "_root", "_variable")

    def __init__(
        self, expander: Expander, macro: Macro, bound: list[TokenList], root: int, nested: int
    ) -> None:
        parameters = macro.parameters or ()
        self._expander = expander
        self._macro = macro
        self._bound = dict(zip(parameters, bound))
        self._variable = parameters[-1] if macro.variadic else None
        self._expanded: dict[str, TokenList] = {}
        self._root = root
        self._nested = nested

    def build(self) -> TokenList:
        return self._build(list(self._macro.texts))

    def _build(self, texts: list[str]) -> TokenList:
        body = TokenList.empty()
        bound, root = self._bound, self._root
        i, n = 0, len(texts)
        paste = False
        placemarker = False  # the left operand of `##` is empty
        while i < n:
            text = texts[i]
            i += 1
            if text == "##":
                paste = True
                continue
            if text == "#" and i < n and texts[i] in bound:
                piece = TokenList(["STRING"], [_stringized(bound[texts[i]])], [root])
                i += 1
            elif text == OPTION and self._variable and texts[i : i + 1] == ["("]:
                end = _closing(texts, i)
                piece = self._option(self._variable, texts[i + 1 : end])
                i = end + 1
            elif text in bound:
                operand = paste or texts[i : i + 1] == ["##"]
                piece = bound[text] if operand else self._whole(text)
                if paste and text == self._variable and body.texts[-1:] == [","] and texts[i - 3] == ",":
                    _after_comma(body, piece)
                    paste = placemarker = False
                    continue
            else:
                piece = TokenList([kind_of(text)], [text], [root])
            if paste and not placemarker and body.texts and piece.texts:
                self._glue(body, piece)
            else:
                body.extend(piece)
            placemarker = not piece.texts and (placemarker or not paste)
            paste = False
            if len(body) > MAX_INVOCATION:
                raise _TooLarge
        return body

    def _option(self, variable: str, texts: list[str]) -> TokenList:
        """What becomes of ``__VA_OPT__(texts)``: nothing if there are no variable arguments."""
        present = bool(self._whole(variable).texts)
        return self._build(texts) if present else TokenList.empty()

    def _whole(self, name: str) -> TokenList:
        if name not in self._expanded:
            self._expanded[name] = self._expander.argument(self._bound[name], self._nested)
        return self._expanded[name]

    def _glue(self, body: TokenList, piece: TokenList) -> None:
        """Paste the last token of ``body`` and the first of ``piece``; if that makes no token, keep both."""
        glued = body.texts[-1] + piece.texts[0]
        if not _is_one_token(glued):
            body.extend(piece)
            return
        self._expander.pasted.append(glued)
        body.cut(len(body) - 1)
        body.append(kind_of(glued), glued, self._root)
        body.extend(piece.part(1, len(piece)))


def _after_comma(body: TokenList, arguments: TokenList) -> None:
    """GNU: `, ##__VA_ARGS__` drops the comma if there are no arguments, and pastes nothing."""
    if arguments.texts:
        body.extend(arguments)
    else:
        body.cut(len(body) - 1)


def _name_spaces(out: TokenList, first: int) -> None:
    """Replace ``__attribute__((shared))``, the body of the macro ``__shared__`` in CUDA's headers, by that macro's
    name, as if another macro had produced it."""
    texts = out.texts
    for i in range(len(texts) - 6, first - 1, -1):
        word = _SPACES.get(texts[i + 3])
        if (
            word is not None
            and texts[i] == "__attribute__"
            and [*texts[i + 1 : i + 3], *texts[i + 4 : i + 6]] == _TWICE
        ):
            offset = out.offsets[i]
            out.kinds[i : i + 6] = [kind_of(word)]
            out.texts[i : i + 6] = [word]
            out.offsets[i : i + 6] = [offset if offset < 0 else -1 - offset]


@remembered(most=4096)
def _is_one_token(spelling: str) -> bool:
    return len(spelling) < 10_000 and lex_macro(spelling)[1] == [spelling]


def _stringized(tokens: TokenList) -> str:
    """`#x`: a blank between tokens unless the author wrote them without one."""
    parts: list[str] = []
    end = -1
    if sum(map(len, tokens.texts)) > MAX_LITERAL:
        raise _TooLarge
    for kind, text, offset in zip(tokens.kinds, tokens.texts, tokens.offsets):
        if parts and not 0 <= end == offset:
            parts.append(" ")
        literal = kind == "STRING" or (kind == "NUMBER" and not text[0].isdigit())
        parts.append(text.replace("\\", "\\\\").replace('"', '\\"') if literal else text)
        end = offset + len(text) if offset >= 0 else -1
    return '"' + "".join(parts) + '"'


def _closing(texts: list[str], lp: int) -> int:
    """Index of the `)` that closes the `(` at ``lp``, or the end."""
    depth = 0
    for i in range(lp, len(texts)):
        depth += {"(": 1, ")": -1}.get(texts[i], 0)
        if depth == 0:
            return i
    return len(texts)


def _fits(macro: Macro, arguments: list[TokenList]) -> bool:
    """Does the macro take this many arguments? A compiler rejects any other number."""
    wanted = len(macro.parameters or ())
    given = len(arguments)
    if macro.variadic:
        return given >= wanted - 1
    if wanted == 0:
        return given == 0 or (given == 1 and not arguments[0].texts)
    return given == wanted


def _bind(macro: Macro, arguments: list[TokenList], root: int) -> list[TokenList]:
    """One token list for each parameter."""
    wanted = len(macro.parameters or ())
    if not macro.variadic:
        return arguments
    rest = TokenList.empty()
    for number, argument in enumerate(arguments[wanted - 1 :]):
        if number:
            rest.append("COMMA", ",", root)
        rest.extend(argument)
    return [*arguments[: wanted - 1], rest]


def _arguments(source: TokenList, lp: int, limit: int) -> tuple[list[TokenList] | None, int]:
    """Arguments between the `(` at ``lp`` and its `)`, and the index behind it; None if there is no `)`."""
    texts = source.texts
    depth = 0
    start = lp + 1
    found: list[TokenList] = []
    for i in range(lp, min(len(texts), lp + limit)):
        text = texts[i]
        if text == "(":
            depth += 1
        elif text == ")":
            depth -= 1
            if depth == 0:
                found.append(source.part(start, i))
                return found, i + 1
        elif text == "," and depth == 1:
            found.append(source.part(start, i))
            start = i + 1
    return None, lp
