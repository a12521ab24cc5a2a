"""Settings of a run: the config file of each path with the flags over it, all names in them known."""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from smem_lsp.cli.errors import UsageError, complain
from smem_lsp.config import (
    Config,
    ConfigError,
    Loaded,
    WrongValue,
    config_from_table,
    defaults,
    discover,
    load_config,
)
from smem_lsp.environment import CompileCommands
from smem_lsp.environment.compiler import OFF

NVCC = "nvcc"  # the value of the setting that means the one of this machine


class Settings:
    """Finds the settings of a path; a config file is read and checked once."""

    __slots__ = ("_commands", "_fixed", "_flags", "_folders", "_isolated", "_named", "_noted", "_overrides")

    def __init__(self, flags: argparse.Namespace) -> None:
        """Raises UsageError for a wrong flag and for a config file named by a flag that is wrong."""
        if flags.isolated and flags.config is not None:
            raise UsageError("--isolated and --config contradict each other")
        self._overrides, self._flags = _flag_values(flags)
        self._commands = CompileCommands()
        self._isolated: bool = flags.isolated
        self._named: bool = flags.config is not None
        self._folders: dict[str, Loaded | ConfigError] = {}
        self._fixed: Loaded | None = None
        self._noted: set[str] = set()
        if flags.isolated:
            self._fixed = self._finish(defaults())
        elif flags.config is not None:
            try:
                self._fixed = self._finish(load_config(flags.config))
            except ConfigError as error:
                raise UsageError(str(error)) from None
        else:
            self._finish(defaults())  # a wrong flag is wrong wherever the config file is

    def of(self, path: str) -> Loaded:
        """Settings of a file, or of what is in the folder ``path`` stands in. Raises ConfigError."""
        if self._fixed is not None:
            return self._fixed
        folder = os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120
        if folder not in self._folders:
            try:
                self._folders[folder] = self._finish(discover(folder))
            except ConfigError as error:
                self._folders[folder] = error
        found = self._folders[folder]
        if isinstance(found, ConfigError):
            raise found
        return found

    def for_file(self, path: str) -> Config:
        """Everything that holds for one file, its compile command too. Raises ConfigError, also for a database that the
        settings name and that cannot be used; one that was only found is complained about once and left out."""
        loaded = self.of(path)
        config = self._without_foreign_programs(loaded.for_file(path), loaded)
        setting = config.compile_commands
        if setting is None and self._isolated:
            return config
        command = self._commands.command(path, setting)
        if command.problem is not None:
            if setting is not None:
                raise ConfigError(command.database or setting, command.problem, key="compile-commands")
            problem = f"{command.database}: {command.problem}; going on without"
            if problem not in self._noted:
                self._noted.add(problem)
                complain(problem)
        return replace(config, compile_flags=command.flags)

    def _without_foreign_programs(self, config: Config, loaded: Loaded) -> Config:
        """A config file that nobody has named may ask for the nvcc of this machine, but choose no program to run."""
        if self._named or config.nvcc in (None, OFF, NVCC):
            return config
        problem = f'{loaded.file}: nvcc = "{config.nvcc}" is not run; name the file with --config to allow it'
        if problem not in self._noted:
            self._noted.add(problem)
            complain(problem)
        return replace(config, nvcc=None)

    def excludes(self, path: str) -> bool:
        """False as well where the config file is broken: the file then gets the blame when it is checked."""
        try:
            return self.of(path).excludes(path)
        except ConfigError:
            return False

    def _finish(self, loaded: Loaded) -> Loaded:
        over = loaded.override(self._flags, **self._overrides)
        _judge(over)
        return over


def split_rules(values: Sequence[str] | None) -> tuple[str, ...]:
    """``["SMEM1,SMEM201", "SMEM3"]`` -> three items."""
    return tuple(item.strip() for value in values or () for item in value.split(",") if item.strip())


def named_codes(select: Sequence[str] | None) -> frozenset[str]:
    """The rules that ``--select`` names one by one, by code or name; a prefix names none."""
    from smem_lsp.rules.registry import RULES

    wanted = set(split_rules(select))
    return frozenset(code for code, rule in RULES.items() if code in wanted or rule.name in wanted)


def rule_names() -> dict[str, str]:
    """Code -> name of every rule, built or not."""
    from smem_lsp.rules.registry import RESERVED, RULES

    return {code: rule.name for code, rule in RULES.items()} | dict(RESERVED)


def unknown_rule(written: str, names: Mapping[str, str]) -> str:
    """``unknown rule `X`, did you mean `Y`?``"""
    spellings = {text.casefold(): text for pair in names.items() for text in pair}
    near = difflib.get_close_matches(written.casefold(), spellings, n=1)
    hint = f", did you mean `{spellings[near[0]]}`?" if near else "; `smem-lsp rules` lists them"
    return f"unknown rule `{written}`{hint}"


def _flag_values(flags: argparse.Namespace) -> tuple[dict[str, object], dict[str, str]]:
    """Fields of Config that flags set, and the origin of each setting by key of the config file."""
    table: dict[str, object] = {}
    origins: dict[str, str] = {}
    for key, name, field in (
        ("select", "--select", "select"),
        ("ignore", "--ignore", "ignore"),
        ("threads", "--threads", "threads"),
        ("registers", "--registers", "registers"),
        ("arch", "--arch", "arch"),
        ("defines", "--define", "define"),
        ("include-dirs", "-I", "include_dirs"),
        ("compile-commands", "--compile-commands", "compile_commands"),
    ):
        value = getattr(flags, field, None)
        if value is None:
            continue
        # A definition may hold a comma, a folder too; a list of rules or targets is split at them.
        table[key] = list(split_rules(value)) if key in ("select", "ignore", "arch") else value
        origins[key] = f"flag {name}"
        try:
            config_from_table({key: table[key]}, Path.cwd())
        except WrongValue as error:
            raise UsageError(f"{name} {error.problem}") from None
    config = config_from_table(table, Path.cwd())
    fields = {key.replace("-", "_"): getattr(config, key.replace("-", "_")) for key in table}
    if "arch" in fields:
        fields["arch_configured"] = True
    return fields, origins


def _judge(loaded: Loaded) -> None:
    """Look up targets and rules. Raises UsageError for a flag with an unknown one, ConfigError for a file."""
    from smem_lsp.targets import UnknownTarget, target

    config = loaded.config
    for name in config.arch:
        try:
            target(name)
        except UnknownTarget as error:
            raise _blame(loaded, "arch", str(error)) from None
    keys = ("select", "ignore", "severity", "per-file-ignores")
    if not any((config.select, config.ignore, config.severity, config.per_file_ignores)):
        return
    per_file = tuple(code for codes in config.per_file_ignores.values() for code in codes)
    for key, items in zip(
        keys, (config.select, config.ignore, tuple(config.severity), per_file), strict=True
    ):
        for item in items:
            problem = _rule_problem(item, key)
            if problem is not None:
                raise _blame(loaded, key, problem)


def _rule_problem(item: str, key: str) -> str | None:
    """Why ``item`` cannot stand in the setting ``key``, or None."""
    from smem_lsp.rules.registry import RESERVED, RULES, find_rule

    if find_rule(item) is not None:
        return None
    reserved = next((code for code, name in RESERVED.items() if item in (code, name)), None)
    if reserved is not None:
        return f"{reserved} {RESERVED[reserved]} is not built yet" if key == "select" else None
    if key != "severity" and item.startswith("SMEM"):
        if any(code.startswith(item) for code in RULES):
            return None
        if any(code.startswith(item) for code in RESERVED):
            return f"no rule of {item} is built yet" if key == "select" else None
    return unknown_rule(item, rule_names())


def _blame(loaded: Loaded, key: str, problem: str) -> UsageError | ConfigError:
    origin = loaded.origins.get(key, "")
    if origin.startswith("flag "):
        return UsageError(f"{origin.removeprefix('flag ')}: {problem}")
    return ConfigError(origin or str(loaded.file), problem, key=key)
