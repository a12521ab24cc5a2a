"""``python -m tests.fuzz``, from the root of the repository."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.command import main

if __name__ == "__main__":
    sys.exit(main())
