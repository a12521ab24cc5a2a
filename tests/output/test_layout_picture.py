"""The picture in docs/layouts.md is what the command beside it prints. ``SMEM_UPDATE=1`` draws it again."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_picture_is_current() -> None:
    page = ROOT / "docs" / "layouts.md"
    text = page.read_text(encoding="utf-8")
    (file,) = re.findall(r"^smem-lsp layout (\S+) --format svg$", text, re.M)
    (name,) = re.findall(r"^!\[[^\]]+\]\((\S+\.svg)\)$", text, re.M)
    command = [sys.executable, "-m", "smem_lsp", "layout", file, "--format", "svg", "--isolated"]
    drawn = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    picture = page.parent / name
    if os.environ.get("SMEM_UPDATE"):
        picture.write_bytes(drawn.stdout)
    assert picture.read_bytes() == drawn.stdout, "SMEM_UPDATE=1 pytest tests/output draws it again"
