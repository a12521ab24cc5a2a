"""``smem-lsp verify``"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toolchain import nvcc, require

from .test_cli_nvcc import compiler
from .test_cli_real import MERGEABLE, Command

pytestmark = pytest.mark.real_engine

KERNELS = Path(__file__).parents[1] / "kernels"


def shell_compiler(
    folder: Path, *, bytes_after: int, registers_after: int = 40, spill_after: int = 0
) -> Path:
    """An nvcc in shell that reports 32,768 B and 40 registers, and these numbers once `b` is a reference."""
    place = folder / "nvcc"
    place.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --list-gpu-code ]; then echo sm_90; exit 0; fi\n'
        "registers=40 shared=32768 spill=0\n"
        'for word; do grep -q "reinterpret\\|= a;" "$word" 2>/dev/null && '
        f"registers={registers_after} shared={bytes_after} spill={spill_after}; done\n"
        "echo \"ptxas info    : Compiling entry function '_Z1kPKfPf' for 'sm_90'\"\n"
        'echo "    0 bytes stack frame, $spill bytes spill stores, 0 bytes spill loads"\n'
        'echo "ptxas info    : Used $registers registers, used 1 barriers, $shared bytes smem"\n'
    )
    place.chmod(0o755)
    return place


def verified(smem: Command, place: Path, *flags: str) -> tuple[int, str]:
    Path("k.cu").write_text(MERGEABLE)
    Path("mine.toml").write_text(f'arch = ["sm_90"]\nnvcc = "{place}"\n')
    code, out, _ = smem("verify", "k.cu", "--config", "mine.toml", *flags)
    return code, out


def test_a_promise_that_is_kept(smem: Command, tmp_path: Path) -> None:
    code, out = verified(smem, shell_compiler(tmp_path, bytes_after=16384))
    assert code == 0
    assert "32,768 → 16,384" in out
    assert "1 rewrite, every promise kept" in out


def test_bytes_that_are_not_those_promised(smem: Command, tmp_path: Path) -> None:
    code, out = verified(smem, shell_compiler(tmp_path, bytes_after=20000))
    assert code == 1
    assert "broken: 16,384 B were promised, ptxas reports 20,000 B" in out


@pytest.mark.parametrize("worse", [{"registers_after": 90}, {"spill_after": 8}])
def test_what_costs_blocks_or_spills_is_not_offered(
    smem: Command, tmp_path: Path, worse: dict[str, int]
) -> None:
    code, out = verified(smem, shell_compiler(tmp_path, bytes_after=16384, **worse))
    assert code == 0
    assert "Cannot merge a, b: it " in out
    assert "no rewrite is offered" in out


def test_json_names_every_target(smem: Command, tmp_path: Path) -> None:
    _, out = verified(smem, shell_compiler(tmp_path, bytes_after=16384), "--format", "json")
    (rewrite,) = json.loads(out)["rewrites"]
    assert (rewrite["code"], rewrite["promised_bytes"], rewrite["kept"]) == ("SMEM301", 16384, True)
    (target,) = rewrite["targets"]
    assert (target["arch"], target["before"]["bytes"], target["after"]["bytes"]) == ("sm_90", 32768, 16384)


def test_without_a_compiler_there_is_nothing_to_verify_with(smem: Command, tmp_path: Path) -> None:
    Path("k.cu").write_text(MERGEABLE)
    Path("mine.toml").write_text(f'nvcc = "{tmp_path}/nowhere"\n')
    code, out, err = smem("verify", "k.cu", "--config", "mine.toml")
    assert (code, out) == (2, "")
    assert "no nvcc to verify with" in err


def test_a_text_that_does_not_compile(smem: Command, tmp_path: Path) -> None:
    place = compiler(tmp_path, 72)
    place.write_text("#!/bin/sh\necho 'k.cu(3): error: no' >&2\nexit 1\n")
    code, _ = verified(smem, place)
    assert code == 2


@pytest.mark.slow(seconds=15)
@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize(
    "name", ["46_pareto.cu", "27_template.cu", "02_needs_one_barrier.cu", "24_cub_tempstorage.cu"]
)
def test_with_nvcc(smem: Command, name: str) -> None:
    require(nvcc(), "nvcc")
    code, out, err = smem("verify", str(KERNELS / name), "--arch", "sm_80,sm_90")
    assert (code, err) == (0, "")
    assert "every promise kept" in out
    assert "sm_80" in out and "sm_90" in out


def test_a_kernel_that_only_the_rewrite_makes_compile(smem: Command) -> None:
    require(nvcc(), "nvcc")
    code, out, err = smem("verify", str(KERNELS / "30_over_static_limit.cu"), "--arch", "sm_90")
    assert code == 0
    assert "uses too much shared data" in err
    assert "- → 28,672" in out
