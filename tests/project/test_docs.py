"""The pages of docs: their commands run and print what stands there, their recipes are what their readers take, the
site builds without a broken link. ``SMEM_UPDATE=1`` writes the outputs again."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import toolchain

from smem_lsp.cli import main
from smem_lsp.cli.errors import UsageError
from smem_lsp.cli.parser import parse
from smem_lsp.config import KEYS
from smem_lsp.rules.registry import RULES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
_CONSOLE = re.compile(r"^```console\n(.*?)^```\n", re.M | re.S)
_BLOCK = re.compile(r"^```(\S*) ?(\S*)\n(.*?)^```$", re.M | re.S)
SCHEMAS = {"github-workflows": "vendor.github-workflows", "gitlab-ci": "vendor.gitlab-ci"}


def with_console() -> list[Path]:
    return [page for page in PAGES if _CONSOLE.search(page.read_text(encoding="utf-8"))]


def named(pages: list[Path]) -> list[str]:
    return [page.stem for page in pages]


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples as a clone has them, in the current folder."""
    for folder in ("docs/examples", "tests/examples"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "*.py")
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("page", with_console(), ids=named(with_console()))
def test_commands_print_what_stands_there(
    page: Path, fresh: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = page.read_text(encoding="utf-8")

    def ran(block: re.Match[str]) -> str:
        commands = [line[2:] for line in block[1].splitlines() if line.startswith("$ ")]
        assert commands, f"a console block of {page.name} has no command"
        return "```console\n" + "".join(f"$ {each}\n{output_of(each, capsys)}" for each in commands) + "```\n"

    wanted = _CONSOLE.sub(ran, text)
    if os.environ.get("SMEM_UPDATE") == "1":
        page.write_text(wanted, encoding="utf-8")
        return
    assert text == wanted, "SMEM_UPDATE=1 bash tests/run tests/project/test_docs.py writes it again"


def output_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Standard output of a command line of the docs, without spaces at the ends of lines."""
    words = shlex.split(command)
    if words[0] == "cp":
        shutil.copy(words[1], words[2])
        return ""
    assert words[0] == "smem-lsp", command
    code = main(words[1:])
    printed = capsys.readouterr()
    assert code in (0, 1), printed.err
    return "".join(f"{line.rstrip()}\n" for line in printed.out.splitlines())


def command_lines(text: str) -> Iterator[str]:
    """Whatever looks like a whole command of ours: in blocks, in backticks and in recipes."""
    blocks = "".join(f"{body}\n" for _, _, body in _BLOCK.findall(text))
    in_blocks = re.findall(r"^[ $\-]*(?:run: |sh ')?(smem-lsp [^'\n]+)", blocks, re.M)
    for found in (*in_blocks, *re.findall(r"`(smem-lsp [^`\n]+)`", _BLOCK.sub("", text))):
        line = found.partition("#")[0].partition(" > ")[0].partition(" | ")[0].strip()
        if not re.search(r"[…\[]|\b[A-Z]{2,}\b(?!\d)", re.sub(r"SMEM\d*|TILE\w*", "", line)):
            yield line


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=["README", *named(PAGES)])
def test_commands_have_flags_that_exist(page: Path) -> None:
    for line in command_lines(page.read_text(encoding="utf-8")):
        try:
            parse(shlex.split(line)[1:])
        except UsageError as error:
            assert "are required" in str(error), f"{line}: {error}"  # the command is named, not shown


def test_command_lines_are_found() -> None:
    found = {line for page in PAGES for line in command_lines(page.read_text(encoding="utf-8"))}
    assert "smem-lsp check . --format junit --output-file smem.xml --exit-zero" in found
    assert len(found) > 25


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("kind", ["github-workflows", "gitlab-ci", "pre-commit"])
def test_recipes(kind: str, tmp_path: Path) -> None:
    recipes = [
        body
        for page in PAGES
        for language, name, body in _BLOCK.findall(page.read_text(encoding="utf-8"))
        if (language, name) == ("yaml", kind)
    ]
    assert recipes
    files = [tmp_path / f"{number}.yaml" for number in range(len(recipes))]
    for file, recipe in zip(files, recipes, strict=True):
        file.write_text(recipe, encoding="utf-8")
    if kind == "pre-commit":
        command = ["-m", "pre_commit", "validate-config", *map(str, files)]
    else:
        command = ["-m", "check_jsonschema", "--builtin-schema", SCHEMAS[kind], *map(str, files)]
    judged(command)


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize(
    ("schema", "file"),
    [("github-workflows", ".github/workflows/release.yml"), ("github-actions", "action.yml")],
)
def test_what_github_reads(schema: str, file: str) -> None:
    judged(["-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(ROOT / file)])


def judged(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        encoding="utf-8",
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", ["settings", "build-systems"])
def test_settings_are_taken(page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = [body for language, _, body in _BLOCK.findall(text) if language == "toml"]
    assert blocks
    (tmp_path / "include").mkdir()
    for block in blocks:
        (tmp_path / "smem.toml").write_text(block, encoding="utf-8")
        assert main(["config", str(tmp_path)]) == 0
        assert capsys.readouterr().err == ""


def test_every_setting_is_on_the_page() -> None:
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    (first, *_) = (body for language, _, body in _BLOCK.findall(text) if language == "toml")
    shown = re.findall(r"^\[?([a-z][a-z-]*)", first, re.M)
    assert set(shown) == set(KEYS) and len(shown) == len(KEYS)


def test_examples_of_the_api() -> None:
    results = doctest.testfile(str(DOCS / "api.md"), module_relative=False, encoding="utf-8")
    assert results.failed == 0 and results.attempted >= 8


@pytest.mark.slow(seconds=20)
def test_the_site_builds(tmp_path: Path) -> None:
    """Strict: a link that leads nowhere fails it. Not ``--quiet``, with which nothing is told, nor counted."""
    found = importlib.util.find_spec("mkdocs")
    origin = Path(found.origin) if found and found.origin else None
    toolchain.require(origin, "no MkDocs here: pip install '.[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "site"
    for code in RULES:
        assert "Limits" in (site / "rules" / f"{code}.html").read_text(encoding="utf-8")
    assert (site / "maps" / "SMEM301.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (site / "schema" / "output.json").read_bytes() == (
        ROOT / "smem_lsp/output/schema.json"
    ).read_bytes()
    pages = [page.relative_to(site).as_posix() for page in site.rglob("*.html")]
    loaded = [
        (page, link)
        for page in pages
        for link in re.findall(
            r'(?:src|<link [^>]*href)="(https?://[^"]+)"', (site / page).read_text(encoding="utf-8")
        )
    ]
    assert loaded == []  # nothing comes from elsewhere
