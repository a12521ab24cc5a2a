"""Findings as text and JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
from sample_report import GEMM, NAMES, gemm_report, make_report, span_of

from smem_lsp.engine import check
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.output import concise, full, json_, json_document
from smem_lsp.output.style import Style
from smem_lsp.output.version import VERSION
from smem_lsp.rules.model import Finding, Note, Severity
from smem_lsp.source import Span

SCHEMA = json.loads((Path(json_.__file__).parent / "schema.json").read_text())


def finding(span: Span, *notes: Note, severity: Severity = Severity.WARNING) -> Finding:
    return Finding("SMEM101", "`s` is never read", span, severity, related=notes)


def test_full_shows_places_notes_and_fixes() -> None:
    assert (
        full.render(gemm_report())
        == """\
warning[SMEM301]: `Cs` can reuse `As`, `Bs` (dead after the barrier at 10): 8,192 → 4,096 B
  --> kernels/gemm.cu:12:20
   |
12 |   __shared__ float Cs[BM][BM];
   |                    ^^
   |
 3 |   __shared__ float As[BM][16];
   |                    -- `As` is dead after line 11
   |
 4 |   __shared__ float Bs[16][BM];
   |                    -- `Bs` is dead after line 11
   |
   = fix: Put `Cs` in the bytes of `As` and `Bs`

"""
    )


def test_full_marks_what_a_fix_promises() -> None:
    fixes = (Fix(Title("merge"), Safety.UNSAFE, ()), Fix(Title("too many uses"), Safety.DISPLAY, ()))
    report = make_report("s;\n", (finding(Span(0, 1)),), lambda *_: fixes)
    assert "= fix: merge (unsafe)\n" in full.render(report)
    assert "= fix: too many uses (by hand)\n" in full.render(report)


def test_carets_stand_under_wide_and_tabbed_text() -> None:
    text = "\t/* 漢字 */ s;\n"
    lines = full.render(make_report(text, (finding(span_of(text, "s")),))).splitlines()
    assert lines[3] == "1 |     /* 漢字 */ s;"
    # Six columns for two wide characters and tab: the caret is under the s on the screen.
    assert lines[4] == "  |                ^"


def test_control_characters_cannot_reach_the_terminal() -> None:
    text = "a\x1b[31m \u202e s;\x0c\r\n"
    rendered = full.render(make_report(text, (finding(span_of(text, "s")),)))
    assert "\x1b" not in rendered and "\u202e" not in rendered and "\x0c" not in rendered
    assert "␛[31m" in rendered


def test_span_over_lines_says_where_it_ends() -> None:
    text = "if (x) {\n  y;\n}\n"
    rendered = full.render(make_report(text, (finding(Span(0, len(text) - 1)),)))
    assert "  | ^^^^^^^^ ... to line 3\n" in rendered


def test_empty_span_at_the_end_of_the_text() -> None:
    rendered = full.render(make_report("x;", (finding(Span(2, 2)),)))
    assert "-->" in rendered and "^" in rendered
    assert "x.cu:1:1" in concise.render(make_report("", (finding(Span(0, 0)),), path="x.cu"))


def test_colour_is_asked_for() -> None:
    assert "\x1b" not in full.render(gemm_report())
    assert "\x1b[1;33m" in full.render(gemm_report(), Style(colour=True))


def test_concise_is_one_line_per_finding() -> None:
    text = "a;\r\nb\x0c s;\r\n"
    several = replace(finding(span_of(text, "s")), words="two\nlines")
    report = make_report(text, (several, several), path="dir/k.cu")
    assert concise.render(report) == "dir/k.cu:2:4: warning SMEM101 two lines\n" * 2


def test_json_keeps_to_its_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    whole = json.loads(json_.render(gemm_report(), NAMES))
    jsonschema.validate(whole, SCHEMA, jsonschema.Draft202012Validator)
    failed = json_document.document([], [], [], [json_document.failed_file_object("x.cu", "no such file")])
    jsonschema.validate(json.loads(failed), SCHEMA, jsonschema.Draft202012Validator)


def test_json_order_and_values() -> None:
    whole = json.loads(json_.render(gemm_report(), NAMES))
    assert list(whole) == ["version", "tool", "findings", "kernels", "functions", "files"]
    assert whole["tool"] == {"name": "smem-lsp", "version": VERSION}
    (found,) = whole["findings"]
    head = ["code", "name", "severity", "message", "path", "range", "kernel", "buffers", "verdict"]
    assert list(found) == [*head, "related", "data", "fixes", "fingerprint"]
    assert found["name"] == "mergeable-buffers"
    assert found["range"] == {"start": {"line": 12, "column": 20}, "end": {"line": 12, "column": 22}}
    assert found["fixes"][0]["edits"][0] == {
        "path": "kernels/gemm.cu",
        "range": {"start": {"line": 12, "column": 1}, "end": {"line": 13, "column": 1}},
        "text": "  auto& Cs = merged;\n",
    }
    (kernel,) = whole["kernels"]
    assert kernel["static_bytes"] == {"value": 8192, "exact": True}
    assert (kernel["dynamic_bytes"], kernel["dynamic_expression"], kernel["instance"]) == (0, None, None)
    assert [b["offset_best"] for b in kernel["buffers"]] == [0, 2048, 0]
    assert [b["live"] for b in kernel["buffers"]] == [[5, 11], [5, 11], [13, 15]]
    assert kernel["plans"][2]["offsets"] == {"As": 0, "Bs": 2048, "Cs": 0}
    assert kernel["launches"] == [
        {
            "path": "kernels/gemm.cu",
            "line": 17,
            "threads": 256,
            "block": [256, 1, 1],
            "equalities": [],
            "dynamic_bytes": 0,
            "dynamic_expression": None,
            "called_from": None,
        }
    ]


def test_json_columns_count_code_points() -> None:
    text = "/* \U0001f600 */ s;\n"
    whole = json.loads(json_.render(make_report(text, (finding(span_of(text, "s")),)), NAMES))
    assert whole["findings"][0]["range"]["start"] == {"line": 1, "column": 9}


def test_json_says_null_for_what_is_not_known() -> None:
    report = gemm_report()
    kernel = report.kernels[0]
    buffers = (replace(kernel.kernel.buffers[0], bytes=None, dims=(None, 16), align=None),)
    bare = replace(
        kernel,
        kernel=replace(
            kernel.kernel,
            buffers=buffers,
            launches=(),
            limits=(Cause(CauseKind.UNREAD_STATEMENT, kernel.kernel.row),),
        ),
        static_bytes=None,
        exact=False,
        plans=(),
        live={},
    )
    whole = json.loads(json_.render(replace(report, kernels=(bare,)), NAMES))
    jsonschema.validate(whole, SCHEMA, jsonschema.Draft202012Validator)
    (found,) = whole["kernels"]
    (buffer,) = found["buffers"]
    assert (buffer["bytes"], buffer["align"], buffer["dims"], buffer["live"]) == (
        None,
        None,
        [None, 16],
        None,
    )
    assert (buffer["offset_stack"], buffer["offset_best"]) == (None, None)
    assert (found["static_bytes"]["value"], found["parse"]) == (None, "partial")


def test_equal_names_get_keys_of_their_own() -> None:
    report = gemm_report()
    kernel = report.kernels[0]
    same = tuple(replace(buffer, name="s") for buffer in kernel.kernel.buffers)
    found = json_.kernel_object(report.source, replace(kernel, kernel=replace(kernel.kernel, buffers=same)))
    plans = found["plans"]
    assert isinstance(plans, list)
    assert plans[0]["offsets"] == {"s@3": 0, "s@4": 2048, "s@12": 4096}


def test_sample_is_what_it_says() -> None:
    kernel = gemm_report().kernels[0].kernel
    assert [
        GEMM[span.start : span.end] for span in (kernel.places.span(b.declared) for b in kernel.buffers)
    ] == ["As", "Bs", "Cs"]


def test_json_says_why_bytes_are_not_exact() -> None:
    code = "__global__ void k(float* p) { __shared__ float s[64]; s[threadIdx.x] = 1; fold(p); p[0] = s[3]; }"
    (kernel,) = json_.kernel_objects(check(code))
    assert not kernel["static_bytes"]["exact"]
    assert "fold is not in sight: it may have shared arrays of its own" in kernel["unknown"]["reasons"]
