"""All settings, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from smem_lsp.source import NO_FLAGS, CompileFlags
from smem_lsp.source.budget import EFFORTS

DEFAULT_TARGETS = ("sm_80", "sm_90", "sm_120")


@dataclass(frozen=True, slots=True)
class Config:
    """Settings in force for a file. ``None``: not set. Severities are the words of the config file."""

    arch: tuple[str, ...] = DEFAULT_TARGETS
    arch_configured: bool = False  # False: the default targets; no occupancy warning rests on them alone
    threads: int | tuple[int, int, int] | None = None  # per block: how many, or in x, y and z
    registers: int | None = None  # registers per thread
    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()  # "NAME" or "NAME=VALUE"
    compile_commands: str | None = None
    compile_flags: CompileFlags = NO_FLAGS  # of the file, out of its compile command; no setting
    nvcc: str | None = None
    stubs: tuple[str, ...] = ()  # files that declare what functions do that are not in sight
    effort: str = "normal"  # a word of ``EFFORTS``
    select: tuple[str, ...] = ()  # codes, names or prefixes ("SMEM3"); empty: all that are on by default
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, str] = field(default_factory=dict)  # code or name -> error|warning|info|hint
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # glob -> codes
    exclude: tuple[str, ...] = ()

    @property
    def factor(self) -> float:
        """Of all limits of work."""
        return EFFORTS[self.effort]

    def scaled(self, most: int) -> int:
        """A number of things to look at, at least one: ``most`` at normal effort."""
        return max(1, int(most * self.factor))
