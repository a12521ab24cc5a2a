"""A place in a header is told with the header's path and line in every format."""

from __future__ import annotations

import json

from rules.race_texts import REDUCE, TWICE, Headers

from smem_lsp import check
from smem_lsp.engine import FileReport
from smem_lsp.output import full, json_, sarif
from smem_lsp.rules.registry import RULES

NAMES = {code: rule.name for code, rule in RULES.items()}


def report() -> FileReport:
    return check(TWICE, path="src/k.cu", reader=Headers({"reduce.cuh": REDUCE}))


def test_json() -> None:
    (found,) = [each for each in json_.finding_objects(report(), NAMES) if each["code"] == "SMEM201"]
    places = [(note["path"], note["range"]["start"], note["message"]) for note in found["related"]]  # type: ignore[attr-defined]
    assert places == [
        ("src/reduce.cuh", {"line": 14, "column": 36}, "`slots` is read here"),
        ("src/k.cu", {"line": 4, "column": 13}, "`block_sum` is called here"),
        ("src/reduce.cuh", {"line": 4, "column": 3}, "`slots` is written here"),
        ("src/reduce.cuh", {"line": 11, "column": 18}, "`put` is called here"),
    ]


def test_sarif() -> None:
    log = json.loads(sarif.document(json_.finding_objects(report(), NAMES), RULES, ()))
    (result,) = [each for each in log["runs"][0]["results"] if each["ruleId"] == "SMEM201"]
    uris = [each["physicalLocation"]["artifactLocation"]["uri"] for each in result["relatedLocations"]]
    assert uris == ["src/reduce.cuh", "src/k.cu", "src/reduce.cuh", "src/reduce.cuh"]


def test_text_names_the_file_where_it_changes() -> None:
    text = full.render(report())
    assert "\n  ::: src/reduce.cuh:14:36\n" in text
    assert "\n14 |   for (int i = 0; i < 8; ++i) r += slots[i];\n" in text
    assert "\n  ::: src/k.cu:4:13\n" in text
    assert text.count("::: src/reduce.cuh") == 2  # the third place of it follows the second
