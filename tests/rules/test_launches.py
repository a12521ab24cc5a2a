"""SMEM504 and SMEM505: what a launch asks for that the kernel or the device does not allow."""

from __future__ import annotations

import pytest
from carets import expect

from smem_lsp.engine import check
from smem_lsp.rules.model import Severity
from smem_lsp.source.queries import Store

LAUNCHED = """\
__global__ void k(const float* in, float* out, int n) {{
  extern __shared__ float s[];
  const int t = threadIdx.x;
  {body}
  __syncthreads();
  out[t] = s[0];
}}
void host(const float* in, float* out) {{
{launch}
}}
"""
TOO_FEW = ("SMEM504",)


@pytest.mark.parametrize(
    ("body", "launch", "used"),
    [
        (
            "s[t] = in[t];",
            """
  k<<<1, 128, 256>>>(in, out, 1);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM504
""",
            512,
        ),
        (
            "for (int i = t; i < 1024; i += 128) s[i] = in[i];",
            """
  k<<<1, 128, 4000>>>(in, out, 1);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM504
""",
            4096,
        ),
        (
            "if (t < 96) s[t + 32] = in[t];",
            """
  k<<<1, 128, 500>>>(in, out, 1);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM504
""",
            512,
        ),
        (
            "float* b = s + 64; b[t] = in[t];",
            """
  k<<<1, 64, 64 * sizeof(float)>>>(in, out, 1);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM504
""",
            512,
        ),
        (
            "s[t] = in[t];",
            """
  constexpr int B = 64;
  dim3 block(B, 2);
  k<<<1, block>>>(in, out, 1);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM504
""",
            256,
        ),
    ],
)
def test_a_launch_with_too_few_bytes(body: str, launch: str, used: int) -> None:
    report = expect(LAUNCHED.format(body=body, launch=launch), among=TOO_FEW)
    (finding,) = (each for each in report.findings if each.code == "SMEM504")
    assert finding.severity is Severity.ERROR
    assert finding.data["bytes_used"] == used


@pytest.mark.parametrize(
    ("body", "launch", "said"),
    [
        (
            """float* far = s + 2048; s[t] = in[t];
  far[t] = in[t];
//^^^^^^ SMEM402""",
            "k<<<1, 128, 1024>>>(in, out, 1);",
            "the 128×1×1 block of line 10 writes bytes 8,192 to 8,703 of `s`, past the 1,024 B of that launch; "
            "its ranges take 1,024 B together",
        ),
        (
            """float* far = s + 2048; s[t] = in[t];
  if (t < 8) far[t + 2] = in[t];
//           ^^^^^^^^^^ SMEM402""",
            "k<<<1, 128, 1024>>>(in, out, 1); k<<<1, 128, 4096>>>(in, out, 1);",
            "past the 1,024 B of that launch",
        ),
        (
            """float* low = s - 32;
  low[t] = in[t];
//^^^^^^ SMEM402""",
            "k<<<1, 128, 1024>>>(in, out, 1);",
            "the 128×1×1 block of line 10 writes bytes -128 to 383 of `s`, in front of its first byte",
        ),
        (
            """s[100 - t] = in[t];
//^^^^^^^^^^ SMEM402""",
            "k<<<1, 128, 1024>>>(in, out, 1);",
            "writes bytes -108 to 403 of `s`, in front of its first byte",
        ),
    ],
)
def test_an_offset_that_is_wrong(body: str, launch: str, said: str) -> None:
    """The launch passes what the ranges take together: it is not the size that is wrong."""
    report = expect(LAUNCHED.format(body=body, launch=launch), among=("SMEM402", *TOO_FEW))
    (finding,) = (each for each in report.findings if each.code == "SMEM402")
    assert finding.severity is Severity.ERROR
    assert said in str(finding.message), finding.message


@pytest.mark.parametrize(
    "body",
    [
        "unsigned i = t - 32; if (i < 96) s[i] = in[i];",
        "out[t] = t > 0 ? s[t - 1] : 0.f; if (t == 0 || s[t - 1] > 1.f) out[1] = 1;",
        "s[(t - 1) & 127] = in[t]; out[t] = s[(t - 1 + 128) % 128] + s[max(t - 1, 0)];",
        "float* p = s + 32; p[t - 32] = in[t];",
        "int r = t; while (r >= 64) { r -= 64; s[r] = 0; }",
        "for (int i = t - 64; i < 64; i += 64) if (i >= 0) s[i] = 0;",
    ],
)
def test_offsets_that_are_right(body: str) -> None:
    text = LAUNCHED.format(body=body, launch="k<<<1, 128, 512>>>(in, out, 1);")
    expect(text, among=("SMEM402", *TOO_FEW))


@pytest.mark.parametrize(
    ("body", "launch"),
    [
        ("s[t] = in[t];", "k<<<1, 128, 512>>>(in, out, 1);"),
        ("if (n > 4) s[t] = in[t];", "k<<<1, 128, 256>>>(in, out, 1);"),
        ("if (n > 4) return; s[t] = in[t];", "k<<<1, 128, 256>>>(in, out, 1);"),
        ("for (int i = t; i < n; i += 128) s[i] = in[i];", "k<<<1, 128, 4>>>(in, out, 1);"),
        ("s[int(in[t])] = 1;", "k<<<1, 128, 256>>>(in, out, 1);"),
        ("s[t] = in[t];", "k<<<1, n, 256>>>(in, out, 1);"),
        ("s[t] = in[t];", "k<<<1, 128, bytes()>>>(in, out, 1);"),
    ],
)
def test_a_launch_that_may_be_right(body: str, launch: str) -> None:
    expect(LAUNCHED.format(body=body, launch=launch), among=TOO_FEW)


MANY_BYTES = """
  k<<<1, 128, 60000>>>(in, out, 1);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM504
"""


@pytest.mark.parametrize(
    ("linkage", "call", "severity"),
    [
        ("", "", Severity.HINT),
        ("static ", "", Severity.ERROR),
        ("static ", "cudaFuncSetAttribute(other, MAX_DYNAMIC, 60000);", Severity.ERROR),
    ],
)
def test_more_than_48_kib_without_opting_in(linkage: str, call: str, severity: Severity) -> None:
    text = linkage + LAUNCHED.format(body="s[t] = in[t];", launch=opting_in(call) + MANY_BYTES)
    report = expect(text, among=TOO_FEW)
    assert [f.severity for f in report.findings if f.code == "SMEM504"] == [severity]


@pytest.mark.parametrize(
    ("linkage", "call"),
    [
        ("static ", "cudaFuncSetAttribute(k, MAX_DYNAMIC, 60000);"),
        ("", "cudaFuncSetAttribute(k, MAX_DYNAMIC, 60000);"),
        ("", "auto f = &k; cudaFuncSetAttribute(f, MAX_DYNAMIC, 60000);"),
    ],
)
def test_more_than_48_kib_for_a_kernel_that_has_opted_in(linkage: str, call: str) -> None:
    launch = f"{opting_in(call)}\n  k<<<1, 128, 60000>>>(in, out, 1);"
    expect(linkage + LAUNCHED.format(body="s[t] = in[t];", launch=launch), among=TOO_FEW)


def opting_in(call: str) -> str:
    return call.replace("MAX_DYNAMIC", "cudaFuncAttributeMaxDynamicSharedMemorySize")


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (
            "2 * 1500000000 * 4",
            "`2 * 1500000000` overflows `int` in the dynamic shared memory that a launch asks for",
        ),
        (
            "m * 4",
            "`m * 4` overflows `int` in the dynamic shared memory that a launch asks for: it is 2,400,000,000",
        ),
        ("2 * 1500000000 * sizeof(float)", "`2 * 1500000000` overflows `int`"),
        ("m * sizeof(float)", "0 B static and 2,400,000,000 B dynamic shared memory: 2,399,767,552 B over"),
        ("u * 4", "0 B static and 3,410,065,408 B dynamic shared memory"),
        ("(1 - m) * 2", "-1,199,999,998 B of dynamic shared memory at a launch, where a size has no sign"),
        (
            "-16",
            "-16 B of dynamic shared memory at a launch, where a size has no sign: it is far over the 232,448 B",
        ),
    ],
)
def test_a_size_that_no_launch_can_have(size: str, said: str) -> None:
    launch = f"""
  int m = 600000000;
  unsigned u = 3000000000u;
  k<<<1, 128, {size}>>>(in, out, 1);
"""
    text = LAUNCHED.format(body="s[t] = in[t];", launch=launch)
    (finding,) = check(text).findings
    assert (finding.code, finding.severity) == ("SMEM503", Severity.ERROR)
    assert said in str(finding.message), finding.message
    assert text[finding.related[0].span.start :].startswith("k<<<")


@pytest.mark.parametrize("size", ["n * 4", "n * n * 4", "unseen(m) * 4", "Unseen(m) * 8", "m * m / m"])
def test_a_size_that_may_be_right(size: str) -> None:
    launch = f"""
  int m = 512;
  k<<<1, 128, {size}>>>(in, out, 1);
"""
    text = LAUNCHED.format(body="s[t] = in[t];", launch=launch).replace(
        "float* out) {", "float* out, int n) {"
    )
    expect(text, among=("SMEM503", *TOO_FEW))


def test_findings_at_launches_move_with_them() -> None:
    """The launch moves, the kernel does not: a second check with what the first remembers says the same as a fresh
    one."""
    text = LAUNCHED.format(body="s[t] = in[t];", launch="k<<<1, 128, 256>>>(in, out, 1);")
    cache = Store()
    check(text, cache=cache)
    edited = text.replace("void host", "\n\n// a comment\nvoid host")
    assert check(edited, cache=cache).findings == check(edited).findings
    assert any(f.code == "SMEM504" for f in check(edited).findings)


def test_threads_that_no_launch_may_have() -> None:
    launch = """
  k<<<1, 2048, 8192>>>(in, out, 1);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM505 2,048 threads
"""
    expect(LAUNCHED.format(body="s[t] = in[t];", launch=launch), among=("SMEM505",))


def test_the_message_names_the_block_and_its_launch() -> None:
    text = (
        "__global__ void k(float* d) { extern __shared__ float s[]; s[threadIdx.x] = d[0]; __syncthreads(); "
        "d[threadIdx.x] = s[0]; }\nvoid go(float* d) {\n  k<<<1, dim3(32, 8), 64>>>(d);\n}\n"
    )
    (finding,) = [each for each in check(text).findings if each.code == "SMEM504"]

    assert str(finding.message).endswith("uses 128 B with the 32×8 block of line 3")
