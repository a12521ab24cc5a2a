"""The playground in Chromium, from a web server that has nothing but its files."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from editor.toolbox import EXTENSION, build_vsix, chromium, drive, node, once, playwright, run, with_node

SAMPLE = (EXTENSION / "walkthrough" / "sample.cu").read_text(encoding="utf-8")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        del format, args


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    node(), playwright(), chromium()
    build_vsix()  # the same bundled server

    def use(folder: Path) -> None:
        page = folder / "page"
        script = EXTENSION / "scripts" / "playground.mjs"
        run(node(), script, page, seconds=300, cwd=EXTENSION, env=with_node())
        types = EXTENSION / "node_modules/typescript/bin/tsc"
        run(node(), types, "--noEmit", "-p", "playground", seconds=300, cwd=EXTENSION)
        with served(page) as address:
            drive("playground.mjs", folder / "results.json", address, seconds=600)

    folder = once(tmp_path_factory, "playground", use)
    loaded: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return loaded


def test_findings_kernels_and_a_map(seen: dict[str, Any]) -> None:
    sample = seen["sample"]
    assert sample["text"] == SAMPLE
    codes = {line.rsplit("(", 1)[1].rstrip(")") for line in sample["findings"]}
    assert {"SMEM201", "SMEM301"} <= codes
    assert sample["kernels"][0].startswith("smooth: 24.0 → 16.0 KiB · 6 → ≤ 8 blocks/SM")
    assert sample["map"] > 100
    lines = [int(line.split(":")[0]) for line in sample["findings"]]
    assert [int(line) for line in sample["marked"]] == sorted(set(lines))


def test_a_finding_leads_to_its_place(seen: dict[str, Any]) -> None:
    assert "signal" in seen["selected"]


def test_a_rewrite_is_compared_and_applied(seen: dict[str, Any]) -> None:
    added, removed = seen["offered"]["added"], seen["offered"]["removed"]
    assert [line.startswith("+   __syncthreads();") for line in added] == [True]
    assert removed == []
    mended = seen["mended"]
    assert mended["text"].count("__syncthreads();") == SAMPLE.count("__syncthreads();") + 1
    assert not [line for line in mended["findings"] if "SMEM201" in line]
    assert "race-free ✓" in mended["kernels"][0]


def test_a_link_brings_text_and_target_back(seen: dict[str, Any]) -> None:
    opened = seen["opened"]
    assert (opened["text"], opened["target"]) == (seen["mended"]["text"], "sm_90")
    assert opened["kernels"][0].startswith("smooth: 24.0 → 16.0 KiB · ≤ 8 blocks/SM")
    assert seen["overflow"] == 0


def test_a_link_that_is_not_ours_shows_the_sample(seen: dict[str, Any]) -> None:
    assert seen["broken"] == SAMPLE


def test_nothing_leaves_the_browser(seen: dict[str, Any]) -> None:
    """Only files of the page are asked for, by the page and by its thread, and never with anything behind the name."""
    asked = [urlsplit(url) for url in seen["requests"] if not url.startswith(("data:", "about:", "blob:"))]
    home = urlsplit(seen["link"]).netloc
    assert {url.netloc for url in asked} == {home}
    assert {url.query for url in asked} == {""}
    assert {"/pyodide/pyodide.asm.wasm", "/engine.zip", "/worker.js"} <= {url.path for url in asked}


def test_the_browser_complains_of_nothing(seen: dict[str, Any]) -> None:
    assert seen["complaints"] == []
