"""Calls and instructions behind which no thread goes on."""

from __future__ import annotations

import pytest
from lowering.test_switches import touched

ENDINGS = (
    "__trap()",
    "__builtin_unreachable()",
    '__assert_fail("", "", 1, "")',
    'asm volatile("trap;")',
    'asm("exit;")',
)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("statements", "n", "expected"),
    [
        ("if (n > 2) {}; a[1] = 1;", 3, ""),
        ("if (n > 2) {}; a[1] = 1;", 2, "1"),
        ("switch (n) {{ case 0: a[0] = 1; break; default: {}; }} a[1] = 1;", 0, "0 1"),
        ("switch (n) {{ case 0: a[0] = 1; break; default: {}; }} a[1] = 1;", 1, ""),
        ("for (; i < 3; ++i) {{ if (i == n) {}; a[i] = 1; }} a[9] = 1;", 1, "0"),
    ],
)
def test_what_stands_behind_is_not_run(ending: str, statements: str, n: int, expected: str) -> None:
    assert " ".join(touched(statements.format(ending), n)) == expected


def test_an_instruction_that_some_threads_run_is_said() -> None:
    with pytest.raises(AssertionError):
        touched('asm("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p exit; }" :: "r"(n)); a[1] = 1;', 1)
