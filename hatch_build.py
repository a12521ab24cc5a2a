"""The description on PyPI: README.md without what works only in the repository, links to its files and its picture."""

from __future__ import annotations

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*")
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")
_MARK = re.compile(r"<!-- .*? -->\n")


def description(readme: str) -> str:
    return _MARK.sub("", _LINK.sub(r"\1", _PICTURE.sub("", readme)))


class ReadmeHook(MetadataHookInterface):
    def update(self, metadata: dict[str, object]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": description(text)}
