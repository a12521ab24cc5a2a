"""Our reading of the corpora's kernels beside that of tree-sitter-cuda, another parser of unpreprocessed CUDA.

Run as a program it prints both tables, and with ``--write`` it puts the numbers into ``comparison.md``:
``SMEM_CORPORA_ALL=1 python tests/corpora/compare.py``.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import tree_sitter
import tree_sitter_cuda
from fetch import Corpus, Unavailable, corpora, fetch

from smem_lsp.environment import DiskReader, SourceError, read_source
from smem_lsp.source import SourceText
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body, Function, parse

COUNTED = (
    "for",
    "if",
    "while",
    "do",
    "return",
    "subscript",
    "cast",
    "ternary",
    "assignment",
    "lambda",
    "declaration",
)
REPORT = Path(__file__).parent / "comparison.md"

_THEIRS = {
    "for_statement": "for",
    "for_range_loop": "for",
    "if_statement": "if",
    "while_statement": "while",
    "do_statement": "do",
    "return_statement": "return",
    "subscript_expression": "subscript",
    "cast_expression": "cast",
    "conditional_expression": "ternary",
    "assignment_expression": "assignment",
    "lambda_expression": "lambda",
    "declaration": "declaration",
    "condition_declaration": "declaration",
}
# What we keep as one token, and therefore count nothing in: operands of asm, decltype, attributes, class bodies.
_THEIR_LEAVES = frozenset(
    "gnu_asm_expression decltype alignas_qualifier alignas_specifier attribute_specifier field_declaration_list"
    " enumerator_list static_assert_declaration alias_declaration type_definition"
    " launch_bounds".split()
)


@dataclass(slots=True)
class Comparison:
    """Sums over the kernels of one corpus."""

    name: str
    kernels: int = 0
    ours: int = 0  # read without an unknown macro, a repair, a guess or a statement left over
    theirs: int = 0  # without an ERROR or MISSING node inside
    both: int = 0  # kernels without macros and directives that both read
    equal: int = 0
    differing: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # how -> where
    nodes: Counter[str] = field(default_factory=Counter)  # ours, of the kernels that both read

    def add(self, other: Comparison) -> None:
        for name in ("kernels", "ours", "theirs", "both", "equal"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for how, where in other.differing.items():
            self.differing[how] += where
        self.nodes += other.nodes

    def row(self) -> str:
        return f"| {self.name} | {self.kernels} | {self.ours} | {self.theirs} | {self.both} | {self.equal} |"


def compare(corpus: Corpus, folder: Path) -> Comparison:
    """Both parsers on every ``.cu`` and ``.cuh`` file below ``folder``."""
    result = Comparison(corpus.name)
    reader = DiskReader()
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".cu", ".cuh")):
        try:
            text = read_source(str(path)).text
        except SourceError:
            continue
        unit = parse(SourceText(text, str(path)), reader=reader, defines=corpus.defines)
        kernels = [function for function in unit.functions if function.is_kernel and _written_out(function)]
        if not kernels:
            continue
        root = parser.parse(text.encode()).root_node
        wrong = list(_errors(root))
        for kernel in kernels:
            start, end = _bytes(text, kernel.span.start), _bytes(text, kernel.span.end)
            result.kernels += 1
            ours = is_read(kernel)
            theirs = not any((lo < end and hi > start) or start <= lo < end for lo, hi in wrong)
            result.ours += ours
            result.theirs += theirs
            if ours and theirs and _plain(kernel) and "#" not in _code(text, kernel):
                where = f"{path.relative_to(folder).as_posix()}:{unit.source.line_number(kernel.span.start)}"
                _count(kernel, root, start, end, where, result)
    return result


def is_read(function: Function) -> bool:
    """Was every statement read, nothing repaired, guessed or left to a macro?"""
    body = function.body
    chunks = list(_chunks(body, body.statements))
    if any(body.chunk(start, chunk) is None for start, chunk in chunks):
        return False
    return function.parameters is not None and not (
        body.repaired or body.macros or body.failed or body.guessed
    )


def _count(
    kernel: Function, root: tree_sitter.Node, start: int, end: int, where: str, result: Comparison
) -> None:
    ours = Counter(our_nodes(kernel.body, kernel.body.statements))
    theirs = Counter(_their_nodes(root, start, end))
    result.both += 1
    result.nodes += ours
    if ours == theirs:
        result.equal += 1
        return
    how = ", ".join(
        f"{name} {ours[name] - theirs[name]:+d}" for name in COUNTED if ours[name] != theirs[name]
    )
    result.differing[re.sub(r"\d+", "n", how)].append(f"{where} ({how})")


def _written_out(function: Function) -> bool:
    """Does the whole definition stand in the file, not in a macro's body?"""
    offsets = function.head.offsets
    return bool(offsets) and offsets[0] >= 0 and function.span.end > function.span.start + 1


def _plain(function: Function) -> bool:
    return min(function.body.tokens.offsets, default=0) >= 0


def _code(text: str, function: Function) -> str:
    return re.sub(
        r'//.*|/\*(?s:.*?)\*/|"(?:[^"\\\n]|\\.)*"', "", text[function.span.start : function.span.end]
    )


def _bytes(text: str, offset: int) -> int:
    return offset if text.isascii() else len(text[:offset].encode())


# ---- theirs ----------------------------------------------------------------------------------------------------------


def _errors(root: tree_sitter.Node) -> Iterator[tuple[int, int]]:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            yield node.start_byte, node.end_byte
        elif node.has_error:
            stack += node.children


def _their_nodes(root: tree_sitter.Node, start: int, end: int) -> Iterator[str]:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.end_byte <= start or node.start_byte >= end:
            continue
        if start <= node.start_byte and node.end_byte <= end:
            if node.type in _THEIR_LEAVES:
                continue
            name = _THEIRS.get(node.type)
            if name is not None and not (name == "declaration" and _declares_type_only(node)):
                yield name
            if (
                node.type == "parameter_list"
            ):  # default arguments and array sizes of parameters: not in the body
                continue
        stack += node.children


def _declares_type_only(node: tree_sitter.Node) -> bool:
    return node.child_by_field_name("declarator") is None and node.type == "declaration"


# ---- ours ------------------------------------------------------------------------------------------------------------


def our_nodes(body: Body, root: tree.Statement) -> Iterator[str]:
    """The names of all counted nodes below a statement."""
    for statement in _statements(root):
        match statement:
            case tree.For():
                yield "for"
            case tree.If():
                yield "if"
            case tree.While():
                yield "while"
            case tree.DoWhile():
                yield "do"
            case tree.JumpStatement() if statement.kind == "return":
                yield "return"
        for start, chunk in _chunks_of(body, statement):
            yield from _in_chunk(body, body.chunk(start, chunk), chunk[0])


def _in_chunk(body: Body, root: object, base: int) -> Iterator[str]:
    stack = [root]
    while stack:
        node = stack.pop()
        match node:
            case list():
                stack += node
                continue
            case tree.Index():
                yield "subscript"
            case tree.Cast() if node.style == "c" and not isinstance(node.operand, tree.Braces):
                yield "cast"
            case tree.Ternary():
                yield "ternary"
            case tree.Assign():
                yield "assignment"
            case tree.Lambda():
                yield "lambda"
                yield from our_nodes(body, body.block(base + node.body[0], base + node.body[1]))
            case tree.Opaque() if node.kind == "statement-expression":
                yield from our_nodes(body, body.block(base + node.lo + 2, base + node.hi - 2))
            case tree.RangeFor():  # they keep its declaration in the loop itself
                stack += [node.init, node.range]
                continue
            case tree.Declaration():
                named = any(each.name or each.bindings or each.pointers for each in node.declarators)
                if "typedef" in node.words:
                    continue
                if named or not {"struct", "class", "union", "enum"} & set(node.words):
                    yield "declaration"
        if is_dataclass(node):
            stack += [getattr(node, each.name) for each in fields(node)]


def _statements(root: tree.Statement) -> Iterator[tree.Statement]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        match node:
            case tree.Block():
                stack += node.statements
            case tree.If():
                stack += [node.then, *([node.otherwise] if node.otherwise else [])]
            case tree.For() | tree.While() | tree.DoWhile() | tree.Switch():
                stack.append(node.body)
            case tree.MacroStatement() if node.body is not None:
                stack.append(node.body)
            case tree.Try():
                stack += node.blocks


def _chunks(body: Body, root: tree.Statement) -> Iterator[tuple[str, tuple[int, int]]]:
    for statement in _statements(root):
        yield from _chunks_of(body, statement)


def _chunks_of(body: Body, node: tree.Statement) -> Sequence[tuple[str, tuple[int, int]]]:
    match node:
        case tree.ExpressionStatement():
            return [("expression", node.chunk)]
        case tree.DeclarationStatement():
            return [("declaration", node.chunk)]
        case tree.If() | tree.While() | tree.DoWhile() | tree.Switch():
            return [("condition", node.condition)]
        case tree.For():
            return [("for_head", node.head)]
        case tree.CaseLabel() if node.chunk is not None:
            return [("expression", node.chunk)]
        case tree.JumpStatement() if node.chunk is not None and node.kind == "return":
            return [(tree.value_start(body.tokens.kinds, node.chunk), node.chunk)]
    return []


# ---- report ----------------------------------------------------------------------------------------------------------

HEADER = """\
| corpus | kernels | ours without error | theirs without error | both, macro-free | equal counts |
|---|---|---|---|---|---|"""


def tables(results: Sequence[Comparison]) -> str:
    """Both tables, in Markdown."""
    total = Comparison("all")
    for result in results:
        total.add(result)
    lines = [HEADER, *(result.row() for result in (*results, total)), ""]
    counted = ", ".join(f"{name} {total.nodes[name]}" for name in COUNTED)
    lines += [f"Nodes in the kernels that both read: {counted}.", ""]
    lines += ["| ours minus theirs | kernels | for example |", "|---|---|---|"]
    for how, where in sorted(total.differing.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(f"| {how} | {len(where)} | {where[0]} |")
    return "\n".join(lines) + "\n"


def _main(arguments: Sequence[str]) -> int:
    results = []
    for corpus in corpora():
        try:
            results.append(compare(corpus, fetch(corpus)))
        except Unavailable as reason:
            print(f"{corpus.requirement}: {reason}")
            return 1
    print(tables(results))
    if "--where" in arguments:
        for result in results:
            for where in result.differing.values():
                print(*where, sep="\n")
    if "--write" in arguments:
        before, _, rest = REPORT.read_text(encoding="utf-8").partition("<!-- numbers -->\n")
        after = rest.partition("<!-- end -->\n")[2]
        text = f"{before}<!-- numbers -->\n{tables(results)}<!-- end -->\n{after}"
        REPORT.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
