"""Budgets: what they stop, what is told, and that nothing else is lost."""

from __future__ import annotations

import importlib
import time
from pathlib import Path

import pytest

from smem_lsp.engine import FileReport, check
from smem_lsp.facts.attempts import Attempts, Limits
from smem_lsp.facts.stopped import Why
from smem_lsp.rules.model import Severity
from smem_lsp.source import Budget, OutOfBudget, Superseded, checkpoint
from smem_lsp.source.budget import STEPS, apart, look, pause, spend, uncounted, used_up, work_done
from smem_lsp.source.queries import Store

RACE = """\
__global__ void {name}(float* g) {{
  __shared__ float s[256];
  s[threadIdx.x] = g[threadIdx.x];
  g[threadIdx.x] = s[255 - threadIdx.x];
}}
void launch_{name}(float* g) {{ {name}<<<1, 256>>>(g); }}
"""


def spin(units: int) -> None:
    for _ in range(units):
        checkpoint()


def spin_seconds(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        checkpoint()


# ---- the budget itself -------------------------------------------------------------------------------------


def test_work_within_its_budget_is_not_stopped() -> None:
    before = work_done()
    with Budget(units=100_000, seconds=60, megabytes=10_000):
        spin(100_000)
    assert work_done() - before == 100_000
    checkpoint()  # and outside nothing is limited


@pytest.mark.parametrize("units", [0, 1, 15, 16, 17, 129, 5_000])
def test_work_is_stopped_at_the_first_unit_too_many(units: int) -> None:
    done = 0
    with pytest.raises(OutOfBudget, match="effort"), Budget(units=units):
        while True:
            checkpoint()
            done += 1
    assert done == units


def test_work_that_is_spent_at_once_counts_as_much() -> None:
    with Budget(units=1_000):
        spend(600)
        spin(400)
        with pytest.raises(OutOfBudget):
            spend(1)
        with pytest.raises(OutOfBudget):
            checkpoint()  # a used-up budget stays used up


def test_work_whose_result_is_remembered_is_no_work_of_who_asks_first() -> None:
    with Budget(all=5_000), Budget(units=100):
        for _ in range(1_000):
            pause()
        with uncounted():
            spin(1_000)
            spend(1_000)
        spin(100)
        assert not used_up()
        with pytest.raises(OutOfBudget), uncounted():
            spin(60_000)  # but a budget of all work ends it


def test_work_apart_counts_for_the_budgets_around_that_are_not_its_own() -> None:
    with Budget(units=1_000):
        with Budget(units=10, own=True):
            with apart():
                spin(500)
            spin(10)
            with pytest.raises(OutOfBudget):
                checkpoint()
        spin(489)
        with pytest.raises(OutOfBudget):
            checkpoint()


def test_time_that_is_used_up_stops_the_work() -> None:
    with pytest.raises(OutOfBudget, match="time"), Budget(seconds=0.01):
        spin_seconds(60)


def test_memory_that_is_used_up_stops_the_work() -> None:
    held = []
    with pytest.raises(OutOfBudget, match="memory"), Budget(megabytes=64):
        for _ in range(4_000):
            held.append(bytearray(1 << 20))
            held[-1][:: 1 << 12] = b"x" * (1 << 8)  # pages count when they are written
            look()


def test_a_budget_around_another_one_counts_as_well() -> None:
    with Budget(units=10_000):
        with pytest.raises(OutOfBudget), Budget(units=1_000_000):
            spin(1_000_000)
        assert used_up()
    assert not used_up()


def test_nobody_waits_any_more() -> None:
    with pytest.raises(Superseded), Budget(stale=lambda: True):
        for _ in range(STEPS + 1):
            checkpoint()


# ---- one analysis after the other --------------------------------------------------------------------------


@pytest.mark.defects
def test_a_pass_that_is_stopped_or_fails_costs_its_own_result() -> None:
    attempts = Attempts(Limits(pass_units=1_000), "k")
    assert attempts.run("slow", lambda: spin(1_000_000), None) is None
    assert attempts.run("broken", lambda: 1 // 0, 7) == 7
    assert attempts.run("sound", lambda: 5, 0) == 5
    assert [(each.what, each.why) for each in attempts.stopped] == [
        ("slow", Why.EFFORT),
        ("broken", Why.DEFECT),
    ]
    report = attempts.stopped[1].report
    assert report is not None
    assert "internal error in broken of k: ZeroDivisionError" in report
    assert "test_budgets.py:" in report


def test_a_stale_run_is_no_failure_of_a_pass() -> None:
    attempts = Attempts()
    with pytest.raises(Superseded), Budget(stale=lambda: True):
        attempts.run("anything", lambda: spin(1_000_000), None)
    assert attempts.stopped == []


# ---- a check -----------------------------------------------------------------------------------------------


def told(report: FileReport) -> list[str]:
    return [each.message for each in report.findings if each.code == "SMEM004"]


def test_a_file_without_effort_is_told_as_a_whole() -> None:
    report = check(RACE.format(name="k"), limits=Limits(reading_units=0))
    assert told(report) == [
        "not all of this file was looked at: no effort was left for the rest; `--effort thorough` goes on"
    ]
    assert [each.words for each in report.stopped] == ["everything: effort"]
    assert report.statistics.lines == 6
    assert report.statistics.functions is None
    assert report.findings[0].severity is Severity.HINT


def test_a_kernel_without_effort_is_told_at_its_name() -> None:
    text = RACE.format(name="k")
    report = check(text, limits=Limits(kernel_units=0))
    assert told(report) == [
        "not all of this file was looked at: no effort was left for the rest of `k`; `--effort thorough` goes on"
    ]
    assert text[report.findings[0].span.start :].startswith("k(float* g)")
    assert [each.words for each in report.stopped] == ["everything of k: effort"]


def test_passes_without_effort_leave_the_buffers_known() -> None:
    report = check(RACE.format(name="k"), limits=Limits(pass_units=0))
    (message,) = told(report)
    assert "data races" in message  # what took no time at all has its result
    assert "SMEM201" not in {each.code for each in report.findings}
    assert report.kernels[0].static_bytes == 1024


def test_what_was_stopped_with_its_file_is_asked_again() -> None:
    """An answer that was cut because other kernels had taken the time is not kept."""
    text, cache = RACE.format(name="k"), Store()
    assert told(check(text, cache=cache, limits=Limits(reading_units=0)))
    report = check(text, cache=cache)
    assert told(report) == []
    assert "SMEM201" in {each.code for each in report.findings}


def test_a_kernel_whose_findings_have_no_time_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = iter((None,))

    def look_once() -> None:
        for _ in judged:
            return
        raise OutOfBudget("time")

    monkeypatch.setattr(importlib.import_module("smem_lsp.engine.kernels"), "look", look_once)
    report = check("".join(RACE.format(name=name) for name in ("first", "second", "third")))

    assert [each.kernel for each in report.findings if each.code == "SMEM201"] == ["first"]
    assert [each.words for each in report.stopped] == ["findings of second: time", "findings of third: time"]
    assert [each.kernel.name for each in report.kernels] == ["first", "second", "third"]
    last = report.kernels[2]
    assert (last.static_bytes, [site.block for site in last.kernel.launches]) == (1024, [(256, 1, 1)])
    (message,) = told(report)
    assert message.endswith("no time was left for findings of `third`")


def test_nothing_is_rewritten_where_an_instance_was_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    text = RACE.replace("__global__", "template <int N> __global__").replace("{name}<<<", "{name}<{n}><<<")
    text = text.replace("256", "N").replace("1, N>>>", "1, 256>>>").replace("255", "N - 1")
    text = text.format(name="k", n=256) + "void other(float* g) { k<128><<<1, 128>>>(g); }\n"
    whole = check(text)
    (race,) = (each for each in whole.findings if each.code == "SMEM201")
    assert whole.fixes_for(race)

    judged = iter((None,))

    def look_once() -> None:
        for _ in judged:
            return
        raise OutOfBudget("time")

    monkeypatch.setattr(importlib.import_module("smem_lsp.engine.kernels"), "look", look_once)
    report = check(text)
    (race,) = (each for each in report.findings if each.code == "SMEM201")
    assert report.fixes_for(race) == ()
    assert len(report.kernels) == 2
    assert [each.words for each in report.stopped] == ["findings of k: time"]


def test_every_kernel_is_judged_before_the_second_instance_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    import smem_lsp.facts.kernel_analysis as plan

    search, order = plan.find_hazards, []

    def noted(kernel, *arguments, **keywords):  # type: ignore[no-untyped-def]
        order.append(kernel.instance or kernel.name)
        return search(kernel, *arguments, **keywords)

    monkeypatch.setattr(plan, "find_hazards", noted)
    check(
        """\
template <int N> __global__ void many(float* g) {
  __shared__ float s[N];
  s[threadIdx.x] = g[threadIdx.x];
  __syncthreads();
  g[threadIdx.x] = s[N - 1 - threadIdx.x];
}
__global__ void one(float* g) {
  __shared__ float s[64];
  s[threadIdx.x] = g[threadIdx.x];
  __syncthreads();
  g[threadIdx.x] = s[63 - threadIdx.x];
}
void run(float* g) {
  many<64><<<1, 64>>>(g);
  many<128><<<1, 128>>>(g);
  one<<<1, 64>>>(g);
}
"""
    )
    assert list(dict.fromkeys(order)) == ["many<64>", "one", "many<128>"]


@pytest.mark.defects
def test_one_kernel_that_fails_costs_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in an analysis is told with a line to paste; the other kernels keep their findings."""
    import smem_lsp.facts.kernel_analysis as plan

    sound = plan.find_hazards

    def defective(kernel, *arguments, **keywords):  # type: ignore[no-untyped-def]
        if kernel.name == "broken":
            raise KeyError("nothing here")
        return sound(kernel, *arguments, **keywords)

    monkeypatch.setattr(plan, "find_hazards", defective)
    report = check(RACE.format(name="broken") + RACE.format(name="sound"))
    assert [each.kernel for each in report.findings if each.code == "SMEM201"] == ["sound"]
    assert [each.words for each in report.stopped] == ["data races of broken: internal error"]
    assert report.stopped[0].report is not None
    assert "KeyError at test_budgets.py:" in report.stopped[0].report
    assert told(report) == [
        "not all of this file was looked at: an internal error (see the log) stopped data races of `broken`"
    ]
    # The other analyses of the broken kernel have their results.
    assert report.kernels[0].static_bytes == 1024


@pytest.mark.defects
def test_a_kernel_that_is_not_wholly_known_is_not_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    import smem_lsp.facts.kernel_analysis as plan

    text = """\
__global__ void k(float* g) {
  __shared__ float a[2048];
  __shared__ float b[2048];
  a[threadIdx.x] = g[threadIdx.x];
  __syncthreads();
  g[threadIdx.x] = a[255 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = g[threadIdx.x + 256];
  __syncthreads();
  g[threadIdx.x] = b[255 - threadIdx.x];
}
void launch(float* g) { k<<<1, 256>>>(g); }
"""
    whole = check(text)
    assert any(whole.fixes_for(each) for each in whole.findings if each.code == "SMEM301")

    def defective(*arguments: object, **keywords: object) -> object:
        raise KeyError("nothing here")

    monkeypatch.setattr(plan, "bank_conflicts", defective)
    cut = check(text)
    assert any(each.code == "SMEM301" for each in cut.findings)
    assert not any(cut.fixes_for(each) for each in cut.findings)


def test_a_stopped_kernel_keeps_its_place_in_later_versions() -> None:
    cache, limits = Store(), Limits(pass_units=0)
    check(RACE.format(name="k"), cache=cache, limits=limits)
    moved = "// one line more\n\n" + RACE.format(name="k")
    report = check(moved, cache=cache, limits=limits)
    (finding,) = (each for each in report.findings if each.code == "SMEM004")
    assert moved[finding.span.start :].startswith("k(float* g)")


def test_a_rule_is_silenced_like_any_other() -> None:
    text = "// smem: ignore-file[SMEM004]\n" + RACE.format(name="k")
    assert told(check(text, limits=Limits(pass_units=0))) == []


def test_nothing_is_stopped_in_an_ordinary_file() -> None:
    assert check(RACE.format(name="k")).stopped == ()


def test_no_suppression_is_called_unused_where_something_was_stopped() -> None:
    text = RACE.format(name="k").replace(
        "s[255 - threadIdx.x];", "s[255 - threadIdx.x];  // smem: ignore[SMEM201]"
    )
    assert not check(text).findings
    cut = check(text, limits=Limits(pass_units=0))
    assert {each.code for each in cut.findings} == {"SMEM004"}


@pytest.mark.defects
def test_the_command_line_tells_a_defect_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import smem_lsp.facts.kernel_analysis as plan
    from smem_lsp.cli import main

    def defective(*arguments: object, **keywords: object) -> object:
        raise KeyError("nothing here")

    monkeypatch.setattr(plan, "find_hazards", defective)
    file = tmp_path / "k.cu"
    file.write_text(RACE.format(name="k"))
    for format in ("json", "full"):
        assert main(["check", str(file), "--isolated", "--output-format", format]) == 2
        out, err = capsys.readouterr()
        assert err.startswith(
            f"smem-lsp: {file}: internal error in data races of k: KeyError at test_budgets.py:"
        )
        assert err.count("\n") == 1 and "please report this line (smem-lsp " in err
        assert "No findings" not in out
    assert "SMEM004" in out


@pytest.mark.parametrize("cases", [100, 260, 3_000])
def test_a_deep_nest_is_walked_or_left_alone(cases: int) -> None:
    arms = "\n".join(f"case {n}: s[{n % 256}] = {n}; break;" for n in range(cases))
    report = check(f"__global__ void k(int n) {{\n__shared__ float s[256];\nswitch (n) {{\n{arms}\n}}\n}}\n")
    assert report.stopped == ()
    (facts,) = report.facts
    assert (facts.withheld is not None) == (cases > 250)
    assert report.kernels[0].static_bytes == 0  # ptxas drops what is never read


@pytest.mark.defects
def test_what_is_nested_too_deeply_is_no_defect() -> None:
    attempts = Attempts()

    def deeper(level: int) -> int:
        return deeper(level + 1) + 1

    assert attempts.run("nothing", lambda: deeper(0), -1) == -1
    assert [(each.why, each.report) for each in attempts.stopped] == [(Why.DEPTH, None)]
