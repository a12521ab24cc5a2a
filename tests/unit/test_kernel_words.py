"""What a launch says in the words of its kernel: once for all versions of a file in which it is the same."""

from __future__ import annotations

import pytest

from smem_lsp.engine import check
from smem_lsp.source.queries import PROCESS, Store
from smem_lsp.unit import kernel_words

TEXT = """\
using Count = int;
template <int N> __global__ void first(float* d, Count n) {
  extern __shared__ float s[];
  s[threadIdx.x] = d[n];
  __syncthreads();
  d[threadIdx.x] = s[N];
}
__global__ void second(float* d, Count n) {
  __shared__ float s[64];
  s[threadIdx.x] = d[n];
  __syncthreads();
  d[threadIdx.x] = s[0];
}
void go(float* d, int size) {
  first<1><<<1, size, 4 * size>>>(d, size);
  first<2><<<1, 64, 256>>>(d, size);
  second<<<1, size>>>(d, size);
}
"""


@pytest.fixture
def spelled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels for which launches were put into words."""
    found: list[str] = []
    words = kernel_words._words

    def noted(terms, kernel, top, bound):  # type: ignore[no-untyped-def]
        found.append(kernel.name)
        return words(terms, kernel, top, bound)

    monkeypatch.setattr(kernel_words, "_words", noted)
    kernel_words._WORDS.forget(PROCESS)
    return found


def said(text: str, store: Store) -> dict[str, list[str]]:
    """By instance, what its launches say."""
    return {
        each.kernel.instance or each.kernel.name: [
            str(fact.text) for site in each.kernel.launches for fact in site.equalities
        ]
        for each in check(text, cache=store).kernels
    }


def test_only_the_kernel_that_changes_is_put_into_words_again(spelled: list[str]) -> None:
    store = Store()
    before = said(TEXT, store)
    assert before == {
        "first<1>": ["n == blockDim.x"],
        "first<2>": [],
        "second": ["n == blockDim.x"],
    }
    assert sorted(spelled) == ["first", "first", "second"]
    spelled.clear()
    assert said(TEXT.replace("s[0]", "s[1]"), store) == before
    assert set(spelled) <= {"second"}


def test_another_type_of_a_parameter_says_something_else(spelled: list[str]) -> None:
    store = Store()
    said(TEXT, store)
    after = said(TEXT.replace("using Count = int;", "using Count = short;"), store)
    assert after == {"first<1>": [], "first<2>": [], "second": []}
    assert "first" in spelled


def test_another_launch_says_something_else(spelled: list[str]) -> None:
    store = Store()
    said(TEXT, store)
    after = said(TEXT.replace("first<1><<<1, size, 4", "first<1><<<1, 2 * size, 4"), store)
    assert after["first<1>"] == ["blockDim.x == 2 * n"]
