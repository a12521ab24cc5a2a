"""Folders that tests open in the editor."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from editor.toolbox import HERE

# With known registers, merging the two buffers of smooth.cu gains a resident block: a warning. That shared memory
# limits the kernel stays true after it, which is beside the point of these tests.
SETTINGS = {"smem.arch": ["sm_86"], "smem.registers": 40, "smem.ignore": ["SMEM204", "SMEM501"]}


def new_workspace(parent: Path, **settings: object) -> Path:
    """A folder with ``smooth.cu`` and settings; what the editor saves stays in it."""
    workspace = parent / "workspace"
    shutil.copytree(HERE / "workspace", workspace)
    (workspace / ".vscode").mkdir()
    (workspace / ".vscode" / "settings.json").write_text(
        json.dumps({**SETTINGS, **settings}, indent=2), encoding="utf-8"
    )
    return workspace
