"""Names of kernels as ptxas prints them: what the Itanium C++ ABI mangles, as far as names and template arguments go.

A name that is not understood to its end gets no arguments: nothing is guessed.
"""

from __future__ import annotations

from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

MAX_LENGTH = 4_000  # characters of a mangled name that are read
MAX_DEPTH = 40  # of types inside each other

_BUILTIN = {
    "v": "void",
    "w": "wchar_t",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "n": "__int128",
    "o": "unsigned __int128",
    "f": "float",
    "d": "double",
    "e": "long double",
}
_LENGTH = regex(r"[1-9]\d*")
_NUMBER = regex(r"n?\d+")
_SEQUENCE = regex(r"S([0-9A-Z]*)_")


@dataclass(frozen=True, slots=True)
class DemangledName:
    """``path``: namespaces and name, anonymous ones left out. ``arguments``: of the template in the spelling of C++,
    classes without their namespaces, values as numbers; empty: no template; None: not understood."""

    path: tuple[str, ...]
    arguments: tuple[str, ...] | None
    mangled: bool = True  # False: ``extern "C"``, which says nothing of namespaces

    @property
    def qualified(self) -> str:
        """``ns::k``."""
        return "::".join(self.path)


class _NotUnderstood(Exception):
    """The rest of the name has none of the known forms."""


def read_name(symbol: str) -> DemangledName:
    """``_ZN2ns1kIfLi32EEEvPT_`` -> ns::k with (float, 32). Never raises."""
    if not symbol.startswith("_Z"):
        return DemangledName((symbol,), (), mangled=False)
    # Lengths in a mangled name count bytes.
    reader = _NameReader(symbol[:MAX_LENGTH].encode().decode("latin-1"))
    try:
        name = reader.kernel()
    except (_NotUnderstood, IndexError):
        name = None
    if name is None or not name.path:  # `_ZNE`: a name of no parts
        return DemangledName(tuple(reader.path) or (symbol,), None)
    return name


class _NameReader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 2
        self.path: list[str] = []
        self.known: list[str] = []  # what can be substituted, in order
        self.depth = 0

    def kernel(self) -> DemangledName:
        """The name in front of the types of the parameters."""
        arguments: tuple[str, ...] = ()
        if self.take("N"):
            while self.peek() in ("K", "V", "r"):
                self.at += 1
            while not self.take("E"):
                if self.take("I"):
                    self.add(self.path[-1])
                    arguments = self.arguments()
                    if self.peek() != "E":  # a member of a class template
                        raise _NotUnderstood
                    continue
                if self.path:
                    self.add(self.path[-1])
                self.component()
        else:
            self.component()
            if self.take("I"):
                self.add(self.path[-1])
                arguments = self.arguments()
        return DemangledName(tuple(part for part in self.path if part), arguments)

    def component(self) -> None:
        """One part of the kernel's own name; the empty one stands for an anonymous namespace."""
        self.take("L")
        name = self.source_name()
        self.path.append("" if name.startswith(("_GLOBAL__N_", "_INTERNAL_")) else name)

    def arguments(self) -> tuple[str, ...]:
        """Behind the ``I``, up to its ``E``."""
        found: list[str] = []
        while not self.take("E"):
            found.append(self.argument())
        return tuple(found)

    def argument(self) -> str:
        return self.literal() if self.take("L") else self.type()

    def literal(self) -> str:
        """``Li32E``, ``Lb1E``, ``L4Mode2E``: the value as a number."""
        if self.peek() == "_":  # the address of something
            raise _NotUnderstood
        kind = self.type()
        number = _NUMBER.match(self.text, self.at)
        if number is None:
            raise _NotUnderstood
        self.at = number.end()
        if not self.take("E"):  # a floating constant
            raise _NotUnderstood
        if kind in ("float", "double", "long double"):
            raise _NotUnderstood
        value = int(number[0].replace("n", "-"))
        return ("true" if value else "false") if kind == "bool" else str(value)

    def type(self) -> str:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _NotUnderstood
        found = self._type()
        self.depth -= 1
        return found

    def _type(self) -> str:
        first = self.peek()
        if first in _BUILTIN:
            self.at += 1
            return _BUILTIN[first]
        if first in ("P", "R", "O", "K"):
            self.at += 1
            inner = self.type()
            return self.add(
                {"P": f"{inner}*", "R": f"{inner}&", "O": f"{inner}&&", "K": f"const {inner}"}[first]
            )
        if first == "N":
            self.at += 1
            return self.nested()
        if first == "S":
            return self.templated(self.substitution(), new=False)
        if first.isdigit():
            return self.templated(self.source_name(), new=True)
        raise _NotUnderstood

    def nested(self) -> str:
        """A class in namespaces, which are dropped: the result is its last part with its arguments."""
        name = ""
        pending = False  # the name is no substitution yet
        while not self.take("E"):
            if pending:
                self.add(name)
            if self.take("I"):
                name = f"{name}<{', '.join(self.arguments())}>"
                pending = True
            elif self.peek() == "S":
                name = self.substitution()
                pending = False
            else:
                self.take("L")
                name = self.source_name()
                pending = True
        return self.add(name) if pending else name

    def templated(self, name: str, *, new: bool) -> str:
        """A class by its name alone, or with the arguments that follow it."""
        if new:
            self.add(name)
        if self.take("I"):
            return self.add(f"{name}<{', '.join(self.arguments())}>")
        return name

    def substitution(self) -> str:
        """``S_``, ``S1_``: what was named before; ``St6vector``: a class of ``std``."""
        found = _SEQUENCE.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
            number = 0 if not found[1] else 1 + int(found[1], 36)
            if number >= len(self.known):
                raise _NotUnderstood
            return self.known[number]
        if self.text.startswith("St", self.at):
            self.at += 2
            return "std" if self.peek() in ("E", "I") else self.add(self.source_name())
        raise _NotUnderstood

    def source_name(self) -> str:
        length = _LENGTH.match(self.text, self.at)
        if length is None or len(length[0]) > 5:
            raise _NotUnderstood
        start = length.end()
        self.at = start + int(length[0])
        if self.at > len(self.text):
            raise _NotUnderstood
        return self.text[start : self.at].encode("latin-1").decode("utf-8", "replace")

    def add(self, text: str) -> str:
        self.known.append(text)
        return text

    def peek(self) -> str:
        if self.at >= len(self.text):
            raise _NotUnderstood
        return self.text[self.at]

    def take(self, letter: str) -> bool:
        if self.text.startswith(letter, self.at):
            self.at += 1
            return True
        return False
