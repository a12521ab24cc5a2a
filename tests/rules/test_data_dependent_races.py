"""SMEM210: what only loaded values decide, and that it speaks only where it is asked to."""

from __future__ import annotations

import pytest
from carets import codes, expect

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.rules.model import Severity

ASKED = Config(select=("SMEM210",))

SCATTER = """\
__global__ void k(const int* in, int* out) {
  __shared__ int s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  s[in[threadIdx.x] & 255] = in[2 * threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
"""


@pytest.mark.parametrize(
    ("config", "found"),
    [
        (Config(), []),
        (Config(ignore=("SMEM301",)), []),
        (Config(select=("SMEM201",)), []),
        (Config(select=("data-dependent-race",)), ["SMEM210"]),
        (Config(select=("SMEM2",)), ["SMEM210"]),
        (Config(severity={"SMEM210": "info"}), ["SMEM210"]),
        (Config(severity={"SMEM210": "info"}, ignore=("SMEM210",)), []),
    ],
)
def test_it_speaks_only_where_it_is_named(config: Config, found: list[str]) -> None:
    assert codes(check(SCATTER, config=config), among=["SMEM210"]) == found


def test_a_scatter_may_write_one_element_twice() -> None:
    report = expect(
        """
__global__ void k(const int* in, int* out) {
  __shared__ int s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  s[in[threadIdx.x] & 255] = in[2 * threadIdx.x];
//^^^^^^^^^^^^^^^^^^^^^^^^ SMEM210 two threads may write the same element of `s` (line 5)
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
void h(int* p) { k<<<1, 256>>>(p, p); }
""",
        config=ASKED,
    )
    (finding,) = report.findings
    assert finding.message.endswith(
        ": loaded values decide which elements they touch, with the 256×1×1 block of line 9"
    )
    assert (finding.severity, finding.verdict) == (Severity.INFO, "likely")


def test_several_readers_of_one_scatter_are_one_finding() -> None:
    report = check(
        SCATTER.replace(
            "  __syncthreads();\n  out[", "  out[255 - threadIdx.x] = s[255 - threadIdx.x];\n  out["
        ),
        config=ASKED,
    )
    (finding,) = report.findings
    assert {report.source.line_number(note.span.start) for note in finding.related} <= {5, 6, 7}


def test_what_another_rule_tells_is_not_told_again() -> None:
    text = """\
__global__ void k(const int* in, int* out) {
  __shared__ int s[256];
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[255 - threadIdx.x];
}
void h(int* p) { k<<<1, 256>>>(p, p); }
"""
    assert codes(check(text, config=Config(select=("SMEM2",)))) == ["SMEM201"]


def test_atomics_do_not_race_with_each_other() -> None:
    expect(
        """
__global__ void k(const int* in, int* out) {
  __shared__ int s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&s[in[threadIdx.x] & 255], 1);
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
""",
        config=ASKED,
    )


def test_a_guard_that_data_decide_is_told_as_one() -> None:
    text = """\
__global__ void k(const int* in, int* out) {
  __shared__ int s[2];
  if (in[threadIdx.x] > 3) s[0] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[0];
}
"""
    (finding,) = check(text, config=ASKED).findings
    assert ": loaded values decide whether they come there" in finding.message
