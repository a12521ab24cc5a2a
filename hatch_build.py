"""What is made for a package: the description on PyPI, which is README.md without what works only in the repository,
links to its files and its picture; in a wheel also the tables of the parser, which Lark takes 0.3 s to make."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
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


class TablesHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # whoever changes the grammar has them made anew
            return
        made = runpy.run_path(str(Path(self.root, "smem_lsp", "syntax", "tables.py")))["made"]
        tables = made(Path(self.root, "grammar", "cuda.lark").read_text(encoding="utf-8"))
        self._folder = Path(tempfile.mkdtemp())
        path = self._folder / "tables.json"
        path.write_text(json.dumps(tables, separators=(",", ":")), encoding="utf-8")
        build_data["force_include"][str(path)] = "smem_lsp/_grammar/tables.json"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self._folder)
