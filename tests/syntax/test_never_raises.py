"""Whatever is typed, the engine answers, and everything it says stands inside the text.

``SMEM_FULL=1`` tries every beginning of every kernel; else a part of them, spread over the texts, of which a run
takes one in seven.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator

import pytest
from fixes.two_buffers import TWO_BUFFERS_MERGED
from test_kernels import FOLDER
from turns import share

from smem_lsp.engine import FileReport, apply, check
from smem_lsp.source import Span

FULL = os.environ.get("SMEM_FULL") == "1"
BEGINNINGS = 20  # of each text
EDITS = 1000
TIMEOUT = 600.0  # seconds for one text that hangs: no machine is so busy

TEXTS = {path.name: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.cu"))}
TEXTS["guest"] = TWO_BUFFERS_MERGED
TEXTS["conditional"] = """\
#define N 256
#define EACH(i, n) for (int i = threadIdx.x; i < (n); i += blockDim.x)
template <typename T, int M>
__global__ void k(const T* __restrict__ in, T* out) {  // smem: assume(blockDim.x == 256)
  __shared__ alignas(16) T a[M][N + 1], b;
  extern __shared__ unsigned char raw[];
#if N > 128
  EACH(i, N) a[0][i] = in[i];  // smem: ignore[SMEM301]
#else
  a[0][threadIdx.x] = in[0];
#endif
  switch (N) {
    case 1: { b = 1; break; }
    default: __syncthreads();
  }
  auto f = [&](int i) -> T { if (i > 3) return a[0][i]; do { --i; } while (i); return *reinterpret_cast<T*>(raw); };
  asm volatile("bar.sync 0;" ::: "memory");
  for (auto& x : a[0]) x = f(3) ? 1 : 2;
  out[threadIdx.x] = b, a[0][threadIdx.x];
}
template __global__ void k<float, 2>(const float*, float*);
void go(float* p) { dim3 b(32, 4); k<float, 2><<<1, b, 64>>>(p, p); }
"""


def judge(text: str) -> None:
    """Check a text and everything in the report that points into it."""
    report = check(text)
    for span in spans(report):
        assert 0 <= span.start <= span.end <= len(text)
    for finding in report.findings:
        for fix in report.fixes_for(finding):
            if fix.edits:
                apply(text, fix)


def spans(report: FileReport) -> Iterator[Span]:
    for finding in report.findings:
        yield finding.span
        yield from (note.span for note in finding.related)
        for fix in report.fixes_for(finding):
            yield from (edit.span for edit in fix.edits)
    for kernel in report.kernels:
        yield kernel.kernel.span
        yield kernel.kernel.name_span
        yield from (kernel.kernel.places.span(buffer.declared) for buffer in kernel.kernel.buffers)
        yield from (launch.span for launch in kernel.kernel.launches)


@pytest.mark.parametrize("name", TEXTS)
def test_every_beginning_of_a_text_is_answered(name: str) -> None:
    text = TEXTS[name]
    stride = 1 if FULL else max(1, len(text) // BEGINNINGS)
    ends = range(len(text) % stride, len(text) + 1, stride)
    for end in ends if FULL else share(ends, 7, name):
        judge(text[:end])


@pytest.mark.slow(seconds=8)
@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("part", range(4))
def test_random_edits_are_answered(part: int) -> None:
    chance = random.Random(part)
    names = sorted(TEXTS)
    for _ in range(EDITS // 4):
        text = TEXTS[chance.choice(names)]
        for _ in range(chance.randint(1, 6)):
            text = edited(text, chance)
        judge(text)


TYPED: tuple[str, ...] = (
    *"{}()[];,<>\"'#\\/*&=?:.\n\r\t\0é",
    *("//", "/*", "*/", "<<<", "__syncthreads();", "if (", "#if "),
)


def edited(text: str, chance: random.Random) -> str:
    """Something deleted, doubled, swapped or typed in."""
    start = chance.randrange(len(text) + 1)
    end = min(len(text), start + chance.choice((0, 1, 1, 2, 5, 20, 80)))
    match chance.randrange(4):
        case 0:
            return text[:start] + text[end:]
        case 1:
            return text[:end] + text[start:end] + text[end:]
        case 2:
            there = chance.randrange(len(text) + 1)
            return text[:there] + text[start:end] + text[there:]
    return text[:start] + chance.choice(TYPED) + text[end:]


KERNEL = "__global__ void k(float* o) {{ __shared__ float s[64]; {} o[0] = s[1]; }}"

NASTY = {
    "nothing": "",
    "a NUL": KERNEL.format("s[0] = 1;\0 s[2] = 3;"),
    "only NULs": "\0" * 1000,
    "form feeds": KERNEL.format("\f s[0] = 1;\v\f\u2028 s[2] = 3;"),
    "lone carriage returns": KERNEL.format("\r s[0] = 1;\r // why\r s[2] = 3;\r").replace(" ", "\r"),
    "a byte order mark": "\ufeff" + KERNEL.format("s[0] = 1;"),
    "lone surrogates": KERNEL.format("s[0] = 1; /* \ud800 */ \udfff"),
    "one long line": KERNEL.format("s[0] = 1 + s[2]; " * 11_800),
    "one long expression": KERNEL.format("s[0] = " + "s[1] + " * 30_000 + "1;"),
    "one long name": KERNEL.format("a" * 200_000 + ";"),
    "one long string": KERNEL.format('"' + "a" * 200_000 + '";'),
    "one long comment": KERNEL.format("/*" + "* " * 100_000 + "*/"),
    "backslashes": KERNEL.format("\\\n" * 50_000),
    "quotes": KERNEL.format("\"'" * 50_000),
    "open brackets": KERNEL.format("(" * 10_000),
    "nested brackets": KERNEL.format("s[0] = " + "(" * 10_000 + "1" + ")" * 10_000 + ";"),
    "nested indices": KERNEL.format("s" + "[s" * 5_000 + "]" * 5_000 + " = 1;"),
    "nested braces": KERNEL.format("{" * 10_000 + "s[0] = 1;" + "}" * 10_000),
    "nested ifs": KERNEL.format("if (o) " * 3_000 + "s[0] = 1;"),
    "nested loops": KERNEL.format("for (int i = 0; i < 4; ++i) " * 300 + "s[0] = 1;"),
    "nested lambdas": KERNEL.format("[&] { " * 300 + "s[0] = 1;" + " }();" * 300),
    "nested templates": "template <class T> struct A; " + "A<" * 5_000 + "int" + ">" * 5_000 + " x;",
    "nested ternaries": KERNEL.format("s[0] = " + "o ? 1 : " * 5_000 + "2;"),
    "closing braces": "}" * 10_000 + KERNEL.format("s[0] = 1;"),
    "nested conditionals": "#if 1\n" * 5_000 + KERNEL.format("s[0] = 1;") + "\n#endif" * 5_000,
    "a macro that doubles": "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(60))
    + KERNEL.format("A0;"),
    "macros in a circle": "#define A B C\n#define B C A\n#define C A B\n" + KERNEL.format("A;"),
    "a macro called in its argument": "#define F(x) x + x\n"
    + KERNEL.format("s[0] = " + "F(" * 500 + "1" + ")" * 500 + ";"),
    "directives without end": "#define A \\\n" * 20_000,
    "many kernels": "\n".join(KERNEL.format("s[0] = 1;").replace("k(", f"k{i}(") for i in range(300)),
    "many buffers": KERNEL.format(
        "".join(f"__shared__ float b{i}[{i + 1}]; b{i}[0] = 1;\n" for i in range(150))
    ),
    "a long kernel": KERNEL.format(
        "s[threadIdx.x] = o[1];\n__syncthreads();\no[2] = s[63 - threadIdx.x];\n" * 1_666
    ),
    "a case without end": KERNEL.format("switch (1) { " + "case 1: " * 5_000),
    "a pointer of pointers": KERNEL.format("float " + "*" * 5_000 + "p;"),
    "one long declaration": KERNEL.format("int " + ", ".join(f"a{i}" for i in range(8_000)) + ";"),
}


@pytest.mark.sampled(one_in=4)
@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_text_is_answered_in_time(name: str) -> None:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            judge(NASTY[name])
        except BaseException as error:  # noqa: BLE001
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(TIMEOUT)
    assert not thread.is_alive(), f"no answer in {TIMEOUT} s"
    assert raised == []


@pytest.mark.parametrize("half", ["int tid = threadIdx.", "x.", "p->", "x.;"])
def test_a_name_that_is_still_to_be_typed_is_no_error(half: str) -> None:
    judge(f"__global__ void k() {{ {half} }}")
