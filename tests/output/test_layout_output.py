"""The memory map, as text and as JSON."""

from __future__ import annotations

from dataclasses import replace

from sample_report import gemm_kernel_report, gemm_report, with_plans

from smem_lsp.allocation.plan import Plan
from smem_lsp.engine.report import KernelReport
from smem_lsp.output import layout_json, layout_text
from smem_lsp.output.style import PLAIN, Style

NO_BARRIER = Plan("best", 8192, {0: 0, 1: 2048, 2: 4096}, 8192, True, (0, 1, 2))
ONE_BARRIER = Plan("best", 4096, {0: 0, 1: 2048, 2: 0}, 4096, True, (2,), (8,), 1)


def draw(kernel: KernelReport, style: Style = PLAIN, width: int = 100) -> str:
    return layout_text.render(gemm_report(), [kernel], style, width)


def test_the_whole_map() -> None:
    assert (
        draw(gemm_kernel_report())
        == """\
gemm  kernels/gemm.cu:2
  8,192 → 4,096 B shared, 4,096 B saved without another barrier
  7 → 8 blocks/SM (sm_90, 256 threads, 34 registers nvcc), limited by threads

  declared  8,192 B
  8,192 ┤································▒▒▒▒▒▒▒▒▒▒▒▒
        ┤································▒▒▒▒▒▒▒▒▒▒▒▒
        ┤································▒▒▒▒ Cs ▒▒▒▒
        ┤································▒▒▒▒▒▒▒▒▒▒▒▒
        ┤································▒▒▒▒▒▒▒▒▒▒▒▒
        ┤································▒▒▒▒▒▒▒▒▒▒▒▒
  4,096 ┤▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓················
        ┤▓▓▓▓▓▓▓▓▓▓▓▓ Bs ▓▓▓▓▓▓▓▓▓▓▓▓················
        ┤▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓················
  2,048 ┤████████████████████████████················
        ┤████████████ As ████████████················
        ┤████████████████████████████················
      0 └────────────────────────────────────────────
   line  5                               13      15
                     ▲       ▲               ▲         barriers

  best  4,096 B
  4,096 ┤▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓····▒▒▒▒▒▒▒▒▒▒▒▒
        ┤▓▓▓▓▓▓▓▓▓▓▓▓ Bs ▓▓▓▓▓▓▓▓▓▓▓▓····▒▒▒▒▒▒▒▒▒▒▒▒
        ┤▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓····▒▒▒▒▒▒▒▒▒▒▒▒
  2,048 ┤████████████████████████████····▒▒▒▒▒▒▒▒▒▒▒▒
        ┤████████████ As ████████████····▒▒▒▒ Cs ▒▒▒▒
        ┤████████████████████████████····▒▒▒▒▒▒▒▒▒▒▒▒
      0 └────────────────────────────────────────────
   line  5                               13      15
                     ▲       ▲               ▲         barriers

  buffer  type           bytes  align  live lines  declared at  best at
  As      float[32][16]  2,048      4        5–11            0        0
  Bs      float[16][32]  2,048      4        5–11        2,048    2,048
  Cs      float[32][32]  4,096      4       13–15        4,096        0

  `Cs` needs 4,096 B at line 13.
"""
    )


def test_the_curve_says_what_a_barrier_buys() -> None:
    declared, stack, _ = gemm_kernel_report().plans
    kernel = replace(
        with_plans(gemm_kernel_report(), declared, stack, NO_BARRIER, ONE_BARRIER), point_lines={8: 13}
    )
    text = draw(kernel)
    assert "already the smallest layout without another barrier" in text
    assert "  +1 before line 13  " in text
    assert "`As`, `Bs` and `Cs` need 8,192 B side by side: no proved barrier separates them." in text
    assert "`Cs` needs 4,096 B at line 13 even with 1 more barrier." in text
    assert "\n  best  " not in text


def test_ascii_where_the_terminal_has_no_more() -> None:
    assert draw(gemm_kernel_report(), Style(unicode=False)).isascii()


def test_narrow_terminal() -> None:
    assert max(map(len, draw(gemm_kernel_report(), width=60).splitlines()[4:30])) <= 60


def test_unknown_sizes_draw_nothing_and_say_why() -> None:
    kernel = gemm_kernel_report()
    buffers = (replace(kernel.kernel.buffers[0], bytes=None), *kernel.kernel.buffers[1:])
    inner = replace(
        kernel.kernel,
        buffers=buffers,
        unknown=("line 7: call of `load`",),
        unknown_accesses=1,
        unknown_barriers=2,
    )
    text = draw(replace(kernel, kernel=inner, plans=(), static_bytes=None, exact=False))
    assert "bytes not known" in text
    assert "Size not known: `As`." in text
    assert "Not resolved: 1 access and 2 barriers." in text
    assert "line 7: call of `load`" in text
    assert "┤" not in text


def test_kernel_without_shared_memory() -> None:
    kernel = gemm_kernel_report()
    empty = replace(kernel.kernel, buffers=())
    text = draw(replace(kernel, kernel=empty, plans=(), live={}))
    assert "no shared memory of its own" in text
    assert "buffer  type" not in text


def test_a_long_kernel_is_compressed_to_the_width() -> None:
    kernel = gemm_kernel_report()
    text = draw(replace(kernel, live={0: (1, 4000), 1: (2000, 2000), 2: (3999, 4000)}), width=80)
    assert max(map(len, text.splitlines())) <= 80


def test_points_and_rectangles() -> None:
    found = layout_json.layout_object(gemm_report().source, gemm_kernel_report())
    assert list(found) == ["version", "kernel", "points", "rects"]
    points, rects = found["points"], found["rects"]
    assert isinstance(points, list) and isinstance(rects, list)
    assert [p["index"] for p in points] == list(range(11))
    assert points[0] == {"index": 0, "line": 5, "kind": "loop"}
    assert points[7] == {"index": 7, "line": 11, "kind": "loop_end"}
    assert {r["allocator"] for r in rects} == {"declared", "stack", "best"}
    assert rects[-1] == {
        "buffer": "Cs",
        "allocator": "best",
        "first": 8,
        "last": 10,
        "offset": 0,
        "bytes": 4096,
    }
    assert rects[0] == {
        "buffer": "As",
        "allocator": "declared",
        "first": 0,
        "last": 7,
        "offset": 0,
        "bytes": 2048,
    }


def test_plans_with_added_barriers_have_no_rectangles() -> None:
    found = layout_json.layout_object(gemm_report().source, with_plans(gemm_kernel_report(), ONE_BARRIER))
    assert found["rects"] == []
