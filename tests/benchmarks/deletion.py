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

from executor.deletion import Tally, judge
from executor.model import Source
from executor.random_kernels import Generator, host_program

FOLDER = Path(__file__).parents[1] / "kernels"


def _line(name: str, tally: Tally) -> str:
    return (
        f"{name}: {tally.deletions} deletions; racy {tally.racy}, of these reported {tally.found}; "
        f"reported and no run shows it {len(tally.false_races)}; harmless {tally.harmless}, of these SMEM204 "
        f"{tally.told}, and {tally.merging} that a merge needs; SMEM204 and a run needs it {len(tally.false_redundant)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=100, help="random kernels")
    parser.add_argument("--seeds", type=int, default=20, help="schedules for each deletion")
    options = parser.parse_args()
    names = sorted(path.name for path in FOLDER.glob("*.cu") if ".wrong." not in path.name)
    programs = [Source(name, (FOLDER / name).read_bytes().decode()) for name in names]
    tally = judge(programs, range(options.seeds))
    print(_line("reference programs", tally))
    print("  not reported:", ", ".join(tally.missed))
    sources = []
    for seed in range(options.random):
        generator = Generator(seed)
        sources.append(Source(f"{seed}", generator.text() + host_program(generator.threads)))
    print(_line("random kernels", judge(sources, range(options.seeds))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
