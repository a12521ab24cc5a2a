"""One text, one answer: what is told depends on the text, the settings and the effort, on nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from smem_lsp.cli import main
from smem_lsp.config import Config
from smem_lsp.engine import FileReport, check
from smem_lsp.facts.attempts import LIMITS, Limits, limits_of
from smem_lsp.output import json_
from smem_lsp.rules.registry import ALL_NAMES
from smem_lsp.source import budget
from smem_lsp.source.queries import PROCESS, Store

RACY = """\
__global__ void racy(float* g) {
  __shared__ float s[256];
  s[threadIdx.x] = g[threadIdx.x];
  g[threadIdx.x] = s[255 - threadIdx.x];
}
void launch_racy(float* g) { racy<<<1, 256>>>(g); }
"""
SEVERAL = (
    RACY
    + """\
template <int N> __global__ void reduce(float* g, int n) {
  __shared__ float s[N];
  int t = threadIdx.x;
  s[t] = t < n ? g[t] : 0.0f;
  __syncthreads();
  for (int d = N / 2; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) g[0] = s[0];
}
__global__ void transpose(float* out, const float* in, int w) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  for (int j = 0; j < 32; j += 8) out[(x + j) * w + y] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void scan(int* g, int n) {
  extern __shared__ int temp[];
  int t = threadIdx.x, offset = 1;
  temp[2 * t] = g[2 * t];
  temp[2 * t + 1] = g[2 * t + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1];
    offset *= 2;
  }
  __syncthreads();
  g[2 * t] = temp[2 * t];
}
void run(float* g, int* h, int n) {
  reduce<64><<<1, 64>>>(g, n);
  reduce<128><<<1, 128>>>(g, n);
  reduce<256><<<1, 256>>>(g, n);
  transpose<<<dim3(4, 4), dim3(32, 8)>>>(g, g, 128);
  scan<<<1, 128, 1024>>>(h, 256);
}
"""
)


def said(report: FileReport) -> object:
    """All that a report says, fixes, verdicts and what was cut off included."""
    return (
        json_.finding_objects(report, ALL_NAMES),
        json_.kernel_objects(report),
        json_.file_object(report),
        [each.words for each in report.stopped],
    )


def cut(part: float) -> Limits:
    """This part of the limits for kernels; reading is not limited more than it is."""
    return replace(LIMITS.scaled(part), reading_units=LIMITS.reading_units)


def fresh(text: str, limits: Limits = LIMITS) -> FileReport:
    PROCESS.clear()
    return check(text, limits=limits, cache=Store())


@pytest.fixture
def jumping_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """At each look at a clock an hour has passed, now and then less than none."""
    hours = iter(range(0, 1 << 60, 3_600))
    for clock in ("_clock", "_pace"):
        monkeypatch.setattr(budget, clock, lambda: float(now if (now := next(hours)) % 7 else -now))
    yield


def test_the_clock_decides_nothing(jumping_clock: None) -> None:
    report = fresh(SEVERAL)
    assert report.stopped == ()
    assert {each.kernel for each in report.findings if each.code == "SMEM201"} == {"racy"}


CUTS = [2.0**-exponent for exponent in range(3, 15)]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("part", CUTS)
def test_what_is_remembered_decides_nothing(part: float) -> None:
    """Wherever the work ends, it ends there whatever the process, or the store of a server, knows already."""
    limits = cut(part)
    store = Store()
    PROCESS.clear()
    first = said(check(SEVERAL, limits=limits, cache=store))
    assert said(check(SEVERAL, limits=limits, cache=Store())) == first  # the process remembers
    assert said(check(SEVERAL, limits=limits, cache=store)) == first  # the store as well
    check(SEVERAL.replace("d >>= 1", "d = d / 2"), limits=limits, cache=store)
    assert said(check(SEVERAL, limits=limits, cache=store)) == first
    check(SEVERAL, cache=store)  # with all limits
    assert said(check(SEVERAL, limits=limits, cache=store)) == first


def test_some_of_these_cuts_are_in_the_middle() -> None:
    found = [fresh(SEVERAL, cut(part)) for part in CUTS]
    codes = [{each.code for each in report.findings} for report in found]
    assert "SMEM004" not in codes[0]
    assert "SMEM004" in codes[-1]
    assert any({"SMEM004", "SMEM201"} <= each for each in codes)


@pytest.mark.parametrize("looks", [1, 3, 30, 100, 300, 1_000])
def test_what_time_cut_off_is_found_by_the_next_run(looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server ends a run after seconds, and goes on with what the store holds by then."""
    whole, store, count = said(fresh(SEVERAL)), Store(), iter(range(1 << 60))
    PROCESS.clear()
    with monkeypatch.context() as patched:
        patched.setattr(budget, "_clock", lambda: 0.0 if next(count) < looks else 1e9)
        cut_off = check(SEVERAL, limits=replace(LIMITS, seconds=1.0), cache=store)
        words = [each.words for each in cut_off.stopped]
    assert next(count) < looks or any(each.endswith(": time") for each in words)
    assert said(check(SEVERAL, cache=store)) == whole


def test_more_effort_finds_more() -> None:
    words = ("quick", "normal", "thorough")
    quick, normal, thorough = (limits_of(Config(effort=word)) for word in words)
    assert quick.kernel_units < normal.kernel_units == LIMITS.kernel_units < thorough.kernel_units
    assert quick.file_units < normal.file_units < thorough.file_units


MONSTER = "  s[threadIdx.x] += g[threadIdx.x];\n  __syncthreads();\n"


def monster(name: str, lines: int) -> str:
    return f"__global__ void {name}(float* g) {{\n  __shared__ float s[256];\n{MONSTER * lines}}}\n"


def test_one_monster_starves_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A race in a small kernel is told behind kernels that use up all they may; the exit code says that more may be."""
    limits = cut(1 / 256)
    text = "".join(monster(f"monster{number}", 1_500) for number in range(5)) + RACY
    report = fresh(text, limits)
    assert {each.kernel for each in report.findings if each.code == "SMEM201"} == {"racy"}
    hidden = report.unseen
    assert hidden is not None and "monster0" in hidden and "racy" not in hidden
    (hint,) = (each for each in report.findings if each.code == "SMEM004")
    assert "`monster0`" in hint.message and hint.message.endswith("`--effort thorough` goes on")


def test_the_exit_code_says_that_not_all_was_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of 100,000 barriers beside a small kernel, at a part of the size."""
    monkeypatch.setattr("smem_lsp.facts.attempts.LIMITS", cut(1 / 16))
    file = tmp_path / "monster.cu"
    file.write_text(monster("large", 2_000) + RACY)
    arguments = ["check", "--isolated", "--no-cache", "--output-format", "concise", str(file)]
    assert main([*arguments, "--effort", "thorough"]) == 1
    assert "SMEM004" not in capsys.readouterr().out
    assert main([*arguments, "--effort", "quick"]) == 2
    out, err = capsys.readouterr()
    assert "SMEM201" in out
    assert err.startswith(f"smem-lsp: {file}: not all was looked at: ")
    assert err.endswith(" of large: effort; --effort thorough goes on\n")


def test_an_unknown_effort_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--effort", "heroic", "."]) == 2
    assert "heroic" in capsys.readouterr().err
