"""What a finding says where its kernel stands."""

from __future__ import annotations

from dataclasses import replace

from smem_lsp.engine import check
from smem_lsp.ir.places import Row
from smem_lsp.rules.words import LaunchPlace, Line, Words, said

TEXT = "__global__ void k() {}\nvoid go() { k<<<1, 32>>>(); }\n"


def test_only_named_lines_move() -> None:
    words = said("`line 7` at line ", Line(9)) + "; line 3"
    assert str(words) == "`line 7` at line 9; line 3"
    assert str(words.moved(2)) == "`line 7` at line 11; line 3"


def test_places_of_a_kernel_are_said_where_it_stands() -> None:
    words = said("line ", Row(0), ", launched in ", LaunchPlace(0))
    for above in ("", "\n\n"):
        (facts,) = check(above + TEXT).facts
        first = len(above) + 1
        assert str(words.placed(facts.kernel)) == f"line {first}, launched in line {first + 1}"
    elsewhere = replace(facts.kernel.launches[0], path="src/run.cu", line=7, caller="src/main.cu:3")
    kernel = replace(facts.kernel, launches=(elsewhere,))
    assert str(said(LaunchPlace(0)).placed(kernel)) == "run.cu:7, called from main.cu:3"


def test_nothing_said_is_nothing() -> None:
    assert not said("", Words())
    assert said("a", said("b")) == Words(("a", "b"))
