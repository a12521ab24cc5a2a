"""How two records differ: one change for each thing that is told otherwise, under the heading of what changed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from goldens.record import Record
from goldens.rows import Row, line_of

TOPICS = ("findings", "verdicts", "plans", "fixes", "kernels", "functions", "files")
_BY_MACHINE = (": time", ": memory")  # ends of what is said of an analysis that was cut for want of these
_AT_LINE = re.compile(r"(?<=\bline )\d+|(?<=\blines )\d+(?: and \d+)?|(?<=:)\d+\b")


@dataclass(frozen=True, slots=True)
class Change:
    """``what``: the heading that it is counted under; ``words``: what it was and what it is."""

    topic: str
    what: str
    file: str
    words: str


@dataclass
class Difference:
    """``changes`` of files that both records have of one text. ``cut``: those of files whose analysis was cut on either
    side for want of time or memory, so that it may be told otherwise the next time. ``only_old``, ``only_new``,
    ``other_text``: files that cannot be compared."""

    changes: list[Change] = field(default_factory=list)
    cut: list[Change] = field(default_factory=list)
    cut_files: list[str] = field(default_factory=list)
    only_old: list[str] = field(default_factory=list)
    only_new: list[str] = field(default_factory=list)
    other_text: list[str] = field(default_factory=list)
    compared: int = 0


def difference(old: Record, new: Record) -> Difference:
    found = Difference()
    found.only_old = sorted(old.files.keys() - new.files.keys())
    found.only_new = sorted(new.files.keys() - old.files.keys())
    for file in sorted(old.files.keys() & new.files.keys()):
        before, after = old.files[file], new.files[file]
        if before[0].get("text") != after[0].get("text"):
            found.other_text.append(file)
            continue
        found.compared += 1
        was_cut = cut_by_machine(before[0]) or cut_by_machine(after[0])
        if was_cut:
            found.cut_files.append(file)
        (found.cut if was_cut else found.changes).extend(changes(before, after))
    return found


def cut_by_machine(file: Row) -> bool:
    return any(str(each).endswith(_BY_MACHINE) for each in file.get("stopped", ()))


def changes(before: Sequence[Row], after: Sequence[Row]) -> Iterator[Change]:
    """Of one file. The first rows are about the file."""
    file = str(before[0].get("file", after[0].get("file", "")))
    for topic, what, words in _changes(before, after):
        yield Change(topic, what, file, words)


_Told = Iterator[tuple[str, str, str]]


def _changes(before: Sequence[Row], after: Sequence[Row]) -> _Told:
    yield from _file(before[0], after[0])
    old, new = _unequal(before[1:], after[1:])
    yield from _findings(_of(old, "finding"), _of(new, "finding"))
    yield from _kernels(_of(old, "kernel"), _of(new, "kernel"))
    yield from _functions(_of(old, "function"), _of(new, "function"))


def _of(rows: Iterable[Row], kind: str) -> list[Row]:
    return [row for row in rows if row["row"] == kind]


def _unequal(before: Iterable[Row], after: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """The rows of each side that the other has not."""
    old, new = [line_of(row) for row in before], [line_of(row) for row in after]
    left_old, left_new = Counter(old) - Counter(new), Counter(new) - Counter(old)
    return _picked(before, old, left_old), _picked(after, new, left_new)


def _picked(rows: Iterable[Row], lines: Iterable[str], left: Counter[str]) -> list[Row]:
    found = []
    for row, line in zip(rows, lines):
        if left[line] > 0:
            left[line] -= 1
            found.append(row)
    return found


def _file(old: Row, new: Row) -> _Told:
    for key in sorted((old.keys() | new.keys()) - {"file", "row", "text", "allowed", "expected"}):
        if old.get(key) != new.get(key):
            what = "analyses that were cut changed" if key == "stopped" else f"{key} changed"
            yield "files", what, _two(old.get(key), new.get(key))


# ---- findings and their fixes ----------------------------------------------------------------------------------------


def _place(row: Row) -> object:
    return line_of({"range": row["range"]})


def _stem(row: Row) -> str:
    """The message without the lines that it names."""
    return _without_lines(row["message"])


def _without_lines(words: str) -> str:
    return _AT_LINE.sub("#", words)


_Key = Callable[[Row], object]
# The first way in which two findings of one rule can be the same one.
_PAIRED: tuple[_Key, ...] = (
    lambda row: (_place(row), row["kernel"], row["message"]),
    lambda row: (_place(row), row["kernel"], _stem(row)),
    lambda row: (_place(row), row["kernel"]),
    lambda row: (row["kernel"], row["message"]),
    lambda row: (row["kernel"], _stem(row)),
    lambda row: (_place(row), _stem(row)),
)
_FIELDS = ("severity", "verdict")


def _findings(old: list[Row], new: list[Row]) -> _Told:
    for code in sorted({row["code"] for row in (*old, *new)}):
        left, right = ([row for row in rows if row["code"] == code] for rows in (old, new))
        for one, other in _pairs(left, right, _PAIRED):
            yield from _finding(code, one, other)
        for row in left:
            yield "findings", f"{code} lost", _said(row)
            yield from _fixes_with(code, "lost", row)
        for row in right:
            yield "findings", f"{code} gained", _said(row)
            yield from _fixes_with(code, "gained", row)


def _pairs(left: list[Row], right: list[Row], ways: Sequence[_Key]) -> list[tuple[Row, Row]]:
    """What belongs together is taken out of both."""
    found: list[tuple[Row, Row]] = []
    for way in ways:
        waiting: dict[object, list[Row]] = defaultdict(list)
        for row in right:
            waiting[way(row)].append(row)
        for row in list(left):
            if waiting[way(row)]:
                other = waiting[way(row)].pop(0)
                left.remove(row)
                right.remove(other)
                found.append((row, other))
    return found


def _finding(code: str, old: Row, new: Row) -> _Told:
    for name in _FIELDS:
        if old[name] != new[name]:
            yield "findings", f"{code} {name} {old[name]} → {new[name]}", _said(new)
    if _place(old) != _place(new):
        yield "findings", f"{code} moved", f"{_at(old)} → {_said(new)}"
    if old["message"] != new["message"]:
        yield "findings", f"{code} reworded", _two(_said(old), _said(new))
    for name in sorted(old.keys() - {*_FIELDS, "range", "message", "fixes"}):
        if old[name] != new.get(name):
            yield "findings", f"{code} {name} changed", f"{_at(new)}: {_two(old[name], new.get(name))}"
    yield from _fixes(code, old, new)


_SAME_FIX: tuple[_Key, ...] = (
    line_of,
    lambda fix: fix["title"],
    lambda fix: line_of({"": fix["edits"]}),
    lambda fix: _without_lines(fix["title"]),
)


def _fixes(code: str, old: Row, new: Row) -> _Told:
    left, right = list(old["fixes"]), list(new["fixes"])
    for one, other in _pairs(left, right, _SAME_FIX):
        if one["safety"] != other["safety"]:
            yield "fixes", f"{code} {one['safety']} → {other['safety']}", f"{_at(new)}: {other['title']}"
        if one["title"] != other["title"]:
            yield "fixes", f"{code} title changed", f"{_at(new)}: {_two(one['title'], other['title'])}"
        if one["edits"] != other["edits"]:
            yield "fixes", f"{code} edits changed", f"{_at(new)}: {_edits(one, other)}"
    for fix in left:
        yield "fixes", f"{code} {fix['safety']} lost", f"{_at(old)}: {fix['title']}"
    for fix in right:
        yield "fixes", f"{code} {fix['safety']} gained", f"{_at(new)}: {fix['title']}"


def _fixes_with(code: str, how: str, row: Row) -> _Told:
    for fix in row["fixes"]:
        yield "fixes", f"{code} {fix['safety']} {how} with its finding", f"{_at(row)}: {fix['title']}"


def _edits(old: Row, new: Row) -> str:
    before, after = ([line_of(edit) for edit in fix["edits"]] for fix in (old, new))
    return _two(
        [each for each in before if each not in after], [each for each in after if each not in before]
    )


# ---- kernels ---------------------------------------------------------------------------------------------------------


def _kernels(old: list[Row], new: list[Row]) -> _Told:
    ways: tuple[_Key, ...] = (
        lambda row: (row["kernel"], row["line"], row["number"]),
        lambda row: (row["kernel"], row["number"]),
    )
    for one, other in _pairs(old, new, ways):
        name = f"{other['line']} {other['kernel']}"
        if one["line"] != other["line"]:
            yield "kernels", "moved", f"{one['line']} → {name}"
        yield from _verdict(name, one["verdict"], other["verdict"])
        yield from _plans(name, one["plans"], other["plans"])
        for key in sorted(one["rest"].keys() | other["rest"].keys()):
            if one["rest"].get(key) != other["rest"].get(key):
                yield (
                    "kernels",
                    f"{key} changed",
                    f"{name}: {_two(one['rest'].get(key), other['rest'].get(key))}",
                )
    for row in old:
        yield "kernels", "lost", f"{row['line']} {row['kernel']}"
    for row in new:
        yield "kernels", "gained", f"{row['line']} {row['kernel']}: {row['verdict']['words']}"


def _verdict(name: str, old: Row, new: Row) -> _Told:
    if old == new:
        return
    words = f"{name}: {_two(old['words'], new['words'])}"
    if old["kind"] != new["kind"]:
        yield "verdicts", f"{_kind(old)} → {_kind(new)}", words
        return
    for key in sorted(old.keys() - {"kind", "words"}):
        if old[key] != new.get(key):
            yield "verdicts", f"{old['kind']}: {key} changed", f"{name}: {_two(old[key], new.get(key))}"
    if all(old[key] == new.get(key) for key in old.keys() - {"words"}):
        yield "verdicts", f"{old['kind']} reworded", words


def _kind(verdict: Row) -> str:
    """With the first reason, where it is undecided, without what names the kernel's own things."""
    if verdict["kind"] != "undecided" or not verdict["reasons"]:
        return str(verdict["kind"])
    words = str(verdict["reasons"][0][1])
    return f"undecided ({' '.join(re.sub('`[^`]*`|[0-9]+', '…', words).split()[:9])})"


def _plans(name: str, old: Row, new: Row) -> _Told:
    before, after = ({_which(plan): plan for plan in plans["plans"]} for plans in (old, new))
    for which in sorted(before.keys() | after.keys()):
        one, other = before.get(which), after.get(which)
        if one is None or other is None:
            known = one or other
            assert known is not None
            yield "plans", f"{which} {'gained' if one is None else 'lost'}", f"{name}: {known['bytes']} B"
        elif one["bytes"] != other["bytes"]:
            fewer = (other["bytes"] or 0) < (one["bytes"] or 0)
            yield (
                "plans",
                f"{which}: {'fewer' if fewer else 'more'} bytes",
                f"{name}: {one['bytes']} → {other['bytes']} B",
            )
        elif one != other:
            keys = [key for key in one if one[key] != other.get(key)]
            yield "plans", f"{which}: {', '.join(keys)} changed", f"{name}: {_two(one, other)}"
    for key in sorted(old.keys() - {"plans"}):
        if old[key] != new.get(key):
            yield "plans", f"{key} changed", f"{name}: {_two(old[key], new.get(key))}"


def _which(plan: Row) -> str:
    return f"{plan['allocator']} with {plan['barriers_added']} barriers"


def _functions(old: list[Row], new: list[Row]) -> _Told:
    for one, other in _pairs(old, new, (lambda row: (row["name"], row["line"]), lambda row: row["name"])):
        yield (
            "functions",
            "contract changed",
            f"{other['line']} {other['name']}: {_two(one['contract'], other['contract'])}",
        )
    for how, rows in (("lost", old), ("gained", new)):
        for row in rows:
            yield "functions", f"contract {how}", f"{row['line']} {row['name']}"


# ---- words -----------------------------------------------------------------------------------------------------------


def _at(row: Row) -> str:
    start = row["range"]["start"]
    return f"{start['line']}:{start['column']}"


def _said(row: Row) -> str:
    return f"{_at(row)} {row['severity']}: {row['message']}"


def _two(old: object, new: object) -> str:
    one, other = (each if isinstance(each, str) else line_of({"": each})[4:-1] for each in (old, new))
    return f"{one}\n  → {other}"
