"""A record as a file: JSON lines, sorted, the first one about the record itself; compressed where its name says so."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from goldens.rows import Row

HERE = Path(__file__).parent
MADE_BY = ("inputs.py", "making.py", "rows.py")  # what decides the lines of a record, beside the product


class Unreadable(Exception):
    """No record, or one of another shape; the message is one line."""


@dataclass
class Record:
    """``files``: the rows of each text by its name, the first of them about the text; ``head``: the commit, what made
    it, what could not be had."""

    head: Row
    files: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.head["commit"])


def record_of(head: Row, lines: Iterable[str]) -> Record:
    files: dict[str, list[Row]] = defaultdict(list)
    for line in lines:
        row = json.loads(line)
        files[row["file"]].append(row)
    for rows in files.values():
        rows.sort(key=lambda row: row["row"] != "file")
    return Record(head, dict(sorted(files.items())))


def write(place: Path, head: Row, lines: Iterable[str]) -> None:
    """The same lines make the same bytes."""
    text = "".join(f"{line}\n" for line in (json.dumps(head, sort_keys=True), *lines))
    data = text.encode()
    if place.suffix == ".gz":
        packed = io.BytesIO()
        with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=0, compresslevel=6) as file:
            file.write(data)
        data = packed.getvalue()
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_name(f".{place.name}.{os.getpid()}")
    unfinished.write_bytes(data)
    unfinished.replace(place)


def read(place: Path) -> Record:
    """Raises Unreadable."""
    try:
        data = place.read_bytes()
        text = (gzip.decompress(data) if place.suffix == ".gz" else data).decode()
        head, *lines = text.rstrip("\n").split("\n")  # U+2028 is no line end
        return record_of(json.loads(head), lines)
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise Unreadable(f"{place}: {error}") from None


def maker() -> str:
    """Of the programs that make records, and of what they read: another one, another record."""
    parts = [(HERE / name).read_bytes() for name in MADE_BY]
    parts.append((HERE.parent / "corpora" / "corpora.txt").read_bytes())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def kept(commit: str, *, whole: bool) -> Path:
    """Where the record of a commit is kept: in the folder ``SMEM_GOLDENS`` names, else in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    cache = (Path(base) if base else Path.home() / ".cache") / "smem-lsp" / "goldens"
    folder = Path(os.environ.get("SMEM_GOLDENS") or cache)
    return folder / f"{commit[:16]}-{maker()}{'-whole' if whole else ''}.jsonl.gz"
