"""Which fixes may be applied, and how those that may not are told."""

from __future__ import annotations

from collections import Counter

from smem_lsp.fixes.model import Fix, Safety
from smem_lsp.rules.model import Finding, Severity
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

# Rules whose fix is a matter of taste or cost: applied only when the user names them.
_ONLY_WHEN_NAMED = regex(r"SMEM(?:204|30\d|401|5\d\d|6\d\d)")


@dataclass(frozen=True, slots=True)
class FixPolicy:
    """Which fixes may be applied. ``named``: codes that ``--select`` names one by one."""

    unsafe: bool = False
    named: frozenset[str] = frozenset()

    def wants(self, finding: Finding) -> bool:
        """True for findings that are to be fixed at all: named ones, else warnings and errors."""
        if finding.code in self.named:
            return True
        return finding.severity <= Severity.WARNING and not _ONLY_WHEN_NAMED.fullmatch(finding.code)

    def allows(self, fix: Fix) -> bool:
        allowed = (Safety.SAFE, Safety.UNSAFE) if self.unsafe else (Safety.SAFE,)
        return fix.safety in allowed and bool(fix.edits)


@dataclass(frozen=True, slots=True)
class Hidden:
    """The flags that would allow a fix: its rule named by ``--select``, ``--unsafe-fixes``, or both."""

    select: str | None  # a code
    unsafe: bool

    @property
    def flags(self) -> str:
        select = f"--select {self.select}" if self.select else ""
        return f"{select} {'--unsafe-fixes' if self.unsafe else ''}".strip()


def hidden_words(found: Counter[Hidden]) -> str:
    """``3 fixes hidden: `--select SMEM301,SMEM303` (2) or `--unsafe-fixes` (1)``."""
    groups: dict[str, int] = {}
    for unsafe in (False, True):
        codes = sorted(each.select for each in found if each.select and each.unsafe is unsafe)
        if codes:
            count = sum(found[each] for each in found if each.select and each.unsafe is unsafe)
            groups[Hidden(",".join(codes), unsafe).flags] = count
    if alone := found[Hidden(None, unsafe=True)]:
        groups["--unsafe-fixes"] = alone
    words = " or ".join(f"`{flags}` ({count:,})" for flags, count in groups.items())
    return f"{found.total():,} {'fix' if found.total() == 1 else 'fixes'} hidden: {words}"
