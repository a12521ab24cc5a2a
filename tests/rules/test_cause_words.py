"""Every cause has words and a meaning, and only ``rules`` has the words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import smem_lsp
from smem_lsp.engine import check
from smem_lsp.ir.causes import Cause, CauseKind, Opens
from smem_lsp.ir.places import Row, SourceMap
from smem_lsp.rules.cause_words import bare, causes, told, told_causes

PRODUCT = Path(smem_lsp.__file__).parent
NAMES = ("one", "two")
OF = Cause(CauseKind.STORED)
(KERNEL,) = (each.kernel for each in check("__global__ void k() {}").facts)
NOTED = re.compile(r"limits\.note\(\s*CauseKind\.(\w+)")


LINES = range(10)


def words(of: Cause, lines: Sequence[int] = LINES) -> str:
    """In a kernel whose row n is the n-th of ``lines``."""
    return told(replace(KERNEL, places=SourceMap(lines=tuple(lines))), of)


@pytest.mark.parametrize("kind", CauseKind)
def test_each_kind_has_words(kind: CauseKind) -> None:
    said = words(Cause(kind, Row(7), NAMES, (OF,)))
    assert said and not re.search(r"[{}]", said)
    assert bare(Cause(kind, Row(7), NAMES, (OF,))) == bare(Cause(kind, None, NAMES, (OF,)))


def test_what_lowering_notes_opens_something() -> None:
    noted = {
        CauseKind[name]
        for path in (PRODUCT / "lowering").rglob("*.py")
        for name in NOTED.findall(path.read_text(encoding="utf-8"))
    }
    assert len(noted) > 40
    assert not [kind for kind in noted if Cause(kind).opens is Opens.NOTHING]


def test_each_kind_is_made_somewhere() -> None:
    texts = [path.read_text(encoding="utf-8") for path in PRODUCT.rglob("*.py") if path.name != "causes.py"]
    made = {name for text in texts for name in re.findall(r"CauseKind\.(\w+)(?!: )\b", text)}
    assert made == {kind.name for kind in CauseKind}


@pytest.mark.parametrize(
    ("of", "said", "without_line"),
    [
        (Cause(CauseKind.GOTO, Row(5)), "goto at line 5", "goto"),
        (Cause(CauseKind.REACHES, Row(5), ("f",)), "line 5: what f reaches is not followed", None),
        (
            Cause(CauseKind.ESCAPES, Row(5), ("s",), (Cause(CauseKind.ARGUMENT, names=("f",)),)),
            "line 5: the address of s escapes (argument of f)",
            "the address of s escapes (argument of f)",
        ),
        (
            Cause(
                CauseKind.EXTENT,
                Row(5),
                of=(Cause(CauseKind.ACCESS, names=("p", "read")), Cause(CauseKind.PARAMETER, names=("n",))),
            ),
            "how far the read through `p` reaches is not known: nothing bounds `n`",
            None,
        ),
    ],
)
def test_words(of: Cause, said: str, without_line: str | None) -> None:
    assert words(of) == said
    assert bare(of) == (said.removeprefix("line 5: ") if without_line is None else without_line)


@pytest.mark.parametrize("kind", CauseKind)
def test_a_line_that_words_name_is_a_part_of_its_own(kind: CauseKind) -> None:
    here, there = (words(Cause(kind, Row(7), NAMES, (OF,)), lines) for lines in (LINES, range(70, 80)))
    assert there == here.replace("7", "77")


def test_what_is_said_in_the_same_words_is_said_once() -> None:
    found = [Cause(kind, Row(5), ("M",)) for kind in (CauseKind.MACRO, CauseKind.MACRO_TYPE, CauseKind.MACRO)]
    kernel = replace(KERNEL, places=SourceMap(lines=tuple(LINES)))
    assert told_causes(kernel, found) == ["macro M (line 5) is not in sight"]


def test_a_call_that_is_not_followed_is_one_reason() -> None:
    text = """
extern __shared__ float b[];
__device__ void f(int n) { b[n] = n; if (n) f(n - 1); }
__global__ void k(int n) { f(n); }
"""
    (facts,) = check(text).facts
    found = causes(facts.kernel.open(Opens.ACCESSES))
    assert found and len(found) == len(facts.kernel.open(Opens.ACCESSES))


def test_loops_that_are_too_deep_leave_the_bytes_certain() -> None:
    loops = "".join(f"for (int i{at} = 0; i{at} < n; ++i{at}) " for at in range(13))
    body = f"__shared__ float s[64]; s[threadIdx.x] = n; __syncthreads(); {loops} o[n] += s[n % 64];"
    (kernel,) = check(f"__global__ void k(float* o, int n) {{ {body} }}").kernels
    assert kernel.kernel.irregular is not None and kernel.kernel.unexact is None


def test_the_page_says_what_each_opens() -> None:
    page = (PRODUCT.parent / "docs" / "reading.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| ([A-Z]+) \|", page, re.M)
    assert told == [each.name for each in Opens if each is not Opens.NOTHING]
