"""Kernels of one text in one file: each has its own findings, fixes, verdict and layout, where it stands."""

from __future__ import annotations

import random
import re

import pytest
from carets import expect

from smem_lsp.config import Config
from smem_lsp.engine import FileReport, apply, check
from smem_lsp.engine.cache import ANALYSES
from smem_lsp.output import verdicts
from smem_lsp.output.layout_json import layout_object
from smem_lsp.server.code_lens import kernels_of, lens_title
from smem_lsp.source.queries import Store

RACY = """\
__global__ void racy(float* out, const float* in) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[255 - threadIdx.x];
}
"""
WASTES = """\
__global__ void wastes(float* out, const float* in) {
  __shared__ float one[256];
  __shared__ float other[256];
  __shared__ int unused[4];
  one[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float x = one[255 - threadIdx.x];
  __syncthreads();
  other[threadIdx.x] = x;
  __syncthreads();
  out[threadIdx.x] = other[255 - threadIdx.x];
}
"""
CALLS = """\
__global__ void calls(float* out, const float* in) {
  __shared__ float s[256];
  fill(s, in);
  out[threadIdx.x] = s[255 - threadIdx.x];
}
"""
FILL = "__device__ void fill(float* s, const float* in) {\n  s[threadIdx.x] = in[threadIdx.x];\n}\n"
SWAP = """\
__device__ float swapped(float* s, const float* in) {
  s[threadIdx.x] = in[threadIdx.x];
  return s[255 - threadIdx.x];
}
"""
SWAPS = """\
__global__ void swaps(float* out, const float* in) {
  __shared__ float s[256];
  out[threadIdx.x] = swapped(s, in);
}
"""
LAUNCH = "void go{}(float* a, float* b) {{\n  racy<<<1, 256>>>(a, b);\n  wastes<<<1, 256>>>(a, b);\n}}\n"
CHUNKS = (
    RACY,
    WASTES,
    CALLS,
    SWAPS,
    "\n",
    "// a line of its own\n\n",
    "__device__ int unrelated(int x) { return x; }\n",
    f"namespace first {{\n{RACY}}}\n",
    f"namespace second {{\n{RACY}{WASTES}}}\n",
    f"#if FAST\n{RACY}#else\n{RACY}#endif\n",
    f"#ifdef FAST\n{WASTES}#elif SLOW\n{WASTES}#endif\n",
    "__global__ void between(int* p) { __shared__ int t[32]; t[threadIdx.x] = p[0]; }\n",
)
REWRITES = (
    ("in[threadIdx.x];\n", "in[threadIdx.x];  // a remark\n"),
    ("in[threadIdx.x];\n", "in[threadIdx.x];\n\n"),
    ("in[threadIdx.x];\n", "in[threadIdx.x];\n  __syncthreads();\n"),
    ("{\n", "{\n  float fresh = 2.0f;\n"),
    ("  __syncthreads();\n", ""),
    ("[256]", "[512]"),
)
CONFIG = Config(threads=256, select=["SMEM"])


def told(report: FileReport) -> list[object]:
    """Everything that is shown of a file, each part with its place."""
    findings = [
        (each.code, each.message, each.span, each.severity, each.kernel, each.related, each.data)
        for each in report.findings
    ]
    fixes = [
        [(fix.title, fix.safety, fix.edits) for fix in report.fixes_for(each)] for each in report.findings
    ]
    kernels = [
        (each.kernel.name, each.kernel.span, each.live, each.static_bytes, each.barriers, each.verdict.words)
        for each in report.kernels
    ]
    functions = [(each.kernel.name, each.kernel.span) for each in report.functions]
    layouts = [layout_object(report, index) for index in range(len(report.kernels))]
    lenses = [(each[0].kernel.name_span, lens_title(each)) for each in kernels_of(report.facts)]
    return [findings, fixes, kernels, functions, layouts, lenses, list(verdicts.lines(report))]


def edited(text: str, chunks: list[str], rng: random.Random) -> str:
    """A chunk more or less, one twice, two in other places, or a kernel with another word in it."""
    way = rng.random()
    at = rng.randrange(len(chunks)) if chunks else 0
    if way < 0.5 or len(chunks) < 2:
        chunks.insert(at, rng.choice(CHUNKS))
    elif way < 0.65:
        del chunks[at]
    elif way < 0.8:
        chunks.insert(rng.randrange(len(chunks)), chunks[at])
    else:
        chunks[at] = chunks[at].replace(*rng.choice(REWRITES), 1)
    return "".join(chunks)


@pytest.mark.parametrize("seed", range(6))
def test_edits_around_kernels_of_one_text_move_each_finding_with_its_own(seed: int) -> None:
    rng, store = random.Random(seed), Store()
    chunks = [FILL, SWAP, RACY, WASTES, RACY, CALLS, CALLS, WASTES, LAUNCH.format(seed)]
    text, texts = "".join(chunks), list[str]()
    check(text, config=CONFIG, cache=store)
    for _ in range(6):
        text = edited(text, chunks, rng)
        warm = told(check(text, config=CONFIG, cache=store))
        assert warm == told(check(text, config=CONFIG, cache=Store())), text
        texts.append(text)
    for before in reversed(texts):
        warm = told(check(before, config=CONFIG, cache=store))
        assert warm == told(check(before, config=CONFIG, cache=Store())), before


def named_apart(text: str) -> str:
    """``text`` with names of the same length that no two kernels share."""
    count = iter(range(100))
    return re.sub(
        r"(?<=void )(racy|wastes|calls|swaps)", lambda name: f"{name[1][:-2]}{next(count):02}", text
    )


def unnamed(report: FileReport) -> str:
    return re.sub(r"\b(ra|wast|cal|swa)(\d\d|cy|es|ls|ps)\b", "k", repr(told(report)))


@pytest.mark.parametrize("seed", range(4))
def test_kernels_of_one_text_are_told_as_if_they_had_names_of_their_own(seed: int) -> None:
    rng, chunks, text = random.Random(seed), [FILL, SWAP, RACY, WASTES, SWAPS, RACY, CALLS, SWAPS, CALLS], ""
    for _ in range(4):
        text = edited(text, chunks, rng)
    apart = named_apart(text)
    assert apart != text
    assert unnamed(check(text, config=CONFIG)) == unnamed(check(apart, config=CONFIG)), text


def test_each_of_two_kernels_of_one_text_has_its_findings_where_it_stands() -> None:
    twins = """
__global__ void k(float* out, const float* in) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[255 - threadIdx.x];
//                   ^^^^^^^^^^^^^^^^^^^^ SMEM201 thread 0 writes `s[0]` (line 3), thread 255 reads it (line 4)
}
__global__ void k(float* out, const float* in) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = s[255 - threadIdx.x];
//                   ^^^^^^^^^^^^^^^^^^^^ SMEM201 thread 0 writes `s[0]` (line 8), thread 255 reads it (line 9)
}
"""
    twins = twins.replace("thread 0 writes", "data race (read after write): thread 0 writes")
    report = expect(twins, config=Config(threads=256))
    text = report.source.text
    for finding, at in zip(report.findings, (0, text.rindex("__global__"))):
        assert all(each.span.start >= at for each in (finding, *finding.related))
        (fix,) = report.fixes_for(finding)
        end = text.index("  out", at)
        assert apply(text, fix)[end:].startswith("  __syncthreads();")


def test_kernels_of_one_text_are_analysed_once() -> None:
    store = Store()
    report = check(RACY + FILL + RACY + RACY, cache=store)
    assert [finding.code for finding in report.findings] == ["SMEM201"] * 3
    assert ANALYSES.count(store) == 1
