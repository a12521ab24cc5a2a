"""Wherever a budget ends in the work on one kernel or function, the others of the file keep what was found in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from smem_lsp.engine import FileReport, check, kernels
from smem_lsp.source import OutOfBudget

RACE = """\
  __shared__ float s[256];
  s[threadIdx.x] = g[threadIdx.x];
  g[threadIdx.x] = s[255 - threadIdx.x];
"""
TEXT = (
    "".join(f"__global__ void k{n}(float* g) {{\n{RACE}}}\n" for n in range(3))
    + "void run(float* g) { k0<<<1, 256>>>(g); k1<<<1, 256>>>(g); k2<<<1, 256>>>(g); }\n"
    # what a header of device functions holds: templates that no kernel of it calls
    + "".join(
        f"template <typename T> __device__ void f{n}(T* g) {{\n{RACE}  __syncthreads();\n}}\n"
        for n in range(3)
    )
)
NAMES = [*(f"k{n}" for n in range(3)), *(f"f{n}" for n in range(3))]
PLACES = ("may_share_or_wait", "stated_of", "walk")  # what judges a kernel and looks at its budget


def told(report: FileReport) -> set[tuple[str | None, str]]:
    return {(each.kernel, each.code) for each in report.findings if each.code != "SMEM004"}


class Ending:
    """A budget that ends when ``place`` is called for the ``turn``-th time, and stays used up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: str, turn: int) -> None:
        self.calls = 0
        self._iteration = turn
        self._work: Callable[..., Any] = getattr(kernels, place)
        monkeypatch.setattr(kernels, place, self)
        used_up = kernels.used_up
        monkeypatch.setattr(kernels, "used_up", lambda: "time" if self.ended else used_up())

    @property
    def ended(self) -> bool:
        return self.calls >= self._iteration

    def __call__(self, *given: Any) -> Any:
        self.calls += 1
        if self.ended:
            raise OutOfBudget("time")
        return self._work(*given)


def report_of(whole: bool) -> FileReport:
    return check(TEXT, path="k.cuh", whole=whole)


@pytest.mark.parametrize("place", PLACES)
def test_what_was_found_before_the_budget_ended_is_told(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        never = Ending(patched, place, 1_000_000)
        clean = report_of(whole=False)
    assert {kernel for kernel, _ in told(clean)} == set(NAMES) and not clean.stopped
    assert never.calls, f"{place} is not what judges a kernel any more"
    for turn in range(1, never.calls + 1):
        with monkeypatch.context() as patched:
            Ending(patched, place, turn)
            report = report_of(whole=False)
        assert told(report) <= told(clean)
        kept = {kernel for kernel, _ in told(report)}
        assert kept == set(NAMES[: len(kept)]), (place, turn)
        assert report.stopped and not any(each.report for each in report.stopped)


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_the_barriers_of_a_function_cost_that_function_alone(
    turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A header of two hundred device functions ended the check of the whole file."""
    Ending(monkeypatch, "walk", turn)
    report = report_of(whole=True)
    assert {kernel for kernel, _ in told(report)} == set(NAMES[: 2 + turn])
    assert [each.words for each in report.stopped] == [f"findings of f{n}: time" for n in range(turn - 1, 3)]
    (hint,) = (each for each in report.findings if each.code == "SMEM004")
    assert report.source.slice(hint.span) == f"f{turn - 1}"
    assert all(f"`f{n}`" in hint.message for n in range(turn - 1, 3))
