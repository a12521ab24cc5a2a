"""Starts the bundled server: ``python -I serve.py``. Isolated, so that only ``libs`` and the standard library count."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "libs"))

from smem_lsp.cli import main

sys.exit(main(["server"]))
