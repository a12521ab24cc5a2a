"""``python -m smem_lsp``."""

import sys

from smem_lsp.cli import main

if __name__ == "__main__":
    sys.exit(main())
