"""Families of production kernels: plans, findings, verdicts, what the rewrites do when they run, bytes by ptxas, and
what fits on which device."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from executor import Programs, Source, build
from executor.rewriting import differences, outcomes, rewrites
from families.kernels import ATTENTION, FAMILIES, MLP, PIPELINED, STREAM_K, Family
from harness import promised_bytes
from test_kernels import EXPECTED, text_of
from toolchain import nvcc, require

from smem_lsp.cli import main
from smem_lsp.engine import FileReport, check
from smem_lsp.engine.merges import merges
from smem_lsp.environment.nvcc import compile_statistics
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.merging import step_of_ranges

FORMS = ("static", "dynamic")
EACH = [pytest.param(each, form, id=f"{each.kernel}-{form}") for each in FAMILIES for form in FORMS]
SEEDS = range(3)


def text_in(family: Family, form: str) -> str:
    return family.static if form == "static" else family.dynamic


def curve(facts: KernelFacts) -> list[tuple[int, int]]:
    """(added barriers, bytes) of the best plans of the arrays, whichever memory they are in."""
    of = facts.of_ranges or facts
    return [(len(each.plan.barriers), each.plan.bytes) for each in of.best]


@pytest.mark.parametrize(
    ("family", "smallest"), [(ATTENTION, 7168), (PIPELINED, 8192), (MLP, 14336), (STREAM_K, 4224)]
)
def test_both_forms_have_the_smallest_plan(family: Family, smallest: int) -> None:
    for form in FORMS:
        facts = check(text_in(family, form)).facts[0]
        assert curve(facts)[-1][1] in (smallest, smallest - 4), form  # padding at the end is no access


@pytest.mark.parametrize(("family", "form"), EACH)
def test_nothing_false_is_found(family: Family, form: str) -> None:
    """Bank conflicts are there: rows of 32 floats are read by column."""
    codes = {each.code for each in check(text_in(family, form)).findings}
    assert codes <= {"SMEM301", "SMEM302", "SMEM401", "SMEM501"}


@pytest.mark.parametrize(("family", "form"), EACH)
def test_without_the_barrier_that_is_needed_it_is_a_race(family: Family, form: str) -> None:
    text = text_in(family, form)
    whole, less = check(text), check(family.without_barrier(text))
    assert whole.kernels[0].verdict.kind.value != "racy"
    assert less.kernels[0].verdict.kind.value == "racy"
    assert [each.code for each in less.findings if each.code in ("SMEM201", "SMEM202")]


@pytest.mark.parametrize(("family", "form"), [each for each in EACH if "gemm" not in str(each.id)])
def test_what_has_no_copies_in_flight_is_proved_race_free(family: Family, form: str) -> None:
    assert check(text_in(family, form)).kernels[0].verdict.kind.value == "race-free"


# ---- every plan that gains a block can be reached ------------------------------------------------------------------


def gaining(facts: KernelFacts) -> Iterator[int]:
    """Bytes of the plans of the report that give another resident block somewhere."""
    static, divided = facts.static_bytes, facts.dynamic_partition
    if static is None or facts.declared is None:
        return
    for candidate in facts.best:
        after = facts.total(candidate.plan.bytes)
        if any(facts.blocks(row, after) > facts.blocks(row, static) for row in facts.occupied):
            yield after
    if divided is not None:
        for candidate in divided.best:
            if step_of_ranges(facts, divided.declared.bytes - candidate.plan.bytes) is not None:
                yield candidate.plan.bytes


def offered(report: FileReport, facts: KernelFacts) -> set[int]:
    """Bytes that a fix or a code action promises."""
    asked = [*report.findings, *merges(facts)]
    fixes = [fix for each in asked for fix in report.fixes_for(each) if fix.edits]
    return {promised_bytes(fix.title) for fix in fixes if "→" in fix.title}


@pytest.mark.parametrize(("family", "form"), EACH)
def test_a_plan_that_gains_a_block_is_offered(family: Family, form: str) -> None:
    report = check(text_in(family, form))
    facts = report.facts[0]
    assert set(gaining(facts)) <= offered(report, facts)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_so_is_that_of_a_reference_kernel(name: str) -> None:
    report = check(text_of(name))
    facts = report.facts[0]
    assert set(gaining(facts)) <= offered(report, facts)


# ---- what it does when it runs, and what ptxas and `fit` say of it --------------------------------------------------


@pytest.fixture(scope="module")
def programs() -> Iterator[tuple[Programs, list[str]]]:
    sources = []
    for family in FAMILIES:
        for form in FORMS:
            text = text_in(family, form)
            sources.append(Source(f"{family.kernel} {form}", text))
            for number, each in enumerate(rewrites(text)):
                sources.append(Source(f"{family.kernel} {form}, rewrite {number}", each.text))
    with build(sources) as built:
        yield built, [each.name for each in sources]


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize(("family", "form"), EACH)
def test_a_rewrite_gives_the_same_bytes_without_a_race(
    programs: tuple[Programs, list[str]], family: Family, form: str
) -> None:
    built, every = programs
    name = f"{family.kernel} {form}"
    found = outcomes(built, [each for each in every if each == name or each.startswith(f"{name},")], SEEDS)
    assert all(outcome.clean for outcome in found[name]), found[name][0].complaints
    for rewritten in found.keys() - {name}:
        assert differences(found[name], found[rewritten]) == "", rewritten
    assert len(found) > 1


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.kernel)
def test_ptxas_reports_the_bytes_that_are_promised(family: Family) -> None:
    compiler = require(nvcc(), "nvcc is not installed")
    for text, promised in [(family.static, family.bytes), *_promised(family.static)]:
        statistics = compile_statistics(str(compiler), text, "sm_90")
        assert promised in {each.shared_bytes for each in statistics.values()}, text


def _promised(text: str) -> list[tuple[str, int]]:
    return [(each.text, each.fix.static_bytes or 0) for each in rewrites(text)]


def test_fit_shows_how_many_stages_fit_on_four_devices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gemm.cu"
    path.write_text(PIPELINED.static)
    arches = ("sm_80", "sm_86", "sm_90", "sm_120")
    asked = ["fit", f"{path}:gemm", "--vary", "S=2..13", "--arch", ",".join(arches), "--format", "json"]
    assert main(asked) == 0
    two, *_, thirteen = json.loads(capsys.readouterr().out)["combinations"]
    assert [each["arch"] for each in two["targets"]] == list(arches)
    assert (two["bytes_declared"], two["bytes_with_barriers"]) == (12416, 8192)
    assert all(each["blocks_with_barriers"] >= each["blocks_declared"] > 0 for each in two["targets"])
    assert thirteen["bytes_with_barriers"] > 48 * 1024
