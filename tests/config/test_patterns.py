"""Path patterns: the same answers as a matcher that tries everything, in as many steps as the path has characters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smem_lsp.config import ConfigError, load_config, matches
from smem_lsp.config.patterns import MAX_LENGTH, MAX_PATTERNS, PathPatterns

ROOT = Path("/root/of/it")


def naive(pattern: str, path: str) -> bool:
    """Tries every way to cut the path; written from the words of `matches`."""
    bare = pattern.rstrip("/")
    wanted = bare.removeprefix("./")
    parts = path.split("/")
    if "/" not in bare:
        return any(fits(wanted, part) for part in parts)
    return any(fits(wanted, "/".join(parts[:count])) for count in range(1, len(parts) + 1))


def fits(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern.startswith("**/"):
        rest = pattern[3:]
        starts = [0, *(at + 1 for at, char in enumerate(text) if char == "/")]
        return any(fits(rest, text[at:]) for at in starts)
    if pattern.startswith("**"):
        return any(fits(pattern[2:], text[at:]) for at in range(len(text) + 1))
    if pattern[0] == "*":
        most = text.find("/") if "/" in text else len(text)
        return any(fits(pattern[1:], text[at:]) for at in range(most + 1))
    if not text:
        return False
    if pattern.startswith("[ab]"):
        return text[0] in "ab" and fits(pattern[4:], text[1:])
    if pattern.startswith("[!a-b]"):
        return text[0] not in "ab/" and fits(pattern[6:], text[1:])
    if pattern[0] == "?":
        return text[0] != "/" and fits(pattern[1:], text[1:])
    return pattern[0] == text[0] and fits(pattern[1:], text[1:])


PIECES = ("a", "b", "c", "/", "*", "**", "**/", "?", "[ab]", "[!a-b]", ".")


@pytest.mark.slow(seconds=2)
@settings(max_examples=1_500, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join),
)
def test_the_answers_are_those_of_a_matcher_that_tries_everything(pattern: str, path: str) -> None:
    assert matches(pattern, str(ROOT / path), ROOT) == naive(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("**/****/b", "x/y/b", True),
        ("a/**/**/b", "a/b", True),
        ("a/***/b", "a/x/y/b", True),
        ("a/***/b", "a/b", False),
        ("x[", "x[", True),
        ("x[]", "x[]", True),
        ("x[!]", "x!", True),
        ("x[a-]", "x-", True),
        ("x[^a]", "x^", True),
        ("x/[!a]b", "x//b", False),
        ("s/*/[a-cx-z]?.cu", "s/q/yy.cu", True),
        ("/build", "build/x.cu", False),
        ("", "x", False),
    ],
)
def test_corners(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, f"{ROOT}/{path}", ROOT) is expected


HOSTILE = """
from pathlib import Path
from smem_lsp.config.patterns import PathPatterns
starred = ["*a" * 400 + "b", "**/a" * 200 + "b", "a**" * 300 + "b", "[!b]*" * 190 + "b", "?*" * 400 + "b"]
patterns = [f"{each}{n}" for each in starred for n in range(10)]
paths = ["/".join(["a" * 200] * 20), "a" * 4000, "a/" * 2000 + "a"]
compiled = PathPatterns(patterns, Path("/"))
assert not any(any(compiled.matching(f"/{path}")) for path in paths for _ in range(10))
"""


def test_hostile_patterns_cost_no_more_than_others() -> None:
    """50 patterns, 12,000 characters, ten times: 6 million steps. One try of a backtracking matcher does not end."""
    subprocess.run([sys.executable, "-c", HOSTILE], check=True, timeout=60)


def test_those_that_match() -> None:
    assert list(PathPatterns(["x", "*.cu", "a*"], ROOT).matching(str(ROOT / "d/a.cu"))) == ["*.cu", "a*"]


@pytest.mark.parametrize("key", ["exclude", "per-file-ignores"])
def test_patterns_are_bounded(tmp_path: Path, key: str) -> None:
    def wrong(patterns: list[str]) -> str:
        listed = ", ".join(f'"{each}"' + (' = ["SMEM101"]' if key != "exclude" else "") for each in patterns)
        text = f"{key} = [{listed}]\n" if key == "exclude" else f"{key} = {{ {listed} }}\n"
        file = tmp_path / "smem.toml"
        file.write_text(text)
        with pytest.raises(ConfigError) as error:
            load_config(file)
        return str(error.value).removeprefix(f"{file}:1: ")

    assert wrong(["a" * (MAX_LENGTH + 1)]) == f'"{key}" holds a pattern of 1,001 characters; 1,000 at most'
    many = [f"p{n}" for n in range(MAX_PATTERNS + 1)]
    assert wrong(many) == f'"{key}" holds 1,001 patterns; 1,000 at most'
