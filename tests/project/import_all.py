"""Imports every module of the package: ``python tests/project/import_all.py``. A module that this Python cannot
read ends it with its traceback; the tests of one part might not come to it.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import smem_lsp


def main() -> int:
    found = [each.name for each in pkgutil.walk_packages(smem_lsp.__path__, "smem_lsp.")]
    for name in found:
        if not name.endswith("__main__"):
            importlib.import_module(name)
    print(f"{len(found)} modules on Python {sys.version.split()[0]}")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
