"""The pinned texts of a record.

The default set has all test kernels, all kernels whose truth is known, and all CUDA files of six pinned corpora: those
that are fetched by default (LightGBM, pytorch-fast-transformers, libKMCUDA: histograms and splits, attention,
clustering; templates with hundreds of instances, and the longest files of all) and three of the others (AutoGPTQ,
causal-conv1d, DeepSpeed: inline PTX and asynchronous copies, CUB, warp collectives and half precision). Together they
take some four minutes of processor time. With ``whole`` it takes all CUDA files of all pinned corpora: thousands of
FlashInfer are generated from one template, and vLLM, xFormers and mmcv take most of an hour. A text is taken once.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from corpora.fetch import Corpus, Unavailable, fetch, pinned
from families.kernels import FAMILIES

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = frozenset({".cu", ".cuh"})
OURS = frozenset({"kernels", "examples", "families", "shared", "truth"})  # groups whose files stand alone
FURTHER = frozenset(
    {"auto-gptq", "causal-conv1d", "deepspeed"}
)  # beside the corpora that are fetched by default


@dataclass(frozen=True, slots=True)
class Input:
    """One text. ``folder``: what its name is relative to, and from where it includes; ``expected``: "racy" or "free"
    where that is known; ``allowed``: what may be told of it although it looks wrong, in the words of the truth."""

    group: str
    name: str
    text: str
    folder: Path | None = None
    defines: tuple[str, ...] = ()
    expected: str | None = None
    allowed: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """Its name in a record."""
        return f"{self.group}/{self.name}"

    @property
    def digest(self) -> str:
        """Of the text and of how it is read."""
        read = "\0".join((self.text, *self.defines))
        return hashlib.sha256(read.encode()).hexdigest()[:16]


def inputs(*, whole: bool = False, only: str = "*") -> tuple[list[Input], list[str]]:
    """The texts whose name in a record fits the pattern ``only``, and a line for each group that cannot be had."""
    found: list[Input] = []
    absent: list[str] = []
    for name, folder in (("kernels", ROOT / "tests/kernels"), ("examples", ROOT / "tests/examples")):
        found += _folder(name, folder)
    found += (Input("families", name, text) for name, text in _families())
    shared = shared_folder()
    if shared is None:
        absent.append(
            "shared kernels and verdict truth: no folder `shared` beside the checkout (SMEM_SHARED)"
        )
    else:
        found += _folder("shared", shared / "kernels")
        found += _truth(shared / "data" / "verdict-truth.json")
        absent += (f"{each}: nothing there" for each in _missing(shared))
    seen: set[bytes] = set()
    for corpus in pinned():
        if not (whole or corpus.default or corpus.name in FURTHER) or not _asked_for(corpus, only):
            continue
        try:
            found += _corpus(corpus, seen)
        except Unavailable as reason:
            absent.append(str(reason))
    return [each for each in found if fnmatch(each.file, only)], absent


def shared_folder() -> Path | None:
    """The material beside the checkout: what ``SMEM_SHARED`` names, else ``shared`` beside this checkout or beside the
    one that it is a worktree of."""
    if named := os.environ.get("SMEM_SHARED"):
        return Path(named) if Path(named).is_dir() else None
    git = ["git", "-C", str(ROOT), "rev-parse", "--path-format=absolute", "--git-common-dir"]
    try:
        common = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        common = str(ROOT / ".git")
    places = (checkout.parent / "shared" for checkout in (ROOT, Path(common).parent))
    return next((place for place in places if place.is_dir()), None)


def _asked_for(corpus: Corpus, only: str) -> bool:
    """May a file of the corpus fit the pattern? Nothing is fetched in vain."""
    head = only.partition("/")[0]
    return fnmatch(corpus.name, head) or "*" in head


def _missing(shared: Path) -> Iterable[Path]:
    return (
        each for each in (shared / "kernels", shared / "data" / "verdict-truth.json") if not each.exists()
    )


def _folder(group: str, folder: Path) -> Iterator[Input]:
    for path in sorted(folder.glob("*.cu")):
        yield Input(group, path.name, _text(path), folder)


def _families() -> Iterator[tuple[str, str]]:
    for family in FAMILIES:
        yield f"{family.name}.static.cu", family.static
        yield f"{family.name}.dynamic.cu", family.dynamic


def _truth(file: Path) -> Iterator[Input]:
    if file.exists():
        for name, about in sorted(json.loads(file.read_text(encoding="utf-8")).items()):
            allowed = tuple(about.get("flags", ()))
            yield Input("truth", name, about["text"], expected=about["expected"], allowed=allowed)


def _corpus(corpus: Corpus, seen: set[bytes]) -> Iterator[Input]:
    """``seen``: hashes of texts that other corpora brought along."""
    folder = fetch(corpus)
    for path in sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES):
        name = path.relative_to(folder).as_posix()
        data = path.read_bytes()
        digest = hashlib.sha256(data).digest()
        if digest not in seen and b"\0" not in data:
            seen.add(digest)
            yield Input(corpus.name, name, data.decode("utf-8", "replace"), folder, corpus.defines)


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8")
