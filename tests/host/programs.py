"""The host programs of this folder, each with its verdict: the codes stand in comments on the lines that have one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "programs"
_LABEL = re.compile(r"// (SMEM60\d)\b")


@dataclass(frozen=True, slots=True)
class Program:
    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def expected(self) -> set[tuple[int, str]]:
        """(line, code) of each finding."""
        lines = enumerate(self.text.splitlines(), 1)
        return {(number, code) for number, line in lines for code in _LABEL.findall(line)}

    @property
    def is_recorded(self) -> bool:
        """Does the stand-in of the runtime see what the label says?"""
        return "// stand-in: off" not in self.text


PROGRAMS = [Program(path, path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.cu"))]
