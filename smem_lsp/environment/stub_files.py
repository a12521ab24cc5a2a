"""Reads the files of the setting ``stubs``."""

from __future__ import annotations

from smem_lsp.source.files import read_regular

_MOST_BYTES = 1 << 20


def read_stub(path: str) -> str:
    """The text of a file of declarations. Raises ValueError, which says why there is none."""
    try:
        return read_regular(path, _MOST_BYTES).decode("utf-8-sig")
    except OverflowError:
        raise ValueError(f"larger than {_MOST_BYTES >> 20} MB, not read") from None
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 text (byte {error.start})") from None
