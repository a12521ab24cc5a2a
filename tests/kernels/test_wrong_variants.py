"""The tempting rewrites that are wrong (tests/kernels/*.wrong.cu): no plan leads to them.

The references of a variant become buffers again, and the layout that it gave them is put before the validator. That the
variants are caught when they run is tests/executor/test_programs.py.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from smem_lsp.allocation.plan import Item, Plan
from smem_lsp.allocation.validate import Violation, validate
from smem_lsp.engine import apply, check
from smem_lsp.fixes.layout import needed_alignment
from smem_lsp.rules.cause_words import told as why_told
from smem_lsp.rules.facts import KernelFacts

FOLDER = Path(__file__).parent
EXPECTED = {
    kernel["file"]: kernel["refused"]
    for kernel in json.loads((FOLDER / "expected.json").read_text("utf-8"))["kernels"]
}
_REFERENCE = re.compile(r"([\w]+) ?(?:\(&(\w+)\)((?:\[[^\]]*\])+)|& (\w+)) = ([^;]*);")
_OURS = re.compile(r"^ *(?:constexpr size_t|alignas\([^;]*smem_storage\[)[^;]*;\n", re.M)

# Not a layout of static buffers: what stands in its way instead.
OTHERWISE = {
    "29_dynamic_carve.wrong.cu": "ranges of dynamic memory",
    "35_union_already.wrong.cu": "a barrier is gone",
    "38_bank_padding_flattened.wrong.cu": "padding",
    "42_redundant_barrier.wrong.cu": "a barrier is gone",
    "50_copy_capture.wrong.cu": "a reference that a lambda copies",
    "51_switch_scope.wrong.cu": "a reference that is jumped over",
}
LAYOUTS = sorted(path.name for path in FOLDER.glob("*.wrong.cu") if path.name not in OTHERWISE)


def text_of(name: str) -> str:
    return (FOLDER / name).read_bytes().decode()


def unmerged(text: str) -> tuple[str, dict[str, str]]:
    """A variant with buffers in the place of its references; what each was bound to."""
    bound: dict[str, str] = {}

    def declared(found: re.Match[str]) -> str:
        kind, array, dims, plain, target = found.groups()
        bound[array or plain] = target
        return f"__shared__ {kind} {array or plain}{dims or ''};"

    return _REFERENCE.sub(declared, _OURS.sub("", text)), bound


def violations(facts: KernelFacts, places: dict[str, int]) -> list[Violation]:
    """What the validator says of a layout; buffers without a place stand behind all others."""
    needed = needed_alignment(facts)
    items = [Item(item.index, item.name, item.size, needed[item.index]) for item in facts.items]
    end = max(places[item.name] + item.size for item in items if item.name in places)
    offsets: dict[int, int] = {}
    for item in items:
        offsets[item.index] = places.get(item.name, -(-end // 16) * 16)
        end = max(end, offsets[item.index] + item.size)
    plan = Plan("wrong", end, offsets)
    fixed = frozenset(buffer.index for buffer in facts.kernel.buffers if buffer.fixed is not None)
    return validate(items, plan, facts.kernel.body, facts.best[0].facts, fixed)


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_validator_rejects_the_layout(name: str) -> None:
    text, bound = unmerged(text_of(name))
    facts = check(text).facts[0]
    sizes = {item.name: item.size for item in facts.items}
    places = dict.fromkeys(bound, 0)
    for buffer, target in bound.items():
        whole = re.search(r"\+ (\w+)_offset\b", target)
        if whole:  # behind the buffer that is declared before it
            places[buffer] = sizes[list(bound)[list(bound).index(buffer) - 1]]
        if "smem_storage + sizeof(float[5])" in target:
            places[buffer] = 20
        host = re.search(r"^(\w+)$|\((\w+)\)$", target)
        if host and "smem_storage" not in target:
            places[host[1] or host[2]] = 0
    assert len(places) > 1
    assert violations(facts, places)


def test_every_variant_is_refused_in_one_way_or_another() -> None:
    assert len(LAYOUTS) + len(OTHERWISE) == 33


def test_ranges_of_dynamic_memory_are_validated_too() -> None:
    """`y` where `x` is: it is written from `x` in one statement."""
    facts = check(text_of("29_dynamic_carve.cu")).facts[0]
    assert facts.dynamic_partition is not None and facts.of_ranges is not None
    x, y, z = (item.index for item in facts.dynamic_partition.items)
    plan = Plan("wrong", 3072, {x: 0, y: 0, z: 2048})
    of = facts.of_ranges
    assert validate(of.items, plan, of.kernel.body, of.best[0].facts, frozenset())


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("29_dynamic_carve.wrong.cu", "SMEM202"),
        ("35_union_already.wrong.cu", "SMEM202"),
        ("42_redundant_barrier.wrong.cu", "SMEM201"),
    ],
)
def test_what_was_done_by_hand_is_reported(name: str, code: str) -> None:
    assert [finding.code for finding in check(text_of(name)).findings] == [code]


@pytest.mark.parametrize("name", ["38_bank_padding_flattened", "42_redundant_barrier", "51_switch_scope"])
def test_no_fix_leads_there(name: str) -> None:
    """Not even to the code of the variant with other comments."""
    text, wrong = text_of(f"{name}.cu"), _code(text_of(f"{name}.wrong.cu"))
    report = check(text)
    fixes = [fix for finding in report.findings for fix in report.fixes_for(finding)]
    assert fixes or name.startswith("38")
    assert not [fix.title for fix in fixes if fix.edits and _code(apply(text, fix)) == wrong]


def test_what_a_lambda_copies_stays_an_array() -> None:
    text = text_of("50_copy_capture.cu")
    report = check(text)
    (finding,) = report.findings
    (fix,) = report.fixes_for(finding)
    assert "__shared__ float a[256];" in apply(text, fix)


def _code(text: str) -> str:
    return "".join(re.sub(r"//[^\n]*", "", text).split())


# Why nothing is offered, as expected.json has it: a buffer is written while another holds a value, what is known of
# one that never shares, or nothing that could be shared with.
REASONS: dict[str, tuple[str, str] | str] = {
    "10_exclusive_divergent.cu": ("a", "b"),
    "13_filled_across_iterations.cu": ("tile", "acc"),
    "14_partial_rewrite.cu": ("b", "a"),
    "16_hole_partial_reinit.cu": ("b", "a"),
    "18_pointer_alias.cu": ("b", "a"),
    "19_escape.cu": ("b", "a"),
    "20_lambda_capture.cu": ("b", "a"),
    "26_device_helper.cu": "red belongs to block_sum",
    "34_many_scalars.cu": ("s1", "s0"),
    "35_union_already.cu": "one buffer only",
    "37_bank_padding.cu": "one buffer only",
    "38_bank_padding_flattened.cu": "tile is also addressed as flat[r * 32 + tx]",
    "42_redundant_barrier.cu": "one buffer only",
}


def test_every_refusal_that_is_expected_has_its_reason() -> None:
    assert {name for name, refused in EXPECTED.items() if refused} == set(REASONS)


@pytest.mark.parametrize("name", REASONS)
def test_a_program_is_refused_for_the_reason_that_is_expected(name: str) -> None:
    reason, told = REASONS[name], EXPECTED[name]
    facts = check(text_of(name)).facts[0]
    if isinstance(reason, str):
        assert told.startswith(reason)
        fixed = [
            why_told(facts.kernel, buffer.fixed)
            for buffer in facts.kernel.buffers
            if buffer.fixed is not None
        ]
        assert len(facts.items) == 1 or any(why.startswith(reason) for why in fixed)
        return
    writes, holds = (next(b.index for b in facts.kernel.buffers if b.name == each) for each in reason)
    found = facts.liveness.witnesses()[frozenset((writes, holds))]
    assert found.writes in (writes, holds)
    assert frozenset((writes, holds)) in facts.best[0].conflicts.hard
