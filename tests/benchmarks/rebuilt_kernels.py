"""How many kernels an edit rebuilds, and how long the check after it takes.

Run it by hand: ``python tests/benchmarks/rebuilt_kernels.py [CHECKOUT ...]``. For each checkout (this one, when none is
given) it prints, for each kind of edit, the most kernels that one edit rebuilt and the median time of the checks in
milliseconds. Every text is fresh: none has been checked before.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
REPEATS = 20


def measure(checkout: str) -> None:
    """Print the table of the code in ``checkout``, which is imported here."""
    sys.path.insert(0, checkout)
    sys.path.insert(1, str(HERE.parents[1]))
    from engine.twenty_kernels import EDITS, text

    import smem_lsp
    import smem_lsp.engine.cache as engine
    from smem_lsp.config import Config
    from smem_lsp.engine import check

    assert Path(smem_lsp.__file__).is_relative_to(checkout), smem_lsp.__file__
    config, whole = Config(threads=256), text()
    built: list[str] = []
    build = engine.build_again

    def count(*arguments: Any) -> Any:
        built.append("")
        return build(*arguments)

    engine.build_again = count
    known: Any = engine
    cache = known.Cache() if hasattr(known, "Cache") else known.Store()  # older checkouts have a cache
    number = 0
    for what, edit in EDITS.items():
        rebuilt: list[int] = []
        times: list[float] = []
        for _ in range(REPEATS):
            number += 1
            check(whole, path="twenty.cu", config=config, cache=cache)
            changed = edit.make(whole, number)
            built.clear()
            started = time.perf_counter()
            check(changed, path="twenty.cu", config=config, cache=cache)
            times.append((time.perf_counter() - started) * 1e3)
            rebuilt.append(len(built))
        print(f"{what:<40} {max(rebuilt):3d} kernels   p50 {statistics.median(times):7.1f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", nargs="*", default=[str(HERE.parents[2])])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.one:
        measure(flags.one)
        return
    for checkout in flags.checkouts:
        print(checkout, flush=True)
        path = str(Path(checkout).resolve())
        subprocess.run([sys.executable, str(HERE), "--one", path], check=True, cwd="/")


if __name__ == "__main__":
    main()
