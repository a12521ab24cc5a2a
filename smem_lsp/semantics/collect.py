"""Finds what tokens declare, in one pass and without evaluation. Bodies of classes are read on demand."""

from __future__ import annotations

from functools import partial

from smem_lsp.semantics.declarations import (
    AliasDecl,
    ClassDecl,
    DeclaredNames,
    EnumDecl,
    FunctionDecl,
    MemberDeclaration,
    NamespaceAlias,
    Range,
    Source,
    TemplateParameter,
    UsingDecl,
    VariableDecl,
    angle_close,
    enumerators,
    parameters_of,
    record_start,
    specialised_name,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.queries import Query

_MAX_DEPTH = 40  # nested classes and namespaces
_AFTER_PARAMETERS = frozenset(
    ("LC", "SEMI", "COLON", "EQ", "QUALIFIER", "SIZEOF", "AMP", "AND_AND", "ATTRIBUTE")
)
_SKIPPED = frozenset(("STATIC_ASSERT", "ASM"))


def inside(decl: ClassDecl) -> DeclaredNames:
    """What the body of a class declares; cached."""
    return _INSIDE.of(decl.store, (), partial(_inside, decl))


_INSIDE = Query[tuple[()], DeclaredNames]("what the body of a class declares")


def _inside(decl: ClassDecl) -> DeclaredNames:
    found = DeclaredNames()
    if decl.body is not None:
        collect(decl.source, *decl.body, found, in_class=True, depth=1)
    return found


def collect(
    source: Source, lo: int, hi: int, into: DeclaredNames, *, in_class: bool = False, depth: int = 0
) -> None:
    """Add what the tokens ``[lo, hi)`` declare to ``into``."""
    if depth < _MAX_DEPTH:
        _Collector(source, hi, into, in_class, depth).run(lo)
    else:
        into.odd = True


def guides_of(name: str) -> str:
    """What the deduction guides of a class template are declared as: no name that a text can spell."""
    return f"->{name}"


class _Collector:
    __slots__ = ("access", "depth", "hi", "in_class", "into", "kinds", "source", "texts")

    def __init__(self, source: Source, hi: int, into: DeclaredNames, in_class: bool, depth: int) -> None:
        self.source = source
        self.kinds = source.kinds
        self.texts = source.texts
        self.hi = hi
        self.into = into
        self.in_class = in_class
        self.depth = depth
        self.access = ""

    def kind(self, i: int) -> str:
        return self.kinds[i] if i < self.hi else "END"

    def run(self, i: int) -> None:
        while i < self.hi:
            i = self.declaration(i, None)

    def declaration(self, i: int, parameters: tuple[TemplateParameter, ...] | None) -> int:
        """Read one declaration at ``i``; returns the index after it."""
        checkpoint()
        kind = self.kinds[i]
        if kind in ("SEMI", "RC", "RP", "RB"):
            return i + 1
        if kind == "LC":  # a block where none may stand
            self.into.odd = True
            return self.source.after(i)
        if kind == "ACCESS" and self.kind(i + 1) == "COLON":
            self.access = self.texts[i]
            return i + 2
        if kind == "NAMESPACE" or (kind == "STORAGE" and self.kind(i + 1) == "NAMESPACE"):
            return self.namespace(i)
        if kind == "STORAGE" and self.texts[i] == "extern" and self.kind(i + 1) == "STRING":
            if self.kind(i + 2) != "LC":
                return self.declaration(i + 2, None) if i + 2 < self.hi else self.hi
            end = self.source.after(i + 2)
            collect(self.source, i + 3, min(end - 1, self.hi), self.into, depth=self.depth + 1)
            return end
        if kind == "TEMPLATE":
            return self.template(i, parameters)
        if kind == "USING":
            return self.using(i, parameters)
        if kind == "TYPEDEF":
            return self.typedef(i)
        if kind in _SKIPPED or (kind == "STORAGE" and self.texts[i] == "friend"):
            return self.skip(i)
        return self.simple(i, parameters)

    def skip(self, i: int) -> int:
        """Index after the `;` of this declaration, or after the body of a function."""
        while i < self.hi:
            kind = self.kinds[i]
            if kind == "SEMI":
                return i + 1
            if kind == "LC":
                end = self.source.after(i)
                return end + 1 if self.kind(end) == "SEMI" else end
            i = self.source.after(i) if kind in ("LP", "LB") else i + 1
        return i

    def semicolon(self, i: int) -> int:
        """Index of the next `;` outside brackets."""
        while i < self.hi and self.kinds[i] != "SEMI":
            i = self.source.after(i) if self.kinds[i] in ("LP", "LB", "LC") else i + 1
        return min(i, self.hi)

    def namespace(self, i: int) -> int:
        inline = self.kinds[i] == "STORAGE"
        i += 2 if inline else 1
        while self.kind(i) in ("ATTRIBUTE", "LB"):
            i = self.source.after(i + 1) if self.kinds[i] == "ATTRIBUTE" else self.source.after(i)
        path: list[str] = []
        while self.kind(i) in ("NAME", "SCOPE", "STORAGE"):
            if self.kinds[i] == "NAME":
                path.append(self.texts[i])
            i += 1
        if self.kind(i) == "EQ" and path:
            end = self.semicolon(i)
            target = tuple(t for k, t in zip(self.kinds[i:end], self.texts[i:end]) if k == "NAME")
            self.into.add(NamespaceAlias(path[0], target))
            return end + 1
        if self.kind(i) != "LC":
            return i + 1
        inner = self.into
        for name in path:
            following = inner.namespaces.get(name)
            if following is None:
                following = inner.namespaces[name] = DeclaredNames(opened=(self.source, i))
                if inline:
                    inner.inline.append(following)
            inner = following
        if not path:
            if inner.unnamed_namespace is None:
                inner.unnamed_namespace = DeclaredNames()
                inner.inline.append(inner.unnamed_namespace)
            inner = inner.unnamed_namespace
        end = self.source.after(i)
        if end == i + 1:  # never closed
            end = self.hi + 1
        collect(self.source, i + 1, min(end - 1, self.hi), inner, depth=self.depth + 1)
        return min(end, self.hi)

    def template(self, i: int, outer: tuple[TemplateParameter, ...] | None) -> int:
        if self.kind(i + 1) != "LT":  # explicit instantiation
            return self.semicolon(i) + 1
        close = angle_close(self.source, i + 1, self.hi)
        if close is None:
            self.into.odd = True
            return self.skip(i)
        parameters = tuple(parameters_of(self.source, i + 2, close))
        after = close + 1
        if self.kind(after) == "NAME" and self.texts[after] == "requires":
            self.into.odd = True
            return self.skip(after)
        if after >= self.hi:
            return after
        return self.declaration(after, (outer or ()) + parameters)

    def using(self, i: int, parameters: tuple[TemplateParameter, ...] | None) -> int:
        end = self.semicolon(i)
        if self.kind(i + 1) == "NAMESPACE":
            path = tuple(t for k, t in zip(self.kinds[i:end], self.texts[i:end]) if k == "NAME")
            self.into.directives.append(path)
        elif self.kind(i + 1) == "NAME":
            at = i + 2
            while self.kind(at) in ("ATTRIBUTE", "LB"):
                at = self.source.after(at + 1) if self.kinds[at] == "ATTRIBUTE" else self.source.after(at)
            if self.kind(at) == "EQ":
                self.into.add(AliasDecl(self.texts[i + 1], self.source, (at + 1, end), None, parameters))
                return end + 1
        if self.kind(i + 1) != "NAMESPACE" and end > i + 1 and self.kinds[end - 1] == "NAME":
            self.into.add(UsingDecl(self.texts[end - 1], self.source, (i + 1, end)))
        elif "OPERATOR" in self.kinds[i + 1 : end]:
            name = "".join(self.texts[list(self.kinds).index("OPERATOR", i) : end])
            self.into.add(UsingDecl(name, self.source, (i + 1, end)))
        return end + 1

    def typedef(self, i: int) -> int:
        end = self.semicolon(i)
        record, after = self.specified(i + 1, end, None)
        if record is not None and record.name:
            self.into.add_class(record)
        if isinstance(record, EnumDecl) and not record.scoped:
            for enumerator in enumerators(record):
                self.into.add(enumerator)
        first = i + 1 if record is None else after
        tag = self.texts[after + 1] if record is None and self.kind(after) == "TAG" else ""
        for position, name in enumerate(_declared_names(self.source, first, end)):
            if name and name != (tag if record is None else record.name):  # `typedef struct S {...} S;`
                self.into.add(AliasDecl(name, self.source, (i + 1, end), position, None, record))
        return end + 1

    def specified(
        self, i: int, end: int, parameters: tuple[TemplateParameter, ...] | None
    ) -> tuple[ClassDecl | EnumDecl | None, int]:
        """The class or enumeration that the specifiers at ``i`` define, and the index after its brace."""
        while self.kind(i) in ("STORAGE", "QUALIFIER", "ATTRIBUTE", "LB", "TYPEDEF"):
            if self.kinds[i] == "ATTRIBUTE":
                i = self.source.after(i + 1)
            else:
                i = self.source.after(i) if self.kinds[i] == "LB" else i + 1
        if self.kind(i) != "TAG":
            return None, i
        return self.class_or_enum(i, end, parameters)

    def class_name(self, i: int, end: int) -> tuple[str, Range | None, int] | None:
        """(name, template arguments, end) of the tokens between the tag and the bases or the brace."""
        name = ""
        arguments: Range | None = None
        while i < end:
            kind = self.kinds[i]
            if kind == "ATTRIBUTE":
                i = self.source.after(i + 1)
            elif kind == "LB":
                i = self.source.after(i)
            elif kind == "NAME" and self.texts[i] == "final" and name:
                i += 1
            elif kind == "NAME":
                name = name + self.texts[i] if name.endswith("::") else self.texts[i]
                i += 1
                if self.kind(i) == "LP":  # an unknown attribute macro
                    i = self.source.after(i)
            elif kind == "SCOPE":
                name += "::"
                i += 1
            elif kind == "LT":
                close = angle_close(self.source, i, end)
                if close is None:
                    return None
                arguments = (i + 1, close)
                i = close + 1
            else:
                break
        return name, arguments, i

    def class_or_enum(
        self, i: int, end: int, parameters: tuple[TemplateParameter, ...] | None
    ) -> tuple[ClassDecl | EnumDecl | None, int]:
        start = i
        tag = self.texts[i]
        i += 1
        scoped = False
        if tag == "enum" and self.kind(i) == "TAG":
            scoped = True
            i += 1
        named = self.class_name(i, end)
        if named is None:
            return None, start
        name, arguments, i = named
        bases: Range | None = None
        if self.kind(i) == "COLON":
            first = i + 1
            while i < end and self.kinds[i] not in ("LC", "SEMI"):
                i = self.source.after(i) if self.kinds[i] == "LP" else i + 1
            bases = (first, i)
        if self.kind(i) != "LC":
            if tag != "enum" and self.kind(i) == "SEMI" and name and bases is None:
                declared = ClassDecl(
                    name, tag, self.source, (start, i), None, None, (i, i), parameters, arguments
                )
                return declared, i
            return None, start
        close = self.source.partner[i]
        if close <= i or close >= self.hi:
            close = end
            self.into.odd = True
        if tag == "enum":
            return EnumDecl(name, scoped, self.source, bases, (i + 1, close)), close + 1
        finish = self.semicolon(close + 1)
        found = ClassDecl(
            name,
            tag,
            self.source,
            (start, i),
            bases,
            (i + 1, close),
            (close + 1, finish),
            parameters,
            arguments,
        )
        return found, close + 1

    def simple(self, i: int, parameters: tuple[TemplateParameter, ...] | None) -> int:
        """A class, a function or variables; returns the index after it."""
        record, after = self.specified(i, self.hi, parameters)
        if record is not None:
            return self.record(i, record, after, parameters)
        start = i
        parenthesised = False  # was there a `(` behind what is declared?
        while i < self.hi:
            checkpoint()
            kind = self.kinds[i]
            if kind == "SEMI":
                break
            if kind == "LP":
                if self.source.partner[i] <= i:
                    self.into.odd = True
                    return self.skip(i + 1)
                following = self.source.after(i)
                if not parenthesised and self._is_behind_declared(start, i):
                    if self._is_function(start, i, following):
                        return self.function(start, i, parameters)
                    if self._is_macro(start, i, following):
                        return following
                    parenthesised = True
                i = following
                continue
            if kind == "OPERATOR":
                lp = self._parameters_of_operator(i)
                if lp is not None:
                    return self.function(start, lp, parameters)
            if kind == "LT" and self.kinds[i - 1] == "NAME":
                close = angle_close(self.source, i, self.hi)
                if close is not None:
                    i = close + 1
                    continue
            if kind == "EQ":
                return self.variable(start, self.semicolon(i), parameters)
            if kind == "LC":
                end = self.source.after(i)
                if self.kind(end) in ("SEMI", "COMMA"):
                    return self.variable(start, self.semicolon(end), parameters)
                self.into.odd = True
                return end
            i = self.source.after(i) if kind == "LB" else i + 1
        return self.variable(start, min(i, self.hi), parameters)

    def _is_behind_declared(self, start: int, lp: int) -> bool:
        """Could the `(` at ``lp`` belong to what is declared, and not to ``alignas``, ``decltype`` or ``noexcept``?"""
        return lp > start and self.kinds[lp - 1] not in ("ATTRIBUTE", "DECLTYPE", "SIZEOF")

    def _is_macro(self, start: int, lp: int, after: int) -> bool:
        """`MACRO(x)` without a `;`?"""
        return self.kinds[lp - 1] == "NAME" and lp == start + 1 and self.kind(after) != "SEMI"

    def _parameters_of_operator(self, i: int) -> int | None:
        """The `(` of the parameters of the operator function that is named at ``i``; None: there is none."""
        while i < self.hi and self.kinds[i] not in ("LP", "SEMI", "LC"):
            i += 1
        if self.kind(i) == "LP" and self.kind(i + 1) == "RP" and self.kind(i + 2) == "LP":  # operator()(
            i += 2
        return i if self.kind(i) == "LP" else None

    def _is_function(self, start: int, lp: int, after: int) -> bool:
        """Is the `(` at ``lp`` the parameter list of a function?"""
        before = self.kinds[lp - 1]
        if before not in ("NAME", "GT", "SHIFT") and not (before == "NOT" or self.kinds[lp - 2] == "NOT"):
            return False
        following = self.kind(after)
        if following == "DOT":  # -> type
            return self.texts[after] == "->"
        if following == "NAME":
            return self.texts[after] in ("override", "final", "requires")
        if following not in _AFTER_PARAMETERS:
            return False
        if following == "SEMI":  # a prototype, or `int n(5);`
            return self.kind(lp + 1) not in ("NUMBER", "LITERAL", "STRING", "SIZEOF")
        if following == "EQ":
            return self.kind(after + 1) in ("DEFAULT", "DELETE", "NUMBER")
        return True

    def function(self, start: int, lp: int, parameters: tuple[TemplateParameter, ...] | None) -> int:
        texts = self.texts[start:lp]
        named_at = lp - 1
        name = self.texts[named_at] if self.kinds[named_at] == "NAME" else ""
        if parameters == ():  # ``template <> void f<int>(int)``
            at = specialised_name(self.source, start, lp)
            self.into.outside.add(self.texts[at])
            if not name and at != lp - 1 and self._is_prototype(lp):
                named_at, name = at, self.texts[at]
        if "operator" in texts:
            named_at = start + list(texts).index("operator")
            name = "operator" + "".join(self.texts[named_at + 1 : lp])
        if "virtual" in texts:
            self.into.virtual = True
        i = self.source.after(lp)
        defaulted = False
        while i < self.hi and self.kinds[i] not in ("LC", "SEMI"):
            kind = self.kinds[i]
            if kind == "NAME" and self.texts[i] in ("override", "final"):
                self.into.virtual = True
            if kind == "COLON":
                i = self._after_initializers(i + 1)
                break
            if kind in ("DEFAULT", "DELETE"):
                defaulted = True
            i = self.source.after(i) if kind in ("LP", "LB") else i + 1
        if self.in_class and (
            (
                self.kinds[lp - 1] == "NAME"
                and (lp - 1 == start or self.kinds[lp - 2] in ("STORAGE", "RP", "NOT"))
            )
            or name == "operator="
        ):
            self.into.constructors = True
            del defaulted  # a defaulted one counts as declared: the layout is then less certain
        body: Range | None = None
        end = i
        if self.kind(i) == "LC":
            end = self.source.after(i)
            body = (i + 1, end - 1)
        before = named_at - 2 if self.texts[named_at - 1] == "~" else named_at - 1
        if name and self.kinds[before] == "SCOPE":  # of a class or a namespace: no name of this scope
            name = f"::{name}"
        if set(texts[:-1]) <= {"explicit"} and self._leads_to_type(self.source.after(lp)):
            name = guides_of(name)
        if name:
            constexpr = "constexpr" in texts or "consteval" in texts
            self.into.add(
                FunctionDecl(
                    name,
                    self.source,
                    (start, lp),
                    (lp + 1, self.source.after(lp) - 1),
                    body,
                    parameters,
                    constexpr,
                )
            )
        if body is None:
            return min(end + 1, self.hi)
        return min(max(end, start + 1), self.hi)

    def _is_prototype(self, lp: int) -> bool:
        return self.kind(self.source.after(lp)) == "SEMI"

    def _leads_to_type(self, i: int) -> bool:
        """Behind a list of parameters without a return type: a deduction guide, which is no function
        ([temp.deduct.guide])."""
        return self.kind(i) == "DOT" and self.texts[i] == "->"

    def _after_initializers(self, i: int) -> int:
        """Index of the body's brace after the member initializers of a constructor."""
        while i < self.hi and self.kinds[i] != "SEMI":
            kind = self.kinds[i]
            if kind == "LC" and self.kinds[i - 1] not in ("NAME", "GT"):
                return i
            i = self.source.after(i) if kind in ("LP", "LC", "LB") else i + 1
        return i

    def record(
        self,
        start: int,
        record: ClassDecl | EnumDecl,
        after: int,
        parameters: tuple[TemplateParameter, ...] | None,
    ) -> int:
        end = self.semicolon(after)
        if record.name:
            self.into.add_class(record)
        if isinstance(record, EnumDecl) and not record.scoped:
            for enumerator in enumerators(record):
                self.into.add(enumerator)
        names = _declared_names(self.source, after, end) if end > after else []
        for name in names:
            if name:
                self.into.add(VariableDecl(name, self.source, (start, end), parameters, record))
        empty = not names and not record.name
        if empty:
            self.into.unnamed.append(record)
        if self.in_class and (names or (empty and isinstance(record, ClassDecl))):
            if "static" not in self.texts[start : record_start(record)]:
                self.into.members.append(MemberDeclaration((start, end), record, self.access))
        return min(end + 1, self.hi)

    def variable(self, start: int, end: int, parameters: tuple[TemplateParameter, ...] | None) -> int:
        if end <= start:
            return end + 1
        special = None if parameters is None else _specialised(self.source, start, end)
        if special is not None:
            path, arguments = special
            name = path.rpartition("::")[2]
            if arguments is not None or parameters == ():  # else a member of all instances of a class
                decl = VariableDecl(name, self.source, (start, end), parameters, arguments=arguments)
                self.into.add_specialisation(path, decl)
            return min(end + 1, self.hi)
        for name in _declared_names(self.source, start, end):
            if name:
                self.into.add(VariableDecl(name, self.source, (start, end), parameters))
        if self.in_class:
            stored = {t for k, t in zip(self.kinds[start:end], self.texts[start:end]) if k == "STORAGE"}
            if not stored & {"static", "constexpr", "friend"}:
                self.into.members.append(MemberDeclaration((start, end), None, self.access))
        return min(end + 1, self.hi)


def _specialised(source: Source, lo: int, hi: int) -> tuple[str, Range | None] | None:
    """The qualified name and the template arguments of a variable that ``[lo, hi)`` declares, if it says again what
    another declares: ``n::v<int>``, ``A<int>::v``; None: it declares a new one."""
    path: list[str] = []
    arguments: Range | None = None
    at = lo
    while at < hi and source.kinds[at] not in ("EQ", "LC", "LP", "LB", "COMMA"):
        checkpoint()
        kind = source.kinds[at]
        close = angle_close(source, at, hi) if kind == "LT" and path else None
        if close is not None:
            arguments = (at + 1, close)
            at = close
        elif kind == "NAME":
            path = (
                [*path, source.texts[at]]
                if at > lo and source.kinds[at - 1] == "SCOPE"
                else [source.texts[at]]
            )
            arguments = None
        elif kind != "SCOPE":
            path, arguments = [], None
        at += 1
    return ("::".join(path), arguments) if path and (arguments is not None or len(path) > 1) else None


def _declared_names(source: Source, lo: int, hi: int) -> list[str]:
    """Names of the declarators of a declaration, by token shape; parsing is left to later."""
    names: list[str] = []
    start = lo
    i = lo
    while i <= hi:
        kind = source.kinds[i] if i < hi else "COMMA"
        if kind == "LT" and i > lo and source.kinds[i - 1] == "NAME":
            close = angle_close(source, i, hi)
            if close is not None:
                i = close + 1
                continue
        if kind == "COMMA":
            names.append(_declarator_name(source, start, i))
            start = i + 1
        if kind in ("LP", "LB", "LC"):
            i = max(i + 1, min(source.after(i), hi))
            continue
        i += 1
    return names


def _declarator_name(source: Source, lo: int, hi: int) -> str:
    """The declared name in ``[lo, hi)``: the last one outside brackets before `=`, `:` or the end; or the one inside
    parentheses with a `*` or `&`."""
    name = ""
    i = lo
    while i < hi:
        checkpoint()
        kind = source.kinds[i]
        if kind in ("EQ", "COLON"):
            break
        if kind == "NAME":
            name = source.texts[i]
            close = angle_close(source, i + 1, hi) if i + 1 < hi and source.kinds[i + 1] == "LT" else None
            if close is not None:
                i = close + 1
                continue
        elif kind == "ATTRIBUTE":
            i = min(max(i + 1, source.after(i + 1) if i + 1 < hi else hi), hi)
            continue
        elif kind == "LP" and i + 1 < hi and source.kinds[i + 1] in ("STAR", "AMP", "AND_AND", "NAME"):
            inner = [
                source.texts[x]
                for x in range(i + 1, min(source.partner[i], hi))
                if source.kinds[x] == "NAME"
                and (x + 1 >= hi or source.kinds[x + 1] not in ("SCOPE", "NAME", "LT"))
            ]
            pointer = source.kinds[i + 1] != "NAME" or "STAR" in source.kinds[i : max(source.partner[i], i)]
            if inner and pointer:
                return inner[0]
        if kind in ("LP", "LB", "LC"):
            i = max(i + 1, min(source.after(i), hi))
            continue
        i += 1
    return name
