"""What ended a check in the past."""

from __future__ import annotations

from collections.abc import Iterator

from robustness.hostile.making import kernel


def ended() -> Iterator[tuple[str, str]]:
    """Short texts that raised, by name."""
    use = "__shared__ float s[4]; s[threadIdx.x] = 1; __syncthreads(); g[0] = s[0];"
    yield "negative launch bounds", f"__global__ void __launch_bounds__(256,-5) k(float* g) {{ {use} }}"
    yield (
        "negative launch bytes",
        kernel("extern __shared__ float s[]; s[threadIdx.x] = 1;", launch="1, 32, 4-5"),
    )
    yield "alias of nothing", "namespace cg=;\n" + kernel(f"cg::x; cg::sync(); {use}")
    yield "empty alignment", kernel(f"alignas(())=a[0]; {use}")
    yield "negative threads", kernel(use, launch="1, -5")
    yield "no threads", kernel(use, launch="0, 0")
    yield "negative dimension", kernel("__shared__ float s[-4]; s[0] = 1;")
    yield "dimension by zero", kernel("__shared__ float s[4 / 0], t[4 % 0]; s[0] = t[0];")
    yield (
        "alignment of a third",
        kernel("__shared__ alignas(3) float s[4]; __shared__ __align__(-1) float t[4]; s[0] = t[0];"),
    )
    yield "bounds of nothing", f"__global__ void __launch_bounds__() k(float* g) {{ {use} }}"
    yield (
        "bounds of everything",
        f"__global__ void __launch_bounds__(1 << 40, 1 << 40) k(float* g) {{ {use} }}",
    )
    yield "address of a label", kernel(f"if (threadIdx.x == && blockIdx.x == 0) {use}")
    yield (
        "no coordinate",
        kernel("__shared__ float s[4]; s[threadIdx.rows] = 1; __syncthreads(); g[0] = s[threadIdx.w];"),
    )
    yield "cluster of nothing", f"__global__ void __cluster_dims__(0, -1, 5) k(float* g) {{ {use} }}"
