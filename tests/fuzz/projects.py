"""The files that are edited: small projects of ours, reference kernels, files of the pinned corpora."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

from corpora.fetch import corpora, fetch

from fuzz.own_texts import COPY, HOST, MAIN, SIZES, SMALL, TILE, UNCALLED

TESTS = Path(__file__).resolve().parents[1]
Files = dict[str, str]
NOWHERE = "/nowhere/typed"  # a folder that is on no disk: all of a project is open in the editor
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def own() -> list[Files]:
    """Small projects of ours. Headers are in the folder of the document."""
    single = {**SMALL, "host": HOST, "uncalled": UNCALLED}
    return [
        {f"{NOWHERE}/1/main.cu": MAIN, f"{NOWHERE}/1/tile.cuh": TILE, f"{NOWHERE}/1/sizes.h": SIZES},
        {f"{NOWHERE}/2/copy.cu": COPY, f"{NOWHERE}/2/tile.cuh": TILE},
        *({f"{NOWHERE}/{name}.cu": text} for name, text in single.items()),
    ]


def kernels() -> list[Files]:
    """The reference kernels of the tests."""
    paths = sorted((TESTS / "kernels").glob("*.cu"))
    return [{f"{NOWHERE}/kernels/{path.name}": path.read_bytes().decode()} for path in paths]


def of_corpora(largest: int) -> list[Files]:
    """The files of the pinned corpora that have kernels, and so many characters at most, each with the headers of its
    own folder that it includes. Raises Unavailable."""
    found: list[Files] = []
    for corpus in corpora():
        for path in sorted(each for each in fetch(corpus).rglob("*") if each.suffix in (".cu", ".cuh")):
            text = path.read_bytes().decode("utf-8", "replace")
            if "__global__" in text and len(text) <= largest:
                found.append(with_headers(path, text))
    return found


def with_headers(path: Path, text: str) -> Files:
    files = {str(path): text}
    for name in _INCLUDED.findall(text):
        header = path.parent / name
        if header.is_file():
            files[str(header)] = header.read_bytes().decode("utf-8", "replace")
    return files


def drawn(projects: Sequence[Files], random: Random, most: int = 2) -> list[Files]:
    """Some that are open at a time."""
    return random.sample(projects, min(most, len(projects)))
