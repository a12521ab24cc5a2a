"""Instances of templates: which ones a file makes, and what the kernel is in each."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.ir.nodes import Kernel
from smem_lsp.semantics.file_scope import file_constants
from smem_lsp.source import SourceText
from smem_lsp.syntax.parse import parse
from smem_lsp.unit.instances import Instances, find_instances

KERNEL = "template <int N, typename T = float> __global__ void k(T* x) { __shared__ T a[N]; a[0] = 1; x[0] = a[0]; }"


def instances(text: str, path: str = "a.cu") -> Instances:
    unit = parse(SourceText(text, path))
    found = find_instances(unit, file_constants(unit))
    return found[next(f.number for f in unit.functions if f.is_kernel)]


def kernels(text: str) -> list[Kernel]:
    return [report.kernel for report in check(text).kernels]


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        ("void go(float* x) { k<64><<<1, 64>>>(x); }", ["64, float"]),
        ("void go(double* x) { k<64><<<1, 64>>>(x); }", ["64, double"]),
        ("void go(float* x) { k<64><<<1, 64>>>(x); k<64><<<2, 64>>>(x); }", ["64, float"]),
        ("template __global__ void k<8, double>(double*);", ["8, double"]),
        ("constexpr int B = 16; void go(float* x) { k<2 * B><<<1, 1>>>(x); }", ["32, float"]),
        ("void go(float* x) { constexpr int B = 4; k<B><<<1, 1>>>(x); }", ["4, float"]),
        ("void go(float* x) { using R = int; k<3, R><<<1, 1>>>((R*)x); }", ["3, int"]),
        ("void go(float* x) { auto f = &k<5>; f<<<1, 1>>>(x); }", ["5, float"]),
        ("void go() { cudaFuncSetAttribute(k<5, char>, attribute, 1); }", ["5, char"]),
        (
            "void go(float* x, int n) { switch (n) { case 1: k<1><<<1, 1>>>(x); break; default: k<2><<<1, 1>>>(x); } }",
            ["1, float", "2, float"],
        ),
        (
            "template <int B> void run(float* x) { k<B><<<1, B>>>(x); } void go(float* x) { run<8>(x); run<16>(x); }",
            ["8, float", "16, float"],
        ),
        (
            "template <typename T> void run(T* x) { k<4><<<1, 1>>>(x); } void go(double* x) { run(x); }",
            ["4, double"],
        ),
        (
            "template <int B> void run(float* x) { if constexpr (B > 8) k<B><<<1, 1>>>(x); else k<1><<<1, 1>>>(x); }"
            " void go(float* x) { run<4>(x); }",
            ["1, float"],
        ),
        (
            'void go(Tensor t) { AT_DISPATCH_FLOATING_TYPES_AND_HALF(t.type(), "k", ([&] {'
            " k<2, scalar_t><<<1, 1>>>(t.data_ptr<scalar_t>()); })); }",
            ["2, double", "2, float", "2, at::Half"],
        ),
        (
            "struct S { static constexpr int n = 3; }; struct L { static constexpr int n = 9; };"
            " void go(std::variant<S, L> v, float* x) {"
            " std::visit([&](auto c) { using C = decltype(c); k<C::n><<<1, C::n>>>(x); }, v); }",
            ["3, float", "9, float"],
        ),
        (
            "using Flag = std::variant<std::true_type, std::false_type>;"
            " void go(Flag f, std::variant<float*, double*> p) {"
            " std::visit([=](const auto& f, auto q) { k<f ? 8 : 4><<<1, 1>>>(q); }, f, p); }",
            ["8, float", "8, double", "4, float", "4, double"],
        ),
        ("void (*table[])(float*) = {k<2>, &k<4>, ::k<2>};", ["2, float", "4, float"]),
        ("auto one = k<16>; void go(float* x) { one<<<1, 1>>>(x); }", ["16, float"]),
        (
            "namespace b { void k(int); } void go(float* x) { b::k<4><<<1, 1>>>(x); k<8><<<1, 1>>>(x); }",
            ["8, float"],
        ),
        ("void go(float* x) { far::away::k<4, int><<<1, 1>>>(x); k<8><<<1, 1>>>(x); }", ["8, float"]),
        (
            "namespace b { using ::k; } void go(float* x) { ::k<1><<<1, 1>>>(x); k<8><<<1, 1>>>(x); }",
            ["1, float", "8, float"],
        ),
    ],
)
def test_instances_in_sight(uses: str, expected: list[str]) -> None:
    found = instances(f"{KERNEL}\n{uses}\n")
    assert [binding.text for binding in found.bindings] == expected
    assert found.complete


@pytest.mark.parametrize(
    ("uses", "why"),
    [
        ("void go(float* x) { k<N><<<1, 1>>>(x); }", "the arguments of one instance are not known"),
        ("template <int B> void run(float* x) { k<B><<<1, B>>>(x); }", None),
        (
            "void go(float* x) {" + "".join(f" k<{n}><<<1, 1>>>(x);" for n in range(1, 20)) + " }",
            "more than 8 instances",
        ),
        (
            "#ifdef WIDE\nvoid go(float* x) { k<9><<<1, 1>>>(x); }\n#endif",
            "another configuration may make other instances",
        ),
    ],
)
def test_there_may_be_more(uses: str, why: str | None) -> None:
    assert instances(f"{KERNEL}\n{uses}\n").why == why


def test_other_files_may_instantiate_a_template_of_a_header() -> None:
    assert instances(KERNEL, "a.cuh").why == "other files may include this one"


def test_a_thousand_instances_are_bounded() -> None:
    uses = "".join(f"k<{n}><<<1, 1>>>(x);" for n in range(1, 1001))
    found = instances(f"{KERNEL}\nvoid go(float* x) {{ {uses} }}\n")
    assert len(found.bindings) == 8


def test_mutually_instantiating_templates_end() -> None:
    text = (
        f"{KERNEL}\ntemplate <int B> void b(float* x);\n"
        "template <int B> void a(float* x) { k<B><<<1, 1>>>(x); b<B + 1>(x); }\n"
        "template <int B> void b(float* x) { k<B><<<1, 1>>>(x); a<B + 1>(x); }\n"
        "void go(float* x) { a<1>(x); }\n"
    )
    assert instances(text).why == "more than 8 instances"


def test_each_instance_is_a_kernel_of_its_own() -> None:
    found = kernels(f"{KERNEL}\nvoid go(float* x, double* y) {{ k<64><<<1, 32>>>(x); k<8><<<1, 8>>>(y); }}\n")
    assert [kernel.instance for kernel in found] == ["k<64, float>", "k<8, double>"]
    assert [kernel.buffers[0].bytes for kernel in found] == [256, 64]
    assert [kernel.launches[0].block for kernel in found] == [(32, 1, 1), (8, 1, 1)]
    assert not any(kernel.template for kernel in found)


def test_the_block_of_a_launch_follows_the_template() -> None:
    run = "template <int B> void run(float* x) { k<B><<<1, 2 * B>>>(x); }"
    text = f"{KERNEL}\n{run}\nvoid go(float* x) {{ run<32>(x); }}\n"
    (kernel,) = kernels(text)
    assert kernel.launches[0].block == (64, 1, 1)


def test_a_template_without_instances_stays_open() -> None:
    (kernel,) = kernels(KERNEL)
    assert kernel.template
    assert kernel.instance is None
    assert kernel.buffers[0].bytes is None


def test_a_function_template_is_bound_where_it_is_called() -> None:
    text = (
        "template <int N, typename T> __device__ T first(T v) { __shared__ T part[N]; part[0] = v; return part[0]; }\n"
        "__global__ void k(float* x, double y) { x[0] = first<4>(x[1]) + first<8>(y) + first<4>(x[2]); }\n"
    )
    (kernel,) = kernels(text)
    assert [(buffer.name, buffer.bytes) for buffer in kernel.buffers] == [("part", 16), ("part", 64)]


def test_what_all_instances_share_is_said_once() -> None:
    text = (
        "template <int N> __global__ void k(float* x) { __shared__ float a[N]; x[0] = N; }\n"
        "void go(float* x) { k<1><<<1, 1>>>(x); k<2><<<1, 1>>>(x); }\n"
    )
    report = check(text)
    assert [(finding.code, "in k<" in finding.message) for finding in report.findings] == [("SMEM101", False)]


def test_a_buffer_that_one_instance_uses_is_not_unused() -> None:
    text = (
        "template <int N> __global__ void k(float* x) {\n"
        "  __shared__ float a[N];\n"
        "  if constexpr (N > 1) { a[0] = x[1]; __syncthreads(); x[0] = a[0]; }\n"
        "}\n"
        "void go(float* x) { k<1><<<1, 1>>>(x); k<2><<<1, 1>>>(x); }\n"
    )
    assert [finding.code for finding in check(text).findings] == []


def test_the_data_of_a_tensor_tells_the_type() -> None:
    text = (
        "template <typename T> __global__ void k(const T* x) { __shared__ T a[64]; a[0] = x[0]; }"
        'void go(Tensor t) { AT_DISPATCH_FLOATING_TYPES(t.type(), "k", ([&] {'
        " k<<<1, 64>>>(t.{}<scalar_t>()); })); }"
    )
    for method in ("data_ptr", "data", "const_data_ptr"):
        found = instances(text.replace("{}", method, 1))
        assert [binding.text for binding in found.bindings] == ["double", "float"]
    assert instances(text.replace("{}", "other", 1)).why == "the arguments of one instance are not known"


def test_launch_bounds_follow_the_template() -> None:
    text = (
        "template <int B> __global__ void __launch_bounds__(2 * B) k(float* x) { __shared__ float a[B]; a[0] = x[0]; }"
        " void go(float* x) { k<32><<<1, 64>>>(x); k<64><<<1, 128>>>(x); }"
    )
    assert [kernel.launch_bounds for kernel in kernels(text)] == [(64, None), (128, None)]


def test_an_explicit_instantiation_may_leave_its_arguments_to_the_parameters() -> None:
    text = (
        "template <typename T> __global__ void k(T* x, int n) { __shared__ T a[32]; a[0] = 1; x[0] = a[0]; }\n"
        "template <typename T> void go(T* x, const int n) { k<<<1, 64>>>(x, n); }\n"
        "template void go(double* x, const int n);\n"
        "template __global__ void k(short*, int);\n"
    )
    assert sorted(kernel.instance or "" for kernel in kernels(text)) == ["k<double>", "k<short>"]


@pytest.mark.parametrize(
    ("macro", "expected"),
    [
        ("#define MINE(t, n, ...) AT_DISPATCH_SWITCH(t, n, CASES(__VA_ARGS__))", ["k<float>", "k<at::Half>"]),
        (
            "#define MINE(t, n, ...) AT_DISPATCH_SWITCH(t, n, AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(__VA_ARGS__))",
            ["k<at::Half>", "k<at::BFloat16>"],
        ),
    ],
)
def test_cases_of_a_dispatch_of_ones_own(macro: str, expected: list[str]) -> None:
    text = f"""
#define CASES(...) AT_DISPATCH_CASE(at::kFloat, __VA_ARGS__) AT_DISPATCH_CASE(at::kHalf, __VA_ARGS__)
{macro}
template <typename T> __global__ void k(T* x) {{ __shared__ T a[64]; a[0] = 1; x[0] = a[0]; }}
void go(torch::Tensor& x, int n) {{
  dim3 block(std::min(n, 1024));
  MINE(x.scalar_type(), "k", [&] {{ k<scalar_t><<<1, block>>>(x.data_ptr<scalar_t>()); }});
}}
"""
    found = kernels(text)
    assert [each.instance for each in found] == expected
    for kernel in found:
        assert [str(site.terms.block[0]) for site in kernel.launches] == ["min(n, 1024)"]


def test_a_visitor_gives_each_instance_its_own_block() -> None:
    text = (
        "template <bool W> __global__ void k(float* x) { __shared__ float s[W ? 256 : 128]; s[threadIdx.x] = 1;"
        " __syncthreads(); x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }"
        " void go(std::variant<std::true_type, std::false_type> f, float* x) {"
        " std::visit([=](auto w) { constexpr int t = w ? 256 : 128; k<w><<<1, t>>>(x); }, f); }"
    )
    blocks = {k.instance: [launch.block for launch in k.launches] for k in kernels(text)}
    assert blocks == {"k<true>": [(256, 1, 1)], "k<false>": [(128, 1, 1)]}
