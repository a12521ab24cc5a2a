"""What is shown while reading: hovers, lenses, hints, maps, pages of rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server.client import ROOT, Client, ResponseError, serving, span
from server.samples import MERGEABLE, PUSH, UNUSED, WITH_BARRIER, place

from smem_lsp.facts.occupied import Occupied
from smem_lsp.server.kernel_hover import carve_out

URI = "file:///k.cu"
BOUNDED = MERGEABLE.replace("__launch_bounds__(256)", "__launch_bounds__(256, 4)")
TEXT = (
    BOUNDED
    + UNUSED.replace("k(", "plain(").replace(
        "scratch[256]", "scratch[256]; // smem: ignore[SMEM101, never-read, SMEM201]"
    )
    + WITH_BARRIER.replace("k(", "barrier(")
    + """\
template <int N>
__global__ void sized(float* out) {
  __shared__ float part[N];
  part[threadIdx.x] = 1;
  if (threadIdx.x < out[0]) __syncthreads();
  out[threadIdx.x] = part[0];
}
__global__ void none(float* out) { out[0] = 1; }
"""
)


ONE_BUFFER = """\
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float s[6000];
  for (int i = threadIdx.x; i < 6000; i += 256) s[i] = in[i];
  __syncthreads();
  out[threadIdx.x] = s[5999 - threadIdx.x];
}
"""


RACE_FREE = " · race-free ✓"


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with serving(PUSH, initializationOptions={"settings": {"arch": ["sm_80"]}}) as client:
        client.open(URI, TEXT)
        yield client


def command_line(*arguments: str) -> dict[str, Any]:
    """What a command prints, as JSON."""
    command = [sys.executable, "-m", "smem_lsp", *arguments]
    done = subprocess.run(
        command, capture_output=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def hover(client: Client, needle: str, after: str = "") -> list[str]:
    found = client.hover(URI, *place(TEXT, needle, after=after))
    return [] if found is None else found.split("  \n")


def test_hover_on_a_buffer_has_five_lines_at_most(client: Client) -> None:
    assert hover(client, "tile[32]") == [
        "**`float tile[32][33]`** 4,224 B, aligned to 4 B",
        "Live: lines 6–8",
        "Could share bytes with `red` without an added barrier",
        "Row pitch 132 B = 33 words (column access conflict-free)",
        hover(client, "tile[32]")[4],
    ]
    assert hover(client, "tile[32]")[4].endswith(
        "free before one is lost (sm_80, 256 threads, 64 registers launch bounds)"
    )


def test_hover_on_a_use_of_a_buffer(client: Client) -> None:
    assert hover(client, "red[255")[0] == "**`float red[256]`** 1,024 B, aligned to 4 B"


def test_hover_names_the_barrier_that_sharing_needs(client: Client) -> None:
    assert "Could share bytes with `b` after 1 added barrier before line 26" in " ".join(
        hover(client, "a[7000]")
    )


def test_hover_on_a_kernel(client: Client) -> None:
    lines = hover(client, "sum(const")
    assert lines[0] == "**`sum`** 5,248 B shared → 4,224 B without an added barrier"
    assert "blocks/SM (sm_80, 256 threads, 64 registers launch bounds), limited by registers" in lines[1]
    assert lines[2] == "Counted with the 256×1×1 block of line 14"
    assert lines[3] == "4 × (5.1 + 1 KiB reserved) = 24.5 → 32 KiB carve-out, L1 keeps 160 KiB (sm_80)"
    verdict, drawn = lines[4].split("\n\n```text\n")
    assert verdict == "Shared memory race-free (2 pairs, the 256×1×1 block of line 14)"
    assert drawn.startswith("blocks/SM up to this many bytes per block (sm_80)\n4 █")
    assert "  merged, you are here\n" in drawn and drawn.endswith(" B\n```")


def test_hover_on_a_kernel_whose_launches_differ() -> None:
    text = ONE_BUFFER + "void f(float* p) {\n  k<<<1, 256, 1024>>>(p, p);\n  k<<<1, 256, 20000>>>(p, p);\n}\n"
    with serving(PUSH, initializationOptions={"settings": {"arch": ["sm_86"], "registers": 32}}) as client:
        client.open(URI, text)
        lines = (client.hover(URI, *place(text, "k(const")) or "").split("  \n")
        assert lines[1:4] == [
            "2 blocks/SM (sm_86, 256 threads, 32 registers setting, 20,000 B dynamic), limited by shared",
            "Line 8: 24,000 B static + 1,024 B dynamic: 3 blocks/SM (sm_86)",
            "Line 9: 24,000 B static + 20,000 B dynamic: 2 blocks/SM (sm_86)",
        ]


def test_hover_on_a_kernel_where_it_is_launched(client: Client) -> None:
    assert hover(client, "sum<<<")[0].startswith("**`sum`** 5,248 B shared")


def test_hover_on_a_kernel_without_shared_memory(client: Client) -> None:
    assert hover(client, "none(") == ["**`none`** uses no shared memory of its own"]


def test_hover_on_a_kernel_whose_bytes_are_not_known(client: Client) -> None:
    assert hover(client, "sized(") == [
        "**`sized`** shared memory: bytes not known: the size of `part` of `[N]` is not known",
        "Shared memory undecided (1 of 2 pairs): line 35: a race in some blocks (33×1×1)",
    ]


def test_hover_on_a_device_function_says_what_its_callers_have_to_order() -> None:
    text = """\
__device__ void store(float* s, float v) {
  __syncthreads();
  s[threadIdx.x] = v;
}
__global__ void k(float* out) {
  __shared__ float tile[256];
  store(tile, out[threadIdx.x]);
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}
"""
    with serving(PUSH) as client:
        client.open(URI, text)
        wanted = [
            "**`store`** has a barrier of the block: all threads must call it",
            "Before the first barrier it touches no shared memory",
            "Behind the last barrier it writes s\\[…\\]: that needs an order with what is done behind the call",
        ]
        for line, column in ((0, 17), (6, 4)):
            assert (client.hover(URI, line, column) or "").split("  \n") == wanted
        library = URI.replace(".cu", "_library.cuh")
        client.open(library, text[: text.index("__global__")])  # where nothing calls it
        assert (client.hover(library, 0, 17) or "").split("  \n") == wanted


def test_hover_on_barriers(client: Client) -> None:
    assert "is proved to be run by every thread" in hover(client, "__syncthreads")[0]
    assert (
        "is not proved to be run by every thread"
        in hover(client, "__syncthreads", after="part[threadIdx.x]")[0]
    )


def test_hover_on_a_rule_in_a_comment(client: Client) -> None:
    assert hover(client, "SMEM101") == [
        "**SMEM101** `unused-buffer` (warning)",
        "A shared buffer is declared and never accessed.",
    ]
    assert hover(client, "never-read")[0].startswith("**SMEM102** `never-read`")
    assert hover(client, "SMEM201")[0].startswith("**SMEM201** `missing-barrier`")
    assert hover(client, "ignore[") == []


@pytest.mark.parametrize("needle", ["threadIdx", "int tid", "float s", "const float*"])
def test_hover_on_anything_else_is_nothing(client: Client, needle: str) -> None:
    assert hover(client, needle) == []


def test_a_name_in_a_comment_or_behind_a_dot_is_no_buffer() -> None:
    text = UNUSED.replace("out[threadIdx.x]", "/* scratch */ p.scratch[0]")
    with serving(PUSH) as client:
        client.open(URI, text)
        assert client.hover(URI, *place(text, "scratch */")) is None
        assert client.hover(URI, *place(text, "scratch[0]")) is None


def test_hover_in_plain_text() -> None:
    with serving({}) as client:
        client.open(URI, UNUSED)
        assert client.hover(URI, 1, 20) == "float scratch[256] 1,024 B, aligned to 4 B\nNever accessed"


def test_lenses(client: Client) -> None:
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
    titles = [lens["command"]["title"] for lens in lenses]
    assert titles == [
        "5.1 → 4.1 KiB · 4 blocks/SM, limited by registers · race-free ✓",
        "0 B shared",
        "54.7 KiB shared",
        "shared memory: bytes not known",
    ]
    command = lenses[0]["command"]
    assert command["command"] == "smem.openMap"
    line, column = place(TEXT, "sum(const")
    assert command["arguments"] == [{"uri": URI, "position": {"line": line, "character": column}}]
    assert lenses[0]["range"]["start"] == {"line": 0, "character": 0}
    # over the line where the declaration begins, not where its name stands
    assert lenses[3]["range"]["start"] == {"line": place(TEXT, "template <int N>")[0], "character": 0}


def test_a_lens_that_gains_blocks() -> None:
    text = MERGEABLE.replace("tile[32][33]", "tile[64][65]").replace("red[256]", "red[4096]", 1)
    with serving(PUSH, initializationOptions={"settings": {"arch": ["sm_80"], "registers": 32}}) as client:
        client.open(URI, text)
        (lens,) = client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        assert lens["command"]["title"] == (
            "32.2 → 16.2 KiB · 4 → 8 blocks/SM (256 threads, 32 registers) · race-free ✓"
        )


def test_a_lens_says_what_the_next_block_would_take() -> None:
    with serving(PUSH, initializationOptions={"settings": {"arch": ["sm_86"], "registers": 32}}) as client:
        client.open(URI, ONE_BUFFER)
        (lens,) = client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        assert (
            lens["command"]["title"]
            == "23.4 KiB · 4 blocks/SM, limited by shared: −4,544 B → 5 · race-free ✓"
        )
        (finding,) = client.published(URI, 1)
        assert "4,544 B less give 5, 576 B more cost none" in finding["message"]


INSTANCES = """\
template <int N>
__global__ void
k(const float* in, float* out) {
  __shared__ float a[N];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = a[N - 1 - threadIdx.x];
}
void run(float* p) {
  k<256><<<1, 256>>>(p, p);
  k<512><<<1, 512>>>(p, p);
}
__global__ void small(const float* in, float* out) {
  __shared__ float a[16], b[16];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float s = a[15 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = s;
  __syncthreads();
  out[threadIdx.x] = b[15 - threadIdx.x];
}
void go(float* p) { small<<<1, 16>>>(p, p); }
"""


def test_a_kernel_has_one_lens_however_many_instances_and_names_no_small_change() -> None:
    settings = {"settings": {"arch": ["sm_80", "sm_90"], "registers": 32, "nvcc": "off"}}
    with serving(PUSH, initializationOptions=settings) as client:
        client.open(URI, INSTANCES)
        lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        assert [(lens["range"]["start"]["line"], lens["command"]["title"]) for lens in lenses] == [
            # of the larger one; several targets are in force, so it is named
            (0, "2.0 KiB · 4 blocks/SM (sm_80), limited by warps and registers · race-free ✓"),
            (0, "2 instances ▾"),
            (12, "128 B · 32 blocks/SM (sm_80), limited by blocks · race-free ✓"),  # 64 B less give none
        ]
        (choice,) = lenses[1]["command"]["arguments"]
        assert [each["name"] for each in choice["instances"]] == ["k<256>", "k<512>"]
        here = client.at(URI, 2, 0)
        for name, size in (("k<256>", 1024), ("k<512>", 2048)):
            found = client.request("smem/layout", {**here, "instance": name})
            assert (found["kernel"]["instance"], found["kernel"]["static_bytes"]["value"]) == (name, size)


def test_hints_are_the_bytes_behind_declarations(client: Client) -> None:
    hints = client.request(
        "textDocument/inlayHint", {"textDocument": {"uri": URI}, "range": span((0, 0), (4, 0))}
    )
    assert [(hint["position"]["line"], hint["label"]) for hint in hints] == [
        (1, "4,224 B"),
        (2, "1,024 B"),
        (3, "32 B"),
    ]
    line, column = place(TEXT, "tile[32][33]")
    assert hints[0]["position"] == {"line": line, "character": column + len("tile[32][33]")}


def test_the_map_is_the_one_of_the_command_line(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(TEXT)
    printed = command_line("layout", f"{file}:sum", "--format", "json", "--arch", "sm_80")
    sent = client.request("smem/layout", client.at(URI, *place(TEXT, "float s")))
    sent["kernel"]["path"] = printed["kernel"]["path"]
    for launch in (*sent["kernel"]["launches"], *printed["kernel"]["launches"]):
        launch["path"] = ""
    assert sent == printed


def test_the_map_as_text_is_the_one_of_the_command_line(client: Client, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TEXT, encoding="utf-8")
    command = [sys.executable, "-m", "smem_lsp", "layout", "k.cu:sum", "--arch", "sm_80"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}
    printed = subprocess.run(
        command, capture_output=True, check=True, cwd=tmp_path, env=environment, encoding="utf-8"
    ).stdout
    here = client.at(URI, *place(TEXT, "float s"))
    assert client.request("smem/layout", {**here, "format": "text"}) == {
        "text": printed.replace("k.cu", "/k.cu")
    }


@pytest.mark.parametrize("format", ["svg", "html"])
def test_the_drawn_map_is_the_one_of_the_command_line(client: Client, tmp_path: Path, format: str) -> None:
    (tmp_path / "k.cu").write_text(TEXT, encoding="utf-8")
    command = [sys.executable, "-m", "smem_lsp", "layout", "k.cu:sum", "--arch", "sm_80", "--format", format]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(
        command, capture_output=True, check=True, cwd=tmp_path, env=environment, encoding="utf-8"
    ).stdout
    here = client.at(URI, *place(TEXT, "float s"))
    sent = client.request("smem/layout", {**here, "format": format})
    assert sent == {format: printed.replace("k.cu", "/k.cu")}


def test_a_map_is_as_wide_as_it_is_asked_for(client: Client) -> None:
    def width(columns: int) -> int:
        here = client.at(URI, *place(TEXT, "float s"))
        text: str = client.request("smem/layout", {**here, "format": "text", "width": columns})["text"]
        picture = text[text.index("declared") : text.index("buffer  ")]
        return max(map(len, picture.splitlines()))

    assert width(48) <= 48 < width(64) <= 64
    assert 0 < width(-5) <= 40 and width(10**9) <= 400


def test_a_map_names_the_file_from_its_folder_on(tmp_path: Path) -> None:
    inside = (tmp_path / "src" / "größe 1.cu").as_uri()
    with serving(PUSH, folders=(tmp_path.as_uri(),)) as client:
        for uri, name in ((inside, f"src{os.sep}größe 1.cu"), ("untitled:Untitled-1", "Untitled-1")):
            client.open(uri, MERGEABLE)
            found = client.request("smem/layout", {**client.at(uri, 0, 0), "format": "text"})
            assert found["text"].startswith(f"sum  {name}:1\n")


@pytest.mark.parametrize("format", ["pdf", 5, None])
def test_a_map_in_another_format_is_refused(client: Client, format: object) -> None:
    with pytest.raises(ResponseError) as caught:
        client.request("smem/layout", {**client.at(URI, 0, 0), "format": format})
    assert caught.value.code == -32602


def test_no_map_outside_of_functions(client: Client) -> None:
    outside = client.at(URI, TEXT.count("\n"), 0)  # behind the last one
    assert client.request("smem/layout", outside) is None
    assert client.request("smem/layout", {**outside, "format": "text"}) is None
    assert client.request("smem/layout", client.at("file:///other.cu", 0, 0)) is None


def test_the_page_of_a_rule_is_the_one_of_the_command_line(client: Client) -> None:
    printed = command_line("explain", "SMEM301", "--format", "json")
    assert client.request("smem/explain", {"code": "mergeable-buffers"}) == printed


def test_carve_out_in_the_words_of_the_manual() -> None:
    row = Occupied("sm_80", 256, 40, "nvcc", 0)
    assert (
        carve_out(row, 17 * 1024, 6)
        == "6 × (17 + 1 KiB reserved) = 108 → 132 KiB carve-out, L1 keeps 60 KiB (sm_80)"
    )


def test_the_hover_on_dynamic_shared_memory_names_its_ranges() -> None:
    text = """\
__global__ void k(const float* in, float* out) {
  extern __shared__ float smem[];
  float* y = smem + 256;
  int tid = threadIdx.x;
  smem[tid] = in[tid];
  __syncthreads();
  float v = smem[255 - tid];
  __syncthreads();
  y[tid] = v;
  __syncthreads();
  out[tid] = y[255 - tid];
}
void go(const float* in, float* out) { k<<<2, 256, 2048>>>(in, out); }
"""
    with serving(PUSH) as client:
        client.open("file:///k.cu", text)
        hover = client.hover("file:///k.cu", *place(text, "smem"))
    assert hover is not None
    assert (
        "Ranges: `smem` 0–1,024, `y` 1,024–2,048; 1,024 B would do; assumes the 256×1×1 block of line 13"
        in hover
    )


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (
            "n",
            "Ranges: `x` from `0`, `y` from `4·n`; `x` and `y` can share bytes after 1 added barrier: 8·n → 4·n B",
        ),
        ("m", "Ranges: `x` from `0`, `y` from `4·n`; assumes that what goes through `x` stays below `y`"),
    ],
)
def test_the_hover_on_dynamic_shared_memory_says_what_ranges_in_terms_can_save(bound: str, said: str) -> None:
    pytest.importorskip("z3")
    text = f"""\
__global__ void k(const float* in, float* out, int n, int m) {{
  extern __shared__ float smem[];
  float* x = smem;
  float* y = x + n;
  for (int i = threadIdx.x; i < {bound}; i += blockDim.x) x[i] = in[i];
  __syncthreads();
  float v = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) v += x[n - 1 - i];
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = v;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = y[n - 1 - i];
}}
"""
    with serving(PUSH) as client:
        client.open("file:///k.cu", text)
        hover = client.hover("file:///k.cu", *place(text, "smem"))
    assert hover is not None and said in hover


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "out[threadIdx.x] = smem[in[threadIdx.x]];",
            "Ranges: `smem` from `0`; line 4: how far the read through `smem` reaches is not known: nothing bounds a "
            "loaded value",
        ),
        ("keep(smem);", "Ranges not known: line 4: the address of smem escapes (argument of keep)"),
    ],
)
def test_the_hover_on_dynamic_shared_memory_says_what_is_not_known(statement: str, said: str) -> None:
    text = f"""\
__global__ void k(const int* in, float* out) {{
  extern __shared__ float smem[];
  smem[threadIdx.x] = 0;
  {statement}
}}
"""
    with serving(PUSH) as client:
        client.open("file:///k.cu", text)
        hover = client.hover("file:///k.cu", *place(text, "smem"))
    assert hover is not None
    assert said in hover


def test_the_hover_on_a_buffer_says_what_is_no_barrier() -> None:
    text = """\
__global__ void k(const float* in, float* out, int n) {
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  if (tid < n) {
    a[tid] = in[tid];
    float v = a[255 - tid];
    __syncwarp();
    b[tid] = v;
    out[tid] = b[255 - tid];
  }
}
"""
    with serving(PUSH) as client:
        client.open("file:///k.cu", text)
        hover = client.hover("file:///k.cu", *place(text, "b[256]"))
    assert hover is not None
    assert (
        "Cannot share: no proved barrier between `a`, written at line 6, and `b`, written at line 9; "
        "__syncwarp at line 8 orders the lanes of a warp only" in hover
    )


def test_hover_tells_the_alignment_that_copies_need() -> None:
    text = (
        "#include <cuda/barrier>\n"
        "__global__ void k(const __grid_constant__ CUtensorMap map, float* out) {\n"
        "  __shared__ float tile[64];\n"
        "  __shared__ cuda::barrier<cuda::thread_scope_block> bar;\n"
        "  cuda::device::experimental::cp_async_bulk_tensor_1d_global_to_shared(tile, &map, 0, bar);\n"
        "  out[threadIdx.x] = tile[threadIdx.x];\n"
        "}\n"
    )
    with serving({}) as client:
        client.open(URI, text)
        found = client.hover(URI, *place(text, "tile[64]"))
        assert found is not None
        assert found.startswith("float tile[64] 256 B, aligned to 4 B (its accesses need 128 B)\n")


@pytest.mark.parametrize(
    ("launch", "title", "counted"),
    [
        (
            "void h(float* p) { k<<<1, 256>>>(p); }",
            "8.0 KiB · ≤ 8 blocks/SM (256 threads, registers not known) · limited by warps",
            "Counted with the 256×1×1 block of line 7",
        ),
        (
            "",
            "8.0 KiB · ≤ 18 blocks/SM by shared memory alone, block not known",
            "≤ 18 blocks/SM by shared memory alone (sm_80): the block is not known",
        ),
        (
            "void h(float* p) { k<<<1, 256>>>(p); k<<<1, 512>>>(p); }",
            "8.0 KiB · ≤ 8 blocks/SM with 256 threads or more",
            "≤ 8 blocks/SM with 256 threads or more (sm_80): launches differ in their blocks",
        ),
        (
            "void h(float* p, int n) { k<<<1, 256>>>(p); k<<<1, n>>>(p); }",
            "8.0 KiB · ≤ 18 blocks/SM by shared memory alone",
            "≤ 18 blocks/SM by shared memory alone (sm_80): launches differ in their blocks",
        ),
        (
            "void h(float* p, int n) { k<<<1, dim3(n, 16, 16)>>>(p); }",
            "8.0 KiB · ≤ 8 blocks/SM with 256 threads or more, block not known",
            "≤ 8 blocks/SM with 256 threads or more (sm_80): the block is not known",
        ),
    ],
)
def test_a_bound_of_the_blocks_is_named_whenever_one_is_possible(
    launch: str, title: str, counted: str
) -> None:
    text = f"""\
__global__ void k(float* p) {{
  __shared__ float s[2048];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[2047 - threadIdx.x];
}}
{launch}
"""
    with serving(PUSH, initializationOptions={"settings": {"arch": ["sm_80"]}}) as client:
        client.open(URI, text)
        (lens,) = client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        shown = lens["command"]["title"]
        assert (
            shown.endswith(RACE_FREE) and title.startswith(shown.removesuffix(RACE_FREE)) and len(shown) <= 90
        )
        assert counted in client.hover(URI, 0, 16)


@pytest.mark.parametrize(
    ("own", "launch", "title", "line"),
    [
        (
            "",
            "k<<<1, 512, 4 * n>>>(p);",
            "dynamic shared memory, size unknown · ≤ 4 blocks/SM with 512 threads, dynamic bytes not known",
            "≤ 4 blocks/SM with 512 threads (sm_80): the dynamic bytes are not known",
        ),
        (
            "__shared__ float s[2048]; s[threadIdx.x] = p[0]; __syncthreads(); p[0] = s[7 - threadIdx.x];",
            "k<<<1, n, 4 * n>>>(p);",
            "8.0 KiB + 4·blockDim.x B dynamic · ≤ 18 blocks/SM by static bytes alone, block and dynamic",
            "≤ 18 blocks/SM by static bytes alone (sm_80): the block and dynamic bytes are not known",
        ),
        (
            "__shared__ Tile s; s.put(p[0]); __syncthreads(); p[0] = s.get();",
            "k<<<1, 512, 4 * n>>>(p);",
            "shared memory: bytes not known · ≤ 4 blocks/SM with 512 threads, dynamic bytes not known",
            "≤ 4 blocks/SM with 512 threads (sm_80): the dynamic bytes are not known",
        ),
        (
            "",
            "",
            "dynamic shared memory, size unknown",
            "Blocks/SM unknown: no launch in sight gives the number of threads",
        ),
    ],
)
def test_what_is_known_bounds_the_blocks_where_bytes_are_not(
    own: str, launch: str, title: str, line: str
) -> None:
    text = f"""\
__global__ void k(float* p) {{
  extern __shared__ float d[];
  {own}
  d[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = d[7 - threadIdx.x];
}}
void h(float* p, int n) {{ {launch} }}
"""
    with serving(PUSH, initializationOptions={"settings": {"arch": ["sm_80"]}}) as client:
        client.open(URI, text)
        (lens,) = client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        shown = lens["command"]["title"]
        assert title.startswith(shown.removesuffix(RACE_FREE)) and len(shown) <= 90
        assert "blocks/SM" in shown or not launch
        assert line in client.hover(URI, 0, 16)
