"""``python -m smem_lsp``. The interpreter itself looks for modules in the current folder before the first line here;
``python -I -m smem_lsp`` keeps it from that, too."""

from smem_lsp.isolation import isolate

isolate()  # before anything else is imported

import sys  # noqa: E402

from smem_lsp.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
