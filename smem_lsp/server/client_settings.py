"""The client's settings for a document, which win over those of the config file nearest to it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from smem_lsp.config import KEYS, Config, UnknownKey, WrongValue, config_from_table
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

LOG_LEVELS = ("error", "warning", "info", "debug")

_SWITCHES = {"codeLens.enable": "code_lens", "inlayHints.enable": "inlay_hints"}
_OWN = ("target",)  # keys of clients that no config file has
_MISSPELT = 0.8  # likeness from which an unknown key is one of ours, misspelt; the rest belong to the client
_CAPITAL = regex(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """What a client set under ``smem``. ``table``: values as they came, by key of the config file.

    Two settings are equal when they show the same; the log level does not count.
    """

    table: Mapping[str, object] = field(default_factory=dict)
    code_lens: bool = True
    inlay_hints: bool = True
    contexts: Mapping[str, str] = field(
        default_factory=dict
    )  # of headers: the main files to read them through
    ruling: str = ""  # of the targets in force, the one that rules: see `ruling_targets`
    log_level: str | None = field(default=None, compare=False)  # one of LOG_LEVELS


def read_client_settings(section: object) -> ClientSettings:
    """The ``smem`` section of a client's settings.

    Names are ``includeDirs`` or ``include-dirs``; ``codeLens: {enable}`` or ``codeLens.enable``. Null, an empty list
    and an empty table are how editors write "not set". The client's own keys (``path``, ``trace``) are ignored.
    """
    if not isinstance(section, Mapping):
        return ClientSettings()
    inner = section.get("smem")
    flat = dict(_flattened(inner if isinstance(inner, Mapping) else section))
    switches = {name: flat[key] for key, name in _SWITCHES.items() if isinstance(flat.get(key), bool)}
    table: dict[str, object] = {}
    for key, value in flat.items():
        name, _, rest = key.partition(".")
        kebab = _CAPITAL.sub("-", name).lower()
        if value is None or value == [] or value == {}:
            continue
        if kebab not in KEYS:
            if kebab not in _OWN and difflib.get_close_matches(kebab, KEYS, n=1, cutoff=_MISSPELT):
                table[kebab] = value  # reported when it is applied
            continue
        if not rest:
            table[kebab] = value
        elif isinstance(nested := table.setdefault(kebab, {}), dict):
            nested[rest] = value
    level = flat.get("logLevel", flat.get("log-level"))
    return ClientSettings(
        table,
        code_lens=switches.get("code_lens") is not False,
        inlay_hints=switches.get("inlay_hints") is not False,
        contexts=_texts(flat.get("contexts")),
        ruling=_text(flat.get("target")),
        log_level=level if isinstance(level, str) and level in LOG_LEVELS else None,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> dict[str, str]:
    """The entries of a table that are texts."""
    if not isinstance(value, Mapping):
        return {}
    return {key: text for key, text in value.items() if isinstance(key, str) and isinstance(text, str)}


def overlay(base: ClientSettings, over: ClientSettings, section: object) -> ClientSettings:
    """``over``, read from ``section``, on top of ``base``. An empty section changes nothing."""
    if not isinstance(section, Mapping) or not section:
        return base
    return replace(over, table={**base.table, **over.table}, log_level=over.log_level or base.log_level)


def _flattened(section: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """``{"codeLens": {"enable": x}}`` as ``codeLens.enable``; a table that is itself the value of a setting stays
    whole."""
    for key, value in section.items():
        if isinstance(value, Mapping) and f"{key}.enable" in _SWITCHES:
            yield from ((f"{key}.{name}", item) for name, item in value.items())
        else:
            yield key, dict(value) if isinstance(value, Mapping) else value


def apply_client_settings(base: Config, table: Mapping[str, object], root: Path) -> tuple[Config, list[str]]:
    """``base`` with the client's settings over it, and one line for each that is wrong and therefore left out.

    Relative folders are relative to ``root``. Severities are added to those of ``base``; everything else replaces.
    """
    problems: list[str] = []
    good: dict[str, object] = {}
    for key, value in table.items():
        try:
            config_from_table({key: value}, root)
        except (UnknownKey, WrongValue) as error:
            problems.append(f"smem settings: {error}")
        else:
            good[key] = value
    config = config_from_table(good, root, base)
    return replace(config, severity={**base.severity, **config.severity}), problems


def known_names(config: Config) -> tuple[Config, list[str]]:
    """``config`` without targets and rules that do not exist, and one line for each."""
    from smem_lsp.rules.names import canonical_settings
    from smem_lsp.targets import UnknownTarget, target

    arch: list[str] = []
    problems: list[str] = []
    for name in config.arch:
        try:
            target(name)
        except UnknownTarget as error:
            problems.append(f"smem settings: {error}")
        else:
            arch.append(name)
    known, wrong = canonical_settings(config)
    problems += [f"smem settings: {each.key}: {each.problem}" for each in wrong]
    return replace(
        known,
        arch=tuple(arch) or Config().arch,
        arch_configured=config.arch_configured and bool(arch),
    ), problems


FIRST, WORST, ALL = "first", "worst", "all"


def ruling_targets(targets: Sequence[str], wish: str) -> tuple[str, ...]:
    """Those of the targets in force that everything shown speaks of: one, or all of them.

    ``wish``: the name of one, ``first``, ``worst`` (the least shared memory of an SM, then the fewest threads), or
    ``all``, which an empty one means too. One that is not in force any more counts as ``first``."""
    if wish in ("", ALL) or not targets:
        return tuple(targets)
    if wish == WORST:
        return (worst_target(targets),)
    return (wish,) if wish in targets else (targets[0],)


def worst_target(targets: Sequence[str]) -> str:
    from smem_lsp.targets import target

    return min(targets, key=lambda name: (target(name).shared_per_sm, target(name).threads_per_sm))
