"""``python -m tests.benchmarks``, from the root of the repository: see ``runner/command.py``."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "corpora"), str(TESTS.parent)]

from benchmarks.runner.command import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
