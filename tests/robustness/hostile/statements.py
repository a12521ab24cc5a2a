"""Many of one statement in one kernel."""

from __future__ import annotations

from robustness.hostile.making import hostile, kernel, lines


@hostile(100_000)
def barriers(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\ns[threadIdx.x] = g[0];\n" + "__syncthreads();\n" * n + "g[0] = s[0];"
    )


@hostile(20_000)
def barriers_between_accesses(n: int) -> str:
    step = "s[threadIdx.x] = g[{0}];\n__syncthreads();\ng[{0}] = s[255 - threadIdx.x];\n__syncthreads();"
    return kernel("__shared__ float s[256];\n" + lines(n, lambda i: step.format(i)))


@hostile(100_000)
def static_buffers(n: int) -> str:
    return kernel(lines(n, lambda i: f"__shared__ float s{i}[4];"))


@hostile(20_000)
def used_buffers(n: int) -> str:
    used = "__shared__ float s{0}[64];\ns{0}[threadIdx.x] = g[{0}];\n__syncthreads();\ng[{0}] = s{0}[63 - threadIdx.x];"
    return kernel(lines(n, lambda i: used.format(i)))


@hostile(3_000)
def live_buffers(n: int) -> str:
    declared = lines(n, lambda i: f"__shared__ float s{i}[64]; s{i}[threadIdx.x] = g[{i}];")
    return kernel(declared + "\n__syncthreads();\n" + lines(n, lambda i: f"g[{i}] = s{i}[63 - threadIdx.x];"))


@hostile(100_000)
def declarators(n: int) -> str:
    return kernel("__shared__ float " + ", ".join(f"s{i}[4]" for i in range(n)) + ";")


@hostile(100_000)
def accesses(n: int) -> str:
    return kernel("__shared__ float s[256];\n" + lines(n, lambda i: f"s[threadIdx.x] += s[{i % 256}];"))


@hostile(50_000)
def racing_accesses(n: int) -> str:
    return kernel(
        "__shared__ float s[1024];\n" + lines(n, lambda i: f"s[(threadIdx.x + {i}) % 1024] = s[{i % 999}];")
    )


@hostile(100_000)
def cases(n: int) -> str:
    body = lines(n, lambda i: f"case {i}: s[{i % 256}] = {i}; break;")
    return kernel(
        f"__shared__ float s[256];\nswitch (n) {{\n{body}\n}}\n__syncthreads();\ng[0] = s[threadIdx.x];"
    )


@hostile(50_000)
def falling_cases(n: int) -> str:
    body = lines(n, lambda i: f"case {i}: s[{i % 256}] = {i};")
    return kernel(
        f"__shared__ float s[256];\nswitch (n) {{\n{body}\n}}\n__syncthreads();\ng[0] = s[threadIdx.x];"
    )


@hostile(100_000)
def branches(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n"
        + lines(n, lambda i: f"if (n > {i}) s[threadIdx.x] = {i}; else g[{i}] = s[0];")
    )


@hostile(20_000)
def data_guards(n: int) -> str:
    return kernel(
        "__shared__ int s[256];\n"
        + lines(n, lambda i: f"if (g[threadIdx.x + {i}] > {i}) s[threadIdx.x] = {i};")
    )


@hostile(20_000)
def else_ifs(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n" + " else ".join(f"if (n == {i}) s[{i % 256}] = 1;\n" for i in range(n))
    )


@hostile(20_000)
def loops(n: int) -> str:
    loop = (
        "for (int i{0} = 0; i{0} < n; i{0}++) {{ s[threadIdx.x] += i{0}; __syncthreads(); g[i{0}] = s[0]; }}"
    )
    return kernel("__shared__ float s[256];\n" + lines(n, lambda i: loop.format(i)))


@hostile(20_000)
def returns(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n"
        + lines(n, lambda i: f"if (threadIdx.x == {i}) return;\ns[{i % 256}] = 1;")
    )


@hostile(20_000)
def gotos(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n"
        + lines(n, lambda i: f"l{i}: s[{i % 256}] = 1; if (n) goto l{n - 1 - i};")
    )


@hostile(20_000)
def assembler(n: int) -> str:
    one = 'asm volatile("st.shared.f32 [%0], %1;" :: "r"({0}), "f"(g[{0}]) : "memory");'
    return kernel("__shared__ float s[256];\n" + lines(n, lambda i: one.format(i)))


@hostile(20_000)
def asynchronous_copies(n: int) -> str:
    one = "__pipeline_memcpy_async(&s[threadIdx.x], &g[{0}], 4);\n__pipeline_commit();"
    return kernel(
        "__shared__ float s[256];\n" + lines(n, lambda i: one.format(i)) + "\n__pipeline_wait_prior(0);"
    )


@hostile(10_000)
def named_barriers(n: int) -> str:
    one = 'if (threadIdx.x < 64) asm volatile("bar.sync {0}, 64;" ::: "memory"); s[threadIdx.x] = {1};'
    return kernel("__shared__ float s[256];\n" + lines(n, lambda i: one.format(1 + i % 15, i)))


@hostile(10_000)
def mbarriers(n: int) -> str:
    return kernel(
        lines(
            n, lambda i: f"__shared__ cuda::barrier<cuda::thread_scope_block> b{i}; b{i}.arrive_and_wait();"
        )
    )


@hostile(20_000)
def shuffles(n: int) -> str:
    return kernel(
        "__shared__ float s[256]; float v = 0;\n"
        + lines(n, lambda i: f"v += __shfl_down_sync(~0u, v, {i % 32}); s[{i % 256}] = v;")
    )


@hostile(20_000)
def atomics(n: int) -> str:
    return kernel(
        "__shared__ int s[256];\n" + lines(n, lambda i: f"atomicAdd(&s[(threadIdx.x * {i}) & 255], 1);")
    )


@hostile(5_000)
def collectives(n: int) -> str:
    one = "using R{0} = cub::BlockReduce<float, {1}>; __shared__ typename R{0}::TempStorage t{0}; g[{0}] = R{0}(t{0}).Sum(g[0]);"
    return kernel(lines(n, lambda i: one.format(i, 32 + i)), "#include <cub/cub.cuh>")


@hostile(10_000)
def carved_ranges(n: int) -> str:
    carved = "float* p0 = s;\n" + lines(
        n, lambda i: f"float* p{i + 1} = p{i} + 16; p{i}[threadIdx.x % 16] = g[{i}];"
    )
    return kernel("extern __shared__ float s[];\n" + carved, launch="1, 256, 16384")


@hostile(50_000)
def pointer_chain(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\nfloat* p0 = s;\n"
        + lines(n, lambda i: f"float* p{i + 1} = p{i};")
        + f"\n*p{n} = 1;"
    )


@hostile(5_000)
def pointer_choices(n: int) -> str:
    chosen = lines(n, lambda i: f"float* p{i + 1} = n > {i} ? p{i} : s + {i % 256}; *p{i + 1} = 1;")
    return kernel("__shared__ float s[256];\nfloat* p0 = s;\n" + chosen)


@hostile(20_000)
def lambdas(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n"
        + lines(n, lambda i: f"auto l{i} = [&](int j) {{ s[j] = {i}; }}; l{i}(threadIdx.x);")
    )


@hostile(50_000)
def pragmas(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\n" + "#pragma unroll\nfor (int i = 0; i < 4; i++) s[i] = 1;\n" * n
    )


@hostile(50_000)
def local_constants(n: int) -> str:
    return kernel(
        "const int c0 = 1;\n"
        + lines(n, lambda i: f"const int c{i + 1} = c{i} + 1;")
        + f"\n__shared__ float s[c{n}];"
    )


@hostile(20_000)
def index_terms(n: int) -> str:
    terms = " + ".join(f"(threadIdx.x * {i + 3}) % {i + 7}" for i in range(n))
    return kernel(f"__shared__ float s[256];\ns[{terms}] = 1;\n__syncthreads();\ng[0] = s[0];")


@hostile(2_000)
def index_products(n: int) -> str:
    return kernel(
        "__shared__ float s[256];\ns["
        + " * ".join(["(threadIdx.x + n)"] * n)
        + "] = 1;\n__syncthreads();\ng[0] = s[0];"
    )
