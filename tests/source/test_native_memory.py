"""What is freed is kept for what comes next, and given back when there is time."""

from __future__ import annotations

import subprocess
import sys

import pytest

# A block that glibc maps by itself and unmaps when it is freed, unless it is told to keep what is freed.
ALLOCATES = """
import ctypes, resource
from smem_lsp.source.native_memory import give_back, keep_freed
c = ctypes.CDLL(None)
c.malloc.restype, c.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
def faults(times, size=12 << 20):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        block = c.malloc(size)
        ctypes.memset(block, 1, size)
        c.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
assert keep_freed()
faults(1)
kept = faults(20)
give_back()
print(kept, faults(1))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's own settings")
def test_what_is_freed_is_used_again_until_it_is_given_back() -> None:
    run = subprocess.run([sys.executable, "-c", ALLOCATES], capture_output=True, text=True, check=True)
    kept, afresh = map(int, run.stdout.split())

    assert kept < 500 < afresh  # of 60,000 pages; of 3,000
