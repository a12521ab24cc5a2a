"""Names of kernels and their template arguments, out of what ptxas prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from toolchain import nvcc, require

from smem_lsp.engine import check
from smem_lsp.engine.measured import Measured
from smem_lsp.environment.compiler_names import read_name
from smem_lsp.environment.nvcc import compile_statistics


@pytest.mark.parametrize(
    ("symbol", "name", "arguments"),
    [
        ("_Z4gemmPKfPf", "gemm", ()),
        ("_ZN2ns5inner4gemmEPf", "ns::inner::gemm", ()),
        ("_Z4gemmIfLi32EEvPT_", "gemm", ("float", "32")),
        ("_Z1kIPKfLi64ELb0ELj2EEvPT_", "k", ("const float*", "64", "false", "2")),
        ("_ZN2ns1qINS_1SIfEELln3EEEvT_", "ns::q", ("S<float>", "-3")),
        ("_Z2enIL1E1EL2EC3ELc97ELy18446744073709551615EEvPf", "en", ("1", "3", "97", "18446744073709551615")),
        ("_Z1kI1AS0_EvT_T0_", "k", ("A", "A")),
        ("_Z1kISt4pairIifEEvT_", "k", ("pair<int, float>",)),
        ("_ZN1a41_GLOBAL__N__84408b7c_9_kernel_cu_577533661kILi64EEEvPf", "a::k", ("64",)),
        (
            "_Z6gr\u00f6\u00dfPf",
            "gr\u00f6\u00df",
            (),
        ),
        ("plain_c", "plain_c", ()),
    ],
)
def test_understood(symbol: str, name: str, arguments: tuple[str, ...]) -> None:
    found = read_name(symbol)
    assert (found.qualified, found.arguments) == (name, arguments)


@pytest.mark.parametrize(
    "symbol",
    [
        "_Z2pkIJifEEvPf",  # a pack
        "_Z1kILfeEvPf",
        "_Z1kIXadL_Z1fvEEEvPf",  # the address of a function
        "_Z1kIS9_EvPf",  # stands for nothing
        "_Z1kI99999AEvPf",
        "_Z1kIf",
        "_Z",
        "_Z1kI" + "P" * 500 + "fEvv",
    ],
)
def test_not_understood_is_no_guess(symbol: str) -> None:
    assert read_name(symbol).arguments is None


@example("NE")
@given(st.text(alphabet="_ZNIEKLSPRTt0123456789afijkQ\u00e4", max_size=60))
@settings(max_examples=400)
def test_any_text_is_a_name(text: str) -> None:
    mangled = read_name("_Z" + text)
    assert mangled.qualified and all(mangled.arguments or ())
    assert text.startswith("_Z") or read_name(text).qualified == text


# Every way in which an instance is told apart; the sizes of the buffers tell which numbers belong to which.
INSTANCES = """\
#include <cuda_fp16.h>
struct Pair { int a, b; };
enum Mode { NONE, SOME };
#define BODY(T, N) \\
  __shared__ T s[N]; s[threadIdx.x] = p[1]; __syncthreads(); p[0] = s[3];
namespace a::b { namespace { template <typename T, int N> __global__ void q(T* p) { BODY(T, N) } } }
template <typename T, int N, bool B> __global__ void k(T* p) { BODY(T, N) }
template <Mode M, unsigned long long N> __global__ void m(float* p) { BODY(float, N) }
template __global__ void k<float, 32, true>(float*);
template __global__ void k<Pair, 32, false>(Pair*);
template __global__ void k<__half, 96, false>(__half*);
template __global__ void k<half2, 40, false>(half2*);
template __global__ void k<unsigned char, 100, false>(unsigned char*);
template __global__ void k<unsigned long long, 17, true>(unsigned long long*);
template __global__ void m<SOME, 50>(float*);
template __global__ void m<NONE, 51>(float*);
__global__ void over(float* p) { BODY(float, 60) }
__global__ void over(int* p) { BODY(int, 61) }
extern "C" __global__ void c(int* p) { BODY(int, 62) }
static __global__ void hidden(int* p) { BODY(int, 63) }
void f(int* p, float* q) { hidden<<<1, 32>>>(p); a::b::q<float, 64><<<1, 32>>>(q); }
"""


def test_each_instance_gets_its_own_numbers(tmp_path: Path) -> None:
    compiler = require(nvcc(), "no nvcc: instances are not compiled")
    found = tuple(compile_statistics(str(compiler), INSTANCES, "sm_90").values())
    assert len(found) == 13
    predicted = check(INSTANCES).facts
    measured = check(INSTANCES, measured=Measured(found, "nvcc")).facts
    told = {}
    for ours, theirs in zip(predicted, measured):
        of = getattr(theirs, "measured", ())
        told[ours.kernel.instance or ours.kernel.name] = [each.shared_bytes for each in of]
        assert not of or [each.shared_bytes for each in of] == [ours.static_bytes]
    assert told.pop("over") == []  # overloads are not told apart
    assert sum("?" not in name for name in told) == 11
    assert {name for name, sizes in told.items() if not sizes} == {name for name in told if "?" in name}
