"""What an edit does not touch is not asked of the solver again. That what is told stays the same: tests/fuzz."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.answer_cache import ANSWERS
from smem_lsp.analysis.decision.pair_question import PairQuestion
from smem_lsp.analysis.decision.reply import PairResult
from smem_lsp.engine import FileReport, check
from smem_lsp.output import verdicts
from smem_lsp.source.queries import PROCESS, Store

KERNELS = """
__device__ float weight(int i) { return i * 0.5f; }
__device__ void spread(float* s, int t, float x) {
  s[t] = x;
  __syncthreads();
}

__global__ void turns(float* out, const float* in, int n) {
  __shared__ float s[2][128];
  int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) {
    s[i % 2][t] = in[i * 128 + t];
    __syncthreads();
    sum += s[i % 2][127 - t] * weight(i);
  }
  out[t] = sum;
}

__global__ void halves(float* out, const float* in) {
  __shared__ float s[128];
  __shared__ float first[128];
  int t = threadIdx.x;
  first[t] = in[t];
  __syncthreads();
  float x = first[127 - t];
  __syncthreads();
  spread(s, t, x);
  for (int step = 64; step > 0; step /= 2) {
    if (t < step) {
      s[t] += s[t + step];
    }
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void takes(float* out, const float* in, int n) {
  __shared__ int next, last;
  int t = threadIdx.x;
  float sum = 0.0f;
  if (t == 0) {
    next = 0;
    last = n;
  }
  __syncthreads();
  while (next < last) {
    sum += in[next * 128 + t] * in[next];
    __syncthreads();
    if (t == 0) {
      next = next + 1;
    }
    __syncthreads();
  }
  out[t] = sum;
}

void go(float* out, float* in, int n) {
  turns<<<4, 128>>>(out, in, n);
  halves<<<4, 128>>>(out, in);
  takes<<<4, 128>>>(out, in, n);
}
"""


def told(report: FileReport) -> list[object]:
    findings = [
        (found.code, found.message, found.span, found.related, report.fixes_for(found))
        for found in report.findings
    ]
    kernels = [(k.kernel.name, k.kernel.line, k.live, k.static_bytes, k.barriers) for k in report.kernels]
    return [*findings, *kernels, *verdicts.lines(report)]


@pytest.mark.parametrize(
    "typed",
    [
        "if (t > 3) out[t] = 1.0f;",
        "float more = in[t + 7] + in[t];",
        "if (n > 4) { out[t] = in[n]; }",
        "for (int j = 0; j < n; ++j) { out[j + t] = 2.0f; }",
    ],
)
def test_what_an_edit_does_not_touch_is_not_asked_again(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()
    reply = PairQuestion.reply

    def count(question: PairQuestion) -> PairResult:
        if question.asker.of.kernel.buffers[question.first.buffer].name in ("s", "first", "next", "last"):
            asked.append(question.first.point)
        return reply(question)

    monkeypatch.setattr(PairQuestion, "reply", count)
    ANSWERS.forget(PROCESS)
    store = Store()
    check(KERNELS, path="typed.cu", cache=store)
    before = len(asked)
    text = KERNELS.replace(
        "  int t = threadIdx.x;\n  float sum", f"  int t = threadIdx.x;\n  {typed}\n  float sum"
    )
    assert text != KERNELS
    changed = check(text, path="typed.cu", cache=store)
    assert before > 4
    assert len(asked) == before
    ANSWERS.forget(PROCESS)
    assert told(changed) == told(check(text, path="typed.cu", cache=Store()))
    assert len(asked) > before


def test_a_statement_in_front_of_a_barrier_asks_nothing_while_it_is_typed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = list[PairQuestion]()
    reply = PairQuestion.reply

    def count(question: PairQuestion) -> PairResult:
        if question.asker.of.kernel.buffers[question.first.buffer].name:  # not of memory that is not shared
            asked.append(question)
        return reply(question)

    monkeypatch.setattr(PairQuestion, "reply", count)
    ANSWERS.forget(PROCESS)
    store, typed = Store(), "float extra = 7.0f * blockIdx.x;"
    check(KERNELS, path="typed.cu", cache=store)
    before = len(asked)
    for end in range(1, len(typed) + 1):
        text = KERNELS.replace(
            "    __syncthreads();\n    sum", f"    {typed[:end]}\n    __syncthreads();\n    sum"
        )
        kernels = check(text, path="typed.cu", cache=store).kernels
        assert [len(kernel.barriers) for kernel in kernels] == [1, 4, 3]
        assert len(asked) == before, typed[:end]
