"""Comments that silence rules or state facts."""

from __future__ import annotations

import re

import pytest

from smem_lsp.rules.suppressions import Suppressions, parse_suppressions
from smem_lsp.source import SourceText, Span

KNOWN = {"SMEM101": "unused-buffer", "SMEM201": "missing-barrier", "SMEM301": "mergeable-buffers"}


def parse(text: str) -> tuple[SourceText, Suppressions]:
    source = SourceText(text)
    comments = [Span(*m.span()) for m in re.finditer(r"//[^\r\n]*|/\*.*?\*/", text, re.S)]
    return source, parse_suppressions(source, comments, KNOWN)


def silenced(text: str, code: str = "SMEM201") -> list[int]:
    """1-based lines on which the rule is silent."""
    source, found = parse(text)
    name = KNOWN[code]
    return [n for n in range(1, source.line_count() + 1) if found.silences(code, name, n)]


@pytest.mark.parametrize(
    "comment",
    [
        "// smem: ignore[SMEM201]",
        "//smem:ignore[ SMEM201 ] it is fine",
        "/* smem: ignore[missing-barrier] */",
    ],
)
def test_ignore_covers_its_line(comment: str) -> None:
    assert silenced(f"a;\nb; {comment}\nc;\n") == [2]


def test_ignore_takes_a_list_of_codes_and_names() -> None:
    text = "a; // smem: ignore[SMEM101, missing-barrier]\n"
    assert silenced(text) == silenced(text, "SMEM101") == [1]
    assert silenced(text, "SMEM301") == []


def test_ignore_next_line_skips_comments_and_stacks() -> None:
    directives = "// smem: ignore-next-line[SMEM201]\n// smem: ignore-next-line[SMEM101]\n"
    text = f"{directives}\n/* why */ // more\nx; // y\nz;\n"
    assert silenced(text) == [5]
    assert silenced(text, "SMEM101") == [5]


def test_ignore_next_line_from_a_block_comment_starts_at_its_end() -> None:
    assert silenced("/* smem: ignore-next-line[SMEM201]\n   reason */\nx;\ny;\n") == [3]


def test_disable_ends_at_enable_of_the_same_code() -> None:
    text = "a;\n// smem: disable[SMEM201, SMEM101]\nb;\n// smem: enable[SMEM201]\nc;\n"
    assert silenced(text) == [2, 3, 4]
    assert silenced(text, "SMEM101") == [2, 3, 4, 5]


def test_disable_without_enable_runs_to_the_end() -> None:
    assert silenced("a;\n// smem: disable[SMEM201]\nb;\nc;") == [2, 3, 4]


def test_ignore_file_covers_lines_above_it() -> None:
    assert silenced("a;\nb;\n// smem: ignore-file[SMEM201]\nc;\n") == [1, 2, 3, 4]


def test_crlf_and_form_feed_do_not_shift_lines() -> None:
    assert silenced("a;\x0c\r\nb; // smem: ignore[SMEM201]\r\nc;\r\n") == [2]


def test_a_directive_on_a_line_of_a_block_comment() -> None:
    assert silenced("/*\n * smem: ignore-file[SMEM201]\n */\nx;\n") == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "prose",
    [
        "// the smem: ignore[SMEM201] form",
        "// smem: 48 KiB",
        "// smem: layout[As | Bs]",
        "// mysmem: ignore[SMEM201]",
    ],
)
def test_prose_is_no_directive(prose: str) -> None:
    _, found = parse(f"a; {prose}\n")
    assert found == Suppressions()


@pytest.mark.parametrize(
    "comment", ["// smem: ignore", "// smem: ignore[]", "// smem: disable because", "/* smem: ignore */"]
)
def test_bare_directive_is_an_unknown_code(comment: str) -> None:
    _, found = parse(f"a; {comment}\n")
    assert [problem.code for problem in found.problems] == ["SMEM003"]
    assert "needs the code of a rule" in found.problems[0].message
    assert not found.entries


def test_unknown_code_names_the_nearest_and_points_at_it() -> None:
    source, found = parse("a; // smem: ignore[SMEM202x, missing-barier, SMEM101]\n")
    assert [source.slice(p.span) for p in found.problems] == ["SMEM202x", "missing-barier"]
    assert "did you mean `missing-barrier`?" in found.problems[1].message
    assert [entry.code for entry in found.entries] == ["SMEM101"]


def test_misspelt_directive_is_reported() -> None:
    _, found = parse("a; // smem: ignroe[SMEM201]\n")
    assert found.problems[0].message == "`ignroe` is no directive: did you mean `ignore`?"


def test_enable_without_disable_silences_nothing() -> None:
    source, found = parse("// smem: enable[SMEM201]\n")
    assert [(p.code, source.slice(p.span)) for p in found.problems] == [("SMEM002", "SMEM201")]


def test_unused_names_only_rules_that_ran() -> None:
    source, found = parse("a; // smem: ignore[SMEM101, SMEM201, SMEM301]\n")
    used = [found.silences("SMEM101", "unused-buffer", 1)]
    unused = found.unused([s for s in used if s], judged={"SMEM101", "SMEM201"})
    assert [source.slice(entry.span) for entry in unused] == ["SMEM201"]


def test_facts_are_returned_as_written() -> None:
    text = (
        "// smem: assume(blockDim.x == 256 && f(n) > 1) the host checks\n"
        "// smem: uniform(rows[blockIdx.x])\n"
        "/* smem: dynamic_bytes = 4 * (n + 1) */\n"
    )
    source, found = parse(text)
    assert [(f.name, f.text, f.line) for f in found.facts] == [
        ("assume", "blockDim.x == 256 && f(n) > 1", 1),
        ("uniform", "rows[blockIdx.x]", 2),
        ("dynamic_bytes", "4 * (n + 1)", 3),
    ]
    assert source.slice(found.facts[0].span) == "assume(blockDim.x == 256 && f(n) > 1)"


@pytest.mark.parametrize(
    "broken", ["// smem: assume(blockDim.x", "// smem: uniform", "// smem: dynamic_bytes == 4"]
)
def test_half_typed_facts_are_no_facts(broken: str) -> None:
    _, found = parse(f"{broken}\n)\n")
    assert found.facts == ()


def test_every_prefix_is_read_and_its_problems_lie_in_it() -> None:
    text = "/* smem: disable[SMEM201] */ // smem: enable[missing-barrier\n// smem: assume(a(b) == [c]\n"
    for end in range(len(text) + 1):
        source = SourceText(text[:end])
        found = parse_suppressions(source, [Span(0, end)], KNOWN)
        assert all(0 <= problem.span.start < problem.span.end <= end for problem in found.problems)


@pytest.mark.parametrize("written", ["smem201", "Missing-Barrier", "SMEM201"])
def test_a_rule_has_one_name_in_any_case(written: str) -> None:
    assert silenced(f"a; // smem: ignore[{written}]\nb;\n") == [1]
    assert silenced(f"// smem: disable[SMEM201]\na;\n// smem: enable[{written}]\nb;\n") == [1, 2, 3]


def test_a_long_word_of_strangers_is_cut() -> None:
    _, found = parse(f"a; // smem: ignore[{'x' * 500}\x1b]\n")
    assert [problem.message for problem in found.problems] == [f"no rule is called `{'x' * 80}…`"]
