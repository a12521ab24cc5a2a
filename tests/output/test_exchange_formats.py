"""SARIF and GitHub annotations: what other tools read out of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sample_report import make_report, span_of

from smem_lsp import apply, check
from smem_lsp.output import github, json_, sarif
from smem_lsp.rules.model import Finding, Severity
from smem_lsp.rules.registry import RULES
from smem_lsp.source import Span

KERNELS = Path(__file__).parents[1] / "kernels"
NAMES = {code: rule.name for code, rule in RULES.items()}


def run_of(text: str, path: str = "k.cu") -> dict[str, Any]:
    report = check(text, path=path)
    log = json.loads(sarif.document(json_.finding_objects(report, NAMES), RULES, ()))
    assert log["version"] == "2.1.0"
    return dict(log["runs"][0])


def offset(text: str, line: int, column: int) -> int:
    return sum(len(each) for each in text.splitlines(keepends=True)[: line - 1]) + column - 1


def test_sarif_carries_the_whole_fix() -> None:
    """A reader that knows nothing of ours gets the rewritten text out of the replacements."""
    text = (KERNELS / "01_existing_barrier.cu").read_text()
    (result,) = [each for each in run_of(text)["results"] if each["ruleId"] == "SMEM301"]
    (change,) = result["fixes"][0]["artifactChanges"]
    fixed = text
    for replaced in reversed(change["replacements"]):
        region = replaced["deletedRegion"]
        start = offset(text, region["startLine"], region["startColumn"])
        end = offset(text, region["endLine"], region["endColumn"])
        fixed = fixed[:start] + replaced["insertedContent"]["text"] + fixed[end:]
    report = check(text)
    (finding,) = [each for each in report.findings if each.code == "SMEM301"]
    assert fixed == apply(text, report.fixes_for(finding)[0]) != text


def test_sarif_rules_are_those_of_the_results() -> None:
    run = run_of((KERNELS / "01_existing_barrier.cu").read_text())
    rules = run["tool"]["driver"]["rules"]
    assert run["results"]
    assert {each["ruleId"] for each in run["results"]} == {rule["id"] for rule in rules}
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")


def test_sarif_names_files_as_uris() -> None:
    text = "__global__ void k() { __shared__ float s[64]; }"

    def uri(path: str) -> str:
        (result,) = run_of(text, path)["results"]
        return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])

    assert uri("a b/100%.cu") == "a%20b/100%25.cu"
    assert uri("/x/ü.cu") == "file:///x/%C3%BC.cu"
    assert uri("k\udcff.cu") == "k%FF.cu"  # a name that is no UTF-8


def test_github_escapes_what_would_end_a_command() -> None:
    text = "ab\ns;\n"
    finding = Finding("SMEM101", "50 % gone: x,y\nmore", span_of(text, "s"), Severity.HINT)
    assert github.render(make_report(text, (finding,), path="a,b:c.cu")) == (
        "::notice title=SMEM101,file=a%2Cb%3Ac.cu,line=2,endLine=2,col=1,endColumn=2::50 %25 gone: x,y%0Amore\n"
    )


def test_github_gives_columns_for_one_line_only() -> None:
    text = "if (x) {\n}\n"
    finding = Finding("SMEM203", "split", Span(0, len(text) - 1), Severity.ERROR)
    assert github.render(make_report(text, (finding,), path="k.cu")) == (
        "::error title=SMEM203,file=k.cu,line=1,endLine=2::split\n"
    )


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_on_the_command_line(tmp_path: Path, jobs: str) -> None:
    (tmp_path / "a.cu").write_text("__global__ void k() { __shared__ float s[64]; }\n")
    (tmp_path / "b.cu").write_bytes(b"\0")
    command = [sys.executable, "-m", "smem_lsp", "check", "a.cu", "b.cu", "--jobs", jobs, "--output-format"]
    done = subprocess.run(
        [*command, "sarif"], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    (run,) = json.loads(done.stdout)["runs"]
    assert done.returncode == 2  # b.cu is no text
    assert [each["ruleId"] for each in run["results"]] == ["SMEM101"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (told,) = invocation["toolExecutionNotifications"]
    assert told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "b.cu"
    done = subprocess.run(
        [*command, "github"], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False
    )
    assert done.stdout.startswith("::warning title=SMEM101,file=a.cu,line=1,")
