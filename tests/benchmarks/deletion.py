"""Barrier deletion: of all barriers of the kernels in tests, how many we report when they are missing, and how many of
those that nobody needs.

``python tests/benchmarks/deletion.py [--random N] [--seeds K]``: the reference programs and N random kernels, each
deletion under K schedules in the executor.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from executor.deletion import judge
from executor.model import Source
from executor.random_kernels import Generator, host_program

FOLDER = Path(__file__).parents[1] / "kernels"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=100, help="random kernels")
    parser.add_argument("--seeds", type=int, default=20, help="schedules for each deletion")
    options = parser.parse_args()
    names = sorted(path.name for path in FOLDER.glob("*.cu") if ".wrong." not in path.name)
    programs = [Source(name, (FOLDER / name).read_bytes().decode()) for name in names]
    tally = judge(programs, range(options.seeds))
    print("reference programs:", tally.line())
    print("  not reported:", ", ".join(tally.missed))
    sources = []
    for seed in range(options.random):
        generator = Generator(seed)
        sources.append(Source(f"{seed}", generator.text() + host_program(generator.threads)))
    print("random kernels:", judge(sources, range(options.seeds)).line())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
