"""Accesses that a GPU would refuse, reads of bytes that nobody wrote, and kernels that never end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from executor import Launch, Programs, Run, Source, build, filled
from executor.cases import built, marked, source, under_all_seeds

# kernel, kind of the trap, the variable that it names; the access stands on the line that ends in `// here`.
TRAPS = {
    "misaligned_vector": (
        """
        __shared__ float few[5];
        __shared__ float a[64];
        few[tid % 5] = a[tid] = 0;
        float4 q = *reinterpret_cast<float4*>(&a[0]);  // here
        out[tid] = q.x;
        """,
        "misaligned",
        "a",
    ),
    "misaligned_double": (
        """
        __shared__ unsigned char raw[256];
        double* d = reinterpret_cast<double*>(raw + 4);
        d[tid % 8] = 1;  // here
        """,
        "misaligned",
        "raw",
    ),
    "misaligned_global": (
        """
        float2 q = *reinterpret_cast<const float2*>(in + 1);  // here
        out[tid] = q.x;
        """,
        "misaligned",
        "",
    ),
    "misaligned_copy": (
        """
        __shared__ float a[64];
        __pipeline_memcpy_async(&a[2 * (tid % 8) + 1], &in[2 * tid], 8);  // here
        """,
        "misaligned",
        "a",
    ),
    "behind_an_array": (
        """
        __shared__ float a[64];
        __shared__ float b[64];
        b[tid] = 0;
        a[tid + 1] = in[tid];  // here
        """,
        "out of bounds",
        "a",
    ),
    "before_an_array": (
        """
        __shared__ float b[64];
        __shared__ float a[64];
        b[tid] = 0;
        out[tid] = a[n - 8];  // here
        """,
        "out of bounds",
        "a",
    ),
    "behind_dynamic_memory": (
        """
        extern __shared__ float a[];
        a[tid + 1] = in[tid];  // here
        """,
        "out of bounds",
        "dynamic shared memory",
    ),
    "behind_a_global_buffer": (
        """
        out[tid + 193] = 1;  // here
        """,
        "out of bounds",
        "",
    ),
    "no_pointer": (
        """
        float* p = n > 100 ? out : nullptr;
        p[tid] = 1;  // here
        """,
        "out of bounds",
        "",
    ),
    "a_copy_that_is_too_long": (
        """
        __shared__ float a[64];
        __pipeline_memcpy_async(&a[61], in, 16);  // here
        """,
        "out of bounds",
        "a",
    ),
    "the_memory_of_another_thread": (
        """
        __shared__ int* where;
        int mine = tid;
        if (tid == 0) where = &mine;
        __syncthreads();
        out[tid] = *where;  // here
        """,
        "out of bounds",
        "",
    ),
    "waiting_for_what_never_comes": (
        """
        __shared__ int flag;
        if (tid == 0) flag = 0;
        __syncthreads();
        while (*(volatile int*)&flag == 0) {  // here
        }
        """,
        "no end",
        "",
    ),
    "a_mask_without_the_thread": (
        """
        __syncwarp(0x0000FFFFu);  // here
        """,
        "mask without the thread",
        "",
    ),
    "a_named_barrier_that_does_not_exist": (
        """
        asm volatile("bar.sync 16, 64;");  // here
        """,
        "named barrier",
        "",
    ),
    "a_named_barrier_of_half_warps": (
        """
        asm volatile("bar.sync 1, 48;");  // here
        """,
        "named barrier",
        "",
    ),
    "a_barrier_object_that_nobody_made": (
        """
        __shared__ cuda::barrier<cuda::thread_scope_block> bar;
        bar.arrive_and_wait();  // here
        """,
        "no barrier object",
        "bar",
    ),
    "a_barrier_object_written_over": (
        """
        __shared__ cuda::barrier<cuda::thread_scope_block> bar;
        float* floats = reinterpret_cast<float*>(&bar);
        if (tid == 0) init(&bar, 64);
        __syncthreads();
        if (tid < 2) floats[tid] = 1;
        __syncthreads();
        bar.arrive_and_wait();  // here
        """,
        "no barrier object",
        "bar",
    ),
}
NO_TRAP = {
    "vectors_at_their_alignment": """
        __shared__ float a[64];
        __shared__ float2 b[32];
        a[tid] = in[tid];
        if (tid < 32) b[tid] = make_float2(in[tid], 1);
        __syncthreads();
        float4 q = *reinterpret_cast<float4*>(&a[tid / 4 * 4]);
        out[tid] = q.x + b[tid / 2].y + reinterpret_cast<float*>(b)[tid];
    """,
    "a_row_continued_in_the_next": """
        __shared__ float a[8][9];
        for (int i = tid; i < 72; i += 64) a[0][i] = i;
        __syncthreads();
        out[tid] = a[7][8] + (&a[0][0])[tid];
    """,
    "waiting_for_another_thread": """
        __shared__ int flag;
        if (tid == 0) flag = 0;
        __syncthreads();
        if (tid == 63) atomicExch(&flag, 1);
        while (atomicAdd(&flag, 0) == 0) {
        }
        out[tid] = 1;
    """,
}
UNINITIALISED = {
    "half_an_array": """
        __shared__ float a[64];
        if (tid < 32) a[tid] = in[tid];
        __syncthreads();
        out[tid] = a[tid];  // here
    """,
    "what_the_last_block_left": """
        __shared__ float a[64];
        if (blockIdx.x == 0) a[tid] = in[tid];
        if (blockIdx.x == 1) {
          out[tid] = a[tid];  // here
        }
    """,
    "an_atomic": """
        __shared__ int a[64];
        atomicAdd(&a[tid], 1);  // here
    """,
}
TEXTS = {**{name: case[0] for name, case in TRAPS.items()}, **NO_TRAP, **UNINITIALISED}
SOURCES = {
    name: source(
        name,
        text,
        dynamic_bytes=256 if "dynamic" in name else 0,
        blocks=2 if "block_left" in name else 1,
    )
    for name, text in TEXTS.items()
}


@pytest.fixture(scope="module")
def programs() -> Iterator[Programs]:
    with built(SOURCES) as all_of_them:
        yield all_of_them


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_stops_the_run_and_says_where(name: str, programs: Programs) -> None:
    _, kind, variable = TRAPS[name]
    for outcome in programs.run_all([Run(name, seed, budget=200_000) for seed in range(6)]):
        assert outcome.trap is not None and not outcome.completed
        assert (outcome.trap.kind, outcome.trap.variable) == (kind, variable)
        assert outcome.trap.line in marked(SOURCES[name], "here")


@pytest.mark.parametrize("name", NO_TRAP)
def test_what_is_allowed_does_not_stop_it(name: str, programs: Programs) -> None:
    for outcome in under_all_seeds(programs, name):
        assert outcome.clean, outcome.complaints


@pytest.mark.parametrize("name", UNINITIALISED)
def test_a_read_of_no_value_is_reported(name: str, programs: Programs) -> None:
    for outcome in under_all_seeds(programs, name):
        (found,) = outcome.uninitialised
        assert found.variable == "a"
        assert [found.line] == marked(SOURCES[name], "here")
        assert not outcome.races and outcome.completed


def test_the_address_outside_is_told(programs: Programs) -> None:
    trap = programs.run("behind_an_array", 1).trap
    assert trap is not None and (trap.address, trap.bytes, trap.thread) == (256, 4, 63)
    trap = programs.run("before_an_array", 1).trap
    assert trap is not None and trap.address == -4


def test_a_program_that_crashes_is_an_outcome_and_the_next_one_runs(programs: Programs) -> None:
    text = "int main() { int* p = nullptr; *(volatile int*)p = 1; }\n"
    loop = 'int main() { for (;;) asm volatile("" ::: "memory"); }\n'
    fine = (
        "__global__ void k(float* out) { out[0] = 1; }\nint main() { k<<<1, 1>>>(smem::output<float>(1)); }\n"
    )
    with build([Source("crash", text), Source("loop", loop), Source("fine", fine)]) as some:
        crash, late, good = some.run_all([Run("crash"), Run("loop", seconds=1), Run("fine")])
    assert (crash.crash, late.crash) == (11, 27)
    assert "signal 11" in crash.complaints and not crash.completed
    assert good.clean and good.buffers == {0: bytes.fromhex("0000803f")}


@pytest.mark.parametrize(("threads", "dynamic_bytes"), [(2048, 0), (32, 228 << 10)])
def test_a_launch_that_cannot_be(threads: int, dynamic_bytes: int) -> None:
    launch = Launch("k", (1,), (threads,), (filled("float", 8),), dynamic_bytes)
    with build([Source("k", "__global__ void k(float* p) { p[0] = 2; }\n", launch)]) as some:
        outcome = some.run("k")
    assert outcome.trap is not None and outcome.trap.kind == "launch"
    assert outcome.buffers == {}
