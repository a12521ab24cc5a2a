"""A thread that is in a later turn of a loop, or behind it, took no jump out of it in the turn of another thread."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check

FREE, RACY = VerdictKind.RACE_FREE, VerdictKind.RACY
KERNEL = """
__global__ void k(const int* __restrict__ in, int* out, int n, int m) {{
  __shared__ int s[128];
  int t = threadIdx.x, got = 0, once = in[t];
  {body}
  out[t] = got;
}}
void go(const int* in, int* out, int n, int m) {{ k<<<1, 64>>>(in, out, n, m); }}
"""
TURNS = "for (int i = 0; i < 4; ++i)"
SHIFTED = "got += s[t + 1];"


def verdict(body: str) -> VerdictKind:
    (found,) = check(KERNEL.format(body=body)).facts[0].analysis.verdicts
    return found.kind


def two_turns(
    leave: str, condition: str = "in[i + n] > 0", head: str = TURNS, front: str = ""
) -> VerdictKind:
    """Reads what others store in an earlier turn, in an arm that ends with ``leave``."""
    return verdict(
        f"{head} {{ {SHIFTED} __syncthreads(); {front} if ({condition}) {{ s[t] = i; {leave} }} }}"
    )


@pytest.mark.parametrize(
    "leave", ["return;", "break;", "if (t >= 0) return;", "if (t < 32) return; else break;"]
)
def test_who_stored_has_left(leave: str) -> None:
    assert two_turns(leave) is FREE
    assert two_turns(leave, condition="n > 3") is FREE


@pytest.mark.parametrize("leave", ["", "continue;", "if (t > 0) return;", "if (in[t] > 5) return;"])
def test_some_go_on(leave: str) -> None:
    assert two_turns(leave) is not FREE


def test_each_thread_decides_for_itself() -> None:
    """The one that stored has left, and not the one that reads."""
    assert two_turns("return;", condition="t > 5") is RACY
    assert two_turns("return;", condition="in[t + i] > 5") is not FREE


def test_a_condition_of_a_thread_alone() -> None:
    """Those that are in a second turn are others than those that store."""
    assert (
        verdict(f"{TURNS} {{ if (t < 9) got += s[t + 32]; if (t >= 32) s[t] = i; if (t < 9) return; }}")
        is RACY
    )
    late = "if (i > 0 && t < 9) got += s[t + 32];"
    assert verdict(f"{TURNS} {{ {late} if (i == 0 && t >= 32) s[t] = i; if (t < 9) return; }}") is FREE
    assert verdict(f"{TURNS} {{ {late} if (i == 0 && t >= 32) s[t] = i; if (t < 8) return; }}") is RACY


def test_in_the_same_turn_it_says_nothing() -> None:
    assert two_turns("return;", front="got += s[t ^ 1]; s[t + 64] = 1; got += s[(t ^ 1) + 64];") is not FREE


def test_an_earlier_jump_to_the_next_turn() -> None:
    """Who goes on in front of the jump does not come to it."""
    assert two_turns("return;", front="if (t & 1) continue;") is not FREE
    assert two_turns("return;", front="if (n & 1) continue;") is FREE


def test_what_was_loaded_before_the_loop() -> None:
    late = "if (i > 0 && once > 5) got += s[t + 1];"
    assert (
        verdict(f"{TURNS} {{ {late} if (i == 0) s[t] = i; if (once > {{}}) return; }}".replace("{}", "5"))
        is FREE
    )
    assert (
        verdict(f"{TURNS} {{ {late} if (i == 0) s[t] = i; if (once > {{}}) return; }}".replace("{}", "6"))
        is not FREE
    )


@pytest.mark.parametrize(
    "head", ["int i = 0; while (in[i] > 0)", "int i = 0; while (i < n)", "int i = m; while (i < n)"]
)
def test_turns_that_are_not_counted(head: str) -> None:
    step = " ++i;"
    assert (
        verdict(f"{head} {{ {SHIFTED} __syncthreads(); if (in[i + n] > 0) {{ s[t] = i; return; }} {step} }}")
        is FREE
    )
    assert (
        verdict(f"{head} {{ {SHIFTED} __syncthreads(); if (in[i + n] > 0) {{ s[t] = i; }} {step} }}")
        is not FREE
    )


def test_behind_the_loop() -> None:
    """All threads run as many turns, and those that are behind took no jump away."""
    inside = f"{TURNS} {{ if (in[i + n] > 0) {{ s[t] = i; %s }} }} {SHIFTED}"
    assert verdict(inside % "return;") is FREE
    assert verdict(inside % "if (t > 5) return;") is not FREE
    assert verdict(inside % "break;") is not FREE
    own = f"for (int i = t; i < 64; i += 16) {{ if (in[n] > 0) {{ s[t] = i; return; }} }} {SHIFTED}"
    assert verdict(own) is not FREE  # the last ones run fewer turns than the first ones


def test_beside_the_loop() -> None:
    """Who is in the other arm has not been in the loop."""
    loop = f"{TURNS} {{ if (in[i + n] > 0) {{ s[t] = i; return; }} }}"
    assert verdict(f"if (t < 32) {{ {loop} }} else {{ got += s[t - 32]; }}") is not FREE
    assert verdict(f"if (t < 32) {{ {loop} }} got += s[t & 31];") is not FREE


def test_a_loop_in_a_turn_that_is_passed() -> None:
    inner = "for (int j = 0; j < 3; ++j) {{ if (in[j + i] > 0) {{ s[t] = j; {leave} }} }}"
    assert verdict(f"{TURNS} {{ {SHIFTED} __syncthreads(); {inner.format(leave='return;')} }}") is FREE
    assert verdict(f"{TURNS} {{ {SHIFTED} __syncthreads(); {inner.format(leave='break;')} }}") is not FREE
