"""What functions and classes of libraries are and do: C++ declarations with attributes, in ``smem_lsp/stubs/*.cuh``.

``[[smem::pure]] unsigned __brev(unsigned x);`` An attribute says what no type says, and a function without any is one
of which only the types are known:

=============================  =======================================================================================
``pure``                       what it returns follows from its arguments, those of other lanes included
``impure``                     takes values, keeps and writes nothing; what it returns does not follow from them
``reads(p)``, ``reads(p, n)``  what ``p`` points to, or ``n`` elements from there on; ``some``: not known how many
``writes(p, n)``, ``updates``  the same, written, or read and written
``atomic``                     what it does there is atomic
``collective``, with ``mask``  lanes of a warp exchange their arguments: all of them, or those of the mask
``barrier(block)``             each thread of the ``block``, the ``warp`` or a ``named`` set waits for all others
``time``                       reads the time, or waits for it to pass
``fence(device)``              orders what a thread does to memory: for its ``block``, ``cluster``, ``device``
``surface``                    reads and writes global memory through a surface
``local``                      what other threads do does not show in it, nor it to them
``value(popcount)``            code knows the number that it returns
``model(group)``               code knows what it does
``threads(block)``             the group that it returns has the threads of the ``block``, ``grid``, ...
``uniform(p)``                 what it leaves in ``p`` is the same in all threads of the block
``reuses_storage``             some threads still read its storage when others go on, and those write it first
``storage(block_scan)``        code lays out its TempStorage
``type(decayed)``              code knows the member ``type`` of the class, and what ``name_t`` is
``constant(is_integral)``      code knows its member ``value``, and what ``name_v`` is; ``limits``: all of them
``layout(array)``              code knows how large its objects are
``alias(computed)``            code knows what the name stands for
``keeps``                      a method that hands on nothing of what its object holds
``forwards``                   gives back, or elsewhere, what it gets
``handle(stream)``             objects of the class stand for something that host code makes, and has to release
``makes(p, stream)``           it makes one, and stores it where ``p`` points; ``flags(p)`` say how
``releases(p, stream)``        it releases what ``p`` is
``stream(p)``, ``event(p)``    what it does, it does in this stream, or with this event; ``last``: the last argument
``runs``                       the device does it in the order of the stream, what it ``reads`` and ``writes`` included
``direction(p)``               between which memories it copies
``arguments(p)``               of a launch: the pointers to them
``waits(device)``              the host waits for the ``device``, the ``stream``, the ``event``, or a ``copy``
``launch_error``               it returns the error of a launch
=============================  =======================================================================================

Those from ``keeps`` on are of host code (``smem_lsp/stubs/host``). A file holds nothing else, in one form, so that an
index finds the declarations without reading them: one that is asked for is read by the front end
(``semantics/intrinsics.py``). The files come with the package; none of a workspace is read here.
``tests/semantics/test_stubs.py`` has the front end read all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

FOLDER = Path(__file__).resolve().parents[1] / "stubs"

ATTRIBUTES = frozenset(
    "pure impure reads writes updates atomic collective barrier time fence surface local value model uniform"
    " threads reuses_storage storage handle makes flags releases stream event runs direction arguments waits"
    " launch_error keeps forwards type constant limits layout alias".split()
)
# What says that a function takes values: nothing that it gets is written, or kept as a pointer.
_BY_VALUE = ("pure", "impure", "time", "fence", "surface")
_EFFECTS = {"reads": "r", "writes": "w", "updates": "x"}

_GAP = r"\s*(?://[^\n]*\s*)*"
_ITEM = regex(
    _GAP + r"(?:namespace (?P<space>\w+) \{|(?P<closing>\};?)|struct \w+;|\Z"
    r"|(?P<enum>enum \w+ \{(?P<enumerators>[\w,\s]+)\};)"
    r"|(?P<text>(?:template <[^<>]*>\s+)?(?P<class>class )?(?:\[\[(?P<attributes>[^\]]*)\]\] )?"
    r"(?P<head>[^;{}()]+)(?:(?P<opening>\{)|\((?P<parameters>[^()]*)\)(?P<const> const)?;|(?(class);|(?!)))))"
)
_SPACE = regex(_GAP)
_ATTRIBUTE = regex(r"smem::(\w+)(?:\(([^()]*)\))?")


@dataclass(frozen=True, slots=True)
class Attribute:
    """``[[smem::name(arguments)]]``"""

    name: str
    arguments: tuple[str, ...]


def written(text: str) -> Sequence[Attribute]:
    """The attributes that a text between ``[[`` and ``]]`` spells."""
    return [
        Attribute(name, tuple(each.strip() for each in given.split(",")) if given else ())
        for name, given in _ATTRIBUTE.findall(text)
    ]


def effects_of(attributes: Sequence[Attribute]) -> Sequence[ParameterEffect]:
    """What attributes say that a function does through its parameters."""
    return [
        ParameterEffect(
            each.arguments[0], _EFFECTS[each.name], each.arguments[1] if len(each.arguments) > 1 else ""
        )
        for each in attributes
        if each.name in _EFFECTS and each.arguments
    ]


@dataclass(frozen=True, slots=True)
class ParameterEffect:
    """What a function does through a parameter. ``kind``: "r" reads, "w" writes, "x" both. ``count``: of elements, a
    number or a parameter; "": one; "some": not known."""

    parameter: str
    kind: str
    count: str


@dataclass(frozen=True, eq=False)
class Stub:
    """A declaration. ``around``: the namespaces and the class that it stands in; ``text``: all of it; ``parameters``:
    between the parentheses, None for a class; ``member``: of a class, ``const``: one that only reads its object;
    ``written``: its attributes; ``at``: where it begins in its ``file``."""

    name: str
    around: tuple[str, ...]
    text: str
    parameters: str | None
    member: bool
    written: str
    file: str
    at: int
    const: bool = False

    @cached_property
    def attributes(self) -> Sequence[Attribute]:
        return written(self.written)

    def has(self, *names: str) -> bool:
        """Is one of these attributes among its own?"""
        return any(each.name in names for each in self.attributes)

    def argument(self, name: str) -> str | None:
        """The first argument of the first attribute of that name; None: it has none."""
        return next(
            (each.arguments[0] for each in self.attributes if each.name == name and each.arguments), None
        )

    @cached_property
    def effects(self) -> Sequence[ParameterEffect]:
        """What it does through its parameters."""
        return effects_of(self.attributes)

    @cached_property
    def model(self) -> str:
        """The code that knows what it does: what it names, or that for functions of which the effects say all."""
        return self.argument("model") or ("memory" if self.effects else "")

    @cached_property
    def value(self) -> str:
        """The code that knows what it returns."""
        return self.argument("value") or ""

    @cached_property
    def by_value(self) -> bool:
        """Does it take values, and neither write nor keep what it gets?"""
        return self.has(*_BY_VALUE) and not self.effects

    @cached_property
    def parameter_names(self) -> Sequence[str]:
        """In order; "..." for what is open."""
        written = (self.parameters or "").split(",")
        names = [each.partition("=")[0].replace("*", " ").replace("&", " ").split() for each in written]
        return [each[-1] for each in names if each]


class Stubs:
    """Declarations by their last names, as they are written."""

    def __init__(self, found: Sequence[Stub]) -> None:
        self.all = found
        self._by_name: dict[str, list[Stub]] = {}
        for each in found:
            if not each.member:
                self._by_name.setdefault(each.name, []).append(each)

    def named(self, name: str) -> Sequence[Stub]:
        """The declarations of a name, without what stands around it; no members of classes."""
        return self._by_name.get(name, ())

    def members(self, of: str) -> Sequence[Stub]:
        """What the class of that name declares."""
        return [each for each in self.all if each.member and each.around[-1] == of]

    def modelled(self, model: str) -> frozenset[str]:
        """The names of what has ``model(...)``."""
        return self._models.get(model, frozenset())

    @cached_property
    def enumerators(self) -> Mapping[str, int]:
        """The values of all enumerators, by name."""
        enums = (
            each.text.partition("{")[2].strip("};") for each in self.all if each.text.startswith("enum ")
        )
        return {name.strip(): value for each in enums for value, name in enumerate(each.split(","))}

    @cached_property
    def _models(self) -> Mapping[str, frozenset[str]]:
        found: dict[str, set[str]] = {}
        for each in self.all:
            if "model(" in each.written:
                found.setdefault(each.model, set()).add(each.name)
        return {model: frozenset(names) for model, names in found.items()}


@remembered(most=1)
def own() -> Stubs:
    """Those of device code that come with the package."""
    return _read(FOLDER)


@remembered(most=1)
def host() -> Stubs:
    """Those of host code."""
    return _read(FOLDER / "host")


def _read(folder: Path) -> Stubs:
    files = sorted(folder.glob("*.cuh"))
    return Stubs([each for file in files for each in indexed(file.read_text(encoding="utf-8"), file.name)])


def indexed(text: str, file: str) -> Iterator[Stub]:
    """The declarations of one of our files. Raises ValueError where it is of another form."""
    around: list[str] = []
    in_class = False
    at = 0
    while at < len(text):
        found = _ITEM.match(text, at)
        if found is None or found.end() == at:
            gap = _SPACE.match(text, at)
            line = text.count("\n", 0, gap.end() if gap is not None else at) + 1
            raise ValueError(f"{file}:{line}: no declaration")
        if found["space"]:
            around.append(found["space"])
        elif found["closing"]:
            around.pop()
            in_class = False
        elif found["enum"]:
            name = found["enum"].split()[1]
            yield Stub(name, tuple(around), found["enum"], None, False, "", file, found.start("enum"))
        elif found["text"]:
            name = found["head"].split()[-1].lstrip("*&")
            yield Stub(
                name,
                tuple(around),
                found["text"],
                found["parameters"],
                in_class,
                found["attributes"] or "",
                file,
                found.start("text"),
                found["const"] is not None,
            )
            if found["opening"]:
                around.append(name)
                in_class = True
        at = found.end()
