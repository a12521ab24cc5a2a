"""What the lenses of an editor say over kernels: whether they name blocks per SM, of one checkout's language server."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import TimeoutError as NoAnswer
from pathlib import Path

from server.client import Client
from shared_kernels import SharedKernel

HEAD_LINES = 12  # `template <...>` above `__global__`


def lenses(
    checkout: Path,
    scan: Mapping[Path, Sequence[SharedKernel]],
    count: int,
    defines: Sequence[str] = (),
    seconds: int = 30,
) -> Counter[str]:
    """Kernels of every so-many-th file by what their lens says: ``exact``, ``bound`` (``≤``), ``nothing`` of blocks,
    ``no lens``; ``no answer``: the file took longer. The first answer counts, before any background compiler's."""
    told: Counter[str] = Counter()
    files = sorted(scan)
    for path in files[:: max(1, len(files) // count)][:count]:
        # A server for each file: what one of them costs is not the next one's.
        command = ("env", f"PYTHONPATH={checkout}", sys.executable, "-m", "smem_lsp", "server")
        client = Client(command, cwd=checkout)
        try:
            settings = {"settings": {"defines": list(defines)}}
            client.initialize(folders=(path.parent.as_uri(),), initializationOptions=settings)
            client.open(path.as_uri(), path.read_text(encoding="utf-8", errors="replace"))
            asked = client.ask("textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}})
            titles = [
                (each["range"]["start"]["line"] + 1, each["command"]["title"])
                for each in asked.result(seconds) or []
            ]
            told.update(_said(kernel, titles) for kernel in scan[path])
        except NoAnswer:
            told["no answer"] += len(scan[path])
        finally:
            client.kill()
    return told


def _said(kernel: SharedKernel, titles: Sequence[tuple[int, str]]) -> str:
    own = [title for line, title in titles if kernel.line - HEAD_LINES <= line <= kernel.last_line]
    named = [title for title in own if re.search(r"blocks?/SM", title)]
    if named:
        return "bound" if all(re.search("≤|at most|up to", title) for title in named) else "exact"
    return "nothing" if own else "no lens"
