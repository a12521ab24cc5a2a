"""What the README and the pages of docs show is what the tool prints. ``SMEM_UPDATE=1`` writes it again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from smem_lsp.rules.registry import RULES

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "docs").glob("*.md")))
MOST_LINES = 150  # of the README


def rules() -> str:
    rows = [
        f"| {rule.code} | {rule.name} | {rule.default} | {rule.summary} |"
        for rule in sorted(RULES.values(), key=lambda rule: rule.code)
    ]
    return "\n".join(["| code | name | severity | says |", "| --- | --- | --- | --- |", *rows])


def example() -> str:
    return f"```\n{_printed('tests/examples')}```"


def race() -> str:
    return f"```\n{_printed('docs/examples/reverse.cu')}```"


def before_after() -> str:
    return _diff("tests/examples/gemm.cu")


def scratch_in_tile() -> str:
    return _diff("tests/kernels/01_existing_barrier.cu")


def dynamic_carve() -> str:
    return _diff("--unsafe-fixes", "tests/kernels/29_dynamic_carve.cu")


def _diff(*arguments: str) -> str:
    return f"```diff\n{_printed('--diff', '--select', 'SMEM301', *arguments).rstrip()}\n```"


BLOCKS: Mapping[str, tuple[str, Callable[[], str]]] = {
    "rules": ("docs/rules.md", rules),
    "example": ("README.md", example),
    "race": ("README.md", race),
    "before-after": ("README.md", before_after),
    "scratch-in-tile": ("docs/rewrites.md", scratch_in_tile),
    "dynamic-carve": ("docs/rewrites.md", dynamic_carve),
}


def _printed(*arguments: str) -> str:
    """What ``smem-lsp check`` prints in the root of the repository, on no terminal."""
    command = [sys.executable, "-m", "smem_lsp", "check", "--isolated", "--color", "never", *arguments]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1, done.stderr  # there are findings, and something to change
    return done.stdout


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_is_fresh(name: str) -> None:
    file, made = BLOCKS[name]
    page = ROOT / file
    text = page.read_text(encoding="utf-8")
    block = re.compile(f"(<!-- {name}:begin -->\n)(.*?)(<!-- {name}:end -->)", re.S)
    found = block.findall(text)
    assert len(found) == 1, f"{file} has no block <!-- {name}:begin --> … <!-- {name}:end -->"
    wanted = f"{made()}\n"
    if os.environ.get("SMEM_UPDATE") == "1":
        page.write_text(block.sub(lambda match: match[1] + wanted + match[3], text), encoding="utf-8")
        return
    assert found[0][1] == wanted, (
        f"the block {name} is stale: SMEM_UPDATE=1 bash tests/run tests/project/test_generated.py"
    )


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_to_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [each.partition("#")[0] for each in re.findall(r"\]\(([^)\s]+)\)", text)]
    files = [each for each in links if each and not each.startswith("https://")]
    assert [each for each in files if not (page.parent / each).exists()] == []


def test_every_page_of_the_docs_is_linked_from_the_readme() -> None:
    linked = set(re.findall(r"\]\((docs/[^)#]+\.md)[)#]", README.read_text(encoding="utf-8")))
    assert linked == {page.relative_to(ROOT).as_posix() for page in PAGES[1:]}
