"""What inline assembler does to shared memory."""

# ruff: noqa: E501  (an instruction is read best in one line)

from __future__ import annotations

import pytest
from harness import kernel_facts
from interpret import Run

from smem_lsp.ir.nodes import Kernel
from tests.causes import unknown, why_fixed


def kernel_of(statements: str) -> Kernel:
    text = f"__global__ void k(float* out, int n) {{ __shared__ float a[64]; unsigned r0, r1, r2, r3; {statements} }}\n"
    return kernel_facts(text).kernel


ADDRESS = "unsigned s = static_cast<unsigned>(__cvta_generic_to_shared(a + 4)); "


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ('asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r0) : "r"(s));', ["R a 16+4"]),
        ('asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4 + 8];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(s));',
         ["R a 24+16"]),
        ('asm volatile("st.shared.v2.b32 [%0], {%1, %2};" :: "r"(s + n * 4), "r"(r0), "r"(r1));', ["W a 28+8"]),
        ('asm("st.shared.b16 [%0+2], %1;" :: "r"(s), "h"(r0) : "memory");', ["W a 18+2"]),
        ('asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\\n"'
         ' : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(s));', ["R a 16+16"]),
        ('asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0,%1}, [%2];\\n"'
         ' : "=r"(r0), "=r"(r1) : "r"(s));', ["R a 16+16"]),
        ('asm volatile("{ .reg .pred p; setp.ne.b32 p, %0, 0; @p st.shared.b32 [%1], %2; }" :: "r"(n), "r"(s), "r"(r0));',
         ["W a 16+4"]),
        ('asm volatile("red.shared.add.u32 [%0], %1;" :: "r"(s), "r"(r0));', ["X a 16+4"]),
        ('asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\\n" :: "r"(s), "l"(out));', ["W a 16+16"]),
        ('asm volatile("cp.async.ca.shared.global [%0], [%1], %2;\\n" :: "r"(s), "l"(out), "n"(8));', ["W a 16+8"]),
        ('asm volatile("mov.u32 %0, %1;" : "=r"(r0) : "r"(s)); asm("st.shared.u32 [%0], %1;" :: "r"(r0), "r"(r1));',
         ["W a 16+4"]),
        ('asm("add.u32 %0, %1, 4;" : "=r"(r0) : "r"(s)); asm("st.shared.u32 [%0], %1;" :: "r"(r0), "r"(r1));',
         ["W a ?"]),
        ('asm("add.f32 %0, %1, %2;" : "=f"(a[1]) : "f"(a[2]), "f"(a[3]));', ["R a 8+4", "R a 12+4", "W a 4+4"]),
        ('asm volatile("bar.sync 0;");', ["block barrier"]),
        ('asm volatile("bar.sync %0, %1;" :: "r"(1), "r"(64));', ["named barrier"]),
        ('asm volatile("bar.warp.sync 0xffffffff;");', ["warp barrier"]),
        ('asm volatile("cp.async.wait_group 0;"); asm("mma.sync.aligned.m16n8k8 {%0}, {%1};" : "+r"(r0) : "r"(r1));', []),
    ],
)  # fmt: skip
def test_instructions(statements: str, expected: list[str]) -> None:
    kernel = kernel_of(ADDRESS + statements)
    assert Run(kernel, {"n": 3}).run() == expected
    assert kernel.complete


@pytest.mark.parametrize(
    ("statements", "fixed"),
    [
        (
            'asm volatile("cp.async.bulk.shared::cluster.global [%0], [%1], 16, [%2];" :: "r"(s), "l"(out), "r"(s));',
            "a is used by mbarrier at line 1",
        ),
        (
            'asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(s));',
            "a is used by mbarrier at line 1",
        ),
        (
            'asm volatile("tcgen05.alloc.sync [%0], 32;" :: "r"(s));',
            "the address of a escapes at line 1 (an operand of tcgen05)",
        ),
        ('asm volatile("st.global.u32 [%0], %1;" :: "l"(out), "r"(s));', "the address of a escapes at line 1 (an operand of st)"),
        ('asm volatile("ld.u32 %0, %1;" : "=r"(r0) : "m"(a));', "the address of a escapes at line 1 (an operand of inline assembler)"),
        ('asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(s), "l"(out));', "a copy into a may still be in flight (line 1)"),
    ],
)  # fmt: skip
def test_what_keeps_a_buffer_in_place(statements: str, fixed: str) -> None:
    assert why_fixed(kernel_of(ADDRESS + statements)) == fixed


def test_an_address_rounded_up_stays_in_its_buffer() -> None:
    text = "size_t s = (reinterpret_cast<size_t>(a) + 15) & ~size_t(15); ((float*)s)[0] = 1;"
    kernel = kernel_of(text)
    assert Run(kernel).run() == ["W a ?"]
    assert kernel.buffers[0].fixed is None


def test_an_address_that_is_not_followed_is_counted() -> None:
    kernel = kernel_of('asm volatile("st.shared.u32 [%0], %1;" :: "r"(n), "r"(r0));')
    assert unknown(kernel) == ("line 1: st at an address that is not followed",)
    assert kernel.unknown_accesses == 1


@pytest.mark.parametrize(
    ("code", "waits"),
    [
        ("s_waitcnt lgkmcnt(0) \\n s_barrier", True),  # of another machine
        ("call helper;", True),
        ("add.u32 %0, %0, 1;", False),
        ("prefetch.global.L2 [%1];", False),
        ("cp.async.bulk.prefetch.L2.global [%1], 16;", False),
    ],
)
def test_an_instruction_that_is_not_known_may_wait_for_other_threads(code: str, waits: bool) -> None:
    kernel = kernel_of(f'asm volatile("{code}" : "+r"(r0) : "l"(out));')
    assert bool(kernel.opaque) == waits


@pytest.mark.parametrize(
    "code",
    [
        "cp.async.bulk.shared::cta.global x;",
        "cp.async.bulk.shared::cta.global [%0], 16;",
        "cp.async.bulk.global.shared::cta.bulk_group [%0];",
        "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0];",
    ],
)
def test_a_bulk_copy_without_all_of_its_operands_moves_what_is_not_known(code: str) -> None:
    kernel = kernel_of(f'{ADDRESS}asm volatile("{code}" :: "r"(s));')
    assert kernel.unknown_accesses or why_fixed(kernel) or kernel.opaque
