"""20,000 edits and 100,000 messages of all kinds through one server over stdio.

    python tests/benchmarks/server_soak.py [EDITS [MESSAGES]]

Prints how many requests got no answer or two, how many texts differ from the client's, the time and the memory.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from server.soaking import soak  # noqa: E402  (the path comes first)


def main() -> int:
    numbers = [int(argument) for argument in sys.argv[1:]]
    edits, messages = (*numbers, *(20_000, 100_000)[len(numbers) :])[:2]
    result = soak(edits, messages)
    for field in fields(result):
        print(f"{field.name.replace('_', ' '):>18}: {getattr(result, field.name):,}")
    wrong = result.unanswered + result.answered_twice + result.texts_that_differ + result.defects
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
