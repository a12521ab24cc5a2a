"""Bodies of `constexpr` functions are run as any others are: by all statements there are, to the end or not at all."""

from __future__ import annotations

import pytest

from tests.harness import kernel_facts


def value_of(call: str, function: str) -> int | None:
    """The value of a call, where a function is in sight."""
    text = f"constexpr {function}\n__global__ void k() {{ __shared__ char a[{call}]; (void)0; }}\n"
    return kernel_facts(text).kernel.buffers[0].bytes


KNOWN = [
    (
        "int f(int n) { switch (n) { case 1: return 4; case 2: n += 8; default: return n; case 5: break; } return 7; }",
        10,
    ),
    ("int f(int n) { switch (n) { default: n = 9; case 7: n += 1; break; case 3: n = 3; } return n; }", 10),
    (
        "int f(int n) { switch (n) { case 2: switch (n + 1) { case 3: n = 6; break; } "
        "n += 1; break; case 6: n = 9; } return n; }",
        7,
    ),
    ("int f(int n) { for (int i = 0;; ++i) { switch (i) { case 3: return n + i; default: continue; } } }", 5),
    ("int f(int n) { if (int m = n - 2; m == 0) return 11; return 12; }", 11),
    ("int f(int n) { if (int m = n - 2) return m; else if (int l = m + 3) return l; return 12; }", 3),
    ("int f(int n) { int s = 0; while (int m = 4 - n) { s += m; ++n; } return s; }", 3),
    ("int f(int n) { for (;;) { if (n > 20) break; n *= 3; } return n; }", 54),
    (
        "int f(int n) { do { n += 5; if (n == 12) continue; if (n > 30) return n; } while (n < 40); return 1; }",
        32,
    ),
    (
        "int f(int n) { int s = n; { int s = 40; s += 1; } for (int s = 0; s < 3; ++s) { } "
        "if (int s = 4; s) { } return s; }",
        2,
    ),
    (
        "int f(int n) { int s = 0; for (int i = 0; i < 4; ++i) { "
        "for (int j = 0; j < 4; ++j) { if (j == n) break; s += 1; } } return s; }",
        8,
    ),
    ("int f(int n) { try { n += 3; } catch (...) { n = 100; } return n; }", 5),
    ("int f(int n) { if (n == 2) { goto out; } n = 50; out: n += 1; return n; }", 3),
    ("int f(int n) { if (n > 1) return n + 1; throw 1; }", 3),
]


@pytest.mark.parametrize(("function", "value"), KNOWN)
def test_what_a_body_returns(function: str, value: int) -> None:
    assert value_of("f(2)", function) == value


@pytest.mark.parametrize(
    "function",
    [
        "int f(int n) { for (;;) { n += 1; } }",
        "int f(int n) { for (;;) ; return n; }",
        "int f(int n) { again: n += 1; if (n < 9) goto again; return n; }",
        "int f(int n) { if (n == unknown) return 1; return 2; }",
        "int f(int n) { switch (n) { case unknown: return 1; } return 2; }",
        "int f(int n) { switch (n) { case 1: { n = 5; case 2: n = 6; } } return n; }",
        "int f(int n) { int s = 0; for (int i : {1, 2}) s += i; return s; }",
        "int f(int n) { log(n); return n; }",
        "int f(int n) { while (n--) { } return 3; }",
        "int f(int n) { try { throw n; } catch (...) { return 4; } }",
        "int f(int n) { EACH(i, n) { n += 1; } return n; }",
        "int f(int n) { static int m = 1; return m; }",
        "int f(int n) { if (n == 2) goto inner; return 1; for (;;) { inner: return 5; } }",
    ],
)
def test_a_body_that_is_not_followed_has_no_value(function: str) -> None:
    assert value_of("f(2)", function) is None
