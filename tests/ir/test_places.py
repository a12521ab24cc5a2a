"""The IR numbers its places, and a map says where they are, wherever the kernel has moved."""

from __future__ import annotations

import pytest

from smem_lsp.ir.mapping import mapped
from smem_lsp.ir.nodes import Access, Kernel, walk
from smem_lsp.ir.places import At, Numbering, Row, SourceMap, Translation
from smem_lsp.lowering.kernel import build_kernels, source_parts
from smem_lsp.lowering.numbered import analysed
from smem_lsp.source import SourceText, Span
from smem_lsp.syntax.parse import TranslationUnit, parse

HELPER = "__device__ void put(int* p) { p[threadIdx.x] = 1; }"
KERNEL = """__global__ void k(int* o) {
  __shared__ int s[64];
  put(s);
  __syncthreads();
  o[0] = s[1];
}"""
TEXT = f"{HELPER}\n{KERNEL}\n"
EDITS = {
    "nothing": TEXT,
    "above": f"// one\n\n{TEXT}",
    "between": f"{HELPER}\n\n/* two */\n{KERNEL}\n",
    "comment in the kernel": TEXT.replace("put(s);", "/* long\n */ put(s); // why"),
    "comment in the helper": TEXT.replace("p[threadIdx", "/* here */ p[threadIdx"),
    "blanks in front of an end": TEXT.replace("put(s);", "put(s)  ;"),
    "all": f"\n{HELPER.replace('p[', '/**/ p[')}\n// x\n{KERNEL.replace('s[64]', 's[ 64 ]')}\n",
}


def unit_of(text: str) -> TranslationUnit:
    return parse(SourceText(text))


def only(unit: TranslationUnit) -> Kernel:
    (kernel,) = build_kernels(unit)
    return kernel


def said(kernel: Kernel, text: str) -> list[object]:
    """The texts that the kernel names, and the lines, in the order of its nodes."""
    accesses = [node for node in walk(kernel.body) if isinstance(node, Access)]
    spans = [kernel.places.span(node.span) for node in accesses if node.span is not None]
    spans += [kernel.span, kernel.name_span, *(kernel.places.span(each.declared) for each in kernel.buffers)]
    lines = [kernel.places.line(node.line) for node in accesses]
    return [*(text[span.start : span.end] for span in spans), *lines, kernel.line]


def test_places_are_numbered_as_they_follow_each_other() -> None:
    kernel = only(unit_of(TEXT))
    places = kernel.places
    assert list(places.ends) == sorted(set(places.ends)) and list(places.lines) == sorted(set(places.lines))
    told = said(kernel, TEXT)
    assert {"p[threadIdx.x]", "s[1]", "k", "s", KERNEL} <= set(told)
    assert kernel.line == 2 and {1, 6} <= set(told)


@pytest.mark.parametrize("name", EDITS)
def test_a_kernel_that_moves_is_equal_and_has_another_map(name: str) -> None:
    """Comments and blanks change no word."""
    text = EDITS[name]
    before, unit = only(unit_of(TEXT)), unit_of(text)
    fresh = only(unit)
    assert analysed(fresh) == analysed(before)
    now = source_parts([each for each in unit.functions if each.is_kernel], unit.source)
    now += source_parts([each for each in unit.functions if not each.is_kernel], unit.source)
    assert before.places.moved(now, {}) == fresh.places
    assert (before.places.moved(now, {}) is before.places) is (name == "nothing")
    assert said(fresh, text)[-1] == text[: text.index("k(int")].count("\n") + 1


def test_what_does_not_move_with_the_words_around_it_is_told() -> None:
    places = SourceMap(ends=(2 * 5, 2 * 7 + 1, 2 * 9), lines=(1,), parts=only(unit_of(TEXT)).places.parts)
    moved = places.moved(places.parts, {Span(7, 9): Span(40, 42)})
    assert moved.span(At(1, 2)) == Span(40, 42) and moved.ends[0] == places.ends[0]


def test_places_that_meet_or_pass_each_other_keep_no_order() -> None:
    parts = only(unit_of(TEXT)).places.parts
    places = SourceMap(ends=(2 * 5 + 1, 2 * 7, 2 * 8 + 1, 2 * 9), lines=(4, 2), parts=parts)
    for start, kept in ((8, True), (40, True), (6, False), (2, False)):
        assert places.keeps_order(Translation.of(parts, parts, {Span(8, 9): Span(start, start + 1)})) is kept


def test_an_end_stays_with_what_it_ends() -> None:
    """What begins where another range ends may move away from it."""
    numbers = Numbering.of((At(3, 8), At(8, 9)))
    first, second = numbers.at(At(3, 8)), numbers.at(At(8, 9))
    assert first.high < second.low and first.covers(first) and not first.covers(second)


def test_every_place_of_a_record_is_found_by_its_type() -> None:
    kernel = only(unit_of(TEXT))
    seen: set[int] = set()

    def row(old: Row) -> Row:
        seen.add(old.number)
        return Row(old.number + 100)

    moved = mapped(kernel, {At: lambda old: At(old.low + 1000, old.high + 1000), Row: row})
    assert moved.row.number == kernel.row.number + 100 and len(seen) == len(kernel.places.lines)
    assert all(
        old.line.number + 100 == new.line.number
        for old, new in zip(walk(kernel.body), walk(moved.body))
        if isinstance(old, Access) and isinstance(new, Access)
    )
    assert moved.buffers[0].site.scope.low == kernel.buffers[0].site.scope.low + 1000


def test_a_line_of_the_ir_is_no_text() -> None:
    with pytest.raises(TypeError, match="only the map"):
        str(Row(3))
    with pytest.raises(TypeError, match="only the map"):
        f"line {Row(3)}"
