"""Where the understanding of a kernel ends."""

from __future__ import annotations

from dataclasses import field

from smem_lsp.ir.nodes import PresumedCall
from smem_lsp.source.record import dataclass


@dataclass
class LimitsFound:
    """What was not understood by now. Of reasons that are one, the first stays. ``opaque``: points, rising, of calls
    that may wait for other threads; ``presumed``: those of which nothing says that they do;
    ``hidden``: macros that are called but not in sight; ``disguised``: those of
    them that stand where a declaration could; ``assumed``: what is taken for granted of functions that whoever
    instantiates a template passes; ``unseen``: names of values that nothing in sight declares; ``passed_over``: a call
    was not followed."""

    partly: list[str] = field(default_factory=list)  # what is not parsed, or only by a guess
    irregular: str | None = None  # why control flow is not known
    unexact: str | None = None  # why the bytes may be others than those declared
    unknown: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    unknown_accesses: int = 0
    unknown_barriers: int = 0
    opaque: list[int] = field(default_factory=list)
    presumed: dict[int, PresumedCall] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    disguised: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    passed_over: bool = False

    def note_partly(self, line: int, what: str = "the statement") -> None:
        self.partly.append(f"{what} at line {line} was not understood")

    def note_unknown(self, reason: str, *, accesses: int = 0, barriers: int = 0) -> None:
        self.unknown.append(reason)
        self.unknown_accesses += accesses
        self.unknown_barriers += barriers

    def note_hidden(self, of_class: str, line: int) -> None:
        self.note_unknown(f"line {line}: what {of_class} reaches is not followed", accesses=1)

    def note_irregular(self, reason: str) -> None:
        self.irregular = self.irregular or reason

    def note_unexact(self, reason: str) -> None:
        self.unexact = self.unexact or reason
