"""Walks host functions for their launches."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.ir.host_terms import HostTerm, apply, constant, named
from smem_lsp.ir.nodes import Dims, HostTerms, LaunchSite
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.local_declarations import declare_constants
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import SourceText, Span
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function
from smem_lsp.targets.dialects import CUDA
from smem_lsp.unit.launch_config import LaunchConfigs, dims_of
from smem_lsp.unit.size_functions import counted

Axes3 = tuple[HostTerm | None, HostTerm | None, HostTerm | None]


class LaunchFinder:
    """Walks one host function in order and tracks its constants and ``dim3`` variables."""

    def __init__(
        self,
        source: SourceText,
        function: Function,
        constants: Scope,
        found: list[LaunchSite],
        top: Scope,
        counting: Mapping[str, Function],
    ) -> None:
        self.source = source
        self.top = top
        self.counting = counting
        self.body = function.body
        self.constants = constants
        self.dims: dict[str, Dims | None] = {}
        self.sums: dict[str, tuple[int | None, ...]] = {}  # addends of constants that are sums
        self.axes: dict[str, Axes3] = {}
        self.head = function.head
        self.found = found
        self.configs = LaunchConfigs() if CUDA.configured_launch in function.definition.words else None
        self.depth = 0  # of branches and loops around

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
                    if self.configs is not None:
                        self.configs.declare(declaration, self.body)
                        for declarator in declaration.declarators:  # auto error = cudaLaunchKernelEx(...)
                            if declarator.initializer is not None:
                                self._extended(declarator.initializer, node.chunk[0])
            case tree.ExpressionStatement():
                spelled = "LAUNCH_OPEN" in self.body.tokens.kinds[node.lo : node.hi]
                if spelled or self.configs is not None:
                    expr = self.body.chunk("expression", node.chunk)
                    if expr is not None and self.configs is not None:
                        self.configs.assign(expr, node.chunk[0], sure=not self.depth)
                        self._extended(expr, node.chunk[0])
                    if expr is not None and spelled:
                        self._expression(expr, node.chunk[0])
            case tree.If():
                self._nested(node.then)
                if node.otherwise is not None:
                    self._nested(node.otherwise)
            case tree.For() | tree.While() | tree.DoWhile() | tree.Switch():
                self._nested(node.body)
            case tree.Try():
                for inner in node.blocks:
                    self._nested(inner)

    def _nested(self, node: tree.Statement) -> None:
        self.depth += 1
        self.statement(node)
        self.depth -= 1

    def _declare(self, declaration: tree.Declaration) -> None:
        constant = {"const", "constexpr"} & set(declaration.words)
        declare_constants(declaration, self.constants)
        integer = bool(
            {"int", "unsigned", "size_t", "auto", "long", "uint32_t", "int32_t"} & set(declaration.words)
        )
        for declarator in declaration.declarators:
            settled = self._settled(declarator.name, constant=bool(constant))
            if "dim3" in declaration.words and settled:
                self.dims[declarator.name] = self._dim3(declarator.initializer)
                if isinstance(declarator.initializer, tree.Expr):
                    made = declarator.initializer
                    items = made.items if isinstance(made, tree.Braces) else [made]
                    self.axes[declarator.name] = self._axes(
                        items[0] if len(items) == 1 else tree.Call(0, 0, tree.Name(0, 0, "dim3"), list(items))
                    )
            elif not settled:
                self.constants.values[declarator.name] = None
            elif (
                integer
                and not declarator.pointers
                and not declarator.dims
                and declarator.initializer is not None
            ):
                initializer = declarator.initializer
                if isinstance(initializer, tree.Braces) and len(initializer.items) == 1:
                    initializer = initializer.items[0]
                self.constants.values[declarator.name] = self._bytes(initializer)
                self.sums[declarator.name] = self._addends(initializer)

    def _settled(self, name: str, *, constant: bool, declared: int = 1) -> bool:
        """Does a local always keep its initial value? It must be declared once, and nothing may assign it, take its
        address, bind a reference to it or pass it to a function that might."""
        kinds, texts = self.body.tokens.kinds, self.body.tokens.texts
        declarations = 0
        for i, text in enumerate(texts):
            if text != name or kinds[i] != "NAME" or kinds[i - 1 : i] == ["DOT"]:
                continue
            before, after = (kinds[i - 1] if i else ""), (kinds[i + 1] if i + 1 < len(kinds) else "")
            if before in ("TYPE", "STAR") or texts[i - 1] in (
                "dim3",
                "auto",
                "size_t",
                "uint32_t",
                "int32_t",
            ):
                declarations += 1
                continue
            if constant:
                if before in ("LB", "NAME"):
                    return False
                continue
            if after == "DOT" and kinds[i + 3 : i + 4] and kinds[i + 3] in ("EQ", "ASSIGN", "STEP"):
                return False
            bound = before == "EQ" and kinds[i - 3 : i - 2] in (["AMP"], ["AND_AND"])
            if (
                after in ("EQ", "ASSIGN", "STEP", "LB")
                or before in ("AMP", "STEP", "SHIFT", "LB", "NAME")
                or bound
            ):
                return False
            if after in ("RP", "COMMA") and before in ("LP", "COMMA") and not self._by_value(i):
                return False
        return declarations == declared

    def _by_value(self, i: int) -> bool:
        """Does the argument at token ``i`` go to a launch, to ``dim3`` or to a function that takes values?"""
        partner = self.body.ahead.partner
        kinds, texts = self.body.tokens.kinds, self.body.tokens.texts
        for at in range(i - 1, -1, -1):
            if kinds[at] == "LAUNCH_OPEN":
                return True
            if kinds[at] in ("SEMI", "LC", "RC"):
                return False
            if kinds[at] == "LP" and partner[at] > i:
                before = texts[at - 1] if at else ""
                return (
                    kinds[at - 1] in ("LAUNCH_CLOSE", "SIGN", "STAR", "FACTOR", "EQ", "RETURN")
                    or before
                    in (
                        "dim3",
                        "min",
                        "max",
                        "printf",
                        "ceil",
                    )
                    or kinds[at - 2 : at - 1] == ["TYPE"]
                    or before.startswith(("cudaMemcpy", "hipMemcpy"))
                    or before in self.counting
                )
        return False

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
        if (
            isinstance(expr, tree.Name)
            and expr.text in self.dims
            and self.constants.lookup(expr.text) is None
        ):
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
            text = self._text(base + dynamic.lo, base + dynamic.hi)
        span = self.body.site(base + expr.lo, base + expr.hi)
        self.found.append(
            LaunchSite(
                kernel=expr.callee.text.split("::")[-1],
                block=self._positive(expr.configuration[1]),
                dynamic_bytes=0 if dynamic is None else self._bytes(dynamic),
                dynamic_expression=text,
                span=Span(span.start, span.end),
                line=self.source.line_number(span.start),
                grid=self._positive(expr.configuration[0]),
                addends=self._passed(dynamic),
                terms=HostTerms(
                    self._axes(expr.configuration[1]),
                    self._axes(expr.configuration[0]),
                    constant(0) if dynamic is None else self._term(dynamic),
                    tuple(self._term(argument) for argument in expr.arguments),
                ),
            )
        )

    def _axes(self, expr: tree.Expr) -> Axes3:
        """The extents of a block or grid; None where one is not known."""
        whole = self._block(expr)
        if whole is not None:
            return constant(whole[0]), constant(whole[1]), constant(whole[2])
        parts: list[tree.Expr] | None = [expr]
        if isinstance(expr, tree.Call):
            named_dim3 = isinstance(expr.callee, tree.Name) and expr.callee.text == "dim3"
            parts = expr.arguments if named_dim3 else None
        elif isinstance(expr, tree.Cast) and expr.type.words == ["dim3"]:
            parts = expr.operand.items if isinstance(expr.operand, tree.Braces) else [expr.operand]
        elif isinstance(expr, tree.Name) and expr.text in self.axes:
            return self.axes[expr.text]
        if not parts or len(parts) > 3:
            return None, None, None
        x, y, z = (*(self._term(part) for part in parts), constant(1), constant(1))[:3]
        return x, y, z

    def _term(self, expr: tree.Expr) -> HostTerm | None:
        """An integer of host code."""
        number = self._bytes(expr)
        if number is not None:
            return constant(number)
        if isinstance(expr, tree.Name):
            own = {text for kind, text in zip(self.head.kinds, self.head.texts) if kind == "NAME"}
            local = "::" not in expr.text and not expr.arguments and expr.text in self.constants.values
            settled = expr.text not in self.dims and self._settled(
                expr.text, constant=False, declared=0 if expr.text in own else 1
            )
            return named(expr.text) if local and settled else None
        if isinstance(expr, tree.Binary):
            left, right = self._term(expr.left), self._term(expr.right)
            return None if left is None or right is None else apply(expr.operator, left, right)
        return None

    def _passed(self, dynamic: tree.Expr | None) -> tuple[int | None, ...]:
        """The addends of the dynamic bytes of a launch."""
        if isinstance(dynamic, tree.Name):
            return self.sums.get(dynamic.text, ())
        return () if dynamic is None else self._addends(dynamic)

    def _text(self, lo: int, hi: int) -> str | None:
        """The text of an expression, with the parentheses that it begins or ends in."""
        kinds = self.body.tokens.kinds
        open_ = kinds[lo:hi].count("LP") - kinds[lo:hi].count("RP")
        while open_ < 0 and kinds[lo - 1] == "LP":
            lo, open_ = lo - 1, open_ + 1
        while open_ > 0 and kinds[hi : hi + 1] == ["RP"]:
            hi, open_ = hi + 1, open_ - 1
        span = self.body.span(lo, hi)
        return self.source.slice(span) if span else None

    def _bytes(self, expr: tree.Expr) -> int | None:
        """The value of an expression, perhaps through a size function of this file; None if it is unknown or
        negative."""
        value = evaluate(expr, self.constants)
        if value is None:
            found = counted(expr, self.counting, self.constants, self.top)
            value = None if found is None else evaluate(*found)
        return None if value is None or value < 0 else value

    def _addends(self, expr: tree.Expr) -> tuple[int | None, ...]:
        """The addends of a sum, perhaps returned by a size function of this file; empty if it is no sum."""
        found = counted(expr, self.counting, self.constants, self.top)
        return _addends(expr, self.constants) if found is None else _addends(*found)

    def _positive(self, expr: tree.Expr | None) -> Dims | None:
        """Extents, if all are positive."""
        dims = None if expr is None else self._block(expr)
        return dims if dims is None or all(d > 0 for d in dims) else None

    def _extended(self, expr: tree.Expr, base: int) -> None:
        """``cudaLaunchKernelEx``, also inside a macro that checks its result."""
        assert self.configs is not None
        launch = self.configs.launch(expr)
        if launch is None:
            if isinstance(expr, tree.Call):
                for argument in expr.arguments:
                    self._extended(argument, base)
            elif isinstance(expr, tree.Assign):
                self._extended(expr.value, base)
            return
        span = self.body.site(base + expr.lo, base + expr.hi)
        bytes_, at = launch.dynamic, launch.dynamic_at
        passed = None if bytes_ is None else self._bytes(bytes_)
        self.found.append(
            LaunchSite(
                kernel=launch.kernel.text.split("::")[-1],
                block=self._positive(launch.block),
                dynamic_bytes=0 if launch.no_dynamic else passed,
                dynamic_expression=None if bytes_ is None else self._text(at + bytes_.lo, at + bytes_.hi),
                span=Span(span.start, span.end),
                line=self.source.line_number(span.start),
                grid=self._positive(launch.grid),
                cluster=None
                if launch.cluster is None
                else dims_of(launch.cluster, lambda axis: evaluate(axis, self.constants)),
                extended=True,
            )
        )


def _addends(expr: tree.Expr, scope: Scope) -> tuple[int | None, ...]:
    if not isinstance(expr, tree.Binary) or expr.operator != "+":
        return ()
    left = _addends(expr.left, scope) or (evaluate(expr.left, scope),)
    return (*left, evaluate(expr.right, scope))
