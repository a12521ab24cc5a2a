"""`check` with a compiler: asked only where the settings say so, and never a program that a workspace chooses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from toolchain import nvcc, require

from .test_cli_real import MERGEABLE, Command

pytestmark = pytest.mark.real_engine

CONFIG = 'arch = ["sm_90"]\nnvcc = "{}"\n'


def compiler(folder: Path, registers: int, merged: int = 0, shared: int = 16384) -> Path:
    """An nvcc in shell that reports these registers; ``merged`` and ``shared``: those, and the bytes, of the text after
    the merge."""
    place = folder / "nvcc"
    place.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --list-gpu-code ]; then echo sm_90; exit 0; fi\n'
        f"echo >> {folder}/runs\nregisters={registers}; shared=32768\n"
        f'for word; do grep -q "reinterpret\\|= a;" "$word" 2>/dev/null && registers={merged} shared={shared}; done\n'
        "echo \"ptxas info    : Compiling entry function '_Z1kPKfPf' for 'sm_90'\"\n"
        "echo '    0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads'\n"
        'echo "ptxas info    : Used $registers registers, used 1 barriers, $shared bytes smem"\n'
    )
    place.chmod(0o755)
    return place


def checked(smem: Command, *flags: str) -> tuple[dict[str, Any], str]:
    Path("k.cu").write_text(MERGEABLE)
    _, out, err = smem("check", "k.cu", "--output-format", "json", *flags)
    return json.loads(out), err


def test_registers_and_spills_are_those_of_the_compiler(smem: Command, tmp_path: Path) -> None:
    Path("mine.toml").write_text(CONFIG.format(compiler(tmp_path, 72, merged=72)))
    found, err = checked(smem, "--config", "mine.toml")
    assert err == ""
    (row,) = found["kernels"][0]["occupancy"]
    assert (row["registers"], row["registers_from"], row["spill_bytes"]) == (72, "nvcc", 16)


def test_a_merge_that_costs_a_block_is_withdrawn(smem: Command, tmp_path: Path) -> None:
    Path("mine.toml").write_text(CONFIG.format(compiler(tmp_path, 72, merged=90)))
    found, _ = checked(smem, "--config", "mine.toml")
    fix = the_merge(found)
    assert fix["safety"] == "display"
    assert fix["title"] == "Cannot merge a, b: it costs 18 registers: 3 → 2 blocks/SM on sm_90"


def the_merge(found: dict[str, Any]) -> dict[str, Any]:
    (fix,) = (
        fix for finding in found["findings"] if finding["code"] == "SMEM301" for fix in finding["fixes"]
    )
    assert isinstance(fix, dict)
    return fix


def test_a_merge_that_no_compiler_has_seen_is_unconfirmed(smem: Command, tmp_path: Path) -> None:
    assert the_merge(checked(smem)[0])["title"].endswith("; unconfirmed")
    Path("mine.toml").write_text(CONFIG.format(compiler(tmp_path, 72, merged=72)))
    found, _ = checked(smem, "--config", "mine.toml")
    assert "unconfirmed" not in the_merge(found)["title"]


def test_a_merge_of_other_bytes_than_were_promised_is_withdrawn(smem: Command, tmp_path: Path) -> None:
    Path("mine.toml").write_text(CONFIG.format(compiler(tmp_path, 72, merged=72, shared=16400)))
    found, _ = checked(smem, "--config", "mine.toml")
    assert the_merge(found)["title"] == (
        "Cannot merge a, b: 16,384 B were promised, ptxas reports 16,400 B on sm_90"
    )


def test_a_program_that_a_config_file_chooses_is_not_run_unless_the_file_is_named(
    smem: Command, tmp_path: Path
) -> None:
    Path("smem.toml").write_text(CONFIG.format(compiler(tmp_path, 72)))
    found, err = checked(smem)
    assert "is not run; name the file with --config to allow it" in err
    assert not (tmp_path / "runs").exists()
    assert found["kernels"][0]["occupancy"][0]["registers"] is None


def test_a_compiler_that_fails_costs_a_line_and_no_finding(smem: Command, tmp_path: Path) -> None:
    place = compiler(tmp_path, 72)
    place.write_text("#!/bin/sh\necho 'k.cu(3): error: no' >&2\nexit 1\n")
    Path("mine.toml").write_text(CONFIG.format(place))
    found, err = checked(smem, "--config", "mine.toml")
    assert err.count("\n") == 1
    assert err.startswith("smem-lsp: k.cu: no registers from nvcc: ")
    assert [finding["code"] for finding in found["findings"]] == [
        each["code"] for each in checked(smem)[0]["findings"]
    ]


def test_the_real_one(smem: Command) -> None:
    require(nvcc(), "nvcc is not installed")
    Path("smem.toml").write_text(CONFIG.format("nvcc"))
    found, err = checked(smem)
    assert err == ""
    (row,) = found["kernels"][0]["occupancy"]
    assert row["registers_from"] == "nvcc"
    assert row["spill_bytes"] == 0
