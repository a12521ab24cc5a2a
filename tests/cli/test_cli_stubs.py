"""`stubs` of a config file: declarations of functions whose bodies are not in sight."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.real_engine

Command = Callable[..., tuple[int, str, str]]
KERNEL = """\
__global__ void k(const float* in, float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = helper(s, 256);
}
void h(float* p) { k<<<1, 256>>>(p, p); }
"""


def verdict(smem: Command, *flags: str) -> str:
    code, out, err = smem("check", "src/k.cu", "--format", "json", "--exit-zero", *flags)
    assert (code, err) == (0, "")
    (kernel,) = json.loads(out)["kernels"]
    return str(kernel["races"]["verdict"])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("src").mkdir()
    Path("src/k.cu").write_text(KERNEL)
    Path("smem.toml").write_text('stubs = ["lib.cuh"]\n')
    return tmp_path


def test_it_is_read_beside_the_config_file(smem: Command, project: Path) -> None:
    stub = project / "lib.cuh"
    stub.write_text("float helper(const float* p, int n);\n")
    assert verdict(smem) == "undecided"
    stub.write_text("[[smem::reads(p, n)]] float helper(const float* p, int n);\n")
    assert verdict(smem) == "race-free"  # no answer of before
    assert verdict(smem, "--isolated") == "undecided"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "\n\n[[smem::read(p, n)]] float helper(const float* p, int n);",
            'lib.cuh:3: helper has the unknown attribute "smem::read", did you mean "reads"?',
        ),
        ("int f(int n) { return n; }", "lib.cuh:1: f has a body: a file of declarations holds no code"),
        (None, "lib.cuh: cannot be read: No such file or directory"),
    ],
)
def test_a_bad_file_is_one_line(smem: Command, project: Path, text: str | None, problem: str) -> None:
    if text is not None:
        (project / "lib.cuh").write_text(text)
    code, out, err = smem("check", "src/k.cu")
    assert (code, out) == (2, "")
    assert err == f"smem-lsp: {project}/{problem}\n"
