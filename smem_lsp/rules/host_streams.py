"""What happens in a stream, as lines to read: its tokens in the order of the text."""

from __future__ import annotations

from smem_lsp.analysis.host.model import Token
from smem_lsp.analysis.host.survey import HostResources
from smem_lsp.source import Span, plural
from smem_lsp.source.record import dataclass
from smem_lsp.syntax.parse import Function

_SIGNS = {"work": "●", "record": "◆", "wait": "▷", "host": "■"}


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of a host function. ``tokens``: with the line of each."""

    function: str
    name: str
    tokens: tuple[tuple[int, Token], ...]

    @property
    def head(self) -> str:
        """One line about it."""
        work = sum(token.kind == "work" for _, token in self.tokens)
        return f"stream **`{self.name}`**: {plural(work, 'piece')} of work, in the order of the text"

    @property
    def drawn(self) -> tuple[str, ...]:
        """A line for each token."""
        width = max(len(str(line)) for line, _ in self.tokens)
        return tuple(f"{line:>{width}}  {_SIGNS[token.kind]} {token.what}" for line, token in self.tokens)


def streams_of(host: HostResources, function: Function) -> tuple[Stream, ...]:
    """The streams of a host function that anything happens in."""
    source = host.unit.source
    return tuple(
        Stream(
            function.name,
            name or "0",
            tuple((source.line_number(function.body.site(*token.place).start), token) for token in tokens),
        )
        for name, tokens in host.facts_of(function).streams
    )


def streams_named(host: HostResources, name: str) -> tuple[Stream, ...] | None:
    """The streams of the host function of that name; None: there is none, or it is a kernel."""
    last = name.rpartition("::")[2]
    found = [function for function in host.unit.functions if function.name == last]
    if not found or any(function.is_kernel for function in found):
        return None
    return streams_of(host, found[0])


def stream_at(host: HostResources, word: Span) -> Stream | None:
    """The stream that a name of a host function means."""
    name = host.unit.source.slice(word)
    function = host.around(word.start)
    if function is None or name not in function.definition.body_words:
        return None
    return next((each for each in streams_of(host, function) if each.name in (name, f"{name}[]")), None)
