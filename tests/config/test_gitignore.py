"""``.gitignore`` as git reads it: git itself is asked about the same files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smem_lsp.config import GitIgnore

git = pytest.mark.skipif(shutil.which("git") is None, reason="no git to ask")


def repository(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    return root


def asked(root: Path, paths: list[str]) -> set[str]:
    """What ``git`` ignores of them."""
    command = ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "--stdin", "-z"]
    done = subprocess.run(
        command, cwd=root, input="\0".join(paths), capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return {each for each in done.stdout.split("\0") if each}


def ours(root: Path, paths: list[str]) -> set[str]:
    ignored = GitIgnore([], pytest.fail)
    return {each for each in paths if ignored.hides(str(root / each))}


CASES = {
    "names": "build\n*.o\n!keep.o\n",
    "folders": "build/\nsrc/gen/\n/top\n",
    "stars": "**/gen\na/**\nb/**/c\n*/x.cu\nfo**o\n",
    "anchored": "/*.cu\n!/k.cu\nsrc/*.cu\n",
    "undone": "/*\n!/src/\n/src/*\n!/src/k.cu\n",
    "beyond undoing": "src\n!src/k.cu\n",
    "classes": "[ab].cu\n[!k].o\n[^x]y\n[[:digit:]]*\n[]]x\n[a-\n[z-a]\n",
    "escapes": "\\#x\n\\!y\nend\\ \ntrail   \na\\*b\nlast\\\n",
    "lines": "\ufeffbuild\r\n# build2\n\n   \nsrc\r\n",
    "nothing": "/\n!\n//\n",
}
PATHS = [
    *(
        "k.cu",
        "a.cu",
        "x.o",
        "keep.o",
        "top",
        "#x",
        "!y",
        "end ",
        "trail",
        "a*b",
        "aab",
        "fooo",
        "1x",
        "]x",
        "xy",
    ),
    *(
        "ay",
        "ky",
        "build/k.cu",
        "src/k.cu",
        "src/a.cu",
        "src/gen/k.cu",
        "src/top/k.cu",
        "src/x.cu",
        "a/b/c/k.cu",
    ),
    *(
        "b/c/k.cu",
        "b/d/e/c/k.cu",
        "gen/x",
        "a/gen/x",
        "last",
        "build2",
        "z",
        "[z-a]",
        "last\\",
        "src/deep/er/k.cu",
    ),
]


@git
@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_one_file(tmp_path: Path, text: str) -> None:
    root = repository(tmp_path, {**dict.fromkeys(PATHS, ""), ".gitignore": text})
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    assert ours(root, PATHS) == asked(root, PATHS)


@git
def test_nested_files_and_those_of_git_itself(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    files = {
        ".gitignore": "*.o\ngen/\n",
        ".git/info/exclude": "secret.cu\n!a.o\n",
        "src/.gitignore": "!k.o\n/only.cu\nsecret.cu\n",
        "src/sub/.gitignore": "!secret.cu\n!gen/\n",
    }
    paths = [
        *("a.o", "secret.cu", "src/k.o", "src/x.o", "src/only.cu", "src/sub/only.cu", "src/sub/secret.cu"),
        *("gen/k.cu", "src/gen/k.cu", "src/sub/gen/k.cu", "src/sub/k.o", "src/secret.cu"),
    ]
    root = repository(tmp_path, {**dict.fromkeys(paths, ""), **files})
    found = ours(root, paths)
    assert found == asked(root, paths)
    assert "a.o" in found and "src/k.o" not in found


@git
@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("ab*?/[]!-\\. #", min_size=1, max_size=7), min_size=1, max_size=12))
def test_any_patterns(tmp_path_factory: pytest.TempPathFactory, patterns: list[str]) -> None:
    root = tmp_path_factory.mktemp("r")
    paths = ["a", "b", "ab", "b.a", "d/a", "d/ab", "d/b/a", "d/b/b", "a-b", "d/!a", "#a"]
    for each in paths:
        (root / each).parent.mkdir(parents=True, exist_ok=True)
        (root / each).write_text("")
    (root / ".gitignore").write_text("\n".join(patterns))
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    assert ours(root, paths) == asked(root, paths), patterns


def test_without_a_repository_a_searched_folder_is_the_root(tmp_path: Path) -> None:
    repository(tmp_path, {".gitignore": "*.cu\n", "p/.gitignore": "gen\n", "p/a.cu": "", "p/gen/b.cu": ""})
    ignored = GitIgnore([str(tmp_path / "p")], pytest.fail)
    assert ignored.hides(str(tmp_path / "p/gen/b.cu"))
    assert not ignored.hides(str(tmp_path / "p/a.cu"))
    assert not GitIgnore([], pytest.fail).hides(str(tmp_path / "p/gen/b.cu"))


def test_a_repository_in_another_one_has_its_own_rules(tmp_path: Path) -> None:
    repository(
        tmp_path, {".git/config": "", ".gitignore": "*.cu\n", "sub/.git": "gitdir: x\n", "sub/a.cu": ""}
    )
    assert not GitIgnore([], pytest.fail).hides(str(tmp_path / "sub/a.cu"))


@pytest.mark.parametrize("pattern", ["*a" * 400 + "b", "**/" * 300 + "b", "[a]" * 300, "?" * 900 + "*"])
def test_patterns_of_strangers_take_no_time(tmp_path: Path, pattern: str) -> None:
    """Whatever the pattern, one step for each character: this would not end otherwise."""
    repository(tmp_path, {".git/config": "", ".gitignore": pattern + "\n", "a" * 200 + ".cu": ""})
    assert not GitIgnore([], pytest.fail).ignores(str(tmp_path / ("a" * 200 + ".cu")))


def test_a_file_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    repository(tmp_path, {".git/config": "", ".gitignore": "#" * (1 << 20) + "\n*.cu\n", "a.cu": ""})
    told: list[str] = []
    ignored = GitIgnore([], told.append)
    assert not ignored.ignores(str(tmp_path / "a.cu"))
    assert not ignored.ignores(str(tmp_path / "b.cu"))
    assert told == [f"{tmp_path / '.gitignore'}: larger than 1 MB; going on without"]
