"""What two records tell otherwise is counted under what changed, and nothing else is."""

from __future__ import annotations

from typing import Any

from goldens.difference import changes, difference
from goldens.inputs import Input
from goldens.making import rows
from goldens.printed import difference_lines, summary_lines
from goldens.record import Record, record_of
from goldens.rows import Row, line_of
from goldens.truth import agreement

KERNEL = """__global__ void __launch_bounds__(256) k(float* out, int n) {
  __shared__ float a[256], b[256];
  int t = threadIdx.x;
  a[t] = out[t];
  __syncthreads();
  float x = a[255 - t];
  __syncthreads();
  b[t] = x;
  __syncthreads();
  out[t] = b[255 - t];
}
void run(float* out) { k<<<1, 256>>>(out, 3); }
"""
RACY = KERNEL.replace("  __syncthreads();\n", "", 1)


def text(words: str, *, name: str = "k.cu", expected: str | None = None) -> Input:
    return Input("ours", name, words, expected=expected)


def compared(old: str, new: str) -> list[tuple[str, str]]:
    """Topic and heading of each change, as if the two texts were one."""
    return [(each.topic, each.what) for each in changes(rows(text(old)), rows(text(new)))]


def record(name: str, *texts: Input) -> Record:
    lines = (line_of(row) for each in texts for row in rows(each))
    return record_of({"row": "record", "commit": name, "absent": []}, lines)


def test_one_text_told_twice_is_no_change() -> None:
    assert compared(RACY, RACY) == []


def test_what_is_found_and_what_is_decided() -> None:
    found = compared(KERNEL, RACY)
    assert ("findings", "SMEM201 gained") in found
    assert ("verdicts", "race-free → racy") in found
    assert ("verdicts", "racy → race-free") in compared(RACY, KERNEL)
    assert ("findings", "SMEM201 lost") in compared(RACY, KERNEL)


def test_findings_that_stand_elsewhere_are_moved_and_not_lost() -> None:
    found = compared(RACY, f"// one line more\n{RACY}")
    assert ("findings", "SMEM201 moved") in found
    assert not any("lost" in what or "gained" in what for _, what in found)


def test_bytes_of_plans() -> None:
    found = compared(KERNEL, KERNEL.replace("b[256]", "b[512]"))
    assert ("plans", "declared with 0 barriers: more bytes") in found


def test_reasons_of_verdicts() -> None:
    (old,) = (row for row in rows(text(KERNEL)) if row["row"] == "kernel")
    undecided: Row = {
        **old["verdict"],
        "kind": "undecided",
        "reasons": [[7, "a loaded value decides `x`", 2]],
    }
    new = {**old, "verdict": undecided}
    other = {**old, "verdict": {**undecided, "reasons": [[7, "`x` escapes", 2]]}}
    head: Row = {"row": "file", "file": "ours/k.cu", "stopped": []}
    assert [each.what for each in changes([head, old], [head, new])] == [
        "race-free → undecided (a loaded value decides …)"
    ]
    assert [each.what for each in changes([head, new], [head, other])] == ["undecided: reasons changed"]


def test_fixes_are_paired_by_title_then_by_edits() -> None:
    (whole,) = (row for row in rows(text(KERNEL)) if row["row"] == "finding" and row["fixes"])
    (fix,) = whole["fixes"]

    def fixed(**other: Any) -> list[tuple[str, str]]:
        new = {**whole, "fixes": [{**fix, **other}] if other else []}
        head: Row = {"row": "file", "file": "ours/k.cu", "stopped": []}
        return [(each.topic, each.what) for each in changes([head, whole], [head, new])]

    code, safety = whole["code"], fix["safety"]
    assert fixed() == [("fixes", f"{code} {safety} lost")]
    assert fixed(title="Another title") == [("fixes", f"{code} title changed")]
    assert fixed(edits=fix["edits"][:1]) == [("fixes", f"{code} edits changed")]
    assert fixed(safety="display") == [("fixes", f"{code} {safety} → display")]


def test_what_was_cut_for_want_of_time_is_told_apart() -> None:
    old, new = record("old", text(KERNEL)), record("new", text(RACY))
    for each in (old, new):
        each.files["ours/k.cu"][0]["text"] = "the same"
    assert difference(old, new).changes
    new.files["ours/k.cu"][0]["stopped"] = ["data races of k: time"]
    found = difference(old, new)
    assert found.changes == []
    assert found.cut and found.cut_files == ["ours/k.cu"]
    new.files["ours/k.cu"][0]["stopped"] = ["more instances of k: too many"]
    assert difference(old, new).changes


def test_files_that_cannot_be_compared_are_named() -> None:
    old = record("old", text(KERNEL), text(KERNEL, name="gone.cu"))
    new = record("new", text(RACY), text(KERNEL, name="more.cu"))
    found = difference(old, new)
    assert (found.only_old, found.only_new, found.other_text) == (
        ["ours/gone.cu"],
        ["ours/more.cu"],
        ["ours/k.cu"],
    )
    assert found.compared == 0 and found.changes == []


def test_counts_come_first_then_examples() -> None:
    old = record("old", text(KERNEL, expected="free"))
    new = record("new", text(RACY, expected="free"))
    old.files["ours/k.cu"][0]["text"] = new.files["ours/k.cu"][0]["text"]
    lines = list(difference_lines(old, new, difference(old, new), 1))
    assert lines[0] == "old → new: 1 files compared, 1 differ"
    assert lines.index("      1  race-free → racy") < lines.index("verdicts: race-free → racy (1)")
    assert "      0  verdicts that are right   (was 1)" in lines
    assert "      1  false races told   (was 0)" in lines


def test_a_truth_is_compared_with_verdicts_and_findings() -> None:
    texts = [
        text(KERNEL, name="1", expected="free"),
        text(RACY, name="2", expected="racy"),
        text(KERNEL, name="3", expected="racy"),
        text(RACY, name="4", expected="free"),
        text(RACY, name="5"),
    ]
    found = agreement(record("all", *texts))
    assert found["kernels"] == 4
    assert found["verdicts that are right"] == 2
    assert found["false race-free"] == found["false races by verdict"] == found["false races told"] == 1
    assert "      1  false race-free" in list(summary_lines(record("all", *texts)))
