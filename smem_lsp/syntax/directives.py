"""The directives of one file: conditionals, definitions, includes; and the code between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from smem_lsp.source import SourceText, Span, checkpoint
from smem_lsp.source.integers import COMPARISONS
from smem_lsp.source.queries import remembered
from smem_lsp.source.regex import regex
from smem_lsp.syntax.conditions import counting_names, evaluate
from smem_lsp.syntax.expand import COUNTER, LINE
from smem_lsp.syntax.header_stretches import HeaderStretch, Stretches
from smem_lsp.syntax.headers import Piece, directives_of, names_in, used_macros
from smem_lsp.syntax.includes import Preprocessing
from smem_lsp.syntax.known_names import known
from smem_lsp.syntax.lexer import Tokens, lex, lex_macro, packed
from smem_lsp.syntax.macros import Macro, TokenList, parse_definition
from smem_lsp.syntax.preprocessed_regions import OpenConditionals

_DIRECTIVE_NAME = regex(r"#\s*(\w*)")
_CONTINUATION = regex(r"\\\r?\n")
_COMMENT = regex(r'("(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')|//[^\n]*|/\*.*?(?:\*/|\Z)', re.S)
_INCLUDE = regex(r'\s*(?:"([^"\n]+)"|<([^>\n]+)>)')
_OPENING = frozenset(("if", "ifdef", "ifndef"))
# what each asks of its condition
_ALTERNATIVES = {"elif": "if", "elifdef": "ifdef", "elifndef": "ifndef", "else": ""}
_INCLUDES = frozenset(("include", "include_next", "import"))
_HAS_INCLUDE = frozenset(("__has_include", "__has_include_next"))
_HAS_OTHER = frozenset(
    (
        "__has_attribute",
        "__has_builtin",
        "__has_cpp_attribute",
        "__has_declspec_attribute",
        "__has_extension",
        "__has_feature",
    )
)
_FLAG = regex(
    r"!?\s*(?:defined\b\s*\(?\s*)?([A-Za-z]\w*)[\s)]*(?:\|\||&&|\Z)"
)  # the first operand, not reserved
_ABSENT = frozenset(("_MSC_VER", "_WIN32", "_WIN64", "_LIBCPP_VERSION"))  # of other compilers
_WORDS = frozenset(("true", "false", "and", "or", "not"))  # of a condition
OUTSIDE = OpenConditionals()  # no conditional is open


def process_header(run: Preprocessing, path: str, text: str, depth: int, bare: bool) -> None:
    """Carry out a header's directives and add its declarations to the run. ``bare``: its directives only."""
    File(run, path, TokenList.empty(), None, depth).process(text, bare=bare)


class _Conditional:
    """One open ``#if``. ``outer``: is the code around it active? ``taken``: has a branch been taken? ``unknown``: a
    name that nothing defines and that is compared to choose one; ``flags``: names that nothing defines and that its
    conditions so far ask for; ``start``: where it begins in the region."""

    __slots__ = ("flags", "outer", "start", "taken", "unknown")

    def __init__(
        self, outer: bool, taken: bool, unknown: str = "", flags: tuple[str, ...] = (), start: int = 0
    ) -> None:
        self.outer = outer
        self.taken = taken
        self.unknown = unknown
        self.flags = flags
        self.start = start


class Notes:
    """The directives, inactive ranges and undecided conditionals of one region of the file itself. ``start``: its
    offset; ``errors``: for each ``#error`` that is reached, the names that the conditions around it ask for and nothing
    defines."""

    __slots__ = ("directives", "errors", "inactive", "inactive_from", "start", "undecided")

    def __init__(self, start: int) -> None:
        self.start = start
        self.directives: list[tuple[str, int, int]] = []
        self.inactive: list[tuple[int, int]] = []
        self.inactive_from = 0
        self.undecided: list[tuple[int, int, str]] = []
        self.errors: list[tuple[str, ...]] = []


class File:
    """One file on its way through the preprocessor, or a region of it. ``notes`` is None for a header of which only
    the declarations are kept; ``depth`` is 0 for the main file."""

    __slots__ = (
        "active",
        "depth",
        "flags",
        "included",
        "notes",
        "out",
        "path",
        "pending",
        "run",
        "source",
        "stack",
        "unknown",
    )

    def __init__(
        self,
        run: Preprocessing,
        path: str,
        out: TokenList,
        notes: Notes | None,
        depth: int,
        before: OpenConditionals = OUTSIDE,
    ) -> None:
        self.run = run
        self.path = path
        self.out = out
        self.notes = notes
        self.depth = depth
        self.pending: TokenList | None = None  # an invocation that continues after a directive
        self.source: SourceText | None = None  # of a whole header
        self.included: tuple[str, bool] | None = None  # by the include at which reading stopped: name, quoted
        self._continue_in(before)
        self.unknown = ""  # what the last condition compares that nothing defines
        self.flags: tuple[str, ...] = ()  # what it asks for that nothing defines

    def process(self, text: str, *, bare: bool) -> None:
        """Process a whole header, one stretch after the other. ``bare``: only its directives."""
        run = self.run
        self.source = SourceText(text, self.path)
        known, tokens = Stretches.of(self.path, text, bare), None
        if not bare:
            if known.tokens < 0:
                tokens = lex(text)
                known.tokens = len(tokens)
            run.tokens += known.tokens
        at = 0
        while at >= 0:
            checkpoint()
            stretch = None if self.pending is not None else known.find(at, self.conditions(), run)
            if stretch is not None:
                self._replay(stretch)
            else:
                tokens = tokens or (_bare(text) if bare else lex(text))
                stretch = self._read_stretch(tokens, at, known)
            if stretch.include is not None:
                run.include(stretch.include[0], self.path, stretch.include[1], self.depth)
            at = stretch.end
        known.keep()

    def _replay(self, stretch: HeaderStretch) -> None:
        run = self.run
        for name, macro in stretch.changes.items():
            run.define(name, macro)
        if stretch.once:
            self._once()
        run.expander.pasted += stretch.pasted
        run.expander.produced += stretch.produced
        if stretch.piece is not None:
            run.pieces.append(stretch.piece)
        self._continue_in(stretch.after)

    def _read_stretch(self, tokens: Tokens, start: int, known: Stretches) -> HeaderStretch:
        run, before, pending = self.run, self.conditions(), self.pending is not None
        expander = run.expander
        changed, pasted, produced = len(run.changes), len(expander.pasted), expander.produced
        once, pieces = len(run.once_added), len(run.pieces)
        stop = self.process_tokens(tokens.kinds, tokens.texts, tokens.offsets, start, to_include=True)
        include, end = (None, -1) if stop is None else (self.included, stop + 1)
        pending = pending or self.pending is not None
        self._piece()
        then: dict[str, Macro | None] = {}
        for name, was, _ in run.changes[changed:]:
            then.setdefault(name, was)
        spelt = "\n".join(tokens.texts[start : len(tokens) if stop is None else end])
        words = names_in(spelt).union(expander.pasted[pasted:])
        uses, asked = used_macros(words, run.macros, then)
        stretch = HeaderStretch(
            before=before,
            after=self.conditions(),
            uses=uses,
            words=asked,
            changes={name: macro for name, _, macro in run.changes[changed:]},
            once=len(run.once_added) > once,
            pasted=tuple(expander.pasted[pasted:]),
            produced=expander.produced - produced,
            piece=run.pieces[-1] if len(run.pieces) > pieces else None,
            include=include,
            end=end,
        )
        fixed = uses.keys().isdisjoint((LINE, COUNTER)) and asked.isdisjoint(_HAS_INCLUDE)
        if fixed and not (pending or expander.refused):
            known.add(start, stretch)
        return stretch

    def _continue_in(self, conditions: OpenConditionals) -> None:
        self.stack = [_Conditional(*each) for each in conditions.stack]
        self.active = conditions.active

    def conditions(self) -> OpenConditionals:
        return OpenConditionals(
            tuple((each.outer, each.taken, each.unknown, each.flags) for each in self.stack), self.active
        )

    def process_tokens(
        self,
        kinds: list[str],
        texts: list[str],
        offsets: Sequence[int],
        start: int = 0,
        *,
        to_include: bool = False,
    ) -> int | None:
        """Process the tokens from ``start`` on. ``to_include``: only as far as the next include that is to be carried
        out (``included``), whose index is the answer."""
        for stop in _stops(kinds, start):
            checkpoint()
            if self.active and stop > start:
                self._segment(TokenList(kinds[start:stop], texts[start:stop], list(offsets[start:stop])))
            start = stop + 1
            spelled = texts[stop]
            name, rest = _directive(spelled)
            end = offsets[stop] + len(spelled)
            self._note_directive(name, offsets[stop], end)
            was_active = self.active
            if name in _OPENING:
                self._open(name, rest, offsets[stop])
            elif name in _ALTERNATIVES:
                self._alternative(name, rest)
            elif name == "endif":
                self._close(end)
            elif was_active:
                if to_include and name in _INCLUDES:
                    self.included = self._included(rest)
                    if self.included is not None:
                        return stop
                self._carry_out(name, rest)
            if was_active != self.active:
                self._note_change(offsets[stop], end)
        if self.active and start < len(kinds):
            if start:
                kinds, texts, offsets = kinds[start:], texts[start:], offsets[start:]
            self._segment(TokenList(kinds, texts, list(offsets)))
        self._flush()
        return None

    # ---- code ----------------------------------------------------------------------------------------------------

    def _segment(self, segment: TokenList) -> None:
        if self.pending is not None:
            self.pending.extend(segment)
            segment, self.pending = self.pending, None
        done = self.run.expander.expand(segment, self.out, keep_tail=True)
        if done < len(segment):
            self.pending = segment.part(done, len(segment))

    def _flush(self) -> None:
        """Expand what is pending: no `)` will follow."""
        if self.pending is not None:
            self.run.expander.expand(self.pending, self.out)
            self.pending = None

    def _piece(self) -> None:
        """Hand over the header's tokens so far, which come before those of its next include."""
        if self.out.texts:
            self.run.pieces.append(Piece.of(self.out, self.source))
            self.out = TokenList.empty()

    # ---- conditionals --------------------------------------------------------------------------------------------

    def _open(self, name: str, rest: str, at: int) -> None:
        """``#if``, ``#ifdef``, ``#ifndef``."""
        outer = self.active
        taken = outer and self._test(name, rest)
        asked = (self.unknown, self.flags) if outer else ("", ())
        self.stack.append(_Conditional(outer, taken, *asked, at))
        self.active = taken

    def _alternative(self, name: str, rest: str) -> None:
        """``#elif`` and its like, and ``#else``: a branch that runs if none before it does."""
        if not self.stack:
            return
        top = self.stack[-1]
        runs = False
        if top.outer and not top.taken:
            runs = name == "else" or self._test(_ALTERNATIVES[name], rest)
            if name != "else":
                top.unknown = top.unknown or self.unknown
                top.flags += self.flags
            top.taken = runs
        self.active = runs

    def _close(self, end: int) -> None:
        """``#endif``, which ends at ``end``."""
        if not self.stack:
            return
        ended = self.stack.pop()
        self.active = ended.outer
        if self.notes is not None and ended.unknown:
            self.notes.undecided.append((ended.start, end, ended.unknown))

    # ---- notes ---------------------------------------------------------------------------------------------------

    def _note_directive(self, name: str, start: int, end: int) -> None:
        notes = self.notes
        if notes is None:
            return
        notes.directives.append((name, start, end))
        if not self.depth:
            self.run.site = Span(notes.start + start, notes.start + end)
            self.run.directive = start

    def _note_change(self, start: int, end: int) -> None:
        """After a directive that begins or ends an inactive range."""
        notes = self.notes
        if notes is None:
            return
        if self.active:
            notes.inactive.append((notes.inactive_from, start))
        else:
            notes.inactive_from = end

    # ---- directives ----------------------------------------------------------------------------------------------

    def _carry_out(self, name: str, rest: str) -> None:
        run = self.run
        if name == "define":
            definition = parse_definition(rest)
            if definition:
                run.define(*definition)
        elif name == "undef":
            words = rest.split(None, 1)
            if words:
                run.define(words[0], None)
        elif name in _INCLUDES:
            included = self._included(rest)
            if included is not None:
                run.include(included[0], self.path, included[1], self.depth)
        elif name == "pragma" and rest.split() == ["once"] and self.depth:
            self._once()
        elif name == "error" and self.notes is not None:
            self.notes.errors.append(tuple(flag for each in self.stack for flag in each.flags))

    def _once(self) -> None:
        self.run.once.add(self.path)
        self.run.once_added.append(self.path)

    def _included(self, rest: str) -> tuple[str, bool] | None:
        """What an include names, and whether it does in quotes; None: nothing."""
        found = _INCLUDE.match(rest)
        if found is None:
            found = _INCLUDE.match(self._computed(rest))
        return None if found is None else (found[1] or found[2], found[1] is not None)

    def _computed(self, rest: str) -> str:
        """The spelling of an include whose name is a macro."""
        texts = self._expanded(rest)
        return texts[0] if len(texts) == 1 else "".join(texts)

    def _expanded(self, rest: str) -> list[str]:
        kinds, texts = lex_macro(rest)
        out = TokenList.empty()
        self.run.expander.expand(TokenList(kinds, texts, [-1] * len(texts)), out)
        return out.texts

    def _test(self, name: str, rest: str) -> bool:
        self.unknown = ""
        flag = None if self.notes is None else _FLAG.match(rest)  # errors in other headers are not noted
        self.flags = (flag[1],) if flag and not self.run.defined(flag[1]) else ()
        if name in ("ifdef", "ifndef"):
            words = rest.split(None, 1)
            return self.run.defined(words[0] if words else "") == (name == "ifdef")
        kinds, texts = lex_macro(rest)
        plain = TokenList.empty()
        i = 0
        while i < len(texts):
            checkpoint()
            text = texts[i]
            if text == "defined":
                parenthesised = texts[i + 1 : i + 2] == ["("]
                at = i + 2 if parenthesised else i + 1
                word = texts[at] if at < len(texts) else ""
                plain.append("NUMBER", str(int(self.run.defined(word))), -1)
                i = at + (2 if parenthesised else 1)
            elif text in _HAS_INCLUDE or text in _HAS_OTHER:
                end = i + 1
                while end < len(texts) and texts[end] != ")":
                    end += 1
                exists = text in _HAS_INCLUDE and self._has("".join(texts[i + 2 : end]))
                plain.append("NUMBER", str(int(exists)), -1)
                i = end + 1
            else:
                plain.append(kinds[i], text, -1)
                i += 1
        left = plain.texts
        if not self.run.macros.keys().isdisjoint(left):
            expanded = TokenList.empty()
            self.run.expander.expand(plain, expanded)
            left = _defined_after_all(expanded.texts, self.run)
        self.unknown = _compared(left)
        return bool(evaluate(left))

    def _has(self, spelled: str) -> bool:
        found = _INCLUDE.match(spelled) or _INCLUDE.match(self._computed(spelled))
        if found is None:
            return False
        wanted, quoted = found[1] or found[2], found[1] is not None
        return self.run.find(wanted, self.path, quoted) is not None or wanted in known().headers


def _compared(texts: list[str]) -> str:
    """A name that nothing in sight defines, in a condition that compares numbers and rests on it: whoever compiles the
    file, or makes it from a template, says what it is. "": none. ``texts``: after macros and ``defined``."""
    if COMPARISONS.isdisjoint(texts):
        return ""
    names = (
        text
        for text in counting_names(texts)
        if text.isidentifier() and text not in _ABSENT and text not in _WORDS
    )
    return next((name for name in names if not name.startswith("__")), "")


def _bare(text: str) -> Tokens:
    """The directives of a header."""
    directives = directives_of(text)
    return Tokens(["DIRECTIVE"] * len(directives), list(directives), packed([0] * len(directives)))


def _stops(kinds: list[str], start: int) -> Iterable[int]:
    """Indices of the directives in the code from ``start`` on."""
    if "DIRECTIVE" not in kinds and "HASH" not in kinds:
        return ()
    return (i for i in range(start, len(kinds)) if kinds[i] == "DIRECTIVE" or kinds[i] == "HASH")


def _defined_after_all(texts: list[str], run: Preprocessing) -> list[str]:
    """Answer a ``defined`` that a macro produced: undefined by the standard, but compilers accept it."""
    if "defined" not in texts:
        return texts
    out: list[str] = []
    i = 0
    while i < len(texts):
        if texts[i] != "defined":
            out.append(texts[i])
            i += 1
            continue
        parenthesised = texts[i + 1 : i + 2] == ["("]
        at = i + 2 if parenthesised else i + 1
        out.append(str(int(at < len(texts) and run.defined(texts[at]))))
        i = at + (2 if parenthesised else 1)
    return out


@remembered(most=16384)
def _directive(spelled: str) -> tuple[str, str]:
    """(name, rest) of a directive, without comments and line continuations."""
    if "\\" in spelled:
        spelled = _CONTINUATION.sub("", spelled)
    if "/" in spelled:
        spelled = _COMMENT.sub(lambda found: found[1] or " ", spelled)
    found = _DIRECTIVE_NAME.match(spelled)
    return (found[1], spelled[found.end() :].strip()) if found else ("", "")
