"""Which files git ignores: ``.gitignore`` files from the root of a repository down, and its ``.git/info/exclude``.

As gitignore(5) has it: the last pattern that matches decides, of several files the nearest; what is inside an ignored
folder is ignored. Patterns are strangers' text, so they are matched without backtracking (``patterns.py``); most are
plain names and endings, which are looked up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from smem_lsp.config.patterns import MAX_LENGTH, CharClass, Pattern
from smem_lsp.source import is_file, is_folder, is_there, read_regular
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

MAX_RULES = 10_000  # of one file: later ones do not count
_MAX_SIZE = 1 << 20  # bytes of one file
_EXCLUDE = Path(".git", "info", "exclude")

_MAGIC = regex(r"[*?\[\\]")
_SPECIAL = regex(r"[*?\[\]\\]")
_POSIX = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "xdigit": "0-9a-fA-F",
    "space": " \t\n\r\f\v",
    "blank": " \t",
    "punct": "!-.:-@[-`{-~",
}


@dataclass(frozen=True, slots=True)
class _FolderRules:
    """What holds for the entries of a folder: the files that say something about them, the nearest first."""

    inside: bool  # a repository, or a folder that is searched
    rules: tuple[_Rules, ...] = ()


class GitIgnore:
    """Answers for any path. ``folders``: those that are searched; one that is in no repository is taken for the root
    of one. ``tell`` gets a line for each file that cannot be read."""

    __slots__ = ("_known", "_named", "_tell")

    def __init__(self, folders: Iterable[str], tell: Callable[[str], None]) -> None:
        self._named = {Path(os.path.abspath(each)) for each in folders}  # noqa: PTH100
        self._tell = tell
        self._known: dict[Path, _FolderRules] = {}

    def ignores(self, path: str) -> bool:
        """Is it named by the patterns itself? Of the folders above it nothing is asked."""
        return self._names(Path(os.path.abspath(path)))  # noqa: PTH100

    def hides(self, path: str) -> bool:
        """Is it, or a folder above it, ignored?"""
        absolute = Path(os.path.abspath(path))  # noqa: PTH100
        return any(map(self._names, (absolute, *absolute.parents)))

    def _names(self, path: Path) -> bool:
        folder: bool | None = None
        for rules in self._of(path.parent).rules:
            if folder is None:
                folder = is_folder(path)
            verdict = rules.judge(path.relative_to(rules.folder).as_posix(), folder)
            if verdict is not None:
                return verdict
        return False

    def _of(self, folder: Path) -> _FolderRules:
        """What holds in a folder; each is looked at once, from the top down."""
        known = self._known.get(folder)
        if known is not None:
            return known
        place = _OUTSIDE
        unknown: list[Path] = []
        for above in (folder, *folder.parents):
            if above in self._known:
                place = self._known[above]
                break
            unknown.append(above)
        for each in reversed(unknown):
            if is_there(each / ".git"):
                rules = (*self._read(each / ".gitignore", each), *self._read(each / _EXCLUDE, each))
                place = _FolderRules(True, rules)
            elif place.inside or each in self._named:
                place = _FolderRules(True, (*self._read(each / ".gitignore", each), *place.rules))
            self._known[each] = place
        return place

    def _read(self, file: Path, folder: Path) -> tuple[_Rules, ...]:
        if not is_file(file):
            return ()
        try:
            text = read_regular(str(file), _MAX_SIZE).decode("utf-8-sig", "surrogateescape")
        except OverflowError:
            self._tell(f"{file}: larger than {_MAX_SIZE >> 20} MB; going on without")
            return ()
        except OSError as error:
            self._tell(f"{file}: cannot be read: {error.strerror or error}; going on without")
            return ()
        rules = _Rules(folder, text)
        return (rules,) if rules else ()


class _Rules:
    """The patterns of one file. Each has its place in it: a later one wins."""

    __slots__ = ("_any", "_folders", "_negated", "folder")

    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder
        self._any, self._folders = _Table(), _Table()
        self._negated: list[bool] = []
        for line in text.split("\n")[:MAX_RULES]:
            written = _trimmed(line.removesuffix("\r"))
            if not written or written.startswith("#") or len(written) > MAX_LENGTH:
                continue
            negated = written.startswith("!")
            pattern = written[1:] if negated else written
            table = self._folders if pattern.endswith("/") else self._any
            if table.add(pattern.removesuffix("/"), len(self._negated)):
                self._negated.append(negated)

    def __bool__(self) -> bool:
        return bool(self._negated)

    def judge(self, place: str, folder: bool) -> bool | None:
        """Is what lies at ``place``, relative to the file's folder, ignored? None: no pattern says anything."""
        last = self._any.last(place)
        if folder:
            last = max(last, self._folders.last(place))
        return None if last < 0 else not self._negated[last]


_OUTSIDE = _FolderRules(False)


@dataclass(frozen=True, slots=True)
class _Other:
    """A pattern that cannot be looked up, and how every text that it matches begins and ends."""

    at: int
    whole: bool  # compared with the path, else with the name
    pattern: Pattern
    start: str
    end: str

    def fits(self, text: str) -> bool:
        return text.startswith(self.start) and text.endswith(self.end) and self.pattern.fits(text)


class _Table:
    """Patterns with their places in the file. Most are looked up: names, endings of names, paths."""

    __slots__ = ("_names", "_others", "_paths", "_tails")

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._tails: dict[str, int] = {}  # "*.o"
        self._paths: dict[str, int] = {}
        self._others: list[_Other] = []

    def add(self, pattern: str, at: int) -> bool:
        """False for one that matches nothing."""
        whole = "/" in pattern
        bare = pattern.removeprefix("/")
        if not bare:
            return False
        if not _MAGIC.search(bare):
            (self._paths if whole else self._names)[bare] = at
        elif bare[0] == "*" and not whole and not _MAGIC.search(bare[1:]):
            self._tails[bare[1:]] = at
        else:
            compiled = _compiled(bare)
            if compiled is None:
                return False
            self._others.append(_Other(at, whole, compiled, *_ends(bare)))
        return True

    def last(self, place: str) -> int:
        """The place of the last pattern that matches, or -1."""
        name = place.rpartition("/")[2]
        found = max(self._names.get(name, -1), self._paths.get(place, -1))
        if self._tails:
            tails = (self._tails.get(name[start:], -1) for start in range(len(name) + 1))
            found = max(found, *tails)
        for other in reversed(self._others):
            if other.at < found:
                break
            if other.fits(place if other.whole else name):
                return other.at
        return found


def _ends(pattern: str) -> tuple[str, str]:
    """The plain characters before the first special one, and those behind the last."""
    start = _SPECIAL.split(pattern, maxsplit=1)[0]
    return start, _SPECIAL.split(pattern)[-1].lstrip("/")  # the slash of `**/` may be left out


def _trimmed(line: str) -> str:
    """Without the spaces at its end, but for one behind a backslash."""
    bare = line.rstrip(" ")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if slashes % 2 and len(bare) < len(line) else bare


def _compiled(written: str) -> Pattern | None:
    """None for one that matches nothing, as an open bracket does."""
    out = Pattern(whole=True)
    at = 0
    while at < len(written):
        bit = 1 << out.length
        char = written[at]
        if char == "*":
            end = at + len(written[at:]) - len(written[at:].lstrip("*"))
            opened = at == 0 or written[at - 1] == "/"
            if end - at == 2 and opened and end == len(written):
                out.globstars |= bit
            elif end - at == 2 and opened and written[end] == "/":
                end += 1
                if not (out.skipped & bit >> 1):  # behind another `**/` it says nothing more
                    out.skipped |= bit
                    out.chars["/"] = out.chars.get("/", 0) | bit
                    out.globstars |= bit
                    out.length += 1
            else:
                out.stars |= bit
            at = end
            continue
        if char == "?":
            out.any_char |= bit
        elif char == "[":
            found = _class(written, at + 1)
            if found is None:
                return None
            group, at = found
            out.classes.append((group, bit))
        else:
            if char == "\\":
                at += 1
                if at == len(written):
                    return None
                char = written[at]
            out.chars[char] = out.chars.get(char, 0) | bit
        out.length += 1
        at += 1
    return out


def _class(written: str, at: int) -> tuple[CharClass, int] | None:
    """The characters behind a ``[``, and where its ``]`` stands; None if it has none."""
    negated = written[at : at + 1] in ("!", "^")
    at += negated
    ranges: list[tuple[str, str]] = []
    first = True
    while at < len(written):
        if written[at] == "]" and not first:
            return CharClass(ranges, negated), at
        first = False
        named = re.compile(r"\[:(\w+):\]").match(written, at)
        if named is not None:
            ranges += _ranges_of(_POSIX.get(named[1], ""))
            at = named.end()
            continue
        low, at = _member(written, at)
        high = low
        if written[at : at + 1] == "-" and written[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(written, at + 1)
        ranges += [(low, low), (low, high)]  # a range that runs backwards holds its first character
    return None


def _member(written: str, at: int) -> tuple[str, int]:
    escaped = written[at] == "\\" and at + 1 < len(written)
    return written[at + escaped], at + escaped + 1


def _ranges_of(members: str) -> list[tuple[str, str]]:
    return [(part[0], part[-1]) for part in re.findall(r".-.|.", members, re.S)]
