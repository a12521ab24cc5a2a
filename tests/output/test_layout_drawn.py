"""The memory map as SVG and HTML: what is drawn is what the JSON says, and nothing in a source can break out of it."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from checked import CALLS, EMPTY, EPILOGUE, HOLE, JUMPS, KERNELS, STAGES, UNSIZED, checked, many

from smem_lsp.output import layout_html, layout_json, layout_svg
from smem_lsp.output.map_bytes import byte_axis
from smem_lsp.output.map_frame import frame
from smem_lsp.output.map_labels import Box, label, text_width
from smem_lsp.output.map_rows import time_axis
from smem_lsp.output.memory_map import memory_map

SVG = "{http://www.w3.org/2000/svg}"
VOID = {"meta", "input", "link", "br", "img", "hr"}
each_kernel = pytest.mark.parametrize("name", KERNELS)

Rect = tuple[str, str, int, int, int, int, int]


def svg(text: str) -> str:
    return layout_svg.render(checked(text), 0)


def html(text: str) -> str:
    return layout_html.render(checked(text), [0])


def json_rects(text: str) -> set[Rect]:
    found: Any = layout_json.layout_object(checked(text), 0)["rects"]
    keys = ("buffer", "allocator", "barriers_added", "first", "last", "offset", "bytes")
    return {tuple(rect[key] for key in keys) for rect in found}


def svg_groups(text: str) -> list[ElementTree.Element]:
    return [g for g in ElementTree.fromstring(svg(text)).iter(f"{SVG}g") if "data-buffer" in g.attrib]


def drawn_rect(attributes: dict[str, Any], last: str) -> Rect:
    numbers = (int(attributes[f"data-{key}"]) for key in ("barriers-added", "first", last, "offset", "bytes"))
    return (attributes["data-buffer"], attributes["data-allocator"], *numbers)  # type: ignore[return-value]


class Page(HTMLParser):
    """The elements of a page; raises AssertionError where one is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.texts: dict[str, str] = {}  # of style, script and output
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in VOID or "svg" in self.open, f"<{tag}/> is no end in HTML"
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data

    def of_class(self, name: str) -> Iterator[dict[str, Any]]:
        return (a for _, a in self.elements if name in (a.get("class") or "").split())


@each_kernel
def test_the_svg_is_well_formed_and_alone(name: str) -> None:
    root = ElementTree.fromstring(svg(KERNELS[name]))
    assert root.tag == f"{SVG}svg"
    assert root.attrib["role"] == "img"
    named = {element.attrib.get("id"): element for element in root.iter()}
    for part in root.attrib["aria-labelledby"].split():
        assert named[part].text
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in {
            "svg", "title", "desc", "style", "defs", "pattern", "g", "path", "rect", "circle", "text", "tspan",
        }  # fmt: skip
        for key, value in element.attrib.items():
            assert not key.startswith("on") and "href" not in key
            assert "url(" not in value or re.fullmatch(r"url\(#(t[1-4]|free)\)", value)
    assert "@import" not in svg(KERNELS[name])


@each_kernel
def test_the_page_is_well_formed_and_loads_nothing(name: str) -> None:
    page = Page(html(KERNELS[name]))
    for tag, attributes in page.elements:
        assert not {"src", "href", "style", "srcset"} & attributes.keys(), (tag, attributes)
        assert not [key for key in attributes if key.startswith("on")]
    text = html(KERNELS[name])
    assert "http:" not in text and "https:" not in text and "@import" not in text and "url(" not in text


@each_kernel
def test_the_policy_names_the_style_and_the_script_of_the_page(name: str) -> None:
    page = Page(html(KERNELS[name]))
    (policy,) = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]

    def source(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert policy.split("; ") == [
        "default-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "img-src data:",
        f"style-src {source(page.texts['style'])}",
        f"script-src {source(page.texts['script'])}",
    ]


@each_kernel
def test_what_is_drawn_is_what_the_json_says(name: str) -> None:
    text = KERNELS[name]
    shown = memory_map(checked(text), 0).worth_drawing
    wanted = {(d.plan.allocator, d.added) for d in shown}
    rects = {rect for rect in json_rects(text) if rect[1:3] in wanted}
    bars = [drawn_rect(a, "last-point") for a in Page(html(text)).of_class("bar")]
    assert len(bars) == len(set(bars)) and set(bars) == rects
    groups = [drawn_rect(g.attrib, "last") for g in svg_groups(text)]
    first_three = {(d.plan.allocator, d.added) for d in shown[:3]}
    assert len(groups) == len(set(groups))
    assert set(groups) == {rect for rect in rects if rect[1:3] in first_three}


@each_kernel
def test_places_in_the_svg_are_those_of_bytes_and_points(name: str) -> None:
    """In every panel: left and right by the byte axis, top and bottom by the rows of the points."""
    drawn = memory_map(checked(KERNELS[name]), 0)
    placed = frame(drawn, 0)
    if placed is None:
        assert not svg_groups(KERNELS[name])
        return
    higher: float | None = None  # the picture has a heading, the frame here has none
    for group in svg_groups(KERNELS[name]):
        attributes = group.attrib
        layout = (attributes["data-allocator"], attributes["data-barriers-added"])
        panel = next(p for p in placed.panels if (p.drawing.plan.allocator, str(p.drawing.added)) == layout)
        life = (attributes["data-buffer"], attributes["data-first"])
        rectangle = next(r for r in panel.drawing.rectangles if (drawn.names[r.buffer], str(r.first)) == life)
        box = placed.box(panel, rectangle)
        x, y, wide, high = shape(group)
        higher = y - box.top if higher is None else higher
        assert (x, x + wide) == pytest.approx((box.left, box.right), abs=1)
        assert (y - higher, y + high - higher) == pytest.approx((box.top, box.bottom), abs=1.6)


def shape(group: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, top, width and height of what is drawn for a rectangle."""
    found = group.find(f"{SVG}rect")
    assert found is not None
    x, y, wide, high = (float(found.attrib[key]) for key in ("x", "y", "width", "height"))
    return x, y, wide, high


@each_kernel
def test_no_two_rectangles_of_a_layout_overlap(name: str) -> None:
    report = checked(KERNELS[name])
    drawn = memory_map(report, 0)
    for drawing in drawn.drawings:
        assert not drawing.exclusive
        for a, b in combinations(drawing.rectangles, 2):
            assert not (a.shares_bytes(b) and a.meets(b))
    for group, other in combinations(svg_groups(KERNELS[name]), 2):
        assert not overlap(group, other)


def overlap(one: ElementTree.Element, two: ElementTree.Element) -> bool:
    (ax, ay, a_wide, a_high), (bx, by, b_wide, b_high) = shape(one), shape(two)
    return ax < bx + b_wide and bx < ax + a_wide and ay < by + b_high and by < ay + a_high


@each_kernel
def test_points_stand_on_the_rows_of_their_lines_in_order(name: str) -> None:
    drawn = memory_map(checked(KERNELS[name]), 0)
    time = time_axis(drawn)
    assert set(time.spans) == {point.index for point in drawn.points}
    edges = [edge for point in sorted(time.spans) for edge in time.spans[point]]
    assert edges == sorted(edges)
    for point in drawn.points:
        top, bottom = time.spans[point.index]
        assert top < bottom
        if point.kind in ("read", "write", "barrier"):
            assert time.rows[int(top)].line == point.line


@pytest.mark.slow(seconds=4)
def test_equal_input_gives_equal_bytes() -> None:
    """In another process, too, where sets of strings have another order."""
    script = (
        "from checked import KERNELS, checked; from smem_lsp.output import layout_html, layout_svg\n"
        "for text in KERNELS.values():\n"
        "  print(layout_svg.render(checked(text), 0), layout_html.render(checked(text), [0]))"
    )
    folders = os.pathsep.join(map(str, (Path(__file__).parent, Path(__file__).parents[2])))
    runs = [
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": folders, "PYTHONIOENCODING": "utf-8"},
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0].count(b"<!DOCTYPE html>") == len(KERNELS)


HOSTILE = """\
#define STORE(i) a[i] = in[i] /* </code><script>alert("1")</script> ]]> & &amp; ' */
__global__ void hostile(const float* in, float* out) {
  __shared__ float a[64];  // --></style></svg> \x07 \u202e \ufffe
  STORE(threadIdx.x); /* "<img src=x onerror=alert(1)>" */
  __syncthreads();
  out[threadIdx.x] = a[63 - threadIdx.x];  // ${`x`} \\u0000 𝕊
}
"""


def test_a_source_can_hold_anything() -> None:
    path = 'a"><script>alert(2)</script>/k&.cu'
    report = checked(HOSTILE, path)
    page = Page(layout_html.render(report, [0]))
    assert sum(tag == "script" for tag, _ in page.elements) == 1
    assert not [tag for tag, _ in page.elements if tag in ("img", "svg")]
    assert path in "".join(page.texts.values())
    root = ElementTree.fromstring(layout_svg.render(report, 0))
    assert {element.tag for element in root.iter()}.isdisjoint({f"{SVG}script", f"{SVG}img"})
    text = "".join(root.itertext())
    assert "alert" in text and "\u202e" not in text and "\x07" not in text and "\ufffe" not in text


def test_unknown_sizes_are_said_and_not_drawn() -> None:
    for text in (svg(UNSIZED), html(UNSIZED)):
        assert "N * 4 B shared" in text
    assert not svg_groups(UNSIZED)
    assert not list(Page(html(UNSIZED)).of_class("bar"))
    assert "Size not known: tile of [N]." in svg(UNSIZED)


def test_a_kernel_without_shared_memory_says_so() -> None:
    assert "no shared memory of its own" in svg(EMPTY)
    assert "no shared memory of its own" in html(EMPTY)


def test_hover_names_bytes_lines_and_who_shares_them() -> None:
    (group,) = [
        g
        for g in svg_groups(EPILOGUE)
        if g.attrib["data-buffer"] == "Cs" and g.attrib["data-allocator"] == "best"
    ]
    title = group.find(f"{SVG}title")
    assert title is not None
    assert title.text == (
        "Cs  float[BM][BM]\n4,096 B, bytes 0 to 4,096\nin use on lines 14–16\nshares bytes with As and Bs"
    )
    (bar,) = [
        a
        for a in Page(html(EPILOGUE)).of_class("bar")
        if (a["data-buffer"], a["data-allocator"]) == ("Cs", "best")
    ]
    assert bar["data-tip"] == title.text
    assert bar["aria-label"] == title.text.replace("\n", ", ")
    assert (bar["data-line"], bar["data-last"]) == ("14", "16")


def test_the_clique_is_outlined_and_named() -> None:
    forced = {a["data-buffer"] for a in Page(html(EPILOGUE)).of_class("forced")}
    assert forced == {"As", "Bs"}
    assert "As and Bs need 4,096 B at line 7." in svg(EPILOGUE)
    # All that there is needs no outline.
    assert not list(Page(html(JUMPS)).of_class("forced"))


def test_a_switch_chooses_between_plans_with_more_barriers() -> None:
    page = Page(html(STAGES))
    choices = [a for tag, a in page.elements if tag == "input"]
    assert [("checked" in a, a["value"]) for a in choices] == [(True, "0"), (False, "1")]
    (added,) = (a for a in page.of_class("added") if "data-line" in a)
    assert (added["aria-label"], added["data-line"]) == ("added barrier before line 10", "10")
    assert not [a for tag, a in Page(html(EPILOGUE)).elements if tag == "input"]


def test_barriers_are_lines_and_the_unproved_ones_say_so() -> None:
    barriers = [a for a in Page(html(CALLS)).of_class("barrier") if "added" not in a["class"].split()]
    lines = {(a["data-line"], "unproved" in a["class"]) for a in barriers}
    assert lines == {("12", False), ("14", True), ("16", False)}
    assert "not proved to be run by every thread" in svg(CALLS)


def test_a_called_function_stands_where_it_is_called() -> None:
    rows = time_axis(memory_map(checked(CALLS), 0)).rows
    lines = [row.line for row in rows]
    call = lines.index(11)
    assert lines[:call] == [7, 8, 9, 10]
    assert lines[call : call + 6] == [11, 2, 3, 4, 12, 13]
    assert [row.line for row in rows if row.called] == [2, 3, 4]


def test_a_value_that_is_assumed_dead_is_told() -> None:
    for text in (svg(HOLE), html(HOLE)):
        assert "assumes the 256×1×1 block of line 17" in text


def test_a_picture_has_room_for_some_remarks_only() -> None:
    calls = "".join(f"  keep(lost + {number});\n" for number in range(40))
    text = CALLS.replace("  keep(lost);\n", calls)
    assert "the address of lost escapes at line 18" in svg(text)
    (rest,) = re.findall(r"and (\d+) more lines, which the other formats show", svg(text))
    assert int(rest) > 20
    assert html(text).count("line ") > int(rest)


def test_labels_stay_inside_their_rectangles() -> None:
    for text in (*KERNELS.values(), many(40, 300)):
        drawn = memory_map(checked(text), 0)
        placed = frame(drawn, 0)
        for panel in placed.panels if placed else ():
            for rectangle in panel.drawing.rectangles:
                box = placed.box(panel, rectangle) if placed else Box(0, 0, 0, 0)
                found = label(box, drawn.names[rectangle.buffer], f"{rectangle.size:,} B", (), 12)
                if found is None:
                    continue
                wide = max(text_width(line, 12) for line in found.lines) / 2
                high = len(found.lines) * 12 * 1.25 / 2
                across, down = (high, wide) if found.upright else (wide, high)
                assert box.left <= found.x - across and found.x + across <= box.right
                assert box.top <= found.y - down + 0.01 and found.y + down <= box.bottom + 0.01


def test_names_without_room_are_listed() -> None:
    text = many(40, 1)
    written = svg(text)
    for number in range(40):
        assert f"buffer_{number}<" in written or f"buffer_{number} " in written


@each_kernel
def test_the_byte_axis_rises_and_keeps_every_buffer_visible(name: str) -> None:
    drawn = memory_map(checked(KERNELS[name]), 0)
    if not drawn.worth_drawing:
        return
    axis = byte_axis(drawn.worth_drawing)
    assert axis.places[0] == 0 and axis.places[-1] == 1
    assert list(axis.places) == sorted(set(axis.places))
    for drawing in drawn.worth_drawing:
        for r in drawing.rectangles:
            assert axis.at(r.end) - axis.at(r.offset) >= min(0.06, 0.5 / len(drawing.rectangles))


def test_bytes_to_scale_where_all_can_be_seen() -> None:
    drawn = memory_map(checked(EPILOGUE), 0)
    axis = byte_axis(drawn.worth_drawing)
    assert axis.to_scale
    assert axis.at(2048) == pytest.approx(0.25) and axis.at(3072) == pytest.approx(0.375)
