"""What counts as told of a bug that somebody mended."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.race_fixes import bug, sums
from benchmarks.runner.declared import Figure

ROOT = Path(__file__).parents[2]

MENDED = """__global__ void __launch_bounds__(256) k(float* out) {
  __shared__ float tile[256];
  tile[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[255 - threadIdx.x];
}
void run(float* out) { k<<<1, 256>>>(out); }
"""


def folder(root: Path, kind: str, before: str, after: str, **about: object) -> Path:
    for name, text in (("before", before), ("after", after)):
        (root / name).mkdir(parents=True)
        (root / name / "k.cu").write_text(text)
    (root / "about.json").write_text(json.dumps({"kind": kind, "path": "k.cu", **about}))
    return root


def test_a_race_is_told_before_the_fix_and_not_behind_it(tmp_path: Path) -> None:
    racy = MENDED.replace("  __syncthreads();\n", "")
    found = bug(folder(tmp_path / "one", "race", racy, MENDED, racing_lines_before=[3, 4]), ROOT)
    assert (bool(found.before), found.above, found.after, found.failed) == (True, True, (), "")
    assert Figure("races told at warning or above", 1, better="higher", whole=1) in list(sums([found]))


def test_a_race_that_is_not_mended_is_still_told(tmp_path: Path) -> None:
    racy = MENDED.replace("  __syncthreads();\n", "")
    found = bug(
        folder(tmp_path / "one", "race", racy, "// no change\n" + racy, racing_lines_before=[3, 4]), ROOT
    )
    assert found.after


def test_another_race_that_the_fix_has_left_is_not_the_bug(tmp_path: Path) -> None:
    racy = MENDED.replace("  __syncthreads();\n", "")
    after = "// no change\n" + racy
    lines = {"racing_lines_before": [3, 4]}
    found = bug(folder(tmp_path / "one", "race", racy, after, **lines, left=[[4, 5]]), ROOT)
    assert found.before and not found.after
    assert bug(folder(tmp_path / "two", "race", racy, after, **lines, left=[[3, 5]]), ROOT).after


def test_a_useless_barrier_is_told(tmp_path: Path) -> None:
    twice = MENDED.replace("__syncthreads();", "__syncthreads();\n  __syncthreads();")
    found = bug(folder(tmp_path / "one", "removed", twice, MENDED, line=5), ROOT)
    assert [each.code for each in found.before] == ["SMEM204"]
