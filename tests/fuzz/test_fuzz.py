"""Whatever is edited, the server's store tells what a new process tells."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest
from goldens.inputs import ROOT

from fuzz.comparing import shrunk, still_unequal, unequal
from fuzz.edits import Step, session, top_parts
from fuzz.own_texts import SMALL
from fuzz.projects import own
from smem_lsp.ir.places import SourceMap

COMPARISONS = 1_000  # of each of the seeds


@pytest.mark.slow(seconds=50)
@pytest.mark.parametrize("seed", range(2))
def test_what_was_known_before_changes_nothing(seed: int) -> None:
    """In processes of their own: what other tests have left in this one would not be a fresh start."""
    how = ["--seed", str(seed), "--comparisons", str(COMPARISONS), "--together", "16", "--processes", "1"]
    command = [sys.executable, "-m", "tests.fuzz", *how, "--save", ""]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{' '.join(command)}"
    assert f"{COMPARISONS} comparisons" in done.stdout


def test_a_place_that_stays_behind_is_found_and_shown_in_two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SMALL["racy"]
    texts = [text, f"// one\n{text}", f"// one\n// two\n{text}", f"{text}\n// three\n", f"\n\n{text}"]
    steps = [Step("typing", {"/nowhere/racy.cu": each}) for each in texts]
    assert list(unequal(steps, 2)) == []
    monkeypatch.setattr(SourceMap, "translated", lambda places, _: places)
    found = list(unequal(steps, 2, together=3))
    assert [len(each.steps) for each in found] == [2, 3, 5]
    assert {each.topic for each in found[0].changes} >= {"findings"}
    smallest = shrunk(found[-1])
    assert [step.files["/nowhere/racy.cu"] for step in smallest.steps][-1] == texts[-1]
    assert len(smallest.steps) == 2
    assert still_unequal(smallest.steps) is not None
    assert still_unequal(smallest.steps[-1:]) is None


def test_a_process_that_dies_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> SourceMap:
        raise SystemExit(3)

    text = SMALL["racy"]
    steps = [Step("typing", {"/nowhere/racy.cu": each}) for each in (text, f"\n{text}")]
    monkeypatch.setattr(SourceMap, "translated", fail)
    found = list(unequal(steps, 1))
    assert [each.what for each in found[-1].changes if each.topic == "files"]


def test_a_seed_makes_the_same_edits() -> None:
    one, two = (session(own()[:3], "7", 60) for _ in range(2))
    assert one == two
    assert sum(step.asked for step in one) == 60
    assert one != session(own()[:3], "8", 60)


def test_edits_of_every_kind_are_made() -> None:
    steps = session(own(), "kinds", 1_500)
    kinds = {step.what.partition(" in ")[0] for step in steps}
    assert kinds >= {"typing", "pasting", "deleting", "undo", "redo", "renaming", "a macro", "moving"}
    assert kinds >= {"line ends", "breaking", "declaring", "a number", "blanks", "opened"}
    assert any(step.what.endswith(".cuh") or step.what.endswith(".h") for step in steps)


def test_a_text_is_the_sum_of_its_parts() -> None:
    random = Random(0)
    for step in random.sample(session(own(), "parts", 200), 50):
        for text in step.files.values():
            assert "".join(top_parts(text)) == text
    assert len(top_parts(SMALL["kinds"])) == 3
