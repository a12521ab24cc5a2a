"""The shape of a tree as one line: ``a + b * c`` is ``(a + (b * c))``."""

from __future__ import annotations

from smem_lsp.source import SourceText
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, parse

TYPES = "struct Tile; template <class T> T load(const float*); template <int N> struct Pair; using real = float;\n"


def shapes(statements: str) -> list[str]:
    """The shape of each statement of a function body."""
    body = parse(SourceText(f"{TYPES}void f() {{\n{statements}\n}}\n")).functions[-1].body
    return [shape(body, node) for node in body.statements.statements]


def shape(body: Body, node: tree.Statement) -> str:
    def part(start: str, chunk: tuple[int, int]) -> str:
        return spelled(body.chunk(start, chunk))

    match node:
        case tree.Block():
            return "{ " + " ".join(shape(body, inner) for inner in node.statements) + " }"
        case tree.ExpressionStatement():
            return part("expression", node.chunk) + ";"
        case tree.DeclarationStatement():
            return part("declaration", node.chunk) + ";"
        case tree.If():
            word = "if constexpr" if node.constexpr else "if"
            otherwise = f" else {shape(body, node.otherwise)}" if node.otherwise else ""
            return f"{word} [{part('condition', node.condition)}] {shape(body, node.then)}{otherwise}"
        case tree.For():
            return f"for [{part('for_head', node.head)}] {shape(body, node.body)}"
        case tree.While() | tree.Switch():
            word = type(node).__name__.lower()
            return f"{word} [{part('condition', node.condition)}] {shape(body, node.body)}"
        case tree.DoWhile():
            return f"do {shape(body, node.body)} while [{part('condition', node.condition)}]"
        case tree.CaseLabel():
            return f"case {part('expression', node.chunk)}:" if node.chunk else "default:"
        case tree.Label():
            return f"{node.name}:"
        case tree.JumpStatement():
            return (
                f"{node.kind} {part(tree.value_start(body.tokens.kinds, node.chunk), node.chunk)};"
                if node.chunk
                else f"{node.kind};"
            )
        case tree.AsmStatement():
            return "asm;"
        case tree.MacroStatement():
            return f"macro {node.name}" + (f" {shape(body, node.body)}" if node.body else ";")
        case tree.Try():
            return "try " + " ".join(shape(body, inner) for inner in node.blocks)
    return f"{type(node).__name__.lower()};"


def spelled(node: object) -> str:
    match node:
        case None:
            return "-"
        case list():
            return ", ".join(map(spelled, node))
        case tree.Name():
            return node.text + ("<>" if node.templated else "")
        case tree.Number():
            return node.text
        case tree.String():
            return '"…"'
        case tree.Unary():
            return f"({node.operator}{spelled(node.operand)})"
        case tree.PostfixStep():
            return f"({spelled(node.operand)}{node.operator})"
        case tree.Binary():
            return f"({spelled(node.left)} {node.operator} {spelled(node.right)})"
        case tree.Assign():
            return f"({spelled(node.target)} {node.operator} {spelled(node.value)})"
        case tree.Ternary():
            return f"({spelled(node.condition)} ? {spelled(node.yes)} : {spelled(node.no)})"
        case tree.Call():
            return f"{spelled(node.callee)}({spelled(node.arguments)})"
        case tree.Launch():
            return f"{spelled(node.callee)}<<<{spelled(node.configuration)}>>>({spelled(node.arguments)})"
        case tree.Index():
            return f"{spelled(node.base)}[{spelled(node.index)}]"
        case tree.Member():
            return f"{spelled(node.base)}{node.operator}{node.name}"
        case tree.Cast():
            return f"{node.style}<{spelled(node.type)}>({spelled(node.operand)})"
        case tree.SizeOf():
            return f"{node.operator}({spelled(node.type or node.operand)})"
        case tree.Braces():
            return "{" + spelled(node.items) + "}"
        case tree.Lambda():
            return "lambda"
        case tree.TypeId():
            return " ".join(node.words) + "".join(node.pointers) + dims(node.dims)
        case tree.Opaque():
            return f"{node.kind}({spelled(node.operands)})"
        case tree.Declaration():
            return f"{' '.join(node.words)}: {spelled(node.declarators)}"
        case tree.Declarator():
            pointers = "".join(f"{each} " if each.isidentifier() else each for each in node.pointers)
            name = pointers + (node.name or "…")
            name = f"({name})" if node.nested else name
            initializer = "" if node.initializer is None else f" = {spelled(node.initializer)}"
            return f"{name}{dims(node.dims)}{'()' if node.function else ''}{initializer}"
        case tree.ForHead():
            return f"{spelled(node.init)}; {spelled(node.condition)}; {spelled(node.step)}"
        case tree.RangeFor():
            init = f"{spelled(node.init)}; " if node.init else ""
            return f"{init}{spelled(node.declaration)} : {spelled(node.range)}"
        case tree.ConditionWithInit():
            return f"{spelled(node.init)}; {spelled(node.condition)}"
    raise AssertionError(f"no spelling for {node!r}")


def dims(found: list[tree.Expr | None]) -> str:
    return "".join(f"[{'' if dim is None else spelled(dim)}]" for dim in found)
