"""A difference in words: counts first, then examples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from goldens.difference import TOPICS, Change, Difference, cut_by_machine
from goldens.record import Record
from goldens.truth import agreement
from goldens.truth import lines as truth_lines

_WIDTH = 240  # characters of a line of an example
_NAMED = 5  # files of a list


def difference_lines(old: Record, new: Record, found: Difference, examples: int) -> Iterator[str]:
    """``examples``: how many of each heading."""
    files = len({each.file for each in found.changes})
    yield f"{old.name} → {new.name}: {found.compared} files compared, {files} differ"
    yield from _counts(found.changes)
    truth_old, truth_new = agreement(old), agreement(new)
    if truth_old or truth_new:
        yield "truth"
        yield from truth_lines(truth_old, truth_new)
    yield from _apart(old, new, found)
    if found.changes and examples:
        yield ""
        yield from _examples(found.changes, examples)
    if found.cut and examples:
        yield ""
        yield "in files that were cut for want of time or memory"
        yield from _examples(found.cut, 1)


def summary_lines(record: Record) -> Iterator[str]:
    """What a record holds."""
    rows = [row for rows in record.files.values() for row in rows]
    codes = Counter(str(row["code"]) for row in rows if row["row"] == "finding")
    kinds = Counter(
        str(row["verdict"]["kind"]) for row in rows if row["row"] == "kernel" and row["verdict"]["shared"]
    )
    fixes = sum(len(row["fixes"]) for row in rows if row["row"] == "finding")
    yield f"{record.name}: {len(record.files)} files, {codes.total()} findings, {fixes} fixes"
    yield f"  findings: {', '.join(f'{code} {count}' for code, count in sorted(codes.items())) or 'none'}"
    yield f"  kernels with shared memory: {', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}"
    cut = [file for file, rows in record.files.items() if cut_by_machine(rows[0])]
    if cut:
        yield f"  cut for want of time or memory: {_names(cut)}"
    truth = agreement(record)
    if truth:
        yield "truth"
        yield from truth_lines(None, truth)
    yield from absent_lines(record)


def absent_lines(record: Record) -> Iterator[str]:
    yield from (f"left out: {each}" for each in record.head.get("absent", ()))


def _counts(changes: Sequence[Change]) -> Iterator[str]:
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for each in changes:
        counted[each.topic][each.what] += 1
    for topic in TOPICS:
        if counted[topic]:
            yield topic
            by_number = sorted(counted[topic].items(), key=lambda item: (-item[1], item[0]))
            yield from (f"  {count:>5}  {what}" for what, count in by_number)


def _apart(old: Record, new: Record, found: Difference) -> Iterator[str]:
    if found.cut_files:
        yield (
            f"cut for want of time or memory, so not compared: {_names(found.cut_files)}, "
            f"with {len(found.cut)} differences"
        )
    for what, files in (
        (f"only in {old.name}", found.only_old),
        (f"only in {new.name}", found.only_new),
        ("of another text", found.other_text),
    ):
        if files:
            yield f"{what}: {_names(files)}"
    for record in (old, new):
        yield from (f"{record.name}: {line}" for line in absent_lines(record))


def _examples(changes: Iterable[Change], most: int) -> Iterator[str]:
    by_what: dict[tuple[int, str], list[Change]] = defaultdict(list)
    for each in changes:
        by_what[TOPICS.index(each.topic), each.what].append(each)
    for (topic, what), found in sorted(by_what.items()):
        yield f"{TOPICS[topic]}: {what} ({len(found)})"
        for each in found[:most]:
            first, *rest = each.words.split("\n")
            yield f"    {_short(f'{each.file}:{first}')}"
            yield from (f"      {_short(line)}" for line in rest)


def _short(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _names(files: Sequence[str]) -> str:
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return f"{len(files)} files ({', '.join(files[:_NAMED])}{more})"
