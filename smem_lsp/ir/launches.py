"""Launch sites of a file: ``kernel<<<grid, block, dynamic>>>(...)`` in its host code."""

from __future__ import annotations

from smem_lsp.ir.constants import Constants, declare_constants, evaluate
from smem_lsp.ir.model import LaunchSite
from smem_lsp.source import SourceText, Span
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function, TranslationUnit

Dims = tuple[int, int, int]


def find_launches(unit: TranslationUnit, constants: Constants) -> list[LaunchSite]:
    """All launches in the functions of the file, in order. A block that is no constant is None."""
    found: list[LaunchSite] = []
    for function in unit.functions:
        if "LAUNCH_OPEN" not in function.body.tokens.kinds:
            continue
        _Finder(unit.source, function, constants.child(), found).block(function.body.statements)
    return found


class _Finder:
    """Walks one host function in order, following constants and ``dim3`` variables."""

    def __init__(
        self, source: SourceText, function: Function, constants: Constants, found: list[LaunchSite]
    ) -> None:
        self.source = source
        self.body = function.body
        self.constants = constants
        self.dims: dict[str, Dims | None] = {}
        self.found = found

    def block(self, node: tree.Block) -> None:
        for statement in node.statements:
            self.statement(statement)

    def statement(self, node: tree.Statement) -> None:
        match node:
            case tree.Block():
                self.block(node)
            case tree.DeclarationStatement():
                declaration = self.body.chunk("declaration", node.chunk)
                if declaration is not None:
                    self._declare(declaration)
            case tree.ExpressionStatement():
                if "LAUNCH_OPEN" in self.body.tokens.kinds[node.lo : node.hi]:
                    expr = self.body.chunk("expression", node.chunk)
                    if expr is not None:
                        self._expression(expr, node.chunk[0])
                elif "EQ" in self.body.tokens.kinds[node.lo : node.hi]:
                    expr = self.body.chunk("expression", node.chunk)
                    if isinstance(expr, tree.Assign) and isinstance(expr.target, (tree.Name, tree.Member)):
                        self._forget(expr.target)
            case tree.If():
                self.statement(node.then)
                if node.otherwise is not None:
                    self.statement(node.otherwise)
            case tree.For() | tree.While() | tree.DoWhile() | tree.Switch():
                self.statement(node.body)
            case tree.Try():
                for inner in node.blocks:
                    self.statement(inner)

    def _forget(self, target: tree.Expr) -> None:
        """A variable that is assigned again is no constant."""
        while isinstance(target, tree.Member):
            target = target.base
        if isinstance(target, tree.Name):
            self.dims[target.text] = None
            self.constants.values[target.text] = None

    def _declare(self, declaration: tree.Declaration) -> None:
        declare_constants(declaration, self.constants)
        integer = bool(
            {"int", "unsigned", "size_t", "auto", "long", "uint32_t", "int32_t"} & set(declaration.words)
        )
        for declarator in declaration.declarators:
            if "dim3" in declaration.words:
                self.dims[declarator.name] = self._dim3(declarator.initializer)
            elif (
                integer
                and not declarator.pointers
                and not declarator.dims
                and declarator.initializer is not None
            ):
                # a local that is never assigned again is as good as const; _forget drops the others
                self.constants.values[declarator.name] = evaluate(declarator.initializer, self.constants)

    def _dim3(self, expr: tree.Expr | None) -> Dims | None:
        if expr is None:
            return 1, 1, 1
        if isinstance(expr, tree.Braces):
            if not 1 <= len(expr.items) <= 3:
                return None
            if len(expr.items) == 1:
                return self._block(expr.items[0])
            values = [evaluate(item, self.constants) for item in expr.items]
            if any(v is None for v in values):
                return None
            known = [v for v in values if v is not None] + [1, 1]
            return known[0], known[1], known[2]
        return self._block(expr)

    def _block(self, expr: tree.Expr) -> Dims | None:
        """Block dimensions: an integer, ``dim3(...)`` or a ``dim3`` variable."""
        if isinstance(expr, tree.Name) and expr.text in self.dims:
            return self.dims[expr.text]
        arguments: list[tree.Expr] | None = None
        if isinstance(expr, tree.Call) and isinstance(expr.callee, tree.Name) and expr.callee.text == "dim3":
            arguments = expr.arguments
        elif isinstance(expr, tree.Cast) and expr.type.words == ["dim3"]:
            arguments = expr.operand.items if isinstance(expr.operand, tree.Braces) else [expr.operand]
        if arguments is not None:
            return self._dim3(tree.Braces(expr.lo, expr.hi, arguments)) if arguments else (1, 1, 1)
        value = evaluate(expr, self.constants)
        return None if value is None else (value, 1, 1)

    def _expression(self, expr: tree.Expr, base: int) -> None:
        if isinstance(expr, tree.Launch):
            self._launch(expr, base)
            return
        if isinstance(expr, tree.Call):  # CHECK((k<<<...>>>(...)))
            for argument in expr.arguments:
                self._expression(argument, base)
        elif isinstance(expr, tree.Binary):
            self._expression(expr.left, base)
            self._expression(expr.right, base)

    def _launch(self, expr: tree.Launch, base: int) -> None:
        if not isinstance(expr.callee, tree.Name) or len(expr.configuration) < 2:
            return
        dynamic = expr.configuration[2] if len(expr.configuration) > 2 else None
        text: str | None = None
        if dynamic is not None:
            span = self.body.span(base + dynamic.lo, base + dynamic.hi)
            text = self.source.slice(span) if span else None
        span = self.body.site(base + expr.lo, base + expr.hi)
        block = self._block(expr.configuration[1])
        self.found.append(
            LaunchSite(
                kernel=expr.callee.text.split("::")[-1],
                block=block if block is None or all(d > 0 for d in block) else None,
                dynamic_bytes=0 if dynamic is None else evaluate(dynamic, self.constants),
                dynamic_expression=text,
                span=Span(span.start, span.end),
                line=self.source.line_number(span.start),
            )
        )
