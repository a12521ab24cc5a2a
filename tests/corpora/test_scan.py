"""The independent scan for kernels, on what has fooled such scans before."""

from __future__ import annotations

import pytest
from scan import blanked, kernel_definitions


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("__global__ void k(int n) { f(); }", ["k"]),
        ("__global__ void k(int n);", []),
        ("static __global__ __launch_bounds__(256, 2) void k() {}", ["k"]),
        ("void __launch_bounds__(N) __global__ k() {}", ["k"]),
        ("__global__ __attribute__((used)) void k()\n{ }", ["k"]),
        ("template <> __global__ void k<float, 4>(float* p) { }", ["k"]),
        ("__global__ void k(int (&a)[3], void (*f)(int)) { }", ["k"]),
        ("// __global__ void k() {}\n/* __global__ void l() {} */", []),
        ("/* don't */ __global__ void k() {}", ["k"]),
        ('const char* s = "__global__ void k() {}"; __global__ void l() {}', ["l"]),
        ('auto s = R"x(__global__ void k() {} )" )x"; __global__ void l() {}', ["l"]),
        ("int n = 1'000'000; __global__ void k() {}", ["k"]),
        ("#define KERNEL(x) \\\n  __global__ void x() {}\n__global__ void k() {}", ["k"]),
        ("#define KERNEL(x) \\\r\n  __global__ void x() {}\r\n__global__ void k() {}", ["k"]),
        ("using F = decltype(__global__); __global__ void a() {} __global__ void b();", ["a"]),
        ("__global__ void k(int n) noexcept { }", ["k"]),
        ("__global__ void k(", []),
        ("__global__ void k(]) {}", []),
    ],
)
def test_definitions(text: str, names: list[str]) -> None:
    assert [kernel.name for kernel in kernel_definitions(text)] == names


def test_lines_and_offsets() -> None:
    text = "// a\r\n/* b\n */ __global__ void k() {}"
    (kernel,) = kernel_definitions(text)
    assert kernel.line == 3
    assert text[kernel.offset :].startswith("__global__")


def test_blanks_keep_every_offset() -> None:
    text = '#if 1 // x\n\'"\' "\\"" /* \n */ a\\\n#endif\n'
    assert len(blanked(text)) == len(text)
    assert [c for c in blanked(text) if c == "\n"] == [c for c in text if c == "\n"]
