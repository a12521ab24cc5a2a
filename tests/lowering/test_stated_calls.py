"""Functions out of sight of which a file of ``stubs`` states what they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.environment import DiskReader
from smem_lsp.source.reader import FileReader

KERNEL = """\
DECLARED
__global__ void k(const float* in, float* out, int m) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  out[t] = helper(s, 256);
  AFTER
  s[t] = out[255 - t];
}
void h(float* p) { k<<<1, 256>>>(p, p, 1); }
"""
BARRIER = "__syncthreads();"


def verdict(tmp_path: Path, stub: str, after: str = BARRIER, declared: str = "", call: str = "") -> str:
    (tmp_path / "lib.cuh").write_text(stub, encoding="utf-8")
    text = KERNEL.replace("DECLARED", declared).replace("AFTER", after)
    text = text.replace("helper(s, 256)", call or "helper(s, 256)")
    reader: FileReader = DiskReader()
    config = Config(stubs=(str(tmp_path / "lib.cuh"),) if stub else ())
    (kernel,) = check(text, path=str(tmp_path / "k.cu"), config=config, reader=reader).kernels
    return kernel.verdict.words.split()[0].rstrip(":,")


READS = "[[smem::reads(p, n)]] float helper(const float* p, int n);"


def test_what_is_stated_decides(tmp_path: Path) -> None:
    assert verdict(tmp_path, "") == "undecided"
    assert verdict(tmp_path, "float helper(const float* p, int n);") == "undecided"
    assert verdict(tmp_path, READS) == "race-free"


@pytest.mark.parametrize(
    ("stub", "with_barrier", "without"),
    [
        (READS, "race-free", "undecided"),
        ("[[smem::reads(p, some)]] float helper(const float* p, int n);", "race-free", "undecided"),
        ("[[smem::reads(p, 256)]] float helper(const float* p, int n);", "race-free", "undecided"),
        ("[[smem::writes(p, n)]] float helper(float* p, int n);", "undecided", "undecided"),
        ("[[smem::updates(p, n)]] float helper(float* p, int n);", "undecided", "undecided"),
        ("[[smem::pure]] float helper(const float* p, int n);", "race-free", "race-free"),
        ("[[smem::impure]] float helper(const float* p, int n);", "race-free", "race-free"),
        # where it stands is not said: what is read may be read behind it
        (
            "[[smem::reads(p, n), smem::barrier(block)]] float helper(float* p, int n);",
            "race-free",
            "undecided",
        ),
        ("template <class T> [[smem::reads(p, n)]] T helper(const T* p, int n);", "race-free", "undecided"),
    ],
)
def test_each_attribute_means_what_it_says(
    tmp_path: Path, stub: str, with_barrier: str, without: str
) -> None:
    assert verdict(tmp_path, stub) == with_barrier
    assert verdict(tmp_path, stub, "") == without


def test_one_element_is_its_thread_s_own(tmp_path: Path) -> None:
    stub = "[[smem::updates(p)]] float helper(float* p);"
    assert verdict(tmp_path, stub, "", call="helper(s + t)") == "race-free"
    assert verdict(tmp_path, stub, "", call="helper(&s[t ^ 1])") == "racy"


def test_a_barrier_orders_what_stands_around_it(tmp_path: Path) -> None:
    call = "s[t ^ 1]; helper(); s[t] = 1.0f; helper()"
    waits = "[[smem::barrier(block)]] void helper();"
    assert verdict(tmp_path, waits, call=call) == "race-free"
    assert verdict(tmp_path, waits.replace("block", "warp"), call=call.replace("^ 1", "^ 32")) == "racy"
    assert verdict(tmp_path, "[[smem::impure]] void helper();", call=call) == "racy"


def test_it_is_a_function_of_a_namespace(tmp_path: Path) -> None:
    stub = f"namespace lib {{ namespace device {{ {READS} }} }}"
    assert verdict(tmp_path, stub) == "undecided"  # another function
    assert verdict(tmp_path, stub, call="lib::device::helper(s, 256)") == "race-free"


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("float helper(const float* q, int);", "race-free"),  # the same function
        ("float helper(const float* q, long n);", "undecided"),  # another one, of which nothing is stated
        # a body says more
        (
            "__device__ float helper(const float* p, int n) { ((float*)p)[0] = threadIdx.x; return 0; }",
            "racy",
        ),
    ],
)
def test_what_the_file_declares(tmp_path: Path, declared: str, words: str) -> None:
    assert verdict(tmp_path, READS, declared=declared) == words


def test_a_local_variable_is_changed(tmp_path: Path) -> None:
    stub = "[[smem::writes(p)]] void next(int* p);\n[[smem::pure]] float helper(int n);"
    call = "0; int v = t; next(&v); s[v & 255] = helper(v)"
    assert verdict(tmp_path, stub, call=call) == "undecided"
    assert verdict(tmp_path, stub, call=call.replace("next(&v)", "helper(v)")) == "race-free"


def test_nothing_is_taken_out_of_a_call(tmp_path: Path) -> None:
    """A function that waits does more than that, perhaps: no fix removes its call."""
    (tmp_path / "lib.cuh").write_text("[[smem::barrier(block)]] void helper();", encoding="utf-8")
    text = (
        KERNEL.replace("DECLARED", "").replace("AFTER", BARRIER).replace("helper(s, 256)", "in[t]; helper()")
    )
    config = Config(stubs=(str(tmp_path / "lib.cuh"),), select=("SMEM204",))
    found = check(text, path=str(tmp_path / "k.cu"), config=config, reader=DiskReader()).findings
    assert all(text[each.span.start : each.span.end].startswith("__syncthreads") for each in found)
