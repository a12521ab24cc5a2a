"""Turns the parser's reductions into tree nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from smem_lsp.source.regex import regex
from smem_lsp.syntax import tree
from smem_lsp.syntax.grammar_tokens import GrammarToken
from smem_lsp.syntax.parts import (
    POINTERS,
    Abstract,
    BitWidth,
    DeclaratorName,
    DeclaratorParts,
    Designated,
    Dimension,
    Initializer,
    ParsedArguments,
    Pointer,
    Specifiers,
)

Children = list[Any]
_SPELLED = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "compl": "~",
    "bitand": "&",
    "bitor": "|",
    "xor": "^",
    "not_eq": "!=",
    "and_eq": "&=",
    "or_eq": "|=",
    "xor_eq": "^=",
}


def _characters(spelled: str) -> int:
    """How many a piece of a string has, in UTF-8 ([lex.string]); a name has none."""
    prefix, _, rest = spelled.partition('"')
    inner = rest.rpartition('"')[0]
    if prefix.endswith("R"):
        inner = inner[inner.find("(") + 1 : inner.rfind(")")]
    else:
        inner = _ESCAPE.sub("x", inner)
    return len(inner.encode(errors="replace"))


_ESCAPE = regex(r"\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|(?s:.))")


def _as_argument(given: tree.Expr) -> tree.Expr:
    """``T()`` among the arguments of a function makes an object; elsewhere it is the type of a function."""
    if (
        isinstance(given, tree.TypeId)
        and given.pointers == ["()"]
        and len(given.names) == 1
        and not given.dims
    ):
        return tree.Call(given.lo, given.hi, given.names[0], [])
    return given


def _rename_operator(text: str) -> str:
    return _SPELLED.get(text, text)


def _names_of(groups: Iterable[Specifiers]) -> list[tree.Name]:
    """The names among specifiers."""
    return [group.name for group in groups if group.name is not None]


def _decltype_of(groups: Iterable[Specifiers]) -> tree.Decltype | None:
    """The ``decltype`` among specifiers."""
    return next((group.decltype for group in groups if group.decltype is not None), None)


def _statement(node: type[Any]) -> Callable[[Any, Children], Any]:
    """`keyword HEAD statement` -> node(lo, hi, head, body)."""

    def build(self: Any, c: Children) -> Any:
        return node(c[0].lo, c[2].hi, (c[1].lo, c[1].hi), c[2])

    return build


class TreeBuilder:
    """One method per rule or alias of ``grammar/cuda.lark``. Children are nodes and marks."""

    # ---- statements ------------------------------------------------------------------------------------------------

    def statements(self, c: Children) -> tree.Block:
        return tree.Block(c[0].lo if c else 0, c[-1].hi if c else 0, c)

    def block(self, c: Children) -> tree.Block:
        return tree.Block(c[0].lo, c[-1].hi, c[1:-1])

    def expression_statement(self, c: Children) -> tree.ExpressionStatement:
        return tree.ExpressionStatement(c[0].lo, c[-1].hi, (c[0].lo, c[0].hi))

    def declaration_statement(self, c: Children) -> tree.DeclarationStatement:
        return tree.DeclarationStatement(c[0].lo, c[-1].hi, (c[0].lo, c[0].hi))

    def empty(self, c: Children) -> tree.Empty:
        return tree.Empty(c[0].lo, c[-1].hi)

    using_statement = empty

    def if_statement(self, c: Children) -> tree.If:
        constexpr = c[1].lo - c[0].hi > 1  # a token between `if` and `(`
        otherwise = c[4] if len(c) > 4 else None
        return tree.If(c[0].lo, c[-1].hi, (c[1].lo, c[1].hi), c[2], otherwise, constexpr)

    for_statement = _statement(tree.For)
    while_statement = _statement(tree.While)
    switch_statement = _statement(tree.Switch)

    def do_statement(self, c: Children) -> tree.DoWhile:
        return tree.DoWhile(c[0].lo, c[-1].hi, (c[3].lo, c[3].hi), c[1])

    def case_label(self, c: Children) -> tree.CaseLabel:
        return tree.CaseLabel(c[0].lo, c[-1].hi, (c[1].lo, c[1].hi))

    def default_label(self, c: Children) -> tree.CaseLabel:
        return tree.CaseLabel(c[0].lo, c[-1].hi, None)

    def label(self, c: Children) -> tree.Label:
        return tree.Label(c[0].lo, c[-1].hi, c[0].text)

    def jump(self, c: Children) -> tree.JumpStatement:
        return tree.JumpStatement(c[0].lo, c[-1].hi, c[0].text, None)

    def return_value(self, c: Children) -> tree.JumpStatement:
        return tree.JumpStatement(c[0].lo, c[-1].hi, "return", (c[1].lo, c[1].hi))

    def asm_statement(self, c: Children) -> tree.AsmStatement:
        return tree.AsmStatement(c[0].lo, c[-1].hi, (c[0].lo, c[0].hi))

    def macro_statement(self, c: Children) -> tree.MacroStatement:
        body = c[1] if len(c) > 1 and not isinstance(c[1], GrammarToken) else None
        return tree.MacroStatement(c[0].lo, c[-1].hi, c[0].text, (c[0].lo, c[0].hi), body)

    def bad(self, c: Children) -> tree.Bad:
        return tree.Bad(c[0].lo, c[0].hi)

    def try_statement(self, c: Children) -> tree.Try:
        return tree.Try(c[0].lo, c[-1].hi, [child for child in c if not isinstance(child, GrammarToken)])

    # ---- heads -----------------------------------------------------------------------------------------------------

    def for_head(self, c: Children) -> tree.ForHead:
        parts: list[Any] = [None, None, None]
        section = 0
        for child in c:
            if not isinstance(child, GrammarToken):
                parts[section] = child
            elif child.type == "SEMI":
                section += 1
        return tree.ForHead(c[0].lo, c[-1].hi, *parts)

    def range_for(self, c: Children) -> tree.RangeFor:
        start = c[0].lo
        init: Any = None
        semi = next(
            (i for i, child in enumerate(c) if isinstance(child, GrammarToken) and child.type == "SEMI"), None
        )
        if semi is not None:
            init = c[0] if semi else None
            c = c[semi + 1 :]
        declr = next(
            i for i, child in enumerate(c) if isinstance(child, GrammarToken) and child.type == "DECLR"
        )
        words = [word for group in c[1:declr] for word in group]
        declarator = self._declarator(c[declr + 1], None, "")
        names, typed = _names_of(c[1:declr]), _decltype_of(c[1:declr])
        declaration = tree.Declaration(c[0].lo, declarator.hi, words, [declarator], c[declr].lo, names, typed)
        return tree.RangeFor(start, c[-1].hi, declaration, c[-1], init)

    def head_part(self, c: Children) -> tree.Declaration:
        declaration: tree.Declaration = c[1]
        return declaration

    def condition_with_init(self, c: Children) -> tree.ConditionWithInit:
        init = c[0] if not isinstance(c[0], GrammarToken) else None
        return tree.ConditionWithInit(c[0].lo, c[-1].hi, init, c[-1])

    def parameters(self, c: Children) -> list[tree.Declaration]:
        return [child for child in c if not isinstance(child, GrammarToken)]

    def parameter(self, c: Children) -> tree.Declaration:
        return self.declaration(c[1:])

    # ---- declarations ----------------------------------------------------------------------------------------------

    def declaration(self, c: Children) -> tree.Declaration:
        declr = next(
            i for i, child in enumerate(c) if isinstance(child, GrammarToken) and child.type == "DECLR"
        )
        words = [word for group in c[:declr] for word in group]
        declarators = [child for child in c[declr + 1 :] if not isinstance(child, GrammarToken)]
        hi = max(d.hi for d in declarators)
        names, typed = _names_of(c[:declr]), _decltype_of(c[:declr])
        return tree.Declaration(c[0].lo, hi, words, declarators, c[declr].lo, names, typed)

    def specifier(self, c: Children) -> Specifiers:
        child = c[0]
        if isinstance(child, tree.Name):
            return Specifiers([child.text + ("<>" if child.templated else "")], child.lo, child.hi, child)
        if isinstance(child, tree.Decltype):
            return Specifiers(["decltype"], child.lo, child.hi, decltype=child)
        text = "decltype" if child.type == "TYPE" and child.hi - child.lo > 1 else child.text
        return Specifiers(["{}" if child.type == "CLASS_BODY" else text], child.lo, child.hi)

    def decltype(self, c: Children) -> tree.Decltype:
        alone = c[2].lo == c[1].hi or c[2].hi == c[3].lo
        return tree.Decltype(c[0].lo, c[3].hi, c[0].text, c[2], alone)

    def init_declarator(self, c: Children) -> tree.Declarator:
        initializer: Any = None
        width: tree.Expr | None = None
        style = ""
        for child in c[1:]:
            if isinstance(child, Initializer):
                initializer, style = child.value, child.style
            elif isinstance(child, BitWidth):
                width = child.value
            elif isinstance(child, tree.Braces):
                initializer, style = child, "{"
        declarator = self._declarator(c[0], initializer, style)
        declarator.width = width
        return declarator

    @staticmethod
    def _declarator(parts: DeclaratorParts, initializer: tree.Expr | None, style: str) -> tree.Declarator:
        return tree.Declarator(
            parts.lo,
            parts.hi,
            parts.name,
            parts.name_at,
            parts.pointers,
            parts.dims,
            parts.dim_spans,
            parts.function,
            parts.nested,
            initializer,
            style,
            core=parts.core,
        )

    def bit_width(self, c: Children) -> BitWidth:
        return BitWidth(c[1], c[0].lo, c[1].hi)

    def equals_init(self, c: Children) -> Initializer:
        return Initializer(c[1], "=")

    def constructor_init(self, c: Children) -> Initializer:
        arguments: list[tree.Expr] = c[1]
        return Initializer(tree.Braces(c[0].lo, c[-1].hi, arguments), "(")

    def declarator(self, c: Children) -> DeclaratorParts:
        parts = DeclaratorParts()
        for child in c:
            child.add_to(parts)
        return parts

    def pointer(self, c: Children) -> Pointer:
        text = "::*" if c[0].type == "STAR" and c[0].hi - c[0].lo > 1 else c[0].text  # of a member
        return Pointer(text, c[0].lo, c[0].hi)

    def declarator_name(self, c: Children) -> DeclaratorName:
        if isinstance(c[0], tree.Name):
            return DeclaratorName(c[0].text, c[0].lo, c[0].hi, None)
        if c[0].type == "BINDING":
            return DeclaratorName("", c[0].lo, c[0].hi, None)
        return DeclaratorName("", c[0].lo, c[-1].hi, c[1])

    def dimension(self, c: Children) -> Dimension:
        return Dimension(c[1] if len(c) == 3 else None, c[0].lo, c[-1].hi)

    def function_suffix(self, c: Children) -> Dimension:
        return Dimension(None, c[0].lo, c[0].hi, function=True)

    def type_id(self, c: Children) -> tree.TypeId:
        words: list[str] = []
        names: list[tree.Name] = []
        pointers: list[str] = []
        dims: list[tree.Expr | None] = []
        core = (0, 0)
        hi = c[0].hi
        for child in c[1:]:
            hi = max(hi, child.hi)
            if isinstance(child, Specifiers):
                words += child
                names += _names_of([child])
            elif isinstance(child, Abstract):
                pointers += child.pointers
                dims += child.dims
                core = child.core if child.core != (0, 0) else core
        typed = _decltype_of(child for child in c[1:] if isinstance(child, Specifiers))
        return tree.TypeId(c[0].lo, hi, words, pointers, dims, names, core, typed)

    def abstract(self, c: Children) -> Abstract:
        out = Abstract([], [], c[0].lo, c[-1].hi)
        if isinstance(c[0], Pointer):
            out.pointers.append(c[0].text)
        elif c[0].type == "PARAMS":
            out.pointers.append("()")
        elif c[0].type == "LB":
            out.dims.append(c[1] if len(c) == 3 else None)
        for child in c:
            if isinstance(child, Abstract):
                out.pointers += child.pointers
                out.dims += child.dims
                if child.core != (0, 0):
                    out.core = child.core
        if isinstance(c[0], GrammarToken) and c[0].type == "LP" and out.core == (0, 0):
            if out.pointers:
                out.core = (sum(p in POINTERS for p in out.pointers), len(out.dims))
        return out

    # ---- expressions -----------------------------------------------------------------------------------------------

    def binary(self, c: Children) -> tree.Binary:
        return tree.Binary(c[0].lo, c[2].hi, _rename_operator(c[1].text), c[0], c[2])

    comma = binary

    def assign(self, c: Children) -> tree.Assign:
        return tree.Assign(c[0].lo, c[2].hi, _rename_operator(c[1].text), c[0], c[2])

    def ternary(self, c: Children) -> tree.Ternary:
        return tree.Ternary(c[0].lo, c[4].hi, c[0], c[2], c[4])

    def unary(self, c: Children) -> tree.Unary:
        return tree.Unary(c[0].lo, c[1].hi, _rename_operator(c[0].text), c[1])

    def postfix_step(self, c: Children) -> tree.PostfixStep:
        return tree.PostfixStep(c[0].lo, c[1].hi, c[1].text, c[0])

    def cast(self, c: Children) -> tree.Cast:
        return tree.Cast(c[0].lo, c[3].hi, "c", c[1], c[3])

    def named_cast(self, c: Children) -> tree.Cast:
        return tree.Cast(c[0].lo, c[-1].hi, c[0].text, c[2], c[5])

    def functional_cast(self, c: Children) -> tree.Expr:
        words = [child.text for child in c if isinstance(child, GrammarToken) and child.type == "TYPE"]
        if isinstance(c[0], tree.Name):
            words = [c[0].text + ("<>" if c[0].templated else "")]
        names = [c[0]] if isinstance(c[0], tree.Name) else []
        typed = c[0] if isinstance(c[0], tree.Decltype) else None
        words = words if typed is None else ["decltype"]
        type_id = tree.TypeId(c[0].lo, c[0].hi, words, [], [], names, decltype=typed)
        inner: list[tree.Expr] = c[-1].items if isinstance(c[-1], tree.Braces) else c[-2]
        operand = inner[0] if len(inner) == 1 else tree.Braces(c[0].lo, c[-1].hi, list(inner))
        listed = c[-1] if isinstance(c[-1], tree.Braces) else None
        return tree.Cast(c[0].lo, c[-1].hi, "functional", type_id, operand, listed)

    def size_of_value(self, c: Children) -> tree.SizeOf:
        return tree.SizeOf(c[0].lo, c[-1].hi, c[0].text, None, c[-1])

    def size_of_type(self, c: Children) -> tree.SizeOf:
        return tree.SizeOf(c[0].lo, c[-1].hi, c[0].text, c[2], None)

    def call(self, c: Children) -> tree.Call:
        return tree.Call(c[0].lo, c[3].hi, c[0], [_as_argument(each) for each in c[2]])

    def launch(self, c: Children) -> tree.Launch:
        return tree.Launch(c[0].lo, c[-1].hi, c[0], c[2], c[5])

    def index(self, c: Children) -> tree.Index:
        return tree.Index(c[0].lo, c[3].hi, c[0], c[2])

    def member(self, c: Children) -> tree.Member:
        name = c[2]
        arguments = name.arguments[-1] if name.arguments else None
        return tree.Member(c[0].lo, name.hi, c[0], c[1].text, name.text, arguments)

    def arguments(self, c: Children) -> ParsedArguments:
        return ParsedArguments(child for child in c if not isinstance(child, GrammarToken))

    def number(self, c: Children) -> tree.Number | tree.Name:
        if c[0].text == "this":
            return tree.Name(c[0].lo, c[0].hi, "this")
        return tree.Number(c[0].lo, c[0].hi, c[0].text)

    def string(self, c: Children) -> tree.String:
        *pieces, last = [each.text for each in c]
        suffix = last if pieces and last[:1] == "_" else ""  # else it is a macro that is not in sight
        spelled = pieces if suffix else [*pieces, last]
        return tree.String(c[0].lo, c[-1].hi, sum(map(_characters, spelled)), suffix)

    def parenthesised(self, c: Children) -> tree.Expr:
        inner: tree.Expr = c[1]
        return inner

    def braces(self, c: Children) -> tree.Braces:
        items = [child for child in c if not isinstance(child, GrammarToken)]
        made = tree.Braces(
            c[0].lo, c[-1].hi, [each.value if isinstance(each, Designated) else each for each in items]
        )
        if any(isinstance(each, Designated) for each in items):
            made.names = [each.name if isinstance(each, Designated) else "" for each in items]
        return made

    def designated(self, c: Children) -> Designated:
        return Designated(c[0].text.rstrip("=:").removeprefix("."), c[1])

    def lambda_(self, c: Children) -> tree.Lambda:
        parameters = c[1] if len(c) == 3 else None
        return tree.Lambda(
            c[0].lo,
            c[-1].hi,
            (c[0].lo + 1, c[0].hi - 1),
            (parameters.lo + 1, parameters.hi - 1) if parameters else None,
            (c[-1].lo + 1, c[-1].hi - 1),
        )

    def _opaque(self, kind: tree.OpaqueKind, c: Children) -> tree.Opaque:
        operands: list[tree.Expr] = []
        for child in c:
            if isinstance(child, ParsedArguments):
                operands += child
            elif not isinstance(child, GrammarToken):
                operands.append(child)
        return tree.Opaque(c[0].lo, c[-1].hi, kind, operands)

    def pack(self, c: Children) -> tree.Opaque:
        return self._opaque("pack", c)

    def fold(self, c: Children) -> tree.Opaque:
        return self._opaque("pack", c)

    def case_range(self, c: Children) -> tree.Opaque:
        return self._opaque("range", c)

    def throw(self, c: Children) -> tree.Opaque:
        return self._opaque("throw", c)

    def new(self, c: Children) -> tree.Opaque:
        return self._opaque("new", c)

    def delete(self, c: Children) -> tree.Opaque:
        return self._opaque("delete", c)

    def opaque(self, c: Children) -> tree.Opaque:
        return self._opaque("statement-expression", c)

    def qualified_name(self, c: Children) -> tree.Name:
        if len(c) == 1:
            name: tree.Name = c[0]
            return name
        text = "".join(child.text for child in c)
        templated = any(isinstance(child, tree.Name) and child.templated for child in c)
        segments = [child for child in c if isinstance(child, tree.Name)]
        arguments = [each.arguments[0] if each.arguments else None for each in segments]
        return tree.Name(c[0].lo, c[-1].hi, text, templated, arguments)

    def segment(self, c: Children) -> tree.Name:
        if len(c) == 1:
            return tree.Name(c[0].lo, c[0].hi, c[0].text)
        arguments: list[tree.Expr] = [child for child in c if not isinstance(child, GrammarToken)]
        return tree.Name(c[0].lo, c[-1].hi, c[0].text, True, [arguments])
