"""Where the analysis says that copies of a pipeline have landed, they have, whatever the kernel does before."""

from __future__ import annotations

import random

from harness import kernel_facts

from executor import Run, build
from executor.cases import SEEDS, source

STEPS = (
    "pipe.producer_acquire(); cuda::memcpy_async(&a[tid], &in[tid], 4, pipe); pipe.producer_commit();",
    "pipe.producer_acquire(); cuda::memcpy_async(&b[tid], &in[tid], 4, pipe); pipe.producer_commit();",
    "cuda::memcpy_async(&a[tid], &in[tid], 4, pipe);",
    "pipe.producer_commit();",
    "pipe.consumer_wait(); pipe.consumer_release();",
    "pipe.consumer_wait(); pipe.consumer_release();",
    "pipe.consumer_wait(); pipe.consumer_release();",
    "cuda::pipeline_consumer_wait_prior<0>(pipe);",
    "cuda::pipeline_consumer_wait_prior<1>(pipe);",
)


def random_text(rng: random.Random) -> str:
    lines = []
    for _ in range(rng.randrange(2, 9)):
        around = rng.choice(
            (
                "{}",
                "{}",
                "{}",
                "if (n > 3) {{ {} }}",
                "if (n < 3) {{ {} }}",
                "for (int i = 0; i < n - 5; ++i) {{ {} }}",
            )
        )
        lines.append("  " + around.format(" ".join(rng.choices(STEPS, k=rng.choice((1, 1, 2))))))
    head = "__global__ void k(const float* in, float* out, int n) {\n  const int tid = threadIdx.x;\n"
    body = "\n".join(lines)
    end = "  __syncthreads();\n  a[63 - tid] = 1;  // end\n  out[tid] = a[63 - tid] + b[tid];\n}\n"
    shared = "  __shared__ float a[64];\n  __shared__ float b[64];\n"
    return f"{head}{shared}  auto pipe = cuda::make_pipeline();\n{body}\n{end}"


def test_what_has_landed_races_with_nothing() -> None:
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    sources = [source(f"p{number}", random_text(rng)) for number in range(150)]
    landed = [each for each in sources if kernel_facts(each.text).kernel.buffers[0].fixed is None]
    with build(landed) as programs:
        runs = [Run(each.name, number) for each in landed for number in SEEDS]
        for run, outcome in zip(runs, programs.run_all(runs)):
            text = next(each.text for each in landed if each.name == run.program)
            end = 1 + text.splitlines().index("  a[63 - tid] = 1;  // end")
            races = [race for race in outcome.races if race.variable == "a" and end in race.lines]
            assert not races, (seed, text, outcome.complaints)
    assert len(landed) >= 20, (len(landed), seed)
