"""``python -m tests.cpp_kernels``, from the root of the repository."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

os.environ.setdefault("SMEM_TEST_STORE", "0")  # what is compiled here is never asked for again

from cpp_kernels.command import main

if __name__ == "__main__":
    sys.exit(main())
