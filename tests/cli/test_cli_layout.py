"""``smem-lsp layout --format svg|html``"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from smem_lsp.cli import main

pytestmark = pytest.mark.real_engine

TWO = """\
template <int N> __global__ void first(const float* in, float* out) {
  __shared__ float a[N];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = a[N - 1 - threadIdx.x];
}
template __global__ void first<64>(const float*, float*);
template __global__ void first<128>(const float*, float*);
__global__ void second(const float* in, float* out) {
  __shared__ float größe[32];
  größe[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = größe[31 - threadIdx.x];
}
__global__ void none(float* out) { out[0] = 1; }
"""


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.cu").write_text(TWO, encoding="utf-8")


def layout(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["layout", *arguments, "--isolated"])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_picture_of_one_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = layout(capsys, "k.cu:second", "--format", "svg")
    assert (code, err) == (0, "")
    root = ElementTree.fromstring(out)
    assert root.tag.endswith("svg")
    assert "größe" in "".join(root.itertext())


def test_a_picture_shows_the_first_instance_of_a_template(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = layout(capsys, "k.cu:first", "--format", "svg")
    assert code == 0
    assert "first&lt;64&gt;" in out and "256 B" in out and "512 B" not in out


def test_a_picture_has_room_for_one_kernel_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert layout(capsys, "k.cu", "--format", "svg") == (
        2,
        "",
        "smem-lsp: k.cu: name one of its kernels: k.cu:first, k.cu:second\n",
    )


def test_a_page_holds_every_kernel_with_shared_memory(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = layout(capsys, "k.cu", "--format", "html")
    assert (code, err) == (0, "")
    assert [out.count(f'id="k{number}"') for number in range(4)] == [1, 1, 1, 0]
    assert "first&lt;64&gt;" in out and "first&lt;128&gt;" in out and ">none<" not in out


def test_a_page_for_a_kernel_without_any(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = layout(capsys, "k.cu:none", "--format", "html")
    assert code == 0
    assert "no shared memory of its own" in out
