"""The reference kernels: buffers, layouts, refusals and rewrites, read from the text and compared with the numbers in
``kernels/expected.json`` (bytes as ptxas 13.0 reports them, plans by exhaustive search)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from harness import MERGES, curve_of, merges_offered, plan_fix

from smem_lsp.engine import FileReport, apply, check
from smem_lsp.fixes.model import Fix, Safety

FOLDER = Path(__file__).parent
EXPECTED: dict[str, dict[str, Any]] = {
    kernel["file"]: kernel for kernel in json.loads((FOLDER / "expected.json").read_text("utf-8"))["kernels"]
}
WRONG = sorted(path.name for path in FOLDER.glob("*.wrong.cu"))

# What the source text does not say, or says in another way than the trees that the expected plans were made from.
NAMES = {"43_blocks_same_name.cu": ["stage", "stage"]}
UNKNOWN = {
    "29_dynamic_carve.cu": "no static bytes; its ranges: tests/analysis/storage/test_dynamic_ranges.py",
}
STACKS = {
    # `red` belongs to a helper that others may call, and only a changed interface of the helper could merge it.
    "26_device_helper.cu": 5120,
    # The expected 537 B follow from q being read last; the statement of line 20 reads d, q, tag, flag.
    "36_padding_order.cu": 544,
}
# Expected rewrites that are no merges of the whole best plan within the kernel.
OTHER_REWRITES = {
    "26_device_helper.cu": "changes a helper's interface",
    "27_template.cu": "the merge is offered for the largest instance",
    "28_macro_dims_crlf.cu": "a declaration out of a macro stays where it is",
    "29_dynamic_carve.cu": "a carve and its launch",
    "31_static_to_dynamic.cu": "static to dynamic, no merge",
    "37_bank_padding.cu": "pads against bank conflicts",
    "42_redundant_barrier.cu": "takes a barrier away",
    "51_switch_scope.cu": "moves a reference in front of a switch",
    "24_cub_tempstorage.cu": "a size is not known",
}

# b[tid] = a[255 - tid] * 2.0f reads one buffer and writes the other in a single statement: the expected point
# "2 added barriers, 1024 bytes" needs one between the read and the write, where no statement begins.
CURVES = {"03_many_declarators.cu": [(0, 2048)], "26_device_helper.cu": [(0, 5120)]}


def text_of(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


@cache
def report_of(name: str) -> FileReport:
    return check(text_of(name))


def merge_of(name: str, barriers: int) -> Fix:
    """The rewrite of the plan with this many added barriers."""
    return plan_fix(text_of(name), barriers)


def rewritten(added: bool) -> list[str]:
    """Kernels whose rewrite adds barriers, or adds none."""
    return [
        name
        for name, kernel in EXPECTED.items()
        if kernel["rewrite"]
        and bool(kernel["rewrite"]["barriers_added"]) == added
        and name not in OTHER_REWRITES
    ]


@pytest.mark.parametrize("name", [*EXPECTED, *WRONG])
def test_every_statement_is_understood(name: str) -> None:
    report = report_of(name)
    assert report.statistics.unparsed_statements == 0
    assert [kernel.kernel.complete for kernel in report.kernels] == [True] * len(report.kernels)
    assert report.kernels


@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in UNKNOWN])
def test_buffers_have_the_bytes_and_alignment_that_ptxas_gives_them(name: str) -> None:
    """Alignment also counts what accesses through wider types ask for."""
    buffers = report_of(name).kernels[0].kernel.buffers
    found = [(b.name, b.bytes, max(b.align or 1, b.required_align)) for b in buffers]
    names = NAMES.get(name, [buffer["name"] for buffer in EXPECTED[name]["buffers"]])
    sizes = ((buffer["bytes"], buffer["align"]) for buffer in EXPECTED[name]["buffers"])
    assert found == [(each, *size) for each, size in zip(names, sizes, strict=True)]


@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in UNKNOWN])
def test_layouts_need_the_bytes_expected(name: str) -> None:
    expected, kernel = EXPECTED[name], report_of(name).kernels[0]
    plans = {plan.allocator: plan.bytes for plan in kernel.plans if plan.allocator in ("declared", "stack")}
    assert plans == {"declared": expected["declared"], "stack": STACKS.get(name, expected["stack"])}
    curve = [(point["barriers_added"], point["bytes"]) for point in expected["best"]]
    assert curve_of(kernel) == CURVES.get(name, curve)
    assert all(plan.optimal for plan in kernel.plans if plan.allocator == "best")


@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in UNKNOWN])
def test_static_bytes_are_those_declared(name: str) -> None:
    assert report_of(name).kernels[0].static_bytes == EXPECTED[name]["declared"]


@pytest.mark.parametrize("name", UNKNOWN)
def test_no_number_is_claimed_where_a_size_is_not_known(name: str) -> None:
    kernel = report_of(name).kernels[0]
    assert any(buffer.bytes is None for buffer in kernel.kernel.buffers)
    assert not any(plan.bytes for plan in kernel.plans)
    assert not kernel.static_bytes
    moved = ["Move z in smem"] if name == "29_dynamic_carve.cu" else []  # of dynamic shared memory
    assert [fix.title.partition(":")[0] for fix in merges_offered(text_of(name))] == moved


@pytest.mark.parametrize("name", [name for name, kernel in EXPECTED.items() if kernel["refused"]])
def test_nothing_is_offered_where_sharing_would_be_wrong(name: str) -> None:
    assert merges_offered(text_of(name)) == []


@pytest.mark.parametrize("name", rewritten(added=False))
def test_the_offered_merge_reaches_the_expected_bytes(name: str) -> None:
    expected = EXPECTED[name]
    if expected["declared"] - expected["rewrite"]["static_bytes"] < 128:
        fix = merge_of(name, 0)  # not worth a finding: the plan is there all the same
    else:
        fix = next(fix for fix in merges_offered(text_of(name)) if "no barrier added" in fix.title)
    assert f"→ {expected['rewrite']['static_bytes']:,} B" in fix.title
    assert fix.static_bytes == expected["rewrite"]["static_bytes"]
    assert apply(text_of(name), fix) != text_of(name)


@pytest.mark.parametrize("name", rewritten(added=True))
def test_no_barrier_is_proposed_at_equal_occupancy(name: str) -> None:
    assert [finding.code for finding in report_of(name).findings if finding.code in MERGES] == []


BARRIERS = {
    "02_needs_one_barrier.cu": (
        "  __syncthreads();  // red reuses tile: every warp must be done reading it\n  red[tid] = s;\n"
    ),
    "05_zero_trip_loop.cu": (
        "  __syncthreads();  // b reuses a: every warp must be done reading it\n  b[tid] = s;\n"
    ),
    "07_back_edge.cu": (
        "    s += b[(tid + 65) & 255];\n    __syncthreads();  // a reuses b: every warp must be done reading it\n  }\n"
    ),
    "08_barrier_in_branch.cu": (
        "  __syncthreads();  // b reuses a: every warp must be done reading it\n  b[tid] = s;\n"
    ),
}


@pytest.mark.parametrize("name", rewritten(added=True))
def test_the_plan_with_a_barrier_can_be_written(name: str) -> None:
    expected = EXPECTED[name]["rewrite"]
    fix = merge_of(name, expected["barriers_added"])
    fixed = apply(text_of(name), fix)
    assert f"→ {expected['static_bytes']:,} B, 1 barrier added" in fix.title
    assert check(fixed).kernels[0].static_bytes == expected["static_bytes"]
    assert fixed.count("sync") == text_of(name).count("sync") + 1
    if name in BARRIERS:
        assert BARRIERS[name] in fixed


def test_a_barrier_outside_every_loop_is_safe() -> None:
    assert merge_of("02_needs_one_barrier.cu", 1).safety is Safety.SAFE


def test_a_barrier_in_a_loop_is_unsafe_and_says_how_often_it_runs() -> None:
    fix = merge_of("07_back_edge.cu", 1)
    assert fix.safety is Safety.UNSAFE
    assert "8 executions per block" in fix.title


@pytest.mark.parametrize("name", ["11_thread_private.cu", "15_hole_full_reinit.cu"])
def test_a_block_size_that_a_launch_only_suggests_is_named(name: str) -> None:
    (fix,) = merges_offered(text_of(name))
    assert fix.safety is Safety.UNSAFE
    assert "assumes the 256×1×1 block of line" in fix.title


def test_a_merge_of_a_template_suits_all_its_instances() -> None:
    """In kt<4, char> the other buffer is the larger one: no buffer is the host of the other."""
    report = report_of("27_template.cu")
    (finding,) = (finding for finding in report.findings if finding.code == "SMEM301")
    (fix,) = report.fixes_for(finding)
    assert "union Smem" in apply(text_of("27_template.cu"), fix)


def test_a_plan_that_only_reorders_is_called_so() -> None:
    title = merge_of("36_padding_order.cu", 0).title
    assert title == "Reorder d, q, flag, tag: 544 → 532 B; unconfirmed"
