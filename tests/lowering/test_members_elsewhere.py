"""The body of a function means what is declared in front of its own definition, not in front of its class
([basic.scope.pdecl], [class.mfct])."""

from __future__ import annotations

import pytest

from tests.which_is_called import PLAIN, RACING, verdict_in_file

BODY = "{ if (v == 2) { CALLED; } else { OTHER; } }"
SEEN = f"""
constexpr int v = 1;
namespace ns {{
struct Q {{
  struct R {{ static __device__ void deep(); }};
  __device__ Q() = default;
  __device__ Q(int);
  static __device__ void alone();
  __device__ void operator()() const;
}};
template <class T> struct C {{ static __device__ void alone(); }};
template <class T> __device__ void alike(T) {{}}
constexpr int v = 2;
__device__ void Q::R::deep() {BODY}
__device__ Q::Q(int) {BODY}
__device__ void Q::alone() {BODY}
__device__ void Q::operator()() const {BODY}
template <class T> __device__ void C<T>::alone() {BODY}
template <> __device__ void alike(int) {BODY}
}}
"""
APART = SEEN.replace("__device__ void Q::alone()", "}\n__device__ void ns::Q::alone()").replace(
    "__device__ void Q::operator", "namespace ns {\n__device__ void Q::operator"
)
BEHIND = f"""
constexpr int v = 2;
namespace ns {{
struct Q {{ static __device__ void alone() {BODY} }};
__device__ void early() {BODY}
constexpr int v = 1;
}}
"""


@pytest.mark.parametrize(
    ("declared", "statement"),
    [
        (SEEN, "ns::Q::alone();"),
        (SEEN, "ns::Q::R::deep();"),
        (SEEN, "ns::Q s(3);"),
        (SEEN, "ns::Q s; s();"),
        (SEEN, "ns::C<int>::alone();"),
        (SEEN, "ns::alike(3);"),
        (APART, "ns::Q::alone();"),
        (BEHIND, "ns::Q::alone();"),
        (BEHIND, "ns::early();"),
    ],
)
def test_a_body_means_what_is_in_front_of_it(declared: str, statement: str) -> None:
    assert verdict_in_file(declared, statement, RACING, PLAIN) == "racy"
    assert verdict_in_file(declared, statement, PLAIN, RACING) == "race-free"


def test_which_of_several_a_specialisation_belongs_to_is_not_guessed() -> None:
    declared = SEEN.replace("alike(int)", "alike<int>(int)")
    assert verdict_in_file(declared, "ns::alike(3);", RACING, PLAIN) in ("racy", "undecided")
    assert verdict_in_file(declared, "ns::alike(3);", PLAIN, RACING) in ("race-free", "undecided")
