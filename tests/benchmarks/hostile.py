"""Tries every hostile text at its full size: ``python tests/benchmarks/hostile.py``, ten minutes on one core.

Each in a process of its own, as a user would run it. Prints processor time, memory, and what was cut; exits with 1 when
one takes more than fifteen seconds or a gigabyte, has no answer, or ends in an error.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS.parent), str(TESTS)]

from robustness.hostile import HOSTILE  # noqa: E402
from robustness.trying import try_text  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of hostile texts (default: all)")
    parser.add_argument("--counts", default="", metavar="N,N", help="how often each repeats its construct")
    flags = parser.parse_args()
    bad = tried = 0
    for name in flags.names or HOSTILE:
        hostile = HOSTILE[name]
        counts = [int(count) for count in flags.counts.split(",") if count] or [hostile.count]
        for count in counts:
            with tempfile.TemporaryDirectory() as folder:
                text = hostile.make(count)
                outcome = try_text(text, Path(folder))
            tried += 1
            bad += bool(outcome.problems)
            print(
                f"{'BAD' if outcome.problems else 'ok '} {name:<28} {count:>13,} {len(text) / 1e6:6.2f} MB of text"
                f" {outcome.seconds:5.1f} s {outcome.megabytes:5,} MB {outcome.findings:6,} findings",
                *(outcome.stopped or ())[:3],
                *outcome.problems,
                sep="  ",
                flush=True,
            )
    print(f"{tried} texts, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
