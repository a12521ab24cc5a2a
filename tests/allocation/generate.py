"""Random trees, in the notation of ``trees``."""

from __future__ import annotations

import random


def text(rng: random.Random, buffers: str = "ab", depth: int = 2, slots: float = 0.15) -> str:
    """A kernel with loops, branches and jumps of all kinds. Full writes stand where all threads run them."""
    start = "".join(f"W{name} S " for name in buffers if rng.random() < 0.5)
    return start + _Generator(rng, buffers, slots).seq(depth, 0, True)


class _Generator:
    def __init__(self, rng: random.Random, buffers: str, slots: float) -> None:
        self.rng, self.buffers, self.slots = rng, buffers, slots
        self.gone = False

    def seq(self, depth: int, loops: int, together: bool) -> str:
        rng = self.rng
        out: list[str] = []
        for _ in range(rng.randint(1, 5)):
            x = rng.random()
            if x < 0.45:
                kinds = "wWrx" if together and not self.gone else "wrx"
                slot = rng.choice("''\"") if rng.random() < self.slots else ""
                out.append(rng.choice(kinds) + rng.choice(self.buffers) + slot)
            elif x < 0.49 and together and not self.gone:
                covered = rng.choice(self.buffers)
                out.append(rng.choice(("=D0{", "=D1{", "=L1{", "=d{")) + f"w{covered}}}")
            elif x < 0.7:
                out.append("S" if rng.random() < 0.9 else "N")
            elif depth and x < 0.83:
                divergent = rng.random() < 0.3
                head = f"{'D' if divergent else 'L'}{rng.randint(0, 1)}{{"
                # Decided late whether some threads break out: then nothing inside is run by all.
                scattered = divergent or rng.random() < 0.15
                body = self.seq(depth - 1, loops + 1, together and not scattered)
                if scattered and not divergent:
                    body += " d{b}" + (" " + self.access() if rng.random() < 0.5 else "")
                out.append(f"{head}{body}}}")
            elif depth and x < 0.92:
                divergent = rng.random() < 0.45
                inner = together and not divergent
                arms = [self.seq(depth - 1, loops, inner)]
                if rng.random() < 0.5:
                    arms.append(self.seq(depth - 1, loops, inner))
                out.append(f"{'d' if divergent else 'u'}{{{'|'.join(arms)}}}")
            elif loops and together:
                before = self.access() + " " if rng.random() < 0.5 else ""
                out.append("u{" + before + rng.choice("BC") + "}")
            elif together and x > 0.97:
                if rng.random() < 0.5:
                    out.append("u{Z}")
                else:
                    self.gone = True
                    out.append("d{R}")
        if loops and together and rng.random() < 0.08:
            out.append(f"d{{c}} {self.access()} S")
        return " ".join(out)

    def access(self) -> str:
        return self.rng.choice("wrx") + self.rng.choice(self.buffers)
