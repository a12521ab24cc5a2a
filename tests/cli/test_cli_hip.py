"""HIP files on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .test_cli_real import MERGEABLE, Command

pytestmark = pytest.mark.real_engine


def test_a_folder_is_searched_for_them(smem: Command) -> None:
    Path("src").mkdir()
    Path("src/k.hip").write_text(MERGEABLE)
    code, out, _ = smem("check", "src", "--output-format", "json", "--exit-zero", "--ignore", "SMEM104")
    assert code == 0
    found = json.loads(out)
    assert [each["path"] for each in found["files"]] == [str(Path("src/k.hip"))]
    assert {each["code"] for each in found["findings"]} == {"SMEM301"}
    (kernel,) = found["kernels"]
    assert kernel["static_bytes"] == {"value": 32768, "exact": False}
    assert kernel["occupancy"] == []


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("fit", "k.hip:k", "--vary", "N=1..2"), "HIP code: what fits is known for NVIDIA devices only"),
        (("verify", "k.hip"), "HIP code; verify asks nvcc, which does not compile it"),
    ],
)
def test_what_only_nvidia_devices_decide_is_refused(
    smem: Command, command: tuple[str, ...], problem: str
) -> None:
    Path("k.hip").write_text(MERGEABLE)
    code, out, err = smem(*command)
    assert (code, out) == (2, "")
    assert err == f"smem-lsp: k.hip: {problem}\n"


def test_no_compiler_is_asked(smem: Command) -> None:
    Path("k.hip").write_text(MERGEABLE)
    Path("mine.toml").write_text('nvcc = "/no/such/nvcc"\n')
    _, _, err = smem("check", "k.hip", "--config", "mine.toml")
    assert "nvcc" not in err


def test_the_map_says_nothing_of_ptxas(smem: Command) -> None:
    Path("k.hip").write_text(MERGEABLE)
    code, out, _ = smem("layout", "k.hip")
    assert code == 0
    assert "32,768 → 16,384 B" in out
    assert "ptxas" not in out
    assert "blocks/SM" not in out
