"""``--fix`` and ``--diff``: what is changed, and what is left alone."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from toy_engine import toy_check

from smem_lsp.cli.fix_policy import FixPolicy
from smem_lsp.cli.fixing import choose_edits, fix_text
from smem_lsp.engine.report import FileReport
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.rules.model import Finding, Severity
from smem_lsp.source import SourceText, Span, TextEdit

Command = Callable[..., tuple[int, str, str]]


def fixed(smem: Command, text: bytes, *flags: str) -> bytes:
    Path("a.cu").write_bytes(text)
    smem("check", "a.cu", "--fix", *flags)
    return Path("a.cu").read_bytes()


def test_safe_fixes_of_warnings(smem: Command) -> None:
    Path("a.cu").write_text("a BUG b RISK c COST d GRAVE e\n")
    code, out, _ = smem("check", "a.cu", "--fix")
    assert Path("a.cu").read_text() == "a  b RISK c COST d GRAVE e\n"
    assert code == 1
    assert "Fixed 1 finding in 1 file.\n" in out


def test_nothing_left_gives_0(smem: Command) -> None:
    Path("a.cu").write_text("BUG\n")
    assert smem("check", "a.cu", "--fix")[0] == 0


def test_unsafe_fixes_on_request(smem: Command) -> None:
    assert fixed(smem, b"BUG RISK COST\n", "--unsafe-fixes") == b"  COST\n"


@pytest.mark.parametrize("name", ["SMEM301", "mergeable-buffers", "SMEM1,SMEM301"])
def test_rules_of_taste_are_fixed_when_named(smem: Command, name: str) -> None:
    assert fixed(smem, b"COST\n", "--select", name) == b"\n"


@pytest.mark.parametrize("prefix", ["SMEM3", "SMEM30", "SMEM"])
def test_a_prefix_names_no_rule(smem: Command, prefix: str) -> None:
    assert fixed(smem, b"COST\n", "--select", prefix) == b"COST\n"


@pytest.mark.parametrize(
    "text",
    [b"a BUG\r\nb\r\n", b"\xef\xbb\xbfa BUG\n", b"// \xe9 BUG", "\ufeffBUG // ü\n".encode("utf-16-le")],
)
def test_encoding_and_line_ends_survive(smem: Command, text: bytes) -> None:
    word = "BUG".encode("utf-16-le") if text.startswith(b"\xff\xfe") else b"BUG"
    assert fixed(smem, text) == text.replace(word, b"")


def test_a_clean_file_is_not_written(smem: Command) -> None:
    Path("a.cu").write_text("ok\n")
    before = Path("a.cu").stat()
    smem("check", "a.cu", "--fix")
    assert (Path("a.cu").stat().st_mtime_ns, Path("a.cu").stat().st_ino) == (
        before.st_mtime_ns,
        before.st_ino,
    )


def test_diff_writes_nothing(smem: Command) -> None:
    Path("a.cu").write_text("one\nBUG two\nthree")
    code, out, err = smem("check", "a.cu", "--diff")
    assert code == 1
    assert out == (
        "--- a.cu\n+++ a.cu\n@@ -1,3 +1,3 @@\n one\n-BUG two\n+ two\n three\n\\ No newline at end of file\n"
    )
    assert err == "Would fix 1 finding in 1 file.\n"
    assert Path("a.cu").read_text() == "one\nBUG two\nthree"


def test_diff_without_changes(smem: Command) -> None:
    Path("a.cu").write_text("GRAVE\n")
    assert smem("check", "a.cu", "--diff") == (0, "", "Nothing to fix in 1 file.\n")
    assert smem("check", "a.cu", "--diff", "--quiet") == (0, "", "")


def test_diff_keeps_form_feeds_in_their_line(smem: Command) -> None:
    Path("a.cu").write_bytes(b"x\x0cy BUG\r\n")
    assert "-x\x0cy BUG\r\n+x\x0cy \r\n" in smem("check", "a.cu", "--diff")[1]


def test_stdin_is_fixed_to_stdout(smem: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"BUG GRAVE\r\n")))
    code, out, err = smem("check", "-", "--fix", "--output-format", "concise")
    assert (code, out) == (1, " GRAVE\r\n")
    assert err == "<stdin>:1:2: error SMEM201 a GRAVE\n"


def test_read_only_file_is_left_and_named(smem: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.cu").write_text("BUG\n")
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write anything
    code, out, err = smem("check", "a.cu", "--fix", "--output-format", "concise")
    assert (code, out) == (2, "a.cu:1:1: warning SMEM101 a BUG\n")
    assert err == "smem-lsp: a.cu: cannot be written: it is read-only\n"


def report(text: str, *fixes: tuple[Span, tuple[TextEdit, ...]]) -> FileReport:
    by_span = dict(fixes)
    findings = tuple(Finding("SMEM101", "", span, Severity.WARNING) for span, _ in fixes)
    base = toy_check(text)
    return FileReport(
        SourceText(text),
        findings,
        (),
        base.statistics,
        lambda finding, _: (Fix(Title(""), Safety.SAFE, by_span[finding.span]),),
    )


def test_overlapping_fixes_wait_for_the_next_round() -> None:
    first = (Span(0, 1), (TextEdit(Span(0, 4), "x"),))
    second = (Span(2, 3), (TextEdit(Span(2, 3), "y"), TextEdit(Span(8, 9), "z")))
    third = (Span(5, 6), (TextEdit(Span(5, 6), "w"),))
    edits, counts = choose_edits(report("0123456789", first, second, third), FixPolicy())
    assert [edit.text for edit in edits] == ["x", "w"]
    assert counts["SMEM101"] == 2


def test_two_insertions_at_one_place_are_no_accident() -> None:
    one = (Span(0, 1), (TextEdit(Span(3, 3), "a"),))
    two = (Span(1, 2), (TextEdit(Span(3, 3), "b"),))
    assert [e.text for e in choose_edits(report("0123", one, two), FixPolicy())[0]] == ["a"]


def test_rules_that_undo_each_other_end() -> None:
    def swap(text: str) -> FileReport:
        return report(text, (Span(0, 1), (TextEdit(Span(0, 1), "b" if text[0] == "a" else "a"),)))

    assert fix_text("a", swap, FixPolicy()).text == "b"


def test_at_most_ten_rounds() -> None:
    def grow(text: str) -> FileReport:
        return report(text, (Span(0, 1), (TextEdit(Span(0, 0), "x"),)))

    assert fix_text("a", grow, FixPolicy()).text == "x" * 10 + "a"


def test_a_diff_in_colours(smem: Command) -> None:
    Path("a.cu").write_text("BUG\n")
    assert "\x1b[31m-BUG\x1b[0m\n" in smem("check", "a.cu", "--diff", "--color", "always")[1]
    assert "\x1b" not in smem("check", "a.cu", "--diff")[1]
    assert smem("check", "a.cu", "-j", "1", "--diff")[0] == 1
