"""GitLab's code quality report and JUnit's XML, held against what their readers ask for."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sample_report import NAMES, make_report, span_of

from smem_lsp.output import gitlab, json_, json_document, junit, sarif
from smem_lsp.output.fingerprint import fingerprints, lasting_words
from smem_lsp.rules.model import Finding, Severity
from smem_lsp.rules.registry import RULES
from smem_lsp.rules.words import Line, said
from smem_lsp.source import Span

# What jenkins-junit.xsd of Jenkins' xunit plugin lets stand in each element, and GitLab's `file` with pytest's `line`.
JUNIT = {
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, {"testsuite"}, set()),
    "testsuite": (
        {"name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id"}
        | {"package"},
        {"properties", "testcase", "system-out", "system-err"},
        {"name", "tests"},
    ),
    "testcase": (
        {"name", "assertions", "time", "classname", "status", "file", "line"},
        {"skipped", "error", "failure", "system-out", "system-err"},
        {"name", "classname"},
    ),
    "failure": ({"type", "message"}, set(), set()),
    "error": ({"type", "message"}, set(), set()),
    "system-out": (set(), set(), set()),
}


def objects(*findings: Finding, text: str = "a b c\n", path: str = "k.cu") -> list[json_document.JsonObject]:
    return json_.finding_objects(make_report(text, findings, path=path), NAMES)


def finding(word: str = "a", severity: Severity = Severity.ERROR, message: str = "no") -> Finding:
    return Finding("SMEM201", message, span_of("a b c\n", word), severity, "gemm")


def clean(path: str, error: str | None = None) -> json_document.JsonObject:
    return {**json_document.failed_file_object(path, ""), "error": error}


def judged(text: str) -> ET.Element:
    root = ET.fromstring(text.encode())
    for element in root.iter():
        attributes, children, required = JUNIT[element.tag]
        assert required <= element.attrib.keys() <= attributes, element.tag
        assert {child.tag for child in element} <= children, element.tag
        if element.tag != "testcase":
            continue
        assert sum(child.tag in ("error", "failure", "skipped") for child in element) <= 1
    for suite in [root, *root.iter("testsuite")]:
        cases = list(suite.iter("testcase"))
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == len(list(suite.iter("failure")))
        assert int(suite.attrib["errors"]) == len(list(suite.iter("error")))
    return root


def issues(text: str) -> list[dict[str, Any]]:
    """What GitLab asks of each. Its own schema (app/validators/json_schemas/codeclimate.json) wants three texts and an
    object, and it reads a report up to the first issue that breaks it, and of equal fingerprints keeps one; its
    documentation wants the rest. No registry has the schema, so that it cannot be fetched here."""
    found = json.loads(text)
    for each in found:
        assert isinstance(each["description"], str)
        assert each["check_name"] in {*RULES, gitlab.NOT_CHECKED}
        assert re.fullmatch("[0-9a-f]{32}", each["fingerprint"])
        assert each["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert not each["location"]["path"].startswith("./")
        assert each["location"]["lines"]["begin"] >= 1
    assert len({each["fingerprint"] for each in found}) == len(found)
    return list(found)


def test_gitlab() -> None:
    found = issues(gitlab.document([*objects(finding(), finding("b")), *objects(finding(), path="./x/k.cu")]))
    assert [each["severity"] for each in found] == ["critical"] * 3
    assert found[0]["description"] == "SMEM201: no"
    assert found[2]["location"] == {"path": "x/k.cu", "lines": {"begin": 1, "end": 1}}
    assert json.loads(gitlab.document([])) == []


def test_gitlab_shows_files_that_could_not_be_checked() -> None:
    gone = ("./gone.cu", "no such file"), ("bin.cu", "a binary file, not source text")
    first, second, third = issues(gitlab.document(objects(finding()), gone))
    assert (first["description"], first["severity"]) == ("not checked: no such file", "blocker")
    assert (second["location"], third["check_name"]) == (
        {"path": "bin.cu", "lines": {"begin": 1}},
        "SMEM201",
    )


def test_gitlab_names_files_from_the_root_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")

    def path(written: str, root: str | None) -> str:
        (issue,) = issues(gitlab.document(objects(finding(), path=written), root=root))
        return str(issue["location"]["path"])

    assert path("k.cu", str(tmp_path)) == "sub/k.cu"
    assert path("../k.cu", str(tmp_path)) == "k.cu"
    assert path(str(tmp_path / "sub" / "k.cu"), None) == "k.cu"
    assert path("/elsewhere/k.cu", str(tmp_path)) == "/elsewhere/k.cu"


def test_a_fingerprint_outlives_lines_that_move() -> None:
    words = said("thread 0 reads `a[3]` (line ", Line(14), "), put one before line ", Line(9))
    one = Finding("SMEM201", words, Span(0, 1), Severity.ERROR, "gemm")
    moved = replace(one, words=words.moved(7), span=Span(40, 41))
    assert lasting_words(one) == "thread 0 reads `a[3]` (line …), put one before line …"
    assert list(fingerprints([one])) == list(fingerprints([moved]))
    others = [one, moved, Finding("SMEM202", words, Span(0, 1), Severity.ERROR, "gemm")]
    assert len(set(fingerprints(others))) == 3  # equal ones are counted


def test_sarif_carries_the_fingerprint() -> None:
    (found,) = objects(finding())
    (result,) = json.loads(sarif.document([found], RULES, ()))["runs"][0]["results"]
    assert result["partialFingerprints"] == {"smemFinding/v1": found["fingerprint"]}


def test_junit() -> None:
    findings = objects(finding(), finding("b", Severity.INFO), path="src/k.cu")
    files = [clean("src/k.cu"), clean("ok.cu"), clean("gone.cu", "no such file")]
    root = judged(junit.document(findings, files, Severity.WARNING))
    assert (root.attrib["tests"], root.attrib["failures"], root.attrib["errors"]) == ("4", "1", "1")
    first, second, fine, gone = root.iter("testcase")
    assert first.attrib["name"] == "SMEM201 missing-barrier in gemm"
    assert (first.attrib["classname"], first.attrib["file"]) == ("src.k", "src/k.cu")
    assert first[0].attrib == {"message": "no", "type": "error SMEM201"}
    assert first[0].text == "src/k.cu:1:1: error SMEM201: no"
    assert (second[0].tag, second[0].text) == ("system-out", "src/k.cu:1:3: info SMEM201: no")
    assert len(fine) == 0 and gone[0].attrib["message"] == "no such file"


def test_junit_limit_is_that_of_the_run() -> None:
    findings = objects(finding(severity=Severity.INFO))
    root = judged(junit.document(findings, [clean("k.cu")], Severity.HINT))
    assert root.attrib["failures"] == "1"


@pytest.mark.parametrize("char", ["<", '"', "&", "]]>", "\x00", "\x1b", "\ufffe", "\ud800", "\n", "ü"])
def test_junit_holds_any_text(char: str) -> None:
    text = junit.document(
        objects(finding(message=char)), [clean("k.cu"), clean(f"{char}.cu")], Severity.ERROR
    )
    (failure,) = judged(text).iter("failure")
    assert failure.attrib["message"] == failure.text.rpartition(": ")[2]  # type: ignore[union-attr]
