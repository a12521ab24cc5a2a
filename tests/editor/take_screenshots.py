"""Screenshots of the packaged extension in four themes, at 1,100 and 1,440 pixels, to be looked at:
``python tests/editor/take_screenshots.py FOLDER``. No test: pixels differ between machines. Exits with 1 where the
title of an action does not fit into its menu.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]


def main(folder: Path) -> int:
    os.environ["SMEM_ARTIFACTS"] = str(folder)
    from editor.toolbox import EXTENSION, build_vsix, running_editor

    with tempfile.TemporaryDirectory() as there:
        home = Path(there)
        workspace = home / "workspace"
        (workspace / ".vscode").mkdir(parents=True)
        settings = {"smem.arch": ["sm_90", "sm_86"], "smem.target": "sm_86", "smem.registers": 40}
        (workspace / ".vscode" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        shutil.copy(EXTENSION / "walkthrough" / "sample.cu", workspace)
        with running_editor(home / "editor", build_vsix()) as editor:
            editor.drive("themes.mjs", home / "results.json", workspace, seconds=900)
        titles = json.loads((home / "results.json").read_text(encoding="utf-8"))["titles"]
    clipped = sorted({each["text"] for each in titles if each["clipped"]})
    for text in clipped:
        print(f"does not fit: {text}")
    return 1 if clipped else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
