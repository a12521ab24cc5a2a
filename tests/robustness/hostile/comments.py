"""Comments and what they state."""

from __future__ import annotations

from robustness.hostile.making import hostile, kernel, lines


@hostile(100_000)
def suppressions(n: int) -> str:
    return kernel(lines(n, lambda i: f"__shared__ float s{i}[4];  // smem: ignore[SMEM101]"))


@hostile(50_000)
def regions(n: int) -> str:
    return "// smem: disable[SMEM101]\n// smem: enable[SMEM101]\n" * n + kernel(
        "__shared__ float s[4]; s[0] = 1;"
    )


@hostile(50_000)
def open_regions(n: int) -> str:
    return kernel("// smem: disable[SMEM101]\n" * n + "__shared__ float s[4]; s[0] = 1;")


@hostile(50_000)
def unknown_suppressions(n: int) -> str:
    return lines(n, lambda i: f"// smem: ignore[SMEM{i}, wrong-{i}]") + kernel(
        "__shared__ float s[4]; s[0] = 1;"
    )


@hostile(20_000)
def stated_facts(n: int) -> str:
    return lines(n, lambda i: f"// smem: assume(blockDim.x == {i + 1})") + kernel(
        "__shared__ float s[4]; s[0] = 1;"
    )


@hostile(100_000)
def deep_fact(n: int) -> str:
    return f"// smem: dynamic_bytes = {'(' * n}1{')' * n}\n// smem: uniform({'!' * n}n)\n" + kernel(
        "extern __shared__ float s[]; s[0] = 1;"
    )


@hostile(5_000_000)
def long_comment(n: int) -> str:
    return "/*" + "* /" * (n // 3) + "*/" + kernel("__shared__ float s[4]; s[0] = 1;")


@hostile(200_000)
def comments(n: int) -> str:
    return kernel("/**/ // x\n" * n + "__shared__ float s[4]; s[0] = 1;")
