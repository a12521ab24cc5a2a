"""What makes a finding the same one in another run: everything but the lines, which move with the text above them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from smem_lsp.rules.model import Finding
from smem_lsp.rules.words import Words

_HIDDEN = "…"


def lasting_words(finding: Finding) -> str:
    """The message, with ``…`` for each number of a line."""
    words = finding.words
    parts = words.parts if isinstance(words, Words) else (words,)
    return "".join(part if isinstance(part, str) else _HIDDEN for part in parts)


def fingerprints(findings: Iterable[Finding]) -> Iterator[str]:
    """One for each finding of a file, in their order: 32 hexadecimal digits. No two are equal, as the n-th of equal
    findings counts them."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for finding in findings:
        key = (finding.code, finding.kernel or "", lasting_words(finding))
        yield _hash(*key, str(seen[key]))
        seen[key] += 1


def in_file(path: str, fingerprint: str) -> str:
    """The fingerprint of a finding among those of all files."""
    return _hash(path, fingerprint)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
