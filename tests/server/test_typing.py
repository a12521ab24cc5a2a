"""Nothing flashes while somebody types: findings stay until a statement is complete, and new ones come in a pause."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.client import serving, span
from server.samples import MERGEABLE, PUSH, place
from server.typing_hands import Screen, recordings, type_statement

FIRST_READ = "  float s = tile[31 - tid / 32][tid % 32];\n"
KERNELS = Path(__file__).resolve().parents[1] / "kernels"
BARRIER = "  __syncthreads();\n"


def codes(screen: Screen) -> list[str]:
    return [finding.code for finding in screen.shown()]


def test_a_half_typed_statement_leaves_everything_as_it_was() -> None:
    screen = Screen(MERGEABLE)
    before = codes(screen)
    assert before == ["SMEM301", "SMEM101"]
    at = MERGEABLE.index("  out[tid]")
    screen.change(at, at, "\n")
    spans = [finding.span for finding in screen.shown()]
    for offset, key in enumerate("  tile[0"):
        screen.change(at + offset, at + offset, key)
    assert screen.found() != screen.shown()  # the analysis knows less now
    assert codes(screen) == before and [finding.span for finding in screen.shown()] == spans
    screen.change(0, 0, "//")  # they move with the text
    assert [finding.span.start for finding in screen.shown()] == [each.start + 2 for each in spans]
    screen.wait(1.1)  # nobody has typed for a second
    assert screen.shown() == screen.found()


def test_a_race_is_told_in_a_pause_and_goes_with_the_last_key_of_its_barrier() -> None:
    screen = Screen(MERGEABLE)
    start = MERGEABLE.index(BARRIER)
    screen.change(start, start + len(BARRIER), "")  # a line at once: what it means is told at once
    assert "SMEM201" in codes(screen)
    screen.wait(5.0)
    for offset, key in enumerate("__syncthreads("):
        screen.change(start + offset, start + offset, key)
        assert "SMEM201" in codes(screen)
    end = start + len("__syncthreads(")
    screen.change(end, end, ")")
    screen.change(end + 1, end + 1, ";")
    assert "SMEM201" not in codes(screen)
    assert screen.flickers() == []


def test_a_new_finding_waits_until_nobody_types() -> None:
    screen = Screen(MERGEABLE)
    at = MERGEABLE.index("  int tid")
    for offset, key in enumerate("  __shared__ int more[8];"):
        screen.change(at + offset, at + offset, key)
    assert codes(screen) == ["SMEM301", "SMEM101"]
    assert len(screen.found()) == 3  # `more` is not used yet
    screen.wait(1.1)
    assert len(screen.shown()) == 3
    screen.change(at, at + len("  __shared__ int more[8];"), "")  # undone at once
    assert codes(screen) == ["SMEM301", "SMEM101"]


@pytest.mark.slow(seconds=15)
def test_typings_of_statements_of_kernels() -> None:
    for text, at, statement in recordings([MERGEABLE], 4, seed=3):
        screen = Screen(text)
        type_statement(screen, at, statement)
        assert screen.shown() == screen.found()
        assert screen.flickers() == [], statement


def test_what_has_no_semicolon_is_not_complete() -> None:
    """``float acc[4] = {}`` goes on with no loop, though an editor has closed its brace."""
    text = (KERNELS / "06_gemm_epilogue.wrong.cu").read_text()
    begun, rest = "float acc[4] = ", "{};"
    screen, at = Screen(text.replace(begun + rest, "", 1)), text.index(begun + rest)
    screen.change(at, at, begun, after=3.0)
    type_statement(screen, at + len(begun), rest)
    assert screen.flickers() == []


def test_the_client_gets_what_stays_and_then_what_is_there() -> None:
    with serving(PUSH) as client:
        client.open("file:///k.cu", MERGEABLE)
        before = client.published("file:///k.cu", 1)
        lens = client.request("textDocument/codeLens", {"textDocument": {"uri": "file:///k.cu"}})
        line, column = place(MERGEABLE, "  out[tid]")
        client.change("file:///k.cu", 2, {"range": span((line, column), (line, column)), "text": "{"})
        held = client.published("file:///k.cu", 2)
        assert [(each["code"], each["range"]) for each in held] == [
            (each["code"], each["range"]) for each in before
        ]
        kept = client.request("textDocument/codeLens", {"textDocument": {"uri": "file:///k.cu"}})
        assert [each["command"] for each in kept] == [each["command"] for each in lens]
        client.until(
            lambda: (
                [
                    each["diagnostics"]
                    for each in client.all_of("textDocument/publishDiagnostics")
                    if each["version"] == 2
                ][-1]
                != held
            ),
            "what is found in the text that does not parse",
        )
