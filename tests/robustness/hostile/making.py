"""One construct, as often as it is asked for: a registry of such texts, and what they are made of."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hostile:
    """``make(count)`` is the text; ``count`` the number of repetitions that the benchmark asks for."""

    make: Callable[[int], str]
    count: int


HOSTILE: dict[str, Hostile] = {}


def hostile(count: int) -> Callable[[Callable[[int], str]], Callable[[int], str]]:
    def add(make: Callable[[int], str]) -> Callable[[int], str]:
        HOSTILE[make.__name__] = Hostile(make, count)
        return make

    return add


def kernel(body: str, head: str = "", parameters: str = "float* g, int n", launch: str = "1, 256") -> str:
    call = f"\nvoid f(float* g) {{ k<<<{launch}>>>(g, 7); }}\n" if parameters == "float* g, int n" else "\n"
    return f"{head}\n__global__ void k({parameters}) {{\n{body}\n}}{call}"


def lines(count: int, line: Callable[[int], str]) -> str:
    return "\n".join(line(i) for i in range(count))


def random_of(seed: int) -> random.Random:
    return random.Random(seed)
