"""Programs that have two functions, of which a call means one."""

from __future__ import annotations

from smem_lsp.engine import check

OWN, HALF = "{ s[t] = t; }", "{ s[t / 2] = t; }"


def verdict(declared: str, call: str, called: str, other: str) -> str:
    """``declared`` has functions that get ``TO`` an array: CALLED, and OTHER ones that a wrong rule would call."""
    text = declared.replace("CALLED", called).replace("OTHER", other).replace("void ", "__device__ void ")
    text = text.replace("TO", "float* s, int t")
    kernel = f"__global__ void k() {{ __shared__ float s[64]; const int t = threadIdx.x; {call} }}"
    (report,) = check(f"{text}\n{kernel}\nvoid host() {{ k<<<1, 64>>>(); }}").kernels
    assert report.verdict is not None
    return report.verdict.kind.value


PLAIN, RACING = "S[threadIdx.x] = 1", "S[threadIdx.x / 2] = threadIdx.x"


def verdict_in_file(declared: str, statements: str, called: str, other: str) -> str:
    """The same of functions that write to an array ``S`` of the file; the statements may say CALLED and OTHER, too."""
    text = f"{declared}\n__global__ void k(int n, int* gp, float fl) {{ {statements} }}\n"
    text = text.replace("CALLED", called).replace("OTHER", other)
    host = "void host() { k<<<1, 64>>>(3, nullptr, 1.0f); }"
    (report,) = check(f"__shared__ int S[64];\n{text}{host}").kernels
    assert report.verdict is not None
    return report.verdict.kind.value


def cases(text: str) -> list[tuple[str, str]]:
    """Declarations, and behind ``>`` statements with a call; a blank line is between two of them."""
    found = []
    for each in text.strip().split("\n\n"):
        declared, _, call = each.rpartition("\n> ")
        found.append((declared, call))
    return found


def right(declared: str, call: str) -> bool:
    """Is it surely known which function is called, whichever of them gives each thread an element of its own?"""
    verdicts = [verdict(declared, call, *each) for each in ((OWN, HALF), (HALF, OWN))]
    return verdicts == ["race-free", "racy"]
