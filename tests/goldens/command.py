"""``record`` and ``compare``."""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from goldens.difference import difference
from goldens.inputs import ROOT, inputs
from goldens.making import NotThisProduct, make
from goldens.printed import difference_lines, summary_lines
from goldens.record import Record, Unreadable, kept, read, record_of, write

PRODUCT = ("smem_lsp", "grammar")  # folders of the repository that decide what is found
SAME, DIFFERENT, FAILED = 0, 1, 2


class CannotDo(Exception):
    """The message is one line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0: done, or no difference. 1: the records differ. 2: it could not be done."""
    flags = _parser().parse_args(arguments)
    try:
        return _record(flags) if flags.command == "record" else _compare(flags)
    except (CannotDo, Unreadable, NotThisProduct) as error:
        print(f"goldens: {error}", file=sys.stderr)
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.goldens", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--whole", action="store_true", help="all files of all pinned corpora: an hour")
    common.add_argument("--only", default="*", metavar="PATTERN", help="files whose name fits: 'kernels/*'")
    common.add_argument("--processes", type=int, default=2)
    record = commands.add_parser("record", parents=[common], help="what the tool says of the pinned texts")
    record.add_argument("file", nargs="?", type=Path, help="default: in the cache, under the commit")
    record.add_argument("--product", type=Path, default=ROOT, help="the checkout whose package is asked")
    record.add_argument("--name", help="of the record, in place of the commit")
    compare = commands.add_parser("compare", parents=[common], help="how two records differ")
    compare.add_argument("base", help="a commit, or a file of `record`")
    compare.add_argument("new", nargs="?", help="the same; default: the working tree as it is")
    compare.add_argument("--examples", type=int, default=3, help="of each kind of change")
    return parser


def _record(flags: argparse.Namespace) -> int:
    place, name = flags.file, flags.name
    if place is None:
        if flags.only != "*" or flags.product != ROOT:
            raise CannotDo("a record of a part, or of another product, needs a FILE")
        if _git("status", "--porcelain", "--", *PRODUCT):
            raise CannotDo("the package differs from the commit: commit, or name a FILE")
        name = _git("rev-parse", "HEAD")
        place = kept(name, whole=flags.whole)
    record = _made(flags.product.resolve(), name or place.name, place, flags)
    for line in summary_lines(record):
        print(line)
    print(place)
    return SAME


def _compare(flags: argparse.Namespace) -> int:
    old = _found(flags.base, flags)
    new = _made(ROOT, "the working tree", None, flags) if flags.new is None else _found(flags.new, flags)
    if flags.only != "*":
        old = Record(old.head, {file: rows for file, rows in old.files.items() if file in new.files})
    found = difference(old, new)
    for line in difference_lines(old, new, found, flags.examples):
        print(line)
    if not found.compared:
        raise CannotDo("the records have no text in common")
    return DIFFERENT if found.changes else SAME


def _found(named: str, flags: argparse.Namespace) -> Record:
    """The record in a file, or that of a commit, which is made where none is kept."""
    if Path(named).is_file():
        return read(Path(named))
    try:
        commit = _git("rev-parse", "--verify", "--quiet", f"{named}^{{commit}}")
    except CannotDo:
        raise CannotDo(f"{named} is neither a file nor a commit") from None
    place = kept(commit, whole=flags.whole)
    if place.is_file():
        return read(place)
    _tell(f"no record of {commit[:12]} is kept: making it")
    with tempfile.TemporaryDirectory(prefix="smem-goldens-") as folder:
        product = Path(folder) / "product"
        _check_out(commit, product)
        if flags.only != "*":  # a part is not kept
            place = Path(folder) / "part.jsonl"
        _ask_another(product, commit, place, flags)
        return read(place)


def _check_out(commit: str, folder: Path) -> None:
    """The package as it was: a copy, so that nothing is left in the repository, however this ends."""
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=False)
    if packed.returncode != 0:
        raise CannotDo(packed.stderr.decode(errors="replace").strip().replace("\n", "; "))
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")


def _ask_another(product: Path, commit: str, place: Path, flags: argparse.Namespace) -> None:
    """Another process makes the record: this one may import one package only."""
    command = [sys.executable, "-m", "tests.goldens", "record", str(place), "--name", commit]
    command += ["--product", str(product), "--processes", str(flags.processes)]
    command += ["--only", flags.only, *(["--whole"] if flags.whole else [])]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise CannotDo(f"no record of {commit[:12]} could be made")


def _made(product: Path, name: str, place: Path | None, flags: argparse.Namespace) -> Record:
    texts, absent = inputs(whole=flags.whole, only=flags.only)
    if not texts:
        raise CannotDo(f"no text fits {flags.only}")
    for each in absent:
        _tell(f"left out: {each}")
    head = {"row": "record", "commit": name, "absent": absent}
    lines = make(product, texts, flags.processes, _tell)
    if place is not None:
        write(place, head, lines)
    return record_of(head, lines)


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotDo(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
