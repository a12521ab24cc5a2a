"""Barrier deletion: of all barriers of the kernels in tests, how many we report when they are missing, and how many of
those that nobody needs.

``python tests/benchmarks/deletion.py [--random N] [--seeds K] [--survivors INPUTS]``: the reference programs and N
random kernels, each deletion under K schedules in the executor. With ``--survivors``, instead: the reference programs
without one barrier that SMEM204 tells at a time, each under K schedules with INPUTS different data, against the bytes
of the original.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from executor.deletion import judge, survivors
from executor.model import Source
from executor.random_kernels import Generator, host_program

FOLDER = Path(__file__).parents[1] / "kernels"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=100, help="random kernels")
    parser.add_argument("--seeds", type=int, default=20, help="schedules for each deletion")
    parser.add_argument("--survivors", type=int, default=0, metavar="INPUTS", help="data for each program")
    options = parser.parse_args()
    names = sorted(path.name for path in FOLDER.glob("*.cu") if ".wrong." not in path.name)
    programs = [Source(name, (FOLDER / name).read_bytes().decode()) for name in names]
    if options.survivors:
        told, wrong = survivors(programs, range(options.seeds), options.survivors)
        print(f"SMEM204: {told} barriers, {options.survivors} inputs under {options.seeds} schedules each")
        print("  needed:", "; ".join(wrong) or "none")
        return 1 if wrong else 0
    tally = judge(programs, range(options.seeds))
    print("reference programs:", tally.line())
    print("  not reported:", ", ".join(tally.missed))
    print("  harmless and not told:", ", ".join(tally.untold))
    print("  reported and not seen:", ", ".join(tally.false_races))
    sources = []
    for seed in range(options.random):
        generator = Generator(seed)
        sources.append(Source(f"{seed}", generator.text() + host_program(generator.threads)))
    print("random kernels:", judge(sources, range(options.seeds)).line())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
