"""Headers on the command line: read through the files that include them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .test_cli_real import Command

pytestmark = pytest.mark.real_engine

HEADER = """\
#pragma once
__global__ void k(float* out) {
  __shared__ float s[TILE];
  s[threadIdx.x] = out[threadIdx.x];
  out[threadIdx.x] = s[TILE - 1 - threadIdx.x];
}
"""


def main(size: int | None = 64) -> str:
    macro = "" if size is None else f"#define TILE {size}\n"
    return f'{macro}#include "k.cuh"\nvoid go(float* p) {{ k<<<1, TILE>>>(p); }}\n'


@pytest.fixture(autouse=True)
def project() -> None:
    Path("setup.py").touch()
    Path("inc").mkdir()
    Path("src").mkdir()
    Path("inc/k.cuh").write_text(HEADER)
    Path("src/one.cu").write_text(main())


def checked(smem: Command, *arguments: str) -> dict[str, Any]:
    _, out, _ = smem("check", "--output-format", "json", "--exit-zero", *arguments)
    found: dict[str, Any] = json.loads(out)
    return found


def test_a_file_reports_the_headers_that_it_includes(smem: Command) -> None:
    found = checked(smem, "src/one.cu")
    (kernel,) = found["kernels"]
    assert (kernel["path"], kernel["contexts"]) == ("inc/k.cuh", ["src/one.cu"])
    assert kernel["static_bytes"]["value"] == 256
    assert kernel["launches"][0]["path"] == "src/one.cu"
    (race,) = (each for each in found["findings"] if each["code"] == "SMEM201")
    assert (race["path"], race["severity"]) == ("inc/k.cuh", "error")
    assert race["message"].endswith("with the 64×1×1 block of one.cu:3")


def test_a_folder_reports_each_header_once(smem: Command) -> None:
    Path("src/two.cu").write_text(main(128))
    found = checked(smem, ".")
    assert [each["path"] for each in found["files"]].count("inc/k.cuh") == 1
    seen = {tuple(each["contexts"]): each["static_bytes"]["value"] for each in found["kernels"]}
    assert seen == {("src/one.cu",): 256, ("src/two.cu",): 512}


def test_only_the_named_files_lend_their_context(smem: Command) -> None:
    Path("src/two.cu").write_text(main(128))
    (kernel,) = checked(smem, "src/two.cu")["kernels"]
    assert kernel["contexts"] == ["src/two.cu"]


def test_the_compile_command_of_the_including_file_counts(smem: Command) -> None:
    Path("src/one.cu").write_text(main(None))
    command = "nvcc -DTILE=32 -c src/one.cu"
    entry = {"directory": str(Path.cwd()), "file": "src/one.cu", "command": command}
    Path("compile_commands.json").write_text(json.dumps([entry]))
    (kernel,) = checked(smem, "inc/k.cuh")["kernels"]
    assert kernel["static_bytes"]["value"] == 128
    (kernel,) = checked(smem, "--isolated", "inc/k.cuh")["kernels"]
    assert kernel["static_bytes"]["value"] is None


def test_an_excluded_header_is_not_reported(smem: Command) -> None:
    Path("smem.toml").write_text('exclude = ["inc"]\n')
    assert checked(smem, "src/one.cu")["kernels"] == []


def test_a_header_that_is_not_named_is_not_rewritten(smem: Command) -> None:
    smem("check", "--fix", "--unsafe-fixes", "--select", "SMEM201", "src/one.cu")
    assert Path("inc/k.cuh").read_text() == HEADER


def test_a_header_that_links_lead_to_is_one_file(smem: Command) -> None:
    Path("src/own.cuh").symlink_to("../inc/k.cuh")
    Path("src/two.cu").write_text(main(128).replace("k.cuh", "own.cuh"))
    expected = {(("src/one.cu",), 256), (("src/two.cu",), 512)}
    for paths in (["."], ["src/own.cuh"], ["src/one.cu", "src/two.cu"]):
        found = checked(smem, *paths)
        assert len({each["path"] for each in found["kernels"]}) == 1
        seen = {(tuple(each["contexts"]), each["static_bytes"]["value"]) for each in found["kernels"]}
        assert seen == expected


UNREAD = """\
#pragma once
__global__ void k(float* out) {
  __shared__ float s[TILE];
  __shared__ float unused[TILE];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
"""


def test_what_holds_for_the_named_files_names_them(smem: Command) -> None:
    """Another file includes the header as well: what is said of all of its contexts was checked in one."""
    Path("inc/k.cuh").write_text(UNREAD)
    alone = [each["message"] for each in checked(smem, "src/one.cu")["findings"]]
    assert alone == [
        "`unused` is declared and never accessed",
        "no shared or global access needs this barrier, for the launches in this project",
    ]
    Path("src/two.cu").write_text(main(128))
    found = checked(smem, "src/one.cu")["findings"]
    assert [each["message"] for each in found] == [
        "`unused` is declared and never accessed (through src/one.cu)",
        "no shared or global access needs this barrier, for the launches in sight (through src/one.cu)",
    ]
    (fix,) = found[0]["fixes"]
    assert (fix["safety"], fix["title"]) == (
        "unsafe",
        "Remove the declaration of `unused` (checked through src/one.cu)",
    )
    both = [each["message"] for each in checked(smem, "src/one.cu", "src/two.cu")["findings"]]
    assert both == alone
