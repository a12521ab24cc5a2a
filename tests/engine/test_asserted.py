"""What fits leaves out values that the text itself says are wrong: they do not compile."""

from __future__ import annotations

import pytest

from smem_lsp.engine.fit import fit

TEXT = """\
#define STAGES 4
constexpr int WIDTH = 1024;
#if STAGES > 6
#error too many
#endif
static_assert(WIDTH % 512 == 0, "x");
template <int N> __device__ void other() { static_assert(N > 1000); }
template <int N>
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  static_assert(N % 4 == 0 && sizeof(float) * N < 400);
  __shared__ float tile[STAGES][WIDTH], part[N / 8];
  part[threadIdx.x % (N / 8)] = 0;
  for (int i = threadIdx.x; i < STAGES * WIDTH; i += 256) tile[i / WIDTH][i % WIDTH] = in[i];
  __syncthreads();
  out[threadIdx.x] = tile[STAGES - 1][255 - threadIdx.x] + part[0];
}
void f(const float* in, float* out) { k<16><<<1, 256>>>(in, out); }
"""


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("STAGES", {2: None, 6: None, 8: "#error at line 4"}),
        ("WIDTH", {512: None, 256: "static_assert at line 6", 768: "static_assert at line 6"}),
        (
            "N",
            {
                4: "`part` would have no elements",
                6: "static_assert at line 10",
                8: None,
                128: "static_assert at line 10",
            },
        ),
    ],
)
def test_values_that_do_not_compile_have_their_reason(name: str, problems: dict[int, str | None]) -> None:
    found = fit(TEXT, "k", [(name, tuple(problems))]).combinations
    said = {each.values[0]: each.problem for each in found}
    assert said == {
        value: None if why is None else f"it does not compile: {why}" for value, why in problems.items()
    }


def test_what_fails_as_the_text_is_is_our_mistake_and_hides_nothing() -> None:
    """An assertion about a header that is not in sight, read with other values than the compiler has."""
    text = TEXT.replace("WIDTH % 512 == 0", "WIDTH < 1000")
    (now, then) = fit(text, "k", [("WIDTH", (1024, 2048))]).combinations
    assert (now.problem, then.problem) == (None, None)
