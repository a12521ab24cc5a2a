"""The memory map, as text and as JSON."""

from __future__ import annotations

from typing import Any

from checked import CALLS, EMPTY, EPILOGUE, HOLE, JUMPS, STAGES, UNSIZED, checked, many

from smem_lsp.engine import check
from smem_lsp.output import layout_json, layout_text
from smem_lsp.output.style import PLAIN, Style


def draw(text: str, style: Style = PLAIN, width: int = 100) -> str:
    return layout_text.render(checked(text), [0], style, width)


def test_the_whole_map() -> None:
    assert (
        draw(EPILOGUE)
        == """\
gemm  kernels/k.cu:2
  8,192 → 4,096 B shared, 4,096 B saved without another barrier
  6 blocks/SM (sm_90, 256 threads, 34 registers setting), limited by registers

  declared  8,192 B
  8,192 ┤····························▒▒▒▒▒▒▒▒▒▒▒▒
        ┤····························▒▒▒▒▒▒▒▒▒▒▒▒
        ┤····························▒▒▒▒ Cs ▒▒▒▒
        ┤····························▒▒▒▒▒▒▒▒▒▒▒▒
        ┤····························▒▒▒▒▒▒▒▒▒▒▒▒
        ┤····························▒▒▒▒▒▒▒▒▒▒▒▒
  4,096 ┤▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓················
        ┤▓▓▓▓▓▓▓▓▓▓ Bs ▓▓▓▓▓▓▓▓▓▓················
        ┤▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓················
  2,048 ┤████████████████████████················
        ┤██████████ As ██████████················
        ┤████████████████████████················
      0 └────────────────────────────────────────
   line  7                           14      16
                 ▲       ▲               ▲         barriers

  best  4,096 B
  4,096 ┤▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓····▒▒▒▒▒▒▒▒▒▒▒▒
        ┤▓▓▓▓▓▓▓▓▓▓ Bs ▓▓▓▓▓▓▓▓▓▓····▒▒▒▒▒▒▒▒▒▒▒▒
        ┤▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓····▒▒▒▒▒▒▒▒▒▒▒▒
  2,048 ┤████████████████████████····▒▒▒▒▒▒▒▒▒▒▒▒
        ┤██████████ As ██████████····▒▒▒▒ Cs ▒▒▒▒
        ┤████████████████████████····▒▒▒▒▒▒▒▒▒▒▒▒
      0 └────────────────────────────────────────
   line  7                           14      16
                 ▲       ▲               ▲         barriers

  buffer  type           bytes  align  live lines  declared at  best at
  As      float[BM][16]  2,048      4        7–12            0        0
  Bs      float[16][BM]  2,048      4        7–12        2,048    2,048
  Cs      float[BM][BM]  4,096      4       14–16        4,096        0

  `As` and `Bs` need 4,096 B at line 7.
"""
    )


def test_the_curve_says_what_a_barrier_buys() -> None:
    text = draw(STAGES)
    assert "4,096 → 3,072 B shared" in text
    assert "  +1 before line 10  " in text
    assert "`b` and `c` need 3,072 B side by side: no proved barrier separates them." in text
    assert "`a` and `b` need 2,048 B side by side even with 1 more barrier: no proved" in text


def test_a_buffer_is_drawn_where_it_holds_a_value_only() -> None:
    """The bytes between its two lives are those of another buffer, and the map says on what that rests."""
    text = draw(HOLE)
    best = text[text.index("  best  ") : text.index("  buffer  type")]
    (row,) = [line for line in best.splitlines() if " b " in line]
    assert row.count(" a ") == 2 and row.index(" a ") < row.index(" b ") < row.rindex(" a ")
    assert "best, 2,048 B: assumes the 256×1×1 block of line 17." in text


def test_buffers_of_one_name_are_told_apart_by_their_lines() -> None:
    drawn = draw(
        "__global__ void k(float* p) {\n  int t = threadIdx.x;\n"
        "  {\n    __shared__ float a[256];\n    a[t] = p[t];\n    p[t] = a[t ^ 1];\n  }\n"
        "  {\n    __shared__ float a[256];\n    a[t] = p[t];\n    p[t] = a[t ^ 1];\n  }\n}\n"
    )
    assert "\n  a@4     float[256]" in drawn and "\n  a@9     float[256]" in drawn
    assert "`a@4` and `a@9` need 2,048 B side by side: no proved barrier separates them." in drawn
    assert "`a`" not in drawn and "  a  " not in drawn


def test_ascii_where_the_terminal_has_no_more() -> None:
    assert draw(EPILOGUE, Style(unicode=False)).isascii()


def test_narrow_terminal() -> None:
    assert max(map(len, draw(EPILOGUE, width=60).splitlines()[4:30])) <= 60


def test_unknown_sizes_draw_nothing_and_say_why() -> None:
    text = draw(UNSIZED)
    assert "N * 4 B shared" in text
    assert "Size not known: `tile` of `[N]`." in text
    assert "┤" not in text


def test_what_is_not_followed_keeps_its_bytes_to_the_end() -> None:
    assert "`lost` keeps its bytes: the address of lost escapes at line 18" in draw(CALLS)
    text = draw(JUMPS)
    assert "Control flow is not followed: goto at line 4. No buffer shares bytes." in text
    assert "  best  " not in text


def test_kernel_without_shared_memory() -> None:
    text = draw(EMPTY)
    assert "no shared memory of its own" in text
    assert "buffer  type" not in text


def test_a_long_kernel_is_compressed_to_the_width() -> None:
    text = draw(many(30, 256), width=80)
    picture = text[text.index("  declared  ") : text.index("  buffer ")]
    assert max(map(len, picture.splitlines())) <= 80


def rects(text: str, **wanted: Any) -> list[dict[str, Any]]:
    found = layout_json.layout_object(checked(text), 0)["rects"]
    assert isinstance(found, list)
    return [rect for rect in found if wanted.items() <= rect.items()]


def test_points_and_rectangles() -> None:
    found: dict[str, Any] = layout_json.layout_object(checked(EPILOGUE), 0)
    assert list(found) == ["version", "kernel", "points", "rects"]
    points = {point["index"]: point for point in found["points"]}
    assert list(points) == sorted(points)
    (loop,) = [point for point in found["points"] if point["kind"] == "loop"]
    (end,) = [point for point in found["points"] if point["kind"] == "loop_end"]
    assert (loop["line"], end["line"]) == (6, 12)
    assert {"declared", "stack", "best"} <= {rect["allocator"] for rect in found["rects"]}
    (declared,) = rects(EPILOGUE, buffer="As", allocator="declared")
    assert (declared["offset"], declared["bytes"], declared["last"]) == (0, 2048, end["index"])
    (best,) = rects(EPILOGUE, buffer="Cs", allocator="best")
    assert (best["offset"], best["bytes"]) == (0, 4096)
    assert [points[best[edge]]["kind"] for edge in ("first", "last")] == ["write", "read"]


def test_a_rectangle_for_each_life() -> None:
    lives = rects(HOLE, buffer="a", allocator="best", barriers_added=0)
    (between,) = rects(HOLE, buffer="b", allocator="best", barriers_added=0)
    assert len(lives) == 2
    assert lives[0]["last"] < between["first"] <= between["last"] < lives[1]["first"]


def test_plans_with_added_barriers_are_told_apart() -> None:
    assert {rect["barriers_added"] for rect in rects(STAGES, allocator="best")} == {0, 1}
    assert {rect["barriers_added"] for rect in rects(STAGES, allocator="declared")} == {0}


def test_sizes_that_are_not_known_are_told_as_they_are_written() -> None:
    text = (
        "template <int N, int M> __global__ void k(float* out) {"
        " __shared__ float a[N][M + 1]; __shared__ short b[N * 2]; __shared__ int c[8];"
        " a[threadIdx.x][0] = 1; b[0] = 2; c[0] = 3; __syncthreads(); out[0] = a[3][0] + b[1] + c[0]; }"
    )
    shown = layout_text.render(check(text), [0])
    assert "N * (M + 1) * 4 + (N * 2) * 2 + 32 B shared" in shown
    assert "a       float[N][M + 1]  N * (M + 1) * 4" in shown
