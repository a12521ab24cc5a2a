"""The only view that the front end has of other files."""

from __future__ import annotations

from typing import Protocol


class FileReader(Protocol):
    """Finds and reads files for ``#include``. Implemented by ``environment``."""

    def read(self, path: str) -> str | None:
        """Text of a regular file, or None when it is missing, too large or not text."""
        ...
