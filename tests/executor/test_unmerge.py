"""Merged and taken apart again: the declared bytes are back, and so is what the program did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from executor import Outcome, Source, build_what_compiles
from executor.carved_kernels import CarvedKernel
from executor.rewriting import differences, outcomes, rewrites
from smem_lsp.engine import apply, check
from smem_lsp.engine.merges import unmerges
from smem_lsp.rules.model import MergeBuffers, MoveRanges

FOLDER = Path(__file__).parents[1] / "kernels"
NAMES = sorted(path.name for path in FOLDER.glob("*.cu") if ".wrong." not in path.name)
SEEDS = range(2)
CARVED = (23, 54, 63, 110, 112)  # of which a merge can be taken apart


@dataclass
class Apart:
    """``texts``: by name of the program; ``of``: each that is taken apart -> what it was made of; ``refused``."""

    texts: dict[str, str] = field(default_factory=dict)
    of: dict[str, str] = field(default_factory=dict)
    uncompiled: dict[str, str] = field(default_factory=dict)
    found: dict[str, list[Outcome]] = field(default_factory=dict)


def taken_apart(text: str) -> str | None:
    """The text without any merge that can be taken back; None: there is none."""
    report, changed = check(text), False
    while True:
        fixes = (f for facts in report.facts for each in unmerges(facts) for f in report.fixes_for(each))
        fix = next((each for each in fixes if each.edits), None)
        if fix is None:
            return report.source.text if changed else None
        report, changed = check(apply(report.source.text, fix)), True


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    all_ = Apart()
    for name in NAMES:
        text = (FOLDER / name).read_bytes().decode()
        for number, each in enumerate(rewrites(text)):
            if isinstance(each.remedy, MergeBuffers | MoveRanges):
                again = taken_apart(each.text)
                if again is not None:
                    all_.texts[name] = text
                    all_.texts[f"{name}, merge {number}"] = again
                    all_.of[f"{name}, merge {number}"] = name
    programs, all_.uncompiled = build_what_compiles([Source(*each) for each in all_.texts.items()])
    with programs:
        names = [name for name in all_.texts if name not in all_.uncompiled]
        all_.found = dict(outcomes(programs, names, SEEDS))
    yield all_


@pytest.mark.slow(seconds=60)
def test_most_merges_can_be_taken_back(apart: Apart) -> None:
    assert len(apart.of) >= 25, sorted(apart.of)


@pytest.mark.slow(seconds=60)
def test_the_declared_bytes_are_back(apart: Apart) -> None:
    """Or fewer: a guest that was declared above its host stands below it now, which may save padding."""
    for name, original in apart.of.items():
        before, after = (check(apart.texts[each]).kernels[0].static_bytes for each in (original, name))
        assert before is not None and after is not None and 0 <= before - after < 8, name


@pytest.mark.slow(seconds=60)
def test_it_compiles_and_does_what_it_did(apart: Apart) -> None:
    assert not {
        name: why for name, why in apart.uncompiled.items() if apart.of.get(name) not in apart.uncompiled
    }
    for name, original in apart.of.items():
        if original in apart.found and name in apart.found:
            assert differences(apart.found[original], apart.found[name]) == "", name


@pytest.mark.slow(seconds=30)
def test_ranges_in_terms_keep_what_the_kernel_puts_out() -> None:
    """Carved by a number of the launch, merged, and taken apart again."""
    kernels = [CarvedKernel(seed) for seed in CARVED]
    texts = {f"k{seed}": each.text() for seed, each in zip(CARVED, kernels)}
    main = kernels[0].host()
    made = {
        f"{name}, merge {number}": again
        for name, text in texts.items()
        for number, each in enumerate(rewrites(text))
        if (again := taken_apart(each.text)) is not None
    }
    assert len(made) > 1
    sources = [Source(name, text + main) for name, text in (texts | made).items()]
    programs, uncompiled = build_what_compiles(sources)
    assert not uncompiled
    with programs:
        seen = outcomes(programs, [*texts, *made], SEEDS)
    for name in made:
        assert differences(seen[name.partition(",")[0]], seen[name]) == ""
