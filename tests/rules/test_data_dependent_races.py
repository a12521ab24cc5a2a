"""SMEM210: what only loaded values decide, and that it speaks only where it is asked to."""

from __future__ import annotations

import pytest
from carets import codes, expect

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict
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


IN_A_WARP = """\
__global__ void k(const float* in, float* out) {{
  __shared__ float best[256];
  int t = threadIdx.x;
  best[t] = in[t];
  __syncthreads();
  if (t < {threads}) {{
    {step}
  }}
  __syncthreads();
  out[t] = best[0];
}}
void go(const float* in, float* out) {{ k<<<1, 256>>>(in, out); }}
"""


@pytest.mark.parametrize(
    ("threads", "step", "found"),
    [
        # one warp is left: its lanes read what others of them replace by what is better
        (32, "if (best[t] < best[t + 16]) best[t] = best[t + 16];", ["SMEM205"]),
        (16, "if (best[t] < best[t + 16]) best[t] = best[t + 16];", []),
        (32, "float v = best[t + 16]; __syncwarp(); if (best[t] < v) best[t] = v;", []),
        # a key decides what is read: it may be anyone's own
        (32, "if (best[t] < 0) best[t] = best[(int)in[t] & 31];", []),
    ],
)
def test_lanes_of_the_last_warp(threads: int, step: str, found: list[str]) -> None:
    report = check(IN_A_WARP.format(threads=threads, step=step))
    above = [each for each in report.findings if each.severity in (Severity.ERROR, Severity.WARNING)]
    assert [each.code for each in above] == found


BEHIND_A_BARRIER = """\
__global__ void k(const int* in, int* out) {{
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  {body}
  out[t] = s[t];
}}
void go(const int* in, int* out) {{ k<<<1, {threads}>>>(in, out); }}
"""


@pytest.mark.parametrize("threads", [32, 128])
@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("if (t == 0) { if (in[0] > 5) s[127 - t] = s[1] = 3; }", True),
        # only thread 0 waits, until all others have returned
        ("if (t == 0) { __syncthreads(); if (in[0] > 5) s[127 - t] = s[1] = 3; }", False),
        # the others wait until it has returned
        ("if (t == 0) { if (in[0] > 5) s[127 - t] = s[1] = 3; } else { __syncthreads(); }", False),
        ("if (t) { __syncthreads(); } else { if (in[0] > 5) s[127 - t] = s[1] = 3; }", False),
        # those who come to the one come to the other
        (
            "if (t < 9) { __syncthreads(); if (t == 0 && in[0] > 5) s[1] = 3; if (t == 1) out[1] = s[1]; }",
            True,
        ),
    ],
)
def test_a_barrier_that_one_of_the_two_does_not_come_to(threads: int, body: str, found: bool) -> None:
    report = check(BEHIND_A_BARRIER.format(body=body, threads=threads))
    told = {each.code for each in report.findings} & {"SMEM201", "SMEM205"}
    assert bool(told) is found, report.findings


CARVED = """\
__global__ void k(const float* in, const int* labels, int* out, int rows, int columns, int bins) {{
  extern __shared__ char bytes[];
  float* range = (float*)bytes;
  int* counts = (int*)(bytes + {columns} * columns * sizeof(float));
  for (int i = threadIdx.x; i < 2 * columns; i += blockDim.x) range[i] = in[i];
  for (int i = threadIdx.x; i < bins * columns; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < rows * columns; i += blockDim.x * gridDim.x) {{
    int column = (int)(i / rows);
    if (range[column + columns] - range[column] > 1) atomicAdd(&counts[{label} + column * bins], 1);
  }}
  __syncthreads();
  for (int i = threadIdx.x; i < bins * columns; i += blockDim.x) out[i] = counts[i];
}}
void go(float* in, int* labels, int* out, int rows, int columns, int bins) {{
  k<<<4, 256, (2 + bins) * columns * 4>>>(in, labels, out, rows, columns, bins);
}}
"""


@pytest.mark.parametrize("label", ["3", "labels[i]"])
@pytest.mark.parametrize(("columns", "told"), [(2, False), (1, True)])
def test_no_size_and_no_index_is_taken_to_be_below_zero(label: str, columns: int, told: bool) -> None:
    found = codes(check(CARVED.format(label=label, columns=columns), config=ASKED), among=["SMEM210"])
    assert bool(found) is told


MARKED = """\
__global__ void k(const int* in, int* out) {{
  __shared__ int s[65];
  s[threadIdx.x + {}] = 1;
  out[threadIdx.x] = s[threadIdx.x];
}}
void h(int* p) {{ k<<<1, 64>>>(p, p); }}
"""


@pytest.mark.parametrize(
    ("index", "told"),
    [
        ("(in[threadIdx.x] == -1)", True),  # what is compared is no index
        ("(in[threadIdx.x] < 0 ? 1 : 0)", True),
        ("(in[threadIdx.x] < 0 ? in[threadIdx.x] : 0)", False),
    ],
)
def test_what_is_compared_may_be_below_zero(index: str, told: bool) -> None:
    assert bool(codes(check(MARKED.format(index), config=ASKED), among=["SMEM210"])) is told


OFFSETS = """\
__global__ void k(const int* in, int* out, int n, int m) {{
  extern __shared__ int s[];
  const int t = threadIdx.x, x = t % 8, y = t / 8;
  {body}
}}
void h(int* p, int n, int m) {{ k<<<4, 64>>>(p, p, n, m); }}
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("s[(t + n) % 64] = in[t]; out[t] = s[t];", ": when n is no multiple of 64, for n = "),
        (
            "s[(t + n) % 64] = in[t]; out[t] = s[(t + m) % 64];",
            ": for m = 2371 and n = 3085, say, with the 64",
        ),
    ],
)
def test_parameters_that_may_be_so(body: str, words: str) -> None:
    """Values are named that no condition is solved for, or for which the numbers in between are safe."""
    text = OFFSETS.format(body=body)
    assert not codes(check(text), among=["SMEM201", "SMEM202", "SMEM205"])
    (finding,) = check(text, config=ASKED).findings
    assert words in finding.message and finding.severity is Severity.INFO


@pytest.mark.parametrize(
    "body",
    [
        "s[y * n + x] = in[t]; out[t] = s[y * n + x];",  # a pitch below the width of a row
        "s[n + t] = in[t]; out[t] = s[m + t];",  # two arrays in one place
        "s[n + t] = in[t]; if (n < 200) out[t] = s[t];",
        "s[n + t] = in[t]; if (n < m) out[t] = s[t];",
    ],
)
def test_nobody_passes_parameters_that_put_two_things_in_one_place(body: str) -> None:
    text = OFFSETS.format(body=body)
    assert not codes(check(text, config=Config(select=("SMEM2",))))


def test_data_of_no_special_kind_in_a_block_that_nobody_names() -> None:
    """What is a warning where the block is known."""
    kernel = """\
__global__ void k(const int* in, int* out) {
  __shared__ int s[256];
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (t < 32) {
    if (s[t + 32] < s[t]) s[t] = s[t + 32];
    if (s[t + 16] < s[31 - t]) out[t] = 1;
  }
}
"""
    launch = "void h(int* p) { k<<<1, 256>>>(p, p); }\n"
    asked, rules = Config(select=("SMEM2",)), ("SMEM205", "SMEM210")
    assert codes(check(kernel + launch, config=asked), among=rules) == ["SMEM205"]
    assert codes(check(kernel, config=asked), among=rules) == ["SMEM210"]
    ordered = kernel.replace("    if (s[t + 16]", "    __syncwarp();\n    if (s[t + 16]")
    assert not codes(check(ordered, config=asked), among=rules)


def test_a_loaded_limit_counts_behind_a_barrier_that_asks_for_it_too() -> None:
    """The whole block returns for a small count: that is meant for all. How many of them there are is data still."""
    text = """\
__global__ void k(const int* counts, const float3* at, const float* far, float* out, int n, int most) {
  extern __shared__ float all[];
  int count = counts[blockIdx.x];
  if (count < 2) return;
  float3* places = reinterpret_cast<float3*>(&all[n]);
  float* ways = &all[n + 3 * most];
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    places[i] = at[i];
    ways[i] = far[i];
  }
  __syncthreads();
  out[threadIdx.x] = places[0].x + ways[0];
}
void host(const int* c, const float3* at, const float* far, float* out, int n, int most) {
  k<<<64, 128, (n + 4 * most) * sizeof(float)>>>(c, at, far, out, n, most);
}
"""
    assert codes(check(text), among=["SMEM201", "SMEM202", "SMEM203", "SMEM205"]) == []
    (told,) = [each for each in check(text, config=ASKED).findings if each.code == "SMEM210"]
    assert "loaded values decide" in told.message


COMPARED = """\
__global__ void k(const int* kinds, const int* to, int* out, int mode) {
  __shared__ int s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  int kind = kinds[threadIdx.x];
  GUARD
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
"""


@pytest.mark.parametrize(
    ("guard", "found"),
    [
        ("if (kind == FINE) s[to[threadIdx.x] & 255] = threadIdx.x;", ["SMEM210"]),
        ("if (kind >= 0 || kind != STRONG_FINE) s[to[threadIdx.x] & 255] = kind;", ["SMEM210"]),
        ("if (!(FINE == kind)) s[0] = threadIdx.x;", ["SMEM210"]),
        # by its name it may be another one in each thread
        ("if (kind == LANE_ID) s[to[threadIdx.x] & 255] = threadIdx.x;", []),
        ("if (kind == TX) s[0] = threadIdx.x;", []),
        ("if (COLUMN == kind) s[0] = threadIdx.x;", []),
        ("if (PLACE == 0) s[0] = threadIdx.x;", []),
        ("if (PLACE < mode) s[0] = threadIdx.x;", []),
        # it is compared with nothing
        ("if (FINE) s[to[threadIdx.x] & 255] = threadIdx.x;", []),
        ("s[FINE] = threadIdx.x;", []),
        ("if (FINE(kind)) s[to[threadIdx.x] & 255] = threadIdx.x;", []),
        # all store the constant
        ("if (kind == FINE) s[to[threadIdx.x] & 255] = kind;", []),
        # no data make the two meet
        ("if (kind == FINE) s[threadIdx.x ^ 1] = kind;", []),
    ],
)
def test_a_constant_out_of_sight_is_one_number(guard: str, found: list[str]) -> None:
    assert codes(check(COMPARED.replace("GUARD", guard), config=ASKED)) == found


def test_a_proof_says_that_it_takes_a_name_for_a_constant() -> None:
    text = COMPARED.replace("GUARD", "if (mode == FINE) { __syncthreads(); s[threadIdx.x ^ 1] = kind; }")
    (facts,) = check(text).facts
    verdict = kernel_verdict(facts)
    assert verdict.kind is VerdictKind.RACE_FREE
    assert "FINE is a constant" in verdict.assumes


WALKS = """\
__global__ void k(const int* heads, const int* next, const int* lengths, int* out, int n) {
  __shared__ int s[256];
  s[threadIdx.x] = 0;
  __syncthreads();
  int at = heads[threadIdx.x];
  WALK
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
"""


@pytest.mark.parametrize(
    ("walk", "found"),
    [
        ("while (at >= 0) { s[at] = threadIdx.x; at = next[at]; }", ["SMEM210"]),
        (
            "at = threadIdx.x; for (int i = 0; i < n; i++) { s[at & 255] = i; at += lengths[i * 256 + threadIdx.x]; }",
            ["SMEM210"],
        ),
        (
            "at = threadIdx.x; for (int i = 0; i < n; i++) { s[at] = heads[i + at]; if (at > 3) at = next[at]; }",
            ["SMEM210"],
        ),
        # each thread stays at its own element
        (
            "at = threadIdx.x; for (int i = 0; i < n; i++) { s[at] = i; if (next[i + at] > 3) at = at ^ 256 ^ 256; }",
            [],
        ),
        # whatever is loaded, it decides between two numbers
        (
            "at = threadIdx.x; for (int i = 0; i < n; i++) { s[at] = threadIdx.x; at = next[at] > 3 ? at : 255 - at; }",
            [],
        ),
    ],
)
def test_what_a_loop_carries_from_load_to_load_is_data(walk: str, found: list[str]) -> None:
    assert codes(check(WALKS.replace("WALK", walk), config=ASKED)) == found
