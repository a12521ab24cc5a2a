"""Static arrays and the ranges that pointers carve out of dynamic shared memory, in one map."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

from smem_lsp.engine import check
from smem_lsp.output import json_, layout_html, layout_svg, layout_text
from smem_lsp.output.json_ import kernel_object
from smem_lsp.output.layout_words import DYNAMIC
from smem_lsp.output.memory_map import memory_map
from smem_lsp.output.staircase import staircases

RANGES = """
  extern __shared__ float smem[];
  float* x = smem;
  float* y = smem + 256;
  float* z = y + 512;
  const int tid = threadIdx.x;
  x[tid] = in[tid];
  __syncthreads();
  y[tid] = x[255 - tid];
  y[tid + 256] = x[tid];
  __syncthreads();
  z[tid] = y[2 * tid];
"""
HEAD = "__global__ void k(const float* in, float* out) {"
LAUNCH = "void f(const float* in, float* out) { k<<<2, 256, 4096>>>(in, out); }\n"
ONLY = f"{HEAD}{RANGES}  __syncthreads();\n  out[tid] = z[255 - tid];\n}}\n{LAUNCH}"
BESIDE = (
    f"{HEAD}\n  __shared__ float a[100];\n  __shared__ float b[300];\n"
    "  a[threadIdx.x % 100] = in[0];\n  __syncthreads();\n  out[0] = a[3];\n  __syncthreads();"
    f"{RANGES}  b[tid] = in[tid];\n  __syncthreads();\n  out[tid] = z[255 - tid] + b[255 - tid];\n}}\n{LAUNCH}"
)


def test_ranges_begin_behind_the_static_arrays() -> None:
    declared, best = memory_map(check(BESIDE), 0).drawings
    assert (declared.dynamic_at, declared.plan.bytes) == (1600, 1600 + 4096)
    assert (best.dynamic_at, best.plan.bytes) == (1200, 1200 + 3072)  # b over a, z over x
    names = memory_map(check(BESIDE), 0).names
    places = {names[index]: offset for index, offset in best.plan.offsets.items()}
    assert places == {"a": 0, "b": 0, "x": 1200, "y": 2224, "z": 1200}
    assert "assumes the 256×1×1 block of line 23" in best.assumes


def test_every_format_shows_where() -> None:
    report = check(BESIDE)
    text = layout_text.render(report, [0])
    assert "declared  5,696 B, dynamic from byte 1,600 on" in text
    assert "best  4,272 B, dynamic from byte 1,200 on" in text
    row = next(line for line in text.splitlines() if line.lstrip().startswith("smem "))
    assert row.split()[-2:] == ["1,600", "1,200"]
    assert layout_svg.render(report, 0).count(DYNAMIC) == 3  # both panels and the legend
    assert layout_html.render(report, [0]).count(DYNAMIC) == 3


def test_nothing_is_said_of_a_place_where_all_memory_is_dynamic() -> None:
    report = check(ONLY)
    assert [drawing.dynamic_at for drawing in memory_map(report, 0).drawings] == [0, 0]
    assert "dynamic from byte" not in layout_text.render(report, [0])
    assert DYNAMIC not in layout_svg.render(report, 0)
    assert "`x` and `y` need 3,072 B" in layout_text.render(report, [0])


def test_blocks_per_sm_count_the_dynamic_bytes_that_a_launch_would_save() -> None:
    wide = BESIDE.replace("256", "2048").replace("512", "4096").replace("[255 -", "[2047 -")
    wide = wide.replace("2048, 4096>>>", "256, 32768>>>").replace(
        "x[tid] = in[tid];", "x[tid + 1792] = in[tid];"
    )
    rows = memory_map(check(wide), 0).report.occupancy
    assert rows
    assert all(row.blocks_after > row.blocks_before for row in rows)
    stairs = staircases(check(wide).facts[0])
    assert [each.declared[1] for each in stairs] == [row.blocks_before for row in rows]
    assert [each.merged and each.merged[1] for each in stairs] == [row.blocks_after for row in rows]


def test_check_tells_the_ranges_as_data() -> None:
    report = check(BESIDE)
    found = kernel_object(report.source, report.kernels[0])["carved"]
    assert isinstance(found, dict)
    schema = json.loads((Path(json_.__file__).parent / "schema.json").read_text())
    jsonschema.validate(found, {"$ref": "#/$defs/carved", "$defs": schema["$defs"]})
    assert found["buffer"] == "smem"
    ranges = json.loads(json.dumps(found["ranges"]))
    assert [(each["name"], each["offset"], each["bytes"]) for each in ranges] == [
        ("x", 0, 1024),
        ("y", 1024, 2048),
        ("z", 3072, 1024),
    ]
    assert ranges[0]["live"] == [13, 16]
    assert [plan["bytes"] for plan in found["plans"]] == [4096, 3072]
    plain = check("__global__ void k(float* out) { __shared__ float a[4]; out[0] = a[0]; }")
    assert kernel_object(plain.source, plain.kernels[0])["carved"] is None
