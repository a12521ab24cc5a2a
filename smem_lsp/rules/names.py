"""Rules as people write them, in any case, by code, name or prefix: made one name where settings come in."""

from __future__ import annotations

import difflib
from dataclasses import replace

from smem_lsp.config import Config
from smem_lsp.source import clipped
from smem_lsp.source.record import dataclass

PREFIX = "SMEM"


class UnknownRule(ValueError):
    """A word that names no rule that is built. The message is one line and names the nearest rule."""


@dataclass(frozen=True, slots=True)
class WrongRule:
    """A word in a setting that names no rule. ``key``: the key of the config file."""

    key: str
    problem: str


def canonical(written: str, *, prefixes: bool = False) -> str:
    """The code of a rule. With ``prefixes`` also the beginning of one or more codes, in capitals. Raises
    UnknownRule."""
    from smem_lsp.rules.registry import RULES

    word = written.strip()
    folded = word.casefold()
    for code, rule in RULES.items():
        if folded in (code.casefold(), rule.name):
            return code
    start = word.upper()
    if prefixes and start.startswith(PREFIX) and any(code.startswith(start) for code in RULES):
        return start
    raise UnknownRule(unknown_rule(word))


def unknown_rule(written: str) -> str:
    """``unknown rule `X`, did you mean `Y`?``"""
    from smem_lsp.rules.registry import RULES

    spellings = {text.casefold(): text for rule in RULES.values() for text in (rule.code, rule.name)}
    near = difflib.get_close_matches(written.casefold()[:80], spellings, n=1)
    hint = f", did you mean `{spellings[near[0]]}`?" if near else "; `smem-lsp rules` lists them"
    return f"unknown rule `{clipped(written)}`{hint}"


def canonical_settings(config: Config) -> tuple[Config, list[WrongRule]]:
    """``config`` with every rule by its code, and the words that are none, which it is left without.

    Of two spellings of one rule under ``severity`` the last one counts.
    """
    wrong: list[WrongRule] = []

    def codes(key: str, words: tuple[str, ...], *, prefixes: bool = True) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for word in words:
            try:
                found[canonical(word, prefixes=prefixes)] = None
            except UnknownRule as error:
                wrong.append(WrongRule(key, str(error)))
        return tuple(found)

    if not any((config.select, config.ignore, config.severity, config.per_file_ignores)):
        return config, wrong
    severity = {
        code: word
        for name, word in config.severity.items()
        for code in codes("severity", (name,), prefixes=False)
    }
    made = replace(
        config,
        select=codes("select", config.select),
        ignore=codes("ignore", config.ignore),
        severity=severity,
        per_file_ignores={
            glob: codes("per-file-ignores", words) for glob, words in config.per_file_ignores.items()
        },
    )
    return made, wrong
