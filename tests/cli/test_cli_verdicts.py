"""``check --verdicts``, the sums of ``--statistics``, and ``--fail-on undecided``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from smem_lsp.output import json_

pytestmark = pytest.mark.real_engine

Command = Callable[..., tuple[int, str, str]]

PROVED = """\
__global__ void proved(const float* in, float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
void p(float* a) { proved<<<1, 256>>>(a, a); }
"""
OPEN = """\
__global__ void open(const int* in, int* out) {
  __shared__ int s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  s[in[threadIdx.x] & 255] = in[2 * threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
void o(int* a) { open<<<1, 256>>>(a, a); }
"""
BARE = "__global__ void bare(float* out) { out[threadIdx.x] = 0.0f; }\n"

PROVED_LINE = "a.cu:1 proved: shared memory race-free (1 pair, the 256×1×1 block of line 7)"
OPEN_LINE = "b.cu:1 open: shared memory undecided (1 of 2 pairs): line 5: data decide"


@pytest.fixture
def files() -> None:
    Path("a.cu").write_text(PROVED, encoding="utf-8")
    Path("b.cu").write_text(OPEN + BARE, encoding="utf-8")


@pytest.mark.usefixtures("files")
def test_one_line_for_each_kernel_with_shared_memory(smem: Command) -> None:
    code, out, err = smem("check", "--verdicts", "--output-format", "concise", ".")
    verdicts = [line for line in out.splitlines() if "shared memory" in line]
    assert (code, verdicts, err) == (0, [PROVED_LINE, OPEN_LINE], "")


@pytest.mark.usefixtures("files")
def test_machines_get_them_beside_their_format(smem: Command) -> None:
    _, out, err = smem("check", "--verdicts", "--output-format", "json", ".")
    assert err.splitlines() == [PROVED_LINE, OPEN_LINE]
    whole = json.loads(out)
    schema = json.loads((Path(json_.__file__).parent / "schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(whole, schema, jsonschema.Draft202012Validator)
    proved, data, bare = (kernel["races"] for kernel in whole["kernels"])
    assert proved == {
        "verdict": "race-free",
        "proved_for": ["the 256×1×1 block of line 7"],
        "assumes": [],
        "pairs": 1,
        "apart": 1,
        "undecided": [],
    }
    assert (data["verdict"], data["undecided"]) == ("undecided", [{"line": 5, "reason": "data decide"}])
    assert (bare["verdict"], bare["pairs"]) == ("race-free", 0)


@pytest.mark.usefixtures("files")
def test_statistics_sum_them(smem: Command) -> None:
    _, out, _ = smem("check", "--statistics", ".")
    assert "2 kernels with shared memory: 1 race-free, 0 racy, 1 undecided\n" in out


@pytest.mark.usefixtures("files")
def test_what_is_not_proved_can_fail_a_build(smem: Command) -> None:
    assert smem("check", "--fail-on", "undecided", "--quiet", "a.cu")[0] == 0
    code, out, _ = smem("check", "--fail-on", "undecided", "--quiet", "b.cu")
    assert (code, out) == (1, "1 kernel with shared memory: 0 race-free, 0 racy, 1 undecided\n")
    assert smem("check", "b.cu")[0] == 0


@pytest.mark.usefixtures("files")
def test_a_kernel_without_shared_memory_never_fails_it(smem: Command) -> None:
    Path("c.cu").write_text(BARE, encoding="utf-8")
    assert smem("check", "--fail-on", "undecided", "c.cu")[0] == 0


@pytest.mark.usefixtures("files")
def test_several_processes_tell_the_same(smem: Command) -> None:
    found = [smem("check", "--verdicts", "--jobs", jobs, ".") for jobs in ("1", "2")]
    assert found[0] == found[1]
    assert PROVED_LINE in found[0][1] and OPEN_LINE in found[0][1]
