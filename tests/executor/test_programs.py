"""The reference programs: clean as they are, the same bytes and no race after each rewrite, and what is wrong is seen.

Each runs its own ``main``, in which it launches its kernel.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from executor import Outcome, Programs, Source, build_what_compiles
from executor.rewriting import Rewrite, differences, outcomes, rewrites

FOLDER = Path(__file__).parents[1] / "kernels"
NAMES = sorted(path.name for path in FOLDER.glob("*.cu"))
ORIGINALS = [name for name in NAMES if ".wrong." not in name]
WRONG = [name for name in NAMES if ".wrong." in name]
SEEDS = range(5)

# What betrays a tempting rewrite that is wrong, in every run, where it is not a race.
BETRAYED_BY = {
    "14_partial_rewrite.wrong.cu": "bytes",  # barriers order all: it is the value that is gone
    "16_hole_partial_reinit.wrong.cu": "bytes",
    "17_declared_in_loop.wrong.cu": "bytes",
    "18_pointer_alias.wrong.cu": "bytes",
    "19_escape.wrong.cu": "bytes",
    "20_lambda_capture.wrong.cu": "bytes",
    "38_bank_padding_flattened.wrong.cu": "uninitialised",  # reads the padding of each row
    "44_struct_and_view.wrong.cu": "bytes",
    "48_vector_access.wrong.cu": "misaligned",
    "51_switch_scope.wrong.cu": "refused",  # jumps over the initialisation of a reference
}


@dataclass
class Everything:
    programs: Programs
    refused: dict[str, str]
    found: dict[str, list[Outcome]] = field(default_factory=dict)
    rewritten: dict[str, dict[str, Rewrite]] = field(default_factory=dict)


def without_new_barriers(before: str, after: str) -> str:
    """The rewrite without the barriers that it added."""
    kept = []
    for line in difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True)):
        if line[:2] in ("  ", "+ ") and not (line.startswith("+ ") and "sync" in line.split("//")[0]):
            kept.append(line[2:])
    return "".join(kept)


@pytest.fixture(scope="module")
def everything() -> Iterator[Everything]:
    rewritten: dict[str, dict[str, Rewrite]] = {}
    texts = {name: (FOLDER / name).read_bytes().decode() for name in NAMES}
    sources = [Source(name, text) for name, text in texts.items()]
    for name in ORIGINALS:
        rewritten[name] = {f"{name}, rewrite {i}": each for i, each in enumerate(rewrites(texts[name]))}
        for other, each in rewritten[name].items():
            sources.append(Source(other, each.text))
            if each.barriers:
                sources.append(Source(f"{other}, no barrier", without_new_barriers(texts[name], each.text)))
    programs, refused = build_what_compiles(sources)
    with programs:
        names = [source.name for source in sources if source.name not in refused]
        found = dict(outcomes(programs, names, SEEDS))
        yield Everything(programs, refused, found, rewritten)


def test_all_are_there() -> None:
    assert len(ORIGINALS) == 52  # 51 numbers, 06 twice
    assert len(WRONG) == 33


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("name", ORIGINALS)
def test_a_program_is_clean_and_always_gives_the_same(name: str, everything: Everything) -> None:
    found = everything.found[name]
    assert differences(found, found) == ""
    assert found[0].launches == 1 and any(found[0].buffers.values())
    assert len({outcome.schedule for outcome in found}) > 1


@pytest.mark.parametrize("name", ORIGINALS)
def test_a_rewrite_changes_nothing(name: str, everything: Everything) -> None:
    for other, rewrite in everything.rewritten[name].items():
        if other in everything.refused:
            # A merge that was checked for one instance of a template: its own static_assert refuses the others.
            assert not rewrite.safe and "static assertion" in everything.refused[other]
            continue
        wrong = differences(everything.found[name], everything.found[other])
        assert wrong == "", f"{rewrite.title}\n{wrong}\n{rewrite.text}"


def test_every_barrier_that_a_rewrite_adds_is_needed(everything: Everything) -> None:
    seen = [name for name in everything.found if name.endswith(", no barrier")]
    assert len(seen) >= 9
    for name in seen:
        assert all(outcome.races for outcome in everything.found[name]), name


def test_most_programs_have_a_rewrite(everything: Everything) -> None:
    """So that the test before this one has something to do."""
    assert sum(bool(each) for each in everything.rewritten.values()) >= 30


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rewrite_is_seen_in_every_run(name: str, everything: Everything) -> None:
    by = BETRAYED_BY.get(name, "race")
    assert (name in everything.refused) == (by == "refused")
    expected = everything.found[name.replace(".wrong", "")][0].buffers
    for outcome in everything.found.get(name, []):
        assert bool(outcome.races) == (by == "race"), outcome.complaints
        if by == "bytes":
            assert outcome.completed and outcome.buffers != expected
        if by == "uninitialised":
            assert outcome.uninitialised and outcome.buffers != expected
        if by == "misaligned":
            assert outcome.trap is not None and outcome.trap.kind == "misaligned"
