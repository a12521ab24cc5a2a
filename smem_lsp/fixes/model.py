"""A fix: edits with a promise."""

from __future__ import annotations

import enum

from smem_lsp.source import TextEdit
from smem_lsp.source.record import dataclass


class Safety(enum.Enum):
    SAFE = "safe"  # every access resolved, plan validated, every barrier proved
    UNSAFE = "unsafe"  # something was assumed; the title says what
    DISPLAY = "display"  # shown, never applied by a tool; the title says why


@dataclass(frozen=True, slots=True)
class Title:
    """What a fix does, in parts: as text, ``Merge a, b: 4,096 → 2,048 B of static memory, 1 barrier added; assumes that
    n > 0 (checked for k<1>)``. ``effect``: what it saves; ``detail``: what a menu leaves out; ``price``: what else it
    does; ``assumed``: what it rests on; ``checked``: how far it was looked into."""

    what: str
    effect: str = ""
    detail: str = ""
    price: str = ""
    assumed: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self._head + "".join(f"; {words}" for words in self.assumed) + self._checked

    @property
    def _head(self) -> str:
        return f"{self.main}{self.detail}{self.price}"

    @property
    def _checked(self) -> str:
        return "".join(f" ({words})" for words in self.checked)

    @property
    def main(self) -> str:
        """What it does and saves."""
        return f"{self.what}: {self.effect}" if self.effect else self.what

    def brief(self, longest: int) -> str:
        """Without what it rests on; without details, too, where it would be longer than so many characters."""
        whole = self._head if self.assumed else self._head + self._checked
        return whole if len(whole) <= longest else f"{self.main}{self.price}"


@dataclass(frozen=True, slots=True)
class Fix:
    """``edits`` refer to the checked text. A display fix may have none: then its title is the reason.
    ``static_bytes``: what ptxas will report for the kernel afterwards, where the title names it. ``broken``: why a
    compiler made us withdraw it although we had promised otherwise: a mistake of ours."""

    words: Title
    safety: Safety
    edits: tuple[TextEdit, ...]
    static_bytes: int | None = None
    broken: str | None = None

    @property
    def title(self) -> str:
        """What it does, what it saves and what it rests on."""
        return str(self.words)


def cannot(task: str, why: object) -> Fix:
    """A display fix that says why there is none. ``task``: what it was to do, ``merge a and b``."""
    return Fix(Title(f"Cannot {task}", str(why)), Safety.DISPLAY, ())
