"""Numbers with a point are not taken for integers, and what can be known of them is."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_FRAME = """
__global__ void k(const float* in, float* out, float f, float g, int n) {{
  __shared__ float s[256];
  const int t = threadIdx.x;
  {body}
}}
void host(const float* in, float* out, float f, float g, int n) {{ k<<<8, 256>>>(in, out, f, g, n); }}
"""


def _verdict(body: str) -> str:
    (kernel,) = check(_FRAME.format(body=body)).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    "body",
    [
        "s[t] = 1; if (f > 0 && f < 1) out[t] = s[255 - t];",
        "const float h = f; s[t] = 1; if (h > 0 && h < 1) out[t] = s[255 - t];",
        "s[t] = 1; if (f * 2 == 3) out[t] = s[255 - t];",
        "s[t] = 1; if (f / 2 * 2 != f + 1) out[t] = s[255 - t];",
        "s[t] = 1; if ((int)(f * 2) == 3) out[t] = s[255 - t];",
        "const int i = f * 2; s[t] = 1; if (i == 3) out[t] = s[255 - t];",
        "float h = f; h *= 2; s[t] = 1; if (h == 3) out[t] = s[255 - t];",
        "s[t] = 1; if (in[t] > 0 && in[t] < 1) out[t] = s[255 - t];",
        "s[t] = 1; if (in[t] * 2 == 3) out[t] = s[255 - t];",
        "const bool any = __any_sync(~0u, in[t] > 0); s[t] = 1; if (any) out[t] = s[255 - t];",
    ],
)
def test_there_are_numbers_between_two_integers(body: str) -> None:
    assert _verdict(body) == "racy"


@pytest.mark.parametrize(
    "body",
    [
        "if (in[t] < 0.5f) s[t] = 1; if (in[t] >= 0.25f) out[t] = s[255 - t];",
        # threads 0 and 1 lie on either side of 0.5
        "if (t < f) s[t] = 1; if (t > f) out[t] = s[t - 1];",
        "const float h = t / 2.0f; s[t] = 1; if (h > 0 && h < 1) out[t] = s[255 - t];",
        "const float x = t; const float y = x / 2; s[t] = 1; if (y * 2 == x) out[t] = s[255 - t];",
    ],
)
def test_nothing_is_proved_of_what_threads_compute_and_load(body: str) -> None:
    assert _verdict(body) != "race-free"


@pytest.mark.parametrize(
    "body",
    [
        "if (f < g) s[t] = 1; else out[t] = s[255 - t];",
        "if (f < g) s[t] = 1; if (f >= g) out[t] = s[255 - t];",
        "if (f > g) s[t] = 1; if (!(g < f)) out[t] = s[255 - t];",
        "if (f == 1) s[t] = 1; if (f != 1) out[t] = s[255 - t];",
        "const float h = f / 2; if (h > g) s[t] = 1; if (f / 2 <= g) out[t] = s[255 - t];",
        "const float h = f; if (h == 0) s[t] = 1; if (f > 0) out[t] = s[255 - t];",
        "const int i = f; if (i == 1) s[t] = 1; if (i == 2) out[t] = s[255 - t];",
        "s[t] = 1; if ((int)(t * 0.5f) * 2 == t + 1) out[t] = s[255 - t];",
    ],
)
def test_what_excludes_each_other(body: str) -> None:
    assert _verdict(body) == "race-free"
