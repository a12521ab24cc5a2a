"""How fast a cold `check` is: lines of the checked files for each second of processor time, on one core.

Without names the default corpora are taken. Each is checked by a process of its own that reuses nothing, as a text for
people and as JSON, which reports every kernel. A file of one small kernel comes first: its time is that of starting.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from benchmarks.runner.declared import Figure, Told, benchmark
from benchmarks.runner.options import ROOT
from benchmarks.runner.programs import CHECK
from fetch import corpora, corpus_named, fetch

SMALL = """\
__global__ void k(float* out, const float* in) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
"""


@benchmark(unit="lines/s", better="higher")
def measure(corpus: Annotated[tuple[str, ...], "names of pinned ones"] = ()) -> Iterator[Told]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "small.cu").write_text(SMALL, encoding="utf-8")
        start = min(checked(Path(folder), "full")[1] for _ in range(5))
        yield Figure("one small file, the least of five", start, "s", "lower")
    for each in [corpus_named(name) for name in corpus] or corpora():
        for format in ("json", "concise"):
            printed, seconds, megabytes = checked(fetch(each), format)
            if format == "json":
                lines = sum(file["lines"] or 0 for file in json.loads(printed)["files"])
                yield Figure(f"{each.requirement}", lines, "lines", "neither")
            yield Figure(f"{each.requirement}, {format}", lines / seconds)
            yield Figure(f"{each.requirement}, {format}", megabytes, "MB", "lower")


def checked(folder: Path, format: str) -> tuple[str, float, float]:
    """What a check prints, its seconds of processor time, and the most memory that it had, in MB."""
    # Modules are compiled once, as those of an installed package are.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    compiled = {**kept, "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir(), "smem-lsp-check-cold"))}
    command = [*CHECK, str(folder), "--quiet", "--output-format", format]
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, cwd=ROOT, env=compiled)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return out.read(), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
