"""How child processes are started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from smem_lsp.cli.pool import flags_of_children

SHOWN = "import sys; print(sys.pycache_prefix, sys.dont_write_bytecode)"


@pytest.mark.parametrize("kept", [True, False])
def test_children_keep_byte_code_where_their_parent_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: bool
) -> None:
    prefix = str(tmp_path) if kept else None
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")  # no byte code is loaded from the current folder
    monkeypatch.setattr(sys, "pycache_prefix", prefix)
    monkeypatch.setattr(sys, "dont_write_bytecode", not kept)
    command = [sys.executable, *flags_of_children(), "-c", SHOWN]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert shown.split() == [str(prefix), str(not kept)]
