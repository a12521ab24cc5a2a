"""Which tests a change can reach."""

from __future__ import annotations

import pytest
import touched
from touched import Selection, TestFile, below, read_tests, select

TESTS = [
    TestFile("tests/analysis/test_a.py", "", rooms=frozenset({"engine"})),
    TestFile("tests/cli/test_c.py", "main(...)", rooms=frozenset({"cli"})),
    TestFile("tests/editor/test_e.py", "", rooms=frozenset()),
    TestFile("tests/lowering/conftest.py", ""),
    TestFile("tests/lowering/test_l.py", "", rooms=frozenset({"lowering"})),
    TestFile("tests/project/test_p.py", "every text of the house"),
    TestFile("tests/project/test_q.py", "subprocess.run(...)"),
    TestFile("tests/rules/test_r.py", "", frozenset({"tests/rules/texts.py"}), frozenset({"engine"})),
    TestFile("tests/rules/texts.py", "", frozenset({"tests/rules/words.py"})),
    TestFile("tests/rules/words.py", ""),
    TestFile("tests/syntax/test_s.py", "docs/rules.md", rooms=frozenset({"syntax"})),
    TestFile("tests/syntax/test_t.py", "run([sys.executable])", rooms=frozenset({"syntax"})),
]
HOUSE = "tests/project/test_p.py"
DOORS = {"tests/cli/test_c.py", "tests/editor/test_e.py", "tests/project/test_q.py", "tests/syntax/test_t.py"}
WITH_ENGINE = {"tests/analysis/test_a.py", "tests/rules/test_r.py"}


def selected(*changed: str) -> set[str]:
    """Beside the tests that look at the whole repository, which always run."""
    found = select(changed, TESTS)
    assert not found.everything
    assert HOUSE in found.files
    assert set(found.files) | set(found.left_out) == {each.path for each in TESTS if each.is_test}
    return set(found.files) - {HOUSE}


def test_what_cannot_import_the_room_is_left_out() -> None:
    assert selected("smem_lsp/output/text.py") == DOORS
    assert selected("smem_lsp/rules/model.py") == DOORS | WITH_ENGINE
    assert selected("smem_lsp/lowering/kernel.py") == DOORS | WITH_ENGINE | {"tests/lowering/test_l.py"}


def test_what_several_changes_reach_is_added_up() -> None:
    assert selected("smem_lsp/output/text.py", "tests/lowering/test_l.py") == DOORS | {
        "tests/lowering/test_l.py"
    }


def test_a_room_at_the_bottom_reaches_all_that_use_it() -> None:
    every = {each.path for each in TESTS if each.is_test} - {HOUSE}
    assert selected("smem_lsp/syntax/lexer.py") == every


def test_a_file_of_tests_reaches_those_that_import_it() -> None:
    assert selected("tests/rules/words.py") == {"tests/rules/test_r.py"}
    assert selected("tests/analysis/test_a.py") == {"tests/analysis/test_a.py"}
    assert selected("tests/lowering/conftest.py") == {"tests/lowering/test_l.py"}


def test_a_page_reaches_those_that_speak_of_it() -> None:
    assert selected("docs/rules.md") == {"tests/syntax/test_s.py"}


def test_the_extension_reaches_the_editors() -> None:
    assert selected("vscode-extension/src/a.ts") == {"tests/editor/test_e.py"}


def test_nothing_has_changed() -> None:
    assert selected() == set()


@pytest.mark.parametrize(
    "path",
    [
        "pyproject.toml",
        "grammar/cuda.lark",
        "tests/conftest.py",
        "tests/run",
        "tests/kernels/01.cu",
        "tests/rules/gone.py",
        "smem_lsp/strange/a.py",
        "smem_lsp/py.typed",
        "new",
    ],
)
def test_what_cannot_be_placed_runs_everything(path: str) -> None:
    found = select(["docs/rules.md", path], TESTS)
    assert path in found.everything
    assert found == Selection(found.everything)


def test_what_is_left_out_has_a_reason() -> None:
    reasons = select(["smem_lsp/output/text.py", "docs/rules.md"], TESTS).left_out
    assert set(reasons.values()) == {"reach none of smem_lsp/output, do not speak of docs"}


def test_what_is_below_a_room() -> None:
    assert below(["config"]) == {"config", "source", "targets"}


@pytest.mark.slow(seconds=3)
def test_the_tests_that_there_are() -> None:
    """An import of ours is one whether it is written or named in a string, and helpers count with what they import."""
    roots = touched.import_roots((touched.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = {each.path: each for each in read_tests(touched.ROOT, roots)}
    assert found["tests/fixes/test_rewrites_compiled.py"].reads >= {
        "tests/fixes/test_guests.py",
        "tests/harness.py",
        "tests/kernels/test_kernels.py",
    }
    assert "tests/executor/programs.py" in found["tests/executor/test_banks.py"].reads
    assert "tests/executor/programs.py" in found["tests/executor/claims.py"].reads
    assert "facts" in found["tests/conftest.py"].rooms
    files = select(["smem_lsp/output/text.py"], list(found.values())).files
    assert "tests/output/test_layout_output.py" in files and "tests/cli/test_cli_check.py" in files
    assert "tests/executor/test_claims.py" not in files and "tests/lowering/test_barriers.py" not in files
