"""``__shared__`` declarations as buffers: element type, extents, alignment, and the source text of each part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from smem_lsp.ir.nodes import AddressSpace, Buffer, DeclarationSite, Written
from smem_lsp.ir.places import At
from smem_lsp.semantics import alignment as attribute_rules
from smem_lsp.semantics import record_layout, type_of
from smem_lsp.semantics.declarations import Source, VariableDecl
from smem_lsp.semantics.entities import TypedConstant
from smem_lsp.semantics.evaluate import evaluate
from smem_lsp.semantics.function_scope import function_scope
from smem_lsp.semantics.local_declarations import (
    declare_constants,
    declare_parameters,
    declare_types,
    declare_using,
)
from smem_lsp.semantics.scope import Scope
from smem_lsp.semantics.sizes import size_of_type
from smem_lsp.semantics.types import Array, Enum, Pointer, Scalar, Storage, Type, is_struct
from smem_lsp.syntax import tree
from smem_lsp.syntax.lexer import without_comments
from smem_lsp.syntax.parse import Body, Function, TranslationUnit
from smem_lsp.targets.dialects import CUDA

NOT_TYPE = frozenset(
    "static extern const volatile __const constexpr inline __volatile__ register mutable".split()
) | {CUDA.shared, CUDA.device}


def shared_buffer(
    body: Body,
    base: int,
    text: str,
    declaration: tree.Declaration,
    position: int,
    constants: Scope,
    function: str,
) -> Buffer:
    """The buffer of one declarator of a ``__shared__`` declaration; its index and site are not set."""
    declarator = declaration.declarators[position]
    words = [word for word in declaration.words if word not in NOT_TYPE]
    attributes, align_asked = _attributes(body, base, declaration, declarator, constants)
    element_type = _element_type(body, base, declaration, declarator, constants)
    element = size_of_type(element_type)
    if not declarator.nested:
        dims = tuple(evaluate(dim, constants) for dim in declarator.dims)
    elif declarator.core[0]:
        dims = tuple(evaluate(dim, constants) for dim in declarator.dims[: declarator.core[1]])
    else:
        dims, element = (), None
    space = AddressSpace.DYNAMIC if "extern" in declaration.words else AddressSpace.STATIC
    # on a variable the attribute decides, even if it is less than the type's alignment (nvcc 13.0)
    align = None if element is None else align_asked or element[1]
    if align_asked == 0:
        align = None
    dims_text = tuple(_text(body, base, text, *span) for span in declarator.dim_spans)
    stars = "".join(p if p in "*&" else f" {p} " for p in declarator.pointers).rstrip()
    declared = body.site(base + declarator.name_at, base + declarator.name_at + 1)
    return Buffer(
        index=-1,
        name=declarator.name,
        type=" ".join(words).replace("<>", "<…>") + stars,
        written=Written(
            _type_text(body, base, declaration, text),
            "".join(p if p in "*&" else f" {p}" for p in declarator.pointers),
            dims_text,
            tuple(w for w in declaration.words if w in ("volatile", "const")),
            attributes,
        ),
        dims=dims,
        element_bytes=None if element is None else element[0],
        bytes=None if element is None or space is AddressSpace.DYNAMIC else total_bytes(element[0], dims),
        align=align,
        space=space,
        declared=At.of(declared),
        site=DeclarationSite(None, None, None, None, position, len(declaration.declarators), At.of(declared)),
        function=function,
        record=is_struct(element_type)
        if isinstance(element_type, Scalar)
        else not isinstance(element_type, (Pointer, Enum)),
        holds_pointers=record_layout.holds_pointers(element_type),
        collective=element_type.kept and not declarator.dims if isinstance(element_type, Storage) else None,
    )


def total_bytes(element: int, dims: Sequence[int | None]) -> int | None:
    """Bytes of an array; None if an extent is unknown."""
    total = element
    for dim in dims:
        if dim is None or dim < 0:
            return None
        total *= dim
    return total


def _type_text(body: Body, base: int, declaration: tree.Declaration, text: str) -> str | None:
    """The element type with its qualifiers as written: specifiers without storage words and attributes."""
    tokens = body.tokens
    runs: list[tuple[int, int]] = []
    i = base + declaration.lo
    end = base + declaration.declarators_at
    while i < end:
        if tokens.kinds[i] == "ATTRIBUTE":
            i += 1
            depth = 0
            while i < end:
                depth += {"LP": 1, "RP": -1}.get(tokens.kinds[i], 0)
                i += 1
                if depth == 0:
                    break
            continue
        if tokens.kinds[i] != "STORAGE":
            if runs and runs[-1][1] == i:
                runs[-1] = (runs[-1][0], i + 1)
            else:
                runs.append((i, i + 1))
        i += 1
    spans = [body.span(*run) for run in runs]
    if any(span is None for span in spans):
        return None
    return " ".join(without_comments(text[span.start : span.end]) for span in spans if span is not None)


def _text(body: Body, base: int, text: str, lo: int, hi: int) -> str:
    """Tokens as the author wrote them, without comments."""
    if lo >= hi:
        return ""
    span = body.span(base + lo, base + hi)
    if span is not None:
        return without_comments(text[span.start : span.end])
    # a macro: spell its invocation
    offsets = body.tokens.offsets
    before, after = offsets[base + lo - 1], offsets[base + hi] if base + hi < len(offsets) else -1
    if 0 <= before < after:
        return without_comments(text[before + 1 : after]).strip()
    return " ".join(body.tokens.texts[base + lo : base + hi])


def _attributes(
    body: Body, base: int, declaration: tree.Declaration, declarator: tree.Declarator, constants: Scope
) -> tuple[tuple[str, ...], int | None]:
    """(attributes as written, alignment in bytes that they request). Alignment 0: requested, but unknown."""
    kinds, texts = body.tokens.kinds, body.tokens.texts
    written: list[str] = []
    align: int | None = None
    ranges = (
        (_before_first_specifier(kinds, base + declaration.lo), base + declaration.declarators_at),
        (base + declarator.lo, _after_last_attribute(body, base + declarator.hi)),
    )
    for lo, hi in ranges:
        for i in range(lo, hi):
            if kinds[i] != "ATTRIBUTE" or i + 1 >= len(kinds) or kinds[i + 1] != "LP":
                continue
            end = i + 1
            depth = 0
            while end < len(kinds):
                depth += {"LP": 1, "RP": -1}.get(kinds[end], 0)
                if depth == 0:
                    break
                end += 1
            written.append(_joined(texts[i : end + 1]))
            inner = (i + 2, end)
            if texts[i] == "__attribute__":
                if "aligned" not in texts[i:end]:
                    continue
                at = texts.index("aligned", i)
                inner = (at + 2, texts.index(")", at))
            source = Source(kinds, texts, body.ahead.partner, body.symbols)
            asked = attribute_rules.alignment(source, *inner, constants) or 0
            align = asked if align is None or asked == 0 else max(align, asked) if align else 0
    return tuple(written), align


def _joined(texts: Sequence[str]) -> str:
    """Tokens without white space except between two words: ``alignas(long long)``."""
    text = ""
    for each in texts:
        text += f" {each}" if re.search(r"\w\Z", text) and re.match(r"\w", each) else each
    return text


def _after_last_attribute(body: Body, hi: int) -> int:
    """Attributes after the dimensions belong to the declarator before them."""
    kinds = body.tokens.kinds
    while hi + 1 < len(kinds) and kinds[hi] == "ATTRIBUTE" and kinds[hi + 1] == "LP":
        hi = max(hi + 1, body.ahead.partner[hi + 1]) + 1
    return hi


def _before_first_specifier(kinds: list[str], lo: int) -> int:
    """Attributes before the first specifier belong to the declaration."""
    i = lo
    while i > 0 and kinds[i - 1] not in ("SEMI", "LC", "RC", "COLON"):
        i -= 1
    return i


def _element_type(
    body: Body, base: int, declaration: tree.Declaration, declarator: tree.Declarator, constants: Scope
) -> Type | None:
    """The type of the elements that a declarator declares: its own type without dimensions."""
    if declarator.pointers or declarator.nested:
        return Pointer(None)
    record: Type | None = None
    if "{}" in declaration.words:
        for decl in constants.declarations.names.get(declarator.name, ()):
            value = constants.declared_meaning(decl) if isinstance(decl, VariableDecl) else None
            record = value.type if isinstance(value, TypedConstant) else None
        for _ in declarator.dims:
            record = record.element if isinstance(record, Array) else None
    return type_of.specified(declaration, constants, record)


MIN_ROUNDING = 16  # bytes: of every static total of a file that uses an `extern __shared__` array


def helper_buffers(unit: TranslationUnit, helper: Function, top: Scope) -> list[Buffer]:
    """Static arrays that a function declares: one copy per function, whoever calls it."""
    if CUDA.shared not in helper.definition.body_words:
        return []
    return [
        shared_buffer(helper.body, base, unit.source.text, declaration, position, scope, helper.name)
        for declaration, base, scope in _shared_declarations(helper, top)
        for position in range(len(declaration.declarators))
        if "extern" not in declaration.words
    ]


def _shared_declarations(function: Function, top: Scope) -> Iterator[tuple[tree.Declaration, int, Scope]]:
    """(declaration, its first token, its scope) of every ``__shared__`` declaration statement."""
    scope = function_scope(top, function).child()
    declare_parameters(function.parameters or (), scope)
    yield from _walk(function, function.body.statements, scope)


def _walk(
    function: Function, node: tree.Statement, scope: Scope
) -> Iterator[tuple[tree.Declaration, int, Scope]]:
    body = function.body
    if isinstance(node, tree.Block | tree.For | tree.While | tree.DoWhile | tree.Switch):
        scope = scope.child()
    for each in tree.inside(node):
        yield from _walk(function, each, scope)
    if isinstance(node, tree.Empty):
        declare_using(body, node, scope)
    elif isinstance(node, tree.DeclarationStatement):
        declaration = body.chunk("declaration", node.chunk)
        if not isinstance(declaration, tree.Declaration):
            return
        if not declare_types(declaration, body, node.chunk, scope):
            declare_constants(declaration, scope)
        if CUDA.shared in declaration.words:
            yield declaration, node.chunk[0], scope
