"""What the views of an editor ask for: kernels, targets, a race, stripes, a layout to apply, a scan."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from output.test_layout_in_terms import CARVE
from server.client import serving
from server.samples import MERGEABLE, PUSH, UNUSED, place
from server.test_light_bulb import applied

from smem_lsp import check
from smem_lsp.server.uris import path_of, uri_of

URI = "file:///k.cu"
RACY = """\
__global__ void __launch_bounds__(256) k(const float* in, float* out, int n) {
  __shared__ float s[256];
  float v = 0;
  for (int i = 0; i < n; ++i) {
    s[threadIdx.x] = in[i * 256 + threadIdx.x];
    __syncthreads();
    v += s[255 - threadIdx.x];
  }
  out[threadIdx.x] = v;
}
void run(const float* in, float* out, int n) { k<<<1, 256>>>(in, out, n); }
"""
SETTINGS = {
    "settings": {"arch": ["sm_80", "sm_90", "sm_86"], "registers": 64, "target": "sm_90", "nvcc": "off"}
}


def test_what_the_views_of_one_file_show() -> None:
    document = {"textDocument": {"uri": URI}}
    text = MERGEABLE + RACY
    with serving(PUSH, initializationOptions={**SETTINGS, "commands": ["smem.showRace"]}) as client:
        client.open(URI, text)

        # one target rules: lens, hover, menu and map speak of no other
        assert client.request("smem/targets", document) == {
            "targets": ["sm_80", "sm_90", "sm_86"],
            "ruling": ["sm_90"],
            "worst": "sm_86",
        }
        lenses = client.request("textDocument/codeLens", document)
        assert [lens["command"]["title"] for lens in lenses] == [
            "5.1 → 4.1 KiB · 4 blocks/SM, limited by registers · race-free ✓",
            "1.0 KiB · 4 blocks/SM, limited by registers",
        ]
        hover = client.hover(URI, *place(text, "sum(const")) or ""
        assert "sm_90" in hover and "sm_80" not in hover and "sm_86" not in hover
        here = client.at(URI, *place(text, "float s"))
        layout = client.request("smem/layout", here)
        assert [row["arch"] for row in layout["kernel"]["occupancy"]] == ["sm_90"]

        kernels = client.request("smem/kernels", document)
        assert [(each["name"], each["first"], each["last"]) for each in kernels] == [
            ("sum", 0, 12),
            ("k", 14, 23),
        ]
        assert kernels[0]["title"] == lenses[0]["command"]["title"]

        race = client.request("smem/race", client.at(URI, *place(text, "s[threadIdx.x] = in")))
        assert race["title"] == "k: write after read"
        assert [(step["thread"], step["line"], step["words"]) for step in race["steps"]] == [
            (2, 19, "both have passed this barrier"),
            (0, 17, "iteration i"),
            (0, 20, "reads s[0]"),
            (1, 17, "iteration i + 1"),
            (1, 18, "writes s[0]"),
        ]
        assert race["threads"] == ["thread 255", "thread 0"] and "256" in race["block"]
        assert race["steps"][2]["code"] == "v += s[255 - threadIdx.x];"
        assert client.request("smem/race", here) is None
        at = client.at(URI, *place(text, "s[threadIdx.x] = in"))
        actions = client.actions(URI, place(text, "s[threadIdx.x] = in"))
        (show,) = [each for each in actions if each["title"] == "Show the race, step by step"]
        assert show["command"]["command"] == "smem.showRace" and "data" not in show
        (argument,) = show["command"]["arguments"]
        assert client.request("smem/race", {**at, "position": argument["position"]}) == race

        stripes = client.request("smem/stripes", client.at(URI, *place(text, "tile[31")))
        assert stripes == {
            "buffer": "tile",
            "colour": "#77aadd",
            "lines": [[5, 7]],
            "barriers": [{"line": 6, "words": "orders the write at line 6 before the read at line 8"}],
        }
        assert client.request("smem/stripes", client.at(URI, *place(text, "int tid"))) is None

        found = client.request("smem/applyLayout", {**here, "barriers": 0})
        assert found["title"] == "Merge tile + red: −1,024 B"
        assert found["detail"].startswith("Merge tile, red: 5,248 → 4,224 B, no barrier added")
        assert applied(text, found["edit"]) == found["text"]
        assert check(found["text"]).kernels[0].static_bytes == 4224
        assert client.request("smem/applyLayout", {**here, "barriers": 3}) == {
            "refused": "no rewrite makes this layout"
        }


def test_ranges_in_terms_have_a_lens_a_map_and_a_rewrite() -> None:
    with serving(PUSH, initializationOptions={"settings": {"arch": ["sm_80"]}}) as client:
        client.open(URI, CARVE)
        (lens,) = client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        assert lens["command"]["title"].startswith("4·m + 8·n → 4·m + 4·n B dynamic · ")
        here = client.at(URI, 1, 20)
        assert (
            "4·n B less, no barrier added"
            in client.request("smem/layout", {**here, "format": "html"})["html"]
        )
        found = client.request("smem/applyLayout", {**here, "barriers": 0})
        assert "float* y = x;" in found["text"] and applied(CARVE, found["edit"]) == found["text"]


def test_a_scan_lists_the_files_of_the_workspace_and_checks_those_that_are_closed(tmp_path: Path) -> None:
    folder = tmp_path / "größe 1"
    (folder / "build").mkdir(parents=True)
    (folder / "smem.toml").write_text('exclude = ["build"]\n', encoding="utf-8")
    files = {
        "open.cu": MERGEABLE,
        "closed.cuh": UNUSED,
        "build/made.cu": UNUSED,
        "host.cpp": "int main() {}\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    is_open, closed = (folder / "open.cu").as_uri(), (folder / "closed.cuh").as_uri()
    with serving(PUSH, folders=(tmp_path.as_uri(),)) as client:
        client.open(is_open, MERGEABLE)
        assert client.request("smem/files", {}) == [is_open, closed]  # those that are open first
        for uri, codes in ((is_open, ["SMEM301", "SMEM101"]), (closed, ["SMEM101"])):
            found = client.request("smem/check", {"textDocument": {"uri": uri}})
            assert [each["code"] for each in found] == codes
        gone = (folder / "gone.cu").as_uri()
        assert client.request("smem/check", {"textDocument": {"uri": gone}}) == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system refuses such names")
def test_files_whose_names_are_not_utf_8(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/d\xff"))
    folder.mkdir()
    is_open, closed = folder / os.fsdecode(b"open\xfe.cu"), folder / os.fsdecode(b"closed\xff.cuh")
    is_open.write_text(MERGEABLE)
    closed.write_text(UNUSED)
    uri = is_open.as_uri()
    assert uri.endswith("/d%FF/open%FE.cu")
    with serving(PUSH, folders=(folder.as_uri(),), initializationOptions={"trusted": True}) as client:
        client.open(uri, MERGEABLE)
        assert [each["code"] for each in client.published(uri, 1)] == ["SMEM301", "SMEM101"]
        assert client.request("smem/files", {}) == [uri, closed.as_uri()]
        for each, codes in ((uri, ["SMEM301", "SMEM101"]), (closed.as_uri(), ["SMEM101"])):
            found = client.request("smem/check", {"textDocument": {"uri": each}})
            assert [one["code"] for one in found] == codes
        document, here = {"textDocument": {"uri": uri}}, client.at(uri, 2, 20)
        for method in ("textDocument/codeLens", "smem/kernels", "smem/targets"):
            assert client.request(method, document)
        for method in ("textDocument/hover", "smem/layout", "smem/stripes"):
            assert client.request(method, here)
        assert client.request("smem/race", here) is None
        found = next(each for each in client.published(uri, 1) if each["code"] == "SMEM101")
        fix = client.actions(uri, (3, 15), diagnostics=[found])[0]
        assert uri in json.dumps(client.request("codeAction/resolve", fix)["edit"])


@pytest.mark.parametrize("name", ["a b.cu", "größe.cu", "50%.cu", "\udcff\udcfe.cu", "#?.cu"])
def test_a_path_is_what_its_uri_says(name: str) -> None:
    assert path_of(uri_of(f"/d/{name}")) == f"/d/{name}"


def test_a_uri_with_half_a_character_names_a_file_that_is_not_there() -> None:
    uri = "file:///d/\ud800.cu"
    with serving(PUSH, folders=("file:///d/\ud801",)) as client:
        client.open(uri, UNUSED)
        assert [each["code"] for each in client.published(uri, 1)] == ["SMEM101"]
        assert client.request("smem/check", {"textDocument": {"uri": f"{uri}h"}}) == []
        assert client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        assert client.actions(uri, (1, 20), diagnostics=client.published(uri, 1))


def test_a_header_with_half_a_character_is_not_there(tmp_path: Path) -> None:
    uri = (tmp_path / "a.cu").as_uri()
    with serving(PUSH, rootPath="/d/\ud801") as client:
        client.open(uri, f'#include "\ud800.cuh"\n#include <\udcff/\ud800>\n{UNUSED}')
        assert [each["code"] for each in client.published(uri, 1)] == ["SMEM101"]
        assert client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
