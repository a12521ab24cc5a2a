"""What a file and its headers can declare outside function bodies.

A declaration consists of token ranges of its Source. Its type and value are computed on demand (``scope``), with the
template arguments bound at that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any

from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Store
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.lookahead import Symbols
from smem_lsp.syntax.parse import parse_chunk

Range = tuple[int, int]  # half-open token indices of a Source


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Source:
    """A token list with its bracket partners. ``order``: among those that follow one another as a whole; None: it is
    not known how it lies to others."""

    kinds: Sequence[str]
    texts: Sequence[str]
    partner: Sequence[int]
    symbols: Symbols
    order: int | None = None

    def parse(self, start: str, lo: int, hi: int) -> Any:
        """The tree of the tokens ``[lo, hi)``, parsed from the grammar rule ``start``; None if they do not parse."""
        return parse_chunk(start, self.kinds[lo:hi], self.texts[lo:hi], self.symbols)

    def after(self, i: int) -> int:
        """Index after the partner of the bracket at ``i``; after ``i`` if it has none."""
        return self.partner[i] + 1 if i < len(self.partner) and self.partner[i] > i else i + 1


TokenRange = tuple[Source, Range]


@dataclass(frozen=True, eq=False, slots=True)
class TemplateParameter:
    """A template parameter. ``kind``: "type", "value" or "template"; ranges of its type and default; ``closers``: how
    many ``>`` of what it ends with stand in the token that closes the header, as in ``class A = B<int>>``."""

    kind: str
    name: str
    source: Source
    type: Range
    default: Range | None
    pack: bool
    closers: int = 0

    @property
    def type_tokens(self) -> TokenRange:
        """The tokens of its type, and their range."""
        return self._whole(self.type, closers=0 if self.default is not None or self.name else self.closers)

    @property
    def default_tokens(self) -> TokenRange | None:
        """The tokens of its default, and their range."""
        return None if self.default is None else self._whole(self.default, closers=self.closers)

    def _whole(self, where: Range, *, closers: int) -> TokenRange:
        if not closers:
            return self.source, where
        kinds = [*self.source.kinds[slice(*where)], *["GT"] * closers]
        texts = [*self.source.texts[slice(*where)], *[">"] * closers]
        return Source(kinds, texts, match_brackets(kinds), self.source.symbols), (0, len(kinds))


def _start(parameters: tuple[TemplateParameter, ...] | None, otherwise: int) -> int:
    return min([otherwise, *(p.type[0] for p in parameters or ())])


@dataclass(frozen=True, eq=False, slots=True)
class ClassDecl:
    """A class. ``body`` None: only declared. ``arguments``: of a specialisation, inside its angle brackets."""

    name: str
    tag: str
    source: Source
    head: Range  # from the tag to the brace: attributes, name
    bases: Range | None
    body: Range | None
    after: Range  # from the brace to the `;`: attributes, declarators
    parameters: tuple[TemplateParameter, ...] | None  # None: no template; (): `template <>`
    arguments: Range | None
    store: Store = field(default_factory=Store)  # facts about it

    @property
    def start(self) -> int:
        """Index of the first token, template header included."""
        return _start(self.parameters, self.head[0])


@dataclass(frozen=True, eq=False, slots=True)
class EnumDecl:
    name: str
    scoped: bool
    source: Source
    underlying: Range | None
    body: Range


@dataclass(frozen=True, eq=False, slots=True)
class Enumerator:
    """An enumerator of value ``base`` plus ``offset``; without ``base``, ``offset``."""

    name: str
    enum: EnumDecl
    base: Range | None
    offset: int


@dataclass(frozen=True, eq=False, slots=True)
class AliasDecl:
    """``using name = type;`` (``type``: its range), or the declarator of a typedef at ``position``."""

    name: str
    source: Source
    type: Range
    position: int | None
    parameters: tuple[TemplateParameter, ...] | None
    record: ClassDecl | EnumDecl | None = None  # `typedef struct {...} name;`

    @property
    def start(self) -> int:
        """Index of the first token, template header included."""
        return _start(self.parameters, self.type[0])


@dataclass(frozen=True, eq=False, slots=True)
class VariableDecl:
    """A variable. ``range``: its declaration with all declarators, one of them ``name``; ``arguments``: of a
    specialisation, inside its angle brackets."""

    name: str
    source: Source
    range: Range
    parameters: tuple[TemplateParameter, ...] | None
    record: ClassDecl | EnumDecl | None = None  # `struct {...} v;`: its class
    arguments: Range | None = None

    @property
    def start(self) -> int:
        """Index of the first token, template header included."""
        return _start(self.parameters, self.range[0])


@dataclass(frozen=True, eq=False, slots=True)
class FunctionDecl:
    """A function. ``name``: behind ``::`` for a member that is defined outside of its class or namespace, which no
    lookup finds; ``body``: between its braces, None for a prototype."""

    name: str
    source: Source
    head: Range
    list: Range  # the parameters, between the parentheses
    body: Range | None
    parameters: tuple[TemplateParameter, ...] | None
    constexpr: bool

    @property
    def start(self) -> int:
        """Index of the first token, template header included."""
        return _start(self.parameters, self.head[0])


@dataclass(frozen=True, eq=False, slots=True)
class UsingDecl:
    """``using A::B;``"""

    name: str
    source: Source
    target: Range


@dataclass(frozen=True, eq=False, slots=True)
class NamespaceAlias:
    name: str
    target: tuple[str, ...]


Declared = (
    ClassDecl | EnumDecl | Enumerator | AliasDecl | VariableDecl | FunctionDecl | UsingDecl | NamespaceAlias
)


@dataclass(slots=True, eq=False)
class MemberDeclaration:
    """Non-static data members that one declaration declares, or an anonymous class."""

    range: Range
    record: ClassDecl | EnumDecl | None
    access: str


@dataclass(slots=True, eq=False, repr=False)
class DeclaredNames:
    """What one namespace, class or block declares. ``opened``: where a namespace is declared first."""

    names: dict[str, list[Declared]] = field(default_factory=dict)
    namespaces: dict[str, DeclaredNames] = field(default_factory=dict)
    inline: list[DeclaredNames] = field(default_factory=list)  # inline and unnamed namespaces
    unnamed_namespace: DeclaredNames | None = None
    opened: tuple[Source, int] | None = None
    directives: list[tuple[str, ...]] = field(default_factory=list)  # using namespace a::b;
    # of a class
    members: list[MemberDeclaration] = field(default_factory=list)
    unnamed: list[ClassDecl | EnumDecl] = field(default_factory=list)  # anonymous structs and unions
    virtual: bool = False
    constructors: bool = False  # declared by the user, copy assignment and destructor included
    odd: bool = False  # something in it did not parse

    # names of classes that are defined or specialised outside the class they belong to, and of specialised functions
    outside: set[str] = field(default_factory=set)

    store: Store = field(default_factory=Store)  # facts about it, once it is complete
    mark: object = field(default_factory=object)  # stands for it in keys that must not keep it alive

    def add(self, decl: Declared) -> None:
        self.names.setdefault(decl.name, []).append(decl)

    def add_class(self, decl: ClassDecl | EnumDecl) -> None:
        """Add a class to the namespace of its qualified name."""
        self._add_at(decl.name, decl, library=isinstance(decl, ClassDecl) and decl.arguments is not None)

    def add_specialisation(self, path: str, decl: VariableDecl) -> None:
        """Add the specialisation of a variable template to the namespace of its qualified name."""
        self._add_at(path, decl, library=True)

    def _add_at(self, path: str, decl: ClassDecl | EnumDecl | VariableDecl, *, library: bool) -> None:
        """Add what is declared by a qualified name. ``library``: what is not declared before may be a namespace of a
        library that is not in sight; what is, may be of an inline namespace."""
        *steps, name = path.removeprefix("::").split("::")
        level: DeclaredNames | None = self
        for step in steps:
            level = None if level is None else level._namespace(step, make=library)
        if level is None:
            self.outside.add(name)
            return
        waiting = [level] if library else []
        while waiting and name not in level.names:
            each = waiting.pop()
            level = each if name in each.names else level
            waiting += each.inline
        level.names.setdefault(name, []).append(decl)

    def _namespace(self, name: str, *, make: bool) -> DeclaredNames | None:
        """The namespace of this name; None: it is none. ``make``: where nothing is called so, there is one from now
        on."""
        found = self.namespaces.get(name)
        aliases = [each for each in self.names.get(name, ()) if isinstance(each, NamespaceAlias)]
        if found is None and len(aliases) == 1:
            level: DeclaredNames | None = self
            for step in aliases[0].target:
                level = None if level is None else level._namespace(step, make=False)
            return level
        if found is None and make and name not in self.names:
            found = self.namespaces[name] = DeclaredNames()
        return found

    def copy(self) -> DeclaredNames:
        """A copy that can grow: new namespaces with the same declarations."""
        made: dict[int, DeclaredNames] = {}
        for level in self.levels():
            made[id(level)] = replace(
                level,
                names={name: list(group) for name, group in level.names.items()},
                namespaces={},
                inline=[],
                directives=list(level.directives),
                outside=set(level.outside),
                store=Store(),
                mark=object(),
            )
        for level in self.levels():
            checkpoint()
            inner = made[id(level)]
            inner.namespaces.update((name, made[id(each)]) for name, each in level.namespaces.items())
            inner.inline += [made[id(each)] for each in level.inline]
            if level.unnamed_namespace is not None:
                inner.unnamed_namespace = made[id(level.unnamed_namespace)]
        return made[id(self)]

    def levels(self) -> Iterator[DeclaredNames]:
        """This and all inner namespaces."""
        return (level for _, level in self._levels())

    def _levels(self) -> Iterator[tuple[tuple[str, ...], DeclaredNames]]:
        stack: list[tuple[tuple[str, ...], DeclaredNames]] = [((), self)]
        while stack:
            path, level = stack.pop()
            yield path, level
            stack += [((*path, name), inner) for name, inner in level.namespaces.items()]
            stack += [((*path, ""), inner) for inner in level.inline]

    def walk(self) -> Iterator[Declared]:
        """Declarations of this and all inner namespaces (not of classes)."""
        return (decl for _, decl in self.walk_with_paths())

    def walk_with_paths(self) -> Iterator[tuple[tuple[str, ...], Declared]]:
        """The same with the names of the namespaces around each; "" for an inline or unnamed one."""
        for path, level in self._levels():
            checkpoint()
            for group in level.names.values():
                for decl in group:
                    yield path, decl


def point_of(decl: Declared) -> tuple[Source, int] | None:
    """From where on a name is declared ([basic.scope.pdecl]); None: not known."""
    match decl:
        case ClassDecl():
            return decl.source, decl.head[0]
        case EnumDecl():
            return decl.source, (decl.underlying or decl.body)[0]
        case Enumerator():
            return decl.enum.source, decl.enum.body[1]
        case AliasDecl():
            return decl.source, decl.type[1]
        case VariableDecl():
            parsed = variable_tree(decl) if decl.arguments is None else None
            named = [each.name_at for each in parsed.declarators if each.name == decl.name] if parsed else []
            return decl.source, decl.range[0] + (named[0] if named else 0)
        case FunctionDecl():
            return decl.source, decl.list[0]
        case UsingDecl():
            return decl.source, decl.target[1]
        case NamespaceAlias():
            return None


def record_start(record: ClassDecl | EnumDecl) -> int:
    """Index of the brace of a class or enumeration."""
    return (record.body or record.after)[0] if isinstance(record, ClassDecl) else record.body[0]


def enumerators(enum: EnumDecl) -> Iterator[Enumerator]:
    """The enumerators of an enumeration, in order."""
    source = enum.source
    lo, hi = enum.body
    base: Range | None = None
    offset = 0
    for start, end in split(source, lo, hi):
        checkpoint()
        if source.kinds[start] != "NAME":
            return
        at = start + 1
        while at < end and source.kinds[at] != "EQ":
            at = source.after(at) if source.kinds[at] in ("LB", "LP") else at + 1
        if at + 1 < end:
            base, offset = (at + 1, end), 0
        yield Enumerator(source.texts[start], enum, base, offset)
        offset += 1


def split(source: Source, lo: int, hi: int, *, angles: bool = False) -> Iterator[Range]:
    """Non-empty ranges between the commas of ``[lo, hi)`` that are outside brackets."""
    start = i = lo
    while i < hi:
        kind = source.kinds[i]
        if kind in ("LP", "LB", "LC"):
            i = min(source.after(i), hi)
            continue
        if angles and kind == "LT" and i > lo and source.kinds[i - 1] in ("NAME", "TEMPLATE", "NAMED_CAST"):
            close = angle_close(source, i, hi)
            if close is not None:
                i = close + 1
                continue
        if kind == "COMMA":
            if i > start:
                yield start, i
            start = i + 1
        i += 1
    if hi > start:
        yield start, hi


def angle_close(source: Source, lt: int, hi: int) -> int | None:
    """Index of the token that closes the `<` at ``lt``; None if none does, or if it also closes an outer one."""
    depth = 0
    i = lt
    while i < hi:
        kind = source.kinds[i]
        if kind == "LT" and (i == lt or source.kinds[i - 1] in ("NAME", "TEMPLATE", "NAMED_CAST")):
            depth += 1
        elif kind in ("GT", "SHIFT", "LAUNCH_CLOSE") and source.texts[i][0] == ">":
            depth -= len(source.texts[i])
            if depth <= 0:
                return i if depth == 0 else None
        elif kind in ("LP", "LB", "LC"):
            i = source.after(i)
            continue
        elif kind == "SEMI":
            return None
        i += 1
    return None


def specialised_name(source: Source, lo: int, lp: int) -> int:
    """The name in front of template arguments that end where the parameters begin; without some, the last token."""
    for at in range(lp - 2, lo, -1):
        if source.kinds[at] == "LT" and angle_close(source, at, lp) == lp - 1:
            return at - 1
    return lp - 1


def template_parameters(
    kinds: Sequence[str], texts: Sequence[str], symbols: Symbols
) -> list[TemplateParameter]:
    """The parameters of the template headers at the start of a declaration's tokens."""
    source = Source(kinds, texts, match_brackets(kinds), symbols)
    found: list[TemplateParameter] = []
    i = 0
    while i + 1 < len(kinds) and kinds[i] == "TEMPLATE" and kinds[i + 1] == "LT":
        close = angle_close(source, i + 1, len(kinds))
        if close is None:
            break
        found += parameters_of(source, i + 2, close)
        i = close + 1
    return found


def parameters_of(source: Source, lo: int, hi: int) -> Iterator[TemplateParameter]:
    """The parameters of a template head."""
    found = list(_parameters_of(source, lo, hi))
    closers = len(source.texts[hi]) - 1 if hi < len(source.texts) and set(source.texts[hi]) == {">"} else 0
    if found:
        found[-1] = replace(found[-1], closers=closers)
    return iter(found)


def _parameters_of(source: Source, lo: int, hi: int) -> Iterator[TemplateParameter]:
    for start, end in split(source, lo, hi, angles=True):
        checkpoint()
        equals = start
        while equals < end and source.kinds[equals] != "EQ":
            equals += 1
        default = (equals + 1, end) if equals < end else None
        head = source.kinds[start:equals]
        pack = "ELLIPSIS" in head
        named = equals - 1 if head and head[-1] == "NAME" and equals - 1 > start else None
        name = source.texts[named] if named is not None else ""
        if head and head[0] == "TEMPLATE":
            yield TemplateParameter("template", name, source, (start, start), default, pack)
        elif (
            head
            and (head[0] == "TYPENAME" or (head[0] == "TAG" and source.texts[start] == "class"))
            and ("SCOPE" not in head)
            and len([k for k in head if k == "NAME"]) <= 1
        ):
            yield TemplateParameter("type", name, source, (start, start), default, pack)
        else:
            pointer = _pointer_to_function(source, start, equals)
            if pointer is not None:
                yield TemplateParameter("value", source.texts[pointer], source, (start, start), default, pack)
                continue
            if named is not None and source.kinds[named - 1] in ("SCOPE", "TYPENAME"):
                named, name = None, ""  # an unnamed parameter of a named type
            yield TemplateParameter(
                "value", name, source, (start, equals if named is None else named), default, pack
            )


def _pointer_to_function(source: Source, lo: int, hi: int) -> int | None:
    """The name in ``int (*name)(float)``; None: it is another parameter."""
    for at in range(lo, hi - 3):
        if source.kinds[at] == "LP":
            known = source.kinds[at + 1] in ("STAR", "AMP") and source.kinds[at + 2] == "NAME"
            return at + 2 if known and list(source.kinds[at + 3 : at + 5]) == ["RP", "LP"] else None
    return None


def declaration_tree(source: Source, where: Range) -> tree.Declaration | None:
    """The tree of a declaration without its `;`; None if it does not parse."""
    parsed = source.parse("declaration", *where)
    return parsed if isinstance(parsed, tree.Declaration) else None


def variable_tree(decl: VariableDecl) -> tree.Declaration | None:
    """The tree of the declaration of a variable, of a specialisation without what stands around its name: of
    ``int n::v<float> = 2`` that of ``int v = 2``."""
    source, (lo, hi) = decl.source, decl.range
    if decl.arguments is None:
        return declaration_tree(source, decl.range)
    first, last = decl.arguments[0] - 2, decl.arguments[1] + 1
    start = first
    while start > lo and source.kinds[start - 1] == "SCOPE":
        start -= 2 if source.kinds[start - 2] == "NAME" else 1
    kinds, texts = (
        [*words[lo:start], words[first], *words[last:hi]] for words in (source.kinds, source.texts)
    )
    parsed = parse_tokens("declaration", kinds, texts, source.symbols)
    return parsed if isinstance(parsed, tree.Declaration) else None


def parse_tokens(start: str, kinds: Sequence[str], texts: Sequence[str], symbols: Symbols) -> Any:
    return parse_chunk(start, kinds, texts, symbols)
