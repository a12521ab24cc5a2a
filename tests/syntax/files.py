"""Headers that stand in memory, and a text preprocessed with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from smem_lsp.source import FileReader
from smem_lsp.syntax.preprocess import Preprocessed, preprocess


@dataclass(frozen=True)
class Files(FileReader):
    """A reader over a dictionary."""

    texts: Mapping[str, str]
    project: bool = False  # includes are looked for everywhere

    def read(self, path: str) -> str | None:
        return self.texts.get(path.replace("\\", "/"))

    def search(self, name: str, including: str) -> str | None:
        found = [path for path in self.texts if path.endswith(f"/{name}")]
        return found[0] if self.project and len(found) == 1 else None


def expanded(text: str, **files: str) -> str:
    """The active tokens, separated by blanks."""
    return " ".join(with_files(text, files).tokens.texts)


def with_files(text: str, files: Mapping[str, str]) -> Preprocessed:
    return preprocess(text, path="dir/main.cu", reader=Files(files), include_dirs=("inc",))
