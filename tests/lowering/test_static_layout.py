"""Static bytes that the tool claims to be exact are those of ptxas: what it drops, keeps, splits and rounds."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from fixes.test_rewrites_compiled import cases
from harness import promised_bytes
from ptxas import entries
from store import compiled
from toolchain import nvcc, require

from smem_lsp.engine import check

# kernel -> is an exact total claimed for it?
KERNELS = {
    "__global__ void plain(int* o, int n) { __shared__ int a[8]; __shared__ char c[3]; __shared__ double d;"
    " a[threadIdx.x] = n; c[threadIdx.x % 3] = n; if (threadIdx.x == 0) d = n; __syncthreads();"
    " o[threadIdx.x] = a[n] + c[n] + d; }": True,
    "__global__ void one_member(int* o, int n) { __shared__ union { float f[10]; int i; } u;"
    " if (!threadIdx.x) u.i = n; __syncthreads(); o[threadIdx.x] = u.i; }": False,
    "__global__ void phases(int* o, int n) { __shared__ union { float f[10]; int i[4]; } u;"
    " u.f[threadIdx.x] = n; __syncthreads(); float v = u.f[n]; __syncthreads();"
    " u.i[threadIdx.x & 3] = v; __syncthreads(); o[threadIdx.x] = u.i[n]; }": True,
    "__global__ void whole_struct(int* o, int n) { __shared__ struct { float f[10]; int i; char g[5]; } u;"
    " u.f[threadIdx.x] = n; __syncthreads(); o[threadIdx.x] = u.f[n]; }": True,
    "__global__ void constant_places(int* o) { __shared__ int a[8];"
    " if (threadIdx.x == 0) { a[0] = o[1]; a[5] = o[2]; } __syncthreads(); o[threadIdx.x] = a[0] + a[5]; }": False,
    "__global__ void one_value(int* o) { __shared__ int a; if (threadIdx.x == 0) a = 3; __syncthreads();"
    " o[threadIdx.x] = a; }": False,
    "__global__ void two_values(int* o) { __shared__ int f; if (threadIdx.x == 0) f = 0; __syncthreads();"
    " if (o[threadIdx.x]) f = 1; __syncthreads(); o[threadIdx.x] = f; }": True,
    "__global__ void never_written(int* o) { __shared__ int a; o[threadIdx.x] = a; }": False,
    "__global__ void forwarded(int* o, int n) { __shared__ int f; f = n; o[threadIdx.x] = f; }": False,
    "__global__ void kept(int* o, int n) { __shared__ int f; if (!threadIdx.x) f = n; __syncthreads();"
    " o[threadIdx.x] = f; }": True,
    "__global__ void write_only(int* o, int n) { __shared__ int a[64]; __shared__ int b[64];"
    " a[threadIdx.x] = n; __syncthreads(); o[threadIdx.x] = a[n]; b[threadIdx.x] = n; }": True,
    "__global__ void volatile_members(int* o, int n) { union Smem { struct { volatile float a[64]; } one;"
    " struct { volatile short b[32]; } two; }; __shared__ Smem s; auto& a = s.one.a; auto& b = s.two.b;"
    " a[threadIdx.x] = n; __syncthreads(); b[threadIdx.x & 31] = n; o[threadIdx.x] = n; }": True,
    "__global__ void volatile_pointer(int* o, int n) { __shared__ int a[64]; volatile int* p = a;"
    " p[threadIdx.x] = n; o[threadIdx.x] = n; }": True,
    "__global__ void volatile_reference(int* o, int n) { __shared__ float a[64];"
    " volatile int (&r)[32] = *reinterpret_cast<volatile int (*)[32]>(&a); r[threadIdx.x & 31] = n;"
    " o[threadIdx.x] = n; }": True,
    "__global__ void volatile_parameter(int* o, int n) { __shared__ int a[64]; put(a, n); o[threadIdx.x] = n; }": True,
    "__global__ void other_member_volatile(int* o, int n) { __shared__ struct { volatile int v; int a[64]; } s;"
    " s.a[threadIdx.x] = n; o[threadIdx.x] = n; }": True,
    "__global__ void unused_value(int* o, int n) { __shared__ int a[64]; a[threadIdx.x] = n; __syncthreads();"
    " int x = a[n]; (void)x; }": False,
    "__global__ void vectors(float4* o, int n) { __shared__ char c; __shared__ float4 v[3];"
    " if (!threadIdx.x) c = n; v[threadIdx.x % 3].x = n; __syncthreads(); o[threadIdx.x].x = v[n].x + c; }": True,
    "__global__ void records(int* o, int n) { __shared__ Item items[3][5]; __shared__ Kind k;"
    " items[n % 3][threadIdx.x % 5].a = n; if (!threadIdx.x) k = Kind(n); __syncthreads();"
    " o[threadIdx.x] = items[n % 3][n % 5].a + int(k); }": True,
    "__global__ void local_types(int* o, int n) { struct Local { double d; char c; }; using Row = short[7];"
    " constexpr int N = sizeof(Local) / 4; __shared__ Local l[N]; __shared__ Row r[2];"
    " l[threadIdx.x % N].d = n; r[threadIdx.x & 1][n % 7] = n; __syncthreads();"
    " o[threadIdx.x] = l[n % N].d + r[n & 1][threadIdx.x % 7]; }": True,
}
ABOVE = "struct Item { int a; char b[3]; double* p; };\nenum class Kind : short { A, B };\n"
ABOVE += "__device__ void put(volatile int* to, int n) { to[threadIdx.x] = n; }\n"


def shared_bytes(text: str, folder: Path) -> dict[str, int]:
    """Static bytes of each kernel that is no template, as ptxas prints them."""
    compiler = require(nvcc(), "nvcc is not installed")
    path = folder / "kernels.cu"
    path.write_text(text, encoding="utf-8")
    flags = ["-arch=sm_90", "-cubin", "-Xptxas", "-v", "-o", str(folder / "out.cubin")]
    done = compiled([compiler, *flags, path], folder, seconds=300)
    assert done.code == 0, done.stderr[-2000:]
    return {entry.name: entry.shared for entry in entries(done.stdout + done.stderr) if not entry.template}


def test_exact_is_claimed_where_the_compiler_leaves_no_choice(tmp_path: Path) -> None:
    text = ABOVE + "\n".join(KERNELS)
    printed = shared_bytes(text, tmp_path)
    reports = check(text).kernels
    assert {r.kernel.name: r.exact for r in reports} == dict(zip(printed_names(), KERNELS.values()))
    for report in reports:
        if report.exact:
            assert (report.kernel.name, report.static_bytes) == (
                report.kernel.name,
                printed[report.kernel.name],
            )


def printed_names() -> list[str]:
    return [kernel.partition("void ")[2].partition("(")[0] for kernel in KERNELS]


def random_file(seed: int) -> str:
    """Kernels with arrays of random types, helpers with arrays of their own, dynamic memory in some files."""
    rng = random.Random(seed)
    kinds = (
        "char",
        "short",
        "int",
        "float",
        "double",
        "float2",
        "float4",
        "Item",
        "unsigned long long",
        "uchar3",
    )
    lines = [ABOVE]
    dynamic = rng.random() < 0.5
    helpers = rng.randint(0, 3)
    for h in range(helpers):
        inlining = rng.choice(("__forceinline__", "__noinline__", ""))
        kind = rng.choice(("char", "int", "double", "float"))
        lines.append(
            f"__device__ {inlining} int helper{h}(int n) {{ __shared__ {kind} s{h}[{rng.randint(1, 40)}];"
            f" s{h}[threadIdx.x] = n; __syncthreads(); int r = s{h}[n]; __syncthreads(); return r; }}"
        )
    if rng.random() < 0.3:
        lines.append(
            "template <int N> __global__ void never(int* o) { extern __shared__ double d[];"
            " d[threadIdx.x] = N; __syncthreads(); o[0] = d[N]; }"
        )
    for k in range(8):
        body: list[str] = []
        sums: list[str] = ["0"]
        for a in range(rng.randint(0, 5)):
            kind = rng.choice(kinds)
            member = {"float2": ".y", "float4": ".z", "Item": ".a", "uchar3": ".x"}.get(kind, "")
            dims = rng.choice(((), (rng.randint(1, 70),), (rng.randint(1, 9), rng.randint(1, 33))))
            attribute = rng.choice(("", "", "", "alignas(16) ", "__align__(8) "))
            declared = "".join(f"[{d}]" for d in dims)
            write = "".join(f"[(threadIdx.x + {i}) % {d}]" for i, d in enumerate(dims))
            read = "".join(f"[(n + {i}) % {d}]" for i, d in enumerate(dims))
            body.append(f"__shared__ {attribute}{kind} a{a}{declared};")
            fate = rng.random()
            if fate < 0.1:
                continue  # never used
            body.append(f"a{a}{write}{member} = n + o[{a}];")
            if fate > 0.2:
                sums.append(f"a{a}{read}{member}")
        if dynamic and k % 3 == 0:
            body.append("extern __shared__ char dyn[]; dyn[threadIdx.x] = n;")
            sums.append("dyn[n]")
        if helpers and rng.random() < 0.5:
            sums.append(f"helper{rng.randrange(helpers)}(n)")
        lines.append(
            f"__global__ void k{k}(int* o, int n) {{ {' '.join(body)} __syncthreads();"
            f" o[threadIdx.x] = {' + '.join(sums)}; }}"
        )
    return "\n".join(lines)


def test_exact_bytes_of_random_files(tmp_path: Path) -> None:
    first = int(os.environ.get("SMEM_SEED", "0")) * 6
    claimed = total = 0
    for seed in range(first, first + 6):
        text = random_file(seed)
        printed = shared_bytes(text, tmp_path)
        for report in check(text).kernels:
            if report.kernel.template:
                continue
            total += 1
            if report.exact:
                claimed += 1
                name = report.kernel.name
                assert (seed, name, report.static_bytes) == (seed, name, printed[name]), text
    assert claimed >= 0.6 * total


def test_dynamic_memory_that_may_not_be_compiled_is_no_rounding_for_sure() -> None:
    kernel = (
        "__global__ void k(int* o, int n) {"
        " __shared__ char a[N]; a[threadIdx.x] = n; __syncthreads(); o[0] = a[n]; }"
    )
    template = (
        "template <int M> __global__ void t(int* o) { extern __shared__ double d[];"
        " d[threadIdx.x] = M; __syncthreads(); o[0] = d[M]; }\n"
    )
    launch = "\nvoid host(int* o) { t<4><<<1, 32, 64>>>(o); }"
    never = check(template + kernel.replace("N", "17")).kernels[-1]
    launched = check(template + kernel.replace("N", "17") + launch).kernels[-1]
    same = check(template + kernel.replace("N", "32") + launch).kernels[-1]
    assert (never.static_bytes, never.exact) == (17, True)
    assert launched.exact is False
    assert (same.static_bytes, same.exact) == (32, True)


@pytest.mark.slow(seconds=4)
def test_after_a_merge_the_tool_counts_what_it_promised() -> None:
    """check, fix, check: the merged buffer has its size, and the map is there again."""
    for name, case in cases().items():
        if case.arch == "sm_90":
            report = check(case.after).kernels[0]
            assert report.static_bytes == promised_bytes(case.title), name
            assert report.plans, name
