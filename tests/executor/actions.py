"""What a random kernel does to its buffers, and where it needs a barrier for that."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Shared:
    """One buffer. ``columns``: of a two-dimensional one, pitch included, else 0."""

    name: str
    type: str
    count: int
    columns: int = 0
    aligned: bool = False

    @property
    def flat(self) -> bool:
        """Its elements lie in a row and have its type: a pointer to the type may walk over them."""
        return not self.columns

    @property
    def extent(self) -> str:
        """``count`` as the kernel's text has it."""
        return str(self.count)

    @property
    def varies(self) -> bool:
        """``count`` is that of the smallest instance of a template only."""
        return False

    def at(self, index: str) -> str:
        if self.columns:
            return f"{self.name}[({index}) / {self.columns}][({index}) % {self.columns}]"
        return f"{self.name}[{index}]"

    def get(self, index: str) -> str:
        """The number there."""
        return self.at(index)

    @property
    def declared(self) -> str:
        dims = f"[{self.count // self.columns}][{self.columns}]" if self.columns else f"[{self.count}]"
        return f"{self.name}{dims}"


@dataclass(frozen=True)
class Use:
    """``own``: thread t touches elements i with i % threads == t only."""

    buffer: str
    kind: str  # read, write, atomic
    own: bool

    def conflicts(self, other: Use) -> bool:
        if self.buffer != other.buffer or (self.own and other.own):
            return False
        return not (self.kind == other.kind and self.kind != "write")


@dataclass
class Action:
    """Statements without a barrier of their own, or (``inside``) with the barriers that they need inside.

    ``before`` and ``after``: what the block has touched since its last barrier must not conflict with the uses in
    ``before``; those in ``after`` follow the last barrier inside, if there is one.
    """

    lines: list[str]
    before: list[Use]
    after: list[Use]
    has_barrier: bool = False
    barrier: bool = False  # to stand in front


@dataclass
class Block:
    head: str
    body: list[Action | Block]
    otherwise: list[Action | Block] | None = None
    loop: bool = False
    declared: list[Shared] = field(default_factory=list)


Pending = frozenset[Use]


def place_barriers(items: list[Action | Block], pending: Pending) -> Pending:
    """Marks where a barrier is needed; what follows the last one on some path."""
    for item in items:
        if isinstance(item, Block):
            if item.loop:
                once = pending | place_barriers(item.body, pending)
                pending = once | place_barriers(item.body, once)
            else:
                other = place_barriers(item.otherwise or [], pending)
                pending = place_barriers(item.body, pending) | other
            continue
        if any(use.conflicts(old) for use in item.before for old in pending):
            item.barrier = True
        if item.barrier:
            pending = frozenset()
        pending = frozenset(item.after) | (
            frozenset() if item.has_barrier else pending | frozenset(item.before)
        )
    return pending
