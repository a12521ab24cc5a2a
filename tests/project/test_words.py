"""What the tool says, in the terms of the field: phrases that are not used, and brackets that stay flat."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from smem_lsp.engine import check
from smem_lsp.rules.registry import RULES

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "smem_lsp"
SPEAKING = ("rules", "fixes", "facts", "engine", "output", "cli", "server", "environment", "config")
KERNELS = sorted((ROOT / "tests" / "kernels").glob("*.cu"))[::4]

SAID_INSTEAD = {  # what is not said -> what is
    r"race conditions?": "data race",
    r"\b(RAW|WAR|WAW)\b": "read after write, write after read, write after write",
    r"\bmergeable\b(?!-)": "can reuse",  # but the name of a rule
    r"\bsync ?points?\b": "barrier",
    r"\b(shmem|smem) (usage|bytes|size)\b": "shared memory",
    r"\b\d+ (thr|thrs|reg|regs)\b": "threads, registers",
    r"\b\d[\d,.]* ?(KB|kB|Kb)\b": "KiB, or bytes",
    r"\b(CTAs?|thread ?blocks?)\b": "block",
    r"\blivenes+ interval\b": "live range",
    r"\bcolou?ring\b": "layout",
    r"\bfalse sharing\b": "bank conflict",
    r"\bmutually exclusive lifetimes?\b": "never live together",
    r"\b(please note|simply|just run|obviously)\b": "nothing",
}


def spoken(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that are no documentation and no pattern: with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            if " " in node.value and "\\" not in node.value:
                yield node.lineno, node.value


def found_in(text: str) -> list[str]:
    plain = re.sub(r"`[^`]*`", "``", text)  # names of the kernel
    return [
        f"{match[0]!r}, say {said}"
        for phrase, said in SAID_INSTEAD.items()
        if (match := re.search(phrase, plain))
    ]


def test_the_glossary_is_kept() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {each}"
        for room in SPEAKING
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for line, text in spoken(path)
        for each in found_in(text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.stem
)
def test_the_glossary_is_kept_in_the_docs(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert found_in(text) == []


@pytest.mark.parametrize("code", RULES)
def test_the_glossary_is_kept_in_the_rules(code: str) -> None:
    assert found_in(re.sub(r"```.*?```", "", RULES[code].doc, flags=re.S)) == []


def test_a_phrase_is_found() -> None:
    assert found_in("a WAR hazard of 12 KB") == [
        "'WAR', say read after write, write after read, write after write",
        "'12 KB', say KiB, or bytes",
    ]
    assert found_in("`WAR` is the name of a buffer") == []


def depth(text: str) -> int:
    """How deep brackets stand in brackets, outside of code."""
    now = deepest = 0
    for char in re.sub(r"`[^`]*`", "", text):
        now += (char in "([") - (char in ")]")
        deepest = max(deepest, now)
    return deepest


def sentences(source: str) -> Iterator[str]:
    report = check(source, path="k.cu")
    for finding in report.findings:
        yield str(finding.message)
        yield from (str(each.message) for each in finding.related)
        yield from (fix.title for fix in report.fixes_for(finding))


@pytest.mark.slow(seconds=4)
def test_brackets_stay_flat() -> None:
    examples = [each for rule in RULES.values() for each in re.findall(r"```cuda\n(.*?)```", rule.doc, re.S)]
    texts = [*examples, *(path.read_text(encoding="utf-8") for path in KERNELS)]
    said = {sentence for text in texts for sentence in sentences(text)}
    assert len(said) > 80
    assert [sentence for sentence in said if depth(sentence) > 1] == []
