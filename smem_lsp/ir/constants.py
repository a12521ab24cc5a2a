"""Integer constants of a file, and the value of constant expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from smem_lsp.ir.sizes import POINTER, Size, size_of
from smem_lsp.syntax import tree
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.conditions import apply_operator, parse_integer, wrap
from smem_lsp.syntax.lookahead import Symbols
from smem_lsp.syntax.parse import TranslationUnit, parse_chunk

_MAX_DEPTH = 64
_MAX_DECLARATION = 200  # tokens


@dataclass
class Constants:
    """Names with a constant value. ``aliases``: typedefs. Inner scopes are children that fall back on their parent."""

    aliases: Mapping[str, Sequence[str]]
    values: dict[str, int | None] = field(default_factory=dict)  # None: shadowed by something not constant
    parent: Constants | None = None

    def lookup(self, name: str) -> int | None:
        scope: Constants | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent
        return None

    def child(self) -> Constants:
        return Constants(self.aliases, {}, self)


def evaluate(expr: tree.Expr | None, constants: Constants, depth: int = 0) -> int | None:
    """Value of a constant integer expression; None when it is not one or not known."""
    if expr is None or depth > _MAX_DEPTH:
        return None
    match expr:
        case tree.Number():
            if expr.text in ("true", "false"):
                return int(expr.text == "true")
            return parse_integer(expr.text)
        case tree.Name():
            return None if expr.templated else constants.lookup(expr.text)
        case tree.Unary():
            value = evaluate(expr.operand, constants, depth + 1)
            if value is None:
                return None
            match expr.operator:
                case "-":
                    return wrap(-value)
                case "+":
                    return value
                case "~":
                    return wrap(~value)
                case "!":
                    return int(not value)
            return None
        case tree.Binary():
            left = evaluate(expr.left, constants, depth + 1)
            if left is not None and (
                (expr.operator == "&&" and not left) or (expr.operator == "||" and left)
            ):
                return int(bool(left))
            right = evaluate(expr.right, constants, depth + 1)
            if left is None or right is None:
                return None
            return apply_operator(expr.operator, left, right)
        case tree.Ternary():
            condition = evaluate(expr.condition, constants, depth + 1)
            if condition is None:
                return None
            return evaluate(expr.yes if condition else expr.no, constants, depth + 1)
        case tree.SizeOf():
            return _size_of(expr, constants, depth)
        case tree.Cast():
            size = None if expr.type.pointers else size_of(expr.type.words, constants.aliases)
            value = evaluate(expr.operand, constants, depth + 1)
            # a narrowing or floating cast is not followed
            return value if size is not None and size[0] >= 4 and not _floating(expr.type.words) else None
        case tree.Call():
            return _call(expr, constants, depth)
    return None


def type_size(type_id: tree.TypeId, constants: Constants) -> Size | None:
    """(size, alignment) of a type-id in bytes."""
    base = POINTER if type_id.pointers else size_of(type_id.words, constants.aliases)
    if base is None:
        return None
    size = base[0]
    for dim in type_id.dims:
        count = evaluate(dim, constants)
        if count is None:
            return None
        size *= count
    return size, base[1]


def _floating(words: Sequence[str]) -> bool:
    return bool({"float", "double", "half", "__half"} & set(words))


def _size_of(expr: tree.SizeOf, constants: Constants, depth: int) -> int | None:
    type_id = expr.type
    if type_id is None and isinstance(expr.operand, tree.Name):
        if constants.lookup(expr.operand.text) is not None:
            return None
        type_id = tree.TypeId(expr.lo, expr.hi, [expr.operand.text], [], [])
    if type_id is None:
        return None
    size = type_size(type_id, constants)
    if size is None:
        return None
    return size[0] if expr.operator == "sizeof" else size[1]


def _call(expr: tree.Call, constants: Constants, depth: int) -> int | None:
    """``max`` and ``min`` of constants."""
    name = expr.callee.text.split("::")[-1] if isinstance(expr.callee, tree.Name) else ""
    if name not in ("max", "min") or len(expr.arguments) != 2:
        return None
    values = [evaluate(argument, constants, depth + 1) for argument in expr.arguments]
    if values[0] is None or values[1] is None:
        return None
    return max(values[0], values[1]) if name == "max" else min(values[0], values[1])


def declare_constants(
    declaration: tree.Declaration, constants: Constants, *, top_level: bool = False
) -> None:
    """Add the constants of one declaration: ``constexpr`` and ``const`` integers with a constant value."""
    constant = "constexpr" in declaration.words or ("const" in declaration.words)
    for declarator in declaration.declarators:
        if not declarator.name:
            continue
        value: int | None = None
        if (
            constant
            and not declarator.pointers
            and not declarator.dims
            and declarator.initializer is not None
        ):
            initializer = declarator.initializer
            if isinstance(initializer, tree.Braces):
                initializer = initializer.items[0] if len(initializer.items) == 1 else initializer
            if not _floating(declaration.words):
                value = _as_type(evaluate(initializer, constants), declaration.words)
        if top_level:
            _declare_top_level(declarator.name, value, constants)
        else:
            constants.values[declarator.name] = value


def _as_type(value: int | None, words: Sequence[str]) -> int | None:
    """``value`` in a variable of this type; None when a narrow one would change it."""
    if value is None or "bool" in words:
        return None if value is None else int(value != 0)
    narrow = {"char", "short", "int8_t", "uint8_t", "int16_t", "uint16_t", "uchar", "ushort"} & set(words)
    return value if not narrow or 0 <= value < 128 else None


def _declare_top_level(name: str, value: int | None, constants: Constants) -> None:
    """Namespaces are not told apart: a name with two values has none."""
    if value is not None:
        constants.values[name] = value if constants.values.get(name, value) == value else None


def file_constants(unit: TranslationUnit) -> Constants:
    """Constants at namespace scope of the headers and of the file, in order."""
    constants = Constants(unit.names.aliases)
    header = unit.preprocessed.header
    _scan(header.kinds, header.texts, match_brackets(header.kinds), unit.symbols, constants)
    tokens = unit.preprocessed.tokens
    _scan(tokens.kinds, tokens.texts, unit.partner, unit.symbols, constants)
    return constants


def _scan(
    kinds: Sequence[str],
    texts: Sequence[str],
    partner: Sequence[int],
    symbols: Symbols,
    constants: Constants,
) -> None:
    """Declarations of constants and enumerators outside functions and classes."""
    n = len(kinds)
    i = start = 0
    while i < n:
        kind = kinds[i]
        declares = (
            "constexpr" in texts[start:i] or "const" in texts[start:i] if kind in ("LC", "SEMI") else False
        )
        if (
            kind == "LC"
            and declares
            and kinds[i - 1] == "NAME"
            and "LP" not in kinds[start:i]
            and partner[i] > i
        ):
            i = partner[i]  # constexpr int N{12};
        elif kind == "LC":
            head = texts[start:i]
            close = partner[i] if partner[i] > i else n
            if "enum" in head:
                _enumerators(kinds[i + 1 : close], texts[i + 1 : close], symbols, constants)
            if not ("namespace" in head or (head[:1] == ["extern"] and kinds[i - 1] == "STRING")):
                i = close
            start = i + 1
        elif kind in ("SEMI", "RC"):
            head_kinds = kinds[start:i]
            if (
                declares
                and i - start < _MAX_DECLARATION
                and "TEMPLATE" not in head_kinds
                and ("EQ" in head_kinds or "LC" in head_kinds)
            ):
                declaration = parse_chunk("declaration", kinds[start:i], texts[start:i], symbols)
                if isinstance(declaration, tree.Declaration):
                    declare_constants(declaration, constants, top_level=True)
            start = i + 1
        i += 1


def _enumerators(kinds: Sequence[str], texts: Sequence[str], symbols: Symbols, constants: Constants) -> None:
    following: int | None = 0
    start = 0
    depth = 0
    for i in range(len(texts) + 1):
        text = texts[i] if i < len(texts) else ","
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text, 0)
        if text != "," or depth:
            continue
        if i > start and kinds[start] == "NAME":
            if i > start + 2 and texts[start + 1] == "=":
                parsed = parse_chunk("expression", kinds[start + 2 : i], texts[start + 2 : i], symbols)
                following = evaluate(parsed, constants)
            if following is not None:
                _declare_top_level(texts[start], following, constants)
                following += 1
        start = i + 1
