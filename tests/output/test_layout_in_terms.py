"""Maps of ranges of dynamic shared memory whose bytes are known in terms of the launch only."""

from __future__ import annotations

import re

import pytest

from smem_lsp.engine import check
from smem_lsp.output import layout_html, layout_json, layout_svg, layout_text
from smem_lsp.output.memory_map import memory_map

CARVE = """\
__global__ void carve(const float* in, float* out, int n, int m) {
  extern __shared__ char raw[];
  float* x = reinterpret_cast<float*>(raw);
  float* y = x + n;
  float* z = reinterpret_cast<float*>(raw + 2 * n * sizeof(float));
  const int t = threadIdx.x;
  for (int i = t; i < n; i += blockDim.x) x[i] = in[i];
  __syncthreads();
  float s = 0;
  for (int i = t; i < n; i += blockDim.x) s += x[n - 1 - i];
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) y[i] = s * in[i];
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) s += y[n - 1 - i];
  __syncthreads();
  for (int i = t; i < m; i += blockDim.x) z[i] = s;
  __syncthreads();
  for (int i = t; i < m; i += blockDim.x) out[i] = z[m - 1 - i];
}
void go(const float* in, float* out, int n, int m) {
  carve<<<64, 256, 2 * n * sizeof(float) + m * sizeof(float)>>>(in, out, n, m);
}
"""
WHOLE, MERGED = "4·m + 8·n", "4·m + 4·n"
OPEN = """\
__global__ void k(const float* in, float* out, int n) {
  extern __shared__ float sh[];
  float* b = sh + n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) { sh[i] = in[i]; b[i] = in[n + i]; }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = sh[n - 1 - i] + b[n - 1 - i];
}
"""


def test_bytes_are_terms_and_ranges_have_lives() -> None:
    drawn = memory_map(check(CARVE), 0, in_terms=True)
    declared, best = drawn.drawings
    places = [(r.offset, r.end) for r in declared.rectangles]
    assert [tuple(map(drawn.bytes_text, place)) for place in places] == [
        ("0", "4·n"),
        ("4·n", "8·n"),
        ("8·n", WHOLE),
    ]
    assert [(r.first_line, r.last_line) for r in declared.rectangles] == [(7, 10), (12, 14), (16, 18)]
    assert [drawn.bytes_text(r.offset) for r in best.rectangles] == ["0", "0", "4·n"]
    assert drawn.saved_text(best) == "4·n"


def test_every_format_prints_terms_and_no_number_of_the_drawing() -> None:
    report = check(CARVE)
    drawn = memory_map(report, 0, in_terms=True)
    assert drawn.terms is not None
    samples = [drawn.bytes_text(value) for value in drawn.terms.samples.values()]
    texts = (layout_text.render(report, [0]), layout_svg.render(report, 0), layout_html.render(report, [0]))
    for text in texts:
        assert f"{WHOLE} → {MERGED} B shared, 4·n B saved without another barrier" in text
        shown = re.sub(r"To scale for [^<]*", "", text)
        drawn_bytes = {edge for d in drawn.drawings for r in d.rectangles for edge in (r.size, r.end)}
        assert not any(f"{byte:,}" in shown or f'"{byte}"' in shown for byte in drawn_bytes)
    assert all(f"= {sample}" in texts[0] for sample in samples)
    rows = {line.split()[0]: line.split()[-2:] for line in texts[0].splitlines() if " (dynamic) " in line}
    assert rows == {"raw": ["0", "0"], "x": ["0", "0"], "y": ["4·n", "0"], "z": ["8·n", "4·n"]}
    assert "keeps its bytes" not in texts[0]


def test_an_end_that_nothing_says_is_open() -> None:
    text = layout_text.render(check(OPEN), [0])
    assert "k  <memory>:1\n  4·n + … B shared\n" in text
    assert "Assumes that what goes through `sh` stays below `b`." in text
    assert re.search(r"sh \+ 0 +float\[\] \(dynamic\) +4·n ", text)  # not the array, which has its name
    assert re.search(r"b +float\[\] \(dynamic\) +… ", text)


def test_a_launch_says_the_end() -> None:
    passed = "void f(float* p, int n) { k<<<1, 64, 2 * n * sizeof(float)>>>(p, p, n); }\n"
    other = "void f(float* p, int n) { k<<<1, 64, 2 * n * sizeof(float)>>>(p, p, 3 * n); }\n"
    assert "  8·n B shared\n" in layout_text.render(check(OPEN + passed), [0])
    assert "  4·n + … B shared\n" in layout_text.render(check(OPEN + other), [0])  # of another number


@pytest.mark.parametrize(("compared", "size"), [("i < m", "4·m"), ("i <= m - 1", "4·m"), ("i != m", "")])
def test_conditions_say_the_end_where_no_launch_does(compared: str, size: str) -> None:
    text = CARVE.partition("void go")[0].replace("i < m", compared)
    drawn = layout_text.render(check(text), [0])
    merged = f"{size} + 8·n → {size} + 4·n B shared" if size else "8·n + … → 4·n + … B shared"
    assert merged in drawn


def test_static_arrays_stand_in_front() -> None:
    text = CARVE.replace(
        "  const int t", "  __shared__ float own[64];\n  own[threadIdx.x % 64] = 1;\n  const int t"
    )
    text = text.replace("float s = 0;", "float s = own[threadIdx.x % 64];")
    drawn = layout_text.render(check(text), [0])
    assert "4·m + 8·n + 256 → 4·m + 4·n + 256 B shared, 4·n B saved" in drawn
    assert "dynamic from byte 256 on" in drawn


def test_the_json_has_numbers_only() -> None:
    found = layout_json.layout_object(check(CARVE), 0)
    assert found["rects"] == []
    assert found["kernel"]["carved_terms"]["plans"][0]["bytes_after"] == MERGED  # type: ignore[index]


@pytest.mark.parametrize("names", [("n", "n"), ("a", "b"), ("b", "a")])
def test_no_two_bytes_coincide(names: tuple[str, str]) -> None:
    first, second = names
    text = CARVE.replace("x + n", f"x + {first}").replace("int m)", "int m, int a, int b)")
    text = text.replace("raw + 2 * n * sizeof(float)", f"raw + ({first} + {second}) * sizeof(float)")
    drawn = memory_map(check(text), 0, in_terms=True)
    ends = {r.end for d in drawn.drawings for r in d.rectangles}
    assert ends and len({drawn.bytes_text(end) for end in ends}) == len(ends)
